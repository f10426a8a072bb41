// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::kafka.
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/crc32c.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/data/stream_place.hpp>
#include <distrib/kafka/error.hpp>
#include <distrib/kafka/topic_reader.hpp>
#include <distrib/stream_log/error.hpp>
#include <distrib/stream_log/stream_item.hpp>
#include <distrib/stream_log/stream_log.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The sum of the records of a partition: the first half of SHA-256 of the sum before a range, and of the lengths and
/// CRC-32C of its records. So a range is compared without the records before it.
class TopicSum {
 public:
  explicit TopicSum(const StreamSum& before) {
    std::array<std::byte, 16> bytes;
    store_le(bytes.data(), before.high);
    store_le(bytes.data() + 8, before.low);
    hash_.update(bytes);
  }
  void add(ByteView record) {
    std::array<std::byte, 12> facts;
    store_le(facts.data(), static_cast<std::uint64_t>(record.size()));
    store_le(facts.data() + 8, crc32c(record));
    hash_.update(facts);
  }
  [[nodiscard]] auto finish() -> StreamSum {
    const Sha256Digest digest = hash_.finish();
    return {load_le<std::uint64_t>(digest.data()), load_le<std::uint64_t>(digest.data() + 8)};
  }

 private:
  Sha256 hash_;
};

/// The values of the messages of a range.
class TopicRecords final : public StreamRecords {
 public:
  /// `messages` have values.
  TopicRecords(const StreamRange& range, std::vector<TopicMessage> messages)
      : source_{range.source}, first_{range.first}, messages_{std::move(messages)} {}

  [[nodiscard]] auto at(std::uint64_t record, Error& error) const -> ByteView override {
    error = {};
    return *messages_[static_cast<std::size_t>(record - first_)].value;
  }
  [[nodiscard]] auto where(std::uint64_t record) const -> std::string override {
    return source_ + ": record " + std::to_string(record) + " at offset " +
           std::to_string(messages_[static_cast<std::size_t>(record - first_)].offset);
  }

 private:
  std::string source_;
  std::uint64_t first_;
  std::vector<TopicMessage> messages_;
};

/// The partitions of a topic as a `StreamPlace`. A source is a partition, by the name "TOPIC/NUMBER"; a record is the
/// value of a message. Offsets have gaps, so a range of the log says both its offsets and how many records they have.
///
/// A partition is read from the end of the log on, and what was read stays in memory until it is in the log and was
/// held. Records are proposed when there are enough for a batch, so that a range does not have a few records only.
///
/// Threads: one at a time.
template <TopicReader Reader>
class TopicPlace final : public StreamPlace {
 public:
  /// `most`: most records of a range, at least 1.
  TopicPlace(std::string topic, Reader reader, std::size_t most)
      : topic_{std::move(topic)}, reader_{std::move(reader)}, most_{std::max<std::size_t>(most, 1)} {}

  [[nodiscard]] auto name() const -> std::string override { return "topic " + topic_; }
  [[nodiscard]] auto kind() const -> std::string override { return "followed topic"; }
  void check(Error& error) override { error = {}; }

  [[nodiscard]] auto look(StreamLog& next, std::uint64_t batch, Error& error) -> std::vector<StreamProposal> override {
    const std::uint32_t partitions = reader_.partitions(error);
    std::vector<StreamProposal> found;
    for (std::uint32_t partition = 0; partition < partitions && !error; ++partition)
      if (std::optional<ProposedRange> range = news_of(next, partition, error)) found.emplace_back(*std::move(range));
    StreamLog longer = next;
    for (const StreamProposal& proposal : found)
      if (may_append(longer, proposal)) append_proposal(longer, proposal);
    if (error || !longer.covers(batch + 1)) return {};
    next = std::move(longer);
    return found;
  }

