// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/hadoop/run_streaming.hpp>

#include <distrib/core/file_descriptor.hpp>

#include <unistd.h>

#include <cerrno>

namespace distrib {
inline namespace v0 {
namespace hadoop {

namespace detail {

DISTRIB_DECL auto DescriptorLink::read_some(std::span<std::byte> space, std::error_code& ec) const -> std::size_t {
  ssize_t count = 0;
  do {
    count = ::read(in_, space.data(), space.size());
  } while (count < 0 && errno == EINTR);
  ec = count < 0 ? distrib::detail::last_os_error() : std::error_code{};
  return count < 0 ? 0 : static_cast<std::size_t>(count);
}

DISTRIB_DECL void DescriptorLink::write_to(int descriptor, ByteView bytes, std::error_code& ec) {
  ec.clear();
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) ec = distrib::detail::last_os_error();
    if (ec) return;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

}  // namespace detail

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib
