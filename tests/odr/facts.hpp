// SPDX-License-Identifier: Apache-2.0
#pragma once

#if __has_include(<distrib/ecosystem.hpp>)
#include <distrib/ecosystem.hpp>
#endif
#include <distrib/core/error.hpp>
#include <distrib/core/slice.hpp>
#include <distrib/version.hpp>

#include "odr/parts.hpp"

namespace {
auto facts() -> Facts {
  const auto slice = distrib::Slice::along(distrib::Shape{784, 128}, 0, 392, 392);
  return {&distrib::failure_category(), &distrib::version_text, distrib::to_string(slice)};
}
}  // namespace
