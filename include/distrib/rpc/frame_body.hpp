// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>

#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

namespace distrib {
inline namespace v0 {

/// The body of a frame: bytes in a shared buffer that this object keeps alive, or a view of bytes that it does not own.
/// A value.
class FrameBody {
 public:
  /// An empty body.
  FrameBody() = default;
  FrameBody(std::nullptr_t) noexcept {}
  /// Shares the bytes of `owner`; null: empty.
  FrameBody(SharedBuffer owner) noexcept
      : bytes_{owner == nullptr ? ByteView{} : owner->bytes()}, owner_{std::move(owner)} {}
  /// Views bytes that it does not own. How long they stay valid is stated by the function that passes or returns the
  /// body.
  explicit FrameBody(ByteView bytes) noexcept : bytes_{bytes} {}

  [[nodiscard]] auto bytes() const noexcept -> ByteView { return bytes_; }
  operator ByteView() const noexcept { return bytes_; }  ///< Makes it a piece of output, see `ConnectionCore::output`.
  [[nodiscard]] auto empty() const noexcept -> bool { return bytes_.empty(); }

  /// Returns the buffer that keeps the bytes alive; null for a view or an empty body.
  [[nodiscard]] auto owner() const noexcept -> const SharedBuffer& { return owner_; }

  /// Returns the bytes as a shared buffer: the owner, or a copy if there is no owner. Null if the body is empty.
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
