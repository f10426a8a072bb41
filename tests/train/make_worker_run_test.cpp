// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/make_worker_run.hpp>

#include <distrib/optimizer/updater_list.hpp>
#include <distrib/ps/server/server.hpp>
#include <distrib/train/builder.hpp>

#include "support/catch.hpp"
#include "support/map_objects.hpp"
#include "support/temp_directory.hpp"
#include "train/line_job.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

TEST_CASE("make_worker_run: a worker, contribution by contribution; another one after it was abandoned", "[train]") {
  const support::TempDirectory directory;
  const auto builder = line_job::builder(line_model::write(directory.path()), {.workers = 1});
  auto local = builder.build();
  REQUIRE(local.run() == 0);
  const auto plan = builder.plan();
  distrib::IoPool pool{2};
  distrib::ClusterFlags flags;
  flags.job_name = "worker";
  flags.worker_hosts = {"127.0.0.1:1"};
  distrib::Server server{pool, {{"ps", {"127.0.0.1:0"}}, {"worker", flags.worker_hosts}}, "ps", 0};
  flags.ps_hosts = {"127.0.0.1:" + std::to_string(server.port())};

  distrib::TrainingReport report{plan.hooks()};
  std::unique_ptr<distrib::TrainingRun> run = make_worker_run(plan, pool, flags, report);
  for (int i = 0; i < 5; ++i) {
    REQUIRE(run->next());
    REQUIRE(run->next());  // it stays wanted
    CHECK(run->make() >= 0);
  }
  REQUIRE(run->next());
  CHECK(report.result().steps == 4);  // the values of step 5 are told with the next contribution
  run->stop("enough");
  CHECK(run->stopping());
  while (run->next()) run->abandon();
  CHECK(run->end() == 1);
  CHECK(report.result().stop_reason == "enough");
  CHECK_FALSE(report.result().complete);

  run = make_worker_run(plan, pool, flags, report);
  int made = 0;
  for (; run->next(); ++made) run->make();
  CHECK(made == 35);
  CHECK(run->end() == 0);
  CHECK(report.result().parameters_sha256 == local.result().parameters_sha256);
  CHECK(server.join() == 0);
}

TEST_CASE("make_worker_run: one process serves nine dealt ranks, with the bits of nine workers", "[train]") {
  const support::TempDirectory directory;
  const auto builder = line_job::builder(line_model::write(directory.path()), {.workers = 9, .steps = 12});
  auto local = builder.build();
  REQUIRE(local.run() == 0);
  const auto plan = builder.plan();
  distrib::IoPool pool{2};
  distrib::ClusterFlags flags;
  flags.job_name = "worker";
  flags.worker_hosts = {"127.0.0.1:1"};
  flags.ranks = 9;
  distrib::ServerOptions options;
  options.ranks = 9;
  distrib::Server server{
      pool, {{"ps", {"127.0.0.1:0"}}, {"worker", flags.worker_hosts}}, "ps", 0, distrib::StandardUpdaters{}, options};
  flags.ps_hosts = {"127.0.0.1:" + std::to_string(server.port())};

  distrib::TrainingReport report{plan.hooks()};
  const std::unique_ptr<distrib::TrainingRun> run = make_worker_run(plan, pool, flags, report);
  int made = 0;
  for (; run->next(); ++made) run->make();
  // One sum of all ranks a step; and once more step 1 of rank 0, if the chief had made it before it was dealt the others.
  CHECK((made == 12 || made == 13));
  CHECK(run->end() == 0);
  CHECK(report.result().steps == 12);
  CHECK(report.result().parameters_sha256 == local.result().parameters_sha256);
  CHECK(server.join() == 0);

  CHECK_THROWS_WITH(make_worker_run(plan, pool, flags, report, std::chrono::milliseconds{1'000}),
                    ContainsSubstring("--ranks: a session"));
}

TEST_CASE("make_worker_run: a chief whose object store is away at the very end waits for the last checkpoint",
          "[train]") {
  struct AwayAtTheEnd {
    std::atomic<int>* away;
    std::string* told;
    void on_saved(const distrib::CheckpointSaved& event) const {
      if (event.step == 40) *away = 2;
    }
    void on_event(const distrib::Event& event) const { *told += event.text + '\n'; }
  };
  const support::TempDirectory directory;
  const auto bucket = std::make_shared<support::MapObjects>();
  std::atomic<int> away = 0;
  std::string told;
  const auto builder =
      line_job::builder(line_model::write(directory.path()), {.workers = 1})
          .with_object_stores([&](const std::string& url, distrib::Error& error) -> distrib::ObjectDirectory {
            if (away > 0 && away-- > 0) {
              error = {support::MapObjects::away(), url};
              return {};
            }
            return support::map_stores(bucket)(url, error);
          })
          .with_hooks(distrib::SaveCheckpoint{.directory = "map://bucket/run", .every_steps = 10},
                      AwayAtTheEnd{&away, &told});
  const auto plan = builder.plan();
  distrib::IoPool pool{2};
  distrib::ClusterFlags flags;
  flags.job_name = "worker";
  flags.worker_hosts = {"127.0.0.1:1"};
  distrib::ServerOptions options;
  options.open_store = support::map_stores(bucket);
  distrib::Server server{
      pool, {{"ps", {"127.0.0.1:0"}}, {"worker", flags.worker_hosts}}, "ps", 0, distrib::StandardUpdaters{}, options};
  flags.ps_hosts = {"127.0.0.1:" + std::to_string(server.port())};
  distrib::TrainingReport report{plan.hooks()};
  const auto run = make_worker_run(plan, pool, flags, report);
  while (run->next()) run->make();
  CHECK(run->end() == 0);
  CHECK(report.result().checkpoint == "map://bucket/run/model.ckpt-40");
  CHECK(away == 0);
  CHECK_THAT(told,
             ContainsSubstring("the object store of the checkpoints does not answer, waiting: map://bucket/run: "));
  CHECK(server.join() == 0);
}
