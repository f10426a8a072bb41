// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

static_assert(std::endian::native == std::endian::little, "distrib: big-endian machines are not supported");
static_assert(sizeof(void*) == 8, "distrib: 32-bit machines are not supported");

namespace distrib {
inline namespace v0 {

/// A view of bytes that another object owns. The function that returns the view says how long the bytes live.
using ByteView = std::span<const std::byte>;

/// Returns the bytes of `text`, not copied.
[[nodiscard]] inline auto as_bytes(std::string_view text) noexcept -> ByteView {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// Returns `bytes` as text, not copied. No encoding is checked.
[[nodiscard]] inline auto as_text(ByteView bytes) noexcept -> std::string_view {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

namespace detail {

/// Returns the bytes of `value` as they lie in memory, not copied. `value` must outlive the view.
template <class T>
  requires std::is_trivially_copyable_v<T>
[[nodiscard]] inline auto bytes_of(const T& value) noexcept -> ByteView {
  return {reinterpret_cast<const std::byte*>(&value), sizeof value};
}

}  // namespace detail

/// Returns the little-endian number at `from`. Any alignment. `from` must have sizeof(T) bytes.
template <class T>
  requires std::is_arithmetic_v<T>
[[nodiscard]] inline auto load_le(const std::byte* from) noexcept -> T {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// Writes `value` as a little-endian number at `to`. Any alignment. `to` must have sizeof(T) bytes.
template <class T>
  requires std::is_arithmetic_v<T>
inline void store_le(std::byte* to, T value) noexcept {
  std::memcpy(to, &value, sizeof value);
}

namespace detail {

/// Alignment of every tensor and block, in bytes: one cache line, one AVX-512 register.
inline constexpr std::size_t tensor_alignment = 64;

/// Returns `bytes` rounded up to a multiple of `tensor_alignment`.
[[nodiscard]] constexpr auto aligned_size(std::size_t bytes) noexcept -> std::size_t {
  return (bytes + tensor_alignment - 1) / tensor_alignment * tensor_alignment;
}

/// Returns `bytes` rounded up by at most an eighth, to one of eight sizes between two powers of two; below 1 KiB as it
/// is.
// Buffers of nearly the same size that live for long, as contributions that are kept to be sent again, then fit where
// others were freed. Otherwise malloc divides what is free, and the process grows for as long as it runs.
[[nodiscard]] constexpr auto rounded_size(std::size_t bytes) noexcept -> std::size_t {
  if (bytes < 1024) return bytes;
  const std::size_t unit = std::bit_floor(bytes) / 8;
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace detail

/// Owns memory, or borrows it (see `within`), aligned to `tensor_alignment`, or to a page from 32 KiB on (see
/// `alignment_of`). Constructed with a size, the memory is zeroed; a size of 0 has no memory (`data()` is null).
/// Movable, not copyable; a moved-from buffer is empty and can be used again.
///
/// Errors: the constructor, `for_overwrite` and `resize` throw `std::bad_alloc` if there is not enough memory.
class AlignedBuffer {
 public:
  /// An empty buffer without memory.
  AlignedBuffer() = default;
  /// Makes a buffer of `size_bytes` zeros.
  explicit AlignedBuffer(std::size_t size_bytes) : AlignedBuffer{for_overwrite(size_bytes)} {
    if (size_ != 0) std::memset(data(), 0, size_);
  }

  AlignedBuffer(AlignedBuffer&& other) noexcept { swap(other); }
  auto operator=(AlignedBuffer&& other) noexcept -> AlignedBuffer& {
    AlignedBuffer taken{std::move(other)};
    swap(taken);
    return *this;
  }

  /// Returns a buffer of `size_bytes` whose contents are not set: for memory that is written before it is read. Pages
  /// that are never touched cost nothing.
  [[nodiscard]] static auto for_overwrite(std::size_t size_bytes) -> AlignedBuffer {
    AlignedBuffer buffer;
    if (size_bytes == 0) return buffer;
    if (size_bytes > PTRDIFF_MAX) throw std::bad_alloc{};
    buffer.memory_ = Memory{new std::byte[detail::rounded_size(size_bytes + alignment_of(size_bytes) - 1)]};
    buffer.size_ = buffer.capacity_ = size_bytes;
    return buffer;
  }

  /// Returns a buffer that uses all of `memory` and does not free it. `memory` must be zeroed and aligned to
  /// `alignment_of(memory.size())` bytes; it must outlive this buffer and each buffer to which this one is moved.
  /// Nothing of this is checked; with another alignment the buffer reaches beyond the end of `memory`. If the buffer is
  /// resized beyond the size of `memory`, it gets memory of its own.
  [[nodiscard]] static auto within(std::span<std::byte> memory) noexcept -> AlignedBuffer {
    AlignedBuffer buffer;
    buffer.memory_ = Memory{memory.data(), Free{true}};
    buffer.size_ = buffer.capacity_ = memory.size();
    return buffer;
  }

  /// Returns the alignment of a buffer of `size_bytes`, in bytes: 4096 from 32 KiB on, otherwise `tensor_alignment`.
  // The kernel writes what it receives from a socket to the beginning of pages: first the header of a frame, then its
  // body, for example at offset 52. A copy from there to offset 64 of a page runs at a seventeenth of the speed on
  // AMD's Zen 4: the kernel copies with `rep movsb`, which is that slow if the target is 1 to 15 bytes after the
  // source, both modulo 4096.
  [[nodiscard]] static constexpr auto alignment_of(std::size_t size_bytes) noexcept -> std::size_t {
    return size_bytes < 32'768 ? detail::tensor_alignment : 4'096;
  }

  /// Changes the size. Up to the capacity (the size that the memory was allocated with) the contents stay, and bytes
  /// beyond the old size hold what they held before, not zeros. Trap: beyond the capacity the buffer gets new, zeroed
  /// memory, and the old contents are lost.
  void resize(std::size_t size_bytes) {
    if (size_bytes <= capacity_) size_ = size_bytes;
    else *this = AlignedBuffer{size_bytes};
  }

  /// Returns the address of the first byte; null if the buffer has no memory. Valid until the memory is freed: by the
  /// destructor, by an assignment, or by `resize` beyond the capacity.
  [[nodiscard]] auto data() noexcept -> std::byte* { return begin(); }
  [[nodiscard]] auto data() const noexcept -> const std::byte* { return begin(); }
  /// Returns the size in bytes.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return size_; }
  /// Returns the contents; valid as `data()` is.
  [[nodiscard]] auto bytes() noexcept -> std::span<std::byte> { return {begin(), size_}; }
  [[nodiscard]] auto bytes() const noexcept -> ByteView { return {begin(), size_}; }

  /// Returns the contents as elements of type T. Bytes at the end that do not fill an element are left out.
  template <class T> [[nodiscard]] auto as() noexcept -> std::span<T> {
    return {reinterpret_cast<T*>(begin()), size_ / sizeof(T)};
  }
  template <class T> [[nodiscard]] auto as() const noexcept -> std::span<const T> {
    return {reinterpret_cast<const T*>(begin()), size_ / sizeof(T)};
  }

 private:
  void swap(AlignedBuffer& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  [[nodiscard]] auto begin() const noexcept -> std::byte* {
    std::byte* const memory = memory_.get();
    return memory + (0 - reinterpret_cast<std::uintptr_t>(memory)) % alignment_of(capacity_);
  }

  struct Free {
    bool is_lent;
    void operator()(std::byte* memory) const noexcept {
      if (!is_lent) delete[] memory;
    }
  };
  using Memory = std::unique_ptr<std::byte[], Free>;

  // Aligned by hand, not by an aligned `new`: glibc before 2.38 cannot reuse aligned blocks that are freed in another
  // order than they were allocated. A process that keeps allocating and freeing them grows to ten times the memory that
  // it uses.
  Memory memory_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// A buffer that several components read and that no longer changes: a block of values, a contribution, a cut.
using SharedBuffer = std::shared_ptr<const AlignedBuffer>;

}  // namespace v0
}  // namespace distrib
