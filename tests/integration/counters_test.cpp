// SPDX-License-Identifier: Apache-2.0
// A model with counters, from end to end: in one process, and two workers in a cluster.
#include <distrib/checkpoint/bundle_reader.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/counting_model.hpp"
#include "train/loopback_cluster.hpp"

#include <array>
#include <string>
#include <vector>

using namespace distrib;

namespace {

/// The counters in a checkpoint.
struct Counted {
  std::array<std::int64_t, 3> seen{};
  double sum = 0;
  auto operator==(const Counted&) const -> bool = default;
};

auto counted_in(const std::string& prefix) -> Counted {
  const BundleReader reader = BundleReader::open(prefix);
  REQUIRE(reader.find("seen") != nullptr);
  CHECK(reader.find("seen")->dtype == DType::int64);
  CHECK(reader.find("sum")->dtype == DType::float64);
  CHECK(reader.find("weights/Momentum") != nullptr);
  CHECK(reader.find("seen/Momentum") == nullptr);
  CHECK(reader.find("sum/Momentum") == nullptr);
  Counted counted;
  Error error;
  reader.read("seen", Slice::whole({3}), std::as_writable_bytes(std::span{counted.seen}), error);
  CHECK_FALSE(error);
  reader.read("sum", Slice::whole({}), std::as_writable_bytes(std::span{&counted.sum, 1}), error);
  CHECK_FALSE(error);
  return counted;
}

/// Returns the counters after this number of batches, if each was counted once. The sums are exact, in any order.
template <class Data>
auto expected(const Data& data, std::uint64_t batches) -> Counted {
  const auto source = data.shuffle(3).batch(10).open();
  Counted counted;
  Batch<CountingModel::Example> batch;
  for (std::uint64_t number = 0; number < batches; ++number) {
    source.fill(number, batch);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      ++counted.seen[CountingModel::bucket(batch[i])];
      counted.sum += static_cast<double>(batch[i].y);
    }
  }
  return counted;
}

}  // namespace

TEST_CASE("counters: two workers on any number of parameter servers count each example once", "[integration]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  constexpr Step steps = 30;
  const SaveCheckpoint save{.directory = directory / "local", .every_steps = 10};
  auto local = counting_model::builder(data, {.workers = 2, .steps = steps}).with_hooks(save).build();
  REQUIRE(local.run() == 0);
  const Counted all = expected(data, 2 * steps);
  CHECK(all.seen[0] + all.seen[1] + all.seen[2] == 2 * steps * 10);
  CHECK(counted_in(local.result().checkpoint) == all);

  // Continues from there, on another number of shards.
  auto longer = counting_model::builder(data, {.workers = 2, .steps = 2 * steps}).build();
  REQUIRE(longer.run() == 0);
  auto second = counting_model::builder(data, {.workers = 2, .shards = 3, .parts = 2, .steps = 2 * steps})
                    .with_hooks(save)
                    .build();
  REQUIRE(second.run() == 0);
  CHECK(second.result().parameters_sha256 == longer.result().parameters_sha256);
  CHECK(counted_in(second.result().checkpoint) == expected(data, 2 * 2 * steps));

  for (const std::size_t servers : {1U, 2U, 3U}) {
    CAPTURE(servers);
    const SaveCheckpoint to{.directory = directory / std::to_string(servers), .every_steps = 10};
    const line_job::Setup setup{.shards = 1, .parts = 2, .steps = steps};
    const TrainingResult result =
        loopback_cluster::run(counting_model::builder(data, setup).with_hooks(to), servers, 2);
    CHECK(result.parameters_sha256 == local.result().parameters_sha256);
    CHECK(counted_in(result.checkpoint) == all);

    const line_job::Setup more{.shards = 2, .parts = 3, .steps = 2 * steps};
    const TrainingResult end =
        loopback_cluster::run(counting_model::builder(data, more).with_hooks(to), 4 - servers, 2);
    CHECK(end.parameters_sha256 == longer.result().parameters_sha256);
    CHECK(counted_in(end.checkpoint) == expected(data, 2 * 2 * steps));
  }
}

TEST_CASE("counters: are exact beside gradients of 16 bits and of int8 numbers", "[integration]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  constexpr Step steps = 30;
  for (const WireFormat format : {WireFormat{FloatFormat::bfloat16}, WireFormat{Int8Gradients{}}}) {
    const auto local = counting_model::builder(data, {.workers = 2, .steps = steps}).with_wire_format(format);
    auto trainer = local.build();
    REQUIRE(trainer.run() == 0);
    const std::string name{to_text(format)};
    const SaveCheckpoint to{.directory = directory / name, .every_steps = 10};
    const TrainingResult result =
        loopback_cluster::run(counting_model::builder(data, {.shards = 2, .parts = 2, .steps = steps})
                                  .with_wire_format(format)
                                  .with_hooks(to),
                              2, 2);
    CHECK(result.parameters_sha256 == trainer.result().parameters_sha256);
    CHECK(counted_in(result.checkpoint) == expected(data, 2 * steps));
  }
}

TEST_CASE("counters: each contribution of an asynchronous job adds once", "[integration]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  const SaveCheckpoint save{.directory = directory / "out", .every_steps = 10};
  const auto builder = counting_model::builder(data, {.shards = 2, .parts = 2, .steps = 60})
                           .with_consistency(AsynchronousParallel{})
                           .with_hooks(save);
  const TrainingResult result = loopback_cluster::run(builder, 2, 2);
  CHECK(counted_in(result.checkpoint) == expected(data, 60));
}
