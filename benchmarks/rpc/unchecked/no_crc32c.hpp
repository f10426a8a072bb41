// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/crc32c.hpp>

#include <cstdint>

namespace distrib {
inline namespace v0 {

[[nodiscard]] constexpr auto no_crc32c(ByteView) noexcept -> std::uint32_t { return 0; }
[[nodiscard]] constexpr auto no_crc32c_extend(std::uint32_t, ByteView) noexcept -> std::uint32_t { return 0; }

}  // namespace v0
}  // namespace distrib