  [[nodiscard]] auto hold(const StreamRange& range, std::uint64_t, Error& error)
      -> std::shared_ptr<const StreamRecords> override {
    error = {};
    const auto found = std::ranges::find_if(held_, [&range](const Held& one) { return one.range == range; });
    if (found != held_.end()) {
      held_.splice(held_.begin(), held_, found);
      return held_.front().records;
    }
    std::shared_ptr<const TopicRecords> records = records_of(range, error);
    if (error) return nullptr;
    held_.push_front({range, std::move(records)});
    if (held_.size() > most_held) held_.pop_back();
    return held_.front().records;
  }

  /// A partition never goes away.
  [[nodiscard]] auto sources(Error& error) -> std::optional<std::vector<std::string>> override {
    error = {};
    return std::nullopt;
  }

 private:
  // What was read of a partition and is not held yet: all messages with the offsets [from, next).
  struct Tail {
    std::uint64_t from = 0;
    std::uint64_t next = 0;
    bool is_end = false;
    std::deque<TopicMessage> messages;
  };
  struct Held {
    StreamRange range;
    std::shared_ptr<const TopicRecords> records;
  };

  // Returns what was read from an offset on.
  auto tail_from(std::uint32_t partition, std::uint64_t from) -> Tail& {
    Tail& tail = tails_[partition];
    if (from < tail.from || from > tail.next) tail = {from, from, false, {}};
    return tail;
  }
  void read_more(Tail& tail, std::uint32_t partition, Error& error) {
    TopicRead more = reader_.read(partition, tail.next, most_, error);
    if (error) return;
    for (TopicMessage& message : more.messages) tail.messages.push_back(std::move(message));
    tail.next = more.next;
    tail.is_end = more.is_end;
  }

  // True if more should be read behind `from`. Drops the oldest messages before it, if there are many: ranges that this
  // process did not need so far. If it needs them, it reads them again.
  auto make_room(Tail& tail, std::uint64_t from) const -> bool {
    std::size_t before = 0;
    std::size_t behind = 0;
    std::size_t bytes_before = 0;
    std::size_t bytes_behind = 0;
    for (const TopicMessage& message : tail.messages) {
      (message.offset < from ? before : behind) += 1;
      (message.offset < from ? bytes_before : bytes_behind) += message.value ? message.value->size() : 0;
    }
    while (before > 4 * most_ || (bytes_before > 4 * most_bytes && before > 0)) {
      const TopicMessage& oldest = tail.messages.front();
      bytes_before -= oldest.value ? oldest.value->size() : 0;
      before -= 1;
      tail.from = oldest.offset + 1;
      tail.messages.pop_front();
    }
    return behind < most_ && bytes_behind < most_bytes;
  }

  // Returns the records of a partition that the log does not have, as far as they were read.
  auto news_of(const StreamLog& log, std::uint32_t partition, Error& error) -> std::optional<ProposedRange> {
    const std::string source = topic_ + "/" + std::to_string(partition);
    const SourceEnd* const end = log.end_of(source);
    const auto begun = tails_.find(partition);
    std::uint64_t from = 0;
    if (end != nullptr) from = end->offset;
    else if (begun != tails_.end()) from = begun->second.from;
    else from = reader_.first_offset(partition, error);
    if (error) return std::nullopt;
    Tail& tail = tail_from(partition, from);
    if (make_room(tail, from)) read_more(tail, partition, error);
    if (error.code == kafka_errc::no_such_offset) {
      const std::uint64_t first = first_offset(partition, error);
      if (error) return std::nullopt;
      if (end == nullptr) return tails_.erase(partition), std::nullopt;  // nobody needs what it has dropped
      if (first > tail.next)
        error = {stream_errc::records_expired, source + ": the log ends before the offset " + std::to_string(from) +
                                                   ", and the partition begins with " + std::to_string(first)};
      else
        error = {stream_errc::source_gone, source + ": the log ends before the offset " + std::to_string(from) +
                                               ", and the partition does not have so many"};
      return std::nullopt;
    }
    if (error) return std::nullopt;
    ProposedRange proposal;
    proposal.continues = end != nullptr;
    StreamRange& range = proposal.range;
    range.source = source;
    range.first = range.end = end == nullptr ? 0 : end->records;
    if (end != nullptr) range.before = end->sum;
    range.first_offset = from;
    TopicSum sum{range.before};
    std::size_t bytes = 0;
    for (const TopicMessage& message : tail.messages) {
      if (range.end - range.first == most_ || bytes >= most_bytes) break;
      if (message.offset < from || !message.value) continue;
      bytes += message.value->size();
      sum.add(*message.value);
      ++range.end;
      range.end_offset = message.offset + 1;
    }
    if (range.end == range.first) return std::nullopt;
    range.after = sum.finish();
    return proposal;
  }

