// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/detail/wipe.hpp>
#include <distrib/core/sha256.hpp>

#include <array>
#include <cstddef>
#include <cstring>

namespace distrib::inline v0 {

/// HMAC-SHA-256 (RFC 2104) of bytes that come in pieces: who knows the key can tell that they come from somebody who
/// knows it too. A value: a copy goes on from the same place, so a key is prepared once and copied for each message.
/// The key itself is not kept, and what is made of it is wiped on destruction. Never allocates, never fails. Threads:
/// one at a time; copying is reading.
class HmacSha256 {
 public:
  /// Any length of key is taken; one of over 64 bytes counts as its SHA-256.
  explicit HmacSha256(ByteView key) noexcept {
    std::array<std::byte, block_bytes> block{};
    if (key.size() <= block_bytes) {
      if (!key.empty()) std::memcpy(block.data(), key.data(), key.size());
    } else {
      Sha256Digest digest = sha256(key);
      std::memcpy(block.data(), digest.data(), digest.size());
      detail::wipe(digest.data(), digest.size());
    }
    for (std::byte& byte : block) byte ^= std::byte{0x36};
    inner_.update(block);
    for (std::byte& byte : block) byte ^= std::byte{0x36} ^ std::byte{0x5c};
    outer_.update(block);
    detail::wipe(block.data(), block.size());
  }
  HmacSha256(const HmacSha256&) = default;
  auto operator=(const HmacSha256&) -> HmacSha256& = default;
  ~HmacSha256() {
    detail::wipe(&inner_, sizeof inner_);
    detail::wipe(&outer_, sizeof outer_);
  }

  /// Adds `bytes` to the message; how the whole is cut into pieces does not matter.
  void update(ByteView bytes) noexcept { inner_.update(bytes); }

  /// The code of all that was added. Nothing may be called afterwards.
  [[nodiscard]] auto finish() noexcept -> Sha256Digest {
    outer_.update(inner_.finish());
    return outer_.finish();
  }

 private:
  static constexpr std::size_t block_bytes = 64;  // of SHA-256

  Sha256 inner_;
  Sha256 outer_;
};

/// HMAC-SHA-256 of `message` under `key`.
[[nodiscard]] inline auto hmac_sha256(ByteView key, ByteView message) noexcept -> Sha256Digest {
  HmacSha256 code{key};
  code.update(message);
  return code.finish();
}

/// Whether two digests are the same, found out in a time that does not depend on how far they agree: whoever may try
/// again and again could else find the right one byte by byte.
[[nodiscard]] inline auto equal_in_constant_time(const Sha256Digest& one, const Sha256Digest& other) noexcept -> bool {
  // Volatile: the compiler must not leave the loop at the first difference.
  volatile unsigned char difference = 0;
  for (std::size_t i = 0; i < one.size(); ++i)
    difference = static_cast<unsigned char>(difference | static_cast<unsigned char>(one[i] ^ other[i]));
  return difference == 0;
}

}  // namespace distrib::inline v0
