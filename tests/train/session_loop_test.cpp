// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/session_loop.hpp>

#include <distrib/ps/server/server.hpp>
#include <distrib/train/builder.hpp>

#include "support/catch.hpp"
#include "support/loopback.hpp"
#include "support/temp_directory.hpp"
#include "train/line_job.hpp"

#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

using namespace distrib;
using namespace std::chrono_literals;

namespace {

constexpr Step steps = 30;

/// Returns an address whose port was free a moment ago.
auto free_address() -> std::string {
  asio::io_context context{1};
  return "127.0.0.1:" + std::to_string(support::Acceptor{context, support::loopback()}.local_endpoint().port());
}

auto flags_of(const std::string& job, std::uint32_t index, const std::string& ps, std::uint32_t workers = 1)
    -> ClusterFlags {
  ClusterFlags flags;
  flags.job_name = job;
  flags.task_index = index;
  flags.ps_hosts = {ps};
  for (std::uint32_t worker = 0; worker < workers; ++worker)
    flags.worker_hosts.push_back("127.0.0.1:" + std::to_string(worker + 1));
  return flags;
}

template <class Data> auto builder(const Data& data) {
  return session(LineModel{})
      .with_data(data.shuffle(3).batch(10))
      .with_updater(Momentum{.learning_rate = 0.1F, .momentum = 0.5F})
      .with_hooks(StopAtStep{steps})
      .with_seed(11);
}

const auto of_model = [](const auto& batch, const auto& values, auto& gradients, StepContext context) {
  return LineModel{}.gradients(batch, values, gradients, context);
};

/// Runs a session in a thread of its own, to its end.
template <class Builder, class F>
auto runs(const Builder& of, IoPool& pool, const ClusterFlags& flags, F step) {
  return std::async(std::launch::async, [&of, &pool, flags, step] {
    auto session = of.open(pool, flags);
    while (!session.should_stop()) session.run(step);
    const int code = session.close();
    return std::pair{code, session.result()};
  });
}

auto error_of_opening(const auto& of, IoPool& pool, const ClusterFlags& flags, std::chrono::milliseconds max_wait)
    -> std::error_code {
  try {
    static_cast<void>(of.open(pool, flags, {.max_wait = max_wait}));
  } catch (const std::system_error& error) {
    return error.code();
  }
  return {};
}

}  // namespace

TEST_CASE("P046 MonitoredTrainingSession: one program for chief, worker and ps; the bits of one process", "[train]") {
  const support::TempDirectory data;
  const auto dataset = line_model::write(data.path());
  auto local = line_job::builder(dataset, {.workers = 2, .steps = steps}).build();
  REQUIRE(local.run() == 0);
  const auto of = builder(dataset);
  const std::string address = free_address();
  IoPool pool{2};
  auto ps = runs(of, pool, flags_of("ps", 0, address, 2), of_model);
  auto worker = runs(of, pool, flags_of("worker", 1, address, 2), of_model);
  auto chief = runs(of, pool, flags_of("worker", 0, address, 2), of_model);
  const auto [code, result] = chief.get();
  CHECK(code == 0);
  CHECK(worker.get().first == 0);
  CHECK(ps.get().first == 0);
  CHECK(result.parameters_sha256 == local.result().parameters_sha256);
  CHECK(result.steps == steps);
  CHECK(result.complete);
}

TEST_CASE("P049 a worker waits for the chief, with a limit", "[train]") {
  const support::TempDirectory data;
  const auto of = builder(line_model::write(data.path()));
  const std::string address = free_address();
  IoPool pool{2};
  const auto flags = [&](const char* job, std::uint32_t index) { return flags_of(job, index, address, 2); };

  // No parameter server: neither the chief nor the worker gets ready.
  CHECK(error_of_opening(of, pool, flags("worker", 0), 300ms) == train_errc::not_ready);
  CHECK(error_of_opening(of, pool, flags("worker", 1), 300ms) == train_errc::not_ready);

  // A parameter server, and no chief: the worker does not bring the job.
  auto ps = runs(of, pool, flags("ps", 0), of_model);
  CHECK(error_of_opening(of, pool, flags("worker", 1), 700ms) == train_errc::not_ready);

  // The worker waits until the chief is there.
  auto worker = runs(of, pool, flags("worker", 1), of_model);
  CHECK(worker.wait_for(600ms) == std::future_status::timeout);
  auto chief = runs(of, pool, flags("worker", 0), of_model);
  CHECK(chief.get().first == 0);
  CHECK(worker.get().first == 0);
  CHECK(ps.get().first == 0);
}

TEST_CASE("P048 a parameter server that dies and comes back: the session goes on, and counts each step once",
          "[train]") {
  const support::TempDirectory data;
  const auto dataset = line_model::write(data.path());
  auto local = line_job::builder(dataset, {.workers = 1, .steps = steps}).build();
  REQUIRE(local.run() == 0);
  const std::string address = free_address();
  const support::TempDirectory cuts;
  const auto of = builder(dataset).with_hooks(SaveCheckpoint{.directory = cuts.path().string(), .every_steps = 4});
  IoPool pool{2};
  std::optional<IoPool> of_server{std::in_place, 1};
  const auto serve = [&] {
    return std::make_unique<Server>(*of_server, ClusterSpec{{"ps", {address}}, {"worker", {"127.0.0.1:1"}}}, "ps", 0);
  };
  auto server = serve();
  auto survives = of.open(pool, flags_of("worker", 0, address));
  int runs = 0;
  while (!survives.should_stop()) {
    survives.run(of_model);
    if (++runs == 10 || runs == 20) {  // without saying goodbye
      server.reset();
      server = serve();
    }
  }
  CHECK(survives.close() == 0);
  CHECK(survives.result().parameters_sha256 == local.result().parameters_sha256);
  CHECK(survives.result().steps == steps);
  CHECK(server->join() == 0);
}

TEST_CASE("SessionLoop: with batches of the program's own, a worker that leaves ends the job with code 1 everywhere",
          "[train]") {
  struct Own {
    using Variables = LineModel::Variables;
    auto variables() const -> Variables { return LineModel{}.variables(); }
  };
  const auto of = session(Own{}).with_data(OwnBatches{}).with_hooks(StopAtStep{steps});
  const auto push_one = [](const auto&, auto& gradients, StepContext) {
    get<"bias">(gradients)() = 1;
    return 0.0F;
  };
  const std::string address = free_address();
  IoPool pool{2};
  auto ps = runs(of, pool, flags_of("ps", 0, address, 2), push_one);
  auto chief = runs(of, pool, flags_of("worker", 0, address, 2), push_one);
  auto leaving = of.open(pool, flags_of("worker", 1, address, 2));
  for (int i = 0; i < 5; ++i) leaving.run(push_one);
  CHECK(leaving.close() == 1);
  const auto [code, result] = chief.get();
  CHECK(code == 1);
  CHECK_FALSE(result.complete);
  CHECK(ps.get().first == 1);
}

TEST_CASE("SessionLoop: a session that is destroyed in the middle leaves the job as a process that died", "[train]") {
  const support::TempDirectory data;
  const auto dataset = line_model::write(data.path());
  auto local = line_job::builder(dataset, {.workers = 1, .steps = steps}).build();
  REQUIRE(local.run() == 0);
  const auto of = builder(dataset);
  const std::string address = free_address();
  IoPool pool{2};
  auto ps = runs(of, pool, flags_of("ps", 0, address), of_model);
  {
    auto left = of.open(pool, flags_of("worker", 0, address));
    for (int i = 0; i < 7; ++i) left.run(of_model);
  }
  auto again = of.open(pool, flags_of("worker", 0, address));
  CHECK(again.global_step() >= 6);  // the seventh contribution may not have arrived
  while (!again.should_stop()) again.run(of_model);
  CHECK(again.close() == 0);
  CHECK(again.result().parameters_sha256 == local.result().parameters_sha256);
  CHECK(ps.get().first == 0);
}
