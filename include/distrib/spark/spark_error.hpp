// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {

/// Why rows and directories of Spark could not be read or written. Damaged files come as `record_errc`, bytes that are
/// no Example as `example_errc::malformed`, what the operating system refuses as its own code.
enum class spark_errc {
  unsupported_type = 1,  ///< Records cannot hold a column of this type. Change its type, or the type of record.
  unknown_record_type,   ///< A type of record is neither Example nor SequenceExample. Spell it so, case counts.
  null_value,            ///< A column that takes no nulls is null. Write it, or bind a std::optional.
  wrong_kind,            ///< A feature holds another kind of list than its column. Change the column or the records.
  wrong_count,           ///< A feature has no or several values, its column takes one. Bind a std::vector.
  out_of_range,          ///< A number does not fit its column, or float32 in a record. Use a wider type.
  no_kind,               ///< A feature has no kind, which the connector refuses. Use `SparkRules::checked`.
  no_steps,              ///< A feature list is empty, which the connector refuses. Use `SparkRules::checked`.
  kind_conflict,         ///< A feature has one kind in some records and another in others. Write one kind.
  too_many_columns,      ///< Records have more names than any table. Check what the files hold.
  duplicate_column,      ///< A column is named twice, or a member bound twice. Name each once.
  unknown_column,        ///< No column of the schema has this name. Check `partition_by`.
  mixed_partitions,      ///< Files of one directory stand under different partition columns. Read one of them alone.
  bad_partition_value,   ///< The value in a directory's name does not fit its column. Bind a std::string.
  already_exists,        ///< There is something at the path already. Take another `SaveMode`, or another path.
  unfinished,            ///< A directory has no _SUCCESS: its writer runs or died. Wait, or do not ask for it.
  no_files,  ///< A directory holds no file of records. Check the path; names with "_" or "." do not count.
  closed,  ///< A row was added after `commit()` or `abort()`. Add first, commit last.
};

namespace detail {
inline constexpr ErrorText spark_texts[] = {
    {spark_errc::unsupported_type, failure::unsupported, "records cannot hold a column of this type"},
    {spark_errc::unknown_record_type, failure::invalid_argument, "records are Example or SequenceExample, case counts"},
    {spark_errc::null_value, failure::mismatch, "the column does not allow null values"},
    {spark_errc::wrong_kind, failure::mismatch, "the feature has another kind than the column"},
    {spark_errc::wrong_count, failure::mismatch, "the column takes exactly one value"},
    {spark_errc::out_of_range, failure::mismatch, "the number does not fit"},
    {spark_errc::no_kind, failure::mismatch, "the feature has no kind"},
    {spark_errc::no_steps, failure::mismatch, "the feature list is empty"},
    {spark_errc::kind_conflict, failure::mismatch, "records disagree about the kind of a feature"},
    {spark_errc::too_many_columns, failure::exhausted, "the records have too many features"},
    {spark_errc::duplicate_column, failure::invalid_argument, "the schema names a column or binds a member twice"},
    {spark_errc::unknown_column, failure::invalid_argument, "the schema has no column of this name"},
    {spark_errc::mixed_partitions, failure::mismatch, "the files stand under different partition columns"},
    {spark_errc::bad_partition_value, failure::mismatch, "the partition's value does not fit its column"},
    {spark_errc::already_exists, failure::invalid_argument, "the path already exists"},
    {spark_errc::unfinished, failure::unavailable, "there is no _SUCCESS, so it is not finished"},
    {spark_errc::no_files, failure::not_found, "no file of records"},
    {spark_errc::closed, failure::invalid_argument, "the writer is closed"},
};

/// Category "distrib.spark".
[[nodiscard]] inline auto spark_category() noexcept -> const std::error_category& {
  static const TableCategory category{"distrib.spark", spark_texts};
  return category;
}

}  // namespace detail

[[nodiscard]] inline auto make_error_code(spark_errc value) noexcept -> std::error_code {
  return {static_cast<int>(value), detail::spark_category()};
}

}  // namespace v0
}  // namespace distrib

template <> struct std::is_error_code_enum<distrib::spark_errc> : std::true_type {};
