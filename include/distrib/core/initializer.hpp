// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/philox.hpp>
#include <distrib/core/rounded.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/core/shape.hpp>
#include <distrib/core/shortest_text.hpp>
#include <distrib/core/slice.hpp>

#include <cassert>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace distrib {
inline namespace v0 {

/// Every element is 0.
struct ZerosInitializer {
  /// Returns "zeros".
  [[nodiscard]] auto describe() const -> std::string { return "zeros"; }
  [[nodiscard]] auto operator==(const ZerosInitializer&) const noexcept -> bool = default;
};

/// Every element is `value`.
struct ConstantInitializer {
  float value = 0.0F;  ///< Any float, also infinite or NaN.

  /// Returns "constant value=0.1".
  [[nodiscard]] auto describe() const -> std::string { return "constant value=" + detail::shortest_text(value); }
  [[nodiscard]] auto operator==(const ConstantInitializer&) const noexcept -> bool = default;
};

/// Elements are distributed evenly over [low, high]. `high` itself occurs only by rounding. Both must be finite, and
/// low <= high.
struct UniformInitializer {
  float low = -0.05F;  ///< Smallest value.
  float high = 0.05F;  ///< Largest value.

  /// Returns "uniform low=-0.05 high=0.05".
  [[nodiscard]] auto describe() const -> std::string {
    return "uniform low=" + detail::shortest_text(low) + " high=" + detail::shortest_text(high);
  }
  [[nodiscard]] auto operator==(const UniformInitializer&) const noexcept -> bool = default;
};

/// Elements are distributed evenly over [-limit, limit], limit = sqrt(6 / (fan_in + fan_out)): Glorot and Bengio, 2010.
/// The fans are TensorFlow's (init_ops.py, `_compute_fans`). No axis: 1 and 1. One axis: the extent, for both. Two
/// axes: the two extents. More axes (a convolution kernel): each of the last two extents times the product of all the
/// others.
struct GlorotUniformInitializer {
  /// Returns "glorot_uniform".
  [[nodiscard]] auto describe() const -> std::string { return "glorot_uniform"; }
  [[nodiscard]] auto operator==(const GlorotUniformInitializer&) const noexcept -> bool = default;
};

/// The user's own values, which no text can describe. Each worker makes them with its model's `initial_values()`, and
/// the parameter servers receive them as contribution 0. As TensorFlow's `tf.Variable(initial_value=...)`.
struct CustomInitializer {
  Sha256Digest sha256{};  ///< SHA-256 of the bytes of the whole variable, row-major. A trainer fills it in.

  /// Returns "custom sha256=9f86d081...".
  [[nodiscard]] auto describe() const -> std::string { return "custom sha256=" + to_hex(sha256); }
  [[nodiscard]] auto operator==(const CustomInitializer&) const noexcept -> bool = default;
};

/// The initial values of a variable. A value, converted implicitly from each of the initializers. Default: zeros.
class Initializer {
 public:
  using Choice = std::variant<ZerosInitializer, ConstantInitializer, UniformInitializer, GlorotUniformInitializer,
                              CustomInitializer>;

  /// Chooses zeros.
  Initializer() = default;
  /// Chooses this initializer. Nothing of it is checked here. A `CustomInitializer` does not hold the values: they
  /// come from `initial_values()` of the model.
  Initializer(ZerosInitializer choice) : choice_{choice} {}  // NOLINT: implicit on purpose
  Initializer(ConstantInitializer choice) : choice_{choice} {}  // NOLINT
  Initializer(UniformInitializer choice) : choice_{choice} {}  // NOLINT
  Initializer(GlorotUniformInitializer choice) : choice_{choice} {}  // NOLINT
  Initializer(CustomInitializer choice) : choice_{choice} {}  // NOLINT

  /// Returns the chosen initializer.
  [[nodiscard]] auto choice() const noexcept -> const Choice& { return choice_; }

  /// True if the values are the user's own.
  [[nodiscard]] auto is_custom() const noexcept -> bool { return std::holds_alternative<CustomInitializer>(choice_); }

  /// Returns the canonical text, as a job's description contains it. Floats are written as the shortest text that reads
  /// back as the same float, so initializers are equal if their texts are.
  [[nodiscard]] auto describe() const -> std::string {
    return std::visit([](const auto& choice) { return choice.describe(); }, choice_);
  }

  [[nodiscard]] auto operator==(const Initializer&) const noexcept -> bool = default;

 private:
  Choice choice_;
};

namespace detail {

/// Returns the initializer whose `describe()` is `text`. Empty for every other text, and for a range that is not finite
/// or has low > high. A constant may be any float, also infinite or NaN.
[[nodiscard]] DISTRIB_DECL auto parse_initializer(std::string_view text) -> std::optional<Initializer>;

/// Returns the 64-bit FNV-1a hash of a variable's name.
[[nodiscard]] constexpr auto name_hash(std::string_view name) noexcept -> std::uint64_t {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return hash;
}

/// Returns the range of `GlorotUniformInitializer` for a variable of this shape.
[[nodiscard]] DISTRIB_DECL auto glorot_range(const Shape& shape) noexcept -> UniformInitializer;

/// The elements of a uniformly initialized variable. Element i is word i mod 4 of the Philox block whose counter is
/// `(i / 4, name hash)` and whose key is the seed, scaled to [low, high].
class UniformElements {
 public:
  UniformElements(UniformInitializer uniform, std::uint64_t seed, std::string_view name) noexcept
      : low_{static_cast<double>(uniform.low)},
        width_{Rounded<double>{static_cast<double>(uniform.high)} - low_},
        key_{philox_key(seed)},
        hash_{name_hash(name)} {
    assert(uniform.low <= uniform.high);
  }

  /// Writes the elements `first`, `first` + 1, ...; the index is taken modulo 2^64.
  DISTRIB_DECL void fill(std::uint64_t first, std::span<float> out) const noexcept;

 private:
  Rounded<double> low_;
  Rounded<double> width_;
  PhiloxKey key_;
  std::uint64_t hash_;
};

/// Writes the initial values of `part` of a variable of shape `whole` to `out`, row-major.
///
/// Element i of the whole variable is a pure function of (initializer, seed, name, i): its bits are the same however
/// the variable is divided, and on every machine. For a `CustomInitializer` writes zeros: those values come from the
/// model. Programmer errors, which are asserted: `part` is not inside `whole`; `out` is not as long as `part`.
DISTRIB_DECL void fill(const Initializer& initializer, std::uint64_t seed, std::string_view name, const Shape& whole,
                       const Slice& part, std::span<float> out);

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/core/impl/initializer.ipp>
#endif
