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

/// Between rows as a table keeps them (`RowLayout`) and as they are worked on and saved: [weights | slot 0 | ...], all of
/// them floats, one after the other. Of float32 both are the same.
///
/// Weights of 16 bits that were updated are rounded at random, for to the nearest an update of less than half a unit of
/// the last place would never count. Which way is a function of (seed, table, key, update, element), so the same on any
/// shard and after any restart. What was not computed, but only goes to and fro, is exact.
class RowPacking {
 public:
  RowPacking(const RowLayout& layout, std::uint64_t seed, std::string_view table) noexcept
      : layout_{layout}, random_{mix_bits(seed ^ mix_bits(name_hash(table)))} {}

  /// Whether the two are not the same.
  [[nodiscard]] auto packs() const noexcept -> bool { return layout_.weights != FloatFormat::float32; }

  /// Writes the weights of a row that is kept.
  void weights(const float* kept, float* to) const noexcept {
    if (!packs()) return copy_row(to, kept, layout_.dim);
    decode_elements(layout_.weights, reinterpret_cast<const std::byte*>(kept), {to, layout_.dim});
  }

  /// Writes all of it.
  void unpack(const float* kept, float* to) const noexcept {
    weights(kept, to);
    std::copy_n(kept + kept_weights(), slots(), to + layout_.dim);
  }

  /// The opposite. To the nearest: what was kept before comes back the same.
  void pack(const float* from, float* kept) const noexcept {
    encode_elements(layout_.weights, {from, layout_.dim}, reinterpret_cast<std::byte*>(kept));
    std::copy_n(from + layout_.dim, slots(), kept + kept_weights());
  }

  /// The same of a row that the `count`-th update has changed, at random.
  void pack_updated(const float* from, float* kept, std::uint64_t key, std::uint64_t count) const noexcept {
    encode_elements_at_random(layout_.weights, {from, layout_.dim}, mix_bits(mix_bits(random_ ^ key) ^ count),
                              reinterpret_cast<std::byte*>(kept));
    std::copy_n(from + layout_.dim, slots(), kept + kept_weights());
  }

  /// Weights as they are once they were packed and unpacked.
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
