// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/float_codec.hpp>
#include <distrib/core/float_format.hpp>
#include <distrib/core/initializer.hpp>
#include <distrib/core/stochastic_rounding.hpp>
#include <distrib/ps/rows/row_layout.hpp>
#include <distrib/ps/rows/row_math.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Converts rows between the form in which a table keeps them (`RowLayout`) and the form in which they are updated and
/// saved: [weights | slot 0 | ...], all of them floats without gaps. With weights of float32 both are the same.
///
/// Weights of 16 bits are rounded at random after an update: rounded to the nearest, an update of less than half a unit
/// of the last place would never have an effect. The direction is a function of (seed, table, key, update, element), so
/// it is the same on any shard and after any restart. Weights that were unpacked and not changed are packed again
/// exactly.
class RowPacking {
 public:
  RowPacking(const RowLayout& layout, std::uint64_t seed, std::string_view table) noexcept
      : layout_{layout}, random_{mix_bits(seed ^ mix_bits(name_hash(table)))} {}

  /// True if the two forms differ.
  [[nodiscard]] auto packs() const noexcept -> bool { return layout_.weights != FloatFormat::float32; }

  /// Writes the weights of a kept row to `to`, `dim` floats.
  void weights(const float* kept, float* to) const noexcept {
    if (!packs()) return copy_row(to, kept, layout_.dim);
    decode_elements(layout_.weights, reinterpret_cast<const std::byte*>(kept), {to, layout_.dim});
  }

  /// Writes weights and slots of a kept row to `to`.
  void unpack(const float* kept, float* to) const noexcept {
    weights(kept, to);
    std::copy_n(kept + kept_weights(), slots(), to + layout_.dim);
  }

  /// Writes an unpacked row to `kept`. Rounds to the nearest, so that weights that `unpack` has written get their old
  /// bits.
  void pack(const float* from, float* kept) const noexcept {
    encode_elements(layout_.weights, {from, layout_.dim}, reinterpret_cast<std::byte*>(kept));
    std::copy_n(from + layout_.dim, slots(), kept + kept_weights());
  }

  /// Writes an unpacked row to `kept`: the row of `key` after the `count`-th update. Rounds at random, by key and
  /// count.
  void pack_updated(const float* from, float* kept, std::uint64_t key, std::uint64_t count) const noexcept {
    encode_elements_at_random(layout_.weights, {from, layout_.dim}, mix_bits(mix_bits(random_ ^ key) ^ count),
                              reinterpret_cast<std::byte*>(kept));
    std::copy_n(from + layout_.dim, slots(), kept + kept_weights());
  }

  /// Rounds weights to the values that they have after packing and unpacking.
  void round(std::span<float> weights) const noexcept {
    if (!packs()) return;
    std::array<std::uint16_t, 64> halves;
    for (; !weights.empty(); weights = weights.subspan(std::min(halves.size(), weights.size()))) {
      const auto some = weights.first(std::min(halves.size(), weights.size()));
      auto* const bytes = reinterpret_cast<std::byte*>(halves.data());
      encode_elements(layout_.weights, some, bytes);
      decode_elements(layout_.weights, bytes, some);
    }
  }

 private:
  [[nodiscard]] auto kept_weights() const noexcept -> std::size_t { return layout_.weight_bytes() / sizeof(float); }
  [[nodiscard]] auto slots() const noexcept -> std::size_t { return layout_.floats() - layout_.dim; }

  RowLayout layout_;
  std::uint64_t random_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
