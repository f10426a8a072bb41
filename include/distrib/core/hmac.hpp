// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/core/wipe.hpp>

#include <array>
#include <cstddef>
#include <cstring>

namespace distrib {
inline namespace v0 {

/// HMAC by `Hash` (RFC 2104) of bytes that come in pieces: who knows the key can tell that they come from somebody who
/// knows it too. A value: a copy goes on from the same place, so a key is prepared once and copied for each message.
/// The key itself is not kept, and what is made of it is wiped on destruction. Never allocates, never fails. Threads:
/// one at a time; copying is reading.
template <class Hash> class Hmac {
 public:
  /// Any length of key is taken; one of over `Hash::block_bytes` counts as its hash.
  explicit Hmac(ByteView key) noexcept {
    std::array<std::byte, Hash::block_bytes> block{};
    if (key.size() > block.size()) {
      inner_.update(key);
      auto digest = inner_.finish();
      std::memcpy(block.data(), digest.data(), digest.size());
      detail::wipe(digest.data(), digest.size());
    } else if (!key.empty()) {
      std::memcpy(block.data(), key.data(), key.size());
    }
    for (std::byte& byte : block) byte ^= std::byte{0x36};
    inner_.update(block);
    for (std::byte& byte : block) byte ^= std::byte{0x36} ^ std::byte{0x5c};
    outer_.update(block);
    detail::wipe(block.data(), block.size());
  }
  Hmac(const Hmac&) = default;
  auto operator=(const Hmac&) -> Hmac& = default;
  ~Hmac() {
    detail::wipe(&inner_, sizeof inner_);
    detail::wipe(&outer_, sizeof outer_);
  }

  /// Adds `bytes` to the message; how the whole is cut into pieces does not matter.
  void update(ByteView bytes) noexcept { inner_.update(bytes); }

  /// The code of all that was added. Nothing may be called afterwards.
  [[nodiscard]] auto finish() noexcept -> decltype(Hash{}.finish()) {
    outer_.update(inner_.finish());
    return outer_.finish();
  }

 private:
  Hash inner_;
  Hash outer_;
};

/// HMAC-SHA-256.
using HmacSha256 = Hmac<Sha256>;

/// HMAC-SHA-256 of `message` under `key`.
[[nodiscard]] inline auto hmac_sha256(ByteView key, ByteView message) noexcept -> Sha256Digest {
  HmacSha256 code{key};
  code.update(message);
  return code.finish();
}

/// Whether two digests are the same, found out in a time that does not depend on how far they agree: whoever may try
/// again and again could else find the right one byte by byte.
[[nodiscard]] inline auto equal_in_constant_time(ByteView one, ByteView other) noexcept -> bool {
  // Volatile: the compiler must not leave the loop at the first difference.
  volatile unsigned char difference = 0;
  for (std::size_t i = 0; i < one.size() && i < other.size(); ++i)
    difference = static_cast<unsigned char>(difference | static_cast<unsigned char>(one[i] ^ other[i]));
  return difference == 0 && one.size() == other.size();
}

}  // namespace v0
}  // namespace distrib
