// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/record.hpp>

#include <distrib/record/frame.hpp>

#include "record/files.hpp"
#include "support/catch.hpp"

TEST_CASE("encode_record_header, encode_record_footer: the bytes that TensorFlow writes", "[record]") {
  const std::string file = support::read_file(support::fixture("example.tfrecord"));
  const auto payload = std::string_view{file}.substr(distrib::record_header_bytes, 323);
  CHECK(support::framed(payload) == file.substr(0, distrib::record_header_bytes + 323 + distrib::record_footer_bytes));
}
