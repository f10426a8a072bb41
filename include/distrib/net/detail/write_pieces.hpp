// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/net/asio.hpp>

#include <cstddef>
#include <iterator>
#include <memory>

namespace distrib {
inline namespace v0 {
namespace detail {

/// What is to be written, as Asio takes it: of a core's output, what follows the first `written` bytes, or the front of
/// it. A sequence of buffers.
class WritePieces {
 public:
  using value_type = asio::const_buffer;
  using const_iterator = const asio::const_buffer*;

  template <class Output> WritePieces(const Output& output, std::size_t written) {
    for (const ByteView view : output) {
      if (written >= view.size()) {
        written -= view.size();
        continue;
      }
      is_all_ = count_ != std::size(pieces_);
      if (!is_all_) return;
      std::construct_at(&pieces_[count_++], view.data() + written, view.size() - written);
      bytes_ += view.size() - written;
      written = 0;
    }
  }

  [[nodiscard]] auto begin() const noexcept -> const_iterator { return pieces_; }
  [[nodiscard]] auto end() const noexcept -> const_iterator { return pieces_ + count_; }

  /// There is one, for which the system has a cheaper call.
  [[nodiscard]] auto is_one() const noexcept -> bool { return count_ == 1; }
  [[nodiscard]] auto bytes() const noexcept -> std::size_t { return bytes_; }
  /// Whether nothing is left behind these.
  [[nodiscard]] auto is_all() const noexcept -> bool { return is_all_; }

 private:
  // The system takes no more at once. A union, so that they are not cleared, which would take longer than to make one.
  union {
    asio::const_buffer pieces_[64];
  };
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
  bool is_all_ = true;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
