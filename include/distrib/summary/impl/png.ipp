// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/summary/png.hpp>

#include <distrib/record/compression.hpp>
#include <distrib/record/zlib.hpp>

#include <array>
#include <cassert>
#include <span>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL void append_be(std::vector<std::byte>& to, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) to.push_back(static_cast<std::byte>(value >> shift));
}

// Appends a chunk: length, type, content, and the CRC-32 of type and content.
DISTRIB_DECL void append_png_chunk(std::vector<std::byte>& to, std::string_view type, ByteView content) {
  append_be(to, static_cast<std::uint32_t>(content.size()));
  const std::size_t start = to.size();
  const ByteView name = as_bytes(type);
  to.insert(to.end(), name.begin(), name.end());
  to.insert(to.end(), content.begin(), content.end());
  append_be(to, static_cast<std::uint32_t>(
                    ::crc32_z(0, reinterpret_cast<const Bytef*>(to.data() + start), to.size() - start)));
}

}  // namespace detail

DISTRIB_DECL auto encode_png(ByteView pixels, std::uint32_t height, std::uint32_t width, std::uint32_t channels)
    -> std::vector<std::byte> {
  const std::size_t row_bytes = std::size_t{width} * channels;
  assert(channels >= 1 && channels <= 4 && height > 0 && width > 0);
  assert(pixels.size() == height * row_bytes);
  std::vector<std::byte> rows;
  for (; !pixels.empty(); pixels = pixels.subspan(row_bytes)) {
    rows.push_back(std::byte{0});  // filter type 0 of the row: none
    rows.insert(rows.end(), pixels.begin(), pixels.begin() + static_cast<std::ptrdiff_t>(row_bytes));
  }
  std::vector<std::byte> deflated(rows.size() + rows.size() / 1000 + 64);
  ByteView in{rows};
  Deflater deflater{Compression::zlib};
  std::size_t written = 0;
  for (;;) {
    written += deflater.deflate(in, std::span{deflated}.subspan(written), DeflateOptions::Flush::finish);
    if (written < deflated.size()) break;
    deflated.resize(2 * deflated.size());
  }
  deflated.resize(written);

  constexpr std::array<std::byte, 5> colour_types{{{}, std::byte{0}, std::byte{4}, std::byte{2}, std::byte{6}}};
  std::vector<std::byte> header;
  detail::append_be(header, width);
  detail::append_be(header, height);
  header.insert(header.end(), {std::byte{8}, colour_types[channels], {}, {}, {}});

  std::vector<std::byte> png;
  detail::append_be(png, 0x89504e47);
  detail::append_be(png, 0x0d0a1a0a);
  detail::append_png_chunk(png, "IHDR", header);
  detail::append_png_chunk(png, "IDAT", deflated);
  detail::append_png_chunk(png, "IEND", {});
  return png;
}

}  // namespace v0
}  // namespace distrib
