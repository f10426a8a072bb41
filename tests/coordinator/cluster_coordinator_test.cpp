// SPDX-License-Identifier: Apache-2.0
#include <distrib/coordinator/cluster_coordinator.hpp>

#include "coordinator/loopback.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <mutex>
#include <set>

namespace coordinated {

using distrib::coordinator_errc;
using distrib::CoordinatorOptions;
using distrib::Error;
using distrib::failure;
using distrib::PerWorker;
using distrib::PerWorkerValues;
using distrib::RemoteValue;

TEST_CASE("P063 ClusterCoordinator: schedule, fetch, join, done, finish over loopback", "[coordinator]") {
  Workers workers{2};
  Coordinator coordinator{workers.cluster()};
  CHECK(coordinator.done());
  const RemoteValue<int> sum = coordinator.schedule<Add>(3, 4);
  CHECK(coordinator.fetch(sum) == 7);
  CHECK(sum.is_ready());
  CHECK(coordinator.fetch(sum) == 7);  // as often as one likes
  CHECK(coordinator.fetch(coordinator.schedule<Scale>(std::vector<float>{1, 2}, "2.5")) == std::vector<float>{2.5F, 5});
  CHECK(coordinator.fetch(coordinator.schedule<Scale>(std::vector<float>{}, "1")).empty());
  const Point turned = coordinator.fetch(coordinator.schedule<Mirror>(Point{1, 2}));
  CHECK((turned.x == 2 && turned.y == 1));

  std::vector<RemoteValue<int>> values;
  for (int i = 0; i < 200; ++i) values.push_back(coordinator.schedule<Add>(i, 1000));
  coordinator.join();
  CHECK(coordinator.done());
  const std::vector<int> results = coordinator.fetch(values);
  for (int i = 0; i < 200; ++i) CHECK(results[static_cast<std::size_t>(i)] == 1000 + i);

  coordinator.finish();
  CHECK(workers.code(0) == 0);
  CHECK(workers.code(1) == 0);
  Error error;
  coordinator.schedule_or<Add>(error, 1, 2);
  CHECK(error.code == coordinator_errc::over);
}

TEST_CASE("P063 ClusterCoordinator: all workers work, and schedule blocks while the queue is full", "[coordinator]") {
  Workers workers{2};
  Coordinator coordinator{workers.cluster(), {.most_queued = 2}};
  WaitForGate::is_open() = false;
  std::atomic<int> scheduled = 0;
  std::thread user{[&] {
    for (int i = 0; i < 5; ++i) {
      coordinator.schedule<WaitForGate>();
      ++scheduled;
    }
  }};
  while (scheduled < 4) std::this_thread::yield();  // two run, two wait
  std::error_code ec;
  coordinator.join(ec, 50ms);
  CHECK(ec == coordinator_errc::timed_out);
  CHECK(scheduled == 4);
  WaitForGate::is_open() = true;
  user.join();
  coordinator.join();
  std::set<int> who;
  const PerWorkerValues<int> numbers{{1, 2}};
  for (int i = 0; i < 100 && who.size() < 2; ++i) {
    std::vector<RemoteValue<int>> values;
    for (int j = 0; j < 8; ++j) values.push_back(coordinator.schedule<WhoRuns>(numbers));
    for (const int value : coordinator.fetch(values)) who.insert(value);
  }
  CHECK(who == std::set{21, 122});  // worker 0 gets 1, worker 1 gets 2
}

TEST_CASE("P064 ClusterCoordinator: an error of a function comes out once, when nothing runs any more",
          "[coordinator]") {
  Workers workers{2};
  Coordinator coordinator{workers.cluster()};
  const RemoteValue<int> running = coordinator.schedule<WaitForStop>();
  while (WaitForStop::running() == 0) std::this_thread::yield();
  const RemoteValue<void> failed = coordinator.schedule<Fail>(0);
  std::vector<RemoteValue<int>> queued;
  Error error;
  coordinator.fetch(failed, error);
  CHECK(error.code == coordinator_errc::function_failed);
  CHECK(error.where.starts_with("fail on /job:worker/task:"));
  CHECK(error.where.ends_with(": no such batch"));
  CHECK(WaitForStop::running() == 1);  // it is stopped only when the error comes out
  coordinator.join(error);
  CHECK(error.code == coordinator_errc::function_failed);
  CHECK(WaitForStop::running() == 0);
  CHECK(coordinator.fetch(running) == 1);  // it ended with a value when it was stopped
  coordinator.join();  // once
  CHECK(coordinator.fetch(coordinator.schedule<Add>(1, 1)) == 2);
}

TEST_CASE("P064 ClusterCoordinator: schedule and done throw the error too; what waited is cancelled", "[coordinator]") {
  Workers workers{1};
  Coordinator coordinator{workers.cluster()};
  coordinator.schedule<Fail>(1);
  const RemoteValue<int> waits = coordinator.schedule<Add>(1, 1);
  Error error;
  while (!error) static_cast<void>(coordinator.schedule_or<Add>(error, 1, 2));
  CHECK(error.code == distrib::rpc_errc::bad_secret);  // the function's own code
  CHECK(error.where == "fail on /job:worker/task:0: secret");
  CHECK_THROWS_AS(coordinator.fetch(waits), std::system_error);
  coordinator.fetch(waits, error);
  CHECK(error.code == coordinator_errc::cancelled);

  coordinator.schedule<Fail>(2);
  do {
    static_cast<void>(coordinator.done(error));
  } while (!error);
  CHECK(error.where.ends_with("an exception that is no std::exception"));
  coordinator.schedule<Fail>(3);
  coordinator.join(error);
  CHECK(error.code == coordinator_errc::function_failed);
  coordinator.finish();
  CHECK(workers.code(0) == 0);
}

TEST_CASE("P065 ClusterCoordinator: a function whose worker is lost runs on another one", "[coordinator]") {
  Workers workers{2};
  std::mutex mutex;
  std::vector<std::string> told;
  Coordinator coordinator{workers.cluster(), {.observer = [&](const distrib::Event& event) {
                            const std::scoped_lock lock{mutex};
                            if (event.kind == distrib::Event::Kind::lost) told.push_back(event.peer);
                          }}};
  WaitForGate::is_open() = false;
  std::vector<RemoteValue<void>> values{coordinator.schedule<WaitForGate>(), coordinator.schedule<WaitForGate>()};
  std::error_code ec;
  coordinator.join(ec, 100ms);
  CHECK(ec == coordinator_errc::timed_out);
  workers.stop(0);
  WaitForGate::is_open() = true;
  coordinator.join();
  for (const auto& value : values) coordinator.fetch(value);
  {
    const std::scoped_lock lock{mutex};
    CHECK(told == std::vector<std::string>{"/job:worker/task:0"});
  }
  workers.start(0);  // it is used again when it is back
  const PerWorkerValues<int> numbers{{1, 2}};
  while (coordinator.fetch(coordinator.schedule<WhoRuns>(numbers)) / 100 != 0) continue;
  coordinator.finish();
  CHECK(workers.code(0) == 0);
  CHECK(workers.code(1) == 0);
}

TEST_CASE("P065 ClusterCoordinator: if no worker is left, the error names them", "[coordinator]") {
  Workers workers{1};
  Coordinator coordinator{workers.cluster(), {.recovery_within = 100ms}};
  coordinator.schedule<Add>(1, 1);
  coordinator.join();
  workers.stop(0);
  const RemoteValue<int> value = coordinator.schedule<Add>(1, 1);
  Error error;
  coordinator.join(error);
  CHECK(error.code == coordinator_errc::workers_lost);
  CHECK(error.where == "/job:worker/task:0");
  coordinator.fetch(value, error);
  CHECK(error.code == coordinator_errc::cancelled);
  workers.start(0);
  int sum = 0;
  do {  // the coordinator may look for it only after another 100 ms
    const RemoteValue<int> again = coordinator.schedule_or<Add>(error, 1, 1);
    if (!error) sum = coordinator.fetch(again, error);
  } while (error);
  CHECK(sum == 2);
}

TEST_CASE("P067 ClusterCoordinator: per-worker values stay on their worker, and are built again for a new process",
          "[coordinator]") {
  Workers workers{1};
  Coordinator coordinator{workers.cluster()};
  const PerWorker<Numbers> numbers = coordinator.create_per_worker<MakeNumbers>(PerWorkerValues<int>{{10}}, 5);
  CHECK(coordinator.fetch(coordinator.schedule<NextNumber>(numbers, 0)) == 15);
  CHECK(coordinator.fetch(coordinator.schedule<NextNumber>(numbers, 100)) == 120);
  workers.start(0);
  CHECK(coordinator.fetch(coordinator.schedule<NextNumber>(numbers, 0)) == 15);

  // A new coordinator is a new session: the values of the old one are gone.
  Coordinator second{workers.cluster()};
  const PerWorker<Numbers> others = second.create_per_worker<MakeNumbers>(0, 1);
  CHECK(second.fetch(second.schedule<NextNumber>(others, 0)) == 1);
}

TEST_CASE("P067 ClusterCoordinator: a per-worker value that cannot be built is an error with the reason",
          "[coordinator]") {
  Workers workers{1};
  Coordinator coordinator{workers.cluster()};
  const PerWorker<Numbers> numbers = coordinator.create_per_worker<MakeNumbers>(10, 0);
  const RemoteValue<int> value = coordinator.schedule<NextNumber>(numbers, 0);
  Error error;
  coordinator.join(error);
  CHECK(error.code == coordinator_errc::resource_failed);
  CHECK(error.where == "make_numbers on /job:worker/task:0: a step of 0: the function threw an exception");
  coordinator.fetch(value, error);
  CHECK(error.code == coordinator_errc::cancelled);
}

TEST_CASE("P068 ClusterCoordinator: workers start one after the other", "[coordinator]") {
  Workers workers{2};
  Coordinator coordinator{workers.cluster(), {.start_delay = 1h, .longest_start_delay = 1h}};
  for (int i = 0; i < 20; ++i) CHECK(coordinator.fetch(coordinator.schedule<WhoRuns>(1)) == 21);  // only worker 0
}

TEST_CASE("ClusterCoordinator: each wait has a deadline that names what it waits for", "[coordinator]") {
  Workers workers{1};
  Coordinator coordinator{workers.cluster(), {.function_within = 200ms}};
  const RemoteValue<int> value = coordinator.schedule<WaitForStop>();
  Error error;
  coordinator.fetch(value, error, 50ms);
  CHECK(error.code == coordinator_errc::timed_out);
  CHECK(error.where.starts_with("fetch waits for "));
  coordinator.join(error, 50ms);
  CHECK(error.code == coordinator_errc::timed_out);
  CHECK(error.where.starts_with("join waits for "));
  CHECK(error.where.ends_with("/job:worker/task:0"));
  coordinator.join(error);
  CHECK(error.code == coordinator_errc::function_overdue);
  CHECK(error.where == "wait_for_stop on /job:worker/task:0");
  CHECK(WaitForStop::running() == 0);
}

TEST_CASE("ClusterCoordinator: arguments and results are bounded", "[coordinator]") {
  Workers workers{1, {.max_bytes = 10'000}};
  Coordinator coordinator{workers.cluster(), {.max_bytes = 10'000}};
  Error error;
  CHECK_THROWS_WITH(coordinator.schedule<Scale>(std::vector<float>(2500), "1"),
                    ContainsSubstring("scale: 10006 bytes of arguments, allowed are 10000"));
  CHECK(coordinator.fetch(coordinator.schedule<Large>(9'997U)).size() == 9'997);
  const auto large = coordinator.schedule<Large>(10'000U);
  coordinator.fetch(large, error);
  CHECK(error.code == coordinator_errc::too_large);
  CHECK(error.where.ends_with("10003 bytes of result, allowed are 10000"));
  coordinator.join(error);
  CHECK(error.code == coordinator_errc::too_large);
  CHECK_THROWS_WITH(coordinator.schedule<WhoRuns>(PerWorkerValues<int>{{1, 2}}),
                    ContainsSubstring("who_runs: PerWorkerValues has 2 values for 1 workers"));
}

/// Why no worker takes a function: `schedule` says it if it is known by then, otherwise `join`.
template <class C> auto refusal(C& coordinator) -> Error {
  Error error;
  try {
    coordinator.template schedule<Add>(1, 2);
  } catch (const std::system_error& known) {
    return {known.code(), known.what()};
  }
  coordinator.join(error);
  return error;
}

TEST_CASE("ClusterCoordinator: workers with other functions, another index or another secret are refused",
          "[coordinator]") {
  Workers workers{2};
  {
    distrib::ClusterCoordinator<distrib::FunctionList<Add>> other{workers.cluster()};
    const Error error = refusal(other);
    CHECK(error.code == coordinator_errc::other_functions);
    CHECK(error.where.starts_with("/job:worker/task:"));
  }
  {
    const distrib::ClusterSpec swapped{
        {"worker", {workers.cluster().task_address("worker", 1), workers.cluster().task_address("worker", 0)}}};
    Coordinator coordinator{swapped};
    const Error error = refusal(coordinator);
    CHECK(error.code == coordinator_errc::no_workers);
    CHECK(error.where.find(" of 2, not number ") != std::string::npos);
  }
  {
    const auto secret = distrib::SharedSecret::from_bytes(distrib::as_bytes("a secret of 16 bytes or more"));
    Coordinator coordinator{workers.cluster(), {.secret = secret}};
    CHECK(refusal(coordinator).code == distrib::rpc_errc::unauthorized);
  }
  Workers guarded{1, {.secret = distrib::SharedSecret::from_bytes(distrib::as_bytes("a secret of 16 bytes or more"))}};
  {
    Coordinator coordinator{guarded.cluster()};
    CHECK(refusal(coordinator).code == distrib::rpc_errc::unauthorized);
  }
  Coordinator coordinator{
      guarded.cluster(),
      {.secret = distrib::SharedSecret::from_bytes(distrib::as_bytes("a secret of 16 bytes or more"))}};
  CHECK(coordinator.fetch(coordinator.schedule<Add>(1, 2)) == 3);
}

TEST_CASE("ClusterCoordinator: several threads schedule and fetch", "[coordinator]") {
  Workers workers{2};
  Coordinator coordinator{workers.cluster(), {.most_queued = 3}};
  std::atomic<int> right = 0;
  std::vector<std::thread> users;
  for (int user = 0; user < 4; ++user)
    users.emplace_back([&, user] {
      for (int i = 0; i < 50; ++i)
        if (coordinator.fetch(coordinator.schedule<Add>(user * 1000, i)) == user * 1000 + i) ++right;
    });
  for (std::thread& user : users) user.join();
  CHECK(right == 200);
  coordinator.join();
}

TEST_CASE("ClusterCoordinator: a cluster without workers is refused", "[coordinator]") {
  CHECK_THROWS_AS(Coordinator{distrib::ClusterSpec{}}, std::system_error);
  const distrib::ClusterSpec none{{"worker", {}}};
  CHECK_THROWS_WITH(Coordinator{none}, ContainsSubstring("the cluster does not have this worker"));
}

}  // namespace coordinated
