// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/data/batch_source.hpp>
#include <distrib/data/find_files.hpp>
#include <distrib/data/order/batching.hpp>
#include <distrib/data/order/dataset_steps.hpp>
#include <distrib/data/order/order.hpp>
#include <distrib/data/order/order_steps.hpp>
#include <distrib/data/parallel_record_reader.hpp>
#include <distrib/data/record_files.hpp>
#include <distrib/data/schema_calls.hpp>
#include <distrib/data/split_stream.hpp>
#include <distrib/data/stream/pipeline.hpp>
#include <distrib/data/tfrecord_source.hpp>
#include <distrib/data/tfrecord_stream.hpp>
#include <distrib/example/schema.hpp>
#include <distrib/net/io_pool.hpp>

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Says which records to read, what they contain, in which order and how many in a batch; a Dataset. Every call returns
/// a copy with one more setting or step; the steps of the order (`interleave`, `shard`, `take`, `skip`, `filter`,
/// `ignore_errors`, `shuffle`, `repeat`) are in `DatasetSteps`. Without `repeat` the data are repeated without end. No
/// file is read before `open()`. Made by `tfrecords(...).schema(...)`.
///
/// A value; const access from any thread.
template <Order O, class E, FeatureMember... Ms>
class TfRecordDataset : public DatasetSteps<TfRecordDataset<O, E, Ms...>> {
 public:
  using ExampleType = E;
  using Element = E;  ///< The type that a predicate of `filter` gets.
  /// The order, with an endless repeat if it has none.
  using OpenOrder = std::conditional_t<O::repeats, O, RepeatedOrder<O>>;
  using Source = TfRecordSource<OpenOrder, E, Ms...>;

  /// Opens remote files: see `data/remote_tfrecords.hpp`.
  using OpenFiles = std::function<RecordFiles(const RecordFilesOptions&, Error&)>;

  /// For `TfRecords::schema` and `RemoteTfRecords::schema`, which make it. `files`: opens remote files. Empty: the
  /// files of `sources` are local.
  TfRecordDataset(std::vector<std::string> sources, const Schema<E, Ms...>& schema, O order = {}, OpenFiles files = {})
      : sources_{std::move(sources)}, open_files_{std::move(files)}, schema_{schema}, order_{std::move(order)} {}

  /// Returns the order of the records.
  [[nodiscard]] auto order() const noexcept -> const O& { return order_; }

  /// Returns the same data in another order.
  template <Order Other> [[nodiscard]] auto with_order(Other order) const -> TfRecordDataset<Other, E, Ms...> {
    return TfRecordDataset<Other, E, Ms...>{sources_, schema_, std::move(order), open_files_}
        .batch(batching_.size, batching_.remainder)
        .max_inflated_bytes(max_inflated_bytes_)
        .cache(cache_directory_, cache_bytes_);
  }

  /// Sets the number of records in a batch, 1 .. 2^31. Must be called; its place among the steps does not matter, and
  /// the last call counts. With `Remainder::keep`, records that are left at the end of the last epoch make a short
  /// batch. Trap: a trainer needs full batches.
  [[nodiscard]] auto batch(std::uint64_t records, Remainder remainder = Remainder::drop) const -> TfRecordDataset {
    TfRecordDataset copy = *this;
    copy.batching_ = {records, remainder};
    return copy;
  }

  /// Sets the limit for the files that are held in memory (compressed, remote, or damaged and read with
  /// `ignore_errors`): bytes of the payloads of all these files together, plus 16 bytes for each record. 1 GiB by
  /// default.
  [[nodiscard]] auto max_inflated_bytes(std::uint64_t bytes) const -> TfRecordDataset {
    TfRecordDataset copy = *this;
    copy.max_inflated_bytes_ = bytes;
    return copy;
  }

