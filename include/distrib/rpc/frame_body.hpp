// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>

#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

namespace distrib {
inline namespace v0 {

/// What a frame carries beside its head: bytes that lie in a buffer that can be shared, or, when they are few, in
/// memory of somebody else. A value.
class FrameBody {
 public:
  FrameBody() = default;
  FrameBody(std::nullptr_t) noexcept {}
  /// Bytes that are shared; null: none.
  FrameBody(SharedBuffer owner) noexcept
      : bytes_{owner == nullptr ? ByteView{} : owner->bytes()}, owner_{std::move(owner)} {}
  /// Bytes whose owner lets them live as long as is said where this is handed out.
  explicit FrameBody(ByteView bytes) noexcept : bytes_{bytes} {}

  [[nodiscard]] auto bytes() const noexcept -> ByteView { return bytes_; }
  operator ByteView() const noexcept { return bytes_; }  ///< As a piece of what is written, see `ConnectionCore`.
  [[nodiscard]] auto empty() const noexcept -> bool { return bytes_.empty(); }

  /// Who keeps the bytes; null: nobody who could be asked to.
  [[nodiscard]] auto owner() const noexcept -> const SharedBuffer& { return owner_; }

  /// The bytes to keep, copied if need be; null when there are none.
  [[nodiscard]] auto share() const -> SharedBuffer {
    if (bytes_.empty()) return nullptr;
    if (owner_ != nullptr) return owner_;
    auto copy = std::make_shared<AlignedBuffer>(AlignedBuffer::for_overwrite(bytes_.size()));
    std::memcpy(copy->data(), bytes_.data(), bytes_.size());
    return copy;
  }

 private:
  ByteView bytes_;
  SharedBuffer owner_;
};

}  // namespace v0
}  // namespace distrib
