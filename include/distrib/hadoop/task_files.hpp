// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/hadoop/file_split.hpp>
#include <distrib/hadoop/task_context.hpp>

#include <concepts>
#include <string>

namespace distrib {
inline namespace v0 {
namespace hadoop {

/// How a task reads and writes the files that the job names. A value; `name` has a scheme, as Hadoop passes it.
/// - `files.fetch(name, context, error)`: returns the path of a local file with the content of the file `name`.
/// - `files.begin(name, context, error)`: returns the path of a local file, into which the caller writes.
/// - `files.publish(name, context, error)`: makes what was written there the complete content of the file `name`.
///
/// Errors: all of them set `error`; a returned path then has no meaning.
template <class F>
concept TaskFiles = std::move_constructible<F> &&
                    requires(F& files, const std::string& name, const TaskContext& context, Error& error) {
                      { files.fetch(name, context, error) } -> std::same_as<std::string>;
                      { files.begin(name, context, error) } -> std::same_as<std::string>;
                      files.publish(name, context, error);
                    };

namespace detail {

/// Local files, also on mounted file systems: "file:" and plain paths.
///
/// Errors: `hadoop_errc::unsupported_path` for all other names.
struct LocalTaskFiles {
  /// Returns the path of the file itself.
  [[nodiscard]] auto fetch(const std::string& name, const TaskContext&, Error& error) const -> std::string {
    return detail::local_path(name, error);
  }
  /// Returns the path of the file itself.
  [[nodiscard]] auto begin(const std::string& name, const TaskContext&, Error& error) const -> std::string {
    return detail::local_path(name, error);
  }
  /// Does nothing: the file is already in its place.
  void publish(const std::string&, const TaskContext&, Error&) const noexcept {}
};

}  // namespace detail

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib
