// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/hadoop/error.hpp>
#include <distrib/hadoop/writable.hpp>

#include <cstddef>
#include <cstdint>
#include <system_error>

namespace distrib {
inline namespace v0 {
namespace hadoop {

/// Streaming's `-io rawbytes`: each key and each value is an int32 length, big-endian, and that many bytes. A
/// BytesWritable is sent as its bytes. Any other Writable is sent as it serialises itself: a Text begins with a VInt
/// length (see `text_in`), and a LongWritable has 8 bytes.
struct RawBytes {
  /// Reads the next key or value of `reader`; one longer than `most` bytes is `hadoop_errc::too_large`.
  static auto read(WritableReader& reader, std::size_t most) -> ByteView { return reader.long_bytes(most); }

  /// Appends the length and `bytes`.
  static void append(Bytes& to, ByteView bytes) {
    detail::append_big_endian(to, static_cast<std::uint32_t>(bytes.size()));
    detail::append_raw(to, bytes);
  }
};

/// Returns the text of a serialised Text.
///
/// Errors: `hadoop_errc::truncated`, `too_large` or `bad_number` if the bytes are not exactly one Text; the result is
/// then empty.
[[nodiscard]] inline auto text_in(ByteView writable, std::error_code& ec) -> ByteView {
  WritableReader reader{writable};
  const ByteView text = reader.bytes(writable.size());
  ec = reader.error();
  if (!ec && reader.used() != writable.size()) ec = hadoop_errc::bad_number;
  return ec ? ByteView{} : text;
}

/// This overload throws the error as `std::system_error`.
[[nodiscard]] inline auto text_in(ByteView writable) -> ByteView {
  std::error_code ec;
  const ByteView text = text_in(writable, ec);
  if (ec) throw_error(ec, "a Text");
  return text;
}

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib
