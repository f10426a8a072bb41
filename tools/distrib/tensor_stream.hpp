// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/bundle_reader.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tools {

/// Reads the bytes of a whole tensor in order, row-major, whatever slices it is stored in, and verifies their
/// checksums.
/// Memory: none for a tensor that is stored whole, or cut along its first axis; otherwise the tensor.
class TensorStream {
 public:
  /// `reader` must outlive the stream; it must have `tensor`, perhaps without its `stored_as`.
  TensorStream(const distrib::BundleReader& reader, const distrib::StoredTensor& tensor)
      : reader_{&reader}, tensor_{tensor} {
    std::ranges::sort(tensor_.pieces, {}, [](const distrib::StoredTensor::Piece& piece) {
      return piece.slice.start.rank() == 0 ? 0 : piece.slice.start[0];
    });
  }

  /// Returns the size of the tensor in bytes.
  [[nodiscard]] auto size() const noexcept -> std::uint64_t {
    return static_cast<std::uint64_t>(tensor_.shape.elements()) * size_bytes(tensor_.dtype);
  }

  /// Fills `to` with the next bytes; there must be as many. On failure returns false and sets `error`, as
  /// `BundleReader::read`.
  [[nodiscard]] auto read(std::span<std::byte> to, distrib::Error& error) -> bool {
    if (!tensor_.stored_as) return read_stored(to, error);
    stored_.resize(to.size() / size_bytes(tensor_.dtype) * size_bytes(*tensor_.stored_as));
    if (!read_stored(stored_, error)) return false;
    distrib::detail::widen(*tensor_.stored_as, stored_, to);
    return true;
  }

 private:
  auto read_stored(std::span<std::byte> to, distrib::Error& error) -> bool {
    if (!is_in_order()) return read_gathered(to, error);
    while (!to.empty()) {
      while (!stream_ || stream_->left() == 0)
        if (!open_next(error)) return false;
      const auto some = to.first(static_cast<std::size_t>(std::min<std::uint64_t>(to.size(), stream_->left())));
      if (!stream_->read(some, error)) return false;
      to = to.subspan(some.size());
    }
    return true;
  }

  [[nodiscard]] auto is_in_order() const -> bool {
    const distrib::Shape& shape = tensor_.shape;
    return tensor_.complete && std::ranges::all_of(tensor_.pieces, [&](const distrib::StoredTensor::Piece& piece) {
             return piece.slice == distrib::Slice::whole(shape) ||
                    piece.slice == distrib::Slice::along(shape, 0, piece.slice.start[0], piece.slice.extents[0]);
           });
  }

  auto open_next(distrib::Error& error) -> bool {
    stream_ = reader_->stream(tensor_, tensor_.pieces[next_++], error);
    return stream_.has_value();
  }

  auto read_gathered(std::span<std::byte> to, distrib::Error& error) -> bool {
    if (gathered_.empty()) {
      gathered_.resize(static_cast<std::size_t>(tensor_.shape.elements()) * size_bytes(tensor_.stored_dtype()));
      reader_->read(tensor_.name, distrib::Slice::whole(tensor_.shape), gathered_, error);
      if (error) return false;
    }
    std::copy_n(gathered_.begin() + static_cast<std::ptrdiff_t>(done_), to.size(), to.begin());
    done_ += to.size();
    return true;
  }

  const distrib::BundleReader* reader_;
  distrib::StoredTensor tensor_;  // its pieces in ascending order of their first rows
  std::size_t next_ = 0;  // the piece after the one that is being read
  std::optional<distrib::detail::PieceStream> stream_;
  std::vector<std::byte> stored_;  // bytes before they are widened
  std::vector<std::byte> gathered_;
  std::size_t done_ = 0;
};

}  // namespace tools
