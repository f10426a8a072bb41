// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::kafka. What TopicPlace reads a topic by; includes nothing of librdkafka.
#pragma once

#include <distrib/core/error.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// A message of a partition. A value.
struct TopicMessage {
  std::uint64_t offset = 0;
  /// The value; nothing for a tombstone, which is no record: a compacted topic drops it at some time.
  std::optional<std::vector<std::byte>> value;
};

/// Messages of a partition, in the order of their offsets. A value.
struct TopicRead {
  std::vector<TopicMessage> messages;
  std::uint64_t next = 0;  ///< There is nothing else below this offset.
  bool is_end = false;  ///< True if there was nothing at `next` either, when the broker was asked last.
};

/// Reads the partitions of a topic, as no member of a group. All functions set or clear `error`; a broker that does not
/// answer is `failure::unavailable`.
/// - `reader.partitions(error)`: their number; they are numbered from 0, and there may be more later;
/// - `reader.first_offset(partition, error)`: the first offset that it has, or will have;
/// - `reader.read(partition, from, most, error)`: up to `most` messages from the offset on: what is there. Waits a
///   moment for the broker. `kafka_errc::no_such_offset` if the partition does not have the offset any more, or does
///   not reach it.
template <class R>
concept TopicReader = requires(R& reader, std::uint32_t partition, std::uint64_t from, std::size_t most, Error& error) {
  { reader.partitions(error) } -> std::same_as<std::uint32_t>;
  { reader.first_offset(partition, error) } -> std::same_as<std::uint64_t>;
  { reader.read(partition, from, most, error) } -> std::same_as<TopicRead>;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
