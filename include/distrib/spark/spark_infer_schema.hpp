// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/example/example_view.hpp>
#include <distrib/example/feature.hpp>
#include <distrib/example/sequence_example_view.hpp>
#include <distrib/spark/spark_type.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Finds the columns that Spark would see in records. A feature with one value is a scalar, with several an array;
/// feature lists are always arrays of arrays. A kind that no record shows counts as String. With `checked` the columns
/// fit: a `SparkDecoder` with these columns decodes all of the records. With `like_connector` decoding may fail, as it
/// does in spark-tensorflow-connector.
///
/// | | `checked` | `like_connector` |
/// |---|---|---|
/// | kinds differ between records | `spark_errc::kind_conflict` | the highest of Long, Float, String; decoding fails |
/// | a scalar in some records, an array in others | an array | the same |
/// | a feature without values | an array of its kind | ignored; decoding may fail |
/// | a feature without a kind | null | `spark_errc::no_kind` |
/// | a feature list without steps | an array of arrays | `spark_errc::no_steps` |
/// | a feature list whose steps have no values | an array of arrays of their kind | an array of arrays of Null |
/// | a name in both context and feature lists | the feature lists | the higher type |
/// | a name that is not UTF-8 | as any other | `example_errc::malformed` |
/// | nullable | if a record lacks the column, or its kind | always |
///
/// Memory grows with the number of different names, up to `most_columns`.
///
/// Threads: one at a time.
class SparkSchemaInference {
 public:
  /// Limit for the number of different names.
  static constexpr std::size_t most_columns = 100'000;

  /// `record_type`: the format of all records. `rules`: how strictly they are read.
  explicit SparkSchemaInference(SparkRecordType record_type = SparkRecordType::example,
                                SparkRules rules = SparkRules::checked)
      : record_type_{record_type}, rules_{rules} {}

  /// Adds a record.
  ///
  /// Errors: sets `error` to `example_errc::malformed`, to an error of the table of the class with the name of the
  /// feature, or to `spark_errc::too_many_columns`. The features of the record before the wrong one are then counted
  /// already.
  DISTRIB_DECL void add(ByteView record, Error& error);

  /// Returns the number of records added.
  [[nodiscard]] auto records() const noexcept -> std::uint64_t { return records_; }

  /// Returns the columns so far, sorted by name. (The connector has no defined order.)
  [[nodiscard]] DISTRIB_DECL auto columns() const -> std::vector<SparkColumn>;

 private:
  struct Seen {
    SparkType type;
    std::uint64_t records = 0;  // records in which it is not null
  };
  using Columns = std::map<std::string, Seen, std::less<>>;

  DISTRIB_DECL void add_features(const ExampleView& example, Error& error);

  DISTRIB_DECL void add_lists(const SequenceExampleView& sequence, Error& error);

  DISTRIB_DECL void see(Columns& columns, std::string_view name, SparkType type, bool is_null, Error& error);

  DISTRIB_DECL auto type_of(const FeatureView& feature, Error& error) const -> SparkType;

  DISTRIB_DECL auto type_of(const FeatureListView& list, Error& error) const -> SparkType;

  DISTRIB_DECL auto join(SparkType a, SparkType b, Error& error) const -> SparkType;

  SparkRecordType record_type_;
  SparkRules rules_;
  Columns features_;  // with `like_connector` also the feature lists
  Columns lists_;
  std::uint64_t records_ = 0;
};

namespace detail {

/// Returns the columns of all `records`, a range of ByteViews or of the Records that a RecordReader returns. Errors as
/// in `SparkSchemaInference::add`, with the number of the record, from 0; the result is then empty.
template <class Records>
[[nodiscard]] auto infer_spark_schema(Records&& records, SparkRecordType record_type, SparkRules rules, ErrorRef to)
    -> std::vector<SparkColumn> {
  detail::ErrorOut error{to};
  SparkSchemaInference inference{record_type, rules};
  std::uint64_t number = 0;
  for (const auto& record : records) {
    if constexpr (requires { record.bytes; }) inference.add(ByteView{record.bytes}, error);
    else inference.add(ByteView{record}, error);
    if (!error) {
      ++number;
      continue;
    }
    error.where = "record " + std::to_string(number) + (error.where.empty() ? "" : ", ") + error.where;
    return {};
  }
  return inference.columns();
}

/// This overload throws the error as `std::system_error`.
template <class Records>
[[nodiscard]] auto infer_spark_schema(Records&& records, SparkRecordType record_type = SparkRecordType::example,
                                      SparkRules rules = SparkRules::checked) -> std::vector<SparkColumn> {
  Error error;
  return detail::or_throw(infer_spark_schema(records, record_type, rules, error), error);
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/spark/impl/spark_infer_schema.ipp>
#endif
