// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/file_descriptor.hpp>
#include <distrib/core/hmac.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/core/wipe.hpp>
#include <distrib/rpc/error.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
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
  [[nodiscard]] static auto from_bytes(ByteView bytes, std::error_code& ec) -> SharedSecret {
    ec.clear();
    if (bytes.size() < min_bytes || bytes.size() > max_bytes) {
      ec = rpc_errc::bad_secret;
      return {};
    }
    return SharedSecret{bytes};
  }
  /// The same, thrown.
  [[nodiscard]] static auto from_bytes(ByteView bytes) -> SharedSecret {
    std::error_code ec;
    auto secret = from_bytes(bytes, ec);
    if (ec) throw_error(ec, "a shared secret");
    return secret;
  }

  /// Of a file, without the newline at its end. Failure: the system's reason; `rpc_errc::secret_exposed` for a file
  /// that others than owner and group may read or write; `bad_secret`, also for what is no regular file.
  [[nodiscard]] static auto from_file(const std::string& path, std::error_code& ec) -> SharedSecret {
    detail::FileDescriptor file{path, O_RDONLY | O_NONBLOCK, ec};  // a pipe is not waited for
    struct ::stat status{};
    if (!ec && ::fstat(file.get(), &status) != 0) ec = detail::last_os_error();
    if (!ec && !S_ISREG(status.st_mode)) ec = rpc_errc::bad_secret;
    if (!ec && (status.st_mode & (S_IROTH | S_IWOTH)) != 0) ec = rpc_errc::secret_exposed;
    if (ec) return {};

    Buffer buffer;
    std::size_t size = 0;
    while (!ec && size < buffer.bytes.size()) {
      const std::size_t count = file.read(std::span{buffer.bytes}.subspan(size), ec);
      if (count == 0) break;
      size += count;
    }
    if (ec) return {};
    std::string_view text = as_text(ByteView{buffer.bytes}.first(size));
    if (text.ends_with('\n')) text.remove_suffix(text.ends_with("\r\n") ? 2 : 1);
    return from_bytes(as_bytes(text), ec);
  }
  /// The same, thrown with the path.
  [[nodiscard]] static auto from_file(const std::string& path) -> SharedSecret {
    std::error_code ec;
    auto secret = from_file(path, ec);
    if (ec) throw_error(ec, path);
    return secret;
  }

  /// Of an environment variable, which processes that are started later can read too: prefer a file. Call it before
  /// there are threads. Failure: `rpc_errc::no_secret` for one that is not set, `bad_secret`.
  [[nodiscard]] static auto from_environment(const std::string& name, std::error_code& ec) -> SharedSecret {
    const char* const text = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): before threads, in main
    if (text != nullptr) return from_bytes(as_bytes(text), ec);
    ec = rpc_errc::no_secret;
    return {};
  }
  /// The same, thrown with the name.
  [[nodiscard]] static auto from_environment(const std::string& name) -> SharedSecret {
    std::error_code ec;
    auto secret = from_environment(name, ec);
    if (ec) throw_error(ec, name);
    return secret;
  }

  /// Of the job that this process is a task of, as its starter gives it: the file that DISTRIB_SECRET_FILE names, or else
  /// the text of DISTRIB_SECRET; without either there is none. Set but empty counts as not set. Call it before there
  /// are threads. Fails as `from_file` and `from_bytes` do.
  template <class = void> [[nodiscard]] static auto of_job(Error& error) -> SharedSecret {
    // NOLINTBEGIN(concurrency-mt-unsafe): before threads, in main
    const std::string_view path = std::getenv("DISTRIB_SECRET_FILE") ? std::getenv("DISTRIB_SECRET_FILE") : "";
    const std::string_view text = std::getenv("DISTRIB_SECRET") ? std::getenv("DISTRIB_SECRET") : "";
    // NOLINTEND(concurrency-mt-unsafe)
    error = {{}, path.empty() ? "DISTRIB_SECRET" : std::string{path}};
    SharedSecret secret;
    if (!path.empty()) secret = from_file(error.where, error.code);
    else if (!text.empty()) secret = from_bytes(as_bytes(text), error.code);
    if (!error) error = {};
    return secret;
  }
  template <class = void> [[nodiscard]] static auto of_job(std::error_code& ec) -> SharedSecret {
    return of_job(detail::CodeOf{ec});
  }
  template <class = void> [[nodiscard]] static auto of_job() -> SharedSecret {
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
