// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace distrib {
inline namespace v0 {

/// A source of bytes that are read in order, for example a file on another file system or on a server.
///
/// `source.read(to, error)` writes the next bytes to the front of `to` and returns how many: at least one. It returns 0
/// at the end of the bytes, and after a failure: then it sets `error`, whose `where` says which server was asked for
/// what. A reader may call it again after a 0, and must then get 0 again.
template <class S>
concept ByteSource = std::move_constructible<S> && requires(S& source, std::span<std::byte> to, Error& error) {
  { source.read(to, error) } -> std::same_as<std::size_t>;
};

}  // namespace v0
}  // namespace distrib
