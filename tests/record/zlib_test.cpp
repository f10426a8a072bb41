// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/zlib.hpp>

#include <distrib/record/codec.hpp>

#include "record/deflating.hpp"
#include "record/files.hpp"
#include "support/catch.hpp"

#include <string>

using distrib::Compression;
using Strategy = distrib::DeflateOptions::Strategy;

static_assert(distrib::Inflates<distrib::Inflater>);
static_assert(distrib::Deflates<distrib::Deflater>);

TEST_CASE("Deflater and Inflater", "[record][zlib]") { support::check_all<distrib::Deflater, distrib::Inflater>(); }

TEST_CASE("Deflater: works with TensorFlow's options", "[record][zlib]") {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += std::to_string(i * i);
  const distrib::DeflateOptions rows[] = {
      {.memory_level = 1},
      {.window_bits = 9},
      {.strategy = Strategy::huffman_only},
      {.strategy = Strategy::run_length},
      {.strategy = Strategy::fixed},
  };
  for (const distrib::DeflateOptions& options : rows)
    for (const Compression compression : {Compression::gzip, Compression::zlib}) {
      CAPTURE(options.memory_level, options.window_bits, static_cast<int>(options.strategy));
      const std::string bytes = support::deflated<distrib::Deflater>(compression, text, options);
      CHECK((bytes != support::deflated<distrib::Deflater>(compression, text)));
      CHECK((support::inflated<distrib::Inflater>(compression, bytes).text == text));
    }
}
