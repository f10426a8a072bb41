// SPDX-License-Identifier: Apache-2.0
// Not in the facade: only for remote files.
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/data/record_files.hpp>
#include <distrib/data/schema_calls.hpp>
#include <distrib/data/stream/pipeline.hpp>
#include <distrib/data/tfrecord_stream.hpp>
#include <distrib/data/tfrecords.hpp>
#include <distrib/example/schema.hpp>
#include <distrib/record/any_byte_source.hpp>
#include <distrib/record/byte_source.hpp>
#include <distrib/record/ranged_file.hpp>
#include <distrib/record/record_reader.hpp>
#include <distrib/record/remote_files.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// Opens the remote files of a stream.
template <RemoteFiles F> struct OpenRemoteFiles {
  using Reader = RecordReader;
  F files;
  auto find(Error& error) const -> std::vector<std::string> { return files.find(error); }
  auto operator()(const std::string& name, std::error_code&) const -> std::unique_ptr<Reader> {
    return std::make_unique<Reader>(files.open(name), name);
  }
};

}  // namespace detail

/// Remote record files: call `schema`, as with `TfRecords`, or `stream`. A value. Made by `tfrecords`.
template <RemoteFiles F> class RemoteTfRecords : public SchemaCalls<RemoteTfRecords<F>> {
 public:
  /// For `tfrecords`, which makes it: opens the files of `files`.
  explicit RemoteTfRecords(F files) : files_{std::move(files)} {}

  using SchemaCalls<RemoteTfRecords<F>>::schema;

  /// This overload takes a schema that `distrib::schema` has made. If files can be read at any place (`RangedFiles`), only
  /// the places of the records stay in memory, and records are fetched when they are needed; other files, and compressed
  /// ones, are read into memory when the data are opened: see `TfRecordDataset::max_inflated_bytes`.
  template <class E, FeatureMember... Ms>
  [[nodiscard]] auto schema(const Schema<E, Ms...>& schema) const -> TfRecordDataset<WholeOrder, E, Ms...> {
    return {{files_.name()}, schema, {}, [files = files_](const RecordFilesOptions& options, Error& error) {
              const std::vector<std::string> names = files.find(error);
              RemoteOpening open{[&files](const std::string& name) { return AnyByteSource{files.open(name)}; }};
              if constexpr (RangedFiles<F>)
                open.ranged = [&files](const std::string& name, Error& failed) { return files.ranged(name, failed); };
              if (!error) return RecordFiles{names, options, error, open};
              Error ignored;
              return RecordFiles{{}, options, ignored};
            }};
  }

  /// Returns the records one after the other, read while they arrive: see `TfRecords::stream`.
  [[nodiscard]] auto stream(std::int64_t cycle_length = 1, std::int64_t block_length = 1) const
      -> Pipeline<TfRecordStream<detail::OpenRemoteFiles<F>>> {
    return Pipeline{TfRecordStream<detail::OpenRemoteFiles<F>>{{}, cycle_length, block_length, {files_}}};
  }

 private:
  F files_;
};

/// Returns the data set of remote record files:
///
///     const auto digits = tfrecords(webhdfs("hdfs://namenode/data/train-*"))
///                             .schema(feature("image", &Digit::image), feature("label", &Digit::label));
template <RemoteFiles F> [[nodiscard]] auto tfrecords(F files) -> RemoteTfRecords<F> {
  return RemoteTfRecords<F>{std::move(files)};
}

}  // namespace v0
}  // namespace distrib
