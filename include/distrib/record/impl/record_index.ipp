// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/record/record_index.hpp>

#include <distrib/record/codec.hpp>
#include <distrib/record/compression.hpp>
#include <distrib/record/detail/frame_at.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto RecordIndex::of_offsets(std::string path, MappedFile file, std::vector<std::uint64_t> offsets)
    -> std::optional<RecordIndex> {
  if (offsets.empty() || offsets.front() != 0 || offsets.back() != file.bytes().size()) return std::nullopt;
  for (std::size_t i = 1; i < offsets.size(); ++i)
    if (offsets[i] < offsets[i - 1] || offsets[i] - offsets[i - 1] < record_frame_bytes) return std::nullopt;
  RecordIndex index;
  index.path_ = std::move(path);
  index.mapping_ = std::move(file);
  index.offsets_ = std::move(offsets);
  return index;
}

DISTRIB_DECL void RecordIndex::build(Error& error) {
  mapping_ = MappedFile{path_, error.code};
  if (error) {
    error.where = path_;
    return;
  }
  const ByteView file = mapping_.bytes();
  if (detect_compression(file.first(std::min(file.size(), detection_bytes))) != Compression::none) {
    error = {record_errc::compressed, path_};
    return;
  }
  offsets_.push_back(0);
  while (offsets_.back() < file.size()) {
    error.code = step(file);
    if (!error) continue;
    error.where = detail::record_where(path_, size(), offsets_.back());
    offsets_.clear();
    return;
  }
}

DISTRIB_DECL auto RecordIndex::step(ByteView file) -> std::error_code {
  const std::uint64_t begin = offsets_.back();
  const std::optional<std::uint64_t> length = detail::frame_at(file, begin);
  if (!length) return detail::frame_error(file, begin);
  // Records tend to have similar sizes, so this is about where a header will be read soon.
  const std::uint64_t ahead = 8 * (record_frame_bytes + *length);
  if (ahead < file.size() - begin) __builtin_prefetch(file.data() + begin + ahead);
  offsets_.push_back(begin + record_frame_bytes + *length);
  return {};
}

}  // namespace v0
}  // namespace distrib