  /// Keeps what is read of remote files in a local directory, in pieces: each piece is fetched once, by whichever process
  /// needs it first, and a later epoch, or a later run, asks the server for nothing but the sizes of the files. For a
  /// global shuffle of records that are much smaller than a piece this is the way. `bytes`: limit for all pieces in the
  /// directory; the pieces that were not used for the longest time make room. A directory belongs to one machine, and
  /// any number of processes may share it. No effect on files of this machine. See `PieceCache`.
  [[nodiscard]] auto cache(std::string directory, std::uint64_t bytes) const -> TfRecordDataset {
    TfRecordDataset copy = *this;
    copy.cache_directory_ = std::move(directory);
    copy.cache_bytes_ = bytes;
    return copy;
  }

  /// Opens the data: finds the files, reads the headers of all records (or the index file beside a file), and reads
  /// compressed files into memory. Remote files are read once to find their records, unless the cache knows them.
  /// filter and ignore_errors read records, too.
  ///
  /// Errors: returns nothing and sets `to` to a `data_errc`, a `record_errc`, an `example_errc` or the operating
  /// system's reason, with its place.
  [[nodiscard]] auto open(ErrorRef to) const -> std::optional<Source> {
    detail::ErrorOut error{to};
    const RecordFilesOptions options{max_inflated_bytes_, O::forgives, cache_directory_, cache_bytes_};
    const auto paths = open_files_ ? std::vector<std::string>{} : find_files(sources_, error);
    if (error) return std::nullopt;
    RecordFiles files = open_files_ ? open_files_(options, error) : RecordFiles{paths, options, error};
    if (error) return std::nullopt;
    std::optional<Source> source{std::in_place, std::move(files), schema_, open_order(), batching_, error};
    if (!error) return source;
    if (!error.where.empty()) return std::nullopt;
    for (const std::string& path : sources_)
      error.where += (error.where.empty() ? "" : ", ") + detail::shown_name(path);
    return std::nullopt;
  }

  /// This overload throws the error as `std::system_error`.
  [[nodiscard]] auto open() const -> Source {
    Error error;
    return *detail::or_throw(open(error), error);
  }

 private:
  auto open_order() const -> OpenOrder {
    if constexpr (O::repeats) return order_;
    else return {order_, endless};
  }

  std::vector<std::string> sources_;
  OpenFiles open_files_;  // empty: the files of sources_
  Schema<E, Ms...> schema_;
  O order_;
  Batching batching_;
  std::uint64_t max_inflated_bytes_ = std::uint64_t{1} << 30;
  std::string cache_directory_;  // empty: no cache
  std::uint64_t cache_bytes_ = 0;
};

/// Record files whose content is not described yet: call `schema`. A value. Made by `tfrecords`.
class TfRecords : public SchemaCalls<TfRecords> {
 public:
  /// For `tfrecords`, which makes it.
  explicit TfRecords(std::vector<std::string> sources) : sources_{std::move(sources)} {}

  using SchemaCalls<TfRecords>::schema;

  /// This overload takes a schema that `distrib::schema` has made.
  template <class E, FeatureMember... Ms>
  [[nodiscard]] auto schema(const Schema<E, Ms...>& schema) const -> TfRecordDataset<WholeOrder, E, Ms...> {
    return {sources_, schema};
  }

  /// Returns the records themselves, one after the other, without an index: for pipes, and for compressed files that do
  /// not fit into memory. Up to `cycle_length` files are open, and each returns `block_length` records at its turn
  /// (TensorFlow's interleave). No file is touched before the first call of `next`, `state` or `resume` of the
  /// pipeline.
  ///
  /// Errors: `next` of the pipeline reports `data_errc::no_files`; `bad_interleave` if a number is not above 0; a
  /// `record_errc` with file, record and offset, or why a file cannot be opened. After a failure in a file the next
  /// call continues with the next file.
  template <class Reader = RecordReader>
  [[nodiscard]] auto stream(std::int64_t cycle_length = 1, std::int64_t block_length = 1) const
      -> Pipeline<TfRecordStream<OpenReader<Reader>>> {
    return Pipeline{TfRecordStream<OpenReader<Reader>>{sources_, cycle_length, block_length}};
  }

