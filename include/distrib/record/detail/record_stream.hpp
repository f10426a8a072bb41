// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/file_descriptor.hpp>
#include <distrib/record/any_byte_source.hpp>
#include <distrib/record/byte_source.hpp>
#include <distrib/record/codec.hpp>
#include <distrib/record/compression.hpp>
#include <distrib/record/error.hpp>
#include <distrib/record/gzip_members.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The bytes of a file, inflated if its first bytes show that it is compressed, unless it is to be read as it is. They
/// are read in pieces of 256 KiB into a buffer that grows only with bytes that really arrive, so that a false length
/// costs no memory. One thread at a time.
///
/// If a gzip member announces its size, the inflater gets that many bytes and no more, so that damage in one member
/// does not use up the beginning of the next.
template <Inflates I> class RecordStream {
 public:
  static constexpr std::size_t piece_bytes = 256 << 10;

  /// Opens `path`; reads nothing yet. `plain`: the bytes are not inflated, whatever they are.
  RecordStream(const std::string& path, bool plain, std::error_code& ec) : file_{path, O_RDONLY, ec}, plain_{plain} {}

  /// Reads from `source` instead of a file.
  RecordStream(AnyByteSource source, bool plain) : source_{std::move(source)}, plain_{plain} {}

  /// Makes `window` at least `wanted` bytes long. `window` must hold the bytes of this stream that the caller has not
  /// used yet: they move to the front of the buffer, and more are read behind them. Returns false if the stream ends
  /// before that: `window` is then all that is left, and `error()` is empty if the file simply ended.
  [[nodiscard]] auto fill(ByteView& window, std::size_t wanted) -> bool {
    std::size_t filled = window.size();
    if (filled != 0 && window.data() != buffer_.data()) std::memmove(buffer_.data(), window.data(), filled);
    while (filled < wanted && !ended_) {
      if (filled == buffer_.size()) buffer_.resize(std::max(2 * filled, piece_bytes));
      filled += read(std::span{buffer_}.subspan(filled));
    }
    window = ByteView{buffer_}.first(filled);
    return filled >= wanted;
  }

  /// True if the file is compressed and is inflated; false before the first `fill`.
  [[nodiscard]] auto inflates() const noexcept -> bool { return inflater_.has_value(); }

  /// Returns how the file is compressed, as its content shows; `none` before the first `fill`.
  [[nodiscard]] auto compression() const noexcept -> Compression { return compression_; }

  /// The failure that ended the stream early; empty if there was none.
  [[nodiscard]] auto error() const noexcept -> const std::error_code& { return error_; }

  /// Returns " (which server was asked for what)" if a remote source ended the stream early; otherwise empty.
  [[nodiscard]] auto asked() const -> std::string { return asked_.empty() ? asked_ : " (" + asked_ + ")"; }

  /// Continues after damage in compressed data, at the next member that `RecordWriter` wrote, where a record begins.
  /// The caller must drop its window. Returns false if there is no such member, if the file is not a gzip file, or if
  /// reading fails, which `error()` then says; nothing more can be read then.
  [[nodiscard]] auto resume() -> bool {
    if (!inflater_ || compression_ != Compression::gzip) return false;
    error_.clear();
    do {
      const std::size_t at = find_gzip_member(raw_);
      if (at < raw_.size()) {
        raw_ = raw_.subspan(at);
        inflater_.emplace(compression_);
        border_ = true;
        ended_ = false;
        return true;
      }
      raw_ = raw_.last(std::min(raw_.size(), gzip_member_header_bytes - 1));
    } while (refill());
    ended_ = true;
    return false;
  }

 private:
  static constexpr std::uint64_t unknown = ~std::uint64_t{0};

  /// Writes the next bytes to `to` and returns their number: at least 1; 0 at the end, and after a failure.
  auto read(std::span<std::byte> to) -> std::size_t {
    if (!started_) return start(to);
    if (!inflater_) {
      const std::size_t count = take(to);
      ended_ = count == 0;
      return count;
    }
    while (true) {
      const std::size_t count = inflate(to);
      if (error_) ended_ = true;
      if (count != 0 || ended_) return count;
      if (!raw_.empty() || refill()) continue;
      ended_ = true;
      if (!error_ && !inflater_->complete()) error_ = record_errc::truncated_compression;
      return 0;
    }
  }

  /// Reads the next bytes as they are; returns 0 at the end, and after a failure, which `error_` then holds.
  auto take(std::span<std::byte> to) -> std::size_t {
    if (!source_) return file_.read(to, error_);
    Error error;
    const std::size_t count = source_->read(to, error);
    error_ = error.code;
    asked_ = std::move(error.where);
    return count;
  }

  /// Inflates the raw bytes that were read into `to` and returns how many bytes it wrote. Goes at most to the end of a
  /// member whose size is known.
  auto inflate(std::span<std::byte> to) -> std::size_t {
    if (border_) {
      while (raw_.size() < gzip_member_header_bytes && refill()) {
      }
      if (error_) return 0;
      const std::optional<GzipMember> member = parse_gzip_member(raw_);
      member_left_ = member ? member->size : unknown;
      border_ = false;
    }
    const ByteView offered = raw_.first(static_cast<std::size_t>(std::min<std::uint64_t>(raw_.size(), member_left_)));
    ByteView rest = offered;
    const std::size_t count = inflater_->inflate(rest, to, error_);
    const std::size_t used = offered.size() - rest.size();
    raw_ = raw_.subspan(used);
    if (member_left_ != unknown) member_left_ -= used;
    border_ = compression_ == Compression::gzip && inflater_->complete();
    if (!border_ && member_left_ == 0 && count < to.size() && !error_) error_ = record_errc::corrupt_compression;
    return count;
  }

  /// Reads more raw bytes behind the bytes that are not inflated yet. Returns false at the end, and after a failure.
  auto refill() -> bool {
    if (raw_.data() != raw_buffer_.data()) std::copy(raw_.begin(), raw_.end(), raw_buffer_.begin());
    const std::size_t count = take(std::span{raw_buffer_}.subspan(raw_.size()));
    raw_ = ByteView{raw_buffer_}.first(raw_.size() + count);
    return count != 0;
  }

  /// Reads the first bytes, which decide whether the file is inflated.
  auto start(std::span<std::byte> to) -> std::size_t {
    started_ = true;
    std::size_t filled = 0;
    while (filled < detection_bytes && !ended_) {
      const std::size_t count = take(to.subspan(filled));
      filled += count;
      ended_ = count == 0;
    }
    const ByteView head{to.first(filled)};
    if (!plain_) compression_ = detect_compression(head.first(std::min(filled, detection_bytes)));
    if (compression_ == Compression::none) return filled;
    raw_buffer_.resize(std::max(filled, piece_bytes));
    std::copy(head.begin(), head.end(), raw_buffer_.begin());
    raw_ = ByteView{raw_buffer_}.first(filled);
    inflater_.emplace(compression_);
    border_ = compression_ == Compression::gzip;
    ended_ = static_cast<bool>(error_);
    return ended_ ? 0 : read(to);
  }

  FileDescriptor file_;
  std::optional<AnyByteSource> source_;  // if set: read instead of the file
  bool plain_;
  std::vector<std::byte> buffer_;
  std::vector<std::byte> raw_buffer_;  // compressed bytes; empty without compression
  ByteView raw_;  // bytes of `raw_buffer_` that are not inflated yet
  Compression compression_ = Compression::none;
  std::optional<I> inflater_;
  std::uint64_t member_left_ = unknown;  // bytes of the current member that are not inflated yet
  bool border_ = false;  // the next raw byte begins a member
  std::error_code error_;
  std::string asked_;  // where the source failed
  bool started_ = false;
  bool ended_ = false;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
