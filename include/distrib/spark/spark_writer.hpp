// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/files.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/record/compression.hpp>
#include <distrib/record/record_writer.hpp>
#include <distrib/spark/spark_encoder.hpp>
#include <distrib/spark/spark_error.hpp>
#include <distrib/spark/spark_partitions.hpp>
#include <distrib/spark/spark_schema.hpp>
#include <distrib/spark/spark_type.hpp>
#include <distrib/spark/spark_write_job.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// How rows are written.
struct SparkWriteOptions {
  SparkRecordType record_type = SparkRecordType::example;  ///< The message type of the records.
  SparkRules rules = SparkRules::checked;  ///< What to do where the connector loses data or fails.
  SaveMode mode = SaveMode::error_if_exists;  ///< What to do if the path already exists.
  Compression compression = Compression::none;  ///< gzip: files "....gz"; zlib: "....deflate".
  std::vector<std::string> partition_by{};  ///< Columns whose values become names of directories, the outermost first.
  std::uint64_t rows_per_file = 0;  ///< Begin another file after this many rows; 0: never.
  /// Most files open at once; a directory whose file was closed gets another file. 0 counts as 1.
  std::size_t open_files = 64;
};

namespace detail {

/// Returns the name that Spark uses for a file: "part-00003-ID-c001.tfrecord.gz" is the second file of task 3. Below
/// partitions: "...ID.c001...".
[[nodiscard]] DISTRIB_DECL auto spark_file_name(std::size_t task, std::string_view job_id, std::size_t file,
                                                Compression compression, bool partitioned) -> std::string;

}  // namespace detail

