// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/zlib.hpp>

#include "record/files.hpp"
#include "support/catch.hpp"

#include <string>
#include <vector>

using distrib::Compression;
using Flush = distrib::Deflater::Flush;

namespace {

/// All that comes out for `text`, fetched `step` bytes at a time.
auto deflated(distrib::Deflater& deflater, std::string_view text, Flush flush, std::size_t step = 1000) -> std::string {
  distrib::ByteView in = distrib::as_bytes(text);
  std::vector<std::byte> out(step);
  std::string result;
  while (true) {
    const std::size_t count = deflater.deflate(in, out, flush);
    result += distrib::as_text(distrib::ByteView{out}.first(count));
    if (count < step) return result;
  }
}

auto deflated(Compression compression, std::string_view text, int level = -1) -> std::string {
  distrib::Deflater deflater{compression, level};
  return deflated(deflater, text, Flush::finish);
}

struct Inflated {
  std::string text;
  std::error_code ec;
  bool complete = false;
};

/// `bytes` put in by pieces of `in_step` and fetched by pieces of `out_step`.
auto inflated(Compression compression, std::string_view bytes, std::size_t in_step = 1 << 20,
              std::size_t out_step = 1 << 20) -> Inflated {
  distrib::Inflater inflater{compression};
  Inflated result;
  std::vector<std::byte> out(out_step);
  for (distrib::ByteView rest = distrib::as_bytes(bytes); !rest.empty() && !result.ec;) {
    distrib::ByteView in = rest.first(std::min(in_step, rest.size()));
    rest = rest.subspan(in.size());
    std::size_t count = out_step;
    while (count == out_step && !result.ec) {
      count = inflater.inflate(in, out, result.ec);
      result.text += distrib::as_text(distrib::ByteView{out}.first(count));
    }
    if (!result.ec) CHECK(in.empty());
  }
  result.complete = inflater.complete();
  return result;
}

}  // namespace

TEST_CASE("Deflater and Inflater: there and back, at every level", "[record][zlib]") {
  const std::string text = std::string(100'000, 'x') + support::noise(50'000) + "the end";
  for (const Compression compression : {Compression::gzip, Compression::zlib})
    for (int level = -1; level <= 9; ++level) {
      const Inflated result = inflated(compression, deflated(compression, text, level));
      CHECK(result.text == text);
      CHECK(result.complete);
    }
}

TEST_CASE("Inflater: how the bytes are cut does not matter", "[record][zlib]") {
  const std::string text = std::string(500, 'x') + support::noise(300);
  for (const Compression compression : {Compression::gzip, Compression::zlib}) {
    const std::string bytes = deflated(compression, text);
    for (const std::size_t in_step : {1U, 2U, 7U, 1000U})
      for (const std::size_t out_step : {1U, 3U, 800U, 801U})
        CHECK(inflated(compression, bytes, in_step, out_step).text == text);
  }
}

TEST_CASE("Inflater: gzip members that follow each other are one stream", "[record][zlib]") {
  const std::string bytes = deflated(Compression::gzip, "one,") + deflated(Compression::gzip, "") +
                            deflated(Compression::gzip, "two,") + deflated(Compression::gzip, "three");
  for (const std::size_t in_step : {1U, 5U, 1000U}) {
    const Inflated result = inflated(Compression::gzip, bytes, in_step, 2);
    CHECK(result.text == "one,two,three");
    CHECK(result.complete);
  }
}

TEST_CASE("Inflater: damage and leftovers", "[record][zlib]") {
  for (const Compression compression : {Compression::gzip, Compression::zlib}) {
    const std::string good = deflated(compression, "hello world");
    CHECK(inflated(compression, good + "rubbish").ec == distrib::record_errc::corrupt_compression);
    CHECK(inflated(compression, "rubbish").ec == distrib::record_errc::corrupt_compression);
    std::string bad = good;
    bad.back() = static_cast<char>(bad.back() ^ 1);  // the trailer
    CHECK(inflated(compression, bad).ec == distrib::record_errc::corrupt_compression);
    for (std::size_t cut = 0; cut < good.size(); ++cut) {
      const Inflated result = inflated(compression, good.substr(0, cut));
      CHECK_FALSE(result.ec);
      CHECK_FALSE(result.complete);
    }
  }
  const std::string zlib = deflated(Compression::zlib, "one");
  CHECK(inflated(Compression::zlib, zlib + zlib).ec == distrib::record_errc::corrupt_compression);
}

TEST_CASE("Deflater: after a sync flush everything can be inflated", "[record][zlib]") {
  for (const std::size_t step : {7U, 1000U}) {
    distrib::Deflater deflater{Compression::gzip, -1};
    std::string bytes = deflated(deflater, "hello ", Flush::sync, step);
    CHECK(inflated(Compression::gzip, bytes).text == "hello ");
    bytes += deflated(deflater, "world", Flush::none, step);
    bytes += deflated(deflater, "", Flush::finish, step);
    CHECK(inflated(Compression::gzip, bytes).text == "hello world");
    CHECK(inflated(Compression::gzip, bytes).complete);
  }
}
