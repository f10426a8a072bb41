// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/record/split_reader.hpp>

#include <distrib/record/detail/frame_at.hpp>
#include <distrib/record/error.hpp>

#include <limits>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void SplitReader::open() {
  offset_ = split_.first;
  number_ = split_.number;
  mapping_ = MappedFile{path_, error_.code};
  const ByteView file = mapping_.bytes();
  if (!error_ && split_.uncertain) error_.code = record_errc::uncertain_split;
  if (!error_ && (split_.first > split_.end || split_.end > file.size())) error_.code = record_errc::bad_split;
  if (error_) {
    error_.where = path_ + ": " + std::to_string(split_.first) + " to " + std::to_string(split_.end);
    return;
  }
  window_ = file.first(static_cast<std::size_t>(split_.end)).subspan(static_cast<std::size_t>(split_.first));
}

DISTRIB_DECL auto SplitReader::verify_more() -> bool {
  if (error_) return false;
  constexpr std::uint64_t any_length = std::numeric_limits<std::uint64_t>::max();
  if (ahead_.verify(window_, any_length, false, offset_, number_)) return true;
  if (window_.empty() && !split_.broken) return false;
  // A frame that ends after the split is damage as well: the file has changed since it was split.
  const std::optional<std::uint64_t> length = detail::frame_at(mapping_.bytes(), offset_);
  const bool fits = length && record_frame_bytes + *length <= window_.size();
  error_ = {fits     ? make_error_code(record_errc::corrupt_payload)
            : length ? make_error_code(record_errc::bad_split)
                     : detail::frame_error(mapping_.bytes(), offset_),
            detail::record_where(path_, number_, offset_)};
  window_ = {};
  return false;
}

}  // namespace v0
}  // namespace distrib
