// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/export_log/head_store.hpp>
#include <distrib/export_log/log_objects.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// A position as it is in a log.
struct LogEntry {
  std::string name;  ///< Name of the manifest.
  LogManifest manifest;  ///< The manifest.
};

/// Returns the positions of a log, the newest first, up to `most`: those whose manifests still exist without a gap.
/// Blocks. On failure returns those that were read; `error` is `no_log`, `wrong_hash`, `bad_object`, or of the store. A
/// manifest that does not exist ends the list, unless it is the newest one: `missing_object`.
template <HeadStore Store>
[[nodiscard]] auto list_log(Store& store, std::size_t most, Error& error) -> std::vector<LogEntry> {
  std::vector<LogEntry> list;
  const std::optional<StampedHead> head = store.read_head(error);
  if (error) return list;
  if (!head || head->head.position == 0) {
    error = {export_errc::no_log, std::string{log_head_name}};
    return list;
  }
  std::string name = head->head.manifest;
  LogPosition position = head->head.position;
  while (!name.empty() && list.size() < most) {
    const std::vector<std::byte> bytes = store.get(name, max_log_text_bytes, error);
    if (error.code == export_errc::missing_object && !list.empty()) {
      error = {};
      break;
    }
    if (error) break;
    if (hash_in_name(name) != sha256(bytes)) {
      error = {export_errc::wrong_hash, name};
      break;
    }
    std::optional<LogManifest> manifest = parse_log_manifest(as_text(ByteView{bytes}), error);
    if (!manifest || manifest->position != position || manifest->log != head->head.log) {
      error = {export_errc::bad_object, name};
      break;
    }
    std::string before = manifest->before;
    list.push_back({std::move(name), std::move(*manifest)});
    name = std::move(before);
    --position;
  }
  return list;
}

/// Returns for each position of a list, the newest first, whether a reader can begin with it: it has all rows, or a
/// later one names its bases.
[[nodiscard]] inline auto places_to_begin(const std::vector<LogEntry>& list) -> std::vector<bool> {
  std::vector<bool> places;
  std::vector<const std::vector<LogBase>*> named;
  for (const LogEntry& entry : list) {
    const LogManifest& manifest = entry.manifest;
    const auto has_place = [&](const std::vector<LogBase>* bases) { return manifest.is_place_of(*bases); };
    places.push_back(manifest.is_base() || std::ranges::any_of(named, has_place));
    if (!manifest.bases.empty() && (named.empty() || *named.back() != manifest.bases)) named.push_back(&manifest.bases);
  }
  return places;
}

/// Removes what is older than the second newest position with which a reader can begin (`places_to_begin`), the oldest
/// first: readers that are that far behind begin with a base. Also removes the bases of the positions that are
/// removed. Blocks. Returns the number of positions that were removed. Errors: as `list_log`; what was not removed is
/// removed by the next call.
template <HeadStore Store>
auto retire_log(Store& store, Error& error) -> std::size_t {
  constexpr std::size_t most = 100'000;
  const std::vector<LogEntry> list = list_log(store, most, error);
  if (error) return 0;
  const std::vector<bool> places = places_to_begin(list);
  auto place = std::ranges::find(places, true);
  if (place != places.end()) place = std::find(place + 1, places.end(), true);
  if (place == places.end()) return 0;
  const auto kept = list.begin() + (place - places.begin()) + 1;
  std::set<std::string> done;  // objects that stay, or are removed already
  for (auto at = list.begin(); at != kept; ++at) {
    for (const LogPart& part : at->manifest.parts) done.insert(part.name);
    const std::vector<LogBase>& bases = at->manifest.bases;
    if (at != list.begin() && bases == std::prev(at)->manifest.bases) continue;
    const auto is_place = [&](const LogEntry& older) { return older.manifest.is_place_of(bases); };
    if (std::any_of(at, kept, is_place))
      for (const LogBase& base : bases) done.insert(base.name);
  }
  const auto remove = [&](const std::string& name) {
    if (done.insert(name).second) store.remove(name, error);
    return !error;
  };
  std::size_t removed = 0;
  for (auto at = list.end(); at != kept; ++removed) {
    --at;
    for (const LogPart& part : at->manifest.parts)
      if (!remove(part.name)) return removed;
    for (const LogBase& base : at->manifest.bases)
      if (!remove(base.name)) return removed;
    store.remove(at->name, error);
    if (error) return removed;
  }
  return removed;
}

}  // namespace v0
}  // namespace distrib
