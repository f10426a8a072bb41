// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/rpc/nonce.hpp>

#include <cstdint>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Returns a number that no other process draws, as the name of a process or session; not 0. Throws as `draw_nonce`.
[[nodiscard]] inline auto random_number() -> std::uint64_t { return load_le<std::uint64_t>(draw_nonce().data()) | 1; }

}  // namespace detail
}  // namespace v0
}  // namespace distrib
