// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace distrib {
inline namespace v0 {

/// A step of the job. The values of step k are the initial values (step 0) after k updates.
using Step = std::uint64_t;

/// Number of a worker. The chief is 0.
using Rank = std::uint32_t;

}  // namespace v0
}  // namespace distrib
