// SPDX-License-Identifier: Apache-2.0
// What random runs of the core find is in simulation/export_log_test.cpp, and with a real log in
// serve/model_replica_test.cpp; here are single decisions.
#include <distrib/export_log/follow_core.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

using namespace distrib::follow_action;
using distrib::FollowActions;

namespace {

struct FollowedLog {
  std::string part = [] {
    distrib::Error error;
    const auto bytes = distrib::write_log_part({}, error);
    return std::string{distrib::as_text(distrib::ByteView{bytes})};
  }();
  std::string part_of_log = distrib::part_name(1, 0, 1, distrib::as_bytes(part));
  std::string text;

  auto head(distrib::LogPosition position, const std::string& before = {}) -> distrib::LogHead {
    distrib::LogManifest manifest;
    manifest.log = 8;
    manifest.position = position;
    manifest.before = before;
    manifest.step = position;
    manifest.parts.push_back({part_of_log, part.size(), {}, {}});
    text = to_text(manifest);
    return {8, position, distrib::manifest_name(position, text), {1}};
  }
  void serve(distrib::FollowCore& core, const distrib::LogHead& at) {
    FollowActions out;
    core.poll(out);
    core.head_read(at, out);
    core.object_read(distrib::as_bytes(text), out);
    core.object_read(distrib::as_bytes(part), out);
    REQUIRE(std::holds_alternative<Finish>(out.back()));
    core.applied({});
  }
};

}  // namespace

TEST_CASE("a follower reads the head, the manifest, the parts, and serves") {
  FollowedLog log;
  distrib::FollowCore core;
  const distrib::LogHead head = log.head(1);
  FollowActions out;
  core.poll(out);
  REQUIRE(std::holds_alternative<ReadHead>(out.at(0)));
  core.head_read(head, out);
  CHECK(std::get<Read>(out.at(1)).name == head.manifest);
  core.object_read(distrib::as_bytes(log.text), out);
  CHECK(std::get<Begin>(out.at(2)).from_base);
  CHECK(std::get<Read>(out.at(3)).name == log.part_of_log);
  core.object_read(distrib::as_bytes(log.part), out);
  CHECK(std::holds_alternative<Apply>(out.at(4)));
  CHECK(std::get<Finish>(out.at(5)).manifest.position == 1);
  CHECK(core.position() == 0);
  core.applied({});
  CHECK(core.position() == 1);
  CHECK(core.counts().bases == 1);
}

TEST_CASE("a follower ignores an older head, and takes another log") {
  FollowedLog log;
  distrib::FollowCore core;
  const distrib::LogHead first = log.head(1);
  const distrib::LogHead second = log.head(2, first.manifest);
  log.serve(core, second);
  FollowActions out;
  for (const distrib::LogHead& old : {first, second}) {
    out.clear();
    core.poll(out);
    core.head_read(old, out);
    CHECK(out.size() == 1);
    CHECK(!core.is_busy());
  }
  CHECK(core.counts().old_heads == 1);
  core.poll(out);
  core.head_read(std::nullopt, out);
  CHECK(core.last_error().code == distrib::export_errc::no_log);
  out.clear();
  core.poll(out);
  core.head_read(distrib::LogHead{9, 1, first.manifest, {}}, out);
  CHECK(std::get<Read>(out.back()).name == first.manifest);
}

TEST_CASE("bytes that are not those of the name, and texts that are no manifest, are refused") {
  FollowedLog log;
  distrib::FollowCore core;
  const distrib::LogHead head = log.head(1);
  FollowActions out;
  core.poll(out);
  core.head_read(head, out);
  core.object_read(distrib::as_bytes("other"), out);
  CHECK(!core.is_busy());
  CHECK(core.last_error().code == distrib::export_errc::wrong_hash);
  core.poll(out);
  core.head_read(distrib::LogHead{8, 1, distrib::manifest_name(1, "{}"), {}}, out);
  core.object_read(distrib::as_bytes("{}"), out);
  CHECK(core.last_error().code == distrib::export_errc::bad_object);
  CHECK(core.counts().damaged == 2);
  core.poll(out);
  core.head_read(head, out);
  core.object_failed(out);
  CHECK(core.counts().missing == 1);
  log.serve(core, head);
  CHECK(!core.last_error());
}

TEST_CASE("after a wrong digest a follower begins with a base") {
  FollowedLog log;
  distrib::FollowCore core;
  const distrib::LogHead first = log.head(1);
  log.serve(core, first);
  const distrib::LogHead second = log.head(2, first.manifest);
  FollowActions out;
  core.poll(out);
  core.head_read(second, out);
  core.object_read(distrib::as_bytes(log.text), out);
  core.object_read(distrib::as_bytes(log.part), out);
  core.applied(distrib::export_errc::wrong_digest);
  CHECK(core.position() == 1);
  CHECK(core.counts().wrong_digests == 1);
  log.serve(core, second);
  CHECK(core.position() == 2);
}

