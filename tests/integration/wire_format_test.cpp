// SPDX-License-Identifier: Apache-2.0
// Values and gradients that are sent in a 16-bit format, or gradients as int8 numbers: the same bits in a cluster and
// in one process, end to end.
#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/optimizer/adamw.hpp>
#include <distrib/sim/run.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/line_job.hpp"
#include "train/loopback_cluster.hpp"
#include "train/table_model.hpp"

#include <chrono>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace distrib;
using namespace std::chrono_literals;

namespace {

constexpr WireFormat wire_formats[] = {FloatFormat::float32, FloatFormat::bfloat16, FloatFormat::float16,
                                       Int8Gradients{}};

template <class Builder>
auto run_local(const Builder& builder) -> TrainingResult {
  auto trainer = builder.build();
  CHECK(trainer.run() == 0);
  return trainer.result();
}

/// Returns the bits of a variable in a checkpoint.
auto saved(const std::string& prefix, std::string_view name) -> std::vector<std::uint32_t> {
  const BundleReader reader = BundleReader::open(prefix);
  const StoredTensor* const tensor = reader.find(name);
  REQUIRE(tensor != nullptr);
  std::vector<std::uint32_t> bits(static_cast<std::size_t>(tensor->shape.elements()));
  reader.read(name, Slice::whole(tensor->shape), std::as_writable_bytes(std::span{bits}));
  return bits;
}

}  // namespace

TEST_CASE("wire format: a job with tables ends with the same bits in a cluster and in one process", "[integration]") {
  const support::TempDirectory data;
  const auto dataset = table_model::write(data.path());
  std::set<std::string> hashes;
  for (const WireFormat format : wire_formats) {
    const auto builder = [&](std::uint32_t shards) {
      return table_model::builder(dataset, 2, shards, 60).with_wire_format(format);
    };
    const support::TempDirectory out;
    const auto saving = [&](const std::string& name) {
      return SaveCheckpoint{.directory = (out / name).string(), .every_steps = 60};
    };
    std::vector<std::pair<Step, Metrics>> expected;
    const TrainingResult local = run_local(builder(1).with_hooks(table_model::Evaluations{&expected}, saving("local")));
    CHECK(*local.metrics.find("squared_error") < 0.07);
    REQUIRE(expected.size() == 3);
    CHECK(run_local(builder(3)).parameters_sha256 == local.parameters_sha256);
    for (const std::size_t servers : {1U, 2U})
      for (const std::uint32_t shards : {1U, 2U}) {
        CAPTURE(to_text(format), servers, shards);
        const std::string name = std::to_string(servers) + "-" + std::to_string(shards);
        std::vector<std::pair<Step, Metrics>> heard;
        const TrainingResult result = loopback_cluster::run(
            builder(shards).with_hooks(table_model::Evaluations{&heard}, saving(name)), servers, 2);
        CHECK(result.metrics == local.metrics);
        CHECK(result.parameters_sha256 == local.parameters_sha256);
        CHECK(heard == expected);
        for (const char* variable : {"bias", "items"})
          CHECK(saved(result.checkpoint, variable) == saved(local.checkpoint, variable));
      }
    // The values that the server keeps and saves are not rounded.
    const std::uint32_t bias = saved(local.checkpoint, "bias").front();
    CHECK((bias & 0x1FFFU) != 0);
    hashes.insert(local.parameters_sha256);
  }
  CHECK(hashes.size() == 4);
}

TEST_CASE("wire format: without tables, with divided variables; a late chief reads the same result", "[integration]") {
  const support::TempDirectory data;
  const auto dataset = line_model::write(data.path());
  for (const WireFormat format : std::span{wire_formats}.subspan(1)) {
    const auto builder = [&](std::uint32_t shards, std::int64_t parts) {
      return line_job::builder(dataset, {.workers = 2, .shards = shards, .parts = parts}).with_wire_format(format);
    };
    const TrainingResult local = run_local(builder(1, 1));
    CHECK(run_local(builder(2, 2)).parameters_sha256 == local.parameters_sha256);
    const support::TempDirectory out;
    const auto saving = builder(2, 2)
                            .with_hooks(SaveCheckpoint{.directory = out.path().string(), .every_steps = 20})
                            .with_cluster_mode({.start_within = 50ms});
    CHECK(loopback_cluster::run(saving.with_cluster_mode({}), 2, 2).parameters_sha256 == local.parameters_sha256);
    IoPool pool{1};
    ClusterFlags flags;
    flags.job_name = "worker";
    flags.worker_hosts = {"127.0.0.1:1", "127.0.0.1:1"};
    flags.ps_hosts = {"no-such-host.invalid:9", "no-such-host.invalid:9"};
    auto late = saving.build(pool, flags);
    CHECK(late.run() == 0);
    CHECK(late.result().parameters_sha256 == local.parameters_sha256);
  }
}

TEST_CASE("wire format: int8 gradients have the same bits when processes die, also with local steps or clipping",
          "[integration]") {
  const support::TempDirectory data;
  const auto base = line_job::builder(line_model::write(data.path()), {.workers = 3, .shards = 2, .parts = 2})
                        .with_wire_format(Int8Gradients{});
  const auto check = [](const auto& builder) {
    const TrainingResult local = run_local(builder);
    unsigned deaths = 0;
    for (std::uint64_t seed = 0; seed < 15; ++seed) {
      const sim::Outcome outcome = sim::run(builder, {.seed = seed});
      CAPTURE(seed);
      CHECK(outcome.wrong == "");
      CHECK(outcome.parameters_sha256 == local.parameters_sha256);
      deaths += outcome.deaths;
    }
    CHECK(deaths > 0);
    return local.parameters_sha256;
  };
  const std::string plain = check(base);
  CHECK(check(base.with_local_steps(4, AdamW{.learning_rate = 0.02F})) != plain);
  CHECK(check(base.with_gradient_clipping(ClipByNorm{0.5F}).with_check_numerics()) != plain);
}

TEST_CASE("wire format: interrupted and started again it ends with the undisturbed hash", "[integration]") {
  const support::TempDirectory data;
  const auto dataset = table_model::write(data.path());
  const WireFormat format = wire_formats[GENERATE(1, 3)];
  const auto builder = [&](std::uint32_t shards) {
    return table_model::builder(dataset, 2, shards, 60).with_wire_format(format);
  };
  const TrainingResult undisturbed = run_local(builder(1));
  const support::TempDirectory out;
  const SaveCheckpoint save{.directory = out.path().string(), .every_steps = 10};
  auto first = builder(1).with_hooks(save, line_job::StopAfter{23}).build();
  CHECK(first.run() == 1);
  const TrainingResult second = run_local(builder(2).with_hooks(save));
  CHECK(second.parameters_sha256 == undisturbed.parameters_sha256);
}
