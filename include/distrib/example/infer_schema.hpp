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
  std::string name;
  std::array<std::uint64_t, 4> records{};  ///< In how many records it has this FeatureKind, by its number.
  std::size_t fewest = std::numeric_limits<std::size_t>::max();  ///< Values, in those records where it has a kind.
  std::size_t most = 0;                                          ///< The same.
  std::uint64_t missing = 0;                                     ///< Records without it, or where it has no kind.

  /// The kind it has wherever it has one; `none`: it never has one, or there is a conflict.
  [[nodiscard]] DISTRIB_DECL auto kind() const noexcept -> FeatureKind;
  /// Whether different records have it with different kinds.
  [[nodiscard]] auto conflict() const noexcept -> bool {
    return (records[1] != 0) + (records[2] != 0) + (records[3] != 0) > 1;
  }
  /// Whether every record has the same number of values: then it fits a member of fixed size.
  [[nodiscard]] auto fixed() const noexcept -> bool { return missing == 0 && fewest == most; }
};

/// Looks at Examples, one after the other, and tells which features they have. Nothing that records may hold makes it
/// fail but bytes that are no Example: a feature that is now of this kind, now of that, is reported as such. One thread
/// at a time; memory grows with the number of different names, up to `most_features`.
class SchemaInference {
 public:
  /// More different names than this are no schema.
  static constexpr std::size_t most_features = 100'000;

  /// Adds a record. `ec`: `example_errc::malformed`, and the record does not count; `example_errc::too_many_features`.
  DISTRIB_DECL void add(ByteView record, std::error_code& ec);

  /// Records that were added.
  [[nodiscard]] auto records() const noexcept -> std::uint64_t { return records_; }

  /// The features so far, by name.
  [[nodiscard]] DISTRIB_DECL auto features() const -> std::vector<InferredFeature>;

 private:
  struct Seen {
    InferredFeature feature;  // of the records before `last`
    std::uint64_t last = 0;  // the latest record that has it, from 1, and what that has: of equal names the last counts
    FeatureKind kind = FeatureKind::none;
    std::size_t values = 0;
  };

  DISTRIB_DECL void see(Seen& seen, const FeatureView& feature);

  DISTRIB_DECL static void count(Seen& seen);

  std::vector<Seen> seen_;  // by name
  std::uint64_t records_ = 0;
};

/// The features of all `records`, a range of ByteViews, or of Records as a RecordReader gives them. `to`:
/// `example_errc::malformed` or `too_many_features` and the record.
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

/// The same; a failure is thrown as `std::system_error`.
template <class Records> [[nodiscard]] auto infer_schema(Records&& records) -> std::vector<InferredFeature> {
  Error error;
  return detail::or_throw(infer_schema(records, error), error);
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/example/impl/infer_schema.ipp>
#endif
