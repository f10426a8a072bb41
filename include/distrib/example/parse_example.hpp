// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/example/detail/row_parser.hpp>
#include <distrib/example/detail/spec_keys.hpp>
#include <distrib/example/detail/tensor_builder.hpp>
#include <distrib/example/feature_spec.hpp>
#include <distrib/example/parsed_feature.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// A key table of slots that are known at run time only.
struct SlotTable {
  explicit SlotTable(const SpecKeys& keys) : cells(key_cells(keys.slots().size())) {
    std::vector<std::string_view> names;
    for (const FeatureSlot& slot : keys.slots()) names.push_back(slot.name);
    table.fill(names.data(), names.size(), cells.data(), cells.size());
  }

  std::vector<KeyCell> cells;
  KeyTable table;
};

inline void say_record(Error& error, std::size_t record) {
  error.where = "record " + std::to_string(record) + (error.where.empty() ? "" : ", ") + error.where;
}

}  // namespace detail

/// Parses serialized tf.train.Examples into one tensor for each spec, in the order of their names; the specs are known
/// at run time only. The rules are those of TensorFlow's `parse_example`; what a struct can hold, `parse_examples`
/// parses faster. `records` is a range whose elements convert to ByteView.
///
///     const std::vector<NamedSpec> specs{{"label", FixedLen{.shape = {}, .kind = FeatureKind::int64s}},
///                                        {"words", VarLen{.kind = FeatureKind::bytes}}};
///     for (const ParsedFeature& feature : parse_example(specs, records)) ...
///
/// `to`, with record and feature: `example_errc::bad_spec` and `duplicate_feature`, before any record is looked at;
/// `malformed`, `missing_feature`, `wrong_kind`, `wrong_count`, `bad_index`, `bad_partition`; then the result is empty.
/// Lifetime: views of bytes point into `records`.
template <class Records>
[[nodiscard]] auto parse_example(std::span<const NamedSpec> specs, const Records& records, ErrorRef to)
    -> std::vector<ParsedFeature> {
  detail::ErrorOut error{to};
  const detail::SpecKeys keys{specs, detail::SpecSection::features, error};
  if (error) return {};
  const detail::SlotTable table{keys};
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& record : records) ++count;
  for (detail::FeatureSlot& slot : keys.slots()) slot.start(count);
  detail::RowParser parser{table.table, table.cells.data(), keys.slots()};
  for (const auto& record : records) {
    parser.add(ByteView{record}, error);
    if (!error) continue;
    detail::say_record(error, parser.rows());
    return {};
  }
  std::vector<ParsedFeature> result;
  detail::TensorBuilder builder{keys, count, error};
  for (const NamedSpec* spec : keys.specs()) {
    result.push_back(builder.build(*spec, nullptr));
    if (error) return {};
  }
  return result;
}

/// The same; a failure is thrown as `std::system_error`.
template <class Records>
[[nodiscard]] auto parse_example(const std::vector<NamedSpec>& specs, const Records& records)
    -> std::vector<ParsedFeature> {
  Error error;
  return detail::or_throw(parse_example(std::span<const NamedSpec>{specs}, records, error), error);
}

/// The same; a failure is written to `to`.
template <class Records>
[[nodiscard]] auto parse_example(const std::vector<NamedSpec>& specs, const Records& records, ErrorRef to)
    -> std::vector<ParsedFeature> {
  return parse_example(std::span<const NamedSpec>{specs}, records, to);
}

/// One Example: the same without the axis of records.
[[nodiscard]] DISTRIB_DECL auto parse_single_example(std::span<const NamedSpec> specs, ByteView record, ErrorRef to)
    -> std::vector<ParsedFeature>;

/// The same; a failure is thrown as `std::system_error`.
template <class Record>
[[nodiscard]] auto parse_single_example(const std::vector<NamedSpec>& specs, const Record& record)
    -> std::vector<ParsedFeature> {
  Error error;
  return detail::or_throw(parse_single_example(std::span<const NamedSpec>{specs}, ByteView{record}, error), error);
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/example/impl/parse_example.ipp>
#endif
