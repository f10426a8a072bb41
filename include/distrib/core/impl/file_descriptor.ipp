// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/file_descriptor.hpp>

#include <algorithm>
#include <climits>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto FileDescriptor::read(std::span<std::byte> to, std::error_code& ec) noexcept -> std::size_t {
  ssize_t count = 0;
  do {
    count = ::read(fd_, to.data(), to.size());
  } while (count < 0 && errno == EINTR);
  ec = count < 0 ? last_os_error() : std::error_code{};
  return count < 0 ? 0 : static_cast<std::size_t>(count);
}

DISTRIB_DECL void FileDescriptor::write(iovec* pieces, std::size_t count, std::error_code& ec) noexcept {
  ec.clear();
  iovec* const end = pieces + count;
  while (true) {
    while (pieces != end && pieces->iov_len == 0) ++pieces;
    if (pieces == end) return;
    const ssize_t size = ::writev(fd_, pieces, static_cast<int>(std::min<std::ptrdiff_t>(end - pieces, IOV_MAX)));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) {
      ec = last_os_error();
      return;
    }
    auto written = static_cast<std::size_t>(size);
    for (iovec* piece = pieces; written != 0; ++piece) {
      const std::size_t part = std::min(written, piece->iov_len);
      piece->iov_base = static_cast<std::byte*>(piece->iov_base) + part;
      piece->iov_len -= part;
      written -= part;
    }
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
