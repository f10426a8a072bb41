// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/byte_source.hpp>

#include "support/catch.hpp"

#include <distrib/core/bytes.hpp>
#include <distrib/record/any_byte_source.hpp>
#include <distrib/record/record_reader.hpp>
#include <distrib/record/zlib.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

using distrib::AnyByteSource;
using distrib::ByteSource;
using distrib::Error;
using distrib::Record;
using distrib::record_errc;
using distrib::RecordReader;

namespace {

/// Returns at most `most` bytes a call. At the end reports `end` once, then the end of the file.
struct Slow {
  std::string bytes;
  std::size_t most = 1;
  Error end = {};
  std::size_t at = 0;

  auto read(std::span<std::byte> to, Error& error) -> std::size_t {
    const std::size_t count = std::min({to.size(), most, bytes.size() - at});
    std::memcpy(to.data(), bytes.data() + at, count);
    at += count;
    if (count == 0) error = std::exchange(end, {});  // reported once
    return count;
  }
};
static_assert(ByteSource<Slow>);
static_assert(ByteSource<AnyByteSource>);
static_assert(!ByteSource<std::string>);

auto frame(const std::string& payload) -> std::string {
  std::string bytes{distrib::as_text(distrib::encode_record_header(payload.size()))};
  bytes += payload;
  return bytes.append(distrib::as_text(distrib::encode_record_footer(distrib::as_bytes(payload))));
}

auto records(RecordReader reader, Error& error) -> std::vector<std::string> {
  std::vector<std::string> found;
  while (const auto record = reader.try_next()) found.emplace_back(distrib::as_text(record->bytes));
  error = reader.error();
  return found;
}

const std::vector<std::string> four_payloads{"one", "", std::string(700'000, 'x'), "four"};

auto file() -> std::string {
  std::string bytes;
  for (const std::string& payload : four_payloads) bytes += frame(payload);
  return bytes;
}

auto gzip(const std::string& bytes) -> std::string {
  distrib::Deflater deflater{distrib::Compression::gzip};
  std::string to(bytes.size() + 1000, '\0');
  distrib::ByteView in = distrib::as_bytes(bytes);
  to.resize(deflater.deflate(in, std::as_writable_bytes(std::span{to}), distrib::DeflateOptions::Flush::finish));
  return to;
}

}  // namespace

TEST_CASE("AnyByteSource: returns the bytes of the source it holds; copies share it", "[record]") {
  AnyByteSource one{Slow{"abcd", 3}};
  AnyByteSource two = one;
  std::array<std::byte, 10> to;
  Error error;
  CHECK(one.read(to, error) == 3);
  CHECK(two.read(to, error) == 1);
  CHECK(distrib::as_text({to.data(), 1}) == "d");
  CHECK(one.read(to, error) == 0);
  CHECK_FALSE(error);
}

TEST_CASE("RecordReader: reads a ByteSource, plain and compressed, in pieces of any size", "[record]") {
  for (const std::string& bytes : {file(), gzip(file())})
    for (const std::size_t most : {1U, 5U, 100'000U, 10'000'000U}) {
      CAPTURE(bytes.size(), most);
      Error error;
      CHECK((records(RecordReader{Slow{bytes, most}, "elsewhere"}, error) == four_payloads));
      CHECK_FALSE(error);
    }
  Error error;
  CHECK(records(RecordReader{Slow{}, "empty"}, error).empty());
  CHECK_FALSE(error);
}

TEST_CASE("RecordReader: the failure of a ByteSource names the record and the source", "[record]") {
  const Error gone{std::make_error_code(std::errc::connection_reset), "GET http://h/f"};
  const std::string bytes = file();
  for (const std::size_t cut : {std::size_t{0}, std::size_t{7}, std::size_t{19}, std::size_t{600'000}}) {
    CAPTURE(cut);
    Error error;
    records(RecordReader{Slow{bytes.substr(0, cut), 1000, gone}, "f"}, error);
    CHECK(error.code == gone.code);
    CHECK_THAT(error.where, ContainsSubstring("f: record ") && ContainsSubstring(" (GET http://h/f)"));
  }
  const std::string packed = gzip(bytes);
  for (const std::size_t cut : {packed.size() / 2, packed.size()}) {  // the last one: between two members
    CAPTURE(cut);
    Error error;
    records(RecordReader{Slow{packed.substr(0, cut), 1000, gone}, "f"}, error);
    CHECK(error.code == gone.code);
    CHECK_THAT(error.where, ContainsSubstring("of the inflated bytes (GET http://h/f)"));
  }
}

TEST_CASE("RecordReader: a ByteSource that is damaged or ends early", "[record]") {
  std::string bytes = file();
  Error error;
  CHECK(records(RecordReader{Slow{bytes.substr(0, bytes.size() - 1), 1000}, "f"}, error).size() == 3);
  CHECK(error.code == record_errc::truncated_payload);
  bytes[13] = 'X';
  CHECK(records(RecordReader{Slow{bytes, 1000}, "f"}, error).empty());
  CHECK(error.code == record_errc::corrupt_payload);
  CHECK(error.where == "f: record 0 at offset 0");
  CHECK(records(RecordReader{Slow{bytes, 1000}, "f", {.damage = {distrib::DamagePolicy::OnDamage::salvage}}}, error)
            .size() == 3);
  CHECK_FALSE(error);
}
