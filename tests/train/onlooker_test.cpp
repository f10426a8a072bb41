// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/onlooker.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/line_job.hpp"
#include "train/table_model.hpp"

#include <distrib/optimizer/adagrad.hpp>
#include <distrib/ps/server/server.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using distrib::Evaluate;
using distrib::Step;

namespace {

/// What an onlooker has measured, for the hooks of other threads to wait for.
struct Measured {
  std::map<Step, distrib::Metrics> metrics;
  std::atomic<unsigned> count = 0;
  void on_evaluated(const distrib::Evaluated& event) {
    metrics[event.step] = event.metrics;
    ++count;
  }
};
struct NotesMeasured {
  std::shared_ptr<Measured> to = std::make_shared<Measured>();
  void on_evaluated(const distrib::Evaluated& event) const { to->on_evaluated(event); }
};

/// Holds the job at a step until the onlooker has measured something.
struct HoldsUntilSeen {
  Step at = 0;
  std::shared_ptr<Measured> seen;
  void on_step(const distrib::StepDone& event) const {
    if (event.step < at) return;
    for (const auto end = std::chrono::steady_clock::now() + 60s;
         seen->count == 0 && std::chrono::steady_clock::now() < end;)
      std::this_thread::sleep_for(1ms);
  }
};

/// Asks to stop as soon as something is measured.
struct HasSeenEnough {
  bool is_enough = false;
  void on_evaluated(const distrib::Evaluated&) { is_enough = true; }
  auto stop_reason() const -> std::string { return is_enough ? "enough" : ""; }
};

/// Two parameter servers, and the flags of the other tasks: one worker.
struct WatchedCluster {
  WatchedCluster() {
    flags.job_name = "worker";
    flags.worker_hosts = {"127.0.0.1:1"};
    for (std::uint32_t task = 0; task < 2; ++task) {
      servers.push_back(std::make_unique<distrib::Server>(
          pool, distrib::ClusterSpec{{"ps", {"127.0.0.1:0", "127.0.0.1:0"}}, {"worker", flags.worker_hosts}}, "ps",
          task));
      flags.ps_hosts.push_back("127.0.0.1:" + std::to_string(servers.back()->port()));
    }
  }
  [[nodiscard]] auto onlooker(std::uint32_t index = 0) const -> distrib::ClusterFlags {
    distrib::ClusterFlags of = flags;
    of.job_name = "onlooker";
    of.task_index = index;
    return of;
  }

  distrib::IoPool pool{2};
  distrib::ClusterFlags flags;
  std::vector<std::unique_ptr<distrib::Server>> servers;
};

}  // namespace

TEST_CASE("Onlooker: measures the values of a running job as one process does, up to the last ones", "[train]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  const NotesMeasured expected;
  auto alone = line_job::builder(data, {.workers = 1}).with_hooks(Evaluate{data.batch(50), 1}, expected).build();
  REQUIRE(alone.run() == 0);
  REQUIRE(expected.to->metrics.size() == 40);
  bool saw_the_end = false;
  for (int attempt = 0; attempt < 3 && !saw_the_end; ++attempt) {  // it may come a moment too late
    WatchedCluster cluster;
    const NotesMeasured notes;
    std::string heard;
    auto onlooker = line_job::builder(data)
                        .with_hooks(Evaluate{data.batch(50)}, notes, line_job::Heard{&heard})
                        .build(cluster.pool, cluster.onlooker(3));
    auto code = std::async(std::launch::async, [&] { return onlooker.run(); });
    auto chief = line_job::builder(data).with_hooks(HoldsUntilSeen{10, notes.to}).build(cluster.pool, cluster.flags);
    CHECK(chief.run() == 0);
    CHECK(code.get() == 0);
    for (const auto& server : cluster.servers) CHECK(server->join() == 0);
    CHECK(chief.result().parameters_sha256 == alone.result().parameters_sha256);
    CHECK(notes.to->count != 0);
    for (const auto& [step, metrics] : notes.to->metrics) {
      CAPTURE(step);
      if (step != 0) CHECK(metrics == expected.to->metrics.at(step));
    }
    CAPTURE(heard);
    CHECK(heard.ends_with("end " + std::to_string(onlooker.result().steps) + "\n"));
    saw_the_end = onlooker.result().steps == 40;
  }
  CHECK(saw_the_end);
}

