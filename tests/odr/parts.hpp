// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <system_error>

/// What one part of the program sees of the library; all parts must see the same.
struct Facts {
  const std::error_category* failures;
  const void* version;
  std::string slice;
};

inline auto operator==(const Facts& a, const Facts& b) -> bool {
  return a.failures == b.failures && a.version == b.version && a.slice == b.slice;
}

auto facts_of_slow_part() -> Facts;
auto facts_of_fast_part() -> Facts;
