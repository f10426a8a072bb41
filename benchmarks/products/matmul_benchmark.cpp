// SPDX-License-Identifier: Apache-2.0
// matmul_benchmark KERNEL: the products of the examples and some larger ones, by this kernel of `matmul` and by OpenBLAS
// on one thread, in turns. Prints a line of JSON for each: the median of all turns in GFLOP/s, or the median time of
// one product in microseconds. OPENBLAS_CORETYPE selects the kernels of OpenBLAS, as Haswell.
#include <distrib/tensor/matmul.hpp>

#include <cblas.h>
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

/// c (rows x columns) = a b with so many terms; `a_turned`: a is stored transposed.
struct Shape {
  const char* name;
  std::size_t rows, columns, terms;
  bool a_turned, b_turned;
};

constexpr Shape shapes[] = {
    {"64x784 128", 64, 128, 784, false, false},
    {"784x64 128, a transposed", 784, 128, 64, true, false},
    {"64x128 10", 64, 10, 128, false, false},
    {"128x64 10, a transposed", 128, 10, 64, true, false},
    {"64x10 128, b transposed", 64, 128, 10, false, true},
    {"512x784 128", 512, 128, 784, false, false},
    {"784x512 128, a transposed", 784, 128, 512, true, false},
    {"64x429 128", 64, 128, 429, false, false},
    {"429x64 128, a transposed", 429, 128, 64, true, false},
    {"64x128 429, b transposed", 64, 429, 128, false, true},
    {"64x64 1", 64, 1, 64, false, false},
    {"1024x1024 1024", 1024, 1024, 1024, false, false},
};

/// Returns the CPU seconds of this thread.
auto cpu_seconds() -> double {
  ::timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Returns the CPU seconds of one call, the mean of `calls` calls.
template <class Call> auto seconds_of(Call call, std::size_t calls) -> double {
  const double begun = cpu_seconds();
  for (std::size_t i = 0; i < calls; ++i) call();
  return (cpu_seconds() - begun) / static_cast<double>(calls);
}

auto median(std::vector<double> values) -> double {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void measure(const Shape& s, distrib::MatmulKernel kernel) {
  const auto numbers = [](std::size_t size) {
    std::vector<float> made(size);
    for (std::size_t i = 0; i < size; ++i) made[i] = static_cast<float>(i * 7919 % 1009) / 1009 - 0.5F;
    return made;
  };
  const std::vector<float> a = numbers(s.rows * s.terms), b = numbers(s.terms * s.columns);
  std::vector<float> c(s.rows * s.columns);
  const auto view = [](const std::vector<float>& data, std::size_t rows, std::size_t columns, bool turned) {
    const distrib::MatrixView stored{data.data(), turned ? columns : rows, turned ? rows : columns,
                                     static_cast<std::ptrdiff_t>(turned ? rows : columns), 1};
    return turned ? distrib::transposed(stored) : stored;
  };
  const distrib::MatrixView of_a = view(a, s.rows, s.terms, s.a_turned), of_b = view(b, s.terms, s.columns, s.b_turned);
  const distrib::MutableMatrixView of_c{c.data(), s.rows, s.columns, static_cast<std::ptrdiff_t>(s.columns)};
  const auto ours = [&] { distrib::matmul(of_a, of_b, of_c, kernel); };
  const auto theirs = [&] {
    const auto number = [](std::size_t x) { return static_cast<int>(x); };
    cblas_sgemm(CblasRowMajor, s.a_turned ? CblasTrans : CblasNoTrans, s.b_turned ? CblasTrans : CblasNoTrans,
                number(s.rows), number(s.columns), number(s.terms), 1, a.data(), number(s.a_turned ? s.rows : s.terms),
                b.data(), number(s.b_turned ? s.terms : s.columns), 0, c.data(), number(s.columns));
  };
  ours();
  theirs();
  const auto calls = static_cast<std::size_t>(std::clamp(1e-3 / seconds_of(ours, 1), 1.0, 1e4));
  std::vector<double> of_ours, of_theirs;
  for (int turn = 0; turn < 31; ++turn) {
    of_ours.push_back(seconds_of(ours, calls));
    of_theirs.push_back(seconds_of(theirs, calls));
  }
  const double flops = 2 * static_cast<double>(s.rows * s.columns * s.terms);
  std::printf("{\"name\": \"%s\", \"ours\": %.2f, \"openblas\": %.2f, \"microseconds\": %.3f}\n", s.name,
              flops / median(of_ours) * 1e-9, flops / median(of_theirs) * 1e-9, median(of_ours) * 1e6);
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string name = argc == 2 ? argv[1] : "";
  for (const distrib::MatmulKernel kernel : distrib::matmul_kernels()) {
    if (to_string(kernel) != name) continue;
    openblas_set_num_threads(1);
    std::fprintf(stderr, "%s, %s\n", openblas_get_config(), openblas_get_corename());
    for (const Shape& shape : shapes) measure(shape, kernel);
    return 0;
  }
  throw std::invalid_argument("this processor has no kernel '" + name + "'");
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 69;
}
