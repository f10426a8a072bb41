// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/bundle_index.hpp>
#include <distrib/checkpoint/data_file_name.hpp>
#include <distrib/checkpoint/detail/input_file.hpp>
#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/file_names.hpp>
#include <distrib/checkpoint/piece_stream.hpp>
#include <distrib/checkpoint/ranged_bytes.hpp>
#include <distrib/checkpoint/stored_tensor.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/slice.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// Reads an index or part file. On failure returns false and sets `error` as `parse_bundle_index` does, or to
/// `not_found` (there is no such file) or `cannot_read`.
DISTRIB_DECL auto read_index_file(const std::string& file, BundleIndex& index, Error& error) -> bool;

/// Reads the index of a checkpoint; reads no data file. If `prefix` is one of its files, "model.ckpt-9.index", it is
/// changed to the prefix. On failure returns false and sets `error` as `BundleReader::open` does; if there is no index
/// file, the error says what there is instead.
DISTRIB_DECL auto read_index_of(std::string& prefix, BundleIndex& index, Error& error) -> bool;

/// Converts numbers of type `from` (float16 or bfloat16) to float32, exactly. `to` must have twice as many bytes.
DISTRIB_DECL void widen(DType from, ByteView numbers, std::span<std::byte> to) noexcept;

}  // namespace detail

/// Reads a checkpoint that TensorFlow or `plan_bundle` wrote. Made by `open` or `open_part`, which read the index and
/// the sizes of the data files; tensors are read when they are asked for, and their checksums are always verified.
/// Files of other frameworks are opened with `open_tensor_file` and read in the same way.
///
/// Errors: a function sets its last argument, of type `ErrorRef` or `Error`, each with a `checkpoint_errc`; the
/// overload without it, if there is one, throws `std::system_error`. Each error says where: file, tensor, slice.
///
/// Threads: const members may be called from any thread.
class BundleReader {
 public:
  /// Opens the checkpoint `prefix` ("train/model.ckpt-1234"); the name of one of its files
  /// ("train/model.ckpt-1234.index") means the same. On failure returns nothing and sets `to`: `no_such_checkpoint`,
  /// `missing_index_file`, `bad_magic`, `corrupt_index`, `missing_data_file`, `corrupt_data` (a data file is shorter
  /// than the index says), `unsupported` (also for a checkpoint of version 1) or `cannot_read`. The overload without
  /// `to` throws `std::system_error`.
  [[nodiscard]] DISTRIB_DECL static auto open(std::string prefix, ErrorRef to) -> std::optional<BundleReader>;
  [[nodiscard]] static auto open(std::string prefix) -> BundleReader {
    Error error;
    return *detail::or_throw(open(std::move(prefix), error), error);
  }

  /// Opens the part of the checkpoint `prefix` that shard `shard` (from 0) of `shards` has written (see `plan_part`),
  /// as a checkpoint of its own. Reads its part file, "PREFIX.part-00000-of-00002", the index of one data file; only
  /// the data file of this shard has to exist. If the part does not have all slices of a tensor, only the slices that
  /// it has can be read.
  ///
  /// On failure returns nothing and sets `error`: `checkpoint_errc::not_found` if there is no such part file;
  /// `corrupt_index` if the part file is damaged or is that of another shard; `bad_magic`, `missing_data_file`,
  /// `corrupt_data`, `unsupported` or `cannot_read` as `open` does. Success clears `error`. There is no overload that
  /// throws.
  [[nodiscard]] DISTRIB_DECL static auto open_part(std::string prefix, std::size_t shard, std::size_t shards,
                                                   Error& error) -> std::optional<BundleReader>;

  /// Returns a reader of `tensors`, in any order, whose pieces lie in `files`: `Piece::shard` is the number of a file.
  /// `name` is what `prefix()` returns. All pieces must lie inside their files. Opens no file.
  [[nodiscard]] DISTRIB_DECL static auto of_files(std::string name, std::vector<std::string> files,
                                                  std::vector<StoredTensor> tensors) -> BundleReader;

