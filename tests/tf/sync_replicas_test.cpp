// SPDX-License-Identifier: Apache-2.0
#include <distrib/tf/sync_replicas.hpp>

#include "support/catch.hpp"

using distrib::ApplyUpdate;
using distrib::ps_errc;
using distrib::Rank;
using distrib::Step;
using distrib::SyncReplicas;
using distrib::SyncReplicasPlan;
using distrib::TokenGiven;
using Floats = std::vector<float>;
using Lines = std::vector<std::string>;

namespace {

/// A job with one variable of one element. Records actions as text.
struct ReplicasJob {
  SyncReplicas sync;
  Lines told;

  explicit ReplicasJob(SyncReplicasPlan plan, std::optional<std::int64_t> tokens = {}, Step step = 0) : sync{plan} {
    sync.set_variables({1}, step);
    sync.begin(tokens);
  }

  void operator()(const ApplyUpdate& update) {
    told.push_back("update " + std::to_string(update.step) + " of " + std::to_string(update.count) +
                   " g=" + std::to_string(static_cast<int>(update.gradients[0][0])));
  }
  void operator()(const TokenGiven& token) {
    told.push_back("token " + std::to_string(token.step) + " to " + std::to_string(token.worker));
  }

  /// Performs one step of a worker, and returns the actions that follow.
  auto step(Rank worker, float gradient) -> Lines {
    told.clear();
    const Floats values{gradient};
    const std::span<const float> gradients[] = {values};
    sync.apply(worker, gradients, *this);
    sync.take_token(worker, *this);
    return told;
  }
};

}  // namespace

TEST_CASE("SyncReplicas: the first tokens carry the old step, so each worker computes one step for nothing", "[ps]") {
  ReplicasJob job{{2, {}}};
  CHECK(job.step(0, 1) == Lines{"token 0 to 0"});
  CHECK(job.step(1, 3) == Lines{"update 1 of 2 g=2", "token 0 to 1"});
  CHECK(job.sync.local_step(1) == 0);
  CHECK(job.step(0, 1) == Lines{"token 1 to 0"});
  CHECK(job.step(1, 3) == Lines{"token 1 to 1"});
  CHECK(job.sync.dropped() == 2);
  CHECK(job.sync.local_step(1) == 1);
  CHECK(job.step(0, 5) == Lines{});  // waits at the barrier
  CHECK(job.sync.waiting() == 1);
  CHECK(job.step(1, 7) == Lines{"update 2 of 2 g=6", "token 2 to 0", "token 2 to 1"});
  CHECK(job.sync.global_step() == 2);
  CHECK(job.sync.dropped() == 2);
}

TEST_CASE("SyncReplicas: without first tokens no step is computed for nothing", "[ps]") {
  ReplicasJob job{{2, 2}, 0, 10};
  CHECK(job.sync.local_step(1) == 10);
  CHECK(job.step(1, 3) == Lines{});
  CHECK(job.step(0, 1) == Lines{"update 11 of 2 g=2", "token 11 to 1", "token 11 to 0"});
  CHECK(job.step(0, 1) == Lines{});
  CHECK(job.step(1, 3) == Lines{"update 12 of 2 g=2", "token 12 to 0", "token 12 to 1"});
  CHECK(job.sync.dropped() == 0);
}

TEST_CASE("SyncReplicas: starts from a later step", "[ps]") {
  ReplicasJob job{{2, {}}, {}, 10};
  CHECK(job.step(0, 1) == Lines{"token 10 to 0"});
  CHECK(job.step(1, 3) == Lines{"update 11 of 2 g=2", "token 10 to 1"});
  CHECK(job.step(0, 1) == Lines{"token 11 to 0"});  // for nothing: step 10 is old
  CHECK(job.step(1, 3) == Lines{"token 11 to 1"});
  CHECK(job.sync.dropped() == 2);
}

TEST_CASE("SyncReplicas: the gradients of a backup worker come too late", "[ps]") {
  ReplicasJob job{{2, 3}, 3};
  job.step(0, 1);
  CHECK(job.step(2, 5) == Lines{"update 1 of 2 g=3", "token 0 to 2"});
  CHECK(job.step(1, 100) == Lines{"token 0 to 1"});
  CHECK(job.sync.dropped() == 1);
  // the step that is computed for nothing
  for (const Rank worker : {0U, 1U, 2U}) CHECK(job.step(worker, 100).size() == 1);
  CHECK(job.sync.dropped() == 4);
  CHECK(job.step(0, 1) == Lines{});
  CHECK(job.step(1, 3) == Lines{"update 2 of 2 g=2", "token 2 to 0", "token 2 to 1"});
}

