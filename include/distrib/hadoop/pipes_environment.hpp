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

/// What the environment of a Pipes program says about its task.
struct PipesEnvironment {
  std::uint16_t port = 0;  ///< Port on 127.0.0.1 where Hadoop listens; 0: none.
  /// Without a port: the file of Hadoop's recorded messages. The answers go to this path + ".out".
  std::string command_file = {};
  std::optional<Bytes> token{};  ///< The job's token. Empty: the environment names none, and there is no port.

  /// Reads `mapreduce.pipes.command.port`, `mapreduce.pipes.commandfile` and `hadoop.pipes.shared.secret.location`. The
  /// last names a file, relative to the directory in which the program was started: call this before changing the
  /// directory.
  ///
  /// Errors: `hadoop_errc::not_a_task`, `bad_port`, `bad_secret`, or the reason why the file cannot be read. The result
  /// then has no meaning.
  [[nodiscard]] DISTRIB_DECL static auto read(const Environment& environment, ErrorRef to) -> PipesEnvironment;

  /// This overload throws the error as `std::system_error`.
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
