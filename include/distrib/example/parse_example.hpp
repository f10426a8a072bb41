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

/// A key table of slots that are known only at run time.
struct SlotTable {
  explicit SlotTable(const SpecKeys& keys) : cells(key_cells(keys.slots().size())) {
    std::vector<std::string_view> names;
    for (const FeatureSlot& slot : keys.slots()) names.push_back(slot.name);
    table.fill(names.data(), names.size(), cells.data(), cells.size());
  }

  std::vector<KeyCell> cells;
  KeyTable table;
};

/// Puts the number of the record in front of what the error says.
inline void say_record(Error& error, std::size_t record) {
  error.where = "record " + std::to_string(record) + (error.where.empty() ? "" : ", ") + error.where;
}

}  // namespace detail

/// Parses serialized tf.train.Examples into one tensor for each spec, in the order of their names. For specs that are
/// known only at run time; for features that fit into a struct, `parse_examples` is faster. Follows the rules of
/// TensorFlow's `parse_example`. `records` is a range whose elements convert to ByteView, and which can be walked over
/// several times (so not a RecordReader).
///
///     const std::vector<NamedSpec> specs{{"label", FixedLen{.shape = {}, .kind = FeatureKind::int64s}},
///                                        {"words", VarLen{.kind = FeatureKind::bytes}}};
///     for (const ParsedFeature& feature : parse_example(specs, records)) ...
///
/// Errors: sets `to`, with record and feature, and returns an empty result. Before any record is read:
/// `example_errc::bad_spec`, `duplicate_feature`; then `malformed`, `missing_feature`, `wrong_kind`, `wrong_count`,
/// `bad_index`, `bad_partition`.
///
/// Lifetime: views of bytes point into the bytes of the records, which must outlive the result.
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

/// This overload throws the error as `std::system_error`.
template <class Records>
[[nodiscard]] auto parse_example(const std::vector<NamedSpec>& specs, const Records& records)
    -> std::vector<ParsedFeature> {
  Error error;
  return detail::or_throw(parse_example(std::span<const NamedSpec>{specs}, records, error), error);
}

/// This overload reports a failure in `to`.
template <class Records>
[[nodiscard]] auto parse_example(const std::vector<NamedSpec>& specs, const Records& records, ErrorRef to)
    -> std::vector<ParsedFeature> {
  return parse_example(std::span<const NamedSpec>{specs}, records, to);
}

/// Parses one Example as `parse_example` does; the tensors have no axis of records.
[[nodiscard]] DISTRIB_DECL auto parse_single_example(std::span<const NamedSpec> specs, ByteView record, ErrorRef to)
    -> std::vector<ParsedFeature>;

/// This overload throws the error as `std::system_error`.
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
