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
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Finds out which columns Spark would see in records, one after the other: a feature of one value is a scalar, of more
/// an array, of none tells nothing; feature lists are always arrays of arrays. What nobody saw a value of is a String.
///
/// | | `checked` | `like_connector` |
/// |---|---|---|
/// | kinds that differ between records | `spark_errc::kind_conflict` | the higher of Long, Float, String; then decoding fails |
/// | a scalar here, an array there | an array | the same |
/// | a feature without a kind | tells nothing | `spark_errc::no_kind` |
/// | a feature list without steps | tells that it is one | `spark_errc::no_steps` |
/// | nullable | if a record lacks it | always |
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
    std::uint64_t records = 0;
  };

  DISTRIB_DECL void add_features(const ExampleView& example, Error& error);

  DISTRIB_DECL void see(std::string_view name, SparkType type, Error& error);

  DISTRIB_DECL auto type_of(const FeatureView& feature, Error& error) const -> SparkType;

  DISTRIB_DECL auto type_of(const FeatureListView& list, Error& error) const -> SparkType;

  DISTRIB_DECL auto join(SparkType a, SparkType b, Error& error) const -> SparkType;

  SparkRecordType record_type_;
  SparkRules rules_;
  std::map<std::string, Seen, std::less<>> seen_;
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
