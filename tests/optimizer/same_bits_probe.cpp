// SPDX-License-Identifier: Apache-2.0
// Runs every kernel on the same numbers with each set of instructions that the machine has. Prints a hash of the
// result, or that results differ. same_bits.sh compiles it in every way that a user might; so only the kernels compute
// with floats here.
#include <distrib/core/initializer.hpp>
#include <distrib/optimizer.hpp>
#include <distrib/optimizer/square_sum.hpp>

#include <array>
#include <bit>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

namespace {

using distrib::detail::Instructions;

constexpr std::size_t size = 10'007;

/// Random bits: numbers between 2^-20 and 2^12 with both signs; one in 16 is a denormal.
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

auto hash(std::initializer_list<std::span<const float>> results) -> std::uint64_t {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::span<const float> values : results)
    for (const float value : values) {
      const auto bits = std::bit_cast<std::uint32_t>(value);
      const bool is_nan = (bits & 0x7fffffff) > 0x7f800000;  // the processor chooses its sign
      hash = (hash ^ (is_nan ? 0x7fc00000 : bits)) * 0x100000001b3;
    }
  return hash;
}

void print(const char* kernel, std::initializer_list<std::span<const float>> results) {
  std::printf("%-17s %016" PRIx64 "\n", kernel, hash(results));
}

/// `run(instructions)` returns a hash; it must be the same for all sets of instructions that this machine can run.
template <class Run>
void print_all(const char* kernel, Run run) {
  const std::uint64_t first = run(Instructions::baseline);
  const int best = static_cast<int>(distrib::detail::best_instructions());
  for (int wider = 1; wider <= best; ++wider)
    if (run(static_cast<Instructions>(wider)) != first)
      std::printf("%-17s instructions %d give other bits than the baseline\n", kernel, wider);
  std::printf("%-17s %016" PRIx64 "\n", kernel, first);
}

/// Runs twenty updates of a block, and of the same elements as rows of 13, with `factors(count)`.
template <class Factors>
void print_kernel(const char* kernel, Factors factors) {
  print_all(kernel, [&](Instructions instructions) {
    std::vector<float> values = numbers(0);
    std::vector<float> slots[3] = {numbers(1), numbers(2), numbers(30)};
    clear_signs(slots[0]);  // squares are not negative; all slots are cleared, so that every kernel gets the same
    clear_signs(slots[1]);
    clear_signs(slots[2]);
    constexpr std::size_t dim = 13;
    std::vector<float> table(size / dim * dim * 4);
    std::vector<float*> rows;
    for (std::size_t row = 0; row < size / dim; ++row) {
      rows.push_back(table.data() + row * dim * 4);
      for (std::size_t at = 0; at < dim; ++at) {
        rows[row][at] = values[row * dim + at];
        for (std::size_t slot = 0; slot < 3; ++slot) rows[row][(slot + 1) * dim + at] = slots[slot][row * dim + at];
      }
    }
    for (std::uint64_t count = 1; count <= 20; ++count) {
      const std::vector<float> gradient = numbers(static_cast<std::uint32_t>(2 + count));
      distrib::detail::update_block(
          factors(count),
          {gradient.data(), values.data(), values.data(), {slots[0].data(), slots[1].data(), slots[2].data()}, size},
          instructions);
      distrib::detail::update_rows(factors(count), {rows.data(), gradient.data(), rows.size(), dim}, instructions);
    }
    std::size_t other = 0;
    for (std::size_t row = 0; row < rows.size(); ++row)
      for (std::size_t at = 0; at < dim; ++at)
        if (std::bit_cast<std::uint32_t>(rows[row][at]) != std::bit_cast<std::uint32_t>(values[row * dim + at]))
          ++other;
    if (other != 0) std::printf("%-17s %zu elements of rows have other bits than in a block\n", kernel, other);
    return hash({values, slots[0], slots[1], slots[2]});
  });
}

void print_initializer(const char* kernel, const distrib::Initializer& initializer) {
  const distrib::Shape shape{97, 31};
  std::vector<float> values(97 * 31);
  distrib::detail::fill(initializer, 20160411, "hidden/weights", shape, distrib::Slice::whole(shape), values);
  print(kernel, {values});
}

void print_mean() {
  const std::vector<float> blocks[] = {numbers(0), numbers(1), numbers(2), numbers(3), numbers(4)};
  const std::span<const float> contributions[] = {blocks[0], blocks[1], blocks[2], blocks[3], blocks[4]};
  print_all("mean", [&](Instructions instructions) {
    std::vector<float> mean(size);
    distrib::detail::mean_of({contributions, 5, mean.data(), size, 5}, instructions);
    return hash({mean});
  });
}

