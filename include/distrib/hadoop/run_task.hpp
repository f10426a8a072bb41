// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/environment.hpp>
#include <distrib/core/error.hpp>
#include <distrib/hadoop/pipes_core.hpp>
#include <distrib/hadoop/pipes_environment.hpp>
#include <distrib/hadoop/pipes_link.hpp>
#include <distrib/hadoop/serve_pipes.hpp>
#include <distrib/hadoop/task_roles.hpp>

#include <chrono>
#include <type_traits>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace hadoop {

namespace detail {

template <class Link, class... Roles> void run_over(Link& link, PipesOptions options, Roles&... roles) {
  serve_pipes(link, std::move(options), [] { return std::chrono::steady_clock::now(); }, roles...);
  link.finish();
}

/// Does the one task that Hadoop Pipes started this program for, and returns main's 0. `roles`: a Mapper and, in any
/// order, at most one each of Reducer, Combiner, Partitioner, RecordReader and RecordWriter; a value may play several.
/// A job has maps and reduces, so the same program is given all that either needs.
///
/// `environment`: with `mapreduce.pipes.command.port` it talks to Hadoop; with `mapreduce.pipes.commandfile`, what
/// Hadoop said was recorded and is gone through again, for a debugger.
///
/// Throws what a role throws, and `std::system_error`: `hadoop_errc`, `net_errc`, or the system's reason. A program
/// that lets it pass ends with a signal, and Hadoop tries the task again.
template <class... Roles>
  requires TaskRoles<std::remove_cvref_t<Roles>...>
auto run_task_in(const Environment& environment, Roles&&... roles) -> int {
  const PipesEnvironment found = PipesEnvironment::read(environment);
  Error error;
  if (found.port != 0) {
    SocketLink link{found.port, error};
    throw_if(error);
    detail::run_over(link, {.token = found.token}, roles...);
  } else {
    ReplayLink link{found.command_file, error};
    throw_if(error);
    detail::run_over(link, {.token = found.token}, roles...);
  }
  return 0;
}

// The twin: same parameter list, so that the constrained one wins whenever its concept holds.
template <class... Roles> auto run_task_in(const Environment&, Roles&&...) -> int {
  detail::explain_task_roles<std::remove_cvref_t<Roles>...>();
  return 1;
}

}  // namespace detail

/// The same, in the environment of this process.
template <class... Roles>
  requires detail::TaskRoles<std::remove_cvref_t<Roles>...>
auto run_task(Roles&&... roles) -> int {
  return detail::run_task_in(Environment::of_process(), std::forward<Roles>(roles)...);
}

template <class... Roles> auto run_task(Roles&&...) -> int {
  detail::explain_task_roles<std::remove_cvref_t<Roles>...>();
  return 1;
}

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib
