// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/example/detail/spec_keys.hpp>

#include <distrib/core/shape.hpp>
#include <distrib/example/error.hpp>

#include <algorithm>
#include <string>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL SpecKeys::SpecKeys(std::span<const NamedSpec> specs, SpecSection section, Error& error)
    : owned_{std::make_shared<std::vector<NamedSpec>>(specs.begin(), specs.end())} {
  for (const NamedSpec& spec : *owned_) sorted_.push_back(&spec);
  std::sort(sorted_.begin(), sorted_.end(), [](const NamedSpec* a, const NamedSpec* b) { return a->name < b->name; });
  for (std::size_t i = 0; i < sorted_.size() && !error; ++i) {
    if (i > 0 && sorted_[i - 1]->name == sorted_[i]->name) error = {example_errc::duplicate_feature, sorted_[i]->name};
    if (!error) add(*sorted_[i], section, error);
  }
  if (error) return;
  slots_ = std::make_unique<FeatureSlot[]>(keys_.size());
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    const Key& key = keys_[i];
    slots_[i].want(key.name, key.kind, key.fixed == nullptr, key.count);
    if (key.fixed != nullptr) slots_[i].fallback = fallback_of(key.fixed->otherwise);
  }
}

DISTRIB_DECL auto SpecKeys::index_of(std::string_view key) const noexcept -> std::size_t {
  std::size_t i = 0;
  while (keys_[i].name != key) ++i;
  return i;
}

DISTRIB_DECL auto SpecKeys::elements(const FeatureShape& shape) noexcept -> std::int64_t {
  if (!Shape::valid(shape.extents())) return -1;
  std::int64_t product = 1;
  for (const std::int64_t extent : shape.extents()) product *= extent;
  return product <= most_elements ? product : -1;
}

DISTRIB_DECL void SpecKeys::refuse(Error& error, std::string_view name, std::string_view why) {
  error = {example_errc::bad_spec, "feature \"" + std::string{name} + "\": " + std::string{why}};
}

DISTRIB_DECL void SpecKeys::add(const NamedSpec& named, SpecSection section, Error& error) {
  using Form = FeatureSpec::Form;
  const FeatureSpec& spec = named.spec;
  const auto no = [&](std::string_view why) { refuse(error, named.name, why); };
  const bool dense = spec.form == Form::fixed_len || spec.form == Form::fixed_len_sequence;
  const bool in_lists = section == SpecSection::feature_lists;
  if (in_lists && (spec.form == Form::fixed_len || spec.form == Form::sparse))
    return no("feature lists are FixedLenSequence, VarLen or Ragged");
  if (spec.kind == FeatureKind::none) return no("Missing type");
  if (dense && !spec.shape.known()) return no("Missing shape");
  if (dense && elements(spec.shape) < 0) return no("an extent of the shape is unknown or too large");
  const std::size_t defaults =
      spec.otherwise.int64s.size() + spec.otherwise.floats.size() + spec.otherwise.bytes.size();
  if (dense && defaults != 0) {
    const std::size_t of_kind = spec.kind == FeatureKind::int64s   ? spec.otherwise.int64s.size()
                                : spec.kind == FeatureKind::floats ? spec.otherwise.floats.size()
                                                                   : spec.otherwise.bytes.size();
    if (of_kind != defaults) return no("the default is of another kind");
    if (of_kind != (spec.form == Form::fixed_len ? static_cast<std::size_t>(elements(spec.shape)) : 1))
      return no("the default has another shape");
  }
  switch (spec.form) {
    case Form::fixed_len: return need(named.name, Role::dense, spec.kind, &spec, error);
    case Form::fixed_len_sequence:
      if (!in_lists && !spec.allow_missing) return no("a FixedLenSequence of an Example needs allow_missing");
      if (elements(spec.shape) == 0) return no("a block of a FixedLenSequence needs at least one value");
      return need(named.name, Role::dense, spec.kind, nullptr, error);
    case Form::var_len: return need(named.name, Role::sparse, spec.kind, nullptr, error);
    case Form::sparse:
      if (spec.index_keys.empty()) return no("Missing index_keys");
      if (spec.value_key.empty()) return no("Missing value_key");
      if (spec.sizes.size() != spec.index_keys.size()) return no("there must be a size for each index key");
      for (const std::int64_t size : spec.sizes)
        if (size < 0) return no("a size is negative");
      for (const std::string& key : spec.index_keys)
        if (!error) need(key, Role::sparse, FeatureKind::int64s, nullptr, error);
      if (!error) need(spec.value_key, Role::sparse, spec.kind, nullptr, error);
      return;
    case Form::ragged:
      need(value_key(named), Role::ragged, spec.kind, nullptr, error);
      for (const RaggedPartition& partition : spec.partitions) {
        if (error) return;
        if (partition.form != RaggedPartition::Form::uniform)
          need(partition.key, Role::ragged, FeatureKind::int64s, nullptr, error);
        else if (partition.length < 1) return no("a uniform row length must be at least 1");
      }
      return;
  }
}

DISTRIB_DECL void SpecKeys::need(std::string_view name, Role role, FeatureKind kind, const FeatureSpec* fixed,
                                 Error& error) {
  for (const Key& key : keys_) {
    if (key.name != name) continue;
    if (key.role != role || role == Role::dense)
      refuse(error, name, "dense, sparse and ragged features must not intersect");
    else if (key.kind != kind) refuse(error, name, "Conflicting type");
    return;
  }
  keys_.push_back({name, role, kind, fixed, fixed == nullptr ? 0 : static_cast<std::size_t>(elements(fixed->shape))});
}

DISTRIB_DECL auto SpecKeys::fallback_of(const FeatureDefault& values) -> const std::byte* {
  if (!values.floats.empty()) return reinterpret_cast<const std::byte*>(values.floats.data());
  if (!values.int64s.empty()) return reinterpret_cast<const std::byte*>(values.int64s.data());
  if (values.bytes.empty()) return nullptr;
  auto& views = default_bytes_.emplace_back();
  for (const std::string& value : values.bytes) views.push_back(as_bytes(value));
  return reinterpret_cast<const std::byte*>(views.data());
}

DISTRIB_DECL auto SpecKeys::value_key(const NamedSpec& named) noexcept -> std::string_view {
  return named.spec.value_key.empty() ? named.name : named.spec.value_key;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
