// SPDX-License-Identifier: Apache-2.0
#include "odr/parts.hpp"

#include <cstdio>

auto main() -> int {
  if (facts_of_slow_part() == facts_of_fast_part()) return 0;
  std::fputs("parts of one program, built with different flags, disagree\n", stderr);
  return 1;
}
