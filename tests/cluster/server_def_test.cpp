// SPDX-License-Identifier: Apache-2.0
#include <distrib/cluster/server_def.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <string>
#include <system_error>
#include <vector>

using distrib::cluster_errc;
using distrib::ClusterSpec;
using distrib::make_server_def;
using distrib::ServerDef;
using distrib::ServerDefOptions;

namespace {

const ClusterSpec two_jobs{{"ps", {"p0:1", "p1:1"}}, {"worker", {"w0:1"}}};

auto failure_of(const ClusterSpec& cluster, const ServerDefOptions& options) -> std::error_code {
  std::error_code ec;
  (void)make_server_def(cluster, options, ec);
  return ec;
}

auto check_of(const ServerDef& def) -> std::error_code {
  std::error_code ec;
  check_server_def(def, ec);
  return ec;
}

}  // namespace

TEST_CASE("make_server_def: infers the only job, its only task, and grpc", "[cluster]") {
  const ServerDef def = make_server_def(ClusterSpec{{"local", {"localhost:2222"}}});
  CHECK(def.job_name == "local");
  CHECK(def.task_index == 0);
  CHECK(def.protocol == "grpc");
  const ClusterSpec sparse = ClusterSpec::from_sparse({{"local", {{7, "h:1"}}}});
  CHECK(make_server_def(sparse).task_index == 7);
  CHECK(make_server_def(two_jobs, {.job_name = "worker"}).task_index == 0);

  CHECK(failure_of(two_jobs, {}) == cluster_errc::missing_job);
  CHECK(failure_of(two_jobs, {.job_name = "ps"}) == cluster_errc::missing_index);
  CHECK(failure_of(two_jobs, {.job_name = "chief"}) == cluster_errc::no_such_job);
  CHECK_FALSE(failure_of(two_jobs, {.job_name = "chief", .task_index = 0}));  // check_server_def reports that
  CHECK_THROWS_WITH(make_server_def(two_jobs), ContainsSubstring("ServerDef"));
}

TEST_CASE("make_server_def: options replace the fields of a definition", "[cluster]") {
  const ServerDef ps{.cluster = two_jobs, .job_name = "ps", .session_config = {std::byte{1}}};
  const ServerDef worker = make_server_def(ps, {.job_name = "worker", .task_index = 2, .protocol = "p"});
  CHECK(worker.task() == distrib::TaskId{"worker", 2});
  CHECK(worker.protocol == "p");
  CHECK(worker.session_config == ps.session_config);
  const ServerDef merged = make_server_def(ps, {.session_config = std::vector{std::byte{2}}});
  CHECK(merged.session_config == std::vector{std::byte{1}, std::byte{2}});
  CHECK(merged.job_name == "ps");
}

TEST_CASE("check_server_def: reports what TensorFlow reports when it creates the server", "[cluster]") {
  const ServerDef good{.cluster = two_jobs, .job_name = "ps"};
  CHECK_FALSE(check_of(good));
  ServerDef def = good;
  def.protocol = "carrier-pigeon";
  CHECK(check_of(def) == cluster_errc::unknown_protocol);
  def = good;
  def.job_name = "chief";
  CHECK(check_of(def) == cluster_errc::no_such_job);
  def = good;
  def.task_index = 9;
  CHECK(check_of(def) == cluster_errc::no_such_task);
  for (const char* address : {"p0", "p0:", "p0:x", "p0:65536", "a/b:1"}) {
    CAPTURE(address);
    def = good;
    def.cluster = {{"ps", {address}}};
    CHECK(check_of(def) == cluster_errc::bad_address);
    def.cluster = {{"ps", {"p0:1"}}, {"worker", {address}}};
    CHECK(check_of(def) == cluster_errc::bad_address);
  }
  def.cluster = {{"ps", {"[::1]:1"}}};
  CHECK_FALSE(check_of(def));
  CHECK_THROWS_WITH(distrib::check_server_def({.cluster = two_jobs, .job_name = "chief"}),
                    ContainsSubstring("/job:chief/task:0"));
}

TEST_CASE("server_target: the address at which sessions find the server", "[cluster]") {
  const ServerDef local = distrib::local_server_def();
  CHECK(local.cluster == ClusterSpec{{"localhost", {"localhost:0"}}});
  CHECK(server_target(local, 4711) == "grpc://localhost:4711");
  CHECK(distrib::server_target({.cluster = {{"ps", {":0"}}}, .job_name = "ps"}, 1) == "grpc://localhost:1");
  CHECK(distrib::server_target({.cluster = {{"ps", {"[::1]:0"}}}, .job_name = "ps"}, 1) == "grpc://[::1]:1");
}

TEST_CASE("standard_server_def: the task of TF_CONFIG", "[cluster]") {
  const auto config = distrib::parse_tf_config(
      R"({"cluster": {"ps": ["p:1"], "worker": ["w:1"]}, "task": {"type": "ps", "index": 0}, "rpc_layer": "grpc+x"})");
  const ServerDef def = distrib::detail::standard_server_def(config);
  CHECK(def.task() == distrib::TaskId{"ps", 0});
  CHECK(def.protocol == "grpc+x");
  std::error_code ec;
  (void)distrib::detail::standard_server_def(distrib::parse_tf_config(R"({"cluster": {"ps": ["p:1"]}})"), ec);
  CHECK(ec == cluster_errc::empty_job);
}

TEST_CASE("ServerDef: written to bytes and read back", "[cluster]") {
  ServerDef def{.cluster = ClusterSpec::from_sparse({{"ps", {{3, "p:1"}}}, {"worker", {{0, "w:1"}}}}),
                .job_name = "ps",
                .task_index = 3,
                .session_config = {std::byte{9}},
                .port = 77};
  def.device_filters.set({"worker", 0}, {"/job:ps"});
  const auto bytes = distrib::detail::write_server_def(def);
  CHECK(distrib::detail::parse_server_def(bytes) == def);
  for (std::size_t size = 1; size < bytes.size(); ++size) {  // parsing a damaged one ends, with or without an error
    std::error_code ec;
    const ServerDef part = distrib::detail::parse_server_def(distrib::ByteView{bytes}.first(size), ec);
    CHECK((ec || part != def));
  }
  std::error_code ec;
  const std::vector port{std::byte{0x40}, std::byte{0x80}, std::byte{0x80}, std::byte{0x04}};  // 65536
  (void)distrib::detail::parse_server_def(port, ec);
  CHECK(ec == cluster_errc::bad_cluster_def);
}
