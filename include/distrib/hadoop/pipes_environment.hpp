// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/environment.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/hadoop/writable.hpp>

#include <cstdint>
#include <optional>
#include <string>

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
  [[nodiscard]] DISTRIB_DECL static auto read(const Environment& environment, ErrorRef to) -> PipesEnvironment;

  /// The same; throws `std::system_error`.
  [[nodiscard]] static auto read(const Environment& environment) -> PipesEnvironment {
    Error error;
    return distrib::detail::or_throw(read(environment, error), error);
  }
};

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/hadoop/impl/pipes_environment.ipp>
#endif
