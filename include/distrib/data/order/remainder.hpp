// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace distrib {
inline namespace v0 {

/// What becomes of elements that are fewer than a batch at the end: dropped, so that all batches are of one size, or
/// kept as a last, short batch (TensorFlow's default).
enum class Remainder : std::uint8_t { drop, keep };

}  // namespace v0
}  // namespace distrib
