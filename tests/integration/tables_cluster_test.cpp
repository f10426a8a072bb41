// SPDX-License-Identifier: Apache-2.0
// Models with tables in a cluster, from end to end.
#include <distrib/train/cluster_trainer.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/table_model.hpp"

using namespace distrib;

namespace {

struct Evaluations {
  std::vector<std::pair<Step, Metrics>>* all;
  void on_evaluated(const Evaluated& event) const { all->emplace_back(event.step, event.metrics); }
};

// One worker against so many parameter servers, all in this process.
template <class Builder>
auto run_cluster(const Builder& builder, std::size_t servers) -> TrainingResult {
  IoPool pool{2};
  ClusterSpec cluster{{"ps", std::vector<std::string>(servers, "127.0.0.1:0")}, {"worker", {"127.0.0.1:1"}}};
  std::vector<std::unique_ptr<Server>> ps;
  ClusterFlags flags;
  flags.job_name = "worker";
  flags.worker_hosts = {"127.0.0.1:1"};
  for (std::uint32_t task = 0; task < servers; ++task) {
    ps.push_back(std::make_unique<Server>(pool, cluster, "ps", task));
    flags.ps_hosts.push_back("127.0.0.1:" + std::to_string(ps.back()->port()));
  }
  auto trainer = builder.build(pool, flags);
  CHECK(trainer.run() == 0);
  for (const auto& server : ps) CHECK(server->join() == 0);
  return trainer.result();
}

}  // namespace

TEST_CASE("tables: a cluster ends with what one process has, on any number of parameter servers", "[train]") {
  const support::TempDirectory data;
  const auto dataset = table_model::write(data.path());
  std::vector<std::pair<Step, Metrics>> expected;
  auto local = table_model::builder(dataset, 1, 1, 60).with_hooks(Evaluations{&expected}).build();
  CHECK(local.run() == 0);
  REQUIRE(expected.size() == 3);
  for (const std::size_t servers : {1U, 2U, 3U})
    for (const std::uint32_t shards : {1U, 2U}) {
      CAPTURE(servers, shards);
      std::vector<std::pair<Step, Metrics>> heard;
      const auto result = run_cluster(
          table_model::builder(dataset, 1, shards, 60).with_hooks(Evaluations{&heard}), servers);
      CHECK(result.metrics == local.result().metrics);
      CHECK(result.parameters_sha256 == local.result().parameters_sha256);
      CHECK(heard == expected);
    }
}

TEST_CASE("tables: asynchronous jobs learn, too", "[train]") {
  const support::TempDirectory data;
  const auto dataset = table_model::write(data.path());
  auto local = table_model::builder(dataset, 2, 2, 120).with_consistency(AsynchronousParallel{}).build();
  CHECK(local.run() == 0);
  CHECK(*local.result().metrics.find("squared_error") < 0.05);
  std::vector<std::pair<Step, Metrics>> heard;
  const auto result = run_cluster(table_model::builder(dataset, 1, 2, 240)
                                      .with_consistency(AsynchronousParallel{})
                                      .with_hooks(Evaluations{&heard}),
                                  2);
  CHECK(*result.metrics.find("squared_error") < 0.05);
  CHECK(heard.size() == 12);
}
