// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/error.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/files.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// A file that is read at any place. Any thread.
class InputFile {
 public:
  /// Empty: `error` is `missing` when there is no such file, else `cannot_read`.
  static auto open(const std::string& path, checkpoint_errc missing, Error& error) -> std::optional<InputFile> {
    std::error_code ec;
    FileDescriptor file{path, O_RDONLY, ec};
    struct ::stat status{};
    if (!ec && ::fstat(file.get(), &status) != 0) ec = last_os_error();
    if (ec) {
      error = ec == std::errc::no_such_file_or_directory ? Error{missing, path}
                                                         : Error{checkpoint_errc::cannot_read, with_reason(path, ec)};
      return std::nullopt;
    }
    if (!S_ISREG(status.st_mode)) {
      error = {checkpoint_errc::cannot_read, path + " (not a regular file)"};
      return std::nullopt;
    }
    return InputFile{std::move(file), path, static_cast<std::uint64_t>(status.st_size)};
  }

  [[nodiscard]] auto size() const noexcept -> std::uint64_t { return size_; }

  /// Fills `to` from `offset` on; `corrupt_data` when the file ends before.
  auto read(std::uint64_t offset, std::span<std::byte> to, Error& error) const -> bool {
    while (!to.empty()) {
      const ::ssize_t got = ::pread(file_.get(), to.data(), to.size(), static_cast<::off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) {
        error = {checkpoint_errc::cannot_read, with_reason(path_, last_os_error())};
        return false;
      }
      if (got == 0) {
        error = {checkpoint_errc::corrupt_data, path_ + " ends at " + std::to_string(offset)};
        return false;
      }
      to = to.subspan(static_cast<std::size_t>(got));
      offset += static_cast<std::uint64_t>(got);
    }
    return true;
  }

 private:
  InputFile(FileDescriptor file, std::string path, std::uint64_t size)
      : file_{std::move(file)}, path_{std::move(path)}, size_{size} {}

  FileDescriptor file_;
  std::string path_;
  std::uint64_t size_;
};

/// All of a file that must be smaller than `limit` bytes; larger ones are refused as `too_large`.
template <class = void>
auto read_file(const std::string& path, std::uint64_t limit, checkpoint_errc too_large, std::vector<std::byte>& bytes,
               Error& error) -> bool {
  const auto file = InputFile::open(path, checkpoint_errc::not_found, error);
  if (!file) return false;
  if (file->size() > limit) {
    error = {too_large, path + ": " + std::to_string(file->size()) + " bytes"};
    return false;
  }
  bytes.resize(static_cast<std::size_t>(file->size()));
  return file->read(0, bytes, error);
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
