// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/export_log/head_store.hpp>
#include <distrib/export_log/log_objects.hpp>

#include <algorithm>
#include <cstddef>
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

/// Removes what is older than the base before the newest base, the oldest first: readers that are that far behind begin
/// with a base. Blocks. Returns the number of positions that were removed. Errors: as `list_log`; what was not removed
/// is removed by the next call.
template <HeadStore Store>
auto retire_log(Store& store, Error& error) -> std::size_t {
  constexpr std::size_t most = 100'000;
  const std::vector<LogEntry> list = list_log(store, most, error);
  if (error) return 0;
  const auto is_base = [](const LogEntry& entry) { return entry.manifest.is_base(); };
  auto kept = std::find_if(list.begin(), list.end(), is_base);
  if (kept != list.end()) kept = std::find_if(kept + 1, list.end(), is_base);
  if (kept == list.end()) return 0;
  ++kept;
  std::set<std::string> live;
  for (auto at = list.begin(); at != kept; ++at)
    for (const LogPart& part : at->manifest.parts) live.insert(part.name);
  std::size_t removed = 0;
  for (auto at = list.end(); at != kept; ++removed) {
    --at;
    for (const LogPart& part : at->manifest.parts) {
      if (live.contains(part.name)) continue;
      store.remove(part.name, error);
      if (error) return removed;
    }
    store.remove(at->name, error);
    if (error) return removed;
  }
  return removed;
}

}  // namespace v0
}  // namespace distrib
