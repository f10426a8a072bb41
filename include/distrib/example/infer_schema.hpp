// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/example/example_view.hpp>
#include <distrib/example/feature.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What the records of a file have of one feature.
struct InferredFeature {
  std::string name;  ///< Name of the feature.
  /// `records[kind]`: number of records in which it has this FeatureKind.
  std::array<std::uint64_t, 4> records{};
  /// Smallest number of values in a record in which it has a kind; 0 if there is none.
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  /// Largest number of values in a record in which it has a kind.
  std::size_t most = 0;
  /// Number of records that lack it, or in which it has no kind.
  std::uint64_t missing = 0;

  /// Returns the kind that it has in all records in which it has one; `none` if it never has one, or if there is a
  /// conflict.
  [[nodiscard]] DISTRIB_DECL auto kind() const noexcept -> FeatureKind;
  /// True if it has different kinds in different records.
  [[nodiscard]] auto conflict() const noexcept -> bool {
    return (records[1] != 0) + (records[2] != 0) + (records[3] != 0) > 1;
  }
  /// True if every record has it with the same number of values: then, without a `conflict()` and if the number is not
  /// 0, it fits a member of fixed size.
  [[nodiscard]] auto fixed() const noexcept -> bool { return missing == 0 && fewest == most; }
};

/// Finds out which features Examples have, one record after another. Fails only if a record is not an Example, or if
/// there are too many names; a feature with different kinds in different records is reported as such. Memory grows with
/// the number of different names, up to `most_features`.
///
/// Threads: one at a time.
class SchemaInference {
 public:
  /// Most different names that all records together may have.
  static constexpr std::size_t most_features = 100'000;

  /// Adds a record. On failure sets `ec`: `example_errc::malformed`, and the record does not count; or
  /// `example_errc::too_many_features`, and the record counts, but not its names beyond the limit.
  DISTRIB_DECL void add(ByteView record, std::error_code& ec);

  /// Returns the number of records that were added.
  [[nodiscard]] auto records() const noexcept -> std::uint64_t { return records_; }

  /// Returns the features so far, in the order of their names.
  [[nodiscard]] DISTRIB_DECL auto features() const -> std::vector<InferredFeature>;

 private:
  struct Seen {
    InferredFeature feature;  // what the records before `last` have
    // the latest record that has it, counted from 1, and its kind and number of values: if a record has a name twice,
    // the last one counts
    std::uint64_t last = 0;
    FeatureKind kind = FeatureKind::none;
    std::size_t values = 0;
  };

  DISTRIB_DECL void see(Seen& seen, const FeatureView& feature);

  DISTRIB_DECL static void count(Seen& seen);

  std::vector<Seen> seen_;  // in the order of the names
  std::uint64_t records_ = 0;
};

/// Returns the features of all `records`, a range of ByteViews, or of Records as a RecordReader returns them. On
/// failure returns no features and sets `to`, with the record: `example_errc::malformed` or `too_many_features`. What
/// the range itself throws, such as a RecordReader for a damaged file, is not caught.
template <class Records>
[[nodiscard]] auto infer_schema(Records&& records, ErrorRef to) -> std::vector<InferredFeature> {
  detail::ErrorOut error{to};
  SchemaInference inference;
  std::uint64_t number = 0;
  for (const auto& record : records) {
    if constexpr (requires { record.bytes; }) inference.add(ByteView{record.bytes}, error.code);
    else inference.add(ByteView{record}, error.code);
    if (error) {
      error.where = "record " + std::to_string(number);
      return {};
    }
    ++number;
  }
  return inference.features();
}

/// This overload throws the error as `std::system_error`.
template <class Records> [[nodiscard]] auto infer_schema(Records&& records) -> std::vector<InferredFeature> {
  Error error;
  return detail::or_throw(infer_schema(records, error), error);
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/example/impl/infer_schema.ipp>
#endif
