// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace distrib {
inline namespace v0 {

/// What to do with the elements at the end that do not fill a batch: `drop` them, so that all batches have the same
/// size, or `keep` them as a last, short batch (TensorFlow's default).
enum class Remainder : std::uint8_t { drop, keep };

}  // namespace v0
}  // namespace distrib