  /// Opens the checkpoint whose index is `index`, and whose data files are elsewhere: `files`, called `names`, one for
  /// each of `index.shards`. `name` is what `prefix()` returns. `part`: the shard that wrote it, as for `open_part`; then
  /// the other data files are not used. On failure returns nothing and sets `to`: `corrupt_data` if a data file is
  /// shorter than the index says, `corrupt_index` if these are not as many files as the index has.
  [[nodiscard]] DISTRIB_DECL static auto of_ranges(std::string name, BundleIndex index, std::vector<std::string> names,
                                                   std::vector<RangedBytes> files, std::optional<std::size_t> part,
                                                   ErrorRef to) -> std::optional<BundleReader>;

  /// Returns the prefix, also if `open` was called with the name of a file.
  [[nodiscard]] auto prefix() const noexcept -> const std::string& { return prefix_; }
  /// Returns the content of the index file, with the changes that `add_name` and `set_tensors` have made in this
  /// object; the file does not change. Valid as long as the reader.
  [[nodiscard]] auto index() const noexcept -> const BundleIndex& { return index_; }
  /// Returns all tensors, in ascending order of their names; valid until `add_name` or `set_tensors` is called.
  [[nodiscard]] auto tensors() const noexcept -> std::span<const StoredTensor> {
    return {index_.tensors.data(), index_.tensors.size()};
  }
  /// Returns the tensor called `name`; nullptr if there is none. Valid until `add_name` or `set_tensors` is called.
  [[nodiscard]] auto find(std::string_view name) const noexcept -> const StoredTensor* { return index_.find(name); }

  /// Lets the tensor called `name` be found as `other` too. Does nothing if there is no `name`, or if `other` exists.
  DISTRIB_DECL void add_name(std::string_view name, std::string other);

  /// Replaces the tensors of the index file by `tensors`, in any order: for example tensors of the file under other
  /// names, or tensors composed of the pieces of several tensors. Each name must occur once; all pieces must be pieces
  /// of tensors of this reader.
  DISTRIB_DECL void set_tensors(std::vector<StoredTensor> tensors);

  /// Reads the slice `wanted` of a tensor into `out`, row-major; the tensor may be stored in any number of slices.
  /// `out` must have exactly the size of the slice. A slice that is stored as such can be read even if other slices are
  /// missing. Memory: none if the slice is stored as such, or if it is one run of bytes without a checksum; otherwise
  /// the size of one stored slice. For a tensor with `stored_as`, also the bytes of the slice as they are stored.
  ///
  /// Errors: `not_found`, `mismatch` (slice or size), `incomplete`, `corrupt_data`, `unsupported` (texts, for which
  /// there is `read_strings`, and types that are not a DType), `missing_data_file` (removed after `open`),
  /// `cannot_read`; the content of `out` is then unspecified.
  DISTRIB_DECL void read(std::string_view name, const Slice& wanted, std::span<std::byte> out, ErrorRef to) const;
  void read(std::string_view name, const Slice& wanted, std::span<std::byte> out) const {
    Error error;
    read(name, wanted, out, error);
    throw_if(error);
  }

  /// Reads rows `first` .. `first + count - 1` of axis 0 of a tensor that is stored whole, or cut along axis 0 only.
  /// Calls `f(row, bytes)` repeatedly: `bytes` are one or more whole rows from `row` on, at most 1 MiB, or one row if
  /// it is longer. The calls have the order in which the pieces are stored, so `row` need not ascend. Each piece that
  /// has one of the rows is read once and to its end; memory: 1 MiB, or one row if it is longer. Trap: if `error` is
  /// set in the end, the rows that `f` got are not valid, because a piece has only one checksum.
  ///
  /// Errors: `not_found`; `mismatch` if the tensor does not have these rows; `incomplete`; `corrupt_data`;
  /// `unsupported` for texts, for types that are not a DType, and if the tensor is cut along another axis;
  /// `missing_data_file` (removed after `open`); `cannot_read`.
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
    const auto is_wanted = [&](const StoredTensor::Piece& piece) { return piece.slice == wanted; };
    const bool exact = std::any_of(tensor->pieces.begin(), tensor->pieces.end(), is_wanted);
    if (!exact && !tensor->complete) return fail(error, checkpoint_errc::incomplete, *tensor, to_string(shape));
    if (wanted.extents.elements() == 0) return;

