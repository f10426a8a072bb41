// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../rpc/load.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

// What the programs of this folder share, besides the command line and the load of benchmarks/rpc. The data is one
// dense variable of `--bytes` bytes of float32, zeros at first; at every push the server computes
// `value -= learning_rate * gradient`. With `--keys N` it is a table instead, whose rows have 64-bit keys (with
// `--numbered`, which only ours supports, the numbers of the rows) and change in the same way; each request has N keys.
// Methods: push, pull, and push-pull (counts once, when both are answered; not for rows). Each process is one server,
// `serve`, or one worker, `load`.

inline constexpr float learning_rate = 1.0F / 1024;

/// Returns the gradient that a worker pushes again and again. `values` are the server's current values. If the first of
/// them is negative, the gradient is negative, otherwise (also if `values` is empty) it is positive: pushes move the
/// values towards zero and a little beyond, so that floats stay exact enough after any number of workers.
inline auto gradient(std::size_t bytes, std::span<const float> values) -> std::vector<float> {
  const float sign = !values.empty() && values.front() < 0 ? -1.0F : 1.0F;
  std::vector<float> made(bytes / sizeof(float));
  for (std::size_t i = 0; i < made.size(); ++i) made[i] = sign * (0.5F + static_cast<float>(i % 512) / 1024);
  return made;
}

/// Ends the program unless one push of `gradient` has changed `before` to `after`, so that a server that does not apply
/// pushes cannot be measured.
inline void check_applied(std::span<const float> before, std::span<const float> gradient,
                          std::span<const float> after) {
  if (before.size() != gradient.size() || after.size() != gradient.size()) fail("the values have the wrong size");
  for (std::size_t i = 0; i < gradient.size(); ++i)
    if (std::abs(before[i] - learning_rate * gradient[i] - after[i]) > 1e-4F)
      fail("element " + std::to_string(i) + " is " + std::to_string(after[i]) + " after a push, and was " +
           std::to_string(before[i]));
}

// --- rows ---

inline constexpr std::size_t row_floats = 16;
inline constexpr std::size_t row_bytes = row_floats * sizeof(float);
inline constexpr std::uint64_t table_rows = 1 << 20;

/// The number of requests that are sent in turn, after all rows have been pushed once.
inline constexpr std::size_t request_count = 64;

/// Returns the keys of all requests, `keys` in each, in ascending order. No key is in two requests. Together they have
/// the keys of all rows, except a remainder that does not fill a request. `numbered`: the keys are 0 .. table_rows - 1;
/// otherwise they are spread over all 64 bits.
inline auto request_keys(std::size_t keys, bool numbered = false) -> std::vector<std::vector<std::uint64_t>> {
  std::vector<std::uint64_t> all(table_rows);
  std::iota(all.begin(), all.end(), std::uint64_t{numbered ? 0U : 1U});
  if (!numbered)
    for (std::uint64_t& key : all) key *= 0x9E37'79B9'7F4A'7C15;
  std::ranges::shuffle(all, std::mt19937_64{1});
  std::vector<std::vector<std::uint64_t>> requests;
  for (auto first = all.begin(); all.end() - first >= static_cast<std::ptrdiff_t>(keys);) {
    requests.emplace_back(first, first + static_cast<std::ptrdiff_t>(keys));
    std::ranges::sort(requests.back());
    first += static_cast<std::ptrdiff_t>(keys);
  }
  return requests;
}
