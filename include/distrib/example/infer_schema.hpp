// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/example/error.hpp>
#include <distrib/example/example_view.hpp>
#include <distrib/example/feature.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
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
  [[nodiscard]] auto kind() const noexcept -> FeatureKind {
    if (conflict()) return FeatureKind::none;
    for (const auto kind : {FeatureKind::bytes, FeatureKind::floats, FeatureKind::int64s})
      if (records[static_cast<std::size_t>(kind)] != 0) return kind;
    return FeatureKind::none;
  }
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
/// A template only so that programs that do not infer do not pay for it: `Name` is std::string.
template <class Name> class BasicSchemaInference {
 public:
  /// More different names than this are no schema.
  static constexpr std::size_t most_features = 100'000;

  /// Adds a record. `ec`: `example_errc::malformed`, and the record does not count; `example_errc::too_many_features`.
  void add(ByteView record, std::error_code& ec) {
    const ExampleView example{record, ec};
    if (ec) return;
    ++records_;
    example.for_each([&](const FeatureView& feature) {
      const auto place = std::lower_bound(seen_.begin(), seen_.end(), feature.name(),
                                          [](const Seen& a, std::string_view name) { return a.feature.name < name; });
      if (place != seen_.end() && place->feature.name == feature.name()) return see(*place, feature);
      if (seen_.size() == most_features) {
        ec = example_errc::too_many_features;
        return;
      }
      Seen fresh;
      fresh.feature.name = Name{feature.name()};
      see(*seen_.insert(place, std::move(fresh)), feature);
    });
  }

  /// Records that were added.
  [[nodiscard]] auto records() const noexcept -> std::uint64_t { return records_; }

  /// The features so far, by name.
  [[nodiscard]] auto features() const -> std::vector<InferredFeature> {
    std::vector<InferredFeature> result;
    for (Seen seen : seen_) {
      count(seen);
      std::uint64_t present = 0;
      for (std::size_t kind = 1; kind <= 3; ++kind) present += seen.feature.records[kind];
      seen.feature.missing = records_ - present;
      if (present == 0) seen.feature.fewest = 0;
      result.push_back(std::move(seen.feature));
    }
    return result;
  }

 private:
  struct Seen {
    InferredFeature feature;  // of the records before `last`
    std::uint64_t last = 0;  // the latest record that has it, from 1, and what that has: of equal names the last counts
    FeatureKind kind = FeatureKind::none;
    std::size_t values = 0;
  };

  void see(Seen& seen, const FeatureView& feature) {
    if (seen.last != records_) count(seen);
    seen.last = records_;
    seen.kind = feature.kind();
    seen.values = feature.size();
  }

  static void count(Seen& seen) {
    if (seen.last == 0) return;
    ++seen.feature.records[static_cast<std::size_t>(seen.kind)];
    if (seen.kind == FeatureKind::none) return;
    seen.feature.fewest = std::min(seen.feature.fewest, seen.values);
    seen.feature.most = std::max(seen.feature.most, seen.values);
  }

  std::vector<Seen> seen_;  // by name
  std::uint64_t records_ = 0;
};

/// What programs use.
using SchemaInference = BasicSchemaInference<std::string>;

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