TEST_CASE("Onlooker: several at once, with the rows of tables; one that a hook stops leaves the job alone", "[train]") {
  const support::TempDirectory directory;
  const auto data = table_model::write(directory.path());
  const auto job = [&](auto... hooks) {
    return distrib::train(TableModel{})
        .with_data(data.shuffle(3).batch(10))
        .with_updater(distrib::Adagrad{.learning_rate = 0.5F})
        .with_hooks(distrib::StopAtStep{60}, hooks...)
        .with_local_mode({.workers = 1, .shards = 2});
  };
  const NotesMeasured expected;
  auto alone = job(Evaluate{data.batch(64), 1}, expected).build();
  REQUIRE(alone.run() == 0);
  WatchedCluster cluster;
  const NotesMeasured notes;
  auto watches = job(Evaluate{data.batch(64)}, notes).build(cluster.pool, cluster.onlooker(0));
  const NotesMeasured enough;
  auto stops = job(Evaluate{data.batch(64)}, enough, HasSeenEnough{}).build(cluster.pool, cluster.onlooker(1));
  auto watched = std::async(std::launch::async, [&] { return watches.run(); });
  auto stopped = std::async(std::launch::async, [&] { return stops.run(); });
  auto chief = job(HoldsUntilSeen{5, notes.to}, HoldsUntilSeen{5, enough.to}).build(cluster.pool, cluster.flags);
  CHECK(chief.run() == 0);
  CHECK(watched.get() == 0);
  const int code = stopped.get();
  CHECK((code == 1 || code == 0));  // 0: the job ended first
  if (code == 1) CHECK(stops.result().stop_reason == "enough");
  CHECK(chief.result().parameters_sha256 == alone.result().parameters_sha256);
  for (const auto& [step, metrics] : notes.to->metrics) {
    CAPTURE(step);
    if (step != 0) CHECK(metrics == expected.to->metrics.at(step));
  }
}

TEST_CASE("Onlooker: of another job is refused, and the job goes on", "[train]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  WatchedCluster cluster;
  auto other = line_job::builder(data)
                   .with_seed(12)
                   .with_hooks(Evaluate{data.batch(50)})
                   .build(cluster.pool, cluster.onlooker());
  std::atomic<bool> is_over = false;
  auto refused = std::async(std::launch::async, [&] {
    std::string what;
    try {
      static_cast<void>(other.run());
    } catch (const std::system_error& error) {
      what = error.what();
    }
    is_over = true;
    return what;
  });
  const auto held = std::make_shared<Measured>();
  auto chief = line_job::builder(data).with_hooks(HoldsUntilSeen{10, held}).build(cluster.pool, cluster.flags);
  auto trained = std::async(std::launch::async, [&] { return chief.run(); });
  CHECK_THAT(refused.get(), ContainsSubstring("/job:ps/task:") && ContainsSubstring("belongs to another job"));
  held->count = 1;
  CHECK(trained.get() == 0);
}

TEST_CASE("Onlooker: needs Evaluate, and values rather than averages; waits for servers as a worker does", "[train]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  distrib::IoPool pool{1};
  distrib::ClusterFlags flags;
  flags.job_name = "onlooker";
  flags.ps_hosts = {"127.0.0.1:9"};
  flags.worker_hosts = {"127.0.0.1:1"};
  auto blind = line_job::builder(data).build(pool, flags);
  CHECK_THROWS_WITH(blind.run(), ContainsSubstring("/job:onlooker/task:0"));
  auto averages = line_job::builder(data)
                      .with_moving_average({.decay = 0.9F})
                      .with_hooks(distrib::SaveCheckpoint{.directory = directory.path().string()},
                                  Evaluate{.data = data.batch(50), .averages = true})
                      .build(pool, flags);
  CHECK_THROWS_WITH(averages.run(), ContainsSubstring("an onlooker sees values only"));
  std::string heard;
  auto early = line_job::builder(data)
                   .with_hooks(Evaluate{data.batch(50)}, line_job::Heard{&heard})
                   .with_cluster_mode({.start_within = 1ms})
                   .build(pool, flags);
  CHECK(early.run() == 1);
  CHECK_THAT(heard, ContainsSubstring("/job:ps/task:0 at 127.0.0.1:9"));
}

TEST_CASE("Onlooker: of a job that is done already ends with 0", "[train]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  const distrib::SaveCheckpoint save{.directory = (directory / "out").string(), .every_steps = 40};
  WatchedCluster cluster;
  auto chief = line_job::builder(data).with_hooks(save).build(cluster.pool, cluster.flags);
  REQUIRE(chief.run() == 0);
  for (const auto& server : cluster.servers) CHECK(server->join() == 0);
  cluster.servers.clear();
  auto late =
      line_job::builder(data).with_hooks(save, Evaluate{data.batch(50)}).build(cluster.pool, cluster.onlooker());
  CHECK(late.run() == 0);
}