TEST_CASE("a follower that is held follows up to the position, and goes back to it") {
  FollowedLog log;
  distrib::FollowCore core;
  const distrib::LogHead first = log.head(1);
  const std::string first_text = log.text;
  const distrib::LogHead second = log.head(2, first.manifest);
  log.serve(core, second);
  core.hold(1);
  FollowActions out;
  core.poll(out);
  core.head_read(second, out);
  core.object_read(distrib::as_bytes(log.text), out);
  CHECK(std::get<Read>(out.back()).name == first.manifest);
  core.object_read(distrib::as_bytes(first_text), out);
  core.object_read(distrib::as_bytes(log.part), out);
  core.applied({});
  CHECK(core.position() == 1);
  out.clear();
  core.poll(out);
  core.head_read(second, out);
  CHECK(out.size() == 1);
  core.hold(std::nullopt);
  log.serve(core, second);
  CHECK(core.position() == 2);
}

namespace {

/// A log of two shards that begins with all rows; later positions are deltas and may name bases. What a follower reads
/// is told as "m3" (the manifest of position 3), "p3" (its parts), "b3" (the bases with its rows).
struct LogWithBases {
  std::vector<distrib::LogManifest> positions;
  std::map<std::string, std::string> objects;
  std::map<std::string, std::string> told_as;
  std::vector<std::string> names;  // of manifests
  std::size_t bytes_of_part = 0;

  auto put_part(std::uint64_t position, std::uint32_t shard, const std::string& on, bool is_base) -> distrib::LogPart {
    distrib::PartContents contents;
    contents.step = position;
    contents.shard = shard;
    contents.on = on;
    distrib::Error error;
    const std::vector<std::byte> bytes = distrib::write_log_part(contents, error);
    const std::string name =
        is_base ? distrib::base_name(position, shard, 2, 1, bytes) : distrib::part_name(position, shard, 2, bytes);
    objects[name] = distrib::as_text(distrib::ByteView{bytes});
    told_as[name] = (is_base ? "b" : "p") + std::to_string(position);
    bytes_of_part = bytes.size();
    return {name, bytes.size(), on, {}};
  }
  /// Adds a position, which names bases with the rows of an earlier one, or those that the one before names.
  void add(std::uint64_t bases_of = 0, std::uint64_t bytes_of_base = 10'000) {
    distrib::LogManifest manifest;
    manifest.log = 8;
    manifest.position = manifest.step = positions.size() + 1;
    if (!positions.empty()) {
      manifest.before = names.back();
      manifest.bases = positions.back().bases;
    }
    for (std::uint32_t shard = 0; shard < 2; ++shard)
      manifest.parts.push_back(
          put_part(manifest.position, shard, positions.empty() ? "" : positions.back().parts[shard].name, false));
    if (bases_of != 0) {
      manifest.bases.clear();
      for (std::uint32_t shard = 0; shard < 2; ++shard)
        manifest.bases.push_back({bases_of, positions.at(bases_of - 1).parts[shard].name,
                                  put_part(bases_of, shard, {}, true).name, bytes_of_base});
    }
    const std::string text = to_text(manifest);
    names.push_back(distrib::manifest_name(manifest.position, text));
    objects[names.back()] = text;
    told_as[names.back()] = "m" + std::to_string(manifest.position);
    positions.push_back(std::move(manifest));
  }
  [[nodiscard]] auto bases_of(std::uint64_t position) const -> std::vector<std::string> {
    std::vector<std::string> found;
    for (const auto& [name, told] : told_as)
      if (told == "b" + std::to_string(position)) found.push_back(name);
    return found;
  }
  /// One attempt. Returns what was read, in order, and at the end whether it began without rows, and the result.
  auto attempt(distrib::FollowCore& core, const std::error_code& finished = {}) -> std::vector<std::string> {
    std::vector<std::string> told;
    FollowActions todo;
    core.poll(todo);
    for (std::size_t at = 0; at < todo.size(); ++at) {
      const distrib::FollowAction action = todo[at];
      if (std::holds_alternative<ReadHead>(action)) {
        core.head_read(distrib::LogHead{8, positions.size(), names.back(), {1, 1}}, todo);
      } else if (const auto* const read = std::get_if<Read>(&action)) {
        if (told.empty() || told.back() != told_as.at(read->name)) told.push_back(told_as.at(read->name));
        const auto object = objects.find(read->name);
        if (object == objects.end()) core.object_failed(todo);
        else core.object_read(distrib::as_bytes(object->second), todo);
      } else if (const auto* const begin = std::get_if<Begin>(&action)) {
        told.push_back(begin->from_base ? "from base" : "from own");
        CHECK(begin->manifest == positions.at(begin->manifest.position - 1));
      } else if (const auto* const finish = std::get_if<Finish>(&action)) {
        CHECK(finish->manifest == positions.at(finish->manifest.position - 1));
        core.applied(finished);
      }
    }
    CHECK(!core.is_busy());
    return told;
  }
};

using Told = std::vector<std::string>;

}  // namespace

