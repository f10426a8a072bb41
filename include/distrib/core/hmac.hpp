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

/// HMAC with `Hash` (RFC 2104) of a message that arrives in pieces: with the key, a receiver can check that the sender
/// of a message has the same key. A value: a copy continues from the same point, so a key is prepared once and copied
/// for each message. The key is not kept, and everything derived from it is wiped by the destructor. Never allocates,
/// never fails.
///
/// Threads: one at a time. Several threads may copy at the same time.
template <class Hash> class Hmac {
 public:
  /// Prepares `key`, which may have any length. A key longer than `Hash::block_bytes` is replaced by its hash.
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

  /// Adds `bytes` to the message. How the message is divided into pieces does not matter.
  void update(ByteView bytes) noexcept { inner_.update(bytes); }

  /// Returns the authentication code of the whole message. No member may be called afterwards.
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

/// Returns the HMAC-SHA-256 of `message` with `key`.
[[nodiscard]] inline auto hmac_sha256(ByteView key, ByteView message) noexcept -> Sha256Digest {
  HmacSha256 code{key};
  code.update(message);
  return code.finish();
}

/// True if both digests are equal. The time does not depend on the number of equal bytes: otherwise an attacker
/// with many attempts could find the right digest byte by byte.
[[nodiscard]] inline auto equal_in_constant_time(ByteView one, ByteView other) noexcept -> bool {
  // Volatile: the compiler must not leave the loop at the first difference.
  volatile unsigned char difference = 0;
  for (std::size_t i = 0; i < one.size() && i < other.size(); ++i)
    difference = static_cast<unsigned char>(difference | static_cast<unsigned char>(one[i] ^ other[i]));
  return difference == 0 && one.size() == other.size();
}

}  // namespace v0
}  // namespace distrib
