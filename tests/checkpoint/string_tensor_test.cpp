// SPDX-License-Identifier: Apache-2.0
#include <distrib/checkpoint/string_tensor.hpp>

#include "checkpoint/checkpoint_support.hpp"

#include <string>
#include <vector>

using support::Bytes;

TEST_CASE("texts are stored as TensorFlow stores them", "[checkpoint][string_tensor]") {
  const std::vector<std::string> words{"alpha", "", {"\xff\0b", 3}};
  Bytes bytes;
  CHECK(distrib::append_strings(bytes, words) == 0x42fdc1a5);
  const Bytes file = support::read_file(support::fixtures + "partitioned/model.ckpt-1234.data-00000-of-00001");
  CHECK(bytes == Bytes(file.begin() + 263, file.begin() + 263 + 15));
}

TEST_CASE("texts are read back, and damage is found", "[checkpoint][string_tensor]") {
  const std::vector<std::string> values{"", "a", std::string(300, 'x'), "end"};
  Bytes bytes;
  const std::uint32_t crc = distrib::append_strings(bytes, values);
  std::vector<std::string> read;
  REQUIRE(distrib::parse_strings(bytes, values.size(), crc, read));
  CHECK(read == values);

  CHECK_FALSE(distrib::parse_strings(bytes, values.size() - 1, crc, read));
  CHECK_FALSE(distrib::parse_strings(bytes, values.size() + 1, crc, read));
  CHECK_FALSE(distrib::parse_strings(bytes, std::uint64_t{1} << 62, crc, read));
  CHECK_FALSE(distrib::parse_strings(bytes, values.size(), crc + 1, read));
  for (std::size_t size = 0; size < bytes.size(); ++size)
    REQUIRE_FALSE(distrib::parse_strings(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)),
                                         values.size(), crc, read));
  for (std::byte& byte : bytes) {
    byte ^= std::byte{4};
    REQUIRE_FALSE(distrib::parse_strings(bytes, values.size(), crc, read));
    byte ^= std::byte{4};
  }
}

TEST_CASE("lengths that do not fit the texts are refused", "[checkpoint][string_tensor]") {
  // The checksums are right, but the lengths are wrong: only a faulty writer makes that.
  const auto accepted = [](std::uint64_t length, const std::string& text) {
    distrib::WireWriter out;
    out.raw_varint(length);
    const std::uint32_t lengths_crc = distrib::detail::extend_by_length(0, length);
    const std::size_t at = out.size();
    out.raw_number(distrib::mask_crc(lengths_crc));
    out.raw(distrib::as_bytes(text));
    const std::uint32_t crc = distrib::detail::crc32c_extend(lengths_crc, out.view().subspan(at));
    std::vector<std::string> read;
    return distrib::parse_strings(out.view(), 1, distrib::mask_crc(crc), read);
  };
  CHECK(accepted(3, "abc"));
  CHECK_FALSE(accepted(4, "abc"));
  CHECK_FALSE(accepted(2, "abc"));
  CHECK_FALSE(accepted(std::uint64_t{1} << 40, "abc"));
}

TEST_CASE("a tensor without texts", "[checkpoint][string_tensor]") {
  Bytes bytes;
  const std::uint32_t crc = distrib::append_strings(bytes, {});
  std::vector<std::string> read{"old"};
  CHECK(distrib::parse_strings(bytes, 0, crc, read));
  CHECK(read.empty());
}
