// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/server/metrics_text.hpp>

#include "ps/exposition.hpp"
#include "support/catch.hpp"

#include <chrono>
#include <string>
#include <vector>

using distrib::metrics_text;
using distrib::ShardStatus;

TEST_CASE("metrics_text: the test's reader refuses text that does not have the format", "[ps]") {
  const std::string head = "# HELP a b\n# TYPE a gauge\n";
  CHECK(exposition::read(head + "a 1\n") == exposition::Samples{{"a", 1}});
  CHECK(exposition::read(head + "a{b=\"c\",d=\"\\\"\\\\\\n\"} 0.5\n").has_value());
  for (const char* const bad : {"a 1", "a  1\n", "b 1\n", "a{} 1\n", "a{b=\"c} 1\n", "a{b=\"c\"}1\n",
                                "a{b=\"\\x\"} 1\n", "a one\n", "a 1\na 2\n", "a{b=\"c\",b=\"d\"} 1\n", "a{1=\"c\"} 1\n",
                                "\n", "# HELP a again\n", "# TYPE b gauge\n", "# TYPE a counter\n", "a_sum 1\n"}) {
    CAPTURE(bad);
    CHECK_FALSE(exposition::read(head + bad));
  }
  const std::string histogram = "# HELP a b\n# TYPE a histogram\n";
  const std::string one = "a_bucket{le=\"1\"} 2\n";
  const std::string all = "a_bucket{le=\"+Inf\"} 3\n";
  CHECK(exposition::read(histogram + one + all + "a_sum 4.5\na_count 3\n").has_value());
  for (const std::string& bad :
       {one + "a_sum 4\n", one + "a_count 2\n", all + one, all + "a_count 2\n", std::string{"a 1\n"},
        std::string{"a_bucket 1\n"}, one + "a_bucket{le=\"2\"} 1\n", std::string{"a_more 1\n"}}) {
    CAPTURE(bad);
    CHECK_FALSE(exposition::read(histogram + bad));
  }
}

