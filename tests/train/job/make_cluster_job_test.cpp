// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/job/make_cluster_job.hpp>

#include <distrib/ps/server/server.hpp>

#include "ps/loopback_job.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

using namespace distrib;

namespace {

auto cluster_of(std::size_t workers) -> ClusterSpec {
  return {{"ps", {"127.0.0.1:0"}}, {"worker", std::vector<std::string>(workers, "127.0.0.1:1")}};
}

auto options_of(Rank rank) -> WorkerClientOptions {
  WorkerClientOptions options;
  options.worker.wants_result = rank == 0;
  return options;
}

// Writes down the callbacks of a worker, and computes its contributions.
struct Heard {
  std::string story;
  Step prepared = 0;

  auto callbacks(Rank rank) -> ClusterJobCallbacks {
    ClusterJobCallbacks callbacks;
    callbacks.contribute = [this, rank](Step step, std::span<const SharedBuffer> values,
                                        std::span<const std::shared_ptr<AlignedBuffer>> gradients) {
      story += " contribute " + std::to_string(step) + (prepared == step ? "" : " unprepared");
      const auto blocks = loopback_job::contribution(step, rank, {values.begin(), values.end()});
      for (std::size_t i = 0; i < blocks.size(); ++i)
        std::ranges::copy(blocks[i]->bytes(), gradients[i]->bytes().begin());
      return static_cast<float>(step);
    };
    callbacks.prepare = [this](Step step) {
      prepared = step;
      return std::vector<WantedRows>{};
    };
    callbacks.started = [this](Step first) { story += " started " + std::to_string(first); };
    callbacks.step_done = [this](Step step, float loss, const std::vector<SharedBuffer>& values) {
      story += " done " + std::to_string(step) + (loss == static_cast<float>(step) ? "" : " wrong loss") +
               (values.size() == 1 ? "" : " wrong values");
    };
    callbacks.saved = [this](Step step) { last_saved = step; };
    callbacks.told = [](const Event&) {};
    return callbacks;
  }
  Step last_saved = 0;
};

auto run_to_end(ClusterJob& worker) -> WorkerEnd {
  while (worker.next()) worker.make();
  return worker.end();
}

}  // namespace

TEST_CASE("ClusterJob: two workers, each with its own I/O thread", "[train]") {
  IoPool pool{1};
  Server server{pool, cluster_of(2), "ps", 0};
  const Job job = loopback_job::make(1, 2, 3);
  const std::vector<Address> to{{"127.0.0.1", server.port()}};
  Heard first;
  Heard second;
  WorkerEnd other_end;
  std::thread other{[&] {
    const auto worker = make_cluster_job(job, 1, to, options_of(1), {}, second.callbacks(1));
    other_end = run_to_end(*worker);
  }};
  const auto worker = make_cluster_job(job, 0, to, options_of(0), {}, first.callbacks(0));
  const WorkerEnd end = run_to_end(*worker);
  other.join();
  CHECK(end.code == 0);
  CHECK(end.result.size() == 1);
  CHECK(other_end.code == 0);
  CHECK(first.story == " started 0 contribute 1 unprepared contribute 2 done 1 contribute 3 done 2 done 3");
  CHECK(first.last_saved == 3);
  CHECK(second.story == " started 0 contribute 1 unprepared contribute 2 done 1 contribute 3 done 2");
}

TEST_CASE("ClusterJob: a worker that starts after the job is done reports that and has the result", "[train]") {
  IoPool pool{1};
  const Job job = loopback_job::make(1, 1, 3);
  const support::TempDirectory directory;
  const CutSettings cuts{directory.path().string(), 3, {.max_to_keep = 5}};
  for (const char* story :
       {" started 0 contribute 1 unprepared contribute 2 done 1 contribute 3 done 2 done 3", " started 3"}) {
    Server server{pool, cluster_of(1), "ps", 0};
    Heard heard;
    const auto worker =
        make_cluster_job(job, 0, {{"127.0.0.1", server.port()}}, options_of(0), cuts, heard.callbacks(0));
    const WorkerEnd end = run_to_end(*worker);
    CHECK(end.code == 0);
    CHECK(end.result.size() == 1);
    CHECK(heard.story == story);
  }
}

TEST_CASE("ClusterJob: an exception from a callback is thrown by run()", "[train]") {
  IoPool pool{1};
  Server server{pool, cluster_of(1), "ps", 0};
  Heard heard;
  auto callbacks = heard.callbacks(0);
  callbacks.contribute = [](Step, std::span<const SharedBuffer>,
                            std::span<const std::shared_ptr<AlignedBuffer>>) -> float {
    throw std::runtime_error("no gradients today");
  };
  const auto worker = make_cluster_job(loopback_job::make(1, 1), 0, {{"127.0.0.1", server.port()}}, options_of(0), {},
                                       std::move(callbacks));
  CHECK_THROWS_WITH(run_to_end(*worker), "no gradients today");
}

TEST_CASE("ClusterJob: stop() finishes what is in flight, then the worker leaves", "[train]") {
  IoPool pool{1};
  Server server{pool, cluster_of(1), "ps", 0};
  Heard heard;
  auto callbacks = heard.callbacks(0);
  std::unique_ptr<ClusterJob> worker;
  callbacks.step_done = [&](Step step, float, const std::vector<SharedBuffer>&) {
    if (step == 4) worker->stop();
  };
  worker = make_cluster_job(loopback_job::make(1, 1, 1000), 0, {{"127.0.0.1", server.port()}}, options_of(0), {},
                            std::move(callbacks));
  CHECK(run_to_end(*worker).code == 1);
}

TEST_CASE("ClusterJob: a contribution whose records are not there is waited for, while the job goes on", "[train]") {
  IoPool pool{1};
  Server server{pool, cluster_of(1), "ps", 0};
  Heard heard;
  int asked = 0;
  auto callbacks = heard.callbacks(0);
  callbacks.ready = [&asked](Step step) { return step != 2 || ++asked > 3; };
  const auto worker = make_cluster_job(loopback_job::make(1, 1, 3), 0, {{"127.0.0.1", server.port()}}, options_of(0),
                                       {}, std::move(callbacks));
  CHECK(run_to_end(*worker).code == 0);
  CHECK(asked > 3);
  CHECK(heard.story == " started 0 contribute 1 unprepared contribute 2 unprepared done 1 contribute 3 done 2 done 3");
}

TEST_CASE("ClusterJob: asked to stop while records are not there, it leaves without the contribution", "[train]") {
  IoPool pool{1};
  Server server{pool, cluster_of(1), "ps", 0};
  Heard heard;
  auto callbacks = heard.callbacks(0);
  std::unique_ptr<ClusterJob> worker;
  int asked = 0;
  callbacks.ready = [&](Step step) {
    if (step == 2 && ++asked == 4) worker->stop();
    return step != 2;
  };
  worker = make_cluster_job(loopback_job::make(1, 1, 3), 0, {{"127.0.0.1", server.port()}}, options_of(0), {},
                            std::move(callbacks));
  CHECK(run_to_end(*worker).code == 1);
  CHECK(heard.story == " started 0 contribute 1 unprepared");
}
