// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/crc32c.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/record/frame.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

// The index of a record file on another machine lies beside it, as .NAME.index; because of the dot, patterns do not match
// it. It belongs to one content of the file, which it names by size and version. All little-endian:
//   0 "distrIDO" · 8 version u32, 1 · 12 zero u32 · 16 bytes of the record file u64 · 24 the first 8 bytes of the SHA-256
//   of its version (ETag, generation, time) · 32 number of records u64 · 40 end of each record u64 · CRC-32C of all of
//   this u32
// It saves time and is never trusted: an index that is damaged, or belongs to another content, counts as none.

inline constexpr std::size_t index_object_head_bytes = 40;

/// Returns where the index of a remote record file is kept: "s3://b/d/.train-0.index" for "s3://b/d/train-0". Of a URL of
/// http and https the query stays: "http://h/.a.index?q" for "http://h/a?q".
[[nodiscard]] inline auto index_object_name(std::string_view name) -> std::string {
  std::size_t end = name.size();
  if (name.starts_with("http://") || name.starts_with("https://")) end = std::min(name.find_first_of("?#"), end);
  const std::string_view path = name.substr(0, end);
  const std::size_t file = path.rfind('/') + 1;  // npos + 1 is 0
  return std::string{path.substr(0, file)} + '.' + std::string{path.substr(file)} + ".index" +
         std::string{name.substr(end)};
}

/// Returns the bytes of an index. `of_version`: that of the record file, as `RangedFile::version`. `offsets`: where each record
/// begins, and where the last one ends, which is the size of the file.
[[nodiscard]] inline auto encode_index_object(std::string_view of_version, std::span<const std::uint64_t> offsets)
    -> std::vector<std::byte> {
  const std::span<const std::uint64_t> ends = offsets.subspan(1);
  std::vector<std::byte> index(index_object_head_bytes + 8 * ends.size() + 4);
  std::memcpy(index.data(), "distrIDO", 8);
  store_le(index.data() + 8, std::uint32_t{1});
  store_le(index.data() + 16, offsets.back());
  std::memcpy(index.data() + 24, sha256(as_bytes(of_version)).data(), 8);
  store_le(index.data() + 32, std::uint64_t{ends.size()});
  if (!ends.empty()) std::memcpy(index.data() + index_object_head_bytes, ends.data(), 8 * ends.size());
  store_le(index.data() + index.size() - 4, crc32c(ByteView{index}.first(index.size() - 4)));
  return index;
}

/// Returns how many bytes an index has that begins with `head`, at least `index_object_head_bytes` bytes; 0 if it is none
/// of a file with this size and version.
[[nodiscard]] inline auto index_object_bytes(ByteView head, std::uint64_t bytes, std::string_view of_version)
    -> std::uint64_t {
  const std::uint64_t records = load_le<std::uint64_t>(head.data() + 32);
  const bool fits = !of_version.empty() && records <= bytes / record_frame_bytes &&
                    std::memcmp(head.data(), "distrIDO", 8) == 0 && load_le<std::uint32_t>(head.data() + 8) == 1 &&
                    load_le<std::uint64_t>(head.data() + 16) == bytes &&
                    std::memcmp(head.data() + 24, sha256(as_bytes(of_version)).data(), 8) == 0;
  return fits ? index_object_head_bytes + 8 * records + 4 : 0;
}

/// Returns where the records of a file with this size and version begin, and where the last one ends. Returns nothing if
/// `index` is damaged, or belongs to another content. If the version is unknown (empty), no index fits.
[[nodiscard]] inline auto decode_index_object(ByteView index, std::uint64_t bytes, std::string_view of_version)
    -> std::vector<std::uint64_t> {
  if (index.size() < index_object_head_bytes + 4 || index.size() != index_object_bytes(index, bytes, of_version))
    return {};
  const ByteView content = index.first(index.size() - 4);
  if (crc32c(content) != load_le<std::uint32_t>(content.data() + content.size())) return {};
  std::vector<std::uint64_t> offsets((content.size() - index_object_head_bytes) / 8 + 1);
  if (offsets.size() != 1)
    std::memcpy(offsets.data() + 1, content.data() + index_object_head_bytes, 8 * offsets.size() - 8);
  for (std::size_t i = 1; i < offsets.size(); ++i)
    if (offsets[i] < offsets[i - 1] || offsets[i] - offsets[i - 1] < record_frame_bytes) return {};
  if (offsets.back() != bytes) return {};
  return offsets;
}

}  // namespace v0
}  // namespace distrib
