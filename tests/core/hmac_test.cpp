// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/hmac.hpp>

#include "support/catch.hpp"

#include <memory>
#include <new>
#include <string>

using distrib::as_bytes;
using distrib::hmac_sha256;
using distrib::to_hex;

TEST_CASE("hmac_sha256: vectors of RFC 4231", "[core][hmac]") {
  struct Row {
    std::string key;
    std::string message;
    const char* code;
  };
  std::string counted;
  for (char c = 1; c <= 25; ++c) counted += c;
  const Row rows[] = {
      {std::string(20, '\x0b'), "Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
      {"Jefe", "what do ya want for nothing?", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
      {std::string(20, '\xaa'), std::string(50, '\xdd'),
       "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
      {counted, std::string(50, '\xcd'), "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"},
      {std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First",
       "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
      {std::string(131, '\xaa'),
       "This is a test using a larger than block-size key and a larger than block-size data. The key needs to be "
       "hashed before being used by the HMAC algorithm.",
       "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"},
  };
  for (const Row& row : rows) CHECK(to_hex(hmac_sha256(as_bytes(row.key), as_bytes(row.message))) == row.code);
}

TEST_CASE("HmacSha256: message in pieces, and a prepared key copied for each message", "[core][hmac]") {
  for (const std::size_t key_bytes : {0U, 1U, 63U, 64U, 65U}) {
    const std::string key(key_bytes, 'k');
    const distrib::HmacSha256 prepared{as_bytes(key)};
    for (const char* message : {"one message", "another"}) {
      distrib::HmacSha256 code = prepared;
      code.update(as_bytes(message).first(3));
      code.update({});
      code.update(as_bytes(message).subspan(3));
      CHECK(code.finish() == hmac_sha256(as_bytes(key), as_bytes(message)));
    }
  }
}

TEST_CASE("HmacSha256: the destructor wipes everything derived from the key", "[core][hmac]") {
  alignas(distrib::HmacSha256) static std::byte memory[sizeof(distrib::HmacSha256)];
  auto* const code = new (memory) distrib::HmacSha256{as_bytes("a key that must be wiped out")};
  const volatile std::byte* const seen = memory;
  const auto traces = [&] {
    std::size_t count = 0;
    for (std::size_t i = 0; i < sizeof memory; ++i) count += seen[i] != std::byte{0} ? 1U : 0U;
    return count;
  };
  CHECK(traces() > 60);
  std::destroy_at(code);
  CHECK(traces() == 0);
}

TEST_CASE("equal_in_constant_time: detects every difference", "[core][hmac]") {
  const distrib::Sha256Digest digest = hmac_sha256(as_bytes("key"), as_bytes("message"));
  CHECK(distrib::equal_in_constant_time(digest, digest));
  for (std::size_t i = 0; i < digest.size(); ++i)
    for (const unsigned bit : {0U, 7U}) {
      distrib::Sha256Digest other = digest;
      other[i] ^= std::byte{1} << bit;
      CHECK_FALSE(distrib::equal_in_constant_time(digest, other));
    }
  const distrib::ByteView whole = digest;
  CHECK_FALSE(distrib::equal_in_constant_time(whole, whole.first(31)));
  CHECK_FALSE(distrib::equal_in_constant_time(whole.first(31), whole));
}
