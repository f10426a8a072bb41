// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/example/detail/varints.hpp>
#include <distrib/example/feature.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Bytes that grow at the end; aligned to `tensor_alignment`. The memory never shrinks before the object's end or
/// `take`.
class GrowingBytes {
 public:
  /// Makes room for `size` bytes in total, and keeps the bytes that there are.
  void reserve(std::size_t size) {
    if (size <= memory_.size()) return;
    AlignedBuffer larger = AlignedBuffer::for_overwrite(std::max(size, memory_.size() + memory_.size() / 2));
    if (size_ != 0) std::memcpy(larger.data(), memory_.data(), size_);
    memory_ = std::move(larger);
  }

  /// Adds `size` bytes and returns where they begin; the caller must write them.
  auto extend(std::size_t size) -> std::byte* {
    reserve(size_ + size);
    return memory_.data() + std::exchange(size_, size_ + size);
  }

  void cut(std::size_t size) noexcept { size_ = size; }

  [[nodiscard]] auto size() const noexcept -> std::size_t { return size_; }
  [[nodiscard]] auto data() noexcept -> std::byte* { return memory_.data(); }
  [[nodiscard]] auto data() const noexcept -> const std::byte* { return memory_.data(); }
  template <class T> [[nodiscard]] auto as() const noexcept -> std::span<const T> {
    return {reinterpret_cast<const T*>(memory_.data()), size_ / sizeof(T)};
  }
  /// Returns the memory, whose first `size()` bytes are filled, and leaves this object empty.
  [[nodiscard]] auto take() noexcept -> AlignedBuffer {
    size_ = 0;
    return std::move(memory_);
  }

 private:
  AlignedBuffer memory_;
  std::size_t size_ = 0;
};

/// Returns the bytes of a value of this kind in memory; a value of `bytes` is a ByteView.
[[nodiscard]] constexpr auto width_of(FeatureKind kind) noexcept -> std::size_t {
  return kind == FeatureKind::floats   ? sizeof(float)
         : kind == FeatureKind::int64s ? sizeof(std::int64_t)
                                       : sizeof(ByteView);
}

/// What is wanted of one feature, where its values go, and what the current record has of it. A sink of `read_feature`.
/// A list has the values of all rows one after another, and where each row ends; any other feature has a fixed number
/// of values a row.
struct FeatureSlot {
  // Stored first and together: what a single number needs.
  /// Differs from every byte.
  static constexpr std::uint16_t no_tag = 0x100;
  /// Tag of its kind in a Feature, if a row is a single number; otherwise `no_tag`.
  std::uint16_t scalar_tag = no_tag;
  /// Tag of its kind in a Feature, if one piece can be the whole row: floats, or one value of bytes; otherwise
  /// `no_tag`.
  std::uint16_t piece_tag = no_tag;
  FeatureKind kind = FeatureKind::none;
  bool list = false;
  bool required = false;  ///< True if a record that lacks it is an error.
  /// Serial number of the record whose row was stored at once, without `begin`.
  std::uint64_t done = 0;
  /// Values of fixed rows. For a single number eight bytes are written, also for a float.
  std::byte* rows = nullptr;
  std::size_t stride = 0;  ///< Bytes of a fixed row.

  std::string_view name;
  std::size_t count = 0;  ///< Number of values of a fixed row.
  /// For fixed rows: the row of a record that lacks the feature; null if that is an error.
  const std::byte* fallback = nullptr;
  AlignedBuffer memory;  ///< Memory of fixed rows.
  GrowingBytes values;  ///< Values of a list.
  /// For a list: 0 and then the end of each row, counted in values, as int64.
  GrowingBytes splits;

  // The current row.
  std::uint64_t touched = 0;  ///< Serial number of the last record that has it.
  FeatureKind found = FeatureKind::none;
  /// Number of its values, including those for which there was no space.
  std::size_t have = 0;
  std::byte* row = nullptr;

  /// Sets what is wanted: `number` values a row, or any number (`as_list`), of kind `wanted`.
  void want(std::string_view called, FeatureKind wanted, bool as_list, std::size_t number) noexcept {
    name = called;
    kind = wanted;
    list = as_list;
    count = as_list ? 0 : number;
    stride = count * width_of(kind);
    const auto tag = static_cast<std::uint16_t>(wire_tag(static_cast<std::uint32_t>(kind), WireType::bytes));
    const bool is_bytes = kind == FeatureKind::bytes;
    scalar_tag = !as_list && number == 1 && !is_bytes ? tag : no_tag;
    piece_tag = !as_list && (is_bytes ? number == 1 : kind == FeatureKind::floats) ? tag : no_tag;
  }

  /// Drops all rows, and makes room for `number` rows.
  void start(std::size_t number) {
    done = touched = 0;
    values.cut(0);
    splits.cut(0);
    if (list) {
      splits.reserve((number + 1) * sizeof(std::int64_t));
      store_le(splits.extend(sizeof(std::int64_t)), std::int64_t{0});
    } else {
      const std::size_t size = number * stride + sizeof(std::uint64_t);
      if (memory.size() < size) memory = AlignedBuffer{size};
      rows = memory.data();
    }
  }

  /// Begins the values of row `at` of record `serial`. If called again for the same row, drops the values that it had.
  void begin(std::uint64_t serial, std::size_t at) noexcept {
    done = 0;
    touched = serial;
    found = FeatureKind::none;
    row = rows + at * stride;
    drop();
  }

  /// Ends a row of a list.
  void end_row() {
    store_le(splits.extend(sizeof(std::int64_t)), static_cast<std::int64_t>(values.size() / width_of(kind)));
  }

  /// Drops the values after the last row of a list.
  void drop() noexcept {
    have = 0;
    if (list) values.cut(static_cast<std::size_t>(splits.as<std::int64_t>().back()) * width_of(kind));
  }

  // The sink. Lists of another kind are read, but not kept.
  void kind_is(FeatureKind now) noexcept {
    if (found == now) return;
    found = now;
    drop();
  }
  void bytes(ByteView value) {
    if (kind == FeatureKind::bytes) add(reinterpret_cast<const std::byte*>(&value), 1, sizeof value);
  }
  void floats(ByteView content) {
    if (kind == FeatureKind::floats) add(content.data(), content.size() / sizeof(float), sizeof(float));
  }
  void int64(std::int64_t value) {
    if (kind == FeatureKind::int64s) add(reinterpret_cast<const std::byte*>(&value), 1, sizeof value);
  }
  [[nodiscard]] auto int64s(ByteView packed) -> bool {
    if (kind != FeatureKind::int64s) return decode_varints(packed, nullptr, 0);
    const std::size_t number = count_varints(packed);
    const std::size_t place = list ? number : count - std::min(have, count);
    std::byte* const to =
        list ? values.extend(number * sizeof(std::int64_t)) : row + (count - place) * sizeof(std::int64_t);
    have += number;
    return decode_varints(packed, to, place);
  }

 private:
  void add(const std::byte* from, std::size_t number, std::size_t width) {
    const std::size_t keep = list ? number : std::min(number, count - std::min(have, count));
    if (keep != 0) std::memcpy(list ? values.extend(keep * width) : row + have * width, from, keep * width);
    have += number;
  }
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
