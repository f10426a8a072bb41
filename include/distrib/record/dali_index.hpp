// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/shortest_text.hpp>
#include <distrib/record/detail/replace_file.hpp>
#include <distrib/record/error.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/record/mapped_file.hpp>
#include <distrib/record/record_index.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

// The index that NVIDIA's tfrecord2idx writes and DALI's TFRecord reader asks for: a line a record, in order, "offset
// size", where size is that of the whole frame, payload and 16 bytes.

namespace detail {

/// Offsets of `RecordIndex::offsets` from such a text; empty where a line is no pair of numbers or does not go on where
/// the one before ended or is too short for a frame. Blanks, CRLF and a missing last newline are fine.
inline auto parse_dali_index(std::string_view text) -> std::optional<std::vector<std::uint64_t>> {
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

/// The index of the TFRecord file `path` by the DALI index `text_path`. It is checked for leading from 0 to the end of
/// the file without a gap; headers are verified when records are asked for. Memory is bounded by the text.
/// `error`: `record_errc::bad_index`, or why one of the files could not be mapped.
template <class = void>
[[nodiscard]] auto read_dali_index(const std::string& path, const std::string& text_path, Error& error)
    -> std::optional<RecordIndex> {
  error = {};
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

/// The same; throws `std::system_error`.
template <class = void>
[[nodiscard]] auto read_dali_index(const std::string& path, const std::string& text_path) -> RecordIndex {
  Error error;
  return *detail::or_throw(read_dali_index(path, text_path, error), error);
}

/// The same; on failure `ec` is set.
template <class = void>
[[nodiscard]] auto read_dali_index(const std::string& path, const std::string& text_path, std::error_code& ec)
    -> std::optional<RecordIndex> {
  return read_dali_index(path, text_path, detail::CodeOf{ec});
}

/// `index` as DALI's text.
[[nodiscard]] inline auto dali_index_text(const RecordIndex& index) -> std::string {
  std::string text;
  for (std::size_t i = 0; i < index.size(); ++i)
    text += std::to_string(index.offset(i)) + " " + std::to_string(index.offset(i + 1) - index.offset(i)) + "\n";
  return text;
}

/// Writes `dali_index_text` to the file `text_path`, replacing it at once or not at all. `ec`: the system's reason.
inline void write_dali_index(const RecordIndex& index, const std::string& text_path, std::error_code& ec) {
  const std::string text = dali_index_text(index);
  detail::replace_file(text_path, {as_bytes(text)}, ec);
}

/// The same; throws `std::system_error` naming the file.
inline void write_dali_index(const RecordIndex& index, const std::string& text_path) {
  std::error_code ec;
  write_dali_index(index, text_path, ec);
  if (ec) throw_error(ec, text_path);
}

}  // namespace v0
}  // namespace distrib