TEST_CASE("SyncReplicas: fewer workers than gradients of an update", "[ps]") {
  ReplicasJob job{{4, 2}, 2};
  CHECK(job.step(0, 1) == Lines{"token 0 to 0"});
  CHECK(job.step(0, 2) == Lines{"token 0 to 0"});  // tokens are not reserved for workers
  CHECK(job.step(0, 3) == Lines{});
  CHECK(job.step(1, 6) == Lines{"update 1 of 4 g=3", "token 1 to 0", "token 1 to 1"});
  CHECK(job.step(1, 1) == Lines{"token 1 to 1"});
  CHECK(job.step(1, 1) == Lines{"token 1 to 1"});
  CHECK(job.step(1, 1) == Lines{});
}

TEST_CASE("SyncReplicas: several variables", "[ps]") {
  SyncReplicas sync{{2, {}}};
  sync.set_variables({2, 1}, 0);
  sync.begin();
  std::vector<Floats> means;
  const auto out = [&](const ApplyUpdate& update) {
    for (const auto& mean : update.gradients) means.emplace_back(mean.begin(), mean.end());
  };
  const Floats one{1, 2};
  const Floats two{3};
  const std::span<const float> gradients[] = {one, two};
  const std::span<const float> others[] = {two, one};
  auto ignored = [&](const auto& action) {
    if constexpr (requires { out(action); }) out(action);
  };
  CHECK(sync.apply(0, gradients, ignored));
  std::error_code ec;
  CHECK_FALSE(sync.apply(1, others, ignored, ec));
  CHECK(ec == ps_errc::shape_mismatch);
  CHECK_FALSE(sync.apply(1, std::span{gradients}.first(1), ignored, ec));
  CHECK(ec == ps_errc::shape_mismatch);
  CHECK(means.empty());
  CHECK(sync.apply(1, gradients, ignored, ec));
  CHECK_FALSE(ec);
  CHECK(means == std::vector<Floats>{{1, 2}, {3}});
}

TEST_CASE("SyncReplicas: a restarted chief begins again at the global step", "[ps]") {
  ReplicasJob job{{2, {}}};
  job.step(0, 1);
  job.step(1, 3);
  job.step(0, 1);  // it then has a token of step 1
  job.sync.begin();
  CHECK(job.sync.global_step() == 1);
  CHECK(job.sync.local_step(0) == 1);
  CHECK(job.step(1, 3) == Lines{"token 1 to 1"});
  CHECK(job.step(0, 1) == Lines{"update 2 of 2 g=2", "token 1 to 0"});
  job.sync.begin(0);
  CHECK(job.step(0, 1) == Lines{});  // the tokens of step 2 were dropped
  job.sync.begin(1);
  CHECK(job.sync.waiting() == 0);
}

TEST_CASE("SyncReplicas: refuses calls that come too early", "[ps]") {
  SyncReplicas sync{{6, 3}};
  ReplicasJob told{{}};
  std::error_code ec;
  sync.begin({}, ec);
  CHECK(ec == ps_errc::not_begun);
  CHECK_THROWS_WITH(sync.begin(), ContainsSubstring("SyncReplicas::begin: replicas_to_aggregate 6"));
  sync.set_variables({}, 0, ec);
  CHECK(ec == ps_errc::no_variables);
  sync.set_variables({1}, {}, ec);
  CHECK(ec == ps_errc::no_global_step);
  CHECK_THROWS_WITH(sync.set_variables({1}, {}), ContainsSubstring("a global step is needed to check staleness"));
  sync.set_variables({1}, 0, ec);
  CHECK_FALSE(ec);

  CHECK(sync.dropped() == 0);
  CHECK_FALSE(sync.apply(0, {}, told, ec));
  CHECK(ec == ps_errc::not_begun);
  sync.take_token(0, told, ec);
  CHECK(ec == ps_errc::not_begun);
  sync.begin(2, ec);
  CHECK(ec == ps_errc::too_few_tokens);
  sync.begin(3, ec);
  CHECK_FALSE(ec);

  sync.take_token(3, told, ec);
  CHECK(ec == ps_errc::unknown_rank);
  CHECK_THROWS_WITH(sync.take_token(3, told), ContainsSubstring("SyncReplicas::take_token by worker 3: "));
  CHECK_THROWS_WITH(sync.apply(3, {}, told), ContainsSubstring("SyncReplicas::apply by worker 3: "));

  SyncReplicas nobody{{0, {}}};
  nobody.set_variables({1}, 0, ec);
  CHECK(ec == ps_errc::not_positive);
}
