// SPDX-License-Identifier: Apache-2.0
// The only door to zlib.
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/record/compression.hpp>
#include <distrib/record/error.hpp>

#include <zlib.h>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// Window bits as zlib counts them, of a window of `bits`: "with a gzip header" is 16 more.
[[nodiscard]] inline auto zlib_window_bits(Compression compression, int bits) noexcept -> int {
  return compression == Compression::gzip ? bits + 16 : bits;
}

namespace detail {

/// Offers `in` and `out` to a stream, as much as its 32-bit counters hold.
inline void offer(z_stream& stream, ByteView in, std::span<std::byte> out) noexcept {
  constexpr std::size_t most = std::numeric_limits<uInt>::max();
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(in.data()));
  stream.avail_in = static_cast<uInt>(std::min(in.size(), most));
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(std::min(out.size(), most));
}

}  // namespace detail

/// Inflates gzip (all members that follow each other) or zlib bytes that come in pieces (concept `Inflates`). Holds about
/// 40 KiB, whatever comes in. Movable; one thread at a time.
class Inflater {
 public:
  /// `compression` is gzip or zlib. Throws `std::bad_alloc`.
  explicit Inflater(Compression compression) : stream_{new z_stream{}}, compression_{compression} {
    if (::inflateInit2(stream_.get(), zlib_window_bits(compression, 15)) != Z_OK) throw std::bad_alloc{};
  }

  /// Takes bytes off the front of `in` and writes what they inflate to; returns how many bytes were written. Less than
  /// `out` means that `in` is used up. Failure: `record_errc::corrupt_compression`, and the object is of no more use.
  auto inflate(ByteView& in, std::span<std::byte> out, std::error_code& ec) -> std::size_t {
    ec.clear();
    std::size_t written = 0;
    while (written < out.size()) {
      if (complete_ && !in.empty()) {
        if (compression_ == Compression::zlib || ::inflateReset(stream_.get()) != Z_OK) {
          ec = record_errc::corrupt_compression;
          return written;
        }
        complete_ = false;
      }
      if (complete_) return written;
      detail::offer(*stream_, in, out.subspan(written));
      const uInt offered_in = stream_->avail_in;
      const uInt offered_out = stream_->avail_out;
      const int result = ::inflate(stream_.get(), Z_NO_FLUSH);
      in = in.subspan(offered_in - stream_->avail_in);
      written += offered_out - stream_->avail_out;
      if (result == Z_STREAM_END) {
        complete_ = true;
      } else if (result == Z_BUF_ERROR) {  // no progress possible: more input is wanted
        return written;
      } else if (result != Z_OK) {
        if (result == Z_MEM_ERROR) throw std::bad_alloc{};
        ec = record_errc::corrupt_compression;
        return written;
      }
    }
    return written;
  }

  /// Whether the bytes so far end exactly where a stream or a member ends, with a trailer that matched.
  [[nodiscard]] auto complete() const noexcept -> bool { return complete_; }

 private:
  struct End {
    void operator()(z_stream* stream) const noexcept {
      ::inflateEnd(stream);
      delete stream;
    }
  };
  std::unique_ptr<z_stream, End> stream_;  // on the heap: zlib keeps a pointer back to it
  Compression compression_;
  bool complete_ = false;
};

/// Deflates bytes that come in pieces into gzip members or a zlib stream (concept `Deflates`). Movable; one thread at a
/// time.
class Deflater {
 public:
  /// `compression` is gzip or zlib; the options are ones that `check_options` lets pass. Throws `std::bad_alloc`.
  explicit Deflater(Compression compression, const DeflateOptions& options = {}) : stream_{new z_stream{}} {
    assert(!check_options(options));
    if (::deflateInit2(stream_.get(), options.level, deflate_method, zlib_window_bits(compression, options.window_bits),
                       options.memory_level, static_cast<int>(options.strategy)) != Z_OK)
      throw std::bad_alloc{};
  }

  /// Takes bytes off the front of `in` and writes what comes out; returns how many bytes were written. When that is
  /// all of `out`, call again with the same `flush`; else `in` is used up and `flush` is done. Cannot fail.
  auto deflate(ByteView& in, std::span<std::byte> out, DeflateFlush flush) noexcept -> std::size_t {
    constexpr int flushes[] = {Z_NO_FLUSH, Z_SYNC_FLUSH, Z_FINISH};
    std::size_t written = 0;
    while (written < out.size()) {
      detail::offer(*stream_, in, out.subspan(written));
      const uInt offered_in = stream_->avail_in;
      const uInt offered_out = stream_->avail_out;
      const bool last_piece = offered_in == in.size();
      ::deflate(stream_.get(), last_piece ? flushes[static_cast<int>(flush)] : Z_NO_FLUSH);
      in = in.subspan(offered_in - stream_->avail_in);
      written += offered_out - stream_->avail_out;
      if (last_piece && stream_->avail_out != 0) break;
    }
    return written;
  }

  /// Begins another member or stream.
  void reset() noexcept { ::deflateReset(stream_.get()); }

 private:
  struct End {
    void operator()(z_stream* stream) const noexcept {
      ::deflateEnd(stream);
      delete stream;
    }
  };
  std::unique_ptr<z_stream, End> stream_;
};

}  // namespace v0
}  // namespace distrib
