// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>

#include <span>
#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// By which name the initial checkpoint has a variable or table of a job, as `tf.train.init_from_checkpoint` is told by
/// its assignment map. A name that ends with '/' stands for all that begin so, "/" for all.
///
/// | in_checkpoint | of_job | |
/// |---|---|---|
/// | "linear/w" | "wide/w" | one variable or table |
/// | "linear/" | "wide/" | all below it, the rest of the name stays; also "/" to "wide/", and "linear/" to "/" |
/// | "w/part_*" | "w" | tensors "w/part_0", "w/part_1", ... of their own, joined along the axis in which they were cut |
/// | "" | "head/" | these begin as their initializers say |
///
/// A value.
struct InitialName {
  std::string in_checkpoint;  ///< Any text without line ends.
  std::string of_job;  ///< Neither empty nor with spaces in it.

  [[nodiscard]] auto operator==(const InitialName&) const -> bool = default;

  /// Whether it is one of these forms.
  [[nodiscard]] DISTRIB_DECL auto is_valid() const noexcept -> bool;
  /// Whether it is for the variable or table `name`.
  [[nodiscard]] auto is_of(std::string_view name) const noexcept -> bool {
    return of_job == name || of_job == "/" || (of_job.ends_with('/') && name.starts_with(of_job));
  }
  /// Under which name the checkpoint has `name`, which it must be for; empty: it does not come from there.
  [[nodiscard]] DISTRIB_DECL auto stored_name(std::string_view name) const -> std::string;
};

namespace detail {

/// The entry for the variable or table `name`: that of the whole name, else that of the longest prefix. nullptr: none,
/// so it has its own name in the checkpoint.
[[nodiscard]] DISTRIB_DECL auto find_initial_name(std::span<const InitialName> names, std::string_view name) noexcept
    -> const InitialName*;

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/job/impl/initial_name.ipp>
#endif
