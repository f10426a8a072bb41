// SPDX-License-Identifier: Apache-2.0
#include <distrib/cluster/tf_config.hpp>

#include "support/catch.hpp"

using distrib::cluster_errc;
using distrib::ClusterSpec;
using distrib::Error;
using distrib::json_errc;
using distrib::parse_tf_config;
using distrib::TfConfig;

namespace {

const std::string cluster = R"("cluster": {"ps": ["ps0:2222", "ps1:2222"],
                                           "worker": ["worker0:2222", "worker1:2222", "worker2:2222"]})";

}  // namespace

TEST_CASE("parse_tf_config: cluster and task", "[cluster]") {
  const TfConfig config = parse_tf_config("{" + cluster + R"(, "task": {"type": "ps", "index": 0}})");
  CHECK(config.cluster ==
        ClusterSpec{{"ps", {"ps0:2222", "ps1:2222"}}, {"worker", {"worker0:2222", "worker1:2222", "worker2:2222"}}});
  CHECK(config.cluster.jobs() == std::vector<std::string>{"ps", "worker"});
  CHECK(config.task_type == "ps");
  CHECK(config.task_index == 0U);
  CHECK(config.task() == distrib::TaskId{"ps", 0});
  CHECK_FALSE((config.rpc_layer || config.coordinator_environment || config.session_master));
  CHECK(config.master() == "ps0:2222");
}

TEST_CASE("parse_tf_config: the other keys", "[cluster]") {
  const TfConfig config = parse_tf_config(
      R"({"service": {"deep": [1, {}]}, "environment": "google", "rpc_layer": "grpc", "unknown": null, )" + cluster +
      R"(, "task": {"index": "1", "trial": [2], "type": "ps"}})");
  CHECK(config.coordinator_environment == "google");
  CHECK_FALSE(config.environment);
  CHECK(config.rpc_layer == "grpc");
  CHECK(config.task() == distrib::TaskId{"ps", 1});  // the index was written as a text
  CHECK(config.master() == "grpc://ps1:2222");

  CHECK(parse_tf_config("{" + cluster + R"(, "task": {"type": "ps", "index": 0}, "session_master": "s:1"})").master() ==
        "s:1");
  CHECK(parse_tf_config(R"({"cluster": {"123456": ["x:1"]}, "task": {"type": 123456, "index": 0}})").task_type ==
        "123456");
}

TEST_CASE("parse_tf_config: sparse jobs", "[cluster]") {
  const TfConfig config = parse_tf_config(
      R"({"cluster": {"worker": {"1": "w1:2222", "4": "w4:2222"}, "ps": ["p0:1"]},
          "task": {"type": "worker", "index": 4}})");
  CHECK(config.cluster.task_indices("worker") == std::vector<std::uint32_t>{1, 4});
  CHECK(config.master() == "w4:2222");
  CHECK_FALSE(config.sparse_cluster);

  const TfConfig dynamic = parse_tf_config(R"({"sparseCluster": {"worker": {"4": "w4:2222"}, "ps": ["p0:1"]}})");
  CHECK(dynamic.sparse_cluster);
  CHECK(dynamic.cluster.task_indices("worker") == std::vector<std::uint32_t>{4});
  CHECK_FALSE(parse_tf_config(R"({"sparseCluster": null})").sparse_cluster);
}

TEST_CASE("parse_tf_config: every key may be missing or null", "[cluster]") {
  for (const char* text : {"{}", R"({"cluster": {}})", R"({"cluster": null, "task": null, "rpc_layer": null})",
                           R"({"task": {"type": null, "index": null}})"}) {
    CAPTURE(text);
    const TfConfig config = parse_tf_config(text);
    CHECK_FALSE(config.cluster);
    CHECK_FALSE(config.task());
    CHECK(config.master().empty());
  }
  CHECK(parse_tf_config(R"({"cluster": {"worker": ["w:1"]}, "rpc_layer": "grpc"})").master().empty());
}

