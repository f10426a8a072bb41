// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/optimizer/detail/lanes.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

// Belt to the braces of Lanes, see core/detail/rounded.hpp.
#if defined(__clang__)
#pragma float_control(push)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")
#endif

// All spans of a call are equally long; `to` may be the memory of `from`.
namespace distrib::inline v0::detail {

/// to = from - rate * gradient
inline void sgd_kernel(std::span<const float> gradient, std::span<const float> from, std::span<float> to,
                       float learning_rate) noexcept {
  const Lanes rate = every_lane(learning_rate);
  for_each_lanes(to.size(), [=](std::size_t at, auto count) __attribute__((always_inline)) {
    const Lanes g = load_lanes(gradient, at, count);
    store_lanes(load_lanes(from, at, count) - rate * g, to, at, count);
  });
}

/// a = momentum * a + gradient; to = from - rate * a
inline void momentum_kernel(std::span<const float> gradient, std::span<const float> from, std::span<float> to,
                            std::span<float> accumulator, float learning_rate, float momentum) noexcept {
  const Lanes rate = every_lane(learning_rate);
  const Lanes keep = every_lane(momentum);
  for_each_lanes(to.size(), [=](std::size_t at, auto count) __attribute__((always_inline)) {
    const Lanes a = keep * load_lanes(accumulator, at, count) + load_lanes(gradient, at, count);
    store_lanes(a, accumulator, at, count);
    store_lanes(load_lanes(from, at, count) - rate * a, to, at, count);
  });
}

/// a = momentum * a + gradient; to = from - (rate * gradient + momentum * a * rate)
inline void nesterov_kernel(std::span<const float> gradient, std::span<const float> from, std::span<float> to,
                            std::span<float> accumulator, float learning_rate, float momentum) noexcept {
  const Lanes rate = every_lane(learning_rate);
  const Lanes keep = every_lane(momentum);
  for_each_lanes(to.size(), [=](std::size_t at, auto count) __attribute__((always_inline)) {
    const Lanes g = load_lanes(gradient, at, count);
    const Lanes a = keep * load_lanes(accumulator, at, count) + g;
    store_lanes(a, accumulator, at, count);
    store_lanes(load_lanes(from, at, count) - (rate * g + keep * a * rate), to, at, count);
  });
}

struct AdamFactors {
  float alpha;  // the learning rate, corrected for both powers
  float beta1;
  float beta2;
  float epsilon;
};

/// m += (g - m) * (1 - beta1); v += (g * g - v) * (1 - beta2); to = from - m * alpha / (sqrt(v) + epsilon)
inline void adam_kernel(std::span<const float> gradient, std::span<const float> from, std::span<float> to,
                        std::span<float> first_moment, std::span<float> second_moment, AdamFactors factors) noexcept {
  const Lanes alpha = every_lane(factors.alpha);
  const Lanes blend1 = every_lane(1.0F) - every_lane(factors.beta1);
  const Lanes blend2 = every_lane(1.0F) - every_lane(factors.beta2);
  const Lanes epsilon = every_lane(factors.epsilon);
  for_each_lanes(to.size(), [=](std::size_t at, auto count) __attribute__((always_inline)) {
    const Lanes g = load_lanes(gradient, at, count);
    const Lanes old_m = load_lanes(first_moment, at, count);
    const Lanes old_v = load_lanes(second_moment, at, count);
    const Lanes m = old_m + (g - old_m) * blend1;
    const Lanes v = old_v + (g * g - old_v) * blend2;
    store_lanes(m, first_moment, at, count);
    store_lanes(v, second_moment, at, count);
    store_lanes(load_lanes(from, at, count) - m * alpha / (sqrt(v) + epsilon), to, at, count);
  });
}

/// The alpha of `AdamFactors`: rate * sqrt(1 - beta2^count) / (1 - beta1^count), in double, rounded once at the end.
[[nodiscard]] inline auto adam_alpha(float learning_rate, double beta1_power, double beta2_power) noexcept -> float {
  const Rounded<double> one{1.0};
  const Rounded<double> rate{static_cast<double>(learning_rate)};
  const Rounded<double> root = sqrt(one - Rounded<double>{beta2_power});
  return static_cast<float>((rate * root / (one - Rounded<double>{beta1_power})).value);
}

/// base^exponent by repeated multiplication (and squaring) in double.
[[nodiscard]] inline auto power(float base, std::uint64_t exponent) noexcept -> double {
  Rounded<double> result{1.0};
  for (Rounded<double> square{static_cast<double>(base)}; exponent != 0; exponent /= 2) {
    if (exponent % 2 != 0) result = result * square;
    square = square * square;
  }
  return result.value;
}

/// first + (last - first) * elapsed / steps, for elapsed < steps.
[[nodiscard]] inline auto interpolate(float first, float last, std::uint64_t elapsed, std::uint64_t steps) noexcept
    -> float {
  const Rounded<double> start{static_cast<double>(first)};
  const Rounded<double> way = Rounded<double>{static_cast<double>(last)} - start;
  const Rounded<double> gone{static_cast<double>(elapsed)};
  return static_cast<float>((start + way * gone / Rounded<double>{static_cast<double>(steps)}).value);
}

/// out = (contribution 0 + contribution 1 + ...) / their number, added in this order.
inline void mean_kernel(std::span<const std::span<const float>> contributions, std::span<float> out) noexcept {
  const std::size_t ranks = contributions.size();
  const Lanes divisor = every_lane(static_cast<float>(ranks));
  for_each_lanes(out.size(), [=](std::size_t at, auto count) __attribute__((always_inline)) {
    Lanes sum = load_lanes(contributions[0], at, count);
    for (std::size_t rank = 1; rank < ranks; ++rank) sum = sum + load_lanes(contributions[rank], at, count);
    store_lanes(sum / divisor, out, at, count);
  });
}

}  // namespace distrib::inline v0::detail

#if defined(__clang__)
#pragma float_control(pop)
#elif defined(__GNUC__)
#pragma GCC pop_options
#endif
