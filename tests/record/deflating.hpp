// SPDX-License-Identifier: Apache-2.0
// What every model of Inflates and Deflates must pass: the tests of each library call these functions.
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/record/compression.hpp>
#include <distrib/record/error.hpp>

#include "record/files.hpp"
#include "support/catch.hpp"

#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace support {

using distrib::Compression;
using Flush = distrib::DeflateOptions::Flush;

/// Returns everything that `text` is compressed to, taken out `step` bytes at a time.
template <class Deflater>
auto deflated(Deflater& deflater, std::string_view text, Flush flush, std::size_t step = 1000) -> std::string {
  distrib::ByteView in = distrib::as_bytes(text);
  std::vector<std::byte> out(step);
  std::string result;
  while (true) {
    const std::size_t count = deflater.deflate(in, out, flush);
    result += distrib::as_text(distrib::ByteView{out}.first(count));
    if (count < step) return result;
  }
}

template <class Deflater>
auto deflated(Compression compression, std::string_view text, const distrib::DeflateOptions& options = {})
    -> std::string {
  Deflater deflater{compression, options};
  return deflated(deflater, text, Flush::finish);
}

struct Inflated {
  std::string text;
  std::error_code ec;
  bool complete = false;
};

/// Inflates `bytes`, put in by `in_step` bytes and taken out by `out_step` bytes.
template <class Inflater>
auto inflated(Compression compression, std::string_view bytes, std::size_t in_step = 1 << 20,
              std::size_t out_step = 1 << 20) -> Inflated {
  Inflater inflater{compression};
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

/// Compresses and inflates at every level.
template <class Deflater, class Inflater>
void check_levels() {
  const std::string text = std::string(100'000, 'x') + noise(50'000) + "the end";
  for (const Compression compression : {Compression::gzip, Compression::zlib})
    for (int level = -1; level <= 9; ++level) {
      CAPTURE(static_cast<int>(compression), level);
      const Inflated result = inflated<Inflater>(compression, deflated<Deflater>(compression, text, {.level = level}));
      CHECK_FALSE(result.ec);
      CHECK((result.text == text));
      CHECK(result.complete);
    }
}

template <class Deflater, class Inflater>
void check_cuts() {
  const std::string text = std::string(500, 'x') + noise(300);
  for (const Compression compression : {Compression::gzip, Compression::zlib}) {
    const std::string bytes = deflated<Deflater>(compression, text);
    for (const std::size_t in_step : {1U, 2U, 7U, 1000U})
      for (const std::size_t out_step : {1U, 3U, 800U, 801U}) {
        CAPTURE(in_step, out_step);
        const Inflated result = inflated<Inflater>(compression, bytes, in_step, out_step);
        CHECK(result.text == text);
        CHECK(result.complete);
      }
  }
}

template <class Deflater, class Inflater>
void check_members() {
  const auto member = [](std::string_view text) { return deflated<Deflater>(Compression::gzip, text); };
  const std::string bytes = member("one,") + member("") + member("two,") + member("three");
  for (const std::size_t in_step : {1U, 5U, 1000U})
    for (const std::size_t out_step : {1U, 2U, 13U, 1000U}) {
      CAPTURE(in_step, out_step);
      const Inflated result = inflated<Inflater>(Compression::gzip, bytes, in_step, out_step);
      CHECK_FALSE(result.ec);
      CHECK(result.text == "one,two,three");
      CHECK(result.complete);
    }
}

/// Headers with every field that RFC 1952 allows, as gzip(1) and other programs write them.
template <class Deflater, class Inflater>
void check_headers() {
  using namespace std::string_literals;
  const auto member = [](std::string_view text) { return deflated<Deflater>(Compression::gzip, text); };
  const std::string plain = member("one,");
  std::string bytes;
  for (const auto& [flags, fields] : {std::pair{'\x04', "\x05\0abcde"s}, std::pair{'\x08', "a name\0"s},
                                      std::pair{'\x10', "a comment\0"s}, std::pair{'\x1c', "\x02\0..name\0comment\0"s}})
    bytes += plain.substr(0, 3) + flags + plain.substr(4, 6) + fields + plain.substr(10);
  for (const std::size_t in_step : {1U, 3U, 1000U}) {
    CAPTURE(in_step);
    const Inflated result = inflated<Inflater>(Compression::gzip, bytes, in_step, 7);
    CHECK_FALSE(result.ec);
    CHECK(result.text == "one,one,one,one,");
    CHECK(result.complete);
  }
}

template <class Deflater, class Inflater>
void check_damage() {
  for (const Compression compression : {Compression::gzip, Compression::zlib}) {
    const std::string good = deflated<Deflater>(compression, "hello world");
    CHECK(inflated<Inflater>(compression, good + "rubbish, and more of it").ec ==
          distrib::record_errc::corrupt_compression);
    CHECK(inflated<Inflater>(compression, "rubbish, and more of it").ec == distrib::record_errc::corrupt_compression);
    std::string bad = good;
    bad.back() = static_cast<char>(bad.back() ^ 1);  // in the trailer
    CHECK(inflated<Inflater>(compression, bad).ec == distrib::record_errc::corrupt_compression);
    for (std::size_t cut = 0; cut < good.size(); ++cut) {
      CAPTURE(cut);
      const Inflated result = inflated<Inflater>(compression, good.substr(0, cut));
      CHECK_FALSE(result.ec);
      CHECK_FALSE(result.complete);
    }
  }
  const std::string zlib = deflated<Deflater>(Compression::zlib, "one");
  CHECK(inflated<Inflater>(Compression::zlib, zlib + zlib).ec == distrib::record_errc::corrupt_compression);
}

/// A text with a flipped bit is never inflated to a whole but wrong text.
template <class Deflater, class Inflater>
void check_flips() {
  const std::string text = std::string(40, 'x') + noise(60) + std::string(40, 'y');
  for (const Compression compression : {Compression::gzip, Compression::zlib}) {
    std::string bytes = deflated<Deflater>(compression, text);
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      CAPTURE(static_cast<int>(compression), bit);
      const auto flip = [&] { bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8))); };
      flip();
      const Inflated result = inflated<Inflater>(compression, bytes, 64, 50);
      CHECK((result.ec || !result.complete || result.text == text));
      flip();
    }
  }
}

