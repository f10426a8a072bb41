// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/detail/input_file.hpp>
#include <distrib/checkpoint/stored_tensor.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Reads the bytes of one stored piece in order, row-major, and verifies their checksum when the last one was read.
///
/// Memory: none. For a piece that is not row-major: the bytes of the file from its first to its last element.
///
/// Threads: one at a time.
class PieceStream {
 public:
  /// `element_bytes`: the size of one stored element. `where`: what an error says about a wrong checksum.
  PieceStream(InputFile file, const StoredTensor::Piece& piece, std::size_t element_bytes, std::string where)
      : file_{std::move(file)}, piece_{piece}, element_bytes_{element_bytes}, where_{std::move(where)} {}

  /// Returns the number of bytes that were not read yet.
  [[nodiscard]] auto left() const noexcept -> std::uint64_t { return piece_.size_bytes - done_; }

  /// True if bytes may be left out: the piece has no checksum.
  [[nodiscard]] auto may_skip() const noexcept -> bool {
    return piece_.checksum == StoredTensor::Checksum::none && piece_.strides.empty();
  }
  /// Leaves out the next `count` bytes. Only if `may_skip()`; `count` must not exceed `left()`.
  void skip(std::uint64_t count) noexcept { done_ += count; }

  /// Fills `to` with the next bytes. `to` must not be larger than `left()`. On failure returns false and sets `error`:
  /// `corrupt_data` (a wrong checksum, or the file ends before) or `cannot_read`.
  DISTRIB_DECL auto read(std::span<std::byte> to, Error& error) -> bool;

 private:
  DISTRIB_DECL auto gather(Error& error) -> bool;

  InputFile file_;
  StoredTensor::Piece piece_;
  std::size_t element_bytes_;
  std::string where_;
  std::uint64_t done_ = 0;
  std::uint32_t crc_ = 0;
  std::vector<std::byte> gathered_;  // of a piece with strides: all its elements, row-major
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/impl/piece_stream.ipp>
#endif
