// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>

#include <concepts>

namespace distrib {
inline namespace v0 {

/// A sink of bytes that become a file, whole or not at all, for example an object or a file on another file system.
///
/// `sink.write(bytes, error)` appends bytes, which may change after the call. `sink.close(error)` makes the file visible;
/// without it there is none. Both set `error` on failure and clear it otherwise; after the first failure every later call
/// reports it again. `error.where` says which server was asked for what.
template <class S>
concept ByteSink = std::move_constructible<S> && requires(S& sink, ByteView bytes, Error& error) {
  sink.write(bytes, error);
  sink.close(error);
};

}  // namespace v0
}  // namespace distrib
