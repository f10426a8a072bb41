// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/data/batch_source.hpp>
#include <distrib/data/followed_files.hpp>
#include <distrib/data/order/error.hpp>
#include <distrib/data/tfrecords.hpp>
#include <distrib/example/batch.hpp>
#include <distrib/example/example_parser.hpp>
#include <distrib/example/schema.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace distrib {
inline namespace v0 {

/// Batches of followed files; a BatchSource that waits. Opened by a `FollowFilesDataset`. Copies share the files.
///
/// Beside the members of a BatchSource it has those of `detail::WaitsForBatches`. It never ends, and it has no order
/// for an evaluation: `in_order_batches()` is 0.
///
/// Threads: const access from any thread, each with a batch of its own.
template <class E, FeatureMember... Ms> class FollowFilesSource {
 public:
  using ExampleType = E;

  FollowFilesSource(std::shared_ptr<FollowedFiles> files, const Schema<E, Ms...>& schema)
      : files_{std::move(files)}, schema_{schema} {}

  /// Fills `batch` with batch `number`, from 0; waits until the files have it. Errors: as `FollowedFiles::wait_for` and
  /// `TfRecordSource::fill`. The batch is then empty.
  void fill(std::uint64_t number, Batch<E>& batch, ErrorRef to) const {
    detail::ErrorOut error{to};
    batch = {};
    const std::shared_ptr<const StreamBatch> held = files_->wait_for(number, error);
    if (error) return;
    ExampleParser<E, Ms...> parser{schema_, batch, held->size(), held};
    for (std::size_t i = 0; i < held->size(); ++i) {
      const ByteView bytes = held->at(i, error);
      if (error) return;
      parser.add(bytes, error);
      if (!error) continue;
      error.where = held->where(i) + (error.where.empty() ? "" : ", ") + error.where;
      return;
    }
    parser.finish();
  }

  /// This overload throws the error as `std::system_error`.
  void fill(std::uint64_t number, Batch<E>& batch) const {
    Error error;
    fill(number, batch, error);
    throw_if(error);
  }

  /// Always fails: a stream has no end, so it cannot be read in order from its beginning to its end.
  void fill_in_order(std::uint64_t number, Batch<E>& batch) const {
    batch = {};
    throw_error(data_errc::no_such_batch, "part " + std::to_string(number) + " of a stream");
  }

  [[nodiscard]] auto batch_size() const noexcept -> std::uint64_t { return files_->options().batch_size; }
  /// So many that no job comes to the end.
  [[nodiscard]] auto batches() const noexcept -> std::optional<std::uint64_t> { return std::uint64_t{1} << 62; }
  [[nodiscard]] auto in_order_batches() const noexcept -> std::uint64_t { return 0; }
  [[nodiscard]] auto records() const noexcept -> std::uint64_t { return 0; }
  [[nodiscard]] auto describe() const -> std::string { return "followed files batch=" + std::to_string(batch_size()); }

  /// True if `fill` of this batch need not wait for records. Throws what `FollowedFiles::is_there` reports.
  [[nodiscard]] auto is_there(std::uint64_t number) const -> bool {
    Error error;
    const bool found = files_->is_there(number, error);
    throw_if(error);
    return found;
  }
  /// The job continues after so many batches. Throws what `FollowedFiles::continue_after` reports.
  void continue_after(std::uint64_t count) const {
    Error error;
    files_->continue_after(count, error);
    throw_if(error);
  }
  /// No restart asks for the first `count` batches. If the log cannot be written, the next call drops more.
  void let_go(std::uint64_t count) const {
    Error ignored;
    files_->let_go(count, ignored);
  }

 private:
  std::shared_ptr<FollowedFiles> files_;
  Schema<E, Ms...> schema_;
};

/// Files to follow, with a schema and a batch size; a Dataset. Made by `FollowFiles::schema`. A value.
template <class E, FeatureMember... Ms> class FollowFilesDataset {
 public:
  using ExampleType = E;
  using Source = FollowFilesSource<E, Ms...>;

  FollowFilesDataset(FollowedFilesOptions options, const Schema<E, Ms...>& schema)
      : options_{std::move(options)}, schema_{schema} {}

  /// Sets the number of records in a batch, 1 .. 2^31. Must be called.
  [[nodiscard]] auto batch(std::uint64_t records) const -> FollowFilesDataset {
    FollowFilesDataset copy = *this;
    copy.options_.batch_size = records;
    return copy;
  }

  /// Opens the log; reads no data. Errors: as the constructor of `FollowedFiles`.
  [[nodiscard]] auto open(ErrorRef to) const -> std::optional<Source> {
    detail::ErrorOut error{to};
    auto files = std::make_shared<FollowedFiles>(options_, error);
    if (error) return std::nullopt;
    return Source{std::move(files), schema_};
  }

  /// This overload throws the error as `std::system_error`.
  [[nodiscard]] auto open() const -> Source {
    Error error;
    return *detail::or_throw(open(error), error);
  }

 private:
  FollowedFilesOptions options_;
  Schema<E, Ms...> schema_;
};

/// Trains from TFRecord files that are added to a directory while the job runs:
///
///     const auto clicks = FollowFiles{.directory = "incoming", .log = "run/stream"}
///                             .schema(feature("x", &Click::x), feature("y", &Click::y))
///                             .batch(64);
///
/// A file is visible when its name is: write it as "_NAME" or ".NAME" in the same directory, then rename it. Files are
/// taken in the order in which they appear, those that appear together in the order of their names. Which records are in
/// which batch is written into `log` before any task computes with it: so every restart has the same batches, and ends
/// with the same bits. A step whose records are not there yet is waited for.
///
/// Do not change or remove a file before the oldest kept checkpoint is newer than its records. A file may be replaced by
/// a longer one that begins with the same records. See docs/guide/streams.md.
struct FollowFiles {
  std::string directory;  ///< Where the files are added. All tasks see it, under any path.
  std::string pattern = "*";  ///< Names of the files, with *, ? and [].
  std::string log;  ///< Directory of the log. All tasks share it, no other job uses it. It is created.
  std::chrono::milliseconds look_every{200};  ///< How often a waiting task looks at the directory.
  /// The job ends with `stream_errc::nothing_new` if no new records came for so long. 0: it waits without end.
  std::chrono::milliseconds give_up_after{0};
  /// A file that is in the log, and gone or replaced for so long, ends the job; a shared file system may show it late.
  std::chrono::milliseconds believe_after{10'000};
  std::uint64_t max_inflated_bytes = std::uint64_t{1} << 30;  ///< Limit for each compressed file, which is in memory.

  /// Says which feature of a record fills which member: as `TfRecords::schema`.
  template <class... Fs>
    requires(detail::is_feature_of<Fs, typename detail::RecordOf<Fs...>::Type> && ...)
  [[nodiscard]] auto schema(Fs... features) const {
    using E = typename detail::RecordOf<Fs...>::Type;
    return schema(Schema<E, typename Fs::Member...>{features...});
  }
  template <class... Fs> auto schema(Fs...) const -> detail::NoDataset {
    detail::explain_schema<typename detail::RecordOf<Fs...>::Type, Fs...>();
    return {};
  }

  /// This overload takes a schema that `distrib::schema` has made.
  template <class E, FeatureMember... Ms>
  [[nodiscard]] auto schema(const Schema<E, Ms...>& made) const -> FollowFilesDataset<E, Ms...> {
    return {{.directory = directory,
             .pattern = pattern,
             .log = log,
             .batch_size = 0,
             .look_every = look_every,
             .give_up_after = give_up_after,
             .believe_after = believe_after,
             .max_inflated_bytes = max_inflated_bytes},
            made};
  }
};

}  // namespace v0
}  // namespace distrib
