// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/s3/s3_stores.hpp>

#include <distrib/core/bytes.hpp>
#include <distrib/optimizer/sgd.hpp>
#include <distrib/ps/cut/object_cuts.hpp>
#include <distrib/remote/http_error.hpp>
#include <distrib/remote/s3/s3_error.hpp>

#include "support/catch.hpp"
#include "support/fake_s3.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

using namespace distrib;

namespace {

/// A shard of a job whose cuts are in the server: a checkpoint every `every` steps; the newest `kept` stay.
struct CountedShard {
  CountedShard(support::FakeS3& in, std::uint32_t shards, std::uint32_t number, Step every, std::size_t kept)
      : server{in} {
    CutOwner owner{{}, number, {server.object("run"), every, {.max_to_keep = kept}}, {AnyUpdater{Sgd{}}}};
    owner.job.shards_per_task = shards;
    owner.job.ranks = 1;
    owner.job.total_steps = 1000;
    owner.job.cut_interval = 1;
    owner.job.updater = "sgd learning_rate=1";
    owner.job.variables = {{"v", DType::float32, {shards}, ZerosInitializer{}}};
    for (std::uint32_t shard = 0; shard < shards; ++shard)
      owner.job.parts.push_back({0, Slice::along({shards}, 0, shard, 1), shard});
    ObjectAccess access;
    access.open = s3_stores(server.options());
    access.nonce = number + 1;
    cuts = std::make_unique<ObjectCuts>(owner, access);
    CutWork found;
    cuts->open(found);
  }

  /// Saves a cut; then the protocol drops the one of two steps before. Returns the number of requests, all of them.
  auto save(Step step) -> std::size_t {
    const std::size_t before = server.asked().size();
    const Cut cut{step, std::make_shared<AlignedBuffer>(sizeof(float)), {}, {}};
    cuts->save(std::span{&cut, 1});
    if (step > 2) cuts->drop(step - 2, false);
    return server.asked().size() - before;
  }

  support::FakeS3& server;
  std::unique_ptr<ObjectCuts> cuts;
};

}  // namespace

TEST_CASE("s3_stores: opens a directory of a bucket, and asks nothing before it is used", "[remote][s3]") {
  support::FakeS3 server;
  const OpenObjectStore open = s3_stores(server.options());
  Error error;
  ObjectDirectory directory = open(server.object("run/one//"), error);
  REQUIRE_FALSE(error);
  CHECK(server.asked().empty());
  CHECK(directory.root == "run/one");
  CHECK(directory.url == server.object("run/one"));
  directory.store.put("run/one/a", as_bytes("letters"), error);
  CHECK_FALSE(error);
  CHECK(open(server.object(), error).url == server.object().substr(0, server.object().size() - 1));
  ObjectDirectory again = open(server.object("run/one"), error);
  CHECK(as_text(again.store.get("run/one/a", 100, error)) == "letters");
  std::array<std::byte, 2> two{};
  again.store.get_range("run/one/a", 1, two, {}, error);
  CHECK(as_text(two) == "et");
  ObjectInfo found;
  CHECK(as_text(again.store.get_end("run/one/a", 3, found, error)) == "ers");
  CHECK(found.bytes == 7);
  CHECK(again.store.list("run/", error).size() == 1);
  again.store.remove("run/one/a", error);
  CHECK_FALSE(error);
  CHECK(again.store.get("run/one/a", 100, error).empty());
  CHECK(error.code == failure::not_found);
}

TEST_CASE("s3_stores: a store that does not answer is tried three times", "[remote][s3]") {
  support::FakeS3 server;
  server.refuse = [](const support::HttpAsked&) { return support::FakeS3::error(503, "ServiceUnavailable"); };
  Error error;
  ObjectDirectory directory = s3_stores(server.options(8))(server.object("run"), error);
  CHECK(directory.store.list("run/", error).empty());
  CHECK(error.code == failure::unavailable);
  CHECK(server.asked().size() == 3);
}

TEST_CASE("s3_stores: another URL is refused", "[remote][s3]") {
  Error error;
  for (const char* const url : {"hdfs://host/run", "/run", "s3://", "s3:///run"}) {
    CHECK(s3_stores()(url, error).url.empty());
    CHECK(error.code == s3_errc::bad_url);
  }
}