void print_square_sums() {
  const std::vector<float> values = numbers(6);
  std::vector<float> sums(100);
  for (std::size_t i = 0; i < sums.size(); ++i)
    sums[i] = static_cast<float>(distrib::square_sum(std::span{values}.first(i * 100 + i % 17)));
  print("square sums", {sums});
}

void print_average() {
  std::vector<float> averages = numbers(7);
  for (std::uint32_t count = 1; count <= 20; ++count)
    distrib::MovingAverage{.decay = 0.9F}.update(averages, numbers(count), count);
  print("moving average", {averages});
}

void print_powers() {
  std::vector<float> powers = numbers(5);
  clear_signs(powers);
  for (std::size_t i = 0; i < size; ++i)
    powers[i] = static_cast<float>(distrib::detail::power(powers[i], i % 2 == 0 ? 0.3F : 0.85F));
  print("powers", {powers});
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

void print_schedule(const char* name, const distrib::LearningRate& rate) {
  std::vector<float> rates(size);
  for (std::size_t i = 0; i < size; ++i) rates[i] = rate.at(i + 1);
  print(name, {rates});
}

}  // namespace

auto main() -> int {
  using namespace distrib::detail;
  const distrib::Linear linear{.first = 0.1F, .last = 0.0F, .steps = 30};
  const auto alpha = [&](std::uint64_t count) {
    return adam_alpha(linear.at(count), power(0.9F, count), power(0.999F, count));
  };
  print_kernel("sgd", [&](auto count) { return SgdFactors{linear.at(count)}; });
  print_kernel("momentum", [&](auto count) { return MomentumFactors{linear.at(count), 0.9F}; });
  print_kernel("nesterov", [&](auto count) { return NesterovFactors{linear.at(count), 0.9F}; });
  print_kernel("adagrad", [&](auto count) { return AdagradFactors{linear.at(count)}; });
  print_kernel("rmsprop", [&](auto count) { return RMSPropFactors{linear.at(count), blend(0.9F), 0.5F, 1e-3F}; });
  print_kernel("centered rmsprop",
               [&](auto count) { return CenteredRMSPropFactors{linear.at(count), blend(0.9F), 0.5F, 1e-3F}; });
  print_kernel("adam", [&](auto count) { return AdamFactors{alpha(count), blend(0.9F), blend(0.999F), 1e-8F}; });
  print_kernel("amsgrad", [&](auto count) { return AMSGradFactors{alpha(count), blend(0.9F), blend(0.999F), 1e-8F}; });
  print_kernel("adamw",
               [&](auto count) { return AdamWFactors{alpha(count), blend(0.9F), blend(0.999F), 1e-8F, 1e-3F}; });
  print_kernel("ftrl", [&](auto count) { return FtrlFactors{linear.at(count), 0.5F, 0.1F, 0.4F, 0.6F}; });
  print_kernel("ftrl power", [&](auto count) { return FtrlFactors{linear.at(count), 0.3F, 0.1F, 0.4F, 0.0F}; });
  print_mean();
  print_powers();
  print_rates();
  print_initializer("uniform", distrib::UniformInitializer{.low = -0.3F, .high = 0.7F});
  print_initializer("glorot", distrib::GlorotUniformInitializer{});
  const auto decay = [&](std::uint64_t count) {
    return typename Decaying<SgdFactors>::template Factors<float>{{linear.at(count)}, 0.01F};
  };
  print_kernel("weight decay", decay);
  print_kernel("dampening", [&](auto count) { return DampenedMomentumFactors{linear.at(count), 0.9F, 0.7F, 0.01F}; });
  print_kernel("torch adam", [&](auto count) {
    return TorchAdamFactors{alpha(count), blend(0.9), 0.999F, blend(0.999), 0.3F, 1e-8F, 0.01F, 0.99F};
  });
  print_kernel("torch adagrad", [&](auto count) { return TorchAdagradFactors{linear.at(count), 0.01F, 1e-8F}; });
  print_kernel("torch rmsprop",
               [&](auto count) { return TorchRMSPropFactors{linear.at(count), 0.9F, blend(0.9), 1e-3F, 0.01F, 0.5F}; });
  print_square_sums();
  print_average();
  print_schedule("step decay", distrib::StepDecay{.first = 0.1F, .factor = 0.7, .every = 97});
  print_schedule("exponential decay", distrib::ExponentialDecay{.first = 0.1F, .factor = 0.9993});
  print_schedule("cosine decay", distrib::CosineDecay{.first = 0.1F, .last = 0.0003F, .steps = 9'973});
  print_schedule("one cycle", distrib::OneCycle{.highest = 0.1F, .steps = 9'973});
  print_schedule("warm-up", distrib::WarmUp{.steps = 997, .start = 0.1, .then = distrib::Constant{0.1F}});
}
