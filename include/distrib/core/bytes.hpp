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

/// Bytes somebody else owns; how long they live is said by whoever hands them out.
using ByteView = std::span<const std::byte>;

/// The bytes of a text, not copied.
[[nodiscard]] inline auto as_bytes(std::string_view text) noexcept -> ByteView {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// Bytes as text, not copied and not checked for any encoding.
[[nodiscard]] inline auto as_text(ByteView bytes) noexcept -> std::string_view {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

namespace detail {

/// The bytes of a value as it lies in memory, not copied.
template <class T>
  requires std::is_trivially_copyable_v<T>
[[nodiscard]] inline auto bytes_of(const T& value) noexcept -> ByteView {
  return {reinterpret_cast<const std::byte*>(&value), sizeof value};
}

}  // namespace detail

/// Reads a little-endian number at `from`, at any alignment; sizeof(T) bytes must be there.
template <class T>
  requires std::is_arithmetic_v<T>
[[nodiscard]] inline auto load_le(const std::byte* from) noexcept -> T {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// Writes `value` little-endian at `to`, at any alignment; sizeof(T) bytes must be there.
template <class T>
  requires std::is_arithmetic_v<T>
inline void store_le(std::byte* to, T value) noexcept {
  std::memcpy(to, &value, sizeof value);
}

namespace detail {

/// Alignment of every tensor and block: one cache line, one AVX-512 register.
inline constexpr std::size_t tensor_alignment = 64;

/// `bytes` rounded up to a whole number of `tensor_alignment`.
[[nodiscard]] constexpr auto aligned_size(std::size_t bytes) noexcept -> std::size_t {
  return (bytes + tensor_alignment - 1) / tensor_alignment * tensor_alignment;
}

}  // namespace detail

/// Owns zeroed memory aligned to `tensor_alignment`, and to a page where it is large. Movable, not copyable. Throws
/// `std::bad_alloc`.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(std::size_t size_bytes) : AlignedBuffer{for_overwrite(size_bytes)} {
    if (size_ != 0) std::memset(data(), 0, size_);
  }

  /// The same without the zeros: for memory that is written before it is read. Untouched pages cost nothing.
  [[nodiscard]] static auto for_overwrite(std::size_t size_bytes) -> AlignedBuffer {
    AlignedBuffer buffer;
    if (size_bytes == 0) return buffer;
    if (size_bytes > PTRDIFF_MAX) throw std::bad_alloc{};
    buffer.memory_ = Memory{new std::byte[size_bytes + alignment_of(size_bytes) - 1]};
    buffer.size_ = buffer.capacity_ = size_bytes;
    return buffer;
  }

  /// A buffer of all of `memory`, which is zero, aligned as buffers of that size are, and kept alive by somebody else.
  [[nodiscard]] static auto within(std::span<std::byte> memory) noexcept -> AlignedBuffer {
    AlignedBuffer buffer;
    buffer.memory_ = Memory{memory.data(), Free{true}};
    buffer.size_ = buffer.capacity_ = memory.size();
    return buffer;
  }

  /// What a buffer of so many bytes is aligned to.
  // What a socket gives lies at the beginning of pages, a frame's header first, so a body behind it at 52, say. Copied
  // from there to 64 of a page, 12 bytes on, it goes at a seventeenth of the speed on AMD's Zen 4: `rep movsb`, which the
  // kernel copies with, is that slow wherever it writes 1 to 15 bytes behind what it reads, in addresses modulo 4096.
  [[nodiscard]] static constexpr auto alignment_of(std::size_t size_bytes) noexcept -> std::size_t {
    return size_bytes < 32'768 ? detail::tensor_alignment : 4'096;
  }

  /// Gives it another size. What it has stays where its memory is large enough, though not more than it ever was; else
  /// there is new memory, of zeros.
  void resize(std::size_t size_bytes) {
    if (size_bytes <= capacity_) size_ = size_bytes;
    else *this = AlignedBuffer{size_bytes};
  }

  [[nodiscard]] auto data() noexcept -> std::byte* { return begin(); }
  [[nodiscard]] auto data() const noexcept -> const std::byte* { return begin(); }
  [[nodiscard]] auto size() const noexcept -> std::size_t { return size_; }
  [[nodiscard]] auto bytes() noexcept -> std::span<std::byte> { return {begin(), size_}; }
  [[nodiscard]] auto bytes() const noexcept -> ByteView { return {begin(), size_}; }

  /// All of it as numbers; a rest smaller than one T is left out.
  template <class T> [[nodiscard]] auto as() noexcept -> std::span<T> {
    return {reinterpret_cast<T*>(begin()), size_ / sizeof(T)};
  }
  template <class T> [[nodiscard]] auto as() const noexcept -> std::span<const T> {
    return {reinterpret_cast<const T*>(begin()), size_ / sizeof(T)};
  }

 private:
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

  // Aligned by hand: blocks that were allocated with an alignment, glibc before 2.38 cannot give again when they are
  // freed in another order, and a process that takes and frees some all the time grows to ten times what it holds.
  Memory memory_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// A buffer that several parties read and nobody writes any more: a block of values, a contribution, a cut.
using SharedBuffer = std::shared_ptr<const AlignedBuffer>;

}  // namespace v0
}  // namespace distrib
