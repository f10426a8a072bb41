// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/data/record_files.hpp>
#include <distrib/stream_log/seen_source.hpp>
#include <distrib/stream_log/stream_item.hpp>
#include <distrib/stream_log/stream_log.hpp>
#include <distrib/stream_log/stream_log_files.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Which files are followed, and how long a process waits. A value.
struct FollowedFilesOptions {
  std::string directory;  ///< Where the files are added.
  std::string pattern = "*";  ///< Their names, with *, ? and [].
  std::string log;  ///< Directory of the log.
  std::uint64_t batch_size = 0;  ///< Records of a batch.
  std::chrono::milliseconds look_every{200};  ///< How often the directory and the log are looked at while waiting.
  std::chrono::milliseconds give_up_after{0};  ///< Error after so long a wait for new records; 0: none.
  std::chrono::milliseconds believe_after{10'000};  ///< For so long a file that is gone or replaced may be seen late.
  std::uint64_t max_inflated_bytes = std::uint64_t{1} << 30;  ///< Limit for a compressed file in memory.
};

/// The records of a batch, and the files that have them. It keeps those alive.
class StreamBatch {
 public:
  /// Appends records [first, end) of a file.
  void add(std::shared_ptr<const RecordFiles> file, std::uint64_t first, std::uint64_t end) {
    for (; first < end; ++first) records_.emplace_back(file.get(), first);
    files_.push_back(std::move(file));
  }
  /// Number of records.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return records_.size(); }
  /// Returns the verified payload of a record, valid as long as this object. Errors: as `RecordFiles::at`.
  [[nodiscard]] auto at(std::size_t i, Error& error) const -> ByteView {
    return records_[i].first->at(records_[i].second, error);
  }
  /// The place of a record for messages.
  [[nodiscard]] auto where(std::size_t i) const -> std::string { return records_[i].first->where(records_[i].second); }

 private:
  std::vector<std::shared_ptr<const RecordFiles>> files_;
  std::vector<std::pair<const RecordFiles*, std::uint64_t>> records_;
};

/// Record files that are added to a directory, as batches: which records are in which batch stands in a log that all
/// processes of a job share (`StreamLogFiles`). The process that needs a batch which the log does not have looks at the
/// directory, and proposes what it finds there, file after file in the order of their names. Before a file is logged,
/// and before its records are used, all its records are read and compared with the log.
///
/// Names that begin with "." or "_" or end in ".crc" are left out: write a file under such a name, then rename it. A
/// file that was renamed may not change any more, but that records may be added at its end by replacing it with a longer
/// file.
///
/// Errors: `stream_errc`, a `record_errc` or `data_errc` with the file; for the log as `StreamLogFiles`. Threads: any.
class FollowedFiles {
 public:
  /// Checks the options. Errors: `data_errc::bad_batch_size`; `no_files` if the directory does not exist;
  /// `stream_errc::other_batch_size`.
  DISTRIB_DECL FollowedFiles(FollowedFilesOptions options, ErrorRef to);

  [[nodiscard]] auto options() const noexcept -> const FollowedFilesOptions& { return options_; }

  /// True if the log has this batch, and its files are open. If not, looks at the log and the directory, unless that was
  /// done a moment ago. Does not wait, except for the disk.
  ///
  /// Errors: `nothing_new` after a wait of `give_up_after`; `source_gone`, `source_replaced`, `records_expired` when
  /// that was so for `believe_after`; `let_go`. A damaged file in the directory: that, at once.
  [[nodiscard]] DISTRIB_DECL auto is_there(std::uint64_t batch, ErrorRef to) -> bool;

  /// Returns a batch; waits for it. Errors: as `is_there`.
  [[nodiscard]] DISTRIB_DECL auto wait_for(std::uint64_t batch, ErrorRef to) -> std::shared_ptr<const StreamBatch>;

  /// The job continues after so many batches. Errors: `log_behind` if the log does not have them, also after
  /// `believe_after`; `let_go` if it does not have the next one any more.
  DISTRIB_DECL void continue_after(std::uint64_t batches, ErrorRef to);

  /// No restart will ask for the first `batches` batches: drops from the log what only they need, and forgets files that
  /// are not in the directory any more and not in the log any more.
  DISTRIB_DECL void let_go(std::uint64_t batches, ErrorRef to);

  /// What the log was when this process looked last; null: it did not look, or there was none.
  [[nodiscard]] DISTRIB_DECL auto log() const -> SharedStreamLog;

 private:
  using Clock = std::chrono::steady_clock;

  // A file, open, and sums of its records that were asked for.
  struct Opened {
    std::string name;
    std::shared_ptr<const RecordFiles> files;
    std::map<std::uint64_t, StreamSum> sums;  // of the records before this one
  };
  // What tells a changed file from an unchanged one.
  struct Stamp {
    std::uint64_t inode = 0;
    std::uint64_t bytes = 0;
    std::int64_t changed_ns = 0;
    [[nodiscard]] auto operator==(const Stamp&) const -> bool = default;
  };
  struct Listed {
    std::string name;
    Stamp stamp;
  };
  // A file that the log has all records of, as it was then.
  struct Known {
    Stamp stamp;
    std::uint64_t records = 0;
  };

  [[nodiscard]] auto first_log() const -> StreamLog { return {options_.batch_size, {0}}; }
  [[nodiscard]] DISTRIB_DECL auto checked(SharedStreamLog log, Error& error) const -> SharedStreamLog;
  DISTRIB_DECL void check_begin(std::uint64_t batches, Error& error);
  DISTRIB_DECL void pause() const;
  [[nodiscard]] DISTRIB_DECL auto held(std::uint64_t batch, Error& error) -> std::shared_ptr<const StreamBatch>;
  [[nodiscard]] DISTRIB_DECL auto look_for(std::uint64_t batch, Error& error) -> std::shared_ptr<const StreamBatch>;
  DISTRIB_DECL void look(std::uint64_t batch, Error& error);
  [[nodiscard]] DISTRIB_DECL auto list(Error& error) const -> std::vector<Listed>;
  [[nodiscard]] DISTRIB_DECL auto news_of(const StreamLog& log, const Listed& file, Error& error)
      -> std::optional<StreamProposal>;
  [[nodiscard]] DISTRIB_DECL auto open(const std::string& name, std::uint64_t records, Error& error) -> Opened*;
  [[nodiscard]] DISTRIB_DECL auto sum_before(Opened& file, std::uint64_t record, Error& error) -> StreamSum;
  [[nodiscard]] DISTRIB_DECL auto open_range(const StreamRange& range, std::uint64_t first, Error& error) -> Opened*;

  static constexpr std::size_t most_open = 16;

  FollowedFilesOptions options_;
  mutable std::mutex mutex_;
  StreamLogFiles log_files_;
  SharedStreamLog log_;
  std::list<Opened> opened_;  // the one that was used last comes first
  std::map<std::string, Known, std::less<>> known_;
  std::optional<Clock::time_point> looked_;  // when the log did not get a batch
  std::optional<Clock::time_point> tried_;  // when a file of a batch could not be used
  std::optional<Clock::time_point> dry_since_;  // nothing new has come since then
  std::optional<Clock::time_point> unreadable_since_;  // a logged file was gone or another one since then
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/data/impl/followed_files.ipp>
#endif
