// SPDX-License-Identifier: Apache-2.0
#include <distrib/hadoop/pipes_environment.hpp>

#include "hadoop/conversation.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <fstream>
#include <string>
#include <system_error>

using distrib::Environment;
using distrib::Error;
using distrib::hadoop_errc;
using distrib::hadoop::PipesEnvironment;

namespace {

constexpr const char* command_port = "mapreduce.pipes.command.port";
constexpr const char* command_file = "mapreduce.pipes.commandfile";
constexpr const char* secret = "hadoop.pipes.shared.secret.location";

auto environment_error(const Environment& environment) -> std::error_code {
  Error error;
  const auto found = PipesEnvironment::read(environment, error);
  return error.code;
}

}  // namespace

TEST_CASE("PipesEnvironment: a port and the job's token", "[hadoop][pipes_environment]") {
  const support::TempDirectory directory;
  const std::string path = directory / "token";
  std::ofstream{path} << "sec\nret";
  const auto found = PipesEnvironment::read({{command_port, "4711"}, {command_file, "not looked at"}, {secret, path}});
  CHECK(found.port == 4711);
  CHECK(found.command_file.empty());
  CHECK(found.token == conversation::bytes_of("sec\nret"));
  const auto replay = PipesEnvironment::read({{command_file, "down"}});
  CHECK(replay.port == 0);
  CHECK(replay.command_file == "down");
  CHECK(!replay.token);
}

TEST_CASE("PipesEnvironment: reports what is missing or wrong", "[hadoop][pipes_environment]") {
  const support::TempDirectory directory;
  const std::string path = directory / "token";
  CHECK(environment_error({}) == hadoop_errc::not_a_task);
  for (const char* text : {"", "0", "65536", "-1", "80x", " 80"})
    CHECK(environment_error({{command_port, text}}) == hadoop_errc::bad_port);
  CHECK(environment_error({{command_port, "80"}}) == hadoop_errc::bad_secret);
  CHECK(environment_error({{command_port, "80"}, {secret, path}}) == distrib::failure::not_found);
  std::ofstream{path}.close();
  CHECK(environment_error({{command_port, "80"}, {secret, path}}) == hadoop_errc::bad_secret);
  std::ofstream{path} << std::string(512, 's');
  CHECK(environment_error({{command_port, "80"}, {secret, path}}) == std::error_code{});
  std::ofstream{path} << std::string(513, 's');
  CHECK(environment_error({{command_file, "down"}, {secret, path}}) == hadoop_errc::bad_secret);
  CHECK_THROWS_AS(PipesEnvironment::read({}), std::system_error);
}
