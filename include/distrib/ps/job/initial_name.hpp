// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>

#include <span>
#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// The name under which the initial checkpoint has a variable or table of the job, as in the assignment map of
/// `tf.train.init_from_checkpoint`. A name that ends with '/', or with '.' as modules of PyTorch are joined, stands for
/// all names that begin with it; "/" for all names.
///
/// | in_checkpoint | of_job | meaning |
/// |---|---|---|
/// | "linear/w" | "wide/w" | one variable or table |
/// | "linear/" | "wide/" | all below it, the rest of the name stays; also "/" to "wide/", and "linear/" to "/" |
/// | "module." | "/" | the same with the names of PyTorch |
/// | "w/part_*" | "w" | separate tensors "w/part_0", "w/part_1", ..., joined along the axis that was divided |
/// | "" | "head/" | all below "head/" begin as their initializers say |
///
/// A value.
struct InitialName {
  std::string in_checkpoint;  ///< Any text without line ends.
  std::string of_job;  ///< Not empty, and without spaces.

  [[nodiscard]] auto operator==(const InitialName&) const -> bool = default;

  /// True if the entry has one of the forms in the table of the class.
  [[nodiscard]] DISTRIB_DECL auto is_valid() const noexcept -> bool;
  /// True if the entry is for the variable or table `name`.
  [[nodiscard]] auto is_of(std::string_view name) const noexcept -> bool {
    return of_job == name || of_job == "/" || (is_prefix(of_job) && name.starts_with(of_job));
  }
  /// Returns the name that the checkpoint has for `name`; empty if `name` begins as its initializer says. Must be
  /// called only if `is_of(name)`.
  [[nodiscard]] DISTRIB_DECL auto stored_name(std::string_view name) const -> std::string;

  /// True if a name of an entry stands for all names that begin with it.
  [[nodiscard]] static auto is_prefix(std::string_view name) noexcept -> bool {
    return name.ends_with('/') || name.ends_with('.');
  }
};

namespace detail {

/// Returns the entry for the variable or table `name`: an entry with the whole name, otherwise the entry with the
/// longest prefix. Null if there is none: the checkpoint has it under its own name.
[[nodiscard]] DISTRIB_DECL auto find_initial_name(std::span<const InitialName> names, std::string_view name) noexcept
    -> const InitialName*;

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/job/impl/initial_name.ipp>
#endif
