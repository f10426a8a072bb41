// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/rpc/frame.hpp>
#include <distrib/rpc/frame_limits.hpp>
#include <distrib/rpc/nonce.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Asks for whichever of a server's services.
inline constexpr std::uint32_t any_service = 0xffffffff;

/// The largest greeting that is taken, in bytes: nothing else is, before the peer has shown who it is.
inline constexpr FrameLimits greeting_limits{4 << 10, 0};

/// What each end says first. The client tells the versions it speaks and the service it wants; the server answers with
/// the version it chose. Both tell what they take.
struct Greeting {
  std::uint8_t version = rpc_version;  ///< The newest that is spoken; in the answer, the one that is spoken now.
  std::uint8_t oldest = oldest_rpc_version;  ///< The oldest that is spoken.
  FrameLimits limits;  ///< The largest frame that is taken.
  std::uint32_t max_calls = 0;  ///< Server: most calls in flight on this connection.
  std::uint32_t service = any_service;  ///< Client: which of the server's services (of a ps: which shard).
  std::optional<Nonce> nonce;  ///< Who has a shared secret wants it to be proved for this.
  std::optional<Sha256Digest> proof;  ///< Server: that it has the secret. Always the last bytes of the head.

  /// How many bytes of the head the proof is.
  static constexpr std::size_t proof_bytes = 2 + sizeof(Sha256Digest);

  [[nodiscard]] DISTRIB_DECL auto encode() const -> std::vector<std::byte>;

  /// False: the head does not decode.
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView head) noexcept -> bool;

 private:
  /// A version that does not fit is one that is newer than all.
  static auto up_to_255(std::uint64_t version) noexcept -> std::uint8_t {
    return static_cast<std::uint8_t>(std::min<std::uint64_t>(version, 255));
  }

  static auto take(ByteView bytes, std::optional<std::array<std::byte, 32>>& to) noexcept -> bool {
    if (bytes.size() != 32) return false;
    std::memcpy(to.emplace().data(), bytes.data(), bytes.size());
    return true;
  }
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/rpc/impl/greeting.ipp>
#endif