TEST_CASE("a follower without rows begins with the newest bases, in the place of the parts that have the same rows") {
  LogWithBases log;
  for (int i = 0; i < 3; ++i) log.add();
  log.add(2);
  log.add();
  distrib::FollowCore core;
  CHECK(log.attempt(core) == Told{"m5", "m4", "m3", "m2", "from base", "b2", "p3", "p4", "p5"});
  CHECK(core.position() == 5);
  CHECK(core.counts().bases == 1);
  log.add(4);
  distrib::FollowCore later;
  CHECK(log.attempt(later) == Told{"m6", "m5", "m4", "from base", "b4", "p5", "p6"});
  distrib::FollowCore held;
  held.hold(3);  // before the position of the newest bases
  CHECK(log.attempt(held) == Told{"m6", "m5", "m4", "m3", "m2", "from base", "b2", "p3"});
  held.hold(4);
  CHECK(log.attempt(held) == Told{"m6", "m5", "m4", "from own", "p4"});
  held.hold(2);
  CHECK(log.attempt(held) == Told{"m6", "m5", "m4", "m3", "m2", "from base", "b2"});
}

TEST_CASE("a follower that has rows reads bases only if these have fewer bytes than the deltas up to their position") {
  LogWithBases log;
  for (int i = 0; i < 2; ++i) log.add();
  distrib::FollowCore behind;
  log.attempt(behind);
  CHECK(behind.position() == 2);
  for (int i = 0; i < 3; ++i) log.add();  // up to 5
  distrib::FollowCore current;
  CHECK(log.attempt(current) == Told{"m5", "m4", "m3", "m2", "m1", "from base", "p1", "p2", "p3", "p4", "p5"});
  const std::uint64_t bytes = log.bytes_of_part;
  log.add(4, 2 * bytes + bytes / 2);  // as much as the parts of two positions and a half
  CHECK(log.attempt(current) == Told{"m6", "from own", "p6"});
  SECTION("the deltas are less") {
    CHECK(log.attempt(behind) == Told{"m6", "m5", "m4", "m3", "from own", "p3", "p4", "p5", "p6"});
  }
  SECTION("the bases are less") {
    log.add(4, bytes + bytes / 2);
    CHECK(log.attempt(behind) == Told{"m7", "m6", "m5", "m4", "m3", "from base", "b4", "p5", "p6", "p7"});
  }
  SECTION("what leads to its own position is removed") {
    log.objects.erase(log.names[2]);
    CHECK(log.attempt(behind) == Told{"m6", "m5", "m4", "m3", "from base", "b4", "p5", "p6"});
    CHECK(behind.position() == 6);
  }
  SECTION("its own position was wrong") {
    behind.hold(3);
    log.attempt(behind, distrib::export_errc::wrong_digest);
    behind.hold(std::nullopt);
    CHECK(log.attempt(behind) == Told{"m6", "m5", "m4", "from base", "b4", "p5", "p6"});
  }
}

TEST_CASE("bases that are missing, damaged, or have wrong rows are passed over") {
  LogWithBases log;
  for (int i = 0; i < 4; ++i) log.add();
  log.add(2);
  log.add(4);
  distrib::FollowCore core;
  const std::string newest = log.bases_of(4).at(1);
  const std::string older = log.bases_of(2).at(0);
  const std::string good = log.objects.at(newest);
  const Told with_newest{"m6", "m5", "m4", "from base", "b4", "p5", "p6"};
  const Told with_older{"m6", "m5", "m4", "m3", "m2", "from base", "b2", "p3", "p4", "p5", "p6"};
  const Told fails{"m6", "m5", "m4", "from base", "b4"};
  SECTION("missing") {
    log.objects.erase(newest);
    CHECK(log.attempt(core) == fails);
    CHECK(core.last_error().code == distrib::export_errc::missing_object);
    CHECK(log.attempt(core) == with_older);
  }
  SECTION("damaged, as the one before") {
    log.objects[newest] += 'x';
    CHECK(log.attempt(core) == fails);
    CHECK(core.last_error().code == distrib::export_errc::wrong_hash);
    log.objects[older] += 'x';
    log.attempt(core);
    CHECK(log.attempt(core) ==
          Told{"m6", "m5", "m4", "m3", "m2", "m1", "from base", "p1", "p2", "p3", "p4", "p5", "p6"});
  }
  SECTION("the rows are wrong") {
    CHECK(log.attempt(core, distrib::export_errc::wrong_digest) == with_newest);
    CHECK(log.attempt(core) == with_older);
    CHECK(core.counts().wrong_digests == 1);
  }
  SECTION("nothing else is there: again from the newest one") {
    log.objects.erase(newest);
    log.objects.erase(log.names[2]);
    CHECK(log.attempt(core) == fails);
    CHECK(log.attempt(core) == Told{"m6", "m5", "m4", "m3"});
    log.objects[newest] = good;
    CHECK(log.attempt(core) == with_newest);
  }
  SECTION("a delta is missing: the bases are good") {
    const std::string delta = log.positions[4].parts[0].name;
    const std::string text = log.objects.at(delta);
    log.objects.erase(delta);
    CHECK(log.attempt(core) == Told{"m6", "m5", "m4", "from base", "b4", "p5"});
    log.objects[delta] = text;
    CHECK(log.attempt(core) == with_newest);
  }
  CHECK(core.position() == 6);
}