TEST_CASE("s3_stores: a long object is written in parts", "[remote][s3]") {
  support::FakeS3 server;
  S3Options options = server.options();
  options.http.idle_timeout = options.http.timeout = std::chrono::seconds{120};  // a part is long for a busy machine
  detail::S3Sessions sessions{std::move(options)};
  Error error;
  const S3Location location = S3Location::parse(server.object("run"), error);
  detail::S3Bucket bucket{sessions.open(location, error), std::size_t{5} << 20};
  const std::vector<std::byte> bytes((std::size_t{5} << 20) + 7, std::byte{'x'});
  bucket.put("run/long", bytes, error);
  CHECK_FALSE(error);
  CHECK(server.bytes_of("run/long").size() == bytes.size());
  CHECK(server.kinds().front() == "POST uploads");
}

TEST_CASE("s3_stores: several objects are removed by one request, or one by one if the store cannot", "[remote][s3]") {
  support::FakeS3 server;
  Error error;
  ObjectDirectory directory = s3_stores(server.options())(server.object("run"), error);
  const std::string keys[] = {"run/a", "run/b", "run/c"};
  const auto remove = [&](std::size_t count) {
    for (const std::string& key : keys) directory.store.put(key, as_bytes("1"), error);
    const std::size_t before = server.asked().size();
    directory.store.remove_all(std::span{keys}.first(count), error);
    CHECK_FALSE(error);
    CHECK(directory.store.list("run/", error).size() == 3 - count);
    return server.asked().size() - 1 - before;
  };
  CHECK(remove(0) == 0);
  CHECK(remove(1) == 1);
  CHECK(server.kinds()[server.kinds().size() - 2] == "DELETE");
  CHECK(remove(3) == 1);
  server.refuse = [](const support::HttpAsked& asked) {
    return asked.method == "POST" ? std::optional{support::FakeS3::error(501, "NotImplemented")} : std::nullopt;
  };
  CHECK(remove(3) >= 4);
}

// Each request of a shard counts, also those that remove older cuts and those of `drop`.
TEST_CASE("s3_stores: a cut is at most three requests, and the last shard of a checkpoint makes at most N + 5 more",
          "[remote][s3]") {
  constexpr std::uint32_t count = 3;
  constexpr Step steps = 36;
  struct Shape {
    Step every;
    std::size_t kept;
  };
  for (const Shape shape : {Shape{1, 2}, Shape{1, 5}, Shape{2, 2}, Shape{4, 3}}) {
    CAPTURE(shape.every, shape.kept);
    support::FakeS3 server;
    std::vector<std::unique_ptr<CountedShard>> shards;
    for (std::uint32_t number = 0; number < count; ++number)
      shards.push_back(std::make_unique<CountedShard>(server, count, number, shape.every, shape.kept));
    std::size_t most_cuts = 0;
    for (Step step = 1; step <= steps; ++step) {
      for (std::uint32_t number = 0; number < count; ++number) {
        CAPTURE(step, number);
        const bool merges = step % shape.every == 0 && number == count - 1;
        const std::size_t requests = shards[number]->save(step);
        CHECK(requests >= 2);
        CHECK(requests <= (merges ? 3 + count + 5 : 3));
      }
      std::size_t cuts = 0, indexes = 0;
      for (const auto& [key, object] : server.objects) {
        if (key.starts_with("run/cuts/")) ++cuts;
        if (key.starts_with("run/model.ckpt-")) ++indexes;
      }
      CHECK(indexes == std::min<std::size_t>(step / shape.every, shape.kept));
      most_cuts = std::max(most_cuts, cuts);
    }
    // Of each shard: the checkpoints, the two newest cuts, and a few that are removed by one of the next saves.
    CHECK(most_cuts <= count * (shape.kept + 2 + 4));
    // Once the shards look whether they were followed, nothing is left over.
    for (int look = 0; look < 4; ++look)
      for (const auto& shard : shards) shard->cuts->look();
    std::size_t cuts = 0;
    for (const auto& [key, object] : server.objects) cuts += key.starts_with("run/cuts/") ? 1U : 0U;
    CHECK(cuts == count * (shape.kept + (shape.every == 1 ? 0 : 1)));
  }
}
