// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/job/local_round.hpp>

#include <distrib/core/dtype.hpp>
#include <distrib/core/variable_info.hpp>
#include <distrib/optimizer/updater.hpp>
#include <distrib/train/job/detail/add_elements.hpp>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Adds the amounts of a counter.
DISTRIB_DECL void add_amounts(bool is_integer, const std::byte* from, std::byte* to, std::size_t bytes) noexcept {
  if (is_integer) add_elements<std::uint64_t>(from, to, bytes / sizeof(std::uint64_t));
  else add_elements<double>(from, to, bytes / sizeof(double));
}

/// The elements of a trained variable.
DISTRIB_DECL auto floats_at(std::byte* data, std::size_t bytes) noexcept -> std::span<float> {
  return {reinterpret_cast<float*>(data), bytes / sizeof(float)};
}
DISTRIB_DECL auto floats_at(const std::byte* data, std::size_t bytes) noexcept -> std::span<const float> {
  return {reinterpret_cast<const float*>(data), bytes / sizeof(float)};
}

}  // namespace detail

DISTRIB_DECL LocalRound::LocalRound(const Job& job, std::vector<AnyUpdater> updaters) {
  assert(updaters.size() == job.variables.size() && job.tables.empty());
  for (std::size_t v = 0; v < job.variables.size(); ++v) {
    const VariableInfo& variable = job.variables[v];
    OfVariable of{std::move(updaters[v]), detail::is_counter(variable.dtype), variable.dtype == DType::int64, {}, {}};
    const std::size_t blocks = of.counts ? 1 : of.updater.slots().size();
    for (std::size_t i = 0; i < blocks; ++i) of.blocks.emplace_back(variable.size_bytes());
    if (!of.counts)
      for (AlignedBuffer& block : of.blocks) of.slots.push_back(block.as<float>());
    variables_.push_back(std::move(of));
  }
}

DISTRIB_DECL void LocalRound::begin(Step before, const RuntimeValues& values, RuntimeValues& own) {
  before_ = made_ = before;
  for (std::size_t v = 0; v < variables_.size(); ++v) {
    OfVariable& of = variables_[v];
    const std::size_t bytes = own.size_bytes(v);
    if (bytes == 0) continue;
    std::memcpy(own.data(v), values.data(v), bytes);
    if (of.counts) detail::zero(of.blocks.front().bytes());
    for (std::size_t slot = 0; slot < of.slots.size(); ++slot) {
      const Slot& kind = of.updater.slots()[slot];
      if (kind.begins_as_value) std::memcpy(of.slots[slot].data(), values.data(v), bytes);
      else std::ranges::fill(of.slots[slot], kind.initial);
    }
  }
}

DISTRIB_DECL void LocalRound::step(const RuntimeGradients& gradients, RuntimeValues& own) {
  const UpdateStep step{.count = ++made_, .before_slots = before_};
  for (std::size_t v = 0; v < variables_.size(); ++v) {
    OfVariable& of = variables_[v];
    const std::size_t bytes = own.size_bytes(v);
    if (bytes == 0) continue;
    if (of.counts) {
      detail::add_amounts(of.is_integer, gradients.data(v), of.blocks.front().bytes().data(), bytes);
      detail::add_amounts(of.is_integer, gradients.data(v), own.data(v), bytes);
    } else {
      const std::span<float> values = detail::floats_at(own.data(v), bytes);
      of.updater.apply(step, detail::floats_at(gradients.data(v), bytes), values, values, of.slots);
    }
  }
}

DISTRIB_DECL void LocalRound::end(const RuntimeValues& values, const RuntimeValues& own,
                                  RuntimeGradients& contribution) const {
  for (std::size_t v = 0; v < variables_.size(); ++v) {
    const std::size_t bytes = own.size_bytes(v);
    if (bytes == 0) continue;
    if (variables_[v].counts) {
      std::memcpy(contribution.data(v), variables_[v].blocks.front().bytes().data(), bytes);
      continue;
    }
    const std::span<const float> from = detail::floats_at(values.data(v), bytes);
    const std::span<const float> to = detail::floats_at(own.data(v), bytes);
    float* const change = reinterpret_cast<float*>(contribution.data(v));
    for (std::size_t i = 0; i < from.size(); ++i) change[i] = from[i] - to[i];
  }
}

}  // namespace v0
}  // namespace distrib
