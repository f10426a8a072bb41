// SPDX-License-Identifier: Apache-2.0
#include "every_header.hpp"
#include "odr/facts.hpp"

auto facts_of_slow_part() -> Facts { return facts(); }
