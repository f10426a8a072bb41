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

/// Random bytes that are used only once: for one connection, or as the name of something that no other program may
/// name alike. A proof for one nonce is worth nothing for another, so a recorded proof cannot be used again. All zeros:
/// no nonce.
using Nonce = std::array<std::byte, 32>;

/// Draws a nonce from the operating system. The owner of a core calls it and passes the result to the core. Throws the
/// system's error if it has no random numbers.
[[nodiscard]] inline auto draw_nonce() -> Nonce {
  Nonce nonce{};
  // getrandom returns all of up to 256 bytes, or fails.
  while (::getrandom(nonce.data(), nonce.size(), 0) != static_cast<::ssize_t>(nonce.size()))
    if (errno != EINTR) throw_error(detail::last_os_error(), "random numbers");
  return nonce;
}

}  // namespace v0
}  // namespace distrib
