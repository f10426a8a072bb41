// SPDX-License-Identifier: Apache-2.0
// Jobs that start from custom initial values, over real sockets.
#include <distrib/ps/job/exit_code.hpp>
#include <distrib/ps/job/initial_blocks.hpp>
#include <distrib/ps/server/server.hpp>
#include <distrib/sharding/fixed_shards.hpp>
#include <distrib/sim/run.hpp>

#include "ps/loopback_job.hpp"
#include "support/catch.hpp"
#include "support/loopback.hpp"
#include "support/temp_directory.hpp"
#include "train/line_job.hpp"
#include "train/loopback_cluster.hpp"
#include "train/own_values_model.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace distrib;

namespace {

template <class Data>
auto builder(const Data& data, std::uint32_t shards, float first = 0.25F) {
  OwnValuesModel model;
  model.first = first;
  return train(model)
      .with_data(data.shuffle(3).batch(10))
      .with_partitioner(FixedShardsPartitioner{2})
      .with_updater(Momentum{.learning_rate = 0.1F, .momentum = 0.5F})
      .with_hooks(StopAtStep{12})
      .with_seed(11)
      .with_local_mode({.workers = 2, .shards = shards});
}

/// Gives variable "a" of a job custom initial values; returns contribution 0.
auto own_values(Job& job, float first) -> std::vector<SharedBuffer> {
  std::vector<float> own(6 * 16, first);
  own[5] = -0.125F;
  job.variables[0].initializer = CustomInitializer{};
  const std::vector<ByteView> whole{std::as_bytes(std::span<const float>{own}), {}};
  return set_initial_values(job, whole);
}

auto with(const std::vector<SharedBuffer>& initial) -> WorkerClientOptions {
  WorkerClientOptions options;
  options.worker.initial_values = initial;
  return options;
}

}  // namespace

TEST_CASE("custom values: the same bits in one process, on any number of servers, and simulated", "[integration]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  for (const WireFormat format : {WireFormat{}, WireFormat{FloatFormat::bfloat16}, WireFormat{Int8Gradients{}}}) {
    std::string first;
    for (const std::uint32_t shards : {1U, 2U, 3U}) {
      CAPTURE(shards, to_text(format));
      const auto own = builder(data, shards).with_wire_format(format);
      auto local = own.build();
      CHECK(local.run() == 0);
      if (first.empty()) first = local.result().parameters_sha256;
      CHECK(local.result().parameters_sha256 == first);
      CHECK(loopback_cluster::run(own.with_local_mode({}), shards, 2).parameters_sha256 == first);
      auto other = builder(data, shards, 0.5F).with_wire_format(format).build();
      CHECK(other.run() == 0);
      CHECK(other.result().parameters_sha256 != first);
    }
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const sim::Outcome outcome = sim::run(builder(data, 2).with_wire_format(format), {.seed = seed});
      CHECK(outcome.wrong == "");
      CHECK(outcome.parameters_sha256 == first);
    }
  }
}

TEST_CASE("custom values: also in an asynchronous job", "[integration]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  const auto own = builder(data, 2).with_consistency(AsynchronousParallel{}).with_local_mode({});
  auto local = own.build();  // with one worker there is only one order
  CHECK(local.run() == 0);
  CHECK(loopback_cluster::run(own, 2, 1).parameters_sha256 == local.result().parameters_sha256);
}

TEST_CASE("custom values: a job continues from its checkpoints only if its model has the same values",
          "[integration]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  const SaveCheckpoint save{.directory = (directory / "saved").string()};
  CHECK(builder(data, 2).with_hooks(save).build().run() == 0);
  CHECK(builder(data, 1).with_hooks(save).build().run() == 0);  // with other shards, it finds the job done
  CHECK_THROWS_WITH(builder(data, 2, 0.5F).with_hooks(save).build().run(),
                    ContainsSubstring("it has 'variable weights float32[2] custom sha256="));
}

TEST_CASE("custom values: a shard that goes back to step 0 gets them again", "[integration]") {
  Job job = loopback_job::make(2, 1, 30);
  const std::vector<SharedBuffer> initial = own_values(job, 0.5F);
  const auto run = [&](Step lost_at, bool worker_too) {
    IoPool pool{2};
    asio::io_context context{1};
    const ClusterSpec cluster{{"ps", {"127.0.0.1:0", "127.0.0.1:0"}}, {"worker", {"127.0.0.1:1"}}};
    Server stays{pool, cluster, "ps", 0};
    std::optional<Server> lost{std::in_place, pool, cluster, "ps", 1U};  // lost with its cuts, which are in memory
    const std::vector<Address> to{{"127.0.0.1", stays.port()}, {"127.0.0.1", lost->port()}};
    const ClusterSpec same{{"ps", {"127.0.0.1:1", to[1].to_string()}}, {"worker", {"127.0.0.1:1"}}};
    auto worker = std::make_unique<loopback_job::Worker>(context, job, 0, to, with(initial));
    std::vector<Step> made;
    if (lost_at != 0) {
      bool reached = false;
      worker->at_step = [&](Step step) {
        if (step != lost_at || std::exchange(reached, true)) return;
        if (worker_too) worker->client->stop();
      };
      support::run_until(context, [&] { return worker_too ? worker->is_over : reached; });
      lost.reset();
      lost.emplace(pool, same, "ps", 1U);
      if (worker_too) worker = std::make_unique<loopback_job::Worker>(context, job, 0, to, with(initial));
    }
    worker->at_step = [&](Step step) { made.push_back(step); };
    support::run_until(context, [&] { return worker->is_over; });
    CHECK(worker->end.code == 0);
    CHECK((made.empty() ? 0 : made.front()) <= lost_at + 1);
    CHECK(stays.join() == 0);
    CHECK(lost->join() == 0);
    return loopback_job::hash_of(worker->end.result);
  };
  const std::string undisturbed = run(0, false);
  CHECK(run(9, true) == undisturbed);   // all shards go back to step 0
  CHECK(run(3, false) == undisturbed);  // before its first cut: the worker sends it everything again
  Job plain = loopback_job::make(2, 1, 30);
  IoPool pool{2};
  asio::io_context context{1};
  Server server{pool, {{"ps", {"127.0.0.1:0", "127.0.0.1:0"}}, {"worker", {"127.0.0.1:1"}}}, "ps", 0};
  Server second{pool, {{"ps", {"127.0.0.1:0", "127.0.0.1:0"}}, {"worker", {"127.0.0.1:1"}}}, "ps", 1};
  loopback_job::Worker worker{context, plain, 0, {{"127.0.0.1", server.port()}, {"127.0.0.1", second.port()}}};
  support::run_until(context, [&] { return worker.is_over; });
  CHECK(loopback_job::hash_of(worker.end.result) != undisturbed);
}

TEST_CASE("custom values: a worker with other values in its job or in its contribution is refused", "[integration]") {
  Job job = loopback_job::make(1, 2);
  const std::vector<SharedBuffer> initial = own_values(job, 0.5F);
  Job other_job = loopback_job::make(1, 2);
  const std::vector<SharedBuffer> other = own_values(other_job, 0.75F);
  IoPool pool{2};
  asio::io_context context{1};
  Server server{pool, {{"ps", {"127.0.0.1:0"}}, {"worker", {"127.0.0.1:1", "127.0.0.1:2"}}}, "ps", 0};
  const std::vector<Address> to{{"127.0.0.1", server.port()}};
  {
    loopback_job::Worker first{context, job, 0, to, with({})};  // brings the job, but sends no values
    loopback_job::Worker second{context, other_job, 1, to, with(other)};
    support::run_until(context, [&] { return second.is_over; });
    CHECK(second.end.why.code == ps_errc::job_mismatch);
    CHECK_THAT(second.end.why.where, ContainsSubstring("'variable a float32[6,16] custom sha256="));
  }
  loopback_job::Worker third{context, job, 1, to, with(other)};  // sends other values than its job describes
  support::run_until(context, [&] { return third.is_over; });
  CHECK(third.end.why.code == ps_errc::bad_initial_values);
  CHECK_THAT(third.end.why.where, ContainsSubstring("step 0 of rank 1"));
  CHECK(server.join() == exit_code::refused);
}
