// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in any facade.
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/remote/s3/s3_request.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// An upload in parts: which requests it consists of, and what the store has of it. Parts may be sent in any order,
/// each as often as necessary. A core: it does no I/O; `S3Writer` does.
///
/// Threads: one at a time.
class S3UploadCore {
 public:
  static constexpr std::size_t most_parts = 10'000;

  /// For the object `key`. `nonce`: stored with the object.
  S3UploadCore(std::string key, std::string nonce) : key_{std::move(key)}, nonce_{std::move(nonce)} {}

  [[nodiscard]] auto key() const noexcept -> const std::string& { return key_; }
  [[nodiscard]] auto nonce() const noexcept -> const std::string& { return nonce_; }
  /// Returns the id that the store gave; empty: the upload has not begun.
  [[nodiscard]] auto id() const noexcept -> const std::string& { return id_; }
  [[nodiscard]] auto parts() const noexcept -> std::size_t { return parts_.size(); }
  /// Returns the number of bytes of all parts that were announced.
  [[nodiscard]] auto bytes() const noexcept -> std::uint64_t { return bytes_; }

  /// Returns the request that begins the upload; then call `begun` with the id from the answer.
  [[nodiscard]] auto create() const -> S3Request { return S3Request::create(key_, nonce_); }
  void begun(std::string id) { id_ = std::move(id); }

  /// Announces the next part, of `bytes` bytes, and returns its number; 0: the object has `most_parts` parts.
  [[nodiscard]] auto add(std::uint64_t bytes) -> std::size_t {
    if (parts_.size() == most_parts) return 0;
    parts_.push_back({parts_.size() + 1, {}});
    bytes_ += bytes;
    return parts_.size();
  }
  /// Returns the request that sends a part that was announced; then call `sent` with the ETag of the answer.
  [[nodiscard]] auto part(std::size_t number, ByteView bytes, std::uint32_t crc) const -> S3Request {
    return S3Request::part(key_, id_, number, bytes, crc);
  }
  /// `crc`: the CRC-32C that was sent with the part, if one was sent.
  void sent(std::size_t number, std::string etag, std::optional<std::uint32_t> crc) {
    parts_[number - 1].etag = std::move(etag);
    parts_[number - 1].crc = crc;
  }

  /// True if the store has all parts.
  [[nodiscard]] auto is_whole() const -> bool {
    for (const S3Part& part : parts_)
      if (part.etag.empty()) return false;
    return !parts_.empty();
  }
  /// Returns the request that makes the object visible; only if `is_whole()`. `crc`: of all bytes, if one is to be
  /// sent.
  [[nodiscard]] auto complete(std::optional<std::uint32_t> crc) const -> S3Request {
    return S3Request::complete(key_, id_, parts_, crc);
  }
  /// Returns the request that ends the upload without an object.
  [[nodiscard]] auto abort() const -> S3Request { return S3Request::abort(key_, id_); }

 private:
  std::string key_;
  std::string nonce_;
  std::string id_;
  std::vector<S3Part> parts_;
  std::uint64_t bytes_ = 0;
};

}  // namespace v0
}  // namespace distrib
