// SPDX-License-Identifier: Apache-2.0
// Runs every kernel on the same numbers and prints a hash of the bits that come out. same_bits.sh compiles it in every
// way a user might; so nothing here but the kernels computes with floats.
#include <distrib/core/initializer.hpp>
#include <distrib/optimizer/adam.hpp>
#include <distrib/optimizer/momentum.hpp>
#include <distrib/optimizer/reduce.hpp>
#include <distrib/optimizer/sgd.hpp>

#include <array>
#include <bit>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

namespace {

constexpr std::size_t size = 10'007;

/// Random bits: numbers between 2^-20 and 2^12 of both signs, and one in 16 a denormal.
auto numbers(std::uint32_t which) -> std::vector<float> {
  std::vector<float> made(size);
  distrib::Philox random{20160411, 0, which};
  for (float& number : made) {
    const std::uint32_t bits = random();
    const std::uint32_t choice = random();
    const std::uint32_t exponent = choice % 16 == 0 ? 0 : 107 + (choice >> 8) % 32;
    number = std::bit_cast<float>((bits & 0x807fffff) | (exponent << 23));
  }
  return made;
}

void clear_signs(std::span<float> values) {
  for (float& value : values) value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & 0x7fffffff);
}

void print(const char* kernel, std::initializer_list<std::span<const float>> results) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::span<const float> values : results)
    for (const float value : values) hash = (hash ^ std::bit_cast<std::uint32_t>(value)) * 0x100000001b3;
  std::printf("%-13s %016" PRIx64 "\n", kernel, hash);
}

template <class U>
void print_updater(const char* kernel, const U& updater) {
  std::vector<float> values = numbers(0);
  std::vector<float> first = numbers(1);
  std::vector<float> second = numbers(2);
  clear_signs(second);
  const std::array<std::span<float>, 2> slots{first, second};
  for (std::uint64_t count = 1; count <= 20; ++count)
    updater.apply({count}, numbers(static_cast<std::uint32_t>(2 + count)), values, values,
                  std::span{slots}.first(U::slots.size()));
  print(kernel, {values, first, second});
}

void print_initializer(const char* kernel, const distrib::Initializer& initializer) {
  const distrib::Shape shape{97, 31};
  std::vector<float> values(97 * 31);
  distrib::fill(initializer, 20160411, "hidden/weights", shape, distrib::Slice::whole(shape), values);
  print(kernel, {values});
}

void print_mean() {
  const std::vector<float> blocks[] = {numbers(0), numbers(1), numbers(2), numbers(3), numbers(4)};
  const std::span<const float> contributions[] = {blocks[0], blocks[1], blocks[2], blocks[3], blocks[4]};
  std::vector<float> mean(size);
  distrib::reduce_mean(contributions, mean);
  print("mean", {mean});
}

void print_rates() {
  const distrib::Linear linear{.first = 0.1F, .last = 0.003F, .steps = 9'973};
  const distrib::Adam adam{};
  std::vector<float> rates(size);
  std::vector<float> alphas(size);
  for (std::size_t i = 0; i < size; ++i) {
    rates[i] = linear.at(i + 1);
    alphas[i] = distrib::detail::adam_alpha(0.001F, adam.beta1_power(i + 1), adam.beta2_power(i + 1));
  }
  print("linear", {rates});
  print("adam alpha", {alphas});
}

}  // namespace

auto main() -> int {
  const distrib::Linear rate{.first = 0.1F, .last = 0.0F, .steps = 30};
  print_updater("sgd", distrib::Sgd{.learning_rate = rate});
  print_updater("momentum", distrib::Momentum{.learning_rate = rate});
  print_updater("nesterov", distrib::Momentum{.learning_rate = rate, .use_nesterov = true});
  print_updater("adam", distrib::Adam{.learning_rate = rate});
  print_mean();
  print_rates();
  print_initializer("uniform", distrib::UniformInitializer{.low = -0.3F, .high = 0.7F});
  print_initializer("glorot", distrib::GlorotUniformInitializer{});
}
