// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/data/stream_place.hpp>
#include <distrib/record/any_object_store.hpp>
#include <distrib/stream_log/stream_log.hpp>
#include <distrib/stream_log/stream_log_files.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace distrib {
inline namespace v0 {

/// How a stream is followed. A value.
struct FollowedStreamOptions {
  std::string log;  ///< Directory of the log, or the URL of a prefix.
  OpenObjectStore open_store = {};  ///< Opens the store of the log, if that is a URL.
  std::uint64_t batch_size = 0;  ///< Records of a batch.
  std::chrono::milliseconds look_every{200};  ///< How often the place and the log are looked at while waiting.
  std::chrono::milliseconds give_up_after{0};  ///< Error after so long a wait for new records; 0: none.
  std::chrono::milliseconds believe_after{10'000};  ///< For so long, what is gone or replaced may be seen late.
};

namespace detail {

/// How a followed stream tells the time, and waits. Tests have a clock of their own.
struct StreamClock {
  std::function<std::chrono::steady_clock::time_point()> now;
  std::function<void(std::chrono::milliseconds)> sleep;

  /// The clock of the system.
  [[nodiscard]] static DISTRIB_DECL auto of_system() -> StreamClock;
};

}  // namespace detail

/// The records of a place as batches: which records are in which batch stands in a log that all processes of a job
/// share (`StreamLogFiles`). The process that needs a batch which the log does not have looks at the place, and
/// proposes what it finds there. Before records are logged, and before they are used, they are compared with the log.
///
/// A store or a broker that does not answer is waited for, as new records are.
///
/// Errors: `stream_errc`, and those of the place; for the log as `StreamLogFiles`. Threads: any.
class FollowedStream {
 public:
  /// Reads the log. Errors: `data_errc::bad_batch_size`; `stream_errc::no_log`, `other_batch_size`.
  DISTRIB_DECL FollowedStream(std::unique_ptr<StreamPlace> place, FollowedStreamOptions options, ErrorRef to);
  /// The same with a log that lies elsewhere, and another clock.
  DISTRIB_DECL FollowedStream(std::unique_ptr<StreamPlace> place, FollowedStreamOptions options, StreamLogFiles log,
                              detail::StreamClock clock, ErrorRef to);

  [[nodiscard]] auto options() const noexcept -> const FollowedStreamOptions& { return options_; }
  /// What the data are, for messages.
  [[nodiscard]] auto kind() const -> std::string { return place_->kind(); }

  /// True if the log has this batch, and its records are at hand. If not, looks at the log and the place, unless that
  /// was done a moment ago. Does not wait, except for the disk, the store or the broker.
  ///
  /// Errors: `nothing_new` after a wait of `give_up_after`, or what the store or the broker answered last;
  /// `source_gone`, `source_replaced` when that was so for `believe_after`; `records_expired`; `let_go`. A damaged
  /// file in the directory: that, at once.
  [[nodiscard]] DISTRIB_DECL auto is_there(std::uint64_t batch, ErrorRef to) -> bool;

  /// Returns a batch; waits for it. Errors: as `is_there`.
  [[nodiscard]] DISTRIB_DECL auto wait_for(std::uint64_t batch, ErrorRef to) -> std::shared_ptr<const StreamBatch>;

  /// The job continues after so many batches. Errors: `log_behind` if the log does not have them, also after
  /// `believe_after`; `let_go` if it does not have the next one any more.
  DISTRIB_DECL void continue_after(std::uint64_t batches, ErrorRef to);

  /// No restart will ask for the first `batches` batches: drops from the log what only they need, and forgets sources
  /// that it does not name any more, and that were gone from the place for `believe_after`.
  DISTRIB_DECL void let_go(std::uint64_t batches, ErrorRef to);

  /// What the log was when this process looked last; null: it did not look, or there was none.
  [[nodiscard]] DISTRIB_DECL auto log() const -> SharedStreamLog;

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] auto first_log() const -> StreamLog { return {options_.batch_size, {0}}; }
  [[nodiscard]] DISTRIB_DECL auto checked(SharedStreamLog log, Error& error) const -> SharedStreamLog;
  DISTRIB_DECL void check_begin(std::uint64_t batches, Error& error);
  DISTRIB_DECL void pause() const;
  [[nodiscard]] DISTRIB_DECL auto look_for(std::uint64_t batch, Error& error) -> std::shared_ptr<const StreamBatch>;
  DISTRIB_DECL void look(std::uint64_t batch, Error& error);
  [[nodiscard]] DISTRIB_DECL auto held(std::uint64_t batch, Error& error) -> std::shared_ptr<const StreamBatch>;

  FollowedStreamOptions options_;
  mutable std::mutex mutex_;
  std::unique_ptr<StreamPlace> place_;
  StreamLogFiles log_files_;
  detail::StreamClock clock_;
  SharedStreamLog log_;
  std::optional<Clock::time_point> looked_;  // when the log did not get a batch
  std::optional<Clock::time_point> tried_;  // when the records of a batch could not be used
  std::optional<Clock::time_point> dry_since_;  // nothing new has come since then
  // Since when the records of a batch were gone or others, and since when the place did not have a source.
  std::map<std::uint64_t, Clock::time_point> unreadable_since_;
  std::map<std::string, Clock::time_point, std::less<>> missing_since_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/data/impl/followed_stream.ipp>
#endif
