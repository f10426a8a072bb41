// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/shape.hpp>

auto main() -> int { return distrib::Shape{2, 3}.elements() == 6 ? 0 : 1; }
