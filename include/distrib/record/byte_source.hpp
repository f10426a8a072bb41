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

/// A ByteSource of a type that is not told. Copies read on together.
class AnyByteSource {
 public:
  template <class S>
    requires(!std::same_as<S, AnyByteSource>) && ByteSource<S>
  explicit AnyByteSource(S source)
      : read_{[it = std::make_shared<S>(std::move(source))](auto to, Error& error) { return it->read(to, error); }} {}

  [[nodiscard]] auto read(std::span<std::byte> to, Error& error) -> std::size_t { return read_(to, error); }

 private:
  std::function<std::size_t(std::span<std::byte>, Error&)> read_;
};

/// How a file that is elsewhere is opened. Empty: files are on this machine.
using OpenRemote = std::function<AnyByteSource(const std::string& name)>;

}  // namespace v0
}  // namespace distrib
