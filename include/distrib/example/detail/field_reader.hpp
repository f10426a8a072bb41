// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/example/detail/varints.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace distrib {
inline namespace v0 {
namespace detail {

/// How many levels of messages and groups protobuf's own parser descends.
inline constexpr unsigned most_levels = 100;

/// Walks over the fields of one message and accepts exactly what protobuf's own parser accepts. Unlike a WireReader it
/// skips groups: no writer of Examples has used them since 2008, but every reader accepts them. A view; allocates
/// nothing.
class FieldReader {
 public:
  /// `levels`: how many more levels may lie inside.
  FieldReader(ByteView message, unsigned levels) noexcept
      : at_{message.data()}, end_{at_ + message.size()}, levels_{levels} {}

  /// Moves to the next field. Returns false at the end of the message, and at damage: then `ok()` is false.
  [[nodiscard]] auto next() noexcept -> bool {
    if (at_ == end_) return false;
    ok_ = read_tag() && read_value(levels_);
    return ok_;
  }

  [[nodiscard]] auto ok() const noexcept -> bool { return ok_; }
  [[nodiscard]] auto tag() const noexcept -> std::uint32_t { return tag_; }
  [[nodiscard]] auto number() const noexcept -> std::uint64_t { return number_; }
  [[nodiscard]] auto bytes() const noexcept -> ByteView { return bytes_; }
  [[nodiscard]] auto text() const noexcept -> std::string_view { return as_text(bytes_); }
  /// Returns where the next field begins.
  [[nodiscard]] auto position() const noexcept -> const std::byte* { return at_; }

 private:
  static constexpr std::uint32_t start_group = 3;
  static constexpr std::uint32_t end_group = 4;

  auto read_tag() noexcept -> bool {
    std::uint64_t tag = 0;
    if (!take_varint(at_, end_, tag, 5)) return false;
    tag_ = static_cast<std::uint32_t>(tag);
    return tag_ >> 3 != 0;
  }

  auto read_value(unsigned levels) noexcept -> bool {
    switch (tag_ & 7) {
      case static_cast<std::uint32_t>(WireType::varint): return take_varint(at_, end_, number_);
      case static_cast<std::uint32_t>(WireType::fixed32): return read_number<std::uint32_t>();
      case static_cast<std::uint32_t>(WireType::fixed64): return read_number<std::uint64_t>();
      case static_cast<std::uint32_t>(WireType::bytes): {
        std::uint64_t length = 0;
        if (!take_varint(at_, end_, length, 5) || length > static_cast<std::size_t>(end_ - at_)) return false;
        bytes_ = {at_, static_cast<std::size_t>(length)};
        at_ += length;
        return true;
      }
      case start_group: return levels != 0 && skip_group(tag_, levels - 1);
    }
    return false;  // the end of a group that did not begin, or a type that does not exist
  }

  template <class T> auto read_number() noexcept -> bool {
    if (static_cast<std::size_t>(end_ - at_) < sizeof(T)) return false;
    number_ = load_le<T>(at_);
    at_ += sizeof(T);
    return true;
  }

  auto skip_group(std::uint32_t group, unsigned levels) noexcept -> bool {
    for (;;) {
      if (!read_tag()) return false;
      if (tag_ == group - start_group + end_group) break;
      if (!read_value(levels)) return false;
    }
    tag_ = group;
    return true;
  }

  const std::byte* at_;
  const std::byte* end_;
  unsigned levels_;
  bool ok_ = true;
  std::uint32_t tag_ = 0;
  std::uint64_t number_ = 0;
  ByteView bytes_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
