// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/example/detail/spec_keys.hpp>
#include <distrib/example/detail/tensor_builder.hpp>
#include <distrib/example/detail/walk.hpp>
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

/// What `parse_sequence_example` gives. Dense feature lists carry `lengths`: the steps that each record has.
struct ParsedSequence {
  std::vector<ParsedFeature> context;
  std::vector<ParsedFeature> feature_lists;
};

namespace detail {

/// Parses the feature lists of SequenceExamples: a row of a slot is a step. A sink of `read_map`.
template <class Spec> class ListParser {
 public:
  explicit ListParser(const SpecKeys<Spec>& keys) : keys_{keys}, table_{keys}, lists_(keys.slots().size()) {
    for (FeatureSlot& slot : keys.slots()) slot.start(0);
    for (const Spec* spec : keys.specs()) {
      if (spec->spec.form != FeatureSpec::Form::fixed_len_sequence) continue;
      List& list = lists_[keys.index_of(spec->name)];
      list.block = SpecKeys<Spec>::elements(spec->spec.shape);
      list.required = !spec->spec.allow_missing;
    }
  }

  void add(ByteView record, Error& error) {
    ++serial_;
    FieldReader reader{record, most_levels};
    bool well_formed = true;
    while (well_formed && reader.next())
      if (reader.tag() == second_message) well_formed = read_map(reader.bytes(), most_levels - 1, *this);
    if (!well_formed || !reader.ok()) {
      error = {example_errc::malformed, {}};
      return;
    }
    for (std::size_t i = 0; i < lists_.size() && !error; ++i) {
      List& list = lists_[i];
      if (list.touched != serial_ && list.required)
        error = {example_errc::missing_feature, "feature list \"" + std::string{keys_.slots()[i].name} + '"'};
      else if (list.touched == serial_) error = list.error;
      list.steps.push_back(static_cast<std::int64_t>(rows(keys_.slots()[i])));
    }
  }

  /// Steps of each record, as row splits.
  [[nodiscard]] auto steps(std::string_view key) const noexcept -> const std::vector<std::int64_t>& {
    return lists_[keys_.index_of(key)].steps;
  }

  [[nodiscard]] auto begin(std::string_view name) -> bool {
    const KeyCell& cell = table_.table.look(table_.cells.data(), name);
    if (cell.name == nullptr) return false;
    current_ = cell.index;
    List& list = lists_[current_];
    list.touched = serial_;
    list.error = {};
    FeatureSlot& slot = keys_.slots()[current_];
    slot.splits.cut((static_cast<std::size_t>(list.steps.back()) + 1) * sizeof(std::int64_t));
    slot.drop();
    return true;
  }

  [[nodiscard]] auto value(ByteView feature_list, unsigned levels) -> bool {
    FieldReader reader{feature_list, levels};
    while (reader.next())
      if (reader.tag() == first_message && !read_step(reader.bytes(), levels - 1)) return false;
    return reader.ok();
  }

 private:
  struct List {
    std::vector<std::int64_t> steps{0};
    std::int64_t block = -1;  // values of a step; negative: any number
    bool required = false;
    std::uint64_t touched = 0;
    Error error;
  };

  static auto rows(const FeatureSlot& slot) noexcept -> std::size_t {
    return slot.splits.size() / sizeof(std::int64_t) - 1;
  }

  auto read_step(ByteView feature, unsigned levels) -> bool {
    FeatureSlot& slot = keys_.slots()[current_];
    List& list = lists_[current_];
    slot.begin(serial_, 0);
    if (!read_feature(feature, levels, slot)) return false;
    const bool none = slot.found == FeatureKind::none;
    const auto refuse = [&](example_errc code, const std::string& why) {
      if (list.error) return;
      const std::size_t step = rows(slot) - static_cast<std::size_t>(list.steps.back());
      list.error = {code, "feature list \"" + std::string{slot.name} + "\", step " + std::to_string(step) + why};
    };
    if (none && list.block >= 0) refuse(example_errc::missing_feature, "");
    else if (!none && slot.found != slot.kind)
      refuse(example_errc::wrong_kind,
             " holds " + std::string{name(slot.found)} + ", not " + std::string{name(slot.kind)});
    else if (list.block >= 0 && slot.have != static_cast<std::size_t>(list.block))
      refuse(example_errc::wrong_count, " has " + std::to_string(slot.have) + ", not " + std::to_string(list.block));
    slot.end_row();
    return true;
  }

  const SpecKeys<Spec>& keys_;
  SlotTable<Spec> table_;
  std::vector<List> lists_;
  std::size_t current_ = 0;
  std::uint64_t serial_ = 0;
};

}  // namespace detail

/// Parses serialized tf.train.SequenceExamples: `context` as `parse_example` does, and `lists`, whose specs are
/// FixedLenSequence (dense, [records, steps] + shape, padded), VarLen (sparse, [records, steps, longest]) or Ragged
/// (records, steps, then one axis for each partition, then values). A list that is missing has no steps; a
/// FixedLenSequence must say `allow_missing` for that. The rules are those of TensorFlow's `parse_sequence_example`.
/// Errors, lifetime and `records` as in `parse_example`.
template <class Spec, class Records>
[[nodiscard]] auto parse_sequence_example(std::span<const Spec> context, std::span<const Spec> lists,
                                          const Records& records, ErrorRef to) -> ParsedSequence {
  detail::ErrorOut error{to};
  const detail::SpecKeys<Spec> keys{lists, detail::SpecSection::feature_lists, error};
  if (error) return {};
  ParsedSequence result;
  result.context = parse_example(context, records, error);  // it lies where an Example has its features
  if (error) return {};
  detail::ListParser<Spec> parser{keys};
  std::size_t count = 0;
  for (const auto& record : records) {
    parser.add(ByteView{record}, error);
    if (error) {
      detail::say_record(error, count);
      return {};
    }
    ++count;
  }
  for (const Spec* spec : keys.specs()) {
    const auto& steps = parser.steps(detail::SpecKeys<Spec>::value_key(*spec));
    for (const RaggedPartition& partition : spec->spec.partitions) {
      if (partition.form == RaggedPartition::Form::uniform || parser.steps(partition.key) == steps) continue;
      error = {example_errc::bad_partition, "feature list \"" + spec->name + "\" and its partition have unequal steps"};
      return {};
    }
    detail::TensorBuilder<Spec> builder{keys, static_cast<std::size_t>(steps.back()), error};
    result.feature_lists.push_back(builder.build(*spec, &steps));
    if (error) return {};
  }
  return result;
}

/// The same; a failure is thrown as `std::system_error`.
template <class Records>
[[nodiscard]] auto parse_sequence_example(const std::vector<NamedSpec>& context, const std::vector<NamedSpec>& lists,
                                          const Records& records) -> ParsedSequence {
  Error error;
  return detail::or_throw(
      parse_sequence_example(std::span<const NamedSpec>{context}, std::span<const NamedSpec>{lists}, records, error),
      error);
}

/// The same; a failure is written to `to`.
template <class Records>
[[nodiscard]] auto parse_sequence_example(const std::vector<NamedSpec>& context, const std::vector<NamedSpec>& lists,
                                          const Records& records, ErrorRef to) -> ParsedSequence {
  return parse_sequence_example(std::span<const NamedSpec>{context}, std::span<const NamedSpec>{lists}, records, to);
}

}  // namespace v0
}  // namespace distrib
