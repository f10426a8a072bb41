// SPDX-License-Identifier: Apache-2.0
#include <distrib/summary/png.hpp>

#include <distrib/record/compression.hpp>
#include <distrib/record/zlib.hpp>

#include "summary/summary_bytes.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <system_error>
#include <vector>

namespace {

struct Chunk {
  std::string type;
  distrib::ByteView content;
};

auto be(distrib::ByteView bytes) -> std::uint32_t {
  std::uint32_t value = 0;
  for (const std::byte byte : bytes.first(4)) value = value << 8 | static_cast<std::uint32_t>(byte);
  return value;
}

auto chunks_of(distrib::ByteView png) -> std::vector<Chunk> {
  std::vector<Chunk> chunks;
  for (png = png.subspan(8); !png.empty();) {
    const std::size_t size = be(png);
    const auto named = png.subspan(4, 4 + size);
    CHECK(be(png.subspan(8 + size)) == ::crc32_z(0, reinterpret_cast<const Bytef*>(named.data()), named.size()));
    chunks.push_back({std::string{distrib::as_text(named.first(4))}, named.subspan(4)});
    png = png.subspan(12 + size);
  }
  return chunks;
}

}  // namespace

TEST_CASE("encode_png: header and pixels for each number of channels", "[summary][png]") {
  std::mt19937 chance{7};
  const std::uint32_t height = 40;
  const std::uint32_t width = 301;
  for (const std::uint32_t channels : {1U, 2U, 3U, 4U}) {
    CAPTURE(channels);
    std::vector<std::byte> pixels(std::size_t{height} * width * channels);
    for (std::byte& byte : pixels) byte = static_cast<std::byte>(chance());  // random bytes do not compress
    const auto png = distrib::encode_png(pixels, height, width, channels);
    CHECK(distrib::to_hex(distrib::ByteView{png}.first(8)) == "89504e470d0a1a0a");
    const auto chunks = chunks_of(png);
    REQUIRE(chunks.size() == 3);
    CHECK(chunks[0].type == "IHDR");
    CHECK(distrib::to_hex(chunks[0].content) == "0000012d0000002808" +
                                                    std::string{channels == 1   ? "00"
                                                                : channels == 2 ? "04"
                                                                : channels == 3 ? "02"
                                                                                : "06"} +
                                                    "000000");
    CHECK(chunks[1].type == "IDAT");
    CHECK(chunks[2].type == "IEND");
    CHECK(chunks[2].content.empty());

    distrib::Inflater inflater{distrib::Compression::zlib};
    std::vector<std::byte> rows(pixels.size() + height + 1);
    std::error_code ec;
    distrib::ByteView in = chunks[1].content;
    REQUIRE(inflater.inflate(in, rows, ec) == pixels.size() + height);
    CHECK(inflater.complete());
    const std::size_t row_bytes = std::size_t{width} * channels;
    bool same = true;
    for (std::size_t row = 0; row < height; ++row)
      same = same && rows[row * (row_bytes + 1)] == std::byte{0} &&
             std::equal(pixels.begin() + static_cast<std::ptrdiff_t>(row * row_bytes),
                        pixels.begin() + static_cast<std::ptrdiff_t>((row + 1) * row_bytes),
                        rows.begin() + static_cast<std::ptrdiff_t>(row * (row_bytes + 1) + 1));
    CHECK(same);
  }
}
