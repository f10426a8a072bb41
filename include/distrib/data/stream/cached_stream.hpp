// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/data/order/error.hpp>
#include <distrib/data/stream/stream.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Holds the elements of the first epoch in memory, records with their bytes, and returns them again in every later
/// epoch without using the stream below. An epoch that was not read to its end, or had a failure, is not kept.
///
/// Memory: at most `max_bytes`, where an element counts with its `sizeof`, and a record also with its payload. Trap:
/// other memory that an element owns (a string, a vector) does not count.
///
/// Errors: `next` reports `data_errc::cache_full` if the elements take more than `max_bytes`. The cache is then
/// emptied, that element is lost, and each further element of the epoch fails in the same way.
template <Stream Below> class CachedStream {
 public:
  using Element = typename Below::Element;

  CachedStream(Below below, std::uint64_t max_bytes) : below_{std::move(below)}, max_bytes_{max_bytes} {}

  [[nodiscard]] auto next(Error& error) -> std::optional<Element> {
    if (whole_) {
      if (next_ == held_.size()) return std::nullopt;
      return held_[next_++].get();
    }
    std::optional<Element> element = below_.next(error);
    if (error) {
      failed_ = true;  // an epoch with a gap is not complete
      return std::nullopt;
    }
    if (!element) {
      whole_ = !failed_;
      next_ = held_.size();
      return std::nullopt;
    }
    detail::Held<Element> held{*element};
    bytes_ += held.bytes();
    if (bytes_ > max_bytes_) {
      error = {data_errc::cache_full,
               "cache(" + std::to_string(max_bytes_) + ") at element " + std::to_string(held_.size())};
      failed_ = true;
      held_ = {};
      bytes_ = max_bytes_;
      return std::nullopt;
    }
    held_.push_back(std::move(held));
    return element;
  }
  void rewind(std::uint64_t, Error& error) {
    next_ = 0;
    if (whole_) return;
    held_.clear();
    bytes_ = 0;
    failed_ = false;
    below_.rewind(0, error);  // epoch 0 also when a later epoch is the first one read here: all epochs are equal
  }
  [[nodiscard]] auto describe() const -> std::string { return below_.describe() + " cache"; }

 private:
  Below below_;
  std::uint64_t max_bytes_;
  std::vector<detail::Held<Element>> held_;
  std::uint64_t bytes_ = 0;
  std::size_t next_ = 0;
  bool whole_ = false;
  bool failed_ = false;
};

}  // namespace v0
}  // namespace distrib
