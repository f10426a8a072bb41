// SPDX-License-Identifier: Apache-2.0
#include <distrib/hadoop/raw_bytes.hpp>

#include <distrib/core/sha256.hpp>

#include "support/catch.hpp"

#include <string>
#include <system_error>

using distrib::as_bytes;
using distrib::as_text;
using distrib::hadoop_errc;
using distrib::hadoop::Bytes;
using distrib::hadoop::RawBytes;
using distrib::hadoop::text_in;
using distrib::hadoop::WritableReader;

TEST_CASE("RawBytes: a length of four bytes, then the bytes", "[hadoop][raw_bytes]") {
  Bytes bytes;
  RawBytes::append(bytes, as_bytes("abc"));
  RawBytes::append(bytes, {});
  CHECK(distrib::to_hex(bytes) ==
        "00000003616263"
        "00000000");
  WritableReader reader{bytes};
  CHECK(as_text(RawBytes::read(reader, 3)) == "abc");
  CHECK(RawBytes::read(reader, 3).empty());
  CHECK(!reader.error());
  WritableReader strict{bytes};
  CHECK(RawBytes::read(strict, 2).empty());
  CHECK(strict.error() == hadoop_errc::too_large);
}

TEST_CASE("text_in: a Text begins with its own length", "[hadoop][raw_bytes]") {
  CHECK(as_text(text_in(as_bytes("\5hello"))) == "hello");
  const auto error = [](std::string_view bytes) {
    std::error_code ec;
    CHECK(text_in(as_bytes(bytes), ec).empty());
    return ec;
  };
  CHECK(error("\4hello") == hadoop_errc::bad_number);
  CHECK(error("\2h") == hadoop_errc::truncated);
  CHECK(error("") == hadoop_errc::truncated);
  CHECK_THROWS_AS(text_in({}), std::system_error);
}
