// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/initializer.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace distrib {
inline namespace v0 {

namespace detail {

DISTRIB_DECL auto parse_initializer(std::string_view text) -> std::optional<Initializer> {
  const auto is = [&text](const Initializer& initializer) { return initializer.describe() == text; };
  if (is(ZerosInitializer{})) return ZerosInitializer{};
  if (is(GlorotUniformInitializer{})) return GlorotUniformInitializer{};
  std::string_view rest = text;
  const std::string_view name = detail::cut_before(rest, '=');
  if (name == "custom sha256") {
    const auto digest = parse_sha256(rest);
    return digest ? std::optional<Initializer>{CustomInitializer{*digest}} : std::nullopt;
  }
  const auto first = detail::parse_shortest<float>(detail::cut_before(rest, ' '));
  detail::cut_before(rest, '=');
  const auto second = detail::parse_shortest<float>(rest);
  if (first && name == "constant value" && is(ConstantInitializer{*first})) return ConstantInitializer{*first};
  if (!first || !second || !is(UniformInitializer{*first, *second})) return std::nullopt;
  if (!std::isfinite(*first) || !std::isfinite(*second) || *first > *second) return std::nullopt;
  return UniformInitializer{*first, *second};
}

DISTRIB_DECL auto glorot_range(const Shape& shape) noexcept -> UniformInitializer {
  const std::size_t rank = shape.rank();
  double fan_in = rank == 0 ? 1.0 : static_cast<double>(shape[rank < 2 ? 0 : rank - 2]);
  double fan_out = rank == 0 ? 1.0 : static_cast<double>(shape[rank - 1]);
  for (std::size_t axis = 0; axis + 2 < rank; ++axis) {
    fan_in *= static_cast<double>(shape[axis]);
    fan_out *= static_cast<double>(shape[axis]);
  }
  // TensorFlow divides 3 by the mean fan, but not by less than 1.
  const auto mean = std::max(opaque(fan_in + fan_out) * 0.5, 1.0);
  const auto limit = static_cast<float>(sqrt(Rounded<double>{3.0} / Rounded<double>{mean}).value);
  return {-limit, limit};
}

// Calls `row(first, out)` for each run of consecutive elements of `part`: the row-major index of the run's first
// element in `whole`, and the piece of `out` for the run.
template <class Row> void for_each_row(const Shape& whole, const Slice& part, std::span<float> out, Row row) {
  if (out.empty()) return;
  const std::size_t rank = whole.rank();
  const auto length = static_cast<std::size_t>(rank == 0 ? 1 : part.extents[rank - 1]);
  std::array<std::int64_t, Shape::max_rank> at{};
  for (std::size_t filled = 0; filled < out.size(); filled += length) {
    std::int64_t first = 0;
    for (std::size_t axis = 0; axis < rank; ++axis) first = first * whole[axis] + part.start[axis] + at[axis];
    row(static_cast<std::uint64_t>(first), out.subspan(filled, length));
    for (std::size_t axis = rank; axis-- > 1;) {
      if (++at[axis - 1] < part.extents[axis - 1]) break;
      at[axis - 1] = 0;
    }
  }
}

DISTRIB_DECL void UniformElements::fill(std::uint64_t first, std::span<float> out) const noexcept {
  PhiloxBlock words{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::uint64_t index = first + i;
    if (i == 0 || index % 4 == 0)
      words = philox(key_, {static_cast<std::uint32_t>(index / 4), static_cast<std::uint32_t>(index / 4 >> 32),
                            static_cast<std::uint32_t>(hash_), static_cast<std::uint32_t>(hash_ >> 32)});
    const Rounded<double> place{static_cast<double>(uniform01(words[index % 4]))};
    out[i] = static_cast<float>((low_ + width_ * place).value);
  }
}

DISTRIB_DECL void fill_uniform(UniformInitializer uniform, std::uint64_t seed, std::string_view name,
                               const Shape& whole, const Slice& part, std::span<float> out) {
  const UniformElements elements{uniform, seed, name};
  for_each_row(whole, part, out, [&](std::uint64_t first, std::span<float> row) { elements.fill(first, row); });
}

DISTRIB_DECL void fill(const Initializer& initializer, std::uint64_t seed, std::string_view name, const Shape& whole,
                       const Slice& part, std::span<float> out) {
  assert(part.inside(whole));
  assert(out.size() == static_cast<std::size_t>(part.extents.elements()));
  if (std::holds_alternative<ZerosInitializer>(initializer.choice()) || initializer.is_custom())
    std::fill(out.begin(), out.end(), 0.0F);
  if (const auto* constant = std::get_if<ConstantInitializer>(&initializer.choice()))
    std::fill(out.begin(), out.end(), constant->value);
  if (const auto* uniform = std::get_if<UniformInitializer>(&initializer.choice()))
    detail::fill_uniform(*uniform, seed, name, whole, part, out);
  if (std::holds_alternative<GlorotUniformInitializer>(initializer.choice()))
    detail::fill_uniform(detail::glorot_range(whole), seed, name, whole, part, out);
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib
