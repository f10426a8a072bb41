// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/data/stream/stream.hpp>

#include <cstdint>
#include <utility>

namespace distrib {
inline namespace v0 {

/// Base class of a step that stores nothing between elements: its position is the position of the stream below. A step
/// derives from it and adds `Element`, `next` and `describe`.
template <Stream Below> class StatelessStep {
 public:
  /// Goes to the beginning of epoch `epoch` in the stream below. Sets `error` if that stream fails.
  void rewind(std::uint64_t epoch, Error& error) { below_.rewind(epoch, error); }

  /// Returns the position of the stream below.
  [[nodiscard]] auto position() const -> detail::StreamPosition
    requires detail::SeekableStream<Below>
  {
    return below_.position();
  }
  /// Goes to `position` in the stream below. Sets `error` if that stream fails.
  void seek(detail::StreamPosition position, Error& error)
    requires detail::SeekableStream<Below>
  {
    below_.seek(position, error);
  }

 protected:
  explicit StatelessStep(Below below) : below_{std::move(below)} {}

  Below below_;
};

}  // namespace v0
}  // namespace distrib
