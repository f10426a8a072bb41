// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/bundle_index.hpp>
#include <distrib/checkpoint/detail/input_file.hpp>
#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/file_names.hpp>
#include <distrib/checkpoint/string_tensor.hpp>
#include <distrib/core/crc32c.hpp>
#include <distrib/core/slice.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// Reads an index or part file. False: `error` is that of `parse_bundle_index`, `not_found` or `cannot_read`.
template <class = void> auto read_index_file(const std::string& file, BundleIndex& index, Error& error) -> bool {
  constexpr std::uint64_t max_index_bytes = std::uint64_t{1} << 30;
  error = {};
  std::vector<std::byte> bytes;
  if (!read_file(file, max_index_bytes, checkpoint_errc::corrupt_index, bytes, error)) return false;
  if (!parse_bundle_index(bytes, index, error)) error.where = file + ": " + error.where;
  return !error;
}

}  // namespace detail

/// Reads a checkpoint that TensorFlow or `plan_bundle` wrote. Opening reads the index and the sizes of the data files;
/// tensors are read when asked for, with their checksums always verified.
///
/// Threads: const members from any thread. Errors: the face with `Error&` tells where (file, tensor, slice); the
/// throwing face puts that into `std::system_error`.
class BundleReader {
 public:
  /// Opens the checkpoint `prefix` ("train/model.ckpt-1234"). Empty: `error` is `not_found` (no index file),
  /// `bad_magic`, `corrupt_index`, `missing_data_file`, `corrupt_data` (a data file is shorter than the index says),
  /// `unsupported` or `cannot_read`.
  template <class = void>
  [[nodiscard]] static auto open(std::string prefix, Error& error) -> std::optional<BundleReader> {
    const std::string file = index_file_name(prefix);
    BundleReader reader{std::move(prefix)};
    if (!detail::read_index_file(file, reader.index_, error)) return std::nullopt;
    if (!reader.check_sizes(0, reader.index_.shards, error)) return std::nullopt;
    return reader;
  }
  template <class = void>
  [[nodiscard]] static auto open(std::string prefix, std::error_code& ec) -> std::optional<BundleReader> {
    return open(std::move(prefix), detail::CodeOf{ec});
  }
  template <class = void> [[nodiscard]] static auto open(std::string prefix) -> BundleReader {
    Error error;
    return *detail::or_throw(open(std::move(prefix), error), error);
  }

  /// Opens what shard `shard` of `shards` has written of the checkpoint `prefix` (see `plan_part`), as a checkpoint of
  /// its own: only its data file need be there, and of a tensor that it holds in slices those very slices can be read.
  /// Errors as `open`; `corrupt_index` also when the file tells of another shard.
  template <class = void>
  [[nodiscard]] static auto open_part(std::string prefix, std::size_t shard, std::size_t shards, Error& error)
      -> std::optional<BundleReader> {
    const std::string file = part_file_name(prefix, shard, shards);
    BundleReader reader{std::move(prefix)};
    reader.is_part_ = true;
    if (!detail::read_index_file(file, reader.index_, error)) return std::nullopt;
    bool own = reader.index_.shards == shards;
    for (const StoredTensor& tensor : reader.index_.tensors)
      for (const StoredPiece& piece : tensor.pieces) own = own && piece.shard == shard;
    if (!own) {
      error = {checkpoint_errc::corrupt_index, file + ": it is the part of another shard"};
      return std::nullopt;
    }
    if (!reader.check_sizes(shard, shard + 1, error)) return std::nullopt;
    return reader;
  }

  [[nodiscard]] auto prefix() const noexcept -> const std::string& { return prefix_; }
  /// All that the index file says.
  [[nodiscard]] auto index() const noexcept -> const BundleIndex& { return index_; }
  /// All tensors, in ascending order of their names.
  template <class = void> [[nodiscard]] auto tensors() const noexcept -> std::span<const StoredTensor> {
    return {index_.tensors.data(), index_.tensors.size()};
  }
  /// The tensor called `name`; nullptr when there is none.
  [[nodiscard]] auto find(std::string_view name) const noexcept -> const StoredTensor* { return index_.find(name); }

  /// Lets the tensor called `name` be found as `other` too, unless there is one of that name.
  template <class = void> void add_name(std::string_view name, std::string other) {
    const StoredTensor* tensor = find(name);
    if (tensor == nullptr || find(other) != nullptr) return;
    StoredTensor copy = *tensor;
    copy.name = std::move(other);
    const auto after = [](const StoredTensor& a, const StoredTensor& b) { return a.name < b.name; };
    index_.tensors.insert(std::upper_bound(index_.tensors.begin(), index_.tensors.end(), copy, after), copy);
  }

  /// Reads the part `wanted` of a tensor into `out`, row-major, joined from however many slices it is stored in.
  /// `out` must have exactly its size. A piece that is stored can be read even where others are missing.
  /// Memory: one stored piece, where a piece is not exactly what is wanted.
  /// Errors: `not_found`, `mismatch` (slice or size), `incomplete`, `corrupt_data`, `unsupported`, `cannot_read`;
  /// the content of `out` is unspecified then.
  template <class = void>
  void read(std::string_view name, const Slice& wanted, std::span<std::byte> out, Error& error) const {
    error = {};
    const StoredTensor* tensor = present(name, error);
    if (tensor == nullptr) return;
    const std::size_t element_bytes = size_bytes(tensor->dtype);
    if (element_bytes == 0) return fail(error, checkpoint_errc::unsupported, *tensor, "dtype");
    if (!wanted.inside(tensor->shape))
      return fail(error, checkpoint_errc::mismatch, *tensor,
                  "slice " + to_string(wanted) + " of " + to_string(tensor->shape));
    if (out.size() % element_bytes != 0 ||
        out.size() / element_bytes != static_cast<std::size_t>(wanted.extents.elements()))
      return fail(error, checkpoint_errc::mismatch, *tensor,
                  std::to_string(out.size()) + " bytes for " + to_string(wanted.extents) + " of " +
                      std::string{distrib::name(tensor->dtype)});

    for (const StoredPiece& piece : tensor->pieces)
      if (piece.slice == wanted) {
        read_piece(*tensor, piece, out, error);
        return;
      }
    if (!tensor->complete) return fail(error, checkpoint_errc::incomplete, *tensor, to_string(tensor->shape));
    std::vector<std::byte> buffer;
    for (const StoredPiece& piece : tensor->pieces) {
      if (!touches(piece.slice, wanted)) continue;
      buffer.resize(static_cast<std::size_t>(piece.size_bytes));
      if (!read_piece(*tensor, piece, buffer, error)) return;
      copy_overlap(piece.slice, buffer.data(), wanted, out.data(), element_bytes);
    }
  }
  template <class = void>
  void read(std::string_view name, const Slice& wanted, std::span<std::byte> out, std::error_code& ec) const {
    read(name, wanted, out, detail::CodeOf{ec});
  }
  template <class = void> void read(std::string_view name, const Slice& wanted, std::span<std::byte> out) const {
    Error error;
    read(name, wanted, out, error);
    throw_if(error);
  }

