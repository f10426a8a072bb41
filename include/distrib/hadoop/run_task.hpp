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

/// Performs the task for which Hadoop Pipes started this program. Returns 0, for `main` to return. `roles`: a Mapper
/// and, in any order, at most one each of Reducer, Combiner, Partitioner, RecordReader and RecordWriter; one value may
/// play several roles. A job has maps and reduces, so the same program gets the roles of both.
///
/// `environment`: with `mapreduce.pipes.command.port`, the program talks to Hadoop. With `mapreduce.pipes.commandfile`,
/// it replays a recorded conversation, for a debugger.
///
/// Errors: throws what a role throws, and `std::system_error` with a `hadoop_errc`, a `net_errc` or the operating
/// system's reason. A program that does not catch it ends with a signal, and Hadoop tries the task again.
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

// The unconstrained overload: the same parameter list, so that the constrained one wins whenever its concept holds.
template <class... Roles> auto run_task_in(const Environment&, Roles&&...) -> int {
  detail::explain_task_roles<std::remove_cvref_t<Roles>...>();
  return 1;
}

}  // namespace detail

/// Performs the task for which Hadoop Pipes started this program, with the environment of this process. Returns 0, for
/// `main` to return. `roles`: a Mapper and, in any order, at most one each of Reducer, Combiner, Partitioner,
/// RecordReader and RecordWriter; one value may play several roles. A job has maps and reduces, so the same program
/// gets the roles of both.
///
/// Errors: throws what a role throws, and `std::system_error` with a `hadoop_errc`, a `net_errc` or the operating
/// system's reason. A program that does not catch it ends with a signal, and Hadoop tries the task again.
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
