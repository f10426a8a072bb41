// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/example/detail/feature_slot.hpp>
#include <distrib/example/detail/spec_keys.hpp>
#include <distrib/example/error.hpp>
#include <distrib/example/feature_spec.hpp>
#include <distrib/example/parsed_feature.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Makes tensors from the values in slots. A row of a slot is a record; or a step, one of the steps of all records'
/// feature lists: then `steps` says how many steps each record has, as row splits.
class TensorBuilder {
 public:
  using Splits = std::vector<std::int64_t>;

  TensorBuilder(const SpecKeys& keys, std::size_t rows, Error& error) : keys_{keys}, rows_{rows}, error_{error} {}

  /// Returns the tensor of a spec; `steps` is null if rows are records. Values of lists are copied, because specs may
  /// share them. If records do not fit, sets the error that the constructor got.
  DISTRIB_DECL auto build(const NamedSpec& named, const Splits* steps) -> ParsedFeature;

 private:
  static auto splits_of(const FeatureSlot& slot) noexcept { return slot.splits.as<std::int64_t>(); }

  DISTRIB_DECL static void copy_values(const FeatureSlot& slot, ParsedFeature& result);

  DISTRIB_DECL void refuse(example_errc code, std::string_view name, std::size_t row, std::string_view why);

  DISTRIB_DECL void fixed(const NamedSpec& named, ParsedFeature& result);

  DISTRIB_DECL void padded(const NamedSpec& named, const Splits* steps, ParsedFeature& result);

  DISTRIB_DECL void listed(const FeatureSlot& slot, const Splits* steps, ParsedFeature& result);

  DISTRIB_DECL void sparse(const NamedSpec& named, ParsedFeature& result);

  /// Sorts by coordinates; values with equal coordinates keep their order.
  DISTRIB_DECL static void sort(ParsedFeature& result, std::size_t rank);

  DISTRIB_DECL void ragged(const NamedSpec& named, const Splits* steps, ParsedFeature& result);

  /// Cuts the items of each row by one partition. Returns where the new rows end, for all rows together. `rows` says
  /// before the call which items each row has, and after it which new rows each has, as row splits.
  DISTRIB_DECL auto cut(const NamedSpec& named, const RaggedPartition& partition, Splits& rows) -> Splits;

  /// Adds to `splits` the ends of the rows into which `items` items are cut. Returns false if the partition does not
  /// fit.
  DISTRIB_DECL static auto cut_row(const RaggedPartition& partition, std::span<const std::int64_t> given,
                                   std::int64_t items, Splits& splits) -> bool;

  DISTRIB_DECL static auto cut_by_ids(std::span<const std::int64_t> ids, std::int64_t items, Splits& splits) -> bool;

  static constexpr std::size_t most_padded = std::size_t{1} << 40;
  static constexpr std::int64_t most_rows = std::int64_t{1} << 24;  // largest row id that a record may have

  const SpecKeys& keys_;
  std::size_t rows_;
  const Splits* steps_ = nullptr;
  Error& error_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/example/detail/impl/tensor_builder.ipp>
#endif
