// SPDX-License-Identifier: Apache-2.0
#include "expect.hpp"
#include "targets.hpp"

#include <distrib/export_log/log_objects.hpp>
#include <distrib/export_log/log_part.hpp>
#include <distrib/serve/replica_store.hpp>

#include <optional>
#include <string_view>
#include <utility>

namespace fuzz {

namespace {

/// Checks that what is taken is written again as something that is read as the same.
template <class Object>
void text(const std::optional<Object>& object, const distrib::Error& error,
          std::optional<Object> (*parse)(std::string_view, distrib::ErrorRef)) {
  expect(object.has_value() != static_cast<bool>(error), "taken or refused");
  if (!object) return;
  distrib::Error again;
  expect(parse(to_text(*object), again) == object, "what was written is read as it was");
}

/// Applies a part to a replica that has another one.
void apply(ByteView bytes) {
  distrib::Error error;
  const auto part = distrib::parse_log_part(bytes, error);
  expect(part.has_value() != static_cast<bool>(error), "taken or refused");
  if (!part) return;
  distrib::LogManifest manifest;
  for (const distrib::PartTable& table : part->tables) {
    if (table.dim > 1024) return;
    distrib::LogTable& settings = manifest.tables.emplace_back();
    settings.info.name = table.name;
    settings.info.dim = table.dim;
  }
  for (const distrib::PartSlice& slice : part->slices)
    if (slice.shape.elements() > 1'000'000) return;
  distrib::ReplicaStore store{std::size_t{64} << 20};
  for (int times = 0; times < 2; ++times) {
    expect(store.settle(), "nobody reads");
    store.begin(times == 0, manifest);
    store.apply(*part);
    (void)store.finish(manifest, false);
  }
  distrib::Error ignored;
  const auto written = distrib::write_log_part(*part, ignored);
  if (ignored) return;  // a name that the writer does not take
  const auto again = distrib::parse_log_part(written, error);
  expect(again && again->tables.size() == part->tables.size() && again->slices.size() == part->slices.size(),
         "what was written is read");
}

}  // namespace

void export_log(ByteView input) {
  if (input.empty()) return;
  const ByteView rest = input.subspan(1);
  const std::string_view json = distrib::as_text(rest);
  distrib::Error error;
  if (input[0] == std::byte{'h'}) {
    const auto head = distrib::parse_log_head(json, error);
    return text(head, error, distrib::parse_log_head);
  }
  if (input[0] == std::byte{'m'}) {
    const auto manifest = distrib::parse_log_manifest(json, error);
    return text(manifest, error, distrib::parse_log_manifest);
  }
  if (input[0] == std::byte{'v'}) {
    const auto vote = distrib::parse_log_vote(json, error);
    return text(vote, error, distrib::parse_log_vote);
  }
  apply(rest);
}

}  // namespace fuzz
