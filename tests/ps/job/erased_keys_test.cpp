// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/job/erased_keys.hpp>

#include <distrib/core/bytes.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/rank_file.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using distrib::ErasedKeys;
using distrib::RankFile;

TEST_CASE("ErasedKeys: reading a file returns what was written", "[ps]") {
  const RankFile file{
      57, {}, {{5, "users", {0, 7, ~std::uint64_t{0}}}, {5, "words", {1}}, {std::uint64_t{1} << 40, "users", {7}}}};
  const std::vector<std::byte> bytes = to_bytes(file);
  const auto read = distrib::parse_rank_file(bytes);
  REQUIRE(read);
  CHECK(read->horizon == 57);
  CHECK(read->entries.empty());
  CHECK(read->erased == file.erased);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::vector<std::byte> damaged = bytes;
    damaged[i] ^= std::byte{4};
    CHECK_FALSE(distrib::parse_rank_file(damaged));
  }
}

TEST_CASE("ErasedKeys: a file without them has the bytes of before", "[ps]") {
  CHECK(distrib::to_hex(to_bytes(RankFile{57})).substr(32, 4) == "0839");
  CHECK(to_bytes(RankFile{57}).size() == 16 + 2 + 4);
}

TEST_CASE("ErasedKeys: messages that are none", "[ps]") {
  const auto decoded = [](const ErasedKeys& entry) {
    distrib::WireWriter head;
    encode_erased_keys(head, 3, entry);
    distrib::WireReader reader{head.view()};
    REQUIRE(reader.next());
    return distrib::decode_erased_keys(reader.bytes());
  };
  CHECK(decoded({5, "users", {1, 2}}) == ErasedKeys{5, "users", {1, 2}});
  CHECK_FALSE(decoded({0, "users", {1, 2}}));
  CHECK_FALSE(decoded({5, "users", {}}));
  CHECK_FALSE(decoded({5, "users", {2, 1}}));
  CHECK_FALSE(decoded({5, "users", {2, 2}}));
  distrib::WireWriter half;
  half.varint(1, 5);
  half.text(3, "1234567");
  CHECK_FALSE(distrib::decode_erased_keys(half.view()));
  CHECK_FALSE(distrib::decode_erased_keys(distrib::as_bytes("\x0a")));
}

TEST_CASE("ErasedKeys: as lines", "[ps]") {
  const std::vector<ErasedKeys> entries{{57, "deep/users", {4711, 4712}}, {58, "w", {~std::uint64_t{0}}}};
  CHECK(to_text(entries[0]) == "after 57 table deep/users keys 4711,4712");
  CHECK(distrib::parse_erased_keys(to_text(entries[0]) + "\n\n" + to_text(entries[1]) + "\n") == entries);
  CHECK(distrib::parse_erased_keys("after 57 table w keys 2,1") == std::vector<ErasedKeys>{{57, "w", {1, 2}}});
  for (const std::string bad :
       {"before 57 table w keys 1", "after 0 table w keys 1", "after x table w keys 1", "after 5 rows w keys 1",
        "after 5 table  keys 1", "after 5 table w key 1", "after 5 table w keys ", "after 5 table w keys 1,",
        "after 5 table w keys 1,x", "after 5 table w keys -1"}) {
    distrib::Error error;
    CAPTURE(bad);
    CHECK(distrib::parse_erased_keys("after 1 table w keys 1\n" + bad, error).empty());
    CHECK(error.code == distrib::ps_errc::not_erasable);
    CHECK(error.where == "line 2 is not like 'after 57 table users keys 4711'");
  }
}
