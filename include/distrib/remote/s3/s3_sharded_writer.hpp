// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http.
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/record/index_object.hpp>
#include <distrib/record/record_writer.hpp>
#include <distrib/record/sharded_sink_writer.hpp>
#include <distrib/record/sink_record_writer.hpp>
#include <distrib/remote/s3/s3_client.hpp>
#include <distrib/remote/s3/s3_location.hpp>
#include <distrib/remote/s3/s3_options.hpp>
#include <distrib/remote/s3/s3_session.hpp>
#include <distrib/remote/s3/s3_writer.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace distrib {
inline namespace v0 {

/// Writes a set of objects with TFRecords: a `ShardedSinkWriter`. With `RecordWriterOptions::index` the index of each
/// object (`.NAME.index`) is written after all objects: data sets are then opened without reading the objects.
///
///     S3ShardedWriter writer{"s3://bucket/data/train", 10, options, {.index = true}};
///
/// Errors: each call has an overload that throws `std::system_error` and one that sets `to`. The first failure is final,
/// and names the object. If only an index cannot be written, `close` reports that, and the objects stay.
///
/// Memory: for each shard what `S3Writer` and `SinkRecordWriter` hold. Threads: one at a time.
class S3ShardedWriter : public ShardedSinkWriter<S3Writer> {
 public:
  /// `url`: what the URLs of the objects begin with. Throws `std::system_error`: `s3_errc::bad_url`;
  /// `record_errc::no_such_shard` for 0 shards; as `SinkRecordWriter`.
  S3ShardedWriter(const std::string& url, std::size_t shards, const S3Options& options = {},
                  const RecordWriterOptions& writing = {})
      : ShardedSinkWriter{url, shards, place(url, options), writing} {}

 private:
  static auto place(const std::string& url, const S3Options& options) -> ShardPlace<S3Writer> {
    Error failed;
    S3Options shared = options;
    const S3Location location = S3Location::parse(url, failed);
    if (!failed) shared.session = S3Session::open(location, options, failed);
    throw_if(failed);
    return {.open =
                [shared](const std::string& name, Error& error) {
                  S3Writer sink{name, shared};
                  error = sink.error();
                  return sink;
                },
            .remove = [session = shared.session](const std::string& name,
                                                 Error& error) { S3Client{session}.remove(key_of(name), error); },
            .write_index = [session = shared.session](const SinkRecordWriter<S3Writer>& shard,
                                                      Error& error) { write_index(session, shard, error); }};
  }

  static auto key_of(const std::string& url) -> std::string {
    Error ignored;  // it was parsed before
    return S3Location::parse(url, ignored).key;
  }

  static void write_index(const std::shared_ptr<S3Session>& session, const SinkRecordWriter<S3Writer>& shard,
                          Error& error) {
    error = {};
    S3Client client{session};
    std::string stored_version = shard.sink().version();
    if (stored_version.empty()) stored_version = client.info(key_of(shard.name()), error).version;
    if (!error)
      client.put(key_of(index_object_name(shard.name())), encode_index_object(stored_version, shard.offsets()), error);
  }
};

}  // namespace v0
}  // namespace distrib
