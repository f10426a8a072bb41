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

/// A secret that all tasks of a job have and no other process. Client and server prove to each other that they have it.
/// A default-constructed object means "no secret": then every client may connect.
///
///     head -c 32 /dev/urandom | base64 > secret; chmod 600 secret
///
/// The secret must be random: every process that can connect gets a code made with it, and can test guesses on that
/// code offline. The secret only decides which processes may connect. It does not protect the data that is sent
/// afterwards: in a network to which others can write, use TLS as well.
///
/// A value, cheap to copy. Copies share a key that is computed from the bytes and erased with the last copy. The bytes
/// themselves are not kept, and cannot be read back.
///
/// Threads: any, as a value.
class SharedSecret {
 public:
  static constexpr std::size_t min_bytes = 16;  ///< Size of the shortest secret.
  static constexpr std::size_t max_bytes = 4 << 10;  ///< Size of the longest secret.

  SharedSecret() = default;

  /// Returns the secret that consists of these bytes.
  ///
  /// Errors: `rpc_errc::bad_secret` for less than 16 bytes or more than 4 KiB. The result is then no secret.
  [[nodiscard]] DISTRIB_DECL static auto from_bytes(ByteView bytes, std::error_code& ec) -> SharedSecret;
  /// This overload throws the error as `std::system_error`.
  [[nodiscard]] DISTRIB_DECL static auto from_bytes(ByteView bytes) -> SharedSecret;

  /// Reads the secret from a file, without the newline at its end.
  ///
  /// Errors: the system's error; `rpc_errc::secret_exposed` for a file that all users may read or write; `bad_secret`
  /// for a wrong size, or if the path is not a regular file. The result is then no secret.
  [[nodiscard]] DISTRIB_DECL static auto from_file(const std::string& path, std::error_code& ec) -> SharedSecret;
  /// This overload throws the error as `std::system_error` that names the path.
  [[nodiscard]] DISTRIB_DECL static auto from_file(const std::string& path) -> SharedSecret;

  /// Reads the secret from an environment variable. Prefer a file: processes that this process starts can read the
  /// variable too.
  ///
  /// Errors: `rpc_errc::no_secret` if the variable is not set, `bad_secret` for a wrong size. The result is then no
  /// secret.
  ///
  /// Threads: call it before other threads are started.
  [[nodiscard]] DISTRIB_DECL static auto from_environment(const std::string& name, std::error_code& ec) -> SharedSecret;
  /// This overload throws the error as `std::system_error` that names the variable.
  [[nodiscard]] DISTRIB_DECL static auto from_environment(const std::string& name) -> SharedSecret;

  /// Reads the secret of the job to which this process belongs, as its starter passes it: from the file that the
  /// environment variable DISTRIB_SECRET_FILE names, otherwise from the text of DISTRIB_SECRET. Returns no secret if
  /// neither is set; an empty variable counts as not set.
  ///
  /// Errors (without `to` thrown as `std::system_error`): as `from_file` and `from_bytes`, with the path or
  /// "DISTRIB_SECRET" as their place.
  ///
  /// Threads: call it before other threads are started.
  [[nodiscard]] DISTRIB_DECL static auto of_job(ErrorRef to) -> SharedSecret;
  [[nodiscard]] static auto of_job() -> SharedSecret {
    Error error;
    return detail::or_throw(of_job(error), error);
  }

  /// True if there is a secret.
  [[nodiscard]] explicit operator bool() const noexcept { return key_ != nullptr; }

  /// Returns the HMAC-SHA-256 of all `pieces`, one after another, with the secret as its key. There must be a secret.
  [[nodiscard]] auto sign(std::initializer_list<ByteView> pieces) const noexcept -> Sha256Digest {
    HmacSha256 code = *key_;
    for (const ByteView piece : pieces) code.update(piece);
    return code.finish();
  }

 private:
  /// Memory for the longest secret, a newline of up to two bytes, and one byte more, which shows that a file is too
  /// long.
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
