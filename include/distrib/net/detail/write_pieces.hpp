// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/net/asio.hpp>

#include <array>
#include <cstddef>
#include <span>

namespace distrib::inline v0::detail {

/// What is to be written, as Asio takes it: of a core's output, what follows the first `written` bytes, or the front of
/// it. A sequence of buffers.
class WritePieces {
 public:
  using value_type = asio::const_buffer;
  using const_iterator = const asio::const_buffer*;

  WritePieces(std::span<const ByteView> output, std::size_t written) {
    for (const ByteView view : output) {
      if (written >= view.size()) {
        written -= view.size();
        continue;
      }
      is_all_ = count_ != pieces_.size();
      if (!is_all_) return;
      pieces_[count_++] = {view.data() + written, view.size() - written};
      bytes_ += view.size() - written;
      written = 0;
    }
  }

  [[nodiscard]] auto begin() const noexcept -> const_iterator { return pieces_.data(); }
  [[nodiscard]] auto end() const noexcept -> const_iterator { return pieces_.data() + count_; }

  [[nodiscard]] auto bytes() const noexcept -> std::size_t { return bytes_; }
  /// Whether nothing is left behind these.
  [[nodiscard]] auto is_all() const noexcept -> bool { return is_all_; }

 private:
  std::array<asio::const_buffer, 64> pieces_;  // the system takes no more at once
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
  bool is_all_ = true;
};

}  // namespace distrib::inline v0::detail
