// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/hmac.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/core/wipe.hpp>

#include <array>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// What all tasks of a job know and nobody else: who connects proves that he knows it, and so does who is connected to.
/// One that was made with default arguments is none; everybody is let in then.
///
///     head -c 32 /dev/urandom | base64 > secret; chmod 600 secret
///
/// It must be random: whoever may connect can try guesses on what he was answered, at his leisure. It says who comes
/// in, and protects nothing of what is said then; in a network that others can write to, use TLS as well.
///
/// A value, cheap to copy: copies share what was made of the bytes, which is wiped with the last one. The bytes
/// themselves are not kept and never given out. Threads: any, as a value.
class SharedSecret {
 public:
  static constexpr std::size_t min_bytes = 16;
  static constexpr std::size_t max_bytes = 4 << 10;

  SharedSecret() = default;

  /// Of bytes that are at hand. Failure: `rpc_errc::bad_secret`, for less than 16 bytes or more than 4 KiB.
  [[nodiscard]] DISTRIB_DECL static auto from_bytes(ByteView bytes, std::error_code& ec) -> SharedSecret;
  /// The same, thrown.
  [[nodiscard]] DISTRIB_DECL static auto from_bytes(ByteView bytes) -> SharedSecret;

  /// Of a file, without the newline at its end. Failure: the system's reason; `rpc_errc::secret_exposed` for a file
  /// that others than owner and group may read or write; `bad_secret`, also for what is no regular file.
  [[nodiscard]] DISTRIB_DECL static auto from_file(const std::string& path, std::error_code& ec) -> SharedSecret;
  /// The same, thrown with the path.
  [[nodiscard]] DISTRIB_DECL static auto from_file(const std::string& path) -> SharedSecret;

  /// Of an environment variable, which processes that are started later can read too: prefer a file. Call it before
  /// there are threads. Failure: `rpc_errc::no_secret` for one that is not set, `bad_secret`.
  [[nodiscard]] DISTRIB_DECL static auto from_environment(const std::string& name, std::error_code& ec) -> SharedSecret;
  /// The same, thrown with the name.
  [[nodiscard]] DISTRIB_DECL static auto from_environment(const std::string& name) -> SharedSecret;

  /// Of the job that this process is a task of, as its starter gives it: the file that DISTRIB_SECRET_FILE names, or else
  /// the text of DISTRIB_SECRET; without either there is none. Set but empty counts as not set. Call it before there
  /// are threads. Fails as `from_file` and `from_bytes` do.
  [[nodiscard]] DISTRIB_DECL static auto of_job(ErrorRef to) -> SharedSecret;
  [[nodiscard]] static auto of_job() -> SharedSecret {
    Error error;
    return detail::or_throw(of_job(error), error);
  }

  /// Whether there is one.
  [[nodiscard]] explicit operator bool() const noexcept { return key_ != nullptr; }

  /// HMAC-SHA-256 of `pieces`, one after the other, under the secret; which there must be.
  [[nodiscard]] auto sign(std::initializer_list<ByteView> pieces) const noexcept -> Sha256Digest {
    HmacSha256 code = *key_;
    for (const ByteView piece : pieces) code.update(piece);
    return code.finish();
  }

 private:
  /// Room for the longest one, what may stand at its end, and a byte that is too many.
  struct Buffer {
    Buffer() = default;
    Buffer(const Buffer&) = delete;
    ~Buffer() { detail::wipe(bytes.data(), bytes.size()); }
    std::array<std::byte, max_bytes + 3> bytes;
  };

  explicit SharedSecret(ByteView bytes) : key_{new HmacSha256{bytes}} {}

  std::shared_ptr<const HmacSha256> key_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/rpc/impl/shared_secret.ipp>
#endif
