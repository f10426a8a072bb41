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

/// The bytes of a core's output after the first `written` bytes, or the first 64 pieces of them, as a buffer sequence
/// of Asio.
class WritePieces {
 public:
  using value_type = asio::const_buffer;
  using const_iterator = const asio::const_buffer*;
  static constexpr std::size_t most = 64;  ///< Most pieces: the system accepts no more at once.

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

  /// True if there is exactly one piece: the system has a cheaper call for that.
  [[nodiscard]] auto is_one() const noexcept -> bool { return count_ == 1; }
  /// Returns the number of bytes in these pieces.
  [[nodiscard]] auto bytes() const noexcept -> std::size_t { return bytes_; }
  /// True if no further piece follows after these.
  [[nodiscard]] auto is_all() const noexcept -> bool { return is_all_; }

 private:
  // In a union, so that the array is not cleared: that would take longer than to make a piece.
  union {
    asio::const_buffer pieces_[most];
  };
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
  bool is_all_ = true;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
