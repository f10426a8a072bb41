// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http.
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/record/error.hpp>
#include <distrib/record/index_object.hpp>
#include <distrib/record/record_writer.hpp>
#include <distrib/record/sharded_writer.hpp>
#include <distrib/record/sink_record_writer.hpp>
#include <distrib/remote/s3/s3_client.hpp>
#include <distrib/remote/s3/s3_location.hpp>
#include <distrib/remote/s3/s3_options.hpp>
#include <distrib/remote/s3/s3_session.hpp>
#include <distrib/remote/s3/s3_writer.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>

namespace distrib {
inline namespace v0 {

/// Writes a set of objects with TFRecords, NAME-00000-of-00010 and so on, as `ShardedRecordWriter` writes files. No object
/// is visible before `close`; if one cannot be finished then, those that were finished are deleted again. With
/// `RecordWriterOptions::index` the index of each object (`.NAME.index`) is written after all objects: data sets are then
/// opened without reading the objects.
///
///     S3ShardedWriter writer{"s3://bucket/data/train", 10, options, {.index = true}};
///
/// Errors: each call has an overload that throws `std::system_error` and one that sets `to`. The first failure is final,
/// and names the object. If only an index cannot be written, `close` reports that, and the objects stay.
///
/// Memory: for each shard what `S3Writer` and `SinkRecordWriter` hold. Threads: one at a time.
class S3ShardedWriter {
 public:
  /// `url`: what the URLs of the objects begin with. Throws `std::system_error`: `s3_errc::bad_url`;
  /// `record_errc::no_such_shard` for 0 shards; as `SinkRecordWriter`.
  S3ShardedWriter(const std::string& url, std::size_t shards, const S3Options& options = {},
                  const RecordWriterOptions& writing = {})
      : with_index_{writing.index} {
    if (shards == 0) throw_error(record_errc::no_such_shard, detail::shown_url(url) + ": 0 shards");
    Error error;
    S3Options shared = options;
    const S3Location location = S3Location::parse(url, error);
    if (!error) shared.session = session_ = S3Session::open(location, options, error);
    throw_if(error);
    for (std::size_t shard = 0; shard < shards; ++shard) {
      std::string name = shard_name(url, shard, shards);
      S3Writer sink{name, shared};
      throw_if(sink.error());
      shards_.emplace_back(std::move(sink), std::move(name), writing);
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

  /// Makes all objects visible, then writes their indexes.
  void close(ErrorRef to) {
    if (!error_ && !closed_) {
      closed_ = true;
      S3Client client{session_};
      std::size_t finished = 0;
      for (; finished < shards_.size() && !error_; ++finished) shards_[finished].close(error_);
      for (std::size_t i = 0; error_ && i + 1 < finished; ++i) {
        Error ignored;
        client.remove(key_of(shards_[i].name()), ignored);
      }
      for (std::size_t i = 0; with_index_ && !error_ && i < shards_.size(); ++i) write_index(client, shards_[i]);
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
  using Shard = SinkRecordWriter<S3Writer>;

  static auto key_of(const std::string& url) -> std::string {
    Error ignored;  // it was parsed before
    return S3Location::parse(url, ignored).key;
  }

  void write_index(S3Client& client, const Shard& shard) {
    std::string stored_version = shard.sink().version();
    if (stored_version.empty()) stored_version = client.info(key_of(shard.name()), error_).version;
    if (!error_)
      client.put(key_of(index_object_name(shard.name())), encode_index_object(stored_version, shard.offsets()), error_);
  }

  std::shared_ptr<S3Session> session_;
  std::deque<Shard> shards_;
  std::size_t turn_ = 0;
  bool with_index_;
  bool closed_ = false;
  Error error_;
};

}  // namespace v0
}  // namespace distrib
