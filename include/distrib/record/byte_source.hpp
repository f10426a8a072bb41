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

/// Bytes that come one after the other, from wherever: another file system, a server.
///
/// `source.read(to, error)` writes the next bytes to `to` and returns how many: at least one, or 0 at the end and after
/// a failure, which `error` tells, with a place that says who was asked for what. It is not asked again after either.
template <class S>
concept ByteSource = std::move_constructible<S> && requires(S& source, std::span<std::byte> to, Error& error) {
  { source.read(to, error) } -> std::same_as<std::size_t>;
};

}  // namespace v0
}  // namespace distrib
