// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/error.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/file_descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// A file that is read at any place. Any thread.
class InputFile {
 public:
  /// Empty: `error` is `missing` when there is no such file, else `cannot_read`.
  DISTRIB_DECL static auto open(const std::string& path, checkpoint_errc missing, Error& error)
      -> std::optional<InputFile>;

  [[nodiscard]] auto size() const noexcept -> std::uint64_t { return size_; }

  /// Fills `to` from `offset` on; `corrupt_data` when the file ends before.
  DISTRIB_DECL auto read(std::uint64_t offset, std::span<std::byte> to, Error& error) const -> bool;

 private:
  InputFile(FileDescriptor file, std::string path, std::uint64_t size)
      : file_{std::move(file)}, path_{std::move(path)}, size_{size} {}

  FileDescriptor file_;
  std::string path_;
  std::uint64_t size_;
};

/// All of a file that must be smaller than `limit` bytes; larger ones are refused as `too_large`.
DISTRIB_DECL auto read_file(const std::string& path, std::uint64_t limit, checkpoint_errc too_large,
                            std::vector<std::byte>& bytes, Error& error) -> bool;

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/detail/impl/input_file.ipp>
#endif
