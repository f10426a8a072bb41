// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/file_descriptor.hpp>

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstddef>

namespace distrib {
inline namespace v0 {

/// Bytes that are used once: what was proved to somebody who drew them proves nothing to anybody else, or later. Zeros
/// stand for none.
using Nonce = std::array<std::byte, 32>;

/// Draws one from the operating system, for one connection: shells do, and hand it to the core. Throws what the system
/// says where it has no randomness.
[[nodiscard]] inline auto draw_nonce() -> Nonce {
  Nonce nonce{};
  while (::getrandom(nonce.data(), nonce.size(), 0) != static_cast<::ssize_t>(nonce.size()))  // all of so few, or none
    if (errno != EINTR) throw_error(detail::last_os_error(), "random numbers");
  return nonce;
}

}  // namespace v0
}  // namespace distrib
