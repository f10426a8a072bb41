// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/erased_keys.hpp>

#include <distrib/core/shortest_text.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/parse_job.hpp>

#include <algorithm>
#include <functional>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL void encode_keys(WireWriter& head, std::uint32_t field, const std::vector<std::uint64_t>& keys) {
  std::vector<std::byte> packed(keys.size() * sizeof(std::uint64_t));
  for (std::size_t i = 0; i < keys.size(); ++i) store_le(packed.data() + i * sizeof(std::uint64_t), keys[i]);
  head.bytes(field, packed);
}

DISTRIB_DECL auto decode_keys(ByteView packed, std::vector<std::uint64_t>& keys) -> bool {
  keys.resize(packed.size() / sizeof(std::uint64_t));
  for (std::size_t i = 0; i < keys.size(); ++i)
    keys[i] = load_le<std::uint64_t>(packed.data() + i * sizeof(std::uint64_t));
  return packed.size() % sizeof(std::uint64_t) == 0;
}

// Reads "after 57 table users keys 4711,4712".
DISTRIB_DECL auto parse_erased_line(std::string_view line) -> std::optional<ErasedKeys> {
  ErasedKeys entry;
  if (cut_before(line, ' ') != "after") return std::nullopt;
  const auto after = parse_shortest<std::uint64_t>(cut_before(line, ' '));
  if (!after || *after == 0 || cut_before(line, ' ') != "table") return std::nullopt;
  entry.after = *after;
  entry.table = cut_before(line, ' ');
  if (entry.table.empty() || cut_before(line, ' ') != "keys" || line.empty() || line.back() == ',') return std::nullopt;
  while (!line.empty()) {
    const auto key = parse_shortest<std::uint64_t>(cut_before(line, ','));
    if (!key) return std::nullopt;
    entry.keys.push_back(*key);
  }
  std::ranges::sort(entry.keys);
  return entry;
}

}  // namespace detail

DISTRIB_DECL void encode_erased_keys(WireWriter& head, std::uint32_t field, const ErasedKeys& entry) {
  head.message(field, [&](WireWriter& message) {
    message.varint(1, entry.after);
    message.text(2, entry.table);
    detail::encode_keys(message, 3, entry.keys);
  });
}

DISTRIB_DECL auto decode_erased_keys(ByteView bytes) -> std::optional<ErasedKeys> {
  ErasedKeys entry;
  bool good = true;
  WireReader reader{bytes};
  while (reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::varint): entry.after = reader.uint64(); break;
      case wire_tag(2, WireType::bytes): entry.table = reader.text(); break;
      case wire_tag(3, WireType::bytes): good = detail::decode_keys(reader.bytes(), entry.keys); break;
    }
  const bool ascends = std::ranges::adjacent_find(entry.keys, std::ranges::greater_equal{}) == entry.keys.end();
  if (!reader.ok() || !good || !ascends || entry.keys.empty() || entry.after == 0) return std::nullopt;
  return entry;
}

DISTRIB_DECL auto to_text(const ErasedKeys& entry) -> std::string {
  std::string text = "after " + std::to_string(entry.after) + " table " + entry.table + " keys ";
  for (const std::uint64_t key : entry.keys) text += std::to_string(key) + ',';
  text.pop_back();
  return text;
}

DISTRIB_DECL auto parse_erased_keys(std::string_view text, ErrorRef to) -> std::vector<ErasedKeys> {
  detail::ErrorOut error{to};
  std::vector<ErasedKeys> entries;
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view line = detail::cut_before(text, '\n');
    if (line.empty()) continue;
    std::optional<ErasedKeys> entry = detail::parse_erased_line(line);
    if (!entry) {
      error = {ps_errc::not_erasable,
               "line " + std::to_string(number) + " is not like 'after 57 table users keys 4711'"};
      return {};
    }
    entries.push_back(*std::move(entry));
  }
  return entries;
}

}  // namespace v0
}  // namespace distrib
