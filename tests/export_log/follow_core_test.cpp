// SPDX-License-Identifier: Apache-2.0
// What random runs of the core find is in simulation/export_log_test.cpp, and with a real log in
// serve/model_replica_test.cpp; here are single decisions.
#include <distrib/export_log/follow_core.hpp>

#include "support/catch.hpp"

#include <string>
#include <variant>

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