TEST_CASE("metrics_text: no shard, and a shard without a job", "[ps]") {
  CHECK(exposition::read(metrics_text({})) == exposition::Samples{});
  ShardStatus idle;
  idle.task = 3;
  idle.ranks = 2;
  idle.uptime = std::chrono::milliseconds{12'034};
  const std::string text = metrics_text({&idle, 1});
  CHECK(text.find("distrib_ps_uptime_seconds{task=\"3\",shard=\"0\"} 12.034\n") != std::string::npos);
  const auto samples = exposition::read(text);
  REQUIRE(samples);
  CHECK(samples->at("distrib_ps_open{task=\"3\",shard=\"0\"}") == 0);
  CHECK(samples->at("distrib_ps_ranks{task=\"3\",shard=\"0\"}") == 2);
}

TEST_CASE("metrics_text: when the certificate expires", "[ps]") {
  const std::string name = "distrib_tls_certificate_expires_seconds";
  const std::chrono::system_clock::time_point expires{std::chrono::seconds{1'798'761'599} +
                                                      std::chrono::milliseconds{9}};
  CHECK(exposition::read(metrics_text({}, expires)) == exposition::Samples{{name, 1'798'761'599}});
  const ShardStatus shard;
  const auto samples = exposition::read(metrics_text({&shard, 1}, expires));
  REQUIRE(samples);
  CHECK(samples->at(name) == 1'798'761'599);
  CHECK(exposition::read(metrics_text({&shard, 1}))->count(name) == 0);
}

TEST_CASE("metrics_text: shows every number of every shard", "[ps]") {
  std::vector<ShardStatus> shards(2);
  for (std::uint32_t s = 0; s < 2; ++s) {
    ShardStatus& shard = shards[s];
    const std::uint64_t hundreds = 100 * (s + 1);
    shard.task = 1;
    shard.shard = s;
    shard.open = true;
    shard.no_values = s == 1;
    shard.step = hundreds + 1;
    shard.total_steps = hundreds + 2;
    shard.newest_cut = hundreds + 3;
    shard.contributions = hundreds + 4;
    shard.staleness = hundreds + 5;
    shard.value_bytes = hundreds + 6;
    shard.slot_bytes = hundreds + 7;
    shard.variables = hundreds + 8;
    shard.pushes = hundreds + 9;
    shard.pushed_bytes = hundreds + 10;
    shard.pulls = hundreds + 11;
    shard.pulled_bytes = hundreds + 12;
    shard.parked = hundreds + 13;
    shard.stale = hundreds + 14;
    shard.vacant = hundreds + 15;
    shard.waiting_bytes = hundreds + 16;
    shard.most_waiting_bytes = hundreds + 17;
    shard.completions = hundreds + 18;
    shard.horizon = hundreds + 19;
    shard.no_room = s == 1;
    shard.completion_time = std::chrono::milliseconds{1250};
    shard.waits_for = std::chrono::milliseconds{500};
    for (std::uint32_t i = 0; i < 3 * (s + 1); ++i) shard.push_times.add(std::chrono::microseconds{1 << (5 * i)});
    shard.pull_times.add(std::chrono::hours{1});
    shard.of_ranks = {{0, true, 7}, {5, false, 6}};
    shard.of_variables = {{"a", 1}, {"a \"name\" \\ of\nsome sort", 2}};
  }
  const auto samples = exposition::read(metrics_text(shards));
  REQUIRE(samples);
  const char* const names[] = {
      "step",          "total_steps",        "newest_cut_step",   "contributions", "staleness_steps",
      "value_bytes",   "slot_bytes",         "variables",         "pushes_total",  "pushed_bytes_total",
      "pulls_total",   "pulled_bytes_total", "pulls_parked",      "stale_total",   "vacant_ranks",
      "waiting_bytes", "most_waiting_bytes", "completions_total", "horizon_step"};
  for (std::uint32_t s = 0; s < 2; ++s) {
    const std::string of = "{task=\"1\",shard=\"" + std::to_string(s) + "\"";
    double expected = 100 * (s + 1);
    for (const char* const name : names) CHECK(samples->at("distrib_ps_" + std::string{name} + of + "}") == ++expected);
    const std::string push = "distrib_ps_push_seconds_";
    CHECK(samples->at(push + "bucket" + of + ",le=\"0.000001024\"}") == 1);
    CHECK(samples->at(push + "bucket" + of + ",le=\"0.000032768\"}") == 2);
    CHECK(samples->at(push + "bucket" + of + ",le=\"0.001048576\"}") == 3);
    CHECK(samples->at(push + "bucket" + of + ",le=\"68.719476736\"}") == 3 * (s + 1));
    CHECK(samples->at(push + "bucket" + of + ",le=\"+Inf\"}") == 3 * (s + 1));
    CHECK(samples->at(push + "count" + of + "}") == 3 * (s + 1));
    CHECK(samples->at(push + "sum" + of + "}") == (s == 0 ? 0.001057 : 34.636833));
    CHECK(samples->at("distrib_ps_pull_seconds_bucket" + of + ",le=\"68.719476736\"}") == 0);
    CHECK(samples->at("distrib_ps_pull_seconds_bucket" + of + ",le=\"+Inf\"}") == 1);
    CHECK(samples->at("distrib_ps_pull_seconds_sum" + of + "}") == 3600);
    CHECK(samples->at("distrib_ps_open" + of + "}") == 1);
    CHECK(samples->at("distrib_ps_no_room" + of + "}") == s);
    CHECK(samples->at("distrib_ps_completion_seconds_total" + of + "}") == 1.25);
    CHECK(samples->at("distrib_ps_waits_for_seconds" + of + "}") == 0.5);
    CHECK(samples->at("distrib_ps_waits_for_values" + of + "}") == s);
    CHECK(samples->at("distrib_ps_variable_bytes" + of + ",variable=\"a\"}") == 1);
    CHECK(samples->at("distrib_ps_variable_bytes" + of + ",variable=\"a \\\"name\\\" \\\\ of\\nsome sort\"}") == 2);
  }
}

TEST_CASE("metrics_text: only shard 0 of task 0 has metrics of ranks", "[ps]") {
  std::vector<ShardStatus> shards(2);
  shards[1].shard = 1;
  for (ShardStatus& shard : shards) shard.of_ranks = {{0, true, 7}, {5, false, 6}};
  const auto of_ranks = [&shards] {
    const auto samples = exposition::read(metrics_text(shards));
    REQUIRE(samples);
    std::vector<std::pair<std::string, double>> found;
    for (const auto& [name, value] : *samples)
      if (name.find(",rank=") != std::string::npos) found.emplace_back(name, value);
    std::ranges::sort(found);
    return found;
  };
  const std::string of = "{task=\"0\",shard=\"0\",rank=\"";
  CHECK(of_ranks() == std::vector<std::pair<std::string, double>>{{"distrib_ps_rank_here" + of + "0\"}", 1},
                                                                  {"distrib_ps_rank_here" + of + "5\"}", 0},
                                                                  {"distrib_ps_rank_step" + of + "0\"}", 7},
                                                                  {"distrib_ps_rank_step" + of + "5\"}", 6}});
  for (ShardStatus& shard : shards) shard.task = 1;
  CHECK(of_ranks().empty());
}

TEST_CASE("metrics_text: which ranks look on, in a job with such ranks", "[ps]") {
  const std::string name = "distrib_ps_rank_looks_on{task=\"0\",shard=\"0\",rank=\"1\"}";
  ShardStatus shard;
  shard.open = true;
  shard.of_ranks = {{0, true, 7}, {1, true, 5}};
  const auto fixed = exposition::read(metrics_text({&shard, 1}));
  REQUIRE(fixed);
  CHECK(fixed->count(name) == 0);
  shard.of_ranks[1].looks_on = true;
  const auto changing = exposition::read(metrics_text({&shard, 1}));
  REQUIRE(changing);
  CHECK(changing->at(name) == 1);
}

TEST_CASE("metrics_text: the descriptors of the process, if they are known", "[ps]") {
  CHECK(exposition::read(metrics_text({}, {}, distrib::DescriptorUse{17, 1024})) ==
        exposition::Samples{{"process_open_fds", 17}, {"process_max_fds", 1024}});
}

TEST_CASE("metrics_text: which ranks were waited for, those that were waited for longest", "[ps]") {
  const std::string last = "distrib_ps_rank_last_total{task=\"0\",shard=\"0\",rank=\"";
  const std::string waited = "distrib_ps_rank_waited_seconds_total{task=\"0\",shard=\"0\",rank=\"";
  ShardStatus shard;
  shard.of_ranks = {{0, true, 7}, {1, true, 7, 0, false, 5, std::chrono::milliseconds{1'500}}};
  CHECK(exposition::read(metrics_text({&shard, 1}))->count(last + "1\"}") == 0);  // asynchronous: no step waits
  shard.completions = 7;
  const auto few = exposition::read(metrics_text({&shard, 1}));
  REQUIRE(few);
  CHECK(few->at(last + "0\"}") == 0);
  CHECK(few->at(waited + "0\"}") == 0);
  CHECK(few->at(last + "1\"}") == 5);
  CHECK(few->at(waited + "1\"}") == 1.5);

  shard.of_ranks.clear();
  constexpr distrib::Rank ranks = 10'000;
  for (distrib::Rank rank = 0; rank < ranks; ++rank)
    shard.of_ranks.push_back({rank, true, 7, 0, false, 1, std::chrono::milliseconds{rank * 7'919U % ranks}});
  const auto many = exposition::read(metrics_text({&shard, 1}));
  REQUIRE(many);
  std::size_t series = 0;
  for (distrib::Rank rank = 0; rank < ranks; ++rank) {
    const std::string label = std::to_string(rank) + "\"}";
    CHECK(many->count(last + label) == many->count(waited + label));
    const bool is_shown = rank * 7'919U % ranks >= ranks - distrib::most_waited_ranks;
    CHECK(many->count(waited + label) == (is_shown ? 1 : 0));
    series += many->count("distrib_ps_rank_here{task=\"0\",shard=\"0\",rank=\"" + label);
  }
  CHECK(series == ShardStatus::most_listed);
}
