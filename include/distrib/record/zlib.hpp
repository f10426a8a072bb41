// SPDX-License-Identifier: Apache-2.0
// The only door to zlib.
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/record/codec.hpp>
#include <distrib/record/compression.hpp>

#include <zlib.h>

#include <cassert>
#include <cstddef>
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
  DISTRIB_DECL auto inflate(ByteView& in, std::span<std::byte> out, std::error_code& ec) -> std::size_t;

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
  DISTRIB_DECL auto deflate(ByteView& in, std::span<std::byte> out, DeflateOptions::Flush flush) noexcept
      -> std::size_t;

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

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/record/impl/zlib.ipp>
#endif
