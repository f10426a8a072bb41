// SPDX-License-Identifier: Apache-2.0
// What FollowedStream follows.
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/stream_log/stream_item.hpp>
#include <distrib/stream_log/stream_log.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Records of a source that a process holds: those of a file, or of a range.
class StreamRecords {
 public:
  StreamRecords() = default;
  StreamRecords(const StreamRecords&) = delete;
  auto operator=(const StreamRecords&) -> StreamRecords& = delete;
  virtual ~StreamRecords() = default;

  /// Returns the payload of a record by its number in the source, valid as long as this object. Threads: any.
  [[nodiscard]] virtual auto at(std::uint64_t record, Error& error) const -> ByteView = 0;
  /// The place of a record for messages.
  [[nodiscard]] virtual auto where(std::uint64_t record) const -> std::string = 0;
};

/// The records of a batch, and what has them. It keeps that alive.
class StreamBatch {
 public:
  /// Appends records [first, end) of a source.
  void add(std::shared_ptr<const StreamRecords> source, std::uint64_t first, std::uint64_t end) {
    for (; first < end; ++first) records_.emplace_back(source.get(), first);
    sources_.push_back(std::move(source));
  }
  /// Number of records.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return records_.size(); }
  /// Returns the verified payload of a record, valid as long as this object. Errors: as `StreamRecords::at`.
  [[nodiscard]] auto at(std::size_t i, Error& error) const -> ByteView {
    return records_[i].first->at(records_[i].second, error);
  }
  /// The place of a record for messages.
  [[nodiscard]] auto where(std::size_t i) const -> std::string { return records_[i].first->where(records_[i].second); }

 private:
  std::vector<std::shared_ptr<const StreamRecords>> sources_;
  std::vector<std::pair<const StreamRecords*, std::uint64_t>> records_;
};

/// Where the records of a stream are: a directory or a prefix to which files are added, or a topic. All processes of a
/// job see the same place, late, and each at another time. All functions set or clear `error`.
///
/// Threads: one at a time.
class StreamPlace {
 public:
  StreamPlace() = default;
  StreamPlace(const StreamPlace&) = delete;
  auto operator=(const StreamPlace&) -> StreamPlace& = delete;
  virtual ~StreamPlace() = default;

  /// What messages call it.
  [[nodiscard]] virtual auto name() const -> std::string = 0;
  /// What its data are, for messages: "followed files".
  [[nodiscard]] virtual auto kind() const -> std::string = 0;
  /// Checks what can be checked without waiting, before the log is read.
  virtual void check(Error& error) = 0;
  /// Looks for records that the log `next` does not have, until it has this batch: appends what it finds to `next`, and
  /// to the result. All records that it proposes were read and verified.
  [[nodiscard]] virtual auto look(StreamLog& next, std::uint64_t batch, Error& error)
      -> std::vector<StreamProposal> = 0;
  /// Returns the records from `first` on of a range of the log, which were compared with the log. Errors:
  /// `source_gone`, `source_replaced` or `records_expired` if they are not there: see `check_source`.
  [[nodiscard]] virtual auto hold(const StreamRange& range, std::uint64_t first, Error& error)
      -> std::shared_ptr<const StreamRecords> = 0;
  /// Returns the sources that there are now, sorted, for a place from which sources go away. The log may forget others.
  [[nodiscard]] virtual auto sources(Error& error) -> std::optional<std::vector<std::string>> = 0;
};

}  // namespace v0
}  // namespace distrib
