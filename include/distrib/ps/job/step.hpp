// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace distrib {
inline namespace v0 {

/// A step of the job. Values of step k are what k rounds of contributions have made of the initial values (step 0).
using Step = std::uint64_t;

/// Who contributes: the chief is 0, then the workers.
using Rank = std::uint32_t;

}  // namespace v0
}  // namespace distrib
