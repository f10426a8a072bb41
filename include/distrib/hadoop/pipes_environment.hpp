// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/environment.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/files.hpp>
#include <distrib/core/shortest_text.hpp>
#include <distrib/hadoop/error.hpp>
#include <distrib/hadoop/writable.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {
namespace hadoop {

/// How Hadoop told a program of Pipes what it is to do.
struct PipesEnvironment {
  std::uint16_t port = 0;        ///< Of 127.0.0.1, where Hadoop listens; 0: none.
  std::string command_file = {}; ///< Else: what Hadoop said is in this file; answers go to the same with ".out".
  std::optional<Bytes> token{};  ///< The job's token.

  /// From `mapreduce.pipes.command.port`, `mapreduce.pipes.commandfile` and `hadoop.pipes.shared.secret.location`, a
  /// file that is named from the directory in which the program was started: read before that is left. Fails with
  /// `hadoop_errc::not_a_task`, `bad_port`, `bad_secret`, or the reason why the file cannot be read.
  [[nodiscard]] static auto read(const Environment& environment, Error& error) -> PipesEnvironment {
    PipesEnvironment found;
    if (const auto text = environment.find("mapreduce.pipes.command.port")) {
      const auto port = distrib::detail::parse_whole<std::uint16_t>(*text);
      if (!port || *port == 0) {
        error = {hadoop_errc::bad_port, "mapreduce.pipes.command.port=" + std::string{text->substr(0, 80)}};
        return {};
      }
      found.port = *port;
    } else if (const auto file = environment.find("mapreduce.pipes.commandfile")) {
      found.command_file = *file;
    } else {
      error = {hadoop_errc::not_a_task, "environment"};
      return {};
    }
    const auto file = environment.find("hadoop.pipes.shared.secret.location");
    if (!file) {
      // To a recording anybody may listen; over a port who cannot prove himself gets nothing.
      if (found.port != 0) error = {hadoop_errc::bad_secret, "hadoop.pipes.shared.secret.location"};
      return found;
    }
    constexpr std::size_t longest = 512;
    const std::string path{*file};
    const std::string token = distrib::detail::read_up_to(path, longest + 1, error.code);
    if (!error.code && (token.empty() || token.size() > longest)) error.code = hadoop_errc::bad_secret;
    if (error.code) error.where = path;
    found.token.emplace();
    append_raw(*found.token, as_bytes(token));
    return found;
  }

  /// The same; throws `std::system_error`.
  [[nodiscard]] static auto read(const Environment& environment) -> PipesEnvironment {
    Error error;
    return distrib::detail::or_throw(read(environment, error), error);
  }
};

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib
