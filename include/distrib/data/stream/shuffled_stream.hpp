// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/philox.hpp>
#include <distrib/data/order/error.hpp>
#include <distrib/data/stream/stream.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// A shuffle for streams: holds a window of `buffer` elements, returns a random one of them and puts the next element
/// in its place. An element moves at most `buffer` - 1 positions towards the front. The order is a function of (seed,
/// epoch), so every epoch has another order. With a window as large as the stream every order is equally likely.
///
/// Source: the rule of TensorFlow's `shuffle(buffer_size)`; random words of `Philox{seed, epoch, 2^32 - 2}`. Records
/// are copied into the window.
///
/// Errors: `next` reports `data_errc::bad_buffer` for a window of 0.
template <Stream Below> class ShuffledStream {
 public:
  using Element = typename Below::Element;

  ShuffledStream(Below below, std::uint64_t buffer, std::uint64_t seed)
      : below_{std::move(below)}, buffer_{buffer}, seed_{seed}, random_{seed, 0, stream_rank} {}

  [[nodiscard]] auto next(Error& error) -> std::optional<Element> {
    if (buffer_ == 0) {
      error = {data_errc::bad_buffer, "window_shuffle(0, " + std::to_string(seed_) + ")"};
      return std::nullopt;
    }
    while (!ended_ && window_.size() < buffer_) {
      std::optional<Element> element = below_.next(error);
      if (error) return std::nullopt;
      if (element) window_.emplace_back(*element);
      else ended_ = true;
    }
    if (window_.empty()) return std::nullopt;
    std::swap(window_[below(window_.size())], window_.back());
    given_.emplace(std::move(window_.back()));
    window_.pop_back();
    return given_->get();
  }
  void rewind(std::uint64_t epoch, Error& error) {
    window_.clear();
    ended_ = false;
    random_ = Philox{seed_, epoch, stream_rank};
    below_.rewind(epoch, error);
  }
  [[nodiscard]] auto describe() const -> std::string {
    return below_.describe() + " window_shuffle=" + std::to_string(buffer_) + '/' + std::to_string(seed_);
  }

 private:
  static constexpr std::uint32_t stream_rank = 0xFFFF'FFFE;  // no rank has this number, and Permutation uses another

  /// Returns a random number below `size`. All are equally likely up to one part in 2^32 (64 random bits, multiplied:
  /// Lemire, 2019).
  auto below(std::size_t size) noexcept -> std::size_t {
    const std::uint64_t high = random_();
    const std::uint64_t random = high << 32 | random_();
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::size_t>(Wide{random} * size >> 64);
  }

  Below below_;
  std::uint64_t buffer_;
  std::uint64_t seed_;
  Philox random_;
  std::vector<detail::Held<Element>> window_;
  std::optional<detail::Held<Element>> given_;
  bool ended_ = false;
};

}  // namespace v0
}  // namespace distrib
