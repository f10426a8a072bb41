// SPDX-License-Identifier: Apache-2.0
#include <distrib/kafka/topic_reader.hpp>

#include "support/catch.hpp"

namespace {

/// The smallest reader of a topic: it has no partitions.
struct EmptyTopicReader {
  static auto partitions(distrib::Error& error) -> std::uint32_t {
    error = {};
    return 0;
  }
  static auto first_offset(std::uint32_t, distrib::Error& error) -> std::uint64_t {
    error = {};
    return 0;
  }
  static auto read(std::uint32_t, std::uint64_t from, std::size_t, distrib::Error& error)
      -> distrib::detail::TopicRead {
    error = {};
    return {{}, from, true};
  }
};

struct ReaderWithoutOffsets : EmptyTopicReader {
  static void first_offset(std::uint32_t) {}
};

}  // namespace

TEST_CASE("a reader of a topic knows partitions and offsets, and reads messages") {
  STATIC_REQUIRE(distrib::detail::TopicReader<EmptyTopicReader>);
  STATIC_REQUIRE(!distrib::detail::TopicReader<ReaderWithoutOffsets>);
}