/// Writes rows as a directory that Spark reads: part files, _SUCCESS, and directories "k=v" for partitions.
///
///     SparkWriter writer{"clicks", clicks, {.mode = SaveMode::overwrite, .partition_by = {"day"}}};
///     for (const Click& click : ...) writer.write(click);
///     writer.commit();
///
/// Nothing appears at the path before `commit()`; a writer that is destroyed without it leaves nothing. Partition
/// columns (Boolean, Integer, Long, String, or nullable) are not in the records. `checked` refuses texts that Spark
/// reads as null ("", and the name of the directory for null); `like_connector` writes them.
///
/// Errors: thrown as `std::system_error`, or set in `ec` by the other overload. The first failure is permanent, and
/// `error()` has its place. The errors are those of SparkWriteJob, SparkEncoder and RecordWriter;
/// `spark_errc::unknown_column`, `duplicate_column` or `unsupported_type` for `partition_by`; `bad_partition_value`;
/// `closed`.
///
/// Threads: one at a time. Not movable.
template <class E, SparkMember... Ms> class SparkWriter {
 public:
  /// Writes a whole table. Throws `std::system_error`.
  SparkWriter(std::string path, const SparkSchema<E, Ms...>& schema, const SparkWriteOptions& options = {})
      : SparkWriter{SparkWriteJob{std::move(path), draw_job_id(), options.mode}, 0, true, schema, options} {
    throw_if(error_);
  }
  /// This overload sets `ec` and `error()` on failure instead of throwing.
  SparkWriter(std::string path, const SparkSchema<E, Ms...>& schema, const SparkWriteOptions& options,
              std::error_code& ec)
      : SparkWriter{SparkWriteJob{std::move(path), draw_job_id(), options.mode}, 0, true, schema, options} {
    ec = error_.code;
  }

  /// Writes the rows of task `task` of a job that was started; `commit()` then commits the task. The mode of the job is
  /// used, not the mode of `options`. Throws `std::system_error`.
  SparkWriter(const SparkWriteJob& job, std::size_t task, const SparkSchema<E, Ms...>& schema,
              const SparkWriteOptions& options = {})
      : SparkWriter{job, task, false, schema, options} {
    throw_if(error_);
  }

  SparkWriter(SparkWriter&&) = delete;

  ~SparkWriter() {
    if (!closed_) abort();
  }

  /// True if the path existed and the mode is `ignore`: rows are then dropped.
  [[nodiscard]] auto ignored() const noexcept -> bool { return ignored_; }

  /// Adds a row; drops it if `ignored()`. After `commit()` or `abort()`: `spark_errc::closed`.
  void write(const E& row) {
    add(row);
    if (error_) throw_if(error_);
  }
  void write(const E& row, std::error_code& ec) {
    add(row);
    ec = error_.code;
  }

  /// Closes the files and publishes the table, or commits the task. If that fails, removes what was written. A second
  /// call does nothing more: after a failure it reports that failure again.
  void commit() {
    std::error_code ec;
    commit(ec);
    throw_if(error_);
  }
  void commit(std::error_code& ec) {
    if (!error_ && !closed_ && !ignored_) finish();
    closed_ = closed_ || !error_;
    ec = error_.code;
  }

  /// Removes what was written and not committed. Reports no errors: what cannot be removed stays. May be called again.
  void abort() noexcept {
    parts_.clear();
    if (!attempt_.empty()) SparkWriteJob::discard(attempt_);
    if (whole_ && started_) job_.abort();
    closed_ = true;
  }

  /// Returns the first failure and its place; empty if there was none.
  [[nodiscard]] auto error() const noexcept -> const Error& { return error_; }

  /// Returns the number of rows written.
  [[nodiscard]] auto rows() const noexcept -> std::uint64_t { return rows_; }

 private:
  /// The files of one directory.
  struct Part {
    std::optional<RecordWriter> writer;  // empty: the next row begins a file
    std::size_t files = 0;
    std::uint64_t used = 0;  // the number of the last row
  };

  SparkWriter(SparkWriteJob job, std::size_t task, bool whole, const SparkSchema<E, Ms...>& schema,
              const SparkWriteOptions& options)
      : job_{std::move(job)},
        task_{task},
        whole_{whole},
        schema_{schema},
        encoder_{schema, options.record_type, options.rules},
        options_{options} {
    choose_partitions();
    if (!error_ && whole_) {
      started_ = job_.start(error_);
      ignored_ = !started_ && !error_;
    }
    if (!error_ && !ignored_) attempt_ = job_.begin_task(task_, error_);
    if (!error_ && !ignored_ && options_.partition_by.empty())
      open({}, parts_[std::string{}]);  // one file even without rows, as in Spark
    if (error_) abort();
  }

  void choose_partitions() {
    const auto columns = schema_.columns();
    for (std::size_t k = 0; k < options_.partition_by.size() && !error_; ++k) {
      const std::string& name = options_.partition_by[k];
      const std::string where = "partition_by \"" + name + '"';
      if (!encoder_.leave_out(name)) error_ = {spark_errc::unknown_column, where};
      for (std::size_t i = 0; i < columns.size() && !error_; ++i) {
        if (columns[i].name != name) continue;
        const SparkType::Kind kind = columns[i].type.kind;
        const bool fits =
            columns[i].type.arrays == 0 && (kind == SparkType::Kind::boolean || kind == SparkType::Kind::integer ||
                                            kind == SparkType::Kind::long_ || kind == SparkType::Kind::string);
        if (!fits) error_ = {spark_errc::unsupported_type, where + ": " + to_text(columns[i].type)};
        if (partition_of_[i]) error_ = {spark_errc::duplicate_column, where};
        partition_of_[i] = k;
      }
    }
    values_.resize(options_.partition_by.size());
  }

  void add(const E& row) {
    if (!error_ && closed_) fail(spark_errc::closed, "");
    if (error_ || ignored_) return;
    const ByteView record = encoder_.encode(row, error_);
    if (error_) error_.where = where() + ", " + error_.where;
    const std::string directory = error_ ? std::string{} : directory_for(row);
    if (error_) return;
    Part& part = parts_[directory];
    part.used = rows_;
    if (!part.writer) open(directory, part);
    if (error_) return;
    std::error_code ec;
    part.writer->append(record, ec);
    if (ec) error_ = part.writer->error();
    ++rows_;
    if (!error_ && part.writer->records() == options_.rows_per_file) close(part);
  }

  /// Returns the directory of a row: "day=3/kind=a%2Fb".
  auto directory_for(const E& row) -> std::string {
    if (values_.empty()) return {};
    std::size_t i = 0;
    schema_.for_each(row, [&](const auto& column, const auto& value) {
      if (const auto k = partition_of_[i++]) take_value(column, value, values_[*k]);
    });
    std::string directory;
    for (std::size_t k = 0; k < values_.size(); ++k)
      directory.append(k == 0 ? "" : "/").append(partition_directory({options_.partition_by[k], values_[k]}));
    return directory;
  }

  template <class C, class T> void take_value(const C& column, const T& value, SparkPartitionValue& to) {
    if constexpr (detail::is_optional<T>) {
      if (value) return take_value(column, *value, to);
      to.reset();
      if (!column.nullable()) fail(spark_errc::null_value, column.name());
    } else if constexpr (SparkPartitionMember<T> && !std::is_same_v<T, SparkDecimal> &&
                         !std::is_same_v<T, std::vector<std::byte>>) {
      to = detail::partition_text(value);
      const bool null = to->empty() || *to == null_partition;
      if (null && options_.rules == SparkRules::checked) fail(spark_errc::bad_partition_value, column.name());
    }
  }

  void open(const std::string& directory, Part& part) {
    const auto open_parts =
        std::count_if(parts_.begin(), parts_.end(), [](const auto& p) { return p.second.writer.has_value(); });
    if (static_cast<std::size_t>(open_parts) >= std::max<std::size_t>(options_.open_files, 1)) close_oldest();
    const std::string where = directory.empty() ? attempt_ : detail::join_path(attempt_, directory);
    if (!error_) detail::make_directories(where, error_.code);
    if (error_) {
      if (error_.where.empty()) error_.where = where;
      return;
    }
    const std::string name =
        detail::spark_file_name(task_, job_.id(), part.files++, options_.compression, !directory.empty());
    std::error_code ec;
    part.writer.emplace(detail::join_path(where, name),
                        RecordWriterOptions{.compression = options_.compression, .rename_on_close = true}, ec);
    if (ec) error_ = part.writer->error();
  }

  void close(Part& part) {
    std::error_code ec;
    part.writer->close(ec);
    if (ec && !error_) error_ = part.writer->error();
    part.writer.reset();
  }

  void close_oldest() {
    Part* oldest = nullptr;
    for (auto& [directory, part] : parts_)
      if (part.writer && (oldest == nullptr || part.used < oldest->used)) oldest = &part;
    if (oldest != nullptr) close(*oldest);
  }

  void finish() {
    for (auto& [directory, part] : parts_)
      if (part.writer) close(part);
    if (!error_) job_.commit_task(task_, attempt_, error_);
    if (!error_ && whole_) job_.commit(1, error_);
    if (error_) abort();
  }

  auto where() const -> std::string { return job_.path() + ": row " + std::to_string(rows_); }

  void fail(spark_errc code, std::string_view column) {
    error_ = {code, where() + (column.empty() ? "" : ", column \"" + std::string{column} + '"')};
  }

  SparkWriteJob job_;
  std::size_t task_;
  bool whole_;  // true: this writer started the job
  SparkSchema<E, Ms...> schema_;
  SparkEncoder<E, Ms...> encoder_;
  SparkWriteOptions options_;
  std::array<std::optional<std::size_t>, sizeof...(Ms)> partition_of_{};  // for each column its index in partition_by
  std::vector<SparkPartitionValue> values_;
  std::string attempt_;
  std::map<std::string, Part> parts_;
  std::uint64_t rows_ = 0;
  bool started_ = false;
  bool ignored_ = false;
  bool closed_ = false;
  Error error_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/spark/impl/spark_writer.ipp>
#endif
