// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/record/dali_index.hpp>

#include <distrib/core/shortest_text.hpp>
#include <distrib/record/error.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/record/mapped_file.hpp>

#include <algorithm>
#include <charconv>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

// Returns the offsets that `RecordIndex::offsets` would have, from such a text; nothing if a line is not a pair of
// numbers, does not begin where the line before ended, or is too short for a frame. Blanks, CRLF and a missing last
// newline are allowed.
DISTRIB_DECL auto parse_dali_index(std::string_view text) -> std::optional<std::vector<std::uint64_t>> {
  constexpr std::string_view blank = " \t\r";
  std::vector<std::uint64_t> offsets{0};
  while (!text.empty()) {
    std::string_view line = cut_before(text, '\n');
    line.remove_prefix(std::min(line.find_first_not_of(blank), line.size()));
    if (line.empty()) continue;
    std::uint64_t numbers[2] = {0, 0};
    for (std::uint64_t& number : numbers) {
      const auto parsed = std::from_chars(line.data(), line.data() + line.size(), number);
      if (parsed.ec != std::errc{}) return std::nullopt;
      line.remove_prefix(static_cast<std::size_t>(parsed.ptr - line.data()));
      const std::size_t rest = std::min(line.find_first_not_of(blank), line.size());
      if (rest == 0 && !line.empty()) return std::nullopt;
      line.remove_prefix(rest);
    }
    std::uint64_t end = 0;
    if (!line.empty() || numbers[0] != offsets.back() || numbers[1] < record_frame_bytes ||
        __builtin_add_overflow(numbers[0], numbers[1], &end))
      return std::nullopt;
    offsets.push_back(end);
  }
  return offsets;
}

}  // namespace detail

DISTRIB_DECL auto read_dali_index(const std::string& path, const std::string& text_path, ErrorRef to)
    -> std::optional<RecordIndex> {
  detail::ErrorOut error{to};
  const MappedFile text{text_path, error.code};
  if (error) {
    error.where = text_path;
    return std::nullopt;
  }
  MappedFile file{path, error.code};
  if (error) {
    error.where = path;
    return std::nullopt;
  }
  std::optional<std::vector<std::uint64_t>> offsets = detail::parse_dali_index(as_text(text.bytes()));
  std::optional<RecordIndex> index;
  if (offsets) index = RecordIndex::of_offsets(path, std::move(file), std::move(*offsets));
  if (!index) error = {record_errc::bad_index, text_path + ", an index of " + path};
  return index;
}

}  // namespace v0
}  // namespace distrib
