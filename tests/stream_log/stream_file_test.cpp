// SPDX-License-Identifier: Apache-2.0
#include <distrib/stream_log/stream_file.hpp>

#include "support/catch.hpp"

#include <distrib/core/crc32c.hpp>
#include <distrib/stream_log/error.hpp>

#include <memory>
#include <vector>

namespace {

auto some_stream_file() -> distrib::StreamFile {
  distrib::StreamLog log{4, {0, 1}};
  log.set_id({2, 9});
  log.append(distrib::StreamRange{"events-0", 0, 12, {}, {3, 4}});
  return {{3, 5}, std::make_shared<const distrib::StreamLog>(log), true};
}

auto code_of_file(const std::vector<std::byte>& bytes) -> std::error_code {
  std::error_code code;
  CHECK_FALSE(distrib::parse_stream_file(bytes, code));
  return code;
}

}  // namespace

TEST_CASE("the file of a stream log is read as it was written") {
  std::error_code code;
  const distrib::StreamFile file = some_stream_file();
  const auto read = distrib::parse_stream_file(to_bytes(file), code);
  REQUIRE(read);
  CHECK(read->promised == file.promised);
  CHECK(read->is_given);
  CHECK(*read->log == *file.log);
  const auto promise = distrib::parse_stream_file(distrib::to_bytes(distrib::StreamFile{{1, 2}, nullptr, false}), code);
  REQUIRE(promise);
  CHECK(promise->promised == distrib::StreamLogId{1, 2});
  CHECK(promise->log == nullptr);
  CHECK_FALSE(promise->is_given);
}

TEST_CASE("a damaged file of a stream log is refused") {
  const std::vector<std::byte> good = to_bytes(some_stream_file());
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::vector<std::byte> bytes = good;
    bytes[at] ^= std::byte{4};
    CHECK(code_of_file(bytes) == distrib::stream_errc::bad_log);
    bytes = good;
    bytes.resize(at);
    CHECK(code_of_file(bytes) == distrib::stream_errc::bad_log);
  }
}

TEST_CASE("a file of a stream log of a newer version is refused as such") {
  std::vector<std::byte> bytes = to_bytes(some_stream_file());
  bytes[8] = std::byte{2};
  distrib::store_le(bytes.data() + bytes.size() - 4, distrib::crc32c(distrib::ByteView{bytes}.first(bytes.size() - 4)));
  CHECK(code_of_file(bytes) == distrib::stream_errc::newer_version);
}
