// SPDX-License-Identifier: Apache-2.0
#include "odr/facts.hpp"

auto facts_of_fast_part() -> Facts { return facts(); }
