// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/example/detail/row_parser.hpp>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL void RowParser::add(ByteView record, Error& error) {
  ++serial_;
  if (!read_example(record)) {
    error = {example_errc::malformed, {}};
    return;
  }
  for (FeatureSlot& slot : slots_)
    if (slot.done != serial_ && !check(slot, error)) return;
  if (has_lists_)
    for (FeatureSlot& slot : slots_)
      if (slot.list) slot.end_row();
  ++rows_;
}

DISTRIB_DECL auto RowParser::begin(std::string_view name) -> bool {
  const KeyCell& cell = keys_.look(cells_, name);
  slot_ = cell.name == nullptr ? nullptr : &slots_[cell.index];
  if (slot_ != nullptr) slot_->begin(serial_, rows_);
  return slot_ != nullptr;
}

DISTRIB_DECL auto RowParser::read_example(ByteView record) -> bool {
  const std::byte* at = record.data();
  const std::byte* const end = at + record.size();
  ByteView features;
  if (take_message(at, end, 0x0a, features) && at == end) return read_features(features);
  FieldReader example{record, most_levels};
  while (example.next())
    if (example.tag() == first_message && !read_features(example.bytes())) return false;
  return example.ok();
}

DISTRIB_DECL auto RowParser::read_features(ByteView features) -> bool {
  const std::byte* at = features.data();
  const std::byte* const end = at + features.size();
  for (;;) {
    if (at != end && at + 1 != end && at[1] < std::byte{0x80}) at = read_short_entries(at, end);
    if (at == end) return true;
    at = read_entry_at(at, end);
    if (at == nullptr) return false;
  }
}

