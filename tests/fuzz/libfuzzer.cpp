// SPDX-License-Identifier: Apache-2.0
// One program a target; DISTRIB_FUZZ_TARGET is its name.
#include "targets.hpp"

#include <cstddef>
#include <cstdint>

extern "C" auto LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) -> int {
  fuzz::DISTRIB_FUZZ_TARGET(std::as_bytes(std::span{bytes, size}));
  return 0;
}
