// SPDX-License-Identifier: Apache-2.0
// The only header that includes ISA-L. Compared with zlib, ISA-L inflates about twice as fast, and deflates several
// times as fast, but to a larger size. An optional component: no facade includes this header; link distrib::isal.
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/record/codec.hpp>
#include <distrib/record/compression.hpp>
#include <distrib/record/error.hpp>

#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <system_error>

namespace distrib {
inline namespace v0 {

namespace detail {

/// Points a stream at `in` and `out`, at most at as many bytes of each as its 32-bit counters hold.
template <class Stream>
void offer_isal(Stream& stream, ByteView in, std::span<std::byte> out) noexcept {
  constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();
  stream.next_in = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(in.data()));
  stream.avail_in = static_cast<std::uint32_t>(std::min(in.size(), most));
  stream.next_out = reinterpret_cast<std::uint8_t*>(out.data());
  stream.avail_out = static_cast<std::uint32_t>(std::min(out.size(), most));
}

}  // namespace detail

/// Inflates gzip or zlib bytes that arrive in pieces, as `Inflater` does. A model of `Inflates`. Uses about 100 KiB,
/// however long the input is. Movable. `BasicRecordReader<IsalInflater>` is a reader that uses it.
///
/// Threads: one at a time.
class IsalInflater {
 public:
  /// `compression` is gzip or zlib. Throws `std::bad_alloc`.
  explicit IsalInflater(Compression compression)
      : state_{std::make_unique_for_overwrite<inflate_state>()}, compression_{compression} {
    ::isal_inflate_init(state_.get());
    begin();
  }

  /// See `Inflates`. On damage, and at bytes after the end of a zlib stream, sets `ec` to
  /// `record_errc::corrupt_compression`; the object must not be used after that.
  auto inflate(ByteView& in, std::span<std::byte> out, std::error_code& ec) -> std::size_t {
    ec.clear();
    std::size_t written = 0;
    while (written < out.size()) {
      if (complete_) {
        if (in.empty()) return written;
        if (compression_ == Compression::zlib) {
          ec = record_errc::corrupt_compression;
          return written;
        }
        ::isal_inflate_reset(state_.get());
        begin();
      }
      detail::offer_isal(*state_, in, out.subspan(written));
      const std::uint32_t offered_in = state_->avail_in;
      const std::uint32_t offered_out = state_->avail_out;
      const int result = in_header_ ? ::isal_read_gzip_header(state_.get(), &header_) : ::isal_inflate(state_.get());
      const std::size_t made = offered_out - state_->avail_out;
      written += made;
      if (result != ISAL_DECOMP_OK && result != ISAL_END_INPUT) {
        // `in` stays: at damage ISA-L may give back bytes of earlier calls, more than it was offered in this one.
        ec = record_errc::corrupt_compression;
        return written;
      }
      in = in.subspan(offered_in - state_->avail_in);
      complete_ = !in_header_ && state_->block_state == ISAL_BLOCK_FINISH;
      if (result == ISAL_DECOMP_OK) in_header_ = false;
      if (!complete_ && in.empty() && made < offered_out) return written;
    }
    return written;
  }

  /// True if the bytes so far end exactly where a stream or a member ends, and its trailer matched.
  [[nodiscard]] auto complete() const noexcept -> bool { return complete_; }

 private:
  /// Begins a stream or a member. A gzip header is read by a call of its own: without it, ISA-L forgets what it has
  /// read of a header that arrives in pieces.
  void begin() noexcept {
    in_header_ = compression_ == Compression::gzip;
    state_->crc_flag = in_header_ ? ISAL_GZIP_NO_HDR_VER : ISAL_ZLIB;
    ::isal_gzip_header_init(&header_);
    complete_ = false;
  }

  std::unique_ptr<inflate_state> state_;
  isal_gzip_header header_{};
  Compression compression_;
  bool in_header_ = false;
  bool complete_ = false;
};

/// Deflates bytes that arrive in pieces into gzip members or a zlib stream, as `Deflater` does. A model of `Deflates`.
/// ISA-L has the levels 0 .. 3: a `DeflateOptions::level` of -1 means 1, and levels above 3 mean 3. `memory_level` and
/// `strategy` have no effect. Movable. `BasicRecordWriter<IsalDeflater>` is a writer that uses it.
///
/// Threads: one at a time.
class IsalDeflater {
 public:
  /// `compression` is gzip or zlib; `options` must be ones that `check_options` accepts. Throws `std::bad_alloc`.
  explicit IsalDeflater(Compression compression, const DeflateOptions& options = {})
      : stream_{std::make_unique_for_overwrite<isal_zstream>()}, compression_{compression} {
    assert(!check_options(options));
    constexpr std::uint32_t sizes[] = {ISAL_DEF_LVL0_DEFAULT, ISAL_DEF_LVL1_DEFAULT, ISAL_DEF_LVL2_DEFAULT,
                                       ISAL_DEF_LVL3_DEFAULT};
    const int level = options.level < 0 ? 1 : std::min(options.level, 3);
    ::isal_deflate_init(stream_.get());
    stream_->level = static_cast<std::uint32_t>(level);
    stream_->level_buf_size = sizes[level];
    if (level != 0) memory_ = std::make_unique_for_overwrite<std::uint8_t[]>(stream_->level_buf_size);
    stream_->level_buf = memory_.get();
    wrap();
    stream_->hist_bits = static_cast<std::uint16_t>(options.window_bits);
  }

  /// See `Deflates`.
  auto deflate(ByteView& in, std::span<std::byte> out, DeflateOptions::Flush flush) noexcept -> std::size_t {
    std::size_t written = 0;
    while (written < out.size() && stream_->internal_state.state != ZSTATE_END) {
      detail::offer_isal(*stream_, in, out.subspan(written));
      const std::uint32_t offered_in = stream_->avail_in;
      const std::uint32_t offered_out = stream_->avail_out;
      const bool last_piece = offered_in == in.size();
      stream_->end_of_stream = last_piece && flush == DeflateOptions::Flush::finish;
      stream_->flush = last_piece && flush == DeflateOptions::Flush::sync ? SYNC_FLUSH : NO_FLUSH;
      ::isal_deflate(stream_.get());
      in = in.subspan(offered_in - stream_->avail_in);
      written += offered_out - stream_->avail_out;
      if (last_piece && stream_->avail_out != 0) break;
    }
    return written;
  }

  /// Begins another member or stream, with the same options.
  void reset() noexcept {
    ::isal_deflate_reset(stream_.get());
    wrap();  // ISA-L has cleared the flag when it wrote the header
  }

 private:
  void wrap() noexcept { stream_->gzip_flag = compression_ == Compression::gzip ? IGZIP_GZIP : IGZIP_ZLIB; }

  std::unique_ptr<isal_zstream> stream_;
  Compression compression_;
  std::unique_ptr<std::uint8_t[]> memory_;  // working memory that the level needs
};

}  // namespace v0
}  // namespace distrib