    // A piece lies inside its file, so a row is not longer than the file.
    const auto row_elements = static_cast<std::size_t>(wanted.extents.elements() / count);
    const std::size_t row_bytes = row_elements * size_bytes(tensor->stored_dtype());
    std::vector<std::byte> buffer(std::max<std::size_t>(1, (std::size_t{1} << 20) / row_bytes) * row_bytes);
    std::vector<std::byte> widened;
    for (const StoredTensor::Piece& piece : tensor->pieces) {
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
        rows = rows.subspan(at, static_cast<std::size_t>(some) * row_bytes);
        if (tensor->stored_as) {
          widened.resize(static_cast<std::size_t>(some) * row_elements * sizeof(float));
          detail::widen(*tensor->stored_as, rows, widened);
          rows = widened;
        }
        f(begin, rows);
      };
      const auto before = static_cast<std::uint64_t>(std::max<std::int64_t>(first - piece.slice.start[0], 0));
      const auto until =
          static_cast<std::uint64_t>(std::min(first + count - piece.slice.start[0], piece.slice.extents[0]));
      if (!stream_piece(*tensor, piece, {before * row_bytes, until * row_bytes}, buffer, hand, error)) return;
    }
  }

  /// Returns the bytes of a piece of the tensor `tensor` of this reader as a stream. On failure returns nothing and
  /// sets `error`: `missing_data_file` or `cannot_read`.
  [[nodiscard]] auto stream(const StoredTensor& tensor, const StoredTensor::Piece& piece, Error& error) const
      -> std::optional<detail::PieceStream> {
    auto file = open_data(piece.shard, error);
    if (!file) return std::nullopt;
    return detail::PieceStream{*std::move(file), piece, size_bytes(tensor.stored_dtype()), place_of(tensor, piece)};
  }

  /// Returns the texts of a string tensor, row-major. Errors: `not_found`; `mismatch` if the tensor does not hold
  /// texts; `unsupported` if the texts are stored in slices; `corrupt_data`; `missing_data_file` (removed after
  /// `open`); `cannot_read`. What it returns must then not be used.
  [[nodiscard]] DISTRIB_DECL auto read_strings(std::string_view name, ErrorRef to) const -> std::vector<std::string>;
  [[nodiscard]] auto read_strings(std::string_view name) const -> std::vector<std::string> {
    Error error;
    return detail::or_throw(read_strings(name, error), error);
  }

  /// Reads every byte of one tensor and verifies its checksums: 1 MiB at a time, texts all at once. Works for tensors
  /// of any type, also of types that `read` cannot read. Errors: `not_found`, `incomplete`, `corrupt_data`,
  /// `missing_data_file`, `cannot_read`.
  DISTRIB_DECL void verify(std::string_view name, ErrorRef to) const;
  void verify(std::string_view name) const {
    Error error;
    verify(name, error);
    throw_if(error);
  }

  /// Verifies all tensors, up to the first error.
  DISTRIB_DECL void verify(ErrorRef to) const;
  void verify() const {
    Error error;
    verify(error);
    throw_if(error);
  }

 private:
  explicit BundleReader(std::string prefix) : prefix_{std::move(prefix)} {}

  void fail(Error& error, checkpoint_errc code, const StoredTensor& tensor, const std::string& what) const {
    error = {code, prefix_ + ": " + tensor.name + ": " + what};
  }

  auto present(std::string_view name, Error& error) const -> const StoredTensor* {
    const StoredTensor* tensor = index_.find(name);
    if (tensor == nullptr) error = {checkpoint_errc::not_found, prefix_ + ": Key " + std::string{name}};
    return tensor;
  }

  static auto touches(const Slice& a, const Slice& b) -> bool {
    for (std::size_t axis = 0; axis < a.start.rank(); ++axis)
      if (a.start[axis] >= b.start[axis] + b.extents[axis] || b.start[axis] >= a.start[axis] + a.extents[axis])
        return false;
    return true;
  }

  [[nodiscard]] auto data_file(std::uint64_t shard) const -> std::string {
    if (!files_.empty()) return files_[static_cast<std::size_t>(shard)];
    return data_file_name(prefix_, static_cast<std::size_t>(shard), static_cast<std::size_t>(index_.shards));
  }

  [[nodiscard]] auto open_data(std::uint64_t shard, Error& error) const -> std::optional<detail::InputFile> {
    if (!elsewhere_.empty()) return detail::InputFile{elsewhere_[static_cast<std::size_t>(shard)], data_file(shard)};
    return detail::InputFile::open(data_file(shard), checkpoint_errc::missing_data_file, error);
  }

  DISTRIB_DECL auto check_sizes(std::uint64_t first, std::uint64_t end, Error& error) const -> bool;

  auto place_of(const StoredTensor& tensor, const StoredTensor::Piece& piece) const -> std::string {
    return data_file(piece.shard) + ": " + tensor.name +
           (piece.slice.extents == tensor.shape ? "" : ", slice " + to_string(piece.slice)) + ", at " +
           std::to_string(piece.offset);
  }
  void fail_crc(Error& error, const StoredTensor& tensor, const StoredTensor::Piece& piece) const {
    error = {checkpoint_errc::corrupt_data, place_of(tensor, piece)};
  }

  // Reads a slice as it is stored: `out` gets elements of `stored_dtype()`.
  DISTRIB_DECL auto read_stored(const StoredTensor& tensor, const Slice& wanted, std::span<std::byte> out,
                                Error& error) const -> bool;

  // Reads what a slice has of a piece without a checksum, if it is one run of bytes; otherwise reads nothing and
  // returns false.
  DISTRIB_DECL auto read_run(const StoredTensor::Piece& piece, const Slice& wanted, std::span<std::byte> out,
                             std::size_t element_bytes, Error& error) const -> bool;

  DISTRIB_DECL auto read_piece(const StoredTensor& tensor, const StoredTensor::Piece& piece, std::span<std::byte> to,
                               Error& error) const -> bool;

  // Calls f(offset in the piece, bytes) for all bytes of the piece, each time with as many as the buffer holds, the
  // last time with the rest.
  template <class F>
  auto for_each_chunk(const StoredTensor::Piece& piece, std::span<std::byte> buffer, F f, Error& error) const -> bool {
    const auto file = open_data(piece.shard, error);
    if (!file) return false;
    for (std::uint64_t done = 0; done < piece.size_bytes;) {
      const auto chunk =
          buffer.first(static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), piece.size_bytes - done)));
      if (!file->read(piece.offset + done, chunk, error)) return false;
      f(done, ByteView{chunk});
      done += chunk.size();
    }
    return true;
  }

  struct Range {
    std::uint64_t first = 0;
    std::uint64_t end = 0;
  };

  // As `for_each_chunk`, and verifies the checksum over the stored bytes of the piece. If it has none, only the bytes
  // of `range` are read; otherwise all.
  template <class F>
  auto stream_piece(const StoredTensor& tensor, const StoredTensor::Piece& piece, Range range,
                    std::span<std::byte> buffer, F f, Error& error) const -> bool {
    auto stream = this->stream(tensor, piece, error);
    if (!stream) return false;
    if (stream->may_skip()) stream->skip(range.first);
    else range.end = piece.size_bytes;
    do {
      const std::uint64_t at = piece.size_bytes - stream->left();
      const auto chunk = buffer.first(static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), range.end - at)));
      if (!stream->read(chunk, error)) return false;
      f(at, ByteView{chunk});
    } while (piece.size_bytes - stream->left() < range.end);
    return true;
  }

  DISTRIB_DECL auto verify_piece(const StoredTensor& tensor, const StoredTensor::Piece& piece,
                                 std::span<std::byte> buffer, Error& error) const -> bool;
  DISTRIB_DECL auto verify_tensor(const StoredTensor& tensor, std::span<std::byte> buffer, Error& error) const -> bool;

  DISTRIB_DECL auto read_texts(const StoredTensor& tensor, const StoredTensor::Piece& piece,
                               std::vector<std::string>& values, Error& error) const -> bool;

  std::string prefix_;
  std::vector<std::string> files_;  // empty: the data files of a checkpoint, named after the prefix
  std::vector<std::shared_ptr<const RangedBytes>> elsewhere_;  // empty: the data files are of this machine
  BundleIndex index_;
  bool is_part_ = false;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/impl/bundle_reader.ipp>
#endif
