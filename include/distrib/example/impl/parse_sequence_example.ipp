// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/example/parse_sequence_example.hpp>

#include <distrib/example/detail/walk.hpp>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL ListParser::ListParser(const SpecKeys& keys) : keys_{keys}, table_{keys}, lists_(keys.slots().size()) {
  for (FeatureSlot& slot : keys.slots()) slot.start(0);
  for (const NamedSpec* spec : keys.specs()) {
    if (spec->spec.form != FeatureSpec::Form::fixed_len_sequence) continue;
    List& list = lists_[keys.index_of(spec->name)];
    list.block = SpecKeys::elements(spec->spec.shape);
    list.required = !spec->spec.allow_missing;
  }
}

DISTRIB_DECL void ListParser::add(ByteView record, Error& error) {
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

DISTRIB_DECL auto ListParser::steps(std::string_view key) const noexcept -> const std::vector<std::int64_t>& {
  return lists_[keys_.index_of(key)].steps;
}

DISTRIB_DECL auto ListParser::begin(std::string_view name) -> bool {
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

DISTRIB_DECL auto ListParser::value(ByteView feature_list, unsigned levels) -> bool {
  FieldReader reader{feature_list, levels};
  while (reader.next())
    if (reader.tag() == first_message && !read_step(reader.bytes(), levels - 1)) return false;
  return reader.ok();
}

DISTRIB_DECL auto ListParser::rows(const FeatureSlot& slot) noexcept -> std::size_t {
  return slot.splits.size() / sizeof(std::int64_t) - 1;
}

DISTRIB_DECL auto ListParser::read_step(ByteView feature, unsigned levels) -> bool {
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
    refuse(example_errc::wrong_count,
           " has " + std::to_string(slot.have) + " values, not " + std::to_string(list.block));
  slot.end_row();
  return true;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
