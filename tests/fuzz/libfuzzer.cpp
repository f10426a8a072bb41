// SPDX-License-Identifier: Apache-2.0
// There is one program for each target; DISTRIB_FUZZ_TARGET is the name of the target.
#include "targets.hpp"

#include <cstddef>
#include <cstdint>

extern "C" auto LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) -> int {
  fuzz::DISTRIB_FUZZ_TARGET(std::as_bytes(std::span{bytes, size}));
  return 0;
}