DISTRIB_DECL auto RowParser::read_short_entries(const std::byte* at, const std::byte* const end) noexcept
    -> const std::byte* {
  const KeyTable keys = keys_;
  const KeyCell* const cells = cells_;
  FeatureSlot* const slots = slots_.data();
  const std::uint64_t serial = serial_;
  const std::size_t row = rows_;
  for (;;) {
    // 0a L 0a K name 12 V kind W 0a P payload, with V = P + 4, W = P + 2, L = K + P + 8, all below 128; K and P above 0
    const auto left = static_cast<std::size_t>(end - at);
    if (left < 12) return at;
    const auto head = load_le<std::uint32_t>(at);
    const std::uint64_t length = head >> 8 & 0xff;
    const std::uint64_t key_size = head >> 24;
    if (left < length + 2 || left < key_size + 10) return at;
    const std::byte* const name = at + 4;
    const std::uint64_t tail = load_le<std::uint64_t>(name + key_size - 2) >> 16;  // what follows the name
    const std::uint64_t size = length - key_size - 8;
    const std::uint64_t expected = 0x0a'0200'0412 + size * 0x100'0100'0100;
    if ((((head ^ 0x000a'000a) & 0x00ff'00ff) | ((tail ^ expected) & 0xffff'ff00'ffff) |
         (((size - 1) | length | (key_size - 1)) & ~std::uint64_t{0x7f})) != 0)
      return at;

    const std::uint64_t front = key_size > 8 ? key_size - 8 : 0;
    const std::uint64_t name_tail = load_le<std::uint64_t>(name + front) << 8 * (front + 8 - key_size);
    const KeyCell& cell = keys.look(cells, name_tail, key_size, name);
    const std::byte* const next = at + length + 2;
    if (cell.name == nullptr) {
      at = next;
      continue;
    }
    // For floats and varints at the same time. The word ends with the entry, so that its bytes above the payload are 0.
    const std::uint64_t kind_tag = tail >> 16 & 0xff;
    const std::uint64_t beyond = (64 - 8 * size) & 63;
    const std::uint64_t word = load_le<std::uint64_t>(next - 8) >> beyond;
    // a mask, because the compiler would make a branch of a condition
    const std::uint64_t if_float = 0 - std::uint64_t{kind_tag == float_tag};
    const std::uint64_t no_varint = ((word & varint_more) ^ (varint_more >> 8 >> beyond)) | (size - 1) >> 3;
    const std::uint64_t no_number = (if_float & (size ^ sizeof(float))) | (~if_float & no_varint);
    FeatureSlot& slot = slots[cell.index];
    if (((slot.scalar_tag ^ kind_tag) | no_number) != 0) return at;
    store_le(slot.rows + row * slot.stride, (if_float & word) | (~if_float & join_varint(word)));
    slot.done = serial;  // for a float this wrote beyond its row; the next row overwrites that
    at = next;
  }
}

DISTRIB_DECL auto RowParser::read_entry_at(const std::byte* at, const std::byte* const end) -> const std::byte* {
  // The usual form first: key, then value, one list in one piece, and all of them end together.
  const std::byte* next = at;
  ByteView entry;
  ByteView key;
  ByteView feature;
  ByteView list;
  ByteView content;
  if (take_message(next, end, 0x0a, entry)) {
    const std::byte* in = entry.data();
    if (take_message(in, next, 0x0a, key) && take_message(in, next, 0x12, feature) && in == next && !feature.empty()) {
      const auto kind_tag = static_cast<std::uint64_t>(*(in = feature.data()));
      if (take_message(in, next, kind_tag, list) && in == next && !list.empty() &&
          take_message(in = list.data(), next, 0x0a, content) && in == next) {
        const KeyCell& cell = keys_.look(cells_, as_text(key));
        if (cell.name == nullptr) return next;
        return read_content(slots_[cell.index], kind_tag, content, feature) ? next : nullptr;
      }
    }
  }
  FieldReader reader{{at, end}, most_levels - 1};
  if (!reader.next()) return nullptr;
  const bool read = reader.tag() != first_message || read_entry(reader.bytes(), most_levels - 2, *this);
  return read ? reader.position() : nullptr;
}

DISTRIB_DECL auto RowParser::read_content(FeatureSlot& slot, std::uint64_t kind_tag, ByteView content, ByteView feature)
    -> bool {
  if (slot.piece_tag == kind_tag && (kind_tag == bytes_tag || content.size() == slot.stride)) {  // the whole row
    std::byte* const row = slot.rows + rows_ * slot.stride;
    if (kind_tag == bytes_tag) std::memcpy(row, &content, sizeof content);
    else std::memcpy(row, content.data(), content.size());
    slot.done = serial_;
    return true;
  }
  slot.begin(serial_, rows_);
  switch (kind_tag) {
    case bytes_tag:
      slot.kind_is(FeatureKind::bytes);
      slot.bytes(content);
      return true;
    case float_tag:
      slot.kind_is(FeatureKind::floats);
      slot.floats(content);
      return content.size() % sizeof(float) == 0;
    case int64_tag: slot.kind_is(FeatureKind::int64s); return slot.int64s(content);
  }
  return read_feature(feature, most_levels - 3, slot);
}

DISTRIB_DECL auto RowParser::check(FeatureSlot& slot, Error& error) -> bool {
  const bool present = slot.touched == serial_;
  if (!present && slot.list) slot.drop();
  if (!present || slot.found == FeatureKind::none) {
    if (slot.list && !slot.required) return true;
    if (slot.fallback == nullptr) return fail(error, example_errc::missing_feature, where(slot));
    std::memcpy(slot.rows + rows_ * slot.stride, slot.fallback, slot.stride);
  } else if (slot.found != slot.kind) {
    return fail(error, example_errc::wrong_kind,
                where(slot) + " holds " + std::string{name(slot.found)} + ", not " + std::string{name(slot.kind)});
  } else if (!slot.list && slot.have != slot.count) {
    return fail(error, example_errc::wrong_count,
                where(slot) + " has " + std::to_string(slot.have) + " values, not " + std::to_string(slot.count));
  }
  return true;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
