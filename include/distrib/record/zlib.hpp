// SPDX-License-Identifier: Apache-2.0
// The only header that includes zlib.
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

/// Returns the window bits that zlib expects for a window of `bits`: for gzip, 16 more.
[[nodiscard]] inline auto zlib_window_bits(Compression compression, int bits) noexcept -> int {
  return compression == Compression::gzip ? bits + 16 : bits;
}

/// Inflates bytes that arrive in pieces: a gzip file (all its members, one after another), or one zlib stream. A model
/// of `Inflates`. Uses about 40 KiB, however long the input is. Movable.
///
/// Threads: one at a time.
class Inflater {
 public:
  /// `compression` is gzip or zlib. Throws `std::bad_alloc`.
  explicit Inflater(Compression compression) : stream_{new z_stream{}}, compression_{compression} {
    if (::inflateInit2(stream_.get(), zlib_window_bits(compression, 15)) != Z_OK) throw std::bad_alloc{};
  }

  /// Removes the bytes that it uses from the front of `in`, writes what they inflate to, and returns how many bytes it
  /// wrote. If that is less than all of `out`, all of `in` is used. On damage, and at bytes after the end of a zlib
  /// stream, sets `ec` to `record_errc::corrupt_compression`; the object must not be used after that. Otherwise clears
  /// `ec`. Throws `std::bad_alloc`.
  DISTRIB_DECL auto inflate(ByteView& in, std::span<std::byte> out, std::error_code& ec) -> std::size_t;

  /// True if the bytes so far end exactly where a stream or a member ends, and its trailer matched.
  [[nodiscard]] auto complete() const noexcept -> bool { return complete_; }

 private:
  struct End {
    void operator()(z_stream* stream) const noexcept {
      ::inflateEnd(stream);
      delete stream;
    }
  };
  std::unique_ptr<z_stream, End> stream_;  // on the heap, because zlib keeps a pointer to it
  Compression compression_;
  bool complete_ = false;
};

/// Deflates bytes that arrive in pieces into gzip members or a zlib stream. A model of `Deflates`. Movable.
///
/// Threads: one at a time.
class Deflater {
 public:
  /// `compression` is gzip or zlib; `options` must be ones that `check_options` accepts. Throws `std::bad_alloc`.
  explicit Deflater(Compression compression, const DeflateOptions& options = {}) : stream_{new z_stream{}} {
    assert(!check_options(options));
    if (::deflateInit2(stream_.get(), options.level, deflate_method, zlib_window_bits(compression, options.window_bits),
                       options.memory_level, static_cast<int>(options.strategy)) != Z_OK)
      throw std::bad_alloc{};
  }

  /// Removes the bytes that it uses from the front of `in`, writes their compressed form, and returns how many bytes it
  /// wrote. If it filled all of `out`, call it again with the same `flush`; otherwise all of `in` is used and the flush
  /// is done. Cannot fail.
  DISTRIB_DECL auto deflate(ByteView& in, std::span<std::byte> out, DeflateOptions::Flush flush) noexcept
      -> std::size_t;

  /// Begins another member or stream, with the same options.
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
