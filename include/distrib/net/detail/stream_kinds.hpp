// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/asio.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {
namespace detail {

/// A stream that can be waited for, and then read and written without waiting: a socket. Others are given the buffers
/// beforehand.
template <class Stream>
concept DirectStream = requires(Stream& stream, std::error_code& ec, asio::mutable_buffer buffer) {
  stream.non_blocking(true, ec);
  stream.async_wait(Stream::wait_read, [](const std::error_code&) {});
  stream.read_some(buffer, ec);
};

/// A stream with an end of its own, which is not that of the TCP connection beneath: TLS.
template <class Stream>
concept EndedStream = requires(Stream& stream) {
  stream.async_end([](const std::error_code&) {});
  stream.next_layer();
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
