// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {

/// Why rows and directories of Spark could not be read or written. Other failures keep their own codes: `record_errc`
/// for damaged files, `example_errc::malformed` for bytes that are not an Example, and the operating system's codes.
enum class spark_errc {
  unsupported_type = 1,  ///< Records cannot hold a column of this type. Change its type, or the record type.
  unknown_record_type,  ///< The record type is neither Example nor SequenceExample. Use one of these, in this spelling.
  null_value,  ///< A column that is not nullable is null. Write a value, or bind a std::optional.
  wrong_kind,  ///< A feature holds another kind of list than its column. Change the column or the records.
  wrong_count,  ///< A feature has no or several values, but its column takes one. Bind a std::vector.
  out_of_range,  ///< A number does not fit its column, or float32 in a record. Use a wider type.
  no_kind,  ///< A feature has no kind, which the connector refuses. Use `SparkRules::checked`.
  no_steps,  ///< A feature list is empty, which the connector refuses. Use `SparkRules::checked`.
  kind_conflict,  ///< A feature has different kinds in different records. Write one kind.
  too_many_columns,  ///< The records have more than 100 000 different names. Check what the files contain.
  duplicate_column,  ///< A column is named twice (in a schema, a path, `partition_by`), or a member is bound twice.
  unknown_column,  ///< The schema has no column of this name. Check `partition_by`.
  mixed_partitions,  ///< Files of one table have different partition columns. Read one of the directories alone.
  /// The value in a directory's name does not fit its column: bind a std::string. Or a value to write is "" or the name
  /// for null, which Spark reads as null: write null.
  bad_partition_value,
  already_exists,  ///< The path already exists. Use another `SaveMode`, or another path.
  /// A directory has no _SUCCESS, or a task has not committed: the writer still runs, or failed. Wait, or do not
  /// require _SUCCESS.
  unfinished,
  no_files,  ///< The directory has no file of records. Check the path; names that begin with "_" or "." are skipped.
  closed,  ///< A row was written after `commit()` or `abort()`. Write all rows before them.
  /// The table at the path has the id of the job that is to be started. Draw another id for each job; to finish an
  /// interrupted job call `commit`, not `start`.
  used_id,
  /// A job was killed while it replaced the table, or does so now. The old table is at the place that is named,
  /// "DIRECTORY/.NAME.ID.old": call `commit` or `abort` of the job with that id, or rename it to NAME or remove it.
  half_replaced,
};

namespace detail {
inline constexpr ErrorText spark_texts[] = {
    {spark_errc::unsupported_type, failure::unsupported,
     "records cannot hold a column of this type: change its type, or the record type"},
    {spark_errc::unknown_record_type, failure::invalid_argument,
     "the record type must be Example or SequenceExample, in this spelling"},
    {spark_errc::null_value, failure::mismatch,
     "the column does not allow null values: write a value, or bind a std::optional"},
    {spark_errc::wrong_kind, failure::mismatch,
     "the feature has another kind than the column: correct the column or the records"},
    {spark_errc::wrong_count, failure::mismatch, "the column takes exactly one value: bind a std::vector for several"},
    {spark_errc::out_of_range, failure::mismatch, "the number does not fit its column, or float32: use a wider type"},
    {spark_errc::no_kind, failure::mismatch,
     "the feature has no kind (bytes, float or int64), which the connector refuses: use SparkRules::checked, which "
     "takes it as null"},
    {spark_errc::no_steps, failure::mismatch,
     "the feature list is empty, which the connector refuses: use SparkRules::checked, which takes it as an array of "
     "arrays"},
    {spark_errc::kind_conflict, failure::mismatch,
     "the feature has different kinds in different records: write one kind"},
    {spark_errc::too_many_columns, failure::exhausted,
     "the records have too many different features: check what the files contain"},
    {spark_errc::duplicate_column, failure::invalid_argument,
     "a column is named twice, or a member is bound twice: use each once"},
    {spark_errc::unknown_column, failure::invalid_argument,
     "the schema has no column of this name: check partition_by"},
    {spark_errc::mixed_partitions, failure::mismatch,
     "the files have different partition columns: read one of the directories alone"},
    {spark_errc::bad_partition_value, failure::mismatch,
     "the partition's value does not fit its column, or Spark would read it as null: bind a std::string, or write "
     "null"},
    {spark_errc::already_exists, failure::invalid_argument,
     "the path already exists: use another SaveMode, or another path"},
    {spark_errc::unfinished, failure::unavailable,
     "the table is not complete: a task has not committed, or there is no _SUCCESS; wait for its writer"},
    {spark_errc::no_files, failure::not_found,
     "no files of records at this path: check the path; names that begin with _ or . are skipped"},
    {spark_errc::closed, failure::invalid_argument, "the writer is closed: write all rows before commit"},
    {spark_errc::used_id, failure::invalid_argument,
     "the table at this path is already that of this job: draw another id, or call commit to finish the job"},
    {spark_errc::half_replaced, failure::unavailable,
     "a job that replaces the table has moved the old one here: commit or abort that job, or rename this to the table"},
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
