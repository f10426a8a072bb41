// SPDX-License-Identifier: Apache-2.0
// How fast gradients are put into the form in which they travel, and read: float32 (a copy), bfloat16, and int8 in
// blocks of 256. Rates are bytes of float32 per second. 64 Ki floats fit into the second cache, 16 Mi into none.
#include <distrib/core/float_codec.hpp>
#include <distrib/core/int8_blocks.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

struct Numbers {
  explicit Numbers(std::int64_t size) : floats(static_cast<std::size_t>(size)), sent(int8_bytes() + 4 * floats.size()) {
    for (std::size_t i = 0; i < floats.size(); ++i) floats[i] = static_cast<float>(i % 1999) * 1e-3F - 1;
  }
  [[nodiscard]] auto int8_bytes() const -> std::size_t { return distrib::int8_row_bytes(floats.size()); }

  std::vector<float> floats;
  std::vector<std::byte> sent;
};

template <class Code>
void run(benchmark::State& state, Code code) {
  Numbers numbers{state.range(0)};
  distrib::encode_int8_row(numbers.floats, 1, numbers.sent.data());
  for ([[maybe_unused]] auto iteration : state) {
    code(numbers);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0) * std::int64_t{sizeof(float)});
}

template <distrib::FloatFormat Format>
void encode(benchmark::State& state) {
  run(state, [](Numbers& n) { distrib::encode_elements(Format, n.floats, n.sent.data()); });
}

template <distrib::FloatFormat Format>
void decode(benchmark::State& state) {
  run(state, [](Numbers& n) { distrib::decode_elements(Format, n.sent.data(), n.floats); });
}

void encode_int8(benchmark::State& state) {
  run(state, [](Numbers& n) { distrib::encode_int8_row(n.floats, 7, n.sent.data()); });
}

void decode_int8(benchmark::State& state) {
  run(state, [](Numbers& n) { distrib::decode_int8_row(n.sent.data(), n.floats); });
}

void sizes(benchmark::internal::Benchmark* benchmark) { benchmark->Arg(64 << 10)->Arg(16 << 20); }

BENCHMARK(encode<distrib::FloatFormat::float32>)->Name("encode float32")->Apply(sizes);
BENCHMARK(encode<distrib::FloatFormat::bfloat16>)->Name("encode bfloat16")->Apply(sizes);
BENCHMARK(encode_int8)->Name("encode int8")->Apply(sizes);
BENCHMARK(decode<distrib::FloatFormat::float32>)->Name("decode float32")->Apply(sizes);
BENCHMARK(decode<distrib::FloatFormat::bfloat16>)->Name("decode bfloat16")->Apply(sizes);
BENCHMARK(decode_int8)->Name("decode int8")->Apply(sizes);

}  // namespace

BENCHMARK_MAIN();
