// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/ranged_bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/file_descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// A file that is read at any offset: of this machine, or elsewhere. Threads: any.
class InputFile {
 public:
  /// For a file elsewhere. `path`: its name, for messages.
  InputFile(std::shared_ptr<const RangedBytes> elsewhere, std::string path)
      : elsewhere_{std::move(elsewhere)}, path_{std::move(path)}, size_{elsewhere_->bytes} {}

  /// Opens `path`. On failure returns nothing and sets `error`: `missing` if there is no such file, otherwise
  /// `cannot_read`.
  DISTRIB_DECL static auto open(const std::string& path, checkpoint_errc missing, Error& error)
      -> std::optional<InputFile>;

  [[nodiscard]] auto size() const noexcept -> std::uint64_t { return size_; }

  /// Fills `to` with the bytes from `offset` on. On failure returns false and sets `error`: `corrupt_data` if the file
  /// ends before, or `cannot_read`; of a file elsewhere, what its reader reports.
  DISTRIB_DECL auto read(std::uint64_t offset, std::span<std::byte> to, Error& error) const -> bool;

 private:
  InputFile(FileDescriptor file, std::string path, std::uint64_t size)
      : file_{std::move(file)}, path_{std::move(path)}, size_{size} {}

  FileDescriptor file_;
  std::shared_ptr<const RangedBytes> elsewhere_;  // null: `file_` counts
  std::string path_;
  std::uint64_t size_;
};

/// Reads a whole file of at most `limit` bytes into `bytes`. On failure returns false and sets `error`: `too_large` if
/// the file is larger, `not_found` if there is no such file, otherwise as `InputFile` does.
DISTRIB_DECL auto read_file(const std::string& path, std::uint64_t limit, checkpoint_errc too_large,
                            std::vector<std::byte>& bytes, Error& error) -> bool;

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/detail/impl/input_file.ipp>
#endif