template <class Deflater, class Inflater>
void check_sync() {
  for (const std::size_t step : {7U, 1000U}) {
    CAPTURE(step);
    Deflater deflater{Compression::gzip, {}};
    std::string bytes = deflated(deflater, "hello ", Flush::sync, step);
    CHECK(inflated<Inflater>(Compression::gzip, bytes).text == "hello ");
    bytes += deflated(deflater, "world", Flush::none, step);
    bytes += deflated(deflater, "", Flush::finish, step);
    CHECK(inflated<Inflater>(Compression::gzip, bytes).text == "hello world");
    CHECK(inflated<Inflater>(Compression::gzip, bytes).complete);
  }
}

/// One object makes several members, with the shortest header and the same options.
template <class Deflater, class Inflater>
void check_reset() {
  for (const int level : {0, 1, 3}) {
    Deflater deflater{Compression::gzip, {.level = level}};
    const std::string text = std::string(3000, 'x') + noise(3000);
    std::string all;
    for (int i = 0; i < 3; ++i) {
      const std::string one = deflated(deflater, text, Flush::finish, 500);
      CHECK((one == deflated<Deflater>(Compression::gzip, text, {.level = level})));
      CHECK((one.substr(0, 8) == std::string("\x1f\x8b\x08\0\0\0\0\0", 8)));
      all += one;
      deflater.reset();
    }
    CHECK((inflated<Inflater>(Compression::gzip, all).text == text + text + text));
  }
}

template <class Deflater, class Inflater>
void check_all() {
  SECTION("compressing and inflating, at every level") { check_levels<Deflater, Inflater>(); }
  SECTION("the sizes of the pieces do not matter") { check_cuts<Deflater, Inflater>(); }
  SECTION("several gzip members are one stream") { check_members<Deflater, Inflater>(); }
  SECTION("gzip headers with all fields") { check_headers<Deflater, Inflater>(); }
  SECTION("damage, and bytes after the end") { check_damage<Deflater, Inflater>(); }
  SECTION("flipped bits") { check_flips<Deflater, Inflater>(); }
  SECTION("after a sync flush all bytes so far can be inflated") { check_sync<Deflater, Inflater>(); }
  SECTION("one object makes several members") { check_reset<Deflater, Inflater>(); }
}

}  // namespace support
