// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/example/detail/feature_slot.hpp>
#include <distrib/example/detail/key_table.hpp>
#include <distrib/example/detail/walk.hpp>
#include <distrib/example/error.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Parses Examples, one after the other, into the rows of slots. What writers usually write, an entry that is shorter
/// than 128 bytes, key first, one list in one piece, is recognised by one comparison; all else goes the long way.
/// Slots, cells and names outlive it.
class RowParser {
 public:
  RowParser(const KeyTable& keys, const KeyCell* cells, std::span<FeatureSlot> slots) noexcept
      : keys_{keys}, cells_{cells}, slots_{slots} {
    for (const FeatureSlot& slot : slots) has_lists_ |= slot.list;
  }

  /// Parses the next row. A record that fails leaves no row behind.
  DISTRIB_DECL void add(ByteView record, Error& error);

  /// Rows so far.
  [[nodiscard]] auto rows() const noexcept -> std::size_t { return rows_; }

  // The sink of read_entry.
  [[nodiscard]] DISTRIB_DECL auto begin(std::string_view name) -> bool;
  [[nodiscard]] auto value(ByteView feature, unsigned levels) -> bool { return read_feature(feature, levels, *slot_); }

 private:
  DISTRIB_DECL auto read_example(ByteView record) -> bool;

  DISTRIB_DECL auto read_features(ByteView features) -> bool;

  /// Reads entries of the usual form and less than 128 bytes, as long as there are any: single numbers that are wanted,
  /// and what nobody asks for. Returns where the first other one begins. It calls nothing, so that all of it stays in
  /// registers, and has no branch that depends on values, since nobody can guess which ones come next.
  [[nodiscard]] DISTRIB_DECL auto read_short_entries(const std::byte* at, const std::byte* const end) noexcept
      -> const std::byte*;

  /// Any entry, or what else stands there. Returns where the next one begins; null: malformed.
  [[nodiscard]] DISTRIB_DECL auto read_entry_at(const std::byte* at, const std::byte* const end) -> const std::byte*;

  /// Takes a field of bytes off the front of [at, end), if it has this tag of one byte.
  [[gnu::always_inline]] static auto take_message(const std::byte*& at, const std::byte* end, std::uint64_t tag,
                                                  ByteView& message) noexcept -> bool {
    if (end - at < 2 || static_cast<std::uint64_t>(at[0]) != tag) return false;
    auto size = static_cast<std::uint64_t>(at[1]);
    const std::byte* begin = at + 2;
    std::uint64_t last = size;
    for (unsigned shift = 7; last >= 0x80; shift += 7) {  // at most five bytes
      if (begin == end || shift > 28) return false;
      last = static_cast<std::uint64_t>(*begin++);
      size += (last - 1) << shift;  // less what said that this byte follows
    }
    if (size > static_cast<std::size_t>(end - begin)) return false;
    message = {begin, static_cast<std::size_t>(size)};
    at = begin + size;
    return true;
  }

  /// The only piece of the only list of a feature.
  DISTRIB_DECL auto read_content(FeatureSlot& slot, std::uint64_t kind_tag, ByteView content, ByteView feature) -> bool;

  DISTRIB_DECL auto check(FeatureSlot& slot, Error& error) -> bool;

  static auto where(const FeatureSlot& slot) -> std::string { return "feature \"" + std::string{slot.name} + '"'; }
  static auto fail(Error& error, example_errc code, std::string where) -> bool {
    error = {code, std::move(where)};
    return false;
  }

  static constexpr std::uint64_t bytes_tag = wire_tag(1, WireType::bytes);
  static constexpr std::uint64_t float_tag = wire_tag(2, WireType::bytes);
  static constexpr std::uint64_t int64_tag = wire_tag(3, WireType::bytes);

  KeyTable keys_;
  const KeyCell* cells_;
  std::span<FeatureSlot> slots_;
  FeatureSlot* slot_ = nullptr;  // of the entry that is being read
  std::uint64_t serial_ = 0;  // of the record; 0 is none
  std::size_t rows_ = 0;
  bool has_lists_ = false;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/example/detail/impl/row_parser.ipp>
#endif
