// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/record/zlib.hpp>

#include <distrib/record/error.hpp>

#include <algorithm>
#include <limits>

namespace distrib {
inline namespace v0 {
namespace detail {

// Points a stream at `in` and `out`, at most at as many bytes of each as its 32-bit counters hold.
DISTRIB_DECL void offer(z_stream& stream, ByteView in, std::span<std::byte> out) noexcept {
  constexpr std::size_t most = std::numeric_limits<uInt>::max();
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(in.data()));
  stream.avail_in = static_cast<uInt>(std::min(in.size(), most));
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(std::min(out.size(), most));
}

}  // namespace detail

DISTRIB_DECL auto Inflater::inflate(ByteView& in, std::span<std::byte> out, std::error_code& ec) -> std::size_t {
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
    } else if (result == Z_BUF_ERROR) {  // no progress without more input
      return written;
    } else if (result != Z_OK) {
      if (result == Z_MEM_ERROR) throw std::bad_alloc{};
      ec = record_errc::corrupt_compression;
      return written;
    }
  }
  return written;
}

DISTRIB_DECL auto Deflater::deflate(ByteView& in, std::span<std::byte> out, DeflateOptions::Flush flush) noexcept
    -> std::size_t {
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

}  // namespace v0
}  // namespace distrib