  /// Reads rows `first` .. `first + count` of axis 0 of a tensor that is stored whole, or cut along that axis alone:
  /// calls `f(row, bytes)`, in the order of the pieces, with as many whole rows from `row` on as are in 1 MiB. Each
  /// piece is read once and to its end. What `f` did with the rows is void when there is an error in the end, because a
  /// piece has one checksum.
  /// Memory: 1 MiB, or one row where that is more. Errors as `read`; `unsupported` when it is cut along another axis.
  template <class F>
  void read_rows(std::string_view name, std::int64_t first, std::int64_t count, F f, Error& error) const {
    error = {};
    const StoredTensor* tensor = present(name, error);
    if (tensor == nullptr) return;
    const Shape& shape = tensor->shape;
    if (size_bytes(tensor->dtype) == 0) return fail(error, checkpoint_errc::unsupported, *tensor, "dtype");
    if (shape.rank() == 0 || first < 0 || count < 0 || first > shape[0] - count)
      return fail(error, checkpoint_errc::mismatch, *tensor,
                  "rows " + std::to_string(first) + "," + std::to_string(count) + " of " + to_string(shape));
    const Slice wanted = Slice::along(shape, 0, first, count);
    const auto is_wanted = [&](const StoredPiece& piece) { return piece.slice == wanted; };
    const bool exact = std::any_of(tensor->pieces.begin(), tensor->pieces.end(), is_wanted);
    if (!exact && !tensor->complete) return fail(error, checkpoint_errc::incomplete, *tensor, to_string(shape));
    if (wanted.extents.elements() == 0) return;

    // Pieces lie inside their files, so a row is not longer than those.
    const auto row_bytes = static_cast<std::size_t>(wanted.extents.elements() / count) * size_bytes(tensor->dtype);
    std::vector<std::byte> buffer(std::max<std::size_t>(1, (std::size_t{1} << 20) / row_bytes) * row_bytes);
    for (const StoredPiece& piece : tensor->pieces) {
      if (exact ? !is_wanted(piece) : !touches(piece.slice, wanted)) continue;
      if (piece.slice != Slice::along(shape, 0, piece.slice.start[0], piece.slice.extents[0]))
        return fail(error, checkpoint_errc::unsupported, *tensor, "rows of slice " + to_string(piece.slice));
      const auto hand = [&](std::uint64_t offset, ByteView rows) {
        const std::int64_t from = piece.slice.start[0] + static_cast<std::int64_t>(offset / row_bytes);
        const std::int64_t end = from + static_cast<std::int64_t>(rows.size() / row_bytes);
        const std::int64_t begin = std::max(from, first);
        const std::int64_t some = std::min(end, first + count) - begin;
        if (some <= 0) return;
        const auto at = static_cast<std::size_t>(begin - from) * row_bytes;
        f(begin, rows.subspan(at, static_cast<std::size_t>(some) * row_bytes));
      };
      if (!stream_piece(*tensor, piece, buffer, hand, error)) return;
    }
  }

  /// The texts of a string tensor, row-major. Errors as `read`; `mismatch` when it holds no texts.
  template <class = void>
  [[nodiscard]] auto read_strings(std::string_view name, Error& error) const -> std::vector<std::string> {
    error = {};
    std::vector<std::string> values;
    const StoredTensor* tensor = present(name, error);
    if (tensor == nullptr) return values;
    if (tensor->dtype != DType::string)
      fail(error, checkpoint_errc::mismatch, *tensor, "it holds " + std::string{distrib::name(tensor->dtype)});
    else if (tensor->pieces.size() != 1 || tensor->pieces.front().slice != Slice::whole(tensor->shape))
      fail(error, checkpoint_errc::unsupported, *tensor, "texts in slices");
    else read_texts(*tensor, tensor->pieces.front(), values, error);
    return values;
  }
  template <class = void>
  [[nodiscard]] auto read_strings(std::string_view name, std::error_code& ec) const -> std::vector<std::string> {
    return read_strings(name, detail::CodeOf{ec});
  }
  template <class = void> [[nodiscard]] auto read_strings(std::string_view name) const -> std::vector<std::string> {
    Error error;
    return detail::or_throw(read_strings(name, error), error);
  }

  /// Reads every byte of the checkpoint, 1 MiB at a time, and verifies every checksum. Errors as `read`.
  template <class = void> void verify(Error& error) const {
    error = {};
    std::vector<std::byte> buffer(std::size_t{1} << 20);
    std::vector<std::string> values;
    for (const StoredTensor& tensor : index_.tensors) {
      if (!tensor.complete && !is_part_)
        return fail(error, checkpoint_errc::incomplete, tensor, to_string(tensor.shape));
      for (const StoredPiece& piece : tensor.pieces)
        if (!(tensor.dtype == DType::string ? read_texts(tensor, piece, values, error)
                                            : stream_piece(tensor, piece, buffer, [](auto, auto) {}, error)))
          return;
    }
  }
  template <class = void> void verify(std::error_code& ec) const { verify(detail::CodeOf{ec}); }
  template <class = void> void verify() const {
    Error error;
    verify(error);
    throw_if(error);
  }

 private:
  explicit BundleReader(std::string prefix) : prefix_{std::move(prefix)} {}

  template <class = void>
  void fail(Error& error, checkpoint_errc code, const StoredTensor& tensor, const std::string& what) const {
    error = {code, prefix_ + ": " + tensor.name + ": " + what};
  }

