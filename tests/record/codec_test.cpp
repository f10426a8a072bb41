// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/codec.hpp>

#include <distrib/core/error.hpp>
#include <distrib/record/error.hpp>

#include "record/files.hpp"
#include "support/catch.hpp"

using distrib::Compression;

TEST_CASE("detect_compression: decides by content", "[record][compression]") {
  struct Row {
    std::string head;
    Compression expected;
  };
  const Row rows[] = {
      {"", Compression::none},
      {"\x1f", Compression::none},
      {"\x1f\x8b", Compression::gzip},
      {"\x78\x01", Compression::zlib},
      {"\x78\x9c", Compression::zlib},
      {"\x78\xda", Compression::zlib},
      {"\x48\x89", Compression::zlib},  // a window of 4 KiB
      {"\x78\x9d", Compression::none},  // wrong check bits
      {"\x78\xbb", Compression::none},  // needs a dictionary
      {"\x88\x1c", Compression::none},  // a window that does not exist
      {"neither of them", Compression::none},
      {support::header_of(0x8B1F), Compression::none},  // a length that begins like gzip
      {support::header_of(0x0178), Compression::none},  // a length that begins like zlib
      {support::read_file(support::fixture("example.tfrecord")), Compression::none},
      {support::read_file(support::fixture("example.tfrecord.gz")), Compression::gzip},
      {support::read_file(support::fixture("example.tfrecord.zlib")), Compression::zlib},
      {support::read_file(support::fixture("odd.tfrecord.gz")), Compression::gzip},
      {support::read_file(support::fixture("odd.tfrecord.deflate")), Compression::zlib},
  };
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    CAPTURE(i);
    CHECK(distrib::detect_compression(distrib::as_bytes(rows[i].head)) == rows[i].expected);
  }
}

TEST_CASE("parse_compression: accepts TensorFlow's names only", "[record][compression]") {
  for (const Compression compression : {Compression::none, Compression::gzip, Compression::zlib})
    CHECK(distrib::parse_compression(distrib::compression_name(compression)) == compression);
  CHECK(distrib::compression_name(Compression::none).empty());
  CHECK(distrib::parse_compression("GZIP") == Compression::gzip);
  CHECK(distrib::parse_compression("ZLIB") == Compression::zlib);
  for (const char* name : {"gzip", "zlib", "BZ2", "SNAPPY", "NONE", " GZIP", "GZIP\n", "1"}) {
    CAPTURE(name);
    std::error_code ec;
    CHECK(distrib::parse_compression(name, ec) == Compression::none);
    CHECK(ec == distrib::record_errc::unknown_compression);
    CHECK(ec == distrib::failure::invalid_argument);
  }
  CHECK_THROWS_WITH(distrib::parse_compression("BZ2"),
                    ContainsSubstring("compression \"BZ2\": not a valid compression"));
}

TEST_CASE("DeflateOptions: TensorFlow's defaults, and values that are refused", "[record][compression]") {
  using distrib::DeflateOptions;
  const DeflateOptions defaults;
  CHECK(defaults.level == -1);
  CHECK(defaults.memory_level == 9);
  CHECK(defaults.window_bits == 15);
  CHECK(static_cast<int>(defaults.strategy) == 0);
  CHECK(defaults.flush == distrib::DeflateOptions::Flush::none);
  for (const DeflateOptions& good :
       {defaults, DeflateOptions{0, 1, 9, distrib::DeflateOptions::Strategy::filtered}, DeflateOptions{.level = 9},
        DeflateOptions{.flush = distrib::DeflateOptions::Flush::sync}})
    CHECK_FALSE(distrib::check_options(good));
  for (const int level : {-2, 10}) CHECK(distrib::check_options({.level = level}) == distrib::record_errc::bad_level);
  for (const DeflateOptions& bad : {DeflateOptions{.memory_level = 0}, DeflateOptions{.memory_level = 10},
                                    DeflateOptions{.window_bits = 8}, DeflateOptions{.window_bits = 31},
                                    DeflateOptions{.strategy = static_cast<distrib::DeflateOptions::Strategy>(5)},
                                    DeflateOptions{.strategy = static_cast<distrib::DeflateOptions::Strategy>(-1)},
                                    DeflateOptions{.flush = distrib::DeflateOptions::Flush::finish}})
    CHECK(distrib::check_options(bad) == distrib::record_errc::bad_deflate_option);
}
