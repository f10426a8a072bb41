// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/rpc/detail/server_calls.hpp>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL void ServerCall::begin(std::uint64_t id, std::size_t bytes) noexcept {
  generation = static_cast<std::uint32_t>(id >> 32);
  open = true;
  ended = false;
  credit = {};
  held = bytes;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