  /// This overload inflates and verifies the members of gzip files on the threads of `pool`, which must outlive the
  /// pipeline: see `ParallelRecordReader`. To move other work to a pool, see `Pipeline::prefetch`.
  template <class Reader = ParallelRecordReader>
  [[nodiscard]] auto stream(IoPool& pool, std::int64_t cycle_length = 1, std::int64_t block_length = 1) const
      -> Pipeline<TfRecordStream<OpenOnPool<Reader>>> {
    return Pipeline{TfRecordStream<OpenOnPool<Reader>>{sources_, cycle_length, block_length, {&pool}}};
  }

  /// Returns share `index` of `count` of the records; the shares are exact for any number of files: see `SplitStream`.
  ///
  /// Errors: `next` of the pipeline reports `data_errc::no_files`; `bad_shard` unless `count` is above 0 and `index` is
  /// from 0 to count - 1; a `record_errc` with file, record and offset, or the operating system's reason. After a
  /// failure in a file the next call continues with the next file.
  template <class Reader = SplitReader>
  [[nodiscard]] auto split_stream(std::int64_t count, std::int64_t index) const -> Pipeline<SplitStream<Reader>> {
    return Pipeline{SplitStream<Reader>{sources_, count, index}};
  }

  // These need a schema first: each fails to compile with a message that says so.
  constexpr auto interleave(auto... told) const -> detail::NoDataset { return schema_first<decltype(told)...>(); }
  constexpr auto shard(auto... told) const -> detail::NoDataset { return schema_first<decltype(told)...>(); }
  constexpr auto take(auto... told) const -> detail::NoDataset { return schema_first<decltype(told)...>(); }
  constexpr auto skip(auto... told) const -> detail::NoDataset { return schema_first<decltype(told)...>(); }
  constexpr auto filter(auto... told) const -> detail::NoDataset { return schema_first<decltype(told)...>(); }
  constexpr auto ignore_errors(auto... told) const -> detail::NoDataset { return schema_first<decltype(told)...>(); }
  constexpr auto shuffle(auto... told) const -> detail::NoDataset { return schema_first<decltype(told)...>(); }
  constexpr auto repeat(auto... told) const -> detail::NoDataset { return schema_first<decltype(told)...>(); }
  constexpr auto batch(auto... told) const -> detail::NoDataset { return schema_first<decltype(told)...>(); }
  constexpr auto open(auto&&... told) const -> detail::NoDataset { return schema_first<decltype(told)...>(); }

 private:
  template <class... Told> static constexpr auto schema_first() -> detail::NoDataset {
    constexpr bool has_schema = sizeof...(Told) > 1000;
    static_assert(
        has_schema,
        "distrib: tfrecords(...) needs .schema(feature(\"name\", &Struct::member), ...) before anything else: "
        "it says what a record contains");
    return {};
  }

  std::vector<std::string> sources_;
};

/// Returns the data set of the record files that `sources` name (files, directories, patterns with *, ? and []). Each
/// file may be plain, gzip or zlib, which is detected from its content:
///
///     const auto digits = tfrecords("data/train-*")
///                             .schema(feature("image", &Digit::image), feature("label", &Digit::label))
///                             .shuffle(7).batch(64);
template <std::convertible_to<std::string>... Paths> [[nodiscard]] auto tfrecords(Paths&&... sources) -> TfRecords {
  std::vector<std::string> paths;
  (paths.emplace_back(std::forward<Paths>(sources)), ...);
  return TfRecords{std::move(paths)};
}

/// This overload takes a list that was made at run time.
[[nodiscard]] inline auto tfrecords(std::vector<std::string> sources) -> TfRecords {
  return TfRecords{std::move(sources)};
}

}  // namespace v0
}  // namespace distrib
