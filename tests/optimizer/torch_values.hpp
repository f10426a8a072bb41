// SPDX-License-Identifier: Apache-2.0
// Compares updaters and schedules with what PyTorch computed: the recorded results in fixtures/torch.txt, which
// tests/interop/torch_optimizers.py has made. Initial values and gradients are those of the script.
#pragma once

#include <distrib/core/shortest_text.hpp>
#include <distrib/optimizer/updater.hpp>

#include "optimizer/reference.hpp"
#include "support/catch.hpp"
#include "support/test_dir.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace reference {

/// The recorded results: for each headline "updater TEXT dense|rows STEP" or "schedule TEXT" its lines of numbers.
inline auto torch_results() -> const std::map<std::string, std::vector<std::vector<double>>>& {
  static const auto results = [] {
    std::map<std::string, std::vector<std::vector<double>>> read;
    std::ifstream file{support::test_dir() + "/optimizer/fixtures/torch.txt"};
    std::vector<std::vector<double>>* last = nullptr;
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("updater ") || line.starts_with("schedule ")) last = &read[line];
      if (last == nullptr || line.find_first_of("0123456789-") != 0) continue;
      std::istringstream numbers{line};
      std::vector<double>& made = last->emplace_back();
      for (double number = 0; numbers >> number;) made.push_back(number);
    }
    return read;
  }();
  return results;
}

/// Checks that `found` is `wanted` within the tolerance that the library promises.
inline void check_near(std::span<const float> found, const std::vector<double>& wanted) {
  REQUIRE(found.size() == wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    CAPTURE(i, found[i], wanted[i]);
    CHECK(std::abs(static_cast<double>(found[i]) - wanted[i]) <= 1e-7 + 1e-5 * std::abs(wanted[i]));
  }
}

/// Checks `updater` after 1, 10 and 100 steps. `in_rows`: at each step two of three rows have a gradient. Slots that
/// the record does not have are not compared.
template <class U>
void check_against_torch(const U& updater, bool in_rows = false) {
  constexpr std::size_t rows = 5;
  constexpr std::size_t dim = 3;
  constexpr std::size_t blocks = 1 + distrib::detail::slot_count<U>;
  const std::vector<float> first = numbers(rows * dim, 2);
  std::vector<float> table(rows * dim * blocks);  // each row is followed by its slots
  for (std::size_t row = 0; row < rows; ++row) {
    auto to = table.begin() + static_cast<std::ptrdiff_t>(row * dim * blocks);
    to = std::copy_n(first.begin() + static_cast<std::ptrdiff_t>(row * dim), dim, to);
    for (const distrib::Slot& slot : updater.slots()) to = std::fill_n(to, dim, slot.initial);
  }
  const std::string headline =
      "updater " + std::string{U::name} + ' ' + updater.describe() + (in_rows ? " rows " : " dense ");
  for (std::uint64_t step = 1; step <= 100; ++step) {
    const std::vector<float> gradient = numbers(rows * dim, static_cast<std::uint32_t>(10 + step));
    std::vector<float*> changed;
    std::vector<float> gradients;
    for (std::size_t row = 0; row < rows; ++row) {
      if (in_rows && (row + step) % 3 == 0) continue;
      changed.push_back(table.data() + row * dim * blocks);
      gradients.insert(gradients.end(), gradient.begin() + static_cast<std::ptrdiff_t>(row * dim),
                       gradient.begin() + static_cast<std::ptrdiff_t>((row + 1) * dim));
    }
    updater.apply_rows({step}, {.dim = dim, .rows = changed, .gradients = gradients});
    if (step != 1 && step != 10 && step != 100) continue;
    CAPTURE(headline, step);
    const auto wanted = torch_results().find(headline + std::to_string(step));
    REQUIRE(wanted != torch_results().end());
    REQUIRE(!wanted->second.empty());
    for (std::size_t block = 0; block < wanted->second.size(); ++block) {
      CAPTURE(block);
      std::vector<float> found;
      for (std::size_t row = 0; row < rows; ++row)
        found.insert(found.end(), table.begin() + static_cast<std::ptrdiff_t>((row * blocks + block) * dim),
                     table.begin() + static_cast<std::ptrdiff_t>((row * blocks + block + 1) * dim));
      check_near(found, wanted->second[block]);
    }
  }
}

}  // namespace reference
