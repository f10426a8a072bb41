// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace distrib {
inline namespace v0 {

/// A file that is not on this machine, or not on a disk, and can be read at any place. A value; copies share what `read`
/// holds.
struct RangedBytes {
  std::uint64_t bytes = 0;  ///< Size of the file.
  /// `read(first, to, error)` fills `to` with the bytes from `first` on, which lie inside the file, or sets `error`.
  std::function<void(std::uint64_t first, std::span<std::byte> to, Error& error)> read = {};
};

}  // namespace v0
}  // namespace distrib
