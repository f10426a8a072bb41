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

/// How a task comes by the files that the job names. A value; `name` has a scheme, as Hadoop gives it.
/// - `files.fetch(name, context, error)`: the path of a file of this machine with what the file `name` has;
/// - `files.begin(name, context, error)`: the path of a file of this machine that is to be written, and
/// - `files.publish(name, context, error)`: what was written there is now in the file `name`, whole.
template <class F>
concept TaskFiles = std::move_constructible<F> &&
                    requires(F& files, const std::string& name, const TaskContext& context, Error& error) {
                      { files.fetch(name, context, error) } -> std::same_as<std::string>;
                      { files.begin(name, context, error) } -> std::same_as<std::string>;
                      files.publish(name, context, error);
                    };

namespace detail {

/// Files of this machine, and of file systems that are mounted: "file:" and plain paths. Others fail with
/// `hadoop_errc::unsupported_path`.
struct LocalTaskFiles {
  /// Where it lies.
  [[nodiscard]] auto fetch(const std::string& name, const TaskContext&, Error& error) const -> std::string {
    return detail::local_path(name, error);
  }
  /// The same.
  [[nodiscard]] auto begin(const std::string& name, const TaskContext&, Error& error) const -> std::string {
    return detail::local_path(name, error);
  }
  /// It is where it shall be.
  void publish(const std::string&, const TaskContext&, Error&) const noexcept {}
};

}  // namespace detail

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib
