// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/hadoop/error.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace hadoop {

// The encoding of numbers and texts in Hadoop's WritableUtils and DataOutput. A VInt is one byte for -112 .. 127.
// Otherwise its first byte says the sign and the number of bytes that follow, highest first (-113 .. -120: 1 .. 8
// bytes of a positive number; -121 .. -128: 1 .. 8 bytes of the complement of a negative number). A text or bytes: the
// length as a VInt, then the bytes. All other numbers are big-endian.

/// Bytes to send.
using Bytes = std::vector<std::byte>;

namespace detail {

/// Appends bytes without a length.
inline void append_raw(Bytes& to, ByteView bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

/// Appends a number of `sizeof(T)` bytes, highest byte first.
template <class T> void append_big_endian(Bytes& to, T number) {
  const auto value = static_cast<std::uint64_t>(number);
  for (std::size_t i = sizeof(T); i-- > 0;) to.push_back(static_cast<std::byte>(value >> (8 * i)));
}

/// Appends a number as a VInt (the same as a VLong), in its shortest form.
inline void append_vint(Bytes& to, std::int64_t number) {
  if (number >= -112 && number <= 127) {
    to.push_back(static_cast<std::byte>(number));
    return;
  }
  const bool negative = number < 0;
  const auto magnitude = static_cast<std::uint64_t>(negative ? ~number : number);
  const int count = magnitude == 0 ? 1 : (64 - std::countl_zero(magnitude) + 7) / 8;
  to.push_back(static_cast<std::byte>((negative ? -120 : -112) - count));
  for (int i = count; i-- > 0;) to.push_back(static_cast<std::byte>(magnitude >> (8 * i)));
}

/// Appends bytes or a text: the length as a VInt, then the bytes.
inline void append_bytes(Bytes& to, ByteView bytes) {
  append_vint(to, static_cast<std::int64_t>(bytes.size()));
  append_raw(to, bytes);
}

/// Appends a float, highest byte first.
inline void append_float(Bytes& to, float number) { append_big_endian(to, std::bit_cast<std::uint32_t>(number)); }

}  // namespace detail

/// Reads what the functions above write. The caller owns the bytes; what it returns are views of them, and it allocates
/// nothing.
///
/// Errors: the first failure is permanent. `hadoop_errc::truncated`: the bytes end too early; if more are still to
/// arrive, wait for them and try again with a new reader. `bad_number` and `too_large`: the bytes are wrong.
///
/// A value. Threads: one at a time.
class WritableReader {
 public:
  /// Begins at the first of `bytes`, which must outlive the reader.
  explicit WritableReader(ByteView bytes) noexcept : bytes_{bytes} {}

  /// Reads the next number; 0 after a failure. Accepts forms longer than necessary, as Java does.
  auto vlong() noexcept -> std::int64_t {
    const auto first = static_cast<std::int8_t>(byte());
    if (first >= -112 || error_) return first;
    const bool negative = first < -120;
    const ByteView rest = raw(static_cast<std::size_t>(negative ? -120 - first : -112 - first));
    std::uint64_t magnitude = 0;
    for (const std::byte next : rest) magnitude = magnitude << 8 | static_cast<std::uint64_t>(next);
    if (error_) return 0;
    const auto number = static_cast<std::int64_t>(magnitude);
    if (number < 0) return fail(hadoop_errc::bad_number);
    return negative ? ~number : number;
  }

  /// Reads the next number. Fails with `bad_number` if it is not in `least` .. `most`.
  auto vint(std::int64_t least = std::numeric_limits<std::int32_t>::min(),
            std::int64_t most = std::numeric_limits<std::int32_t>::max()) noexcept -> std::int32_t {
    const std::int64_t number = vlong();
    if (!error_ && (number < least || number > most)) fail(hadoop_errc::bad_number);
    return error_ ? 0 : static_cast<std::int32_t>(number);
  }

  /// Reads bytes that follow a VInt length, at most `most`. A larger length fails before any of the bytes has arrived.
  auto bytes(std::size_t most) noexcept -> ByteView { return counted(vint(0), most); }

  /// Reads bytes that follow an int32 length, as in Streaming, at most `most`.
  auto long_bytes(std::size_t most) noexcept -> ByteView { return counted(count(most), most); }

  /// Reads an int32 length or count, at most `most`. A larger one is `too_large`, a negative one `bad_number`.
  auto count(std::size_t most) noexcept -> std::int32_t {
    const auto number = static_cast<std::int32_t>(big_endian<std::uint32_t>());
    if (!error_ && number < 0) fail(hadoop_errc::bad_number);
    if (!error_ && static_cast<std::size_t>(number) > most) fail(hadoop_errc::too_large);
    return error_ ? 0 : number;
  }

  /// Reads `bytes` as text, in an unknown encoding.
  auto text(std::size_t most) noexcept -> std::string_view { return as_text(bytes(most)); }

  /// Reads a number of `sizeof(T)` bytes, highest byte first.
  template <class T> auto big_endian() noexcept -> T {
    std::uint64_t value = 0;
    for (const std::byte next : raw(sizeof(T))) value = value << 8 | static_cast<std::uint64_t>(next);
    return static_cast<T>(value);
  }

  /// Reads a float, highest byte first.
  auto real() noexcept -> float { return std::bit_cast<float>(big_endian<std::uint32_t>()); }

  /// Reads the next byte; 0 after a failure.
  auto byte() noexcept -> std::uint8_t {
    const ByteView one = raw(1);
    return one.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(one[0]);
  }

  /// Reads the next `count` bytes; none if there are fewer.
  auto raw(std::size_t count) noexcept -> ByteView {
    if (!error_ && count > bytes_.size() - used_) fail(hadoop_errc::truncated);
    if (error_) return {};
    const ByteView found = bytes_.subspan(used_, count);
    used_ += count;
    return found;
  }

  /// Returns the bytes read since `used()` was `before`.
  [[nodiscard]] auto since(std::size_t before) const noexcept -> ByteView {
    return bytes_.subspan(before, used_ - before);
  }

  /// Fails with `why`. For callers that find a mistake in what they have read.
  void refuse(hadoop_errc why) noexcept {
    if (!error_) fail(why);
  }

  /// Returns the first failure.
  [[nodiscard]] auto error() const noexcept -> const std::error_code& { return error_; }

  /// Returns the number of bytes read.
  [[nodiscard]] auto used() const noexcept -> std::size_t { return used_; }

  /// After `truncated`: returns the number of bytes that must have arrived before another try can succeed.
  [[nodiscard]] auto wanted() const noexcept -> std::size_t { return wanted_; }

 private:
  auto counted(std::int32_t length, std::size_t most) noexcept -> ByteView {
    if (!error_ && static_cast<std::size_t>(length) > most) fail(hadoop_errc::too_large);
    if (error_) return {};
    const ByteView found = raw(static_cast<std::size_t>(length));
    wanted_ = used_ + static_cast<std::size_t>(length);
    return found;
  }

  auto fail(hadoop_errc value) noexcept -> std::int64_t {
    error_ = value;
    wanted_ = bytes_.size() + 1;
    return 0;
  }

  ByteView bytes_;
  std::size_t used_ = 0;
  std::size_t wanted_ = 0;
  std::error_code error_;
};

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib
