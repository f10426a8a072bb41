// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/record/compression.hpp>
#include <distrib/core/detail/files.hpp>
#include <distrib/record/error.hpp>
#include <distrib/record/zlib.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib::inline v0::detail {

/// The bytes of a file, inflated where its first bytes say so, read in pieces of 256 KiB into a buffer that grows with
/// what really arrives, so that a length that lies costs nothing. One thread at a time.
class RecordStream {
 public:
  static constexpr std::size_t piece_bytes = 256 << 10;

  /// Opens `path`; reads nothing yet.
  RecordStream(const std::string& path, std::error_code& ec) : file_{path, O_RDONLY, ec} {}

  /// Makes `window`, what the caller has not used of the bytes it got, at least `wanted` bytes long, by moving it to
  /// the front of the buffer and reading behind it. False: that many do not come; `window` is all there is, and
  /// `error()` is empty if the file simply ends.
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

  /// Whether the file turned out to be compressed; false before the first `fill`.
  [[nodiscard]] auto inflates() const noexcept -> bool { return inflater_.has_value(); }

  /// What ended the stream early.
  [[nodiscard]] auto error() const noexcept -> const std::error_code& { return error_; }

 private:
  /// Writes what comes next, at least a byte unless the end or a failure is reached.
  auto read(std::span<std::byte> to) -> std::size_t {
    if (!started_) return start(to);
    if (!inflater_) {
      const std::size_t count = file_.read(to, error_);
      ended_ = count == 0;
      return count;
    }
    while (true) {
      const std::size_t count = inflater_->inflate(raw_, to, error_);
      if (error_) ended_ = true;
      if (count != 0 || ended_) return count;
      raw_ = ByteView{raw_buffer_}.first(file_.read(raw_buffer_, error_));
      if (!raw_.empty()) continue;
      ended_ = true;
      if (!error_ && !inflater_->complete()) error_ = record_errc::truncated_compression;
      return 0;
    }
  }

  /// The first bytes decide whether there is anything to inflate.
  auto start(std::span<std::byte> to) -> std::size_t {
    started_ = true;
    std::size_t filled = 0;
    while (filled < detection_bytes && !ended_) {
      const std::size_t count = file_.read(to.subspan(filled), error_);
      filled += count;
      ended_ = count == 0;
    }
    const ByteView head{to.first(filled)};
    const Compression compression = detect_compression(head.first(std::min(filled, detection_bytes)));
    if (compression == Compression::none) return filled;
    raw_buffer_.resize(std::max(filled, piece_bytes));
    std::copy(head.begin(), head.end(), raw_buffer_.begin());
    raw_ = ByteView{raw_buffer_}.first(filled);
    inflater_.emplace(compression);
    ended_ = static_cast<bool>(error_);
    return ended_ ? 0 : read(to);
  }

  FileDescriptor file_;
  std::vector<std::byte> buffer_;
  std::vector<std::byte> raw_buffer_;  // compressed bytes; empty without compression
  ByteView raw_;                       // those not inflated yet
  std::optional<Inflater> inflater_;
  std::error_code error_;
  bool started_ = false;
  bool ended_ = false;
};

}  // namespace distrib::inline v0::detail