  // Asks for the first offset although an error was reported before.
  auto first_offset(std::uint32_t partition, Error& error) -> std::uint64_t {
    error = {};
    return reader_.first_offset(partition, error);
  }

  // Reads a range of the log, unless that was done, and compares it with the log.
  auto records_of(const StreamRange& range, Error& error) -> std::shared_ptr<const TopicRecords> {
    const std::string where = range.source + ": the log has its records " + std::to_string(range.first) + " to " +
                              std::to_string(range.end - 1) + ", with the offsets " +
                              std::to_string(range.first_offset) + " to " + std::to_string(range.end_offset - 1) +
                              ", and ";
    const std::optional<std::uint32_t> partition = partition_of(range.source);
    if (!partition) {
      error = {stream_errc::source_gone, where + "it is no partition of the topic " + topic_};
      return nullptr;
    }
    Tail& tail = tail_from(*partition, range.first_offset);
    while (tail.next < range.end_offset && !error) {
      const std::uint64_t before = tail.next;
      read_more(tail, *partition, error);
      if (!error && tail.is_end && tail.next == before) break;
    }
    if (error.code == kafka_errc::no_such_offset) {
      const std::uint64_t first = first_offset(*partition, error);
      if (error) return nullptr;
      if (first > tail.next)
        error = {stream_errc::records_expired, where + "it begins with the offset " + std::to_string(first)};
      else error = {stream_errc::source_gone, where + "it does not have so many"};
    }
    // That nothing follows is believed only if a broker answers: it is no end if all of them are away.
    if (!error && tail.next < range.end_offset) static_cast<void>(reader_.first_offset(*partition, error));
    if (!error && tail.next < range.end_offset)
      error = {stream_errc::source_gone, where + "it ends before the offset " + std::to_string(tail.next)};
    if (error) return nullptr;
    std::vector<TopicMessage> messages;
    TopicSum sum{range.before};
    for (TopicMessage& message : tail.messages) {
      if (message.offset >= range.end_offset) break;
      if (message.offset < range.first_offset || !message.value) continue;
      sum.add(*message.value);
      messages.push_back(std::move(message));
    }
    // What was read goes, whether it is right or not: a range is held, or read again.
    std::erase_if(tail.messages, [&range](const TopicMessage& message) { return message.offset < range.end_offset; });
    tail.from = range.end_offset;
    const std::uint64_t count = range.end - range.first;
    if (messages.size() < count)
      error = {stream_errc::records_expired, where + "only " + std::to_string(messages.size()) +
                                                 " of them are there: compaction or retention removed the others"};
    else if (messages.size() > count || sum.finish() != range.after)
      error = {stream_errc::source_replaced, where + "it has other ones"};
    if (error) return nullptr;
    return std::make_shared<const TopicRecords>(range, std::move(messages));
  }

  // Returns the number of the partition that a source is.
  [[nodiscard]] auto partition_of(const std::string& source) const -> std::optional<std::uint32_t> {
    if (!source.starts_with(topic_ + "/")) return std::nullopt;
    std::uint32_t number = 0;
    const char* const begin = source.data() + topic_.size() + 1;
    const char* const end = source.data() + source.size();
    const auto [behind, ec] = std::from_chars(begin, end, number);
    if (ec != std::errc{} || behind != end) return std::nullopt;
    return number;
  }

  static constexpr std::size_t most_held = 16;  // ranges
  static constexpr std::size_t most_bytes = 16 << 20;  // of a range, and a record

  std::string topic_;
  Reader reader_;
  std::size_t most_;
  std::map<std::uint32_t, Tail> tails_;
  std::list<Held> held_;  // what was used last comes first
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
