// SPDX-License-Identifier: Apache-2.0
// Computes products of many shapes with each kernel of this machine, and the functions of core/same_math.hpp for many
// floats. Prints a hash of each. same_bits.sh compiles it in every way that a user might; so no other code here computes
// with floats that are rounded.
#include <distrib/core/philox.hpp>
#include <distrib/core/same_math.hpp>
#include <distrib/tensor/matmul.hpp>

#include <bit>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace {

class Hash {
 public:
  void add(float value) { state_ = (state_ ^ std::bit_cast<std::uint32_t>(value)) * 0x100000001b3; }
  void print(const char* name) const { std::printf("%-9s %016" PRIx64 "\n", name, state_); }
  [[nodiscard]] auto operator==(const Hash&) const -> bool = default;

 private:
  std::uint64_t state_ = 0xcbf29ce484222325;
};

/// Random bits: numbers between 2^-20 and 2^12 with both signs; one in 16 is a denormal.
void fill(std::vector<float>& values, distrib::Philox& random) {
  for (float& value : values) {
    const std::uint32_t bits = random();
    const std::uint32_t choice = random();
    const std::uint32_t exponent = choice % 16 == 0 ? 0 : 107 + (choice >> 8) % 32;
    value = std::bit_cast<float>((bits & 0x807fffff) | (exponent << 23));
  }
}

auto hash_of_products(distrib::MatmulKernel kernel) -> Hash {
  Hash hash;
  distrib::Philox random{20161130, 0, 0};
  for (const std::size_t rows : {std::size_t{1}, std::size_t{5}, std::size_t{12}, std::size_t{64}})
    for (const std::size_t columns : {std::size_t{1}, std::size_t{7}, std::size_t{10}, std::size_t{33}})
      for (const std::size_t terms : {std::size_t{0}, std::size_t{3}, std::size_t{64}, std::size_t{1100}})
        for (int how = 0; how < (rows * columns * terms < 50'000 ? 8 : 1); ++how) {
          const bool a_turned = how % 2 != 0, b_turned = how / 2 % 2 != 0;
          std::vector<float> a(rows * terms + 1), b(terms * columns + 1), c(rows * columns);
          fill(a, random);
          fill(b, random);
          fill(c, random);
          const auto view = [](const float* data, std::size_t r, std::size_t n, bool turned) {
            const distrib::MatrixView plain{data, turned ? n : r, turned ? r : n,
                                            static_cast<std::ptrdiff_t>(turned ? r : n), 1};
            return turned ? distrib::transposed(plain) : plain;
          };
          const distrib::MatrixView of_a = view(a.data(), rows, terms, a_turned);
          const distrib::MatrixView of_b = view(b.data(), terms, columns, b_turned);
          const distrib::MutableMatrixView of_c{c.data(), rows, columns, static_cast<std::ptrdiff_t>(columns)};
          if (how < 4) distrib::matmul(of_a, of_b, of_c, kernel);
          else distrib::matmul_add(of_a, of_b, of_c, kernel);
          for (const float x : c) hash.add(x);
        }
  return hash;
}

/// Prints the hash of the results for floats between `first` and `last`. The results must be finite: with -ffast-math a
/// program promises that no function takes or returns another number, and clang computes garbage of them.
void print_function(const char* name, float (*function)(float) noexcept, float first, float last) {
  Hash hash;
  for (std::uint64_t bits = 0; bits <= 0xffffffffU; bits += 99'991) {
    const bool is_finite = (bits & 0x7f80'0000U) != 0x7f80'0000U;
    if (!is_finite) continue;
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (x >= first && x <= last) hash.add(function(x));
  }
  hash.print(name);
}

}  // namespace

auto main() -> int {
  const Hash first = hash_of_products(distrib::MatmulKernel::portable);
  for (const distrib::MatmulKernel kernel : distrib::matmul_kernels())
    if (!(hash_of_products(kernel) == first))
      std::printf("the kernel %s gives other bits than the portable one\n", std::string{to_string(kernel)}.c_str());
  first.print("products");
  constexpr float lowest = -0x1.fffffep127F, highest = 0x1.fffffep127F, least = 0x1p-149F;
  print_function("exp", distrib::same_exp, lowest, 88.7F);
  print_function("log", distrib::same_log, least, highest);
  print_function("log1p", distrib::same_log1p, -0x1.fffffep-1F, highest);
  print_function("tanh", distrib::same_tanh, lowest, highest);
  print_function("sigmoid", distrib::same_sigmoid, lowest, highest);
}
