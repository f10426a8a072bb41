// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/s3/s3_stores.hpp>

#include <distrib/core/bytes.hpp>
#include <distrib/optimizer/sgd.hpp>
#include <distrib/ps/cut/object_cuts.hpp>
#include <distrib/remote/http_error.hpp>
#include <distrib/remote/s3/s3_error.hpp>

#include "support/catch.hpp"
#include "support/fake_s3.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

using namespace distrib;

namespace {

/// A shard of a job whose cuts are in the server: cuts every 3 steps, checkpoints every 6.
struct CountedShard {
  CountedShard(support::FakeS3& in, std::uint32_t shards, std::uint32_t number) : server{in} {
    CutOwner owner{{}, number, {server.object("run"), 6, {.max_to_keep = 2}}, {AnyUpdater{Sgd{}}}};
    owner.job.shards_per_task = shards;
    owner.job.ranks = 1;
    owner.job.total_steps = 60;
    owner.job.cut_interval = 3;
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

  /// Returns the number of requests.
  auto save(Step step) -> std::size_t {
    const std::size_t before = server.asked().size();
    const Cut cut{step, std::make_shared<AlignedBuffer>(sizeof(float)), {}, {}};
    cuts->save(std::span{&cut, 1});
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

TEST_CASE("s3_stores: a cut is three requests, and the last shard of a checkpoint makes N + 5 more", "[remote][s3]") {
  support::FakeS3 server;
  constexpr std::uint32_t count = 4;
  std::vector<std::unique_ptr<CountedShard>> shards;
  for (std::uint32_t number = 0; number < count; ++number)
    shards.push_back(std::make_unique<CountedShard>(server, count, number));
  std::vector<std::vector<std::size_t>> requests;
  for (const Step step : {3U, 6U, 9U, 12U, 15U, 18U, 21U}) {
    requests.emplace_back();
    for (const auto& shard : shards) requests.back().push_back(shard->save(step));
    for (const auto& shard : shards)
      if (step > 3) shard->cuts->drop(step - 3, false);
  }
  CHECK(requests == std::vector<std::vector<std::size_t>>{
                        {3, 3, 3, 3},
                        {4, 4, 4, 3 + count + 5},  // each looks whether all are there
                        {3, 3, 3, 3},
                        {6, 6, 6, 3 + count + 5 + 1},  // reads the index: there is an older cut, which it names
                        {5, 5, 5, 4},
                        {5, 5, 5, 3 + count + 5 + 3},  // removes the oldest index and its cut
                        {6, 6, 6, 4}});
}
