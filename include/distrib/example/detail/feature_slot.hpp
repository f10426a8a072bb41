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

/// Bytes that grow at the end; aligned to `tensor_alignment`, memory is only ever given back at the end.
class GrowingBytes {
 public:
  /// Makes room for `size` bytes in all, what there is included, and keeps it.
  void reserve(std::size_t size) {
    if (size <= memory_.size()) return;
    AlignedBuffer larger = AlignedBuffer::for_overwrite(std::max(size, memory_.size() + memory_.size() / 2));
    if (size_ != 0) std::memcpy(larger.data(), memory_.data(), size_);
    memory_ = std::move(larger);
  }

  /// Adds `size` bytes that are yet to be written.
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
  /// Hands the memory over; `size()` bytes of it are filled.
  [[nodiscard]] auto take() noexcept -> AlignedBuffer {
    size_ = 0;
    return std::move(memory_);
  }

 private:
  AlignedBuffer memory_;
  std::size_t size_ = 0;
};

/// Bytes of a value of this kind as it lies in memory; bytes are a ByteView.
[[nodiscard]] constexpr auto width_of(FeatureKind kind) noexcept -> std::size_t {
  return kind == FeatureKind::floats   ? sizeof(float)
         : kind == FeatureKind::int64s ? sizeof(std::int64_t)
                                       : sizeof(ByteView);
}

/// What is wanted of one feature, where its values go, and what the current record had of it. The sink of
/// `read_feature`. A list has its values of all rows one after the other, and where each row ends; others have a fixed
/// number of values a row.
struct FeatureSlot {
  // What a value of a single number needs, first and together.
  static constexpr std::uint16_t no_tag = 0x100;  ///< Differs from every byte.
  std::uint16_t scalar_tag = no_tag;  ///< Tag of its kind in a Feature, where a row is a single number.
  std::uint16_t piece_tag = no_tag;   ///< The same, where one piece can be all of a row: floats, one value of bytes.
  FeatureKind kind = FeatureKind::none;
  bool list = false;
  bool required = false;      ///< A record that lacks it is an error.
  std::uint64_t done = 0;     ///< Serial number of the record whose row was stored in one go.
  std::byte* rows = nullptr;  ///< Values of fixed rows. After a single number eight bytes are written.
  std::size_t stride = 0;     ///< Bytes of a fixed row.

  std::string_view name;
  std::size_t count = 0;                ///< Values of a fixed row.
  const std::byte* fallback = nullptr;  ///< Fixed: the row of a record that lacks it; null: an error.
  AlignedBuffer memory;                 ///< Of fixed rows.
  GrowingBytes values;                  ///< Of a list.
  GrowingBytes splits;                  ///< Of a list: int64, 0 and then the end of each row, in values.

  // The current row.
  std::uint64_t touched = 0;  ///< Serial number of the last record that has it.
  FeatureKind found = FeatureKind::none;
  std::size_t have = 0;  ///< Values of it, those that found no place included.
  std::byte* row = nullptr;

  /// Wants `number` values a row, or any number (`as_list`), of `wanted`.
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

  /// Forgets all rows and makes room for `number`.
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

  /// Begins the values of row `at` of record `serial`, also again: what it had is dropped.
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

  // The sink. Lists of another kind are looked through and not kept.
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
