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

/// Finds out which columns Spark would see in records, one after the other: a feature of one value is a scalar, of more
/// an array; feature lists are always arrays of arrays. What nobody saw the kind of is a String. With `checked`, the
/// columns fit: a `SparkDecoder` that has them decodes all of these records. With `like_connector` that may fail, as it
/// does there.
///
/// | | `checked` | `like_connector` |
/// |---|---|---|
/// | kinds that differ between records | `spark_errc::kind_conflict` | the higher of Long, Float, String; then decoding fails |
/// | a scalar here, an array there | an array | the same |
/// | a feature of no values | an array of its kind | tells nothing; then decoding may fail |
/// | a feature without a kind | null | `spark_errc::no_kind` |
/// | a feature list without steps | tells that it is one | `spark_errc::no_steps` |
/// | a name in the context and the feature lists | the feature lists, where it has any | the higher type |
/// | a name that is no UTF-8 | as any other | `example_errc::malformed` |
/// | nullable | if a record lacks it, or has it without a kind | always |
///
/// Memory grows with the number of different names, up to `most_columns`. One thread at a time.
class SparkSchemaInference {
 public:
  /// More different names than this are no table.
  static constexpr std::size_t most_columns = 100'000;

  explicit SparkSchemaInference(SparkRecordType record_type = SparkRecordType::example,
                                SparkRules rules = SparkRules::checked)
      : record_type_{record_type}, rules_{rules} {}

  /// Adds a record. `error`: `example_errc::malformed`, or one of the table above with the name of the feature, or
  /// `spark_errc::too_many_columns`; of such a record the features before count.
  DISTRIB_DECL void add(ByteView record, Error& error);

  /// Records that were added.
  [[nodiscard]] auto records() const noexcept -> std::uint64_t { return records_; }

  /// The columns so far, by name. (The connector's order is none.)
  [[nodiscard]] DISTRIB_DECL auto columns() const -> std::vector<SparkColumn>;

 private:
  struct Seen {
    SparkType type;
    std::uint64_t records = 0;  // where it is not null
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
  Columns features_;  // and, like the connector, feature lists
  Columns lists_;
  std::uint64_t records_ = 0;
};

namespace detail {

/// The columns of all `records`, a range of ByteViews, or of Records as a RecordReader gives them. `to` as in
/// `SparkSchemaInference::add`, with the number of the record.
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

/// The same; a failure is thrown as `std::system_error`.
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
