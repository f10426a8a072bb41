// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/asio.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {
namespace detail {

/// A stream such as a socket, which can be waited for and then read or written without blocking. Other streams need the
/// buffers before they wait.
template <class Stream>
concept DirectStream = requires(Stream& stream, std::error_code& ec, asio::mutable_buffer buffer) {
  stream.non_blocking(true, ec);
  stream.async_wait(Stream::wait_read, [](const std::error_code&) {});
  stream.read_some(buffer, ec);
};

/// A stream that has an end of its own above the end of the TCP connection: TLS.
template <class Stream>
concept EndedStream = requires(Stream& stream) {
  stream.async_end([](const std::error_code&) {});
  stream.next_layer();
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
