// SPDX-License-Identifier: Apache-2.0
// Checks that the answers to a sample of questions (vectors.json) equal the answers of the originals.
#include "answers.hpp"

#include "support/catch.hpp"
#include "support/test_dir.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <string_view>

namespace {

using conformance::Json;

/// Groups in which every case of the sample is answered as by the original.
const std::set<std::string> answered{
    "accumulator",
    "checkpoint_bundle",
    "checkpoint_state",
    "cluster_roles",
    "cluster_spec",
    "crc32c",
    "data_batch",
    "data_interleave",
    "data_shard",
    "device_spec_merge",
    "device_spec_parse",
    "embedding_combine",
    "embedding_partition",
    "event_file",
    "example_proto",
    "flags",
    "greedy_placement",
    "hadoop_reader",
    "hooks",
    "kubernetes_resolver",
    "kubernetes_service_name",
    "optimizer_dense",
    "optimizer_sparse",
    "parse_example",
    "partition_slices",
    "partitioner",
    "ps_strategy_placement",
    "random_placement",
    "replica_device_setter",
    "server_def",
    "sharded_variable",
    "slurm_hostlist",
    "slurm_resolver",
    "slurm_tasks_per_node",
    "spark_decode",
    "spark_encode",
    "spark_infer_schema",
    "sync_replicas",
    "tf_config",
    "tf_config_run_config",
    "tfrecord_bytes",
    "tfrecord_compression",
    "tfrecord_corruption",
};

auto close(double value, double expected, double rtol) -> bool {
  return value == expected || std::abs(value - expected) <= rtol * std::max(std::abs(value), std::abs(expected));
}

/// True if `answer` says all that `expected` says. Parts of messages are for readers and are not compared.
auto agrees(const Json& answer, const Json& expected, double rtol, std::string_view name = {}) -> bool {
  if (expected.is_number()) return answer.is_number() && close(answer.get<double>(), expected.get<double>(), rtol);
  // `expected` may have some of the addresses, while the answer has all.
  if (name == "task_address" && expected.is_array() && answer.is_array())
    return std::all_of(expected.begin(), expected.end(),
                       [&](const Json& task) { return std::find(answer.begin(), answer.end(), task) != answer.end(); });
  if (expected.is_array()) {
    if (!answer.is_array() || answer.size() != expected.size()) return false;
    for (std::size_t i = 0; i < expected.size(); ++i)
      if (!agrees(answer[i], expected[i], rtol)) return false;
    return true;
  }
  if (expected == "0a00 or empty") return answer == "0a00" || answer == "";
  if (!expected.is_object()) return answer == expected;
  if (!answer.is_object()) return false;
  for (const auto& [key, value] : expected.items()) {
    if (key == "message_contains" || key == "note" || key == "why" || key == "rtol") continue;
    if (!answer.contains(key) || !agrees(answer[key], value, rtol, key)) return false;
  }
  return true;
}

auto vectors() -> Json {
  std::ifstream file{support::test_dir() + "/conformance/vectors.json"};
  return Json::parse(file).at("vectors");
}

}  // namespace

TEST_CASE("answers equal the answers of the originals") {
  std::map<std::string, std::pair<int, int>> groups;  // number of cases, and how many agree
  for (const Json& vector : vectors()) {
    const std::string group = vector.at("group");
    const Json answer = conformance::answer({{"id", vector.at("id")}, {"group", group}, {"input", vector.at("input")}});
    const Json& expected = vector.at("expected");
    const bool good = agrees(answer, expected, expected.is_object() ? expected.value("rtol", 1e-5) : 1e-5);
    ++groups[group].first;
    groups[group].second += good ? 1 : 0;
    if (!answered.contains(group)) continue;
    INFO(vector.at("id") << ": " << vector.at("desc") << "\n  answer   " << answer.dump() << "\n  expected "
                         << expected.dump());
    CHECK(good);
  }
  std::size_t whole = 0;
  for (const auto& [group, cases] : groups) {
    if (cases.first == cases.second) ++whole;
    if (cases.first == cases.second && !answered.contains(group)) UNSCOPED_INFO(group << " could be listed");
  }
  std::printf("%zu of %zu groups are answered\n", whole, groups.size());
  CHECK(whole >= answered.size());
}

TEST_CASE("lines that are not questions") {
  const char* const refused = R"({"error":"INVALID_ARGUMENT"})";
  for (const char* line :
       {"", "{", "[]", "7", "\"text\"", "{}", R"({"id": "x"})", "\xff\xfe", R"({"id":"x","group":7})"})
    CHECK(Json::parse(conformance::answer_line(line)).dump().find("INVALID_ARGUMENT") != std::string::npos);
  CHECK(conformance::answer_line("{") == refused);
  CHECK(conformance::answer_line(R"({"id": "x", "group": "no_such", "input": {}})") ==
        R"({"id":"x","output":{"unsupported":true}})");
  CHECK(conformance::answer_line(R"({"id": "x", "group": "crc32c", "input": {"hex": "0"}})") ==
        R"({"id":"x","output":{"error":"INVALID_ARGUMENT"}})");
  CHECK(conformance::answer_line(R"({"id": "x", "group": "crc32c", "input": 7})") ==
        R"({"id":"x","output":{"unsupported":true}})");
}
