// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/example/detail/spec_keys.hpp>
#include <distrib/example/detail/tensor_builder.hpp>
#include <distrib/example/error.hpp>
#include <distrib/example/feature_spec.hpp>
#include <distrib/example/parse_example.hpp>
#include <distrib/example/parsed_feature.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What `parse_sequence_example` returns. Dense feature lists have `lengths`: the number of steps of each record.
struct ParsedSequence {
  std::vector<ParsedFeature> context;  ///< Features of the context.
  std::vector<ParsedFeature> feature_lists;  ///< Features whose values are lists of steps.
};

namespace detail {

/// Parses the feature lists of SequenceExamples: a row of a slot is a step. A sink of `read_map`.
class ListParser {
 public:
  DISTRIB_DECL explicit ListParser(const SpecKeys& keys);

  /// Parses the next record. On failure sets `error`; the parser must not be used after that.
  DISTRIB_DECL void add(ByteView record, Error& error);

  /// Returns the number of steps of each record, as row splits.
  [[nodiscard]] DISTRIB_DECL auto steps(std::string_view key) const noexcept -> const std::vector<std::int64_t>&;

  [[nodiscard]] DISTRIB_DECL auto begin(std::string_view name) -> bool;

  [[nodiscard]] DISTRIB_DECL auto value(ByteView feature_list, unsigned levels) -> bool;

 private:
  struct List {
    std::vector<std::int64_t> steps{0};
    std::int64_t block = -1;  // values of a step; negative: any number
    bool required = false;
    std::uint64_t touched = 0;
    Error error;
  };

  DISTRIB_DECL static auto rows(const FeatureSlot& slot) noexcept -> std::size_t;

  DISTRIB_DECL auto read_step(ByteView feature, unsigned levels) -> bool;

  const SpecKeys& keys_;
  SlotTable table_;
  std::vector<List> lists_;
  std::size_t current_ = 0;
  std::uint64_t serial_ = 0;
};

}  // namespace detail

/// Parses serialized tf.train.SequenceExamples. `context` is parsed as by `parse_example`. The specs in `lists` are
/// FixedLenSequence (dense, [records, steps] + shape, padded), VarLen (sparse, [records, steps, longest]) or Ragged
/// (records, steps, then one axis for each partition, then values). A list that is missing has no steps; for a
/// FixedLenSequence this is an error unless it has `allow_missing`. Follows the rules of TensorFlow's
/// `parse_sequence_example`.
///
/// Errors, lifetime and `records`: as in `parse_example`. The error of a feature list names the record and the step.
template <class Records>
[[nodiscard]] auto parse_sequence_example(std::span<const NamedSpec> context, std::span<const NamedSpec> lists,
                                          const Records& records, ErrorRef to) -> ParsedSequence {
  detail::ErrorOut error{to};
  const detail::SpecKeys keys{lists, detail::SpecSection::feature_lists, error};
  if (error) return {};
  ParsedSequence result;
  result.context = parse_example(context, records, error);  // the context lies where an Example has its features
  if (error) return {};
  detail::ListParser parser{keys};
  std::size_t count = 0;
  for (const auto& record : records) {
    parser.add(ByteView{record}, error);
    if (error) {
      detail::say_record(error, count);
      return {};
    }
    ++count;
  }
  for (const NamedSpec* spec : keys.specs()) {
    const auto& steps = parser.steps(detail::SpecKeys::value_key(*spec));
    for (const RaggedPartition& partition : spec->spec.partitions) {
      if (partition.form == RaggedPartition::Form::uniform || parser.steps(partition.key) == steps) continue;
      error = {example_errc::bad_partition, "feature list \"" + spec->name + "\" and its partition have unequal steps"};
      return {};
    }
    detail::TensorBuilder builder{keys, static_cast<std::size_t>(steps.back()), error};
    result.feature_lists.push_back(builder.build(*spec, &steps));
    if (error) return {};
  }
  return result;
}

/// This overload throws the error as `std::system_error`.
template <class Records>
[[nodiscard]] auto parse_sequence_example(const std::vector<NamedSpec>& context, const std::vector<NamedSpec>& lists,
                                          const Records& records) -> ParsedSequence {
  Error error;
  return detail::or_throw(
      parse_sequence_example(std::span<const NamedSpec>{context}, std::span<const NamedSpec>{lists}, records, error),
      error);
}

/// This overload reports a failure in `to`.
template <class Records>
[[nodiscard]] auto parse_sequence_example(const std::vector<NamedSpec>& context, const std::vector<NamedSpec>& lists,
                                          const Records& records, ErrorRef to) -> ParsedSequence {
  return parse_sequence_example(std::span<const NamedSpec>{context}, std::span<const NamedSpec>{lists}, records, to);
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/example/impl/parse_sequence_example.ipp>
#endif
