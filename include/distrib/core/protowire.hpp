// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// How the value of a protobuf field is written (see "Encoding" in protobuf's documentation). Groups (types 3 and 4)
/// are refused.
enum class WireType : std::uint8_t {
  varint = 0,
  fixed64 = 1,
  bytes = 2,  ///< A length, then that many bytes: text, bytes, nested messages, packed numbers.
  fixed32 = 5,
};

/// Returns the tag that precedes the value of field `field` (1 .. 2^29 - 1): its number and wire type combined.
[[nodiscard]] constexpr auto wire_tag(std::uint32_t field, WireType type) noexcept -> std::uint32_t {
  return field << 3 | static_cast<std::uint32_t>(type);
}

namespace detail {

/// Most bytes of one varint.
inline constexpr std::size_t max_varint_bytes = 10;

/// Reads a varint at the front of `rest` and removes it from `rest`. Returns false, and leaves `rest` unchanged, if the
/// varint is cut off or longer than `max_bytes`. Bits above the 64th are dropped, as protobuf does.
[[nodiscard]] inline auto read_varint(ByteView& rest, std::uint64_t& value,
                                      std::size_t max_bytes = max_varint_bytes) noexcept -> bool {
  const std::size_t limit = rest.size() < max_bytes ? rest.size() : max_bytes;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < limit; ++i) {
    const auto byte = static_cast<std::uint64_t>(rest[i]);
    sum |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      value = sum;
      rest = rest.subspan(i + 1);
      return true;
    }
  }
  return false;
}

/// Writes `value` as a varint to `to`. Returns the number of bytes used, at most `max_varint_bytes`.
[[nodiscard]] inline auto write_varint(std::uint64_t value, std::byte* to) noexcept -> std::size_t {
  std::size_t size = 0;
  for (; value >= 0x80; value >>= 7) to[size++] = static_cast<std::byte>(value | 0x80);
  to[size++] = static_cast<std::byte>(value);
  return size;
}

}  // namespace detail

/// Reads the fields of one protobuf message in the order in which they were written. Every length is checked against
/// the bytes that are left. A nested message is read with a WireReader of its own over `bytes()`.
///
///     WireReader reader{message};
///     while (reader.next())
///       switch (reader.tag()) {
///         case wire_tag(1, WireType::fixed64): wall_time = reader.float64(); break;
///         case wire_tag(2, WireType::varint): step = reader.int64(); break;
///       }                                        // skips unknown fields, and known ones of another type
///     if (!reader.ok()) ...                      // damaged from reader.offset() on
///
/// A view: the bytes must outlive the reader and every result of `bytes()`. Never allocates.
///
/// Threads: one at a time.
class WireReader {
 public:
  /// Begins before the first field of `message`.
  explicit WireReader(ByteView message) noexcept : rest_{message}, size_{message.size()} {}

  /// Goes to the next field. Returns false at the end of the message and at damage; `ok` distinguishes the two.
  [[nodiscard]] auto next() noexcept -> bool {
    if (!ok_ || rest_.empty()) return false;
    offset_ = size_ - rest_.size();
    ok_ = read_field();
    return ok_;
  }

  /// True if everything read so far was well formed. Once false, it stays false.
  [[nodiscard]] auto ok() const noexcept -> bool { return ok_; }

  /// Returns the byte position of the current field in the message, or of the damage.
  [[nodiscard]] auto offset() const noexcept -> std::size_t { return offset_; }

  /// Returns number and type of the current field combined; compare with `wire_tag`.
  [[nodiscard]] auto tag() const noexcept -> std::uint32_t { return tag_; }
  /// Returns the number of the current field; 0 before the first `next()`.
  [[nodiscard]] auto field() const noexcept -> std::uint32_t { return tag_ >> 3; }
  /// Returns the wire type of the current field.
  [[nodiscard]] auto type() const noexcept -> WireType { return static_cast<WireType>(tag_ & 7); }

  /// Returns the value of a varint, fixed32 or fixed64 field as it is in the message; 0 for `bytes`.
  [[nodiscard]] auto uint64() const noexcept -> std::uint64_t { return number_; }
  /// Return the value as protobuf's int64, int32, uint32 or bool; 0 or false for `bytes`. (int32 and enum values are
  /// written with 64 bits; `int32` and `uint32` drop the upper ones.)
  [[nodiscard]] auto int64() const noexcept -> std::int64_t { return static_cast<std::int64_t>(number_); }
  [[nodiscard]] auto int32() const noexcept -> std::int32_t { return static_cast<std::int32_t>(number_); }
  [[nodiscard]] auto uint32() const noexcept -> std::uint32_t { return static_cast<std::uint32_t>(number_); }
  [[nodiscard]] auto boolean() const noexcept -> bool { return number_ != 0; }
  /// Return a fixed32 field as a float, a fixed64 field as a double. Trap: for a field of another type they return a
  /// number without meaning.
  [[nodiscard]] auto float32() const noexcept -> float { return std::bit_cast<float>(uint32()); }
  [[nodiscard]] auto float64() const noexcept -> double { return std::bit_cast<double>(number_); }

  /// Returns the content of a `bytes` field; empty for other types.
  [[nodiscard]] auto bytes() const noexcept -> ByteView { return bytes_; }
  /// Returns the same bytes as text. Whether they are UTF-8 is not checked.
  [[nodiscard]] auto text() const noexcept -> std::string_view { return as_text(bytes_); }

 private:
  auto read_field() noexcept -> bool {
    std::uint64_t tag = 0;
    if (!detail::read_varint(rest_, tag, 5)) return false;
    tag_ = static_cast<std::uint32_t>(tag);
    number_ = 0;
    bytes_ = {};
    if (field() == 0) return false;
    switch (type()) {
      case WireType::varint: return detail::read_varint(rest_, number_);
      case WireType::fixed32:
        if (rest_.size() < 4) return false;
        number_ = load_le<std::uint32_t>(rest_.data());
        rest_ = rest_.subspan(4);
        return true;
      case WireType::fixed64:
        if (rest_.size() < 8) return false;
        number_ = load_le<std::uint64_t>(rest_.data());
        rest_ = rest_.subspan(8);
        return true;
      case WireType::bytes: {
        std::uint64_t length = 0;
        if (!detail::read_varint(rest_, length, 5) || length > rest_.size()) return false;
        bytes_ = rest_.first(static_cast<std::size_t>(length));
        rest_ = rest_.subspan(bytes_.size());
        return true;
      }
    }
    return false;  // groups, and types that do not exist
  }

  ByteView rest_;
  std::size_t size_;
  std::size_t offset_ = 0;
  std::uint64_t number_ = 0;
  ByteView bytes_;
  std::uint32_t tag_ = 0;
  bool ok_ = true;
};

/// Writes protobuf fields one after the other into bytes that it owns. Zero values are written like all others: for
/// protobuf's canonical form, do not write them. `clear` keeps the memory, so a reused writer does not allocate.
///
/// Errors: throws only `std::bad_alloc`.
///
/// Threads: one at a time.
class WireWriter {
 public:
  /// Writes a varint field: uint64, uint32, bool and enum values unchanged. Negative int32 and int64 values take ten
  /// bytes. Here and below `field` is the number of the field, 1 .. 2^29 - 1 (not checked).
  void varint(std::uint32_t field, std::uint64_t value) {
    tag(field, WireType::varint);
    raw_varint(value);
  }
  /// Writes a varint field with a signed value.
  void int64(std::uint32_t field, std::int64_t value) { varint(field, static_cast<std::uint64_t>(value)); }

  /// Write a field of 4 or 8 bytes, little-endian: protobuf's fixed32, fixed64, float and double.
  void fixed32(std::uint32_t field, std::uint32_t value) {
    tag(field, WireType::fixed32);
    raw_number(value);
  }
  void fixed64(std::uint32_t field, std::uint64_t value) {
    tag(field, WireType::fixed64);
    raw_number(value);
  }
  void float32(std::uint32_t field, float value) { fixed32(field, std::bit_cast<std::uint32_t>(value)); }
  void float64(std::uint32_t field, double value) { fixed64(field, std::bit_cast<std::uint64_t>(value)); }

  /// Write a field of bytes or text. The content is copied.
  void bytes(std::uint32_t field, ByteView value) {
    tag(field, WireType::bytes);
    raw_varint(value.size());
    raw(value);
  }
  void text(std::uint32_t field, std::string_view value) { bytes(field, as_bytes(value)); }

  /// Writes a nested message or packed numbers: `fill(*this)` writes the content, then its length is inserted before
  /// it.
  template <class Fill> void message(std::uint32_t field, Fill&& fill) {
    tag(field, WireType::bytes);
    const std::size_t start = bytes_.size();
    std::forward<Fill>(fill)(*this);
    std::array<std::byte, detail::max_varint_bytes> length{};
    const auto size = static_cast<std::ptrdiff_t>(detail::write_varint(bytes_.size() - start, length.data()));
    bytes_.insert(bytes_.begin() + static_cast<std::ptrdiff_t>(start), length.begin(), length.begin() + size);
  }

  /// Writes a varint without a tag: for packed numbers.
  void raw_varint(std::uint64_t value) {
    std::array<std::byte, detail::max_varint_bytes> digits{};
    raw({digits.data(), detail::write_varint(value, digits.data())});
  }
  /// Writes a number as its little-endian bytes, without a tag: for packed numbers of fixed size.
  template <class T>
    requires std::is_arithmetic_v<T>
  void raw_number(T value) {
    std::array<std::byte, sizeof(T)> digits{};
    store_le(digits.data(), value);
    raw(digits);
  }
  /// Appends bytes as they are: fields that were written before, for example.
  void raw(ByteView value) { bytes_.insert(bytes_.end(), value.begin(), value.end()); }

  /// Appends `count` bytes and returns them. The caller must fill them before it writes anything else.
  auto extend(std::size_t count) -> std::span<std::byte> {
    bytes_.resize(bytes_.size() + count);
    return {bytes_.data() + bytes_.size() - count, count};
  }

  /// Returns what was written so far; valid until the next write.
  [[nodiscard]] auto view() const noexcept -> ByteView { return {bytes_.data(), bytes_.size()}; }
  /// Returns the number of bytes written so far.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return bytes_.size(); }

  /// Returns the bytes and leaves the writer empty.
  [[nodiscard]] auto take() noexcept -> std::vector<std::byte> { return std::exchange(bytes_, {}); }
  /// Drops what was written; keeps the memory.
  void clear() noexcept { bytes_.clear(); }

 private:
  void tag(std::uint32_t field, WireType type) { raw_varint(wire_tag(field, type)); }

  std::vector<std::byte> bytes_;
};

}  // namespace v0
}  // namespace distrib
