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
  /// "zeros"
  [[nodiscard]] auto describe() const -> std::string { return "zeros"; }
  [[nodiscard]] auto operator==(const ZerosInitializer&) const noexcept -> bool = default;
};

/// Every element is `value`.
struct ConstantInitializer {
  float value = 0.0F;

  /// "constant value=0.1"
  [[nodiscard]] auto describe() const -> std::string { return "constant value=" + detail::shortest_text(value); }
  [[nodiscard]] auto operator==(const ConstantInitializer&) const noexcept -> bool = default;
};

/// Elements spread evenly over [low, high]; `high` itself only by rounding. Both finite, low <= high.
struct UniformInitializer {
  float low = -0.05F;
  float high = 0.05F;

  /// "uniform low=-0.05 high=0.05"
  [[nodiscard]] auto describe() const -> std::string {
    return "uniform low=" + detail::shortest_text(low) + " high=" + detail::shortest_text(high);
  }
  [[nodiscard]] auto operator==(const UniformInitializer&) const noexcept -> bool = default;
};

/// Elements spread evenly over [-limit, limit], limit = sqrt(6 / (fan_in + fan_out)): Glorot and Bengio, 2010, with
/// TensorFlow's fans (init_ops.py, `_compute_fans`): of a matrix its two extents, of a kernel of higher rank its last
/// two times the product of the others, of a vector its extent twice, of a scalar 1 and 1.
struct GlorotUniformInitializer {
  /// "glorot_uniform"
  [[nodiscard]] auto describe() const -> std::string { return "glorot_uniform"; }
  [[nodiscard]] auto operator==(const GlorotUniformInitializer&) const noexcept -> bool = default;
};

/// The values are the user's own: no text names them, so each worker makes them with its model's `initial_values()`, and
/// they come to the parameter servers as contribution 0. As TensorFlow's `tf.Variable(initial_value=...)`.
struct CustomInitializer {
  Sha256Digest sha256{};  ///< Of the whole variable's bytes, row-major; a trainer fills it in.

  /// "custom sha256=9f86d081..."
  [[nodiscard]] auto describe() const -> std::string { return "custom sha256=" + to_hex(sha256); }
  [[nodiscard]] auto operator==(const CustomInitializer&) const noexcept -> bool = default;
};

/// How a variable starts. A value, made implicitly from each of the initializers; zeros unless told.
class Initializer {
 public:
  using Choice = std::variant<ZerosInitializer, ConstantInitializer, UniformInitializer, GlorotUniformInitializer,
                              CustomInitializer>;

  Initializer() = default;
  Initializer(ZerosInitializer choice) : choice_{choice} {}  // NOLINT: implicit on purpose
  Initializer(ConstantInitializer choice) : choice_{choice} {}  // NOLINT
  Initializer(UniformInitializer choice) : choice_{choice} {}  // NOLINT
  Initializer(GlorotUniformInitializer choice) : choice_{choice} {}  // NOLINT
  Initializer(CustomInitializer choice) : choice_{choice} {}  // NOLINT

  /// Which one it is.
  [[nodiscard]] auto choice() const noexcept -> const Choice& { return choice_; }

  /// Whether the values are the user's own.
  [[nodiscard]] auto is_custom() const noexcept -> bool { return std::holds_alternative<CustomInitializer>(choice_); }

  /// Canonical text of it, as the job's description has it. Floats are written as the shortest text that reads back
  /// the same, so equal texts are equal initializers.
  [[nodiscard]] auto describe() const -> std::string {
    return std::visit([](const auto& choice) { return choice.describe(); }, choice_);
  }

  [[nodiscard]] auto operator==(const Initializer&) const noexcept -> bool = default;

 private:
  Choice choice_;
};

namespace detail {

/// The opposite of `Initializer::describe`: empty for every text that it does not write, and for a range that is not
/// finite or begins above its end. A constant may be any float.
[[nodiscard]] DISTRIB_DECL auto parse_initializer(std::string_view text) -> std::optional<Initializer>;

/// FNV-1a, 64 bits, of a variable's name.
[[nodiscard]] constexpr auto name_hash(std::string_view name) noexcept -> std::uint64_t {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return hash;
}

[[nodiscard]] DISTRIB_DECL auto glorot_range(const Shape& shape) noexcept -> UniformInitializer;

/// Element i of the variable is word i mod 4 of block i / 4 of the variable's counters, stretched to [low, high].
class UniformElements {
 public:
  UniformElements(UniformInitializer uniform, std::uint64_t seed, std::string_view name) noexcept
      : low_{static_cast<double>(uniform.low)},
        width_{Rounded<double>{static_cast<double>(uniform.high)} - low_},
        key_{philox_key(seed)},
        hash_{name_hash(name)} {
    assert(uniform.low <= uniform.high);
  }

  /// Writes elements `first`, `first` + 1 ..., counted modulo 2^64.
  DISTRIB_DECL void fill(std::uint64_t first, std::span<float> out) const noexcept;

 private:
  Rounded<double> low_;
  Rounded<double> width_;
  PhiloxKey key_;
  std::uint64_t hash_;
};

/// Writes the initial values of `part` of a variable of shape `whole` to `out`, row-major.
///
/// Element i of the whole variable is a pure function of (initializer, seed, name, i): however a variable is cut, and
/// on whatever machine, its elements are the same bits. Of a `CustomInitializer` they are zeros: its values come from
/// elsewhere. Programmer errors: a part outside `whole`, an `out` that is not
/// as long as the part.
DISTRIB_DECL void fill(const Initializer& initializer, std::uint64_t seed, std::string_view name, const Shape& whole,
                       const Slice& part, std::span<float> out);

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/core/impl/initializer.ipp>
#endif
