// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/worker/scale_ranks.hpp>

#include "ps/loopback_job.hpp"
#include "support/catch.hpp"
#include "support/loopback.hpp"

#include <distrib/net/io_pool.hpp>
#include <distrib/ps/server/server.hpp>

#include <chrono>
#include <optional>
#include <vector>

using namespace distrib;
using namespace std::chrono_literals;
using loopback_job::Worker;

namespace {

const ClusterSpec scaled_cluster{{"ps", {"127.0.0.1:0", "127.0.0.1:0"}}, {"worker", {"127.0.0.1:1"}}};

/// What was answered at one step of a running job.
struct AnswersOfScale {
  JobRanks before, after;
  ScaledRanks taken, again, early, wrong;
  Error no_chief, bad_rate;
};

}  // namespace

TEST_CASE("scale_ranks: asks all shards of all servers of a running job", "[ps]") {
  IoPool pool{1};
  ServerOptions options;
  options.shard.rank_steps_ahead = 8;
  Server first{pool, scaled_cluster, "ps", 0, StandardUpdaters{}, options};
  Server second{pool, scaled_cluster, "ps", 1, StandardUpdaters{}, options};
  const std::vector<Address> servers{{"127.0.0.1", first.port()}, {"127.0.0.1", second.port()}};
  Error early;
  CHECK(ranks_of_job(servers, {}, early).shards == 0);
  CHECK(early.code == ps_errc::fixed_ranks);

  Job job = loopback_job::make(2, 1, 40);
  job.most_ranks = 3;
  asio::io_context context{1};
  Worker worker{context, job, 0, servers};
  const RankEntry entry{30, 7, {0}, {1, 2, 4}};
  std::optional<AnswersOfScale> seen;
  worker.at_step = [&](Step step) {
    if (step != 3) return;
    AnswersOfScale now;
    now.before = ranks_of_job(servers);
    now.taken = scale_ranks(servers, entry);
    now.again = scale_ranks(servers, entry);
    now.early = scale_ranks(servers, {2, 8, {0}});
    now.wrong = scale_ranks(servers, {35, 8, {0, 3}});
    static_cast<void>(scale_ranks(servers, {36, 8, {1, 2}}, {}, now.no_chief));
    static_cast<void>(scale_ranks(servers, {36, 8, {0}, {1, 0, 4}}, {}, now.bad_rate));
    now.after = ranks_of_job(servers);
    seen = now;
  };
  support::run_until(context, [&] { return worker.is_over; });
  CHECK(worker.end.code == 0);
  REQUIRE(seen);
  CHECK(seen->before.shards == 2);
  CHECK(seen->before.step == 2);
  CHECK(seen->before.first > 3);
  CHECK(seen->before.first <= 3 + 9);
  CHECK(seen->before.changes.empty());
  CHECK(seen->taken.shards == 2);
  CHECK(seen->taken.taken == 2);
  CHECK_FALSE(seen->taken.refused);
  CHECK_FALSE(seen->taken.failed);
  CHECK(seen->again.taken == 2);
  CHECK(seen->early.taken == 0);
  CHECK(seen->early.refused.code == ps_errc::ranks_too_soon);
  CHECK(seen->wrong.taken == 0);
  CHECK(seen->wrong.refused.code == ps_errc::bad_ranks);
  CHECK(seen->no_chief.code == failure::invalid_argument);
  CHECK(seen->no_chief.where == "ranks 1-2: rank 0 is missing, which the chief makes");
  CHECK(seen->bad_rate.code == ps_errc::bad_rate);
  CHECK(seen->bad_rate.where == "rate 1 to 0 within 4");
  CHECK(seen->after.changes == std::vector{entry});
  CHECK(seen->after.began_with == 1);
  CHECK(rate_of({}, seen->after, 32, 1) == RankRate{1.5, 2, 2});
  CHECK(rate_of({RateRule::Kind::linear}, seen->after, 32, 3) == RankRate{3, 3, 0});
}

TEST_CASE("scale_ranks: a server that cannot be reached", "[ps]") {
  asio::io_context context{1};
  support::Acceptor acceptor{context, support::loopback()};
  const std::vector<Address> servers{{"127.0.0.1", acceptor.local_endpoint().port()}};
  acceptor.close();
  Error error;
  CHECK(scale_ranks(servers, {30, 7, {0}}, {}, error).shards == 0);
  CHECK(error.code == net_errc::refused);
}
