// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/record/byte_sink.hpp>
#include <distrib/record/error.hpp>
#include <distrib/record/record_writer.hpp>
#include <distrib/record/sharded_writer.hpp>
#include <distrib/record/sink_record_writer.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>

namespace distrib {
inline namespace v0 {

/// Where the files of a `ShardedSinkWriter` are. All functions set or clear `error`.
template <ByteSink S>
struct ShardPlace {
  std::function<S(const std::string& name, Error& error)> open;  ///< Makes the sink of the file called `name`.
  /// Removes a file that was closed. Empty: files that were closed stay, also if another one cannot be closed.
  std::function<void(const std::string& name, Error& error)> remove = {};
  /// Writes the index of a file that was closed. Used with `RecordWriterOptions::index`.
  std::function<void(const SinkRecordWriter<S>& shard, Error& error)> write_index = {};
};

/// Writes a set of files with TFRecords, NAME-00000-of-00010 and so on, into sinks, for example `WebHdfsWriter`s, as
/// `ShardedRecordWriter` writes files on this machine. No file is visible before `close`; if one cannot be finished then,
/// those that were finished are removed again.
///
///     ShardedSinkWriter<WebHdfsWriter> writer{"hdfs://namenode/data/train", 10, {.open = [](const std::string& name, Error&) {
///       return WebHdfsWriter{name};
///     }}};
///
/// Errors: each call has an overload that throws `std::system_error` and one that sets `to`. The first failure is final,
/// and names the file. If only an index cannot be written, `close` reports that, and the files stay.
///
/// Memory: for each shard what its sink and `SinkRecordWriter` hold. Threads: one at a time.
template <ByteSink S>
class ShardedSinkWriter {
 public:
  /// `name`: what the names of the files begin with. Throws `std::system_error`: what `open` reports;
  /// `record_errc::no_such_shard` for 0 shards; as `SinkRecordWriter`.
  ShardedSinkWriter(const std::string& name, std::size_t shards, ShardPlace<S> place,
                    const RecordWriterOptions& writing = {})
      : place_{std::move(place)}, with_index_{writing.index} {
    if (shards == 0) throw_error(record_errc::no_such_shard, detail::shown_url(name) + ": 0 shards");
    for (std::size_t shard = 0; shard < shards; ++shard) {
      std::string file = shard_name(name, shard, shards);
      Error error;
      S sink = place_.open(file, error);
      throw_if(error);
      shards_.emplace_back(std::move(sink), std::move(file), writing);
    }
  }

  /// Adds a record to the next shard in turn.
  void append(ByteView payload, ErrorRef to) {
    append_to(turn_, payload, to);
    turn_ = (turn_ + 1) % shards_.size();
  }
  void append(ByteView payload) {
    Error error;
    append(payload, error);
    throw_if(error);
  }
  /// Adds a record to a shard. The turn of `append` does not change. `record_errc::no_such_shard` if there is none.
  void append_to(std::size_t shard, ByteView payload, ErrorRef to) {
    if (!error_ && shard >= shards_.size())
      error_ = {record_errc::no_such_shard,
                detail::shown_url(shards_.front().name()) + ": shard " + std::to_string(shard)};
    if (!error_) shards_[shard].append(payload, error_);
    to.set(Error{error_});
  }

  /// Makes all files visible, then writes their indexes.
  void close(ErrorRef to) {
    if (!error_ && !closed_) {
      closed_ = true;
      std::size_t finished = 0;
      for (; finished < shards_.size() && !error_; ++finished) shards_[finished].close(error_);
      for (std::size_t i = 0; error_ && place_.remove && i + 1 < finished; ++i) {
        Error ignored;
        place_.remove(shards_[i].name(), ignored);
      }
      for (std::size_t i = 0; with_index_ && place_.write_index && !error_ && i < shards_.size(); ++i)
        place_.write_index(shards_[i], error_);
    }
    to.set(Error{error_});
  }
  void close() {
    Error error;
    close(error);
    throw_if(error);
  }

  /// Returns the first failure, and where it happened; empty if there was none.
  [[nodiscard]] auto error() const noexcept -> const Error& { return error_; }
  /// Returns the number of records in all shards.
  [[nodiscard]] auto records() const noexcept -> std::uint64_t {
    std::uint64_t sum = 0;
    for (const auto& shard : shards_) sum += shard.records();
    return sum;
  }
  [[nodiscard]] auto shards() const noexcept -> std::size_t { return shards_.size(); }

 private:
  ShardPlace<S> place_;
  std::deque<SinkRecordWriter<S>> shards_;
  std::size_t turn_ = 0;
  bool with_index_;
  bool closed_ = false;
  Error error_;
};

}  // namespace v0
}  // namespace distrib
