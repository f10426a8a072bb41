// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/record/byte_source.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace distrib {
inline namespace v0 {

/// Holds a `ByteSource` of any type, and is one itself. Copies share the source: bytes read by one copy are not read
/// again by another.
///
/// Threads: one at a time, for all copies together.
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

/// Opens the file called `name` on another machine. An empty function means that all files are on this machine.
using OpenRemote = std::function<AnyByteSource(const std::string& name)>;

}  // namespace v0
}  // namespace distrib
