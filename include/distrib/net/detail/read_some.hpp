// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/asio.hpp>
#include <distrib/net/connection_core.hpp>

#include <array>
#include <cstddef>
#include <system_error>

namespace distrib {
inline namespace v0 {
namespace detail {

inline auto buffers_of(const ReadSpace& space) -> std::array<asio::mutable_buffer, 2> {
  return {asio::mutable_buffer{space.front.data(), space.front.size()},
          asio::mutable_buffer{space.back.data(), space.back.size()}};
}

/// Reads the bytes that have arrived, as many as fit into `space`, without waiting. Returns their number. Sets `ec` if
/// there are none (`would_block`), at the end of the stream (`eof`), or to the system's error.
template <class Stream> auto read_some(Stream& stream, const ReadSpace& space, std::error_code& ec) -> std::size_t {
  const auto buffers = buffers_of(space);
  const bool is_one = space.back.empty();  // the system has a cheaper call for a single buffer
  return is_one ? stream.read_some(buffers[0], ec) : stream.read_some(buffers, ec);
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
