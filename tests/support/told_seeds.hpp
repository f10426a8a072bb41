// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>

namespace support {

/// The seeds that the user requests: `tests/run.sh simulation` sets DISTRIB_SEED_FROM and DISTRIB_SEED_COUNT.
struct ToldSeeds {
  std::uint64_t from = 0;
  std::optional<std::uint64_t> count;
};

inline auto told_seeds() -> ToldSeeds {
  ToldSeeds told;
  if (const char* const from = std::getenv("DISTRIB_SEED_FROM")) told.from = std::strtoull(from, nullptr, 10);
  if (const char* const count = std::getenv("DISTRIB_SEED_COUNT")) told.count = std::strtoull(count, nullptr, 10);
  return told;
}

}  // namespace support
