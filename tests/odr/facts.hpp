// SPDX-License-Identifier: Apache-2.0
#pragma once

#if __has_include(<distrib/ecosystem.hpp>)
#include <distrib/ecosystem.hpp>
#endif
#include <distrib/core/error.hpp>
#include <distrib/core/slice.hpp>
#include <distrib/version.hpp>

#include <string>
#include <system_error>

/// What one part of the program knows of the library; all parts must know the same.
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

namespace {
[[maybe_unused]] auto facts() -> Facts {
  const auto slice = distrib::Slice::along(distrib::Shape{784, 128}, 0, 392, 392);
  return {&distrib::failure_category(), &distrib::version, distrib::to_string(slice)};
}
}  // namespace
