// SPDX-License-Identifier: Apache-2.0
// usage: print_rates RATE UPDATES
// Prints the learning rates of the updates 1 to UPDATES, one a line. RATE: text of a LearningRate.
#include <distrib/core/shortest_text.hpp>
#include <distrib/optimizer/learning_rate.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

auto main(int argc, char** argv) -> int {
  const auto rate = argc == 3 ? distrib::LearningRate::parse(argv[1]) : std::nullopt;
  if (!rate) {
    std::fprintf(stderr, "usage: print_rates RATE UPDATES\n");
    return 1;
  }
  const std::uint64_t updates = std::strtoull(argv[2], nullptr, 10);
  for (std::uint64_t count = 1; count <= updates; ++count)
    std::printf("%s\n", distrib::detail::shortest_text(rate->at(count)).c_str());
}
