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

/// Parses Examples, one after another, into the rows of slots. The usual encoding (an entry under 128 bytes, key first,
/// one list in one piece) is recognised by one comparison; all others take the general way. Slots, cells and names must
/// outlive the parser.
class RowParser {
 public:
  RowParser(const KeyTable& keys, const KeyCell* cells, std::span<FeatureSlot> slots) noexcept
      : keys_{keys}, cells_{cells}, slots_{slots} {
    for (const FeatureSlot& slot : slots) has_lists_ |= slot.list;
  }

  /// Parses the next record into a row. If it fails, sets `error` and adds no row.
  DISTRIB_DECL void add(ByteView record, Error& error);

  /// Returns the number of rows so far.
  [[nodiscard]] auto rows() const noexcept -> std::size_t { return rows_; }

  // The sink of read_entry.
  [[nodiscard]] DISTRIB_DECL auto begin(std::string_view name) -> bool;
  [[nodiscard]] auto value(ByteView feature, unsigned levels) -> bool { return read_feature(feature, levels, *slot_); }

 private:
  DISTRIB_DECL auto read_example(ByteView record) -> bool;

  DISTRIB_DECL auto read_features(ByteView features) -> bool;

  /// Fast path: reads consecutive entries of the usual layout and under 128 bytes: single numbers that are wanted, and
  /// features that are not wanted, which are skipped. Returns the position of the first entry that it cannot handle.
  /// Calls no function, so that its state stays in registers, and does not branch on values, which the processor could
  /// not predict.
  [[nodiscard]] DISTRIB_DECL auto read_short_entries(const std::byte* at, const std::byte* const end) noexcept
      -> const std::byte*;

  /// Reads any entry, or another field. Returns where the next one begins; null if it is malformed.
  [[nodiscard]] DISTRIB_DECL auto read_entry_at(const std::byte* at, const std::byte* const end) -> const std::byte*;

  /// Takes a field of bytes off the front of [at, end), if it has this tag of one byte. Returns false, and takes
  /// nothing, if it has another tag, or is not whole.
  [[gnu::always_inline]] static auto take_message(const std::byte*& at, const std::byte* end, std::uint64_t tag,
                                                  ByteView& message) noexcept -> bool {
    if (end - at < 2 || static_cast<std::uint64_t>(at[0]) != tag) return false;
    auto size = static_cast<std::uint64_t>(at[1]);
    const std::byte* begin = at + 2;
    std::uint64_t last = size;
    for (unsigned shift = 7; last >= 0x80; shift += 7) {  // at most five bytes
      if (begin == end || shift > 28) return false;
      last = static_cast<std::uint64_t>(*begin++);
      size += (last - 1) << shift;  // minus 1 << shift: the bit of the byte before, which said that this byte follows
    }
    if (size > static_cast<std::size_t>(end - begin)) return false;
    message = {begin, static_cast<std::size_t>(size)};
    at = begin + size;
    return true;
  }

  /// Stores the only piece of the only list of a feature. Returns false if it is malformed.
  DISTRIB_DECL auto read_content(FeatureSlot& slot, std::uint64_t kind_tag, ByteView content, ByteView feature) -> bool;

  /// Checks what the record has of a feature, and stores the default if it lacks it. Returns false and sets `error` if
  /// it does not fit.
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
  FeatureSlot* slot_ = nullptr;  // slot of the entry that is being read
  std::uint64_t serial_ = 0;  // serial number of the record; 0: none
  std::size_t rows_ = 0;
  bool has_lists_ = false;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/example/detail/impl/row_parser.ipp>
#endif
