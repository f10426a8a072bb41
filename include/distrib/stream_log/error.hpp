// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {

/// Why a stream log cannot be read, or why the records that it names cannot be read.
enum class stream_errc {
  /// The bytes are not a stream log, or are damaged. The place in the message says which. Restore the file from a copy,
  /// or remove it: the shard then takes the copy of another shard.
  bad_log = 1,
  /// The log was written by a newer version of the library, which has a kind of item that this one does not know. Start
  /// all tasks with the newer version.
  newer_version,
  /// A source that the log names cannot be found any more, or has fewer records than were logged. Put it back, or start
  /// a new job from a checkpoint.
  source_gone,
  /// A source has other records than those that were logged: it was replaced. Put the old one back under its name, give
  /// the new one another name, or start a new job from a checkpoint.
  source_replaced,
  /// Records that the job needs were removed from the front of their source, for example by the retention of a broker.
  /// Keep records for longer than the job may be away, and start a new job from a checkpoint.
  records_expired,
  /// No new records came for as long as `give_up_after` says. Start the program that writes them, or wait for longer.
  nothing_new,
  /// The log has fewer batches than the job has already trained on: it was removed, or belongs to another job. Put the
  /// log back, or start a new job with new directories for its log and its checkpoints.
  log_behind,
  /// The job needs a batch whose items were let go, because newer checkpoints do not need them. Continue from a newer
  /// checkpoint, or start a new job with a new directory for its log.
  let_go,
  /// The log was made for batches of another size. Use that size, or start a new job with a new directory for its log.
  other_batch_size,
  /// No place was named for the log. Set `FollowFiles::log` or `FollowTopic::log` to a directory, or to the URL of a
  /// prefix of an object store, that all tasks of the job share, and that no other job uses.
  no_log,
  /// The object store writes an object although it was told to write it only if there is none: two tasks could write
  /// different logs. Use a store with conditional writes; `distrib store check` tells.
  no_conditions,
};

namespace detail {
inline constexpr ErrorText stream_texts[] = {
    {stream_errc::bad_log, failure::corrupt,
     "not a stream log, or a damaged one: restore it from a copy, or remove it if another shard has a copy"},
    {stream_errc::newer_version, failure::unsupported,
     "the stream log was written by a newer version: start all tasks with that version"},
    {stream_errc::source_gone, failure::not_found,
     "the records are gone: put the source back, or start a new job from a checkpoint"},
    {stream_errc::source_replaced, failure::mismatch,
     "the source was replaced: put the old one back, or start a new job from a checkpoint"},
    {stream_errc::records_expired, failure::not_found,
     "the source has dropped records that the job needs: keep them for longer, start a new job from a checkpoint"},
    {stream_errc::nothing_new, failure::timeout,
     "no new records came: start the program that writes them, or wait for longer"},
    {stream_errc::log_behind, failure::mismatch,
     "the log is shorter than what the job has trained on: put the log back, or start a new job with new directories"},
    {stream_errc::let_go, failure::not_found,
     "the log has let go of this batch: continue from a newer checkpoint, or start a new job with a new log"},
    {stream_errc::other_batch_size, failure::mismatch,
     "the log has batches of another size: use that size, or start a new job with a new log"},
    {stream_errc::no_log, failure::invalid_argument,
     "set the log to a directory or a prefix of an object store that all tasks of the job share, and no other job "
     "uses"},
    {stream_errc::no_conditions, failure::unsupported,
     "the object store does not honour conditional writes, so two tasks could write different logs: use another store"},
};

/// Returns the category "distrib.stream_log".
[[nodiscard]] inline auto stream_category() noexcept -> const std::error_category& {
  static const TableCategory category{"distrib.stream_log", stream_texts};
  return category;
}

}  // namespace detail

[[nodiscard]] inline auto make_error_code(stream_errc value) noexcept -> std::error_code {
  return {static_cast<int>(value), detail::stream_category()};
}

}  // namespace v0
}  // namespace distrib

template <> struct std::is_error_code_enum<distrib::stream_errc> : std::true_type {};
