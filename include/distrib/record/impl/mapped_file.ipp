// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/record/mapped_file.hpp>

#include <distrib/core/file_descriptor.hpp>
#include <distrib/record/error.hpp>

#include <sys/stat.h>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL MappedFile::MappedFile(const std::string& path, std::error_code& ec) noexcept {
  struct stat status{};
  ec = ::stat(path.c_str(), &status) == 0 ? std::error_code{} : detail::last_os_error();
  // Checked before opening: opening a pipe would wait for its writer.
  if (!ec && !S_ISREG(status.st_mode)) ec = record_errc::not_regular;
  if (ec) return;
  const detail::FileDescriptor file{path, O_RDONLY, ec};
  if (!ec && ::fstat(file.get(), &status) != 0) ec = detail::last_os_error();
  if (ec || status.st_size == 0) return;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) ec = detail::last_os_error();
  else bytes_ = {static_cast<const std::byte*>(memory), size};
}

}  // namespace v0
}  // namespace distrib
