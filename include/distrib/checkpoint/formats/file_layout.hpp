// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/formats/named_tensor.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/io_action.hpp>
#include <distrib/core/paths.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// How tensors become one or several files of another framework: everything but the bytes of the tensors, so that files
/// can be written that are larger than the memory.
struct FileLayout {
  /// A tensor in a file.
  struct Part {
    std::vector<std::byte> before;  ///< What is written before the bytes of the tensor.
    std::size_t tensor = 0;  ///< Its number in the list that was laid out.
  };
  struct File {
    std::string path;
    std::vector<Part> parts;
    std::vector<std::byte> after;  ///< What is written at the end.

    /// Returns the hidden name that the file has while it is written. The next attempt overwrites what is left of a
    /// killed one.
    [[nodiscard]] auto temporary() const -> std::string {
      return join_path(directory_of(path), ".saving." + std::string{file_of(path)});
    }
  };
  std::vector<File> files;
  /// Files of an earlier save under the same name that would be mistaken for a part of this one.
  std::vector<std::string> stale;
  std::string index_path;  ///< The file that lists the others; empty: there is none.
  std::string index;  ///< Its contents.
};

/// Checks that tensors can be written: names, types, and no name twice. On failure returns false; `error` names the
/// tensor: `mismatch` or `duplicate`.
[[nodiscard]] DISTRIB_DECL auto check_tensors(std::span<const NamedTensor> tensors, Error& error) -> bool;

/// Plans what follows when all files of a layout are written under their temporary names: they are made durable, then
/// what is stale is removed, then the files get their names, the index last.
[[nodiscard]] DISTRIB_DECL auto plan_publish(const FileLayout& layout) -> FilePlan;

/// Plans how a layout of `tensors` is written and published. The bytes are not copied. On failure the plan is empty and
/// `error` names the tensor whose number of bytes does not fit its shape (`mismatch`).
[[nodiscard]] DISTRIB_DECL auto plan_layout(FileLayout layout, std::span<const NamedTensor> tensors, Error& error)
    -> FilePlan;

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/formats/impl/file_layout.ipp>
#endif