  template <class = void> auto present(std::string_view name, Error& error) const -> const StoredTensor* {
    const StoredTensor* tensor = index_.find(name);
    if (tensor == nullptr) error = {checkpoint_errc::not_found, prefix_ + ": Key " + std::string{name}};
    return tensor;
  }

  template <class = void> static auto touches(const Slice& a, const Slice& b) -> bool {
    for (std::size_t axis = 0; axis < a.start.rank(); ++axis)
      if (a.start[axis] >= b.start[axis] + b.extents[axis] || b.start[axis] >= a.start[axis] + a.extents[axis])
        return false;
    return true;
  }

  template <class = void> [[nodiscard]] auto data_file(std::uint64_t shard) const -> std::string {
    return data_file_name(prefix_, static_cast<std::size_t>(shard), static_cast<std::size_t>(index_.shards));
  }

  template <class = void>
  [[nodiscard]] auto open_data(std::uint64_t shard, Error& error) const -> std::optional<detail::InputFile> {
    return detail::InputFile::open(data_file(shard), checkpoint_errc::missing_data_file, error);
  }

  // Every piece must lie inside its file, so that no length from the index is used to take memory before. All pieces
  // are in the data files `first` .. `end` - 1.
  template <class = void> auto check_sizes(std::uint64_t first, std::uint64_t end, Error& error) const -> bool {
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t shard = first; shard < end; ++shard) {
      const auto file = open_data(shard, error);
      if (!file) return false;
      sizes.push_back(file->size());
    }
    for (const StoredTensor& tensor : index_.tensors)
      for (const StoredPiece& piece : tensor.pieces) {
        const std::uint64_t size = sizes[static_cast<std::size_t>(piece.shard - first)];
        if (piece.offset <= size && piece.size_bytes <= size - piece.offset) continue;
        error = {checkpoint_errc::corrupt_data,
                 data_file(piece.shard) + " ends at " + std::to_string(size) + ", inside " + tensor.name};
        return false;
      }
    return true;
  }

  template <class = void> void fail_crc(Error& error, const StoredTensor& tensor, const StoredPiece& piece) const {
    error = {checkpoint_errc::corrupt_data,
             data_file(piece.shard) + ": " + tensor.name +
                 (piece.slice.extents == tensor.shape ? "" : ", slice " + to_string(piece.slice)) + ", at " +
                 std::to_string(piece.offset)};
  }

  template <class = void>
  auto read_piece(const StoredTensor& tensor, const StoredPiece& piece, std::span<std::byte> to, Error& error) const
      -> bool {
    const auto file = open_data(piece.shard, error);
    if (!file || !file->read(piece.offset, to, error)) return false;
    if (mask_crc(crc32c(to)) != piece.masked_crc) fail_crc(error, tensor, piece);
    return !error;
  }

  // Calls f(offset in the piece, bytes) with as much as the buffer holds, again and again.
  template <class F>
  auto stream_piece(const StoredTensor& tensor, const StoredPiece& piece, std::span<std::byte> buffer, F f,
                    Error& error) const -> bool {
    const auto file = open_data(piece.shard, error);
    if (!file) return false;
    std::uint32_t crc = 0;
    for (std::uint64_t done = 0; done < piece.size_bytes;) {
      const auto chunk =
          buffer.first(static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), piece.size_bytes - done)));
      if (!file->read(piece.offset + done, chunk, error)) return false;
      crc = crc32c_extend(crc, chunk);
      f(done, ByteView{chunk});
      done += chunk.size();
    }
    if (mask_crc(crc) != piece.masked_crc) fail_crc(error, tensor, piece);
    return !error;
  }

  template <class = void>
  auto read_texts(const StoredTensor& tensor, const StoredPiece& piece, std::vector<std::string>& values,
                  Error& error) const -> bool {
    std::vector<std::byte> bytes(static_cast<std::size_t>(piece.size_bytes));
    const auto file = open_data(piece.shard, error);
    if (!file || !file->read(piece.offset, bytes, error)) return false;
    const auto count = static_cast<std::uint64_t>(piece.slice.extents.elements());
    if (!parse_strings(bytes, count, piece.masked_crc, values)) fail_crc(error, tensor, piece);
    return !error;
  }

  std::string prefix_;
  BundleIndex index_;
  bool is_part_ = false;
};

}  // namespace v0
}  // namespace distrib
