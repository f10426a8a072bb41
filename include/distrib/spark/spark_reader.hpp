// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/record/any_byte_source.hpp>
#include <distrib/record/byte_source.hpp>
#include <distrib/record/error.hpp>
#include <distrib/record/record_reader.hpp>
#include <distrib/spark/spark_decoder.hpp>
#include <distrib/spark/spark_directory.hpp>
#include <distrib/spark/spark_error.hpp>
#include <distrib/spark/spark_partitions.hpp>
#include <distrib/spark/spark_schema.hpp>
#include <distrib/spark/spark_type.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>

namespace distrib {
inline namespace v0 {

/// How rows are read.
struct SparkReadOptions {
  SparkRecordType record_type = SparkRecordType::example;  ///< The message type of the records.
  SparkRules rules = SparkRules::checked;  ///< What to do where the connector loses data or fails.
  RecordReaderOptions records{};  ///< How the files are read.
  /// Opens remote files: `open_webhdfs`, or your own function, for a table made by `arrange_spark_files`. Empty: the
  /// files are local.
  OpenRemote open{};
};

/// Reads the rows of a table, file after file:
///
///     for (const Click& click : SparkReader{list_spark_directory("clicks"), clicks}) ...
///
/// Partition columns are read from the names of directories, even if the records have a feature of that name. All other
/// columns are read from the records.
///
/// Errors: as an input range it throws `std::system_error`. `try_next` returns nothing, and `error()` has the reason:
/// `record_errc` for damaged files, the errors of `SparkDecoder` and `read_partition`, or the operating system's
/// reason; with the file, and with record and column if the failure is in one. The first failure is permanent.
///
/// Threads: one at a time. Movable before the first row is read.
template <class E, SparkMember... Ms> class SparkReader {
 public:
  class Iterator;

  /// Reads the files of `directory`, in its order, as rows of `schema`.
  SparkReader(SparkDirectory directory, const SparkSchema<E, Ms...>& schema, const SparkReadOptions& options = {})
      : directory_{std::move(directory)},
        schema_{schema},
        decoder_{schema, options.record_type, options.rules},
        options_{options} {
    const auto names = schema_.names();
    for (std::size_t k = 0; k < directory_.partition_columns.size(); ++k)
      for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i] == directory_.partition_columns[k].name) partition_of_[i] = k;
    for (std::size_t i = 0; i < names.size(); ++i)
      if (partition_of_[i]) decoder_.leave_out(names[i]);
  }

  /// Returns the next row, or nothing: at the end, or after a failure, which `error()` reports.
  [[nodiscard]] auto try_next() -> std::optional<E> {
    std::optional<E> row{std::in_place};
    if (!read(*row)) row.reset();
    return row;
  }

  /// Returns the first failure and its place; empty if there was none.
  [[nodiscard]] auto error() const noexcept -> const Error& { return error_; }

  /// Returns the number of rows read.
  [[nodiscard]] auto rows() const noexcept -> std::uint64_t { return rows_; }

  /// Returns an input iterator over the remaining rows. Trap: begin() reads a row, so call it only once.
  [[nodiscard]] auto begin() -> Iterator { return Iterator{*this}; }
  /// Returns the end of the range.
  [[nodiscard]] auto end() const noexcept -> std::default_sentinel_t { return {}; }

 private:
  auto read(E& row) -> bool {
    while (!error_) {
      if (reader_) {
        if (const auto record = reader_->try_next()) {
          row = of_file_;
          decoder_.decode(record->bytes, row, error_);
          if (error_)
            error_.where = detail::record_where(detail::shown_name(directory_.files[next_ - 1].path), record->number,
                                                record->offset) +
                           (error_.where.empty() ? "" : ", ") + error_.where;
          if (!error_) ++rows_;
          return !error_;
        }
        error_ = reader_->error();
        reader_.reset();
        if (error_) break;
      }
      if (next_ == directory_.files.size()) break;
      open(directory_.files[next_++]);
    }
    return false;
  }

  void open(const SparkDirectory::File& file) {
    of_file_ = E{};
    std::size_t i = 0;
    std::apply([&](const auto&... column) { (fill(i++, column, file), ...); }, schema_.bound());
    if (error_) return;
    std::error_code ec;
    if (options_.open) reader_.emplace(options_.open(file.path), file.path, options_.records);
    else reader_.emplace(file.path, options_.records, ec);
    if (ec) error_ = reader_->error();
  }

  template <class C> void fill(std::size_t i, const C& column, const SparkDirectory::File& file) {
    if (!partition_of_[i] || error_) return;
    const SparkPartitionValue& value = file.partition[*partition_of_[i]];
    if constexpr (SparkPartitionMember<typename C::Member>) {
      read_partition(value, of_file_.*column.member(), error_.code);
      if (!error_ && !value && !column.nullable()) error_.code = spark_errc::null_value;
    } else {
      error_.code = spark_errc::bad_partition_value;
    }
    if (error_)
      error_.where = detail::shown_name(file.path) + ": partition column \"" + std::string{column.name()} + "\", " +
                     (value ? '"' + *value + '"' : std::string{"null"});
  }

  SparkDirectory directory_;
  SparkSchema<E, Ms...> schema_;
  SparkDecoder<E, Ms...> decoder_;
  SparkReadOptions options_;
  std::array<std::optional<std::size_t>, sizeof...(Ms)> partition_of_{};
  std::optional<RecordReader> reader_;
  E of_file_{};  // defaults, and the values of the partition columns
  std::size_t next_ = 0;
  std::uint64_t rows_ = 0;
  Error error_;
};

/// Input iterator over the remaining rows of a reader. Throws `std::system_error` if the reader fails. Invalid after
/// the reader was moved.
template <class E, SparkMember... Ms> class SparkReader<E, Ms...>::Iterator {
 public:
  using iterator_concept = std::input_iterator_tag;
  using difference_type = std::ptrdiff_t;
  using value_type = E;

  /// Reads the next row of `reader`, which must outlive the iterator.
  explicit Iterator(SparkReader& reader) : reader_{&reader} { ++*this; }

  /// Return the current row; valid until the iterator is advanced. Not allowed at the end (not checked).
  [[nodiscard]] auto operator*() const noexcept -> const E& { return *row_; }
  [[nodiscard]] auto operator->() const noexcept -> const E* { return &*row_; }
  /// Reads the next row. Throws `std::system_error` if that fails.
  auto operator++() -> Iterator& {
    row_ = reader_->try_next();
    if (!row_) throw_if(reader_->error());
    return *this;
  }
  void operator++(int) { ++*this; }
  [[nodiscard]] auto operator==(std::default_sentinel_t) const noexcept -> bool { return !row_.has_value(); }

 private:
  SparkReader* reader_;
  std::optional<E> row_;
};

}  // namespace v0
}  // namespace distrib
