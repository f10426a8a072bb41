// SPDX-License-Identifier: Apache-2.0
#include <distrib/coordinator/parameter_job.hpp>

#include <distrib/coordinator/error.hpp>
#include <distrib/core/variables.hpp>
#include <distrib/optimizer/momentum.hpp>
#include <distrib/ps/job/parse_job.hpp>

#include "support/catch.hpp"

using distrib::coordinator_errc;

namespace {

using Variables = distrib::VariableList<distrib::Variable<"w", float, 2>, distrib::Variable<"n", std::int64_t, 0>>;
auto variables() -> Variables { return {{{4, 3}, distrib::ConstantInitializer{2.0F}}, {{}}}; }

const distrib::ClusterSpec cluster{{"ps", {"a:1", "b:2"}}, {"worker", {"c:1", "d:1", "e:1"}}, {"chief", {"f:1"}}};

auto refusal(const auto& make) -> distrib::Error {
  try {
    make();
  } catch (const std::system_error& error) {
    return distrib::error_of(error);
  }
  return {};
}

}  // namespace

TEST_CASE("make_parameter_job: an asynchronous job without a last step, whose ranks are the workers", "[coordinator]") {
  const distrib::ParameterJob made = distrib::make_parameter_job(
      variables(), cluster, {.updater = distrib::Momentum{.learning_rate = 0.5F}, .seed = 3, .checkpoint_every = 10},
      distrib::FixedShardsPartitioner{2});
  CHECK(made.job.tasks == 2);
  CHECK(made.job.ranks == 3);
  CHECK(made.job.total_steps == distrib::open_end);
  CHECK_FALSE(made.job.consistency.is_synchronous());
  CHECK(made.job.parts.size() == 3);
  CHECK(made.job.updater.starts_with("momentum learning_rate=0.5"));
  CHECK(made.job.seed == 3);
  CHECK(10 % made.job.cut_interval == 0);
  CHECK(made.cuts.keep_every == 10);
  CHECK(made.ps_hosts == std::vector<std::string>{"a:1", "b:2"});
  distrib::Error error;
  const distrib::Job read = distrib::parse_job(distrib::to_text(made.job), error);  // what a parameter server does
  CHECK_FALSE(error);
  CHECK(distrib::to_text(read) == distrib::to_text(made.job));
}

TEST_CASE("make_parameter_job: what functions cannot use is refused by name", "[coordinator]") {
  const auto of_table = refusal([] {
    static_cast<void>(distrib::make_parameter_job(distrib::RuntimeVariables{{}, {{.name = "words"}}}, cluster));
  });
  CHECK(of_table.code == coordinator_errc::bad_job);
  CHECK(of_table.where == "table words");
  const auto of_custom = refusal([] {
    static_cast<void>(distrib::make_parameter_job(
        distrib::RuntimeVariables{{{"w", distrib::DType::float32, {2}, distrib::CustomInitializer{}}}}, cluster));
  });
  CHECK(of_custom.code == coordinator_errc::bad_job);
  CHECK(of_custom.where == "variable w");
  const auto without_ps = refusal(
      [] { static_cast<void>(distrib::make_parameter_job(variables(), distrib::ClusterSpec{{"worker", {"c:1"}}})); });
  CHECK(without_ps.code == distrib::cluster_errc::no_such_job);
}
