// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/example/detail/feature_slot.hpp>
#include <distrib/example/detail/varints.hpp>
#include <distrib/example/feature.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Values of one kind that lie one after another: floats, int64s or ByteViews.
struct FeatureValues {
  FeatureKind kind = FeatureKind::none;
  const std::byte* data = nullptr;
  std::size_t count = 0;

  [[nodiscard]] auto int64(std::size_t i) const noexcept -> std::uint64_t {
    return load_le<std::uint64_t>(data + i * sizeof(std::uint64_t));
  }
  [[nodiscard]] auto bytes(std::size_t i) const noexcept -> ByteView {
    return reinterpret_cast<const ByteView*>(data)[i];
  }
};

/// Computes the sizes of the messages of a Feature, and writes it. Every tag here is one byte.
struct EncodedFeature {
  FeatureValues values;
  std::size_t packed = 0;  ///< Bytes of the packed numbers.
  std::size_t list = 0;  ///< Bytes of the BytesList, FloatList or Int64List.
  std::size_t size = 0;  ///< Bytes of the Feature.

  explicit EncodedFeature(const FeatureValues& what) noexcept : values{what} {
    switch (what.kind) {
      case FeatureKind::bytes:
        for (std::size_t i = 0; i < what.count; ++i) list += framed(what.bytes(i).size());
        break;
      case FeatureKind::floats: packed = what.count * sizeof(float); break;
      case FeatureKind::int64s:
        for (std::size_t i = 0; i < what.count; ++i) packed += varint_size(what.int64(i));
        break;
      case FeatureKind::none: return;
    }
    if (packed != 0) list = framed(packed);
    size = framed(list);
  }

  /// Returns the bytes of a field with tag, length and `size` bytes of content.
  [[nodiscard]] static constexpr auto framed(std::size_t size) noexcept -> std::size_t {
    return 1 + varint_size(size) + size;
  }

  /// Writes tag and length of a message; returns their end.
  [[nodiscard]] static auto put_head(std::byte* to, std::uint32_t field, std::size_t length) noexcept -> std::byte* {
    *to++ = static_cast<std::byte>(wire_tag(field, WireType::bytes));
    return to + write_varint(length, to);
  }

  /// Writes the `size` bytes of the Feature and returns their end. May write up to ten bytes beyond it.
  auto put(std::byte* to) const noexcept -> std::byte* {
    if (values.kind == FeatureKind::none) return to;
    to = put_head(to, static_cast<std::uint32_t>(values.kind), list);
    if (values.kind == FeatureKind::bytes) {
      for (std::size_t i = 0; i < values.count; ++i) {
        const ByteView value = values.bytes(i);
        to = put_head(to, 1, value.size());
        if (!value.empty()) std::memcpy(to, value.data(), value.size());
        to += value.size();
      }
    } else if (packed != 0) {
      to = put_head(to, 1, packed);
      if (values.kind == FeatureKind::floats) {
        std::memcpy(to, values.data, packed);
        to += packed;
      } else {
        for (std::size_t i = 0; i < values.count; ++i) {
          const std::size_t digits = varint_size(values.int64(i));
          put_varint(to, values.int64(i), digits);
          to += digits;
        }
      }
    }
    return to;
  }
};

/// The beginning of the entry of a single number, for names of at most 32 bytes: every length in it is one byte.
///
///     0a L 0a K name 12 V kind W 0a P number, with L = K + P + 8, V = P + 4, W = P + 2
class NumberEntry {
 public:
  static constexpr std::size_t longest_name = 32;
  /// Most bytes that are written for one entry, including bytes beyond its end.
  static constexpr std::size_t room = 4 + longest_name + 6 + max_varint_bytes;

  NumberEntry() = default;
  NumberEntry(std::string_view name, FeatureKind kind) noexcept : size_{name.size()} {
    const auto key = static_cast<std::uint32_t>(name.size());
    head_ = 0x000a'000a | (key + 8) << 8 | key << 24;
    const std::uint64_t kind_tag = wire_tag(static_cast<std::uint32_t>(kind), WireType::bytes);
    tail_ = 0x0a'0200'0412 | kind_tag << 16;
    std::copy_n(name.data(), name.size(), name_.data());
  }

  /// Writes what stands before a number of `payload` bytes; returns where the number goes.
  [[nodiscard]] auto put(std::byte* to, std::size_t payload) const noexcept -> std::byte* {
    store_le(to, static_cast<std::uint32_t>(head_ + (payload << 8)));
    std::memcpy(to + 4, name_.data(), 16);
    if (size_ > 16) std::memcpy(to + 20, name_.data() + 16, 16);
    store_le(to + 4 + size_, tail_ + payload * 0x100'0100'0100);
    return to + 10 + size_;
  }

 private:
  std::array<char, longest_name> name_{};
  std::size_t size_ = 0;
  std::uint64_t tail_ = 0;
  std::uint32_t head_ = 0;
};

/// Writes a Features message entry by entry into memory that it reuses, and then its head before it. The caller keeps
/// the position of the next entry, and adds entries in the order of their names.
class FeatureEncoder {
 public:
  /// Begins a new message, with room for `numbers` entries of a single number. Returns where the first entry goes.
  [[nodiscard]] auto start(std::size_t numbers) -> std::byte* {
    bytes_.cut(0);
    bytes_.reserve(head_room + numbers * NumberEntry::room + slack);
    return bytes_.extend(head_room) + head_room;
  }

  /// Writes an entry at `to`, and makes room for it and for `numbers` entries of a single number after it. Returns
  /// where the next entry goes.
  [[nodiscard]] auto put(std::byte* to, std::string_view name, const FeatureValues& values, std::size_t numbers)
      -> std::byte* {
    const EncodedFeature feature{values};
    const std::size_t entry = EncodedFeature::framed(name.size()) + EncodedFeature::framed(feature.size);
    const auto used = static_cast<std::size_t>(to - bytes_.data());
    bytes_.cut(used);
    bytes_.reserve(used + EncodedFeature::framed(entry) + numbers * NumberEntry::room + slack);
    to = EncodedFeature::put_head(bytes_.data() + used, 1, entry);
    to = EncodedFeature::put_head(to, 1, name.size());
    if (!name.empty()) std::memcpy(to, name.data(), name.size());
    return feature.put(EncodedFeature::put_head(to + name.size(), 2, feature.size));
  }

  /// Returns the entries up to `end` as field 1 of an Example; valid until the next `start`.
  [[nodiscard]] auto finish(const std::byte* end) noexcept -> ByteView {
    const auto size = static_cast<std::size_t>(end - bytes_.data()) - head_room;
    std::byte* const begin = bytes_.data() + head_room - 1 - varint_size(size);
    begin[0] = static_cast<std::byte>(wire_tag(1, WireType::bytes));
    (void)write_varint(size, begin + 1);
    return {begin, end};
  }

 private:
  static constexpr std::size_t head_room = 1 + max_varint_bytes;
  static constexpr std::size_t slack = max_varint_bytes;  // bytes that put_varint may write beyond the end

  GrowingBytes bytes_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
