// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/hadoop/pipes_environment.hpp>

#include <distrib/core/bytes.hpp>
#include <distrib/core/files.hpp>
#include <distrib/core/shortest_text.hpp>
#include <distrib/hadoop/error.hpp>

#include <cstddef>

namespace distrib {
inline namespace v0 {
namespace hadoop {

DISTRIB_DECL auto PipesEnvironment::read(const Environment& environment, ErrorRef to) -> PipesEnvironment {
  distrib::detail::ErrorOut error{to};
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
    // A recording needs no token. Over a port, a peer that cannot be verified is refused.
    if (found.port != 0) error = {hadoop_errc::bad_secret, "hadoop.pipes.shared.secret.location"};
    return found;
  }
  constexpr std::size_t longest = 512;
  const std::string path{*file};
  const std::string token = distrib::detail::read_up_to(path, longest + 1, error.code);
  if (!error.code && (token.empty() || token.size() > longest)) error.code = hadoop_errc::bad_secret;
  if (error.code) error.where = path;
  found.token.emplace();
  detail::append_raw(*found.token, as_bytes(token));
  return found;
}

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib
