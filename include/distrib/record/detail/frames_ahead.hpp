// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/record/detail/verified_frames.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/record/record.hpp>

#include <cstddef>
#include <cstdint>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The records that a reader has verified but not yet returned. The bytes that it reads next follow them.
class FramesAhead {
 public:
  [[nodiscard]] auto empty() const noexcept -> bool { return next_ == count_; }

  /// Returns the first of them and removes it from the front. It stays valid until `verify` or `assign` is called.
  /// There must be one.
  auto take() noexcept -> const Record* { return &frames_[next_++]; }

  /// Returns the offset of the first of them; `next` if there is none.
  [[nodiscard]] auto offset_or(std::uint64_t next) const noexcept -> std::uint64_t {
    return empty() ? next : frames_[next_].offset;
  }
  /// Returns the number of the first of them; `next` if there is none.
  [[nodiscard]] auto number_or(std::uint64_t next) const noexcept -> std::uint64_t {
    return empty() ? next : frames_[next_].number;
  }

  void clear() noexcept { next_ = count_ = 0; }

  /// Replaces all of them by `record`.
  void assign(const Record& record) noexcept {
    frames_[0] = record;
    next_ = 0;
    count_ = 1;
  }

  /// Verifies records at the front of `window`, and replaces the records held so far by the valid ones. `offset` and
  /// `number` belong to the first record. Moves `window`, `offset` and `number` behind the valid records. Returns
  /// false, and moves nothing, if the first record is invalid or incomplete, or has more than `longest` payload bytes.
  /// `suspect`: see `Record`.
  auto verify(ByteView& window, std::uint64_t longest, bool suspect, std::uint64_t& offset,
              std::uint64_t& number) noexcept -> bool {
    next_ = 0;
    count_ = verify_frames(window, longest, {{}, offset, number, suspect}, frames_);
    if (count_ == 0) return false;
    const Record& last = frames_[count_ - 1];
    const std::uint64_t end = last.offset + record_frame_bytes + last.bytes.size();
    window = window.subspan(static_cast<std::size_t>(end - offset));
    offset = end;
    number += count_;
    return true;
  }

 private:
  std::size_t next_ = 0;
  std::size_t count_ = 0;
  VerifiedFrames frames_{};
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