TEST_CASE("TfConfig: fields can be overwritten", "[cluster]") {
  TfConfig config = parse_tf_config("{" + cluster + R"(, "task": {"type": "ps", "index": 1}, "rpc_layer": "grpc"})");
  config.task_index = 0;
  CHECK(config.master() == "grpc://ps0:2222");
}

TEST_CASE("TfConfig::master: needs the task", "[cluster]") {
  TfConfig config = parse_tf_config("{" + cluster + "}");
  std::error_code ec;
  CHECK(config.master(ec).empty());
  CHECK(ec == cluster_errc::missing_job);
  CHECK_THROWS_WITH(config.master(), ContainsSubstring("TF_CONFIG: the job of this process"));
  config.task_type = "ps";
  CHECK(config.master(ec).empty());
  CHECK(ec == cluster_errc::missing_index);
  config.task_index = 2;
  CHECK(config.master(ec).empty());
  CHECK(ec == cluster_errc::no_such_task);
  config.task_type = "gardener";
  CHECK(config.master(ec).empty());
  CHECK(ec == cluster_errc::no_such_job);
}

TEST_CASE("parse_tf_config: errors name the place", "[cluster]") {
  struct Refusal {
    std::string text;
    std::error_code code;
    std::size_t offset;
  };
  const Refusal refusals[] = {
      {"", json_errc::unexpected_end, 0},
      {R"({"cluster": )", json_errc::unexpected_end, 12},
      {R"({"cluster": {"ps": ["a:1", ]}})", json_errc::unexpected_character, 27},
      {R"({"another": [})", json_errc::unexpected_character, 13},
      {R"({"service": [}]})", cluster_errc::bad_tf_config, 12},
      {"{} {}", json_errc::trailing_text, 3},
      {"[]", cluster_errc::bad_tf_config, 0},
      {R"({"cluster": []})", cluster_errc::bad_tf_config, 12},
      {R"({"cluster": {"ps": "a:1"}})", cluster_errc::bad_tf_config, 19},
      {R"({"cluster": {"ps": ["a:1", 2]}})", cluster_errc::bad_tf_config, 27},
      {R"({"cluster": {"ps": {"x": "a:1"}}})", cluster_errc::bad_integer, 20},
      {R"({"cluster": {"ps": {"-1": "a:1"}}})", cluster_errc::bad_integer, 20},
      {R"({"cluster": {"ps": {"0": 1}}})", cluster_errc::bad_tf_config, 25},
      {R"({"cluster": {"ps": {"0": "a:1", "0": "b:1"}}})", cluster_errc::bad_tf_config, 37},
      {R"({"cluster": {"ps": ["a:1"], "ps": ["b:1"]}})", cluster_errc::duplicate_job, 40},
      {R"({"task": "ps"})", cluster_errc::bad_tf_config, 9},
      {R"({"task": {"type": []}})", cluster_errc::bad_tf_config, 18},
      {R"({"task": {"index": 1.5}})", cluster_errc::bad_integer, 19},
      {R"({"task": {"index": -1}})", cluster_errc::bad_integer, 19},
      {R"({"task": {"index": "one"}})", cluster_errc::bad_integer, 19},
      {R"({"task": {"index": true}})", cluster_errc::bad_integer, 19},
      {R"({"rpc_layer": {}})", cluster_errc::bad_tf_config, 14},
  };
  for (const Refusal& refusal : refusals) {
    CAPTURE(refusal.text);
    Error error;
    CHECK_FALSE(parse_tf_config(refusal.text, error).cluster);
    CHECK(error.code == refusal.code);
    CHECK(error.where == "offset " + std::to_string(refusal.offset));
    std::error_code ec;
    (void)parse_tf_config(refusal.text, ec);
    CHECK(ec == refusal.code);
    CHECK_THROWS_WITH(parse_tf_config(refusal.text),
                      ContainsSubstring("TF_CONFIG at offset " + std::to_string(refusal.offset) + ": "));
  }
}
