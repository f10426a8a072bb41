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

/// The service number with which a client asks for any service of a server.
inline constexpr std::uint32_t any_service = 0xffffffff;

/// The largest greeting that is accepted: a head of 4 KiB and no body. Until the greeting is over no larger frame is
/// accepted.
inline constexpr FrameLimits greeting_limits{4 << 10, 0};

/// The first message of each end. The client sends the versions that it supports and the service that it wants; the
/// server answers with the version that it has chosen. Both send the limits of the frames that they accept. (A second
/// greeting of a client that has a secret contains only its proof, and is not read into this.)
struct Greeting {
  std::uint8_t version = rpc_version;  ///< Client: the newest supported version. Server: the chosen version.
  std::uint8_t oldest = oldest_rpc_version;  ///< The oldest supported version.
  FrameLimits limits;  ///< The largest frame that the sender accepts.
  std::uint32_t max_calls = 0;  ///< Server: most calls in flight on this connection.
  std::uint32_t service = any_service;  ///< Client: the number of the wanted service (for a ps: of the shard).
  /// Set if the sender has a shared secret: the peer must prove the secret for this nonce.
  std::optional<Nonce> nonce;
  std::optional<Sha256Digest> proof;  ///< Server: its proof of the secret. Always the last bytes of the head.

  /// The size of the encoded proof at the end of the head.
  static constexpr std::size_t proof_bytes = 2 + sizeof(Sha256Digest);

  /// Returns the head of a greeting frame.
  [[nodiscard]] DISTRIB_DECL auto encode() const -> std::vector<std::byte>;

  /// Reads the head of a greeting frame. Returns false if it cannot be decoded or contains no valid range of versions;
  /// the contents are then unspecified.
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView head) noexcept -> bool;

 private:
  /// Limits a version to 255: a version that does not fit is newer than all known ones.
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
