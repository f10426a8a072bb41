// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/detail/input_file.hpp>

#include <distrib/core/files.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto InputFile::open(const std::string& path, checkpoint_errc missing, Error& error)
    -> std::optional<InputFile> {
  std::error_code ec;
  FileDescriptor file{path, O_RDONLY | O_NONBLOCK, ec};  // a pipe would wait for a writer
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

DISTRIB_DECL auto InputFile::read(std::uint64_t offset, std::span<std::byte> to, Error& error) const -> bool {
  if (elsewhere_ != nullptr) {
    if (offset > size_ || to.size() > size_ - offset) {
      error = {checkpoint_errc::corrupt_data, path_ + " ends at " + std::to_string(size_)};
      return false;
    }
    Error failure;
    if (!to.empty()) elsewhere_->read(offset, to, failure);
    if (failure) error = std::move(failure);
    return !failure;
  }
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

DISTRIB_DECL auto read_file(const std::string& path, std::uint64_t limit, checkpoint_errc too_large,
                            std::vector<std::byte>& bytes, Error& error) -> bool {
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
