// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/compression.hpp>

#include "record/files.hpp"
#include "support/catch.hpp"

using distrib::Compression;

TEST_CASE("detect_compression: by content", "[record][compression]") {
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
      {"\x78\x9d", Compression::none},  // check bits wrong
      {"\x78\xbb", Compression::none},  // wants a dictionary
      {"\x88\x1c", Compression::none},  // a window that does not exist
      {"neither of them", Compression::none},
      {support::header_of(0x8B1F), Compression::none},  // a length that begins like gzip
      {support::header_of(0x0178), Compression::none},  // and one like zlib
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
