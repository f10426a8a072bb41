// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/checkpoint/bundle_writer.hpp>
#include <distrib/checkpoint/error.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/table_info.hpp>
#include <distrib/optimizer/any_updater.hpp>
#include <distrib/ps/job/table_share.hpp>
#include <distrib/ps/store/table_cut.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// How one shard's rows of a table are stored as tensors of a checkpoint.
///
/// Numbered keys: as a variable NAME, float32 [rows, dim], and its slots NAME/SLOT. Each shard has a slice of axis 0 of
/// each; TensorFlow reads them as a partitioned variable. A shard without rows has no slice.
///
/// Any keys: only the shard knows how many keys it has, so it has tensors of its own, under NAME/shard-SSSSS-of-NNNNN
/// (shard and number of shards, as in the name of its data file):
///
/// | | | |
/// |---|---|---|
/// | keys | int64 [n] | the bits of the unsigned keys; as in `TableCut`, first those with a row |
/// | uses | int32 [n, 2] | for each key its frequency and its last use |
/// | values | float32 [m, dim] | the weights of the first m keys |
/// | values/SLOT | float32 [m, dim] | their slots |
///
/// A link (`Cut::base`) has the tensors of any keys for both kinds of tables, of the keys that may have changed, without
/// `uses` for numbered keys; and `gone`, int64 [g], for any keys.
///
/// A value.
///
/// Errors: name the prefix and the tensor, or the file.
///
/// Threads: const members from any thread.
class TableTensors {
 public:
  /// `updater`: the updater of the table. `share` must be the share of shard `shard` of `shards`.
  TableTensors(TableShare share, AnyUpdater updater, std::uint32_t shard, std::uint32_t shards)
      : share_{std::move(share)}, updater_{std::move(updater)}, shard_{shard}, shards_{shards} {}

  /// Adds the tensors of the table to `part`, the content of the shard's data file. They are views of `cut`, which must
  /// outlive `part`. Memory: if the updater has slots, the bytes of `cut.rows` once more, in `part`, because weights
  /// and slots lie side by side in `cut.rows`.
  DISTRIB_DECL void add_to(BundlePart& part, const TableCut& cut) const;

  /// Returns how many tensors, or slices of tensors, of the table the data file of the shard has.
  [[nodiscard]] auto pieces() const -> std::size_t {
    if (any_key()) return 2 + blocks();
    return share_.rows() == 0 ? 0 : blocks();
  }

  /// Returns how many of these `pieces()` are in the shard's data file of a checkpoint of the same number of shards.
  [[nodiscard]] DISTRIB_DECL auto pieces_in(const BundleReader& reader) const -> std::size_t;

  /// Returns the shard's rows from a checkpoint, whatever shards saved it. From the same number of shards only its own
  /// tensors are read; from another number all are read, and the rows that this shard owns are kept.
  ///
  /// Memory: besides the result 1 MiB; for any keys also 16 bytes per key of this shard, and 16 per key of one shard
  /// that saved. For any keys memory is allocated only if the files contain as many keys and rows as they say; the
  /// number of numbered rows is that of the job.
  ///
  /// Errors: as `BundleReader::read`: `checkpoint_errc::not_found` if a tensor is missing, `incomplete` if a part of it
  /// is; `mismatch` if it has another type or shape, if the numbers of rows and keys do not agree, or if more shards
  /// saved it than a table can have; `corrupt_data` if keys do not ascend, occur twice or do not belong to the shard
  /// that saved them. The result is unspecified then.
  [[nodiscard]] auto read(const BundleReader& reader, Error& error) const -> TableCut {
    error = {};
    return any_key() ? read_any(reader, error) : read_numbered(reader, error);
  }

  /// As `add_to`, for the table of a link.
  DISTRIB_DECL void add_changes_to(BundlePart& part, const TableCut& link) const;

  /// Returns the table of a link that this shard has saved. Errors: as `read`; `corrupt_data` also for what does not fit
  /// together otherwise.
  [[nodiscard]] DISTRIB_DECL auto read_changes(const BundleReader& reader, Error& error) const -> TableCut;

  /// Returns what the table is after `links`. The first link must stand on `whole`, each other link on the link before.
  /// `whole` must be of this shard, as `read` returns it, and the links as `read_changes` returns them, or as
  /// `TableCopy` makes both.
  [[nodiscard]] DISTRIB_DECL auto with_changes(const TableCut& whole, std::span<const TableCut> links) const
      -> TableCut;

 private:
  static constexpr auto nowhere = static_cast<std::size_t>(-1);

  // A key of a link: the newest state of the key that the links have.
  struct Change {
    std::uint64_t key = 0;
    const TableCut* link = nullptr;
    std::size_t at = nowhere;  // its position in the link; nowhere: it went
  };

  // What one shard has saved of a table of any keys.
  struct Saved {
    std::string name;
    std::uint32_t shard = 0;
    std::size_t keys = 0;
    std::size_t rows = 0;
  };
  static auto view(const SharedBuffer& buffer) -> ByteView { return buffer == nullptr ? ByteView{} : buffer->bytes(); }

  auto info() const -> const TableInfo& { return share_.info(); }
  auto any_key() const -> bool { return info().any_key(); }
  auto dim() const -> std::int64_t { return static_cast<std::int64_t>(info().dim); }
  auto row_bytes() const -> std::size_t { return info().row_bytes(); }
  // Block 0 of a row are the weights, the others the slots.
  auto blocks() const -> std::size_t { return 1 + updater_.slots().size(); }
  auto block_name(const std::string& name, std::size_t block) const -> std::string {
    return block == 0 ? name : name + "/" + std::string{updater_.slots()[block - 1].name};
  }
  auto name_of(std::uint32_t shard, std::uint32_t shards) const -> std::string {
    return info().name + "/shard-" + detail::shard_of_shards(shard, shards);
  }
  auto own_name() const -> std::string { return name_of(shard_, shards_); }
  auto saved_row_bytes() const -> std::size_t { return row_bytes() * blocks(); }
  auto rows_in(const TableCut& cut) const -> std::size_t { return view(cut.rows).size() / saved_row_bytes(); }
  auto own_rows() const -> std::string { return any_key() ? name_of(shard_, shards_) + "/values" : info().name; }
  auto numbered_shape() const -> Shape { return {static_cast<std::int64_t>(info().rows), dim()}; }
  auto own_slice() const -> Slice {
    return Slice::along(numbered_shape(), 0, static_cast<std::int64_t>(share_.first()),
                        static_cast<std::int64_t>(share_.rows()));
  }

  // Adds weights and slots, each as a tensor of its own instead of side by side. `name`: of the weights.
  DISTRIB_DECL void add_rows(BundlePart& part, const std::string& name, ByteView rows, const Shape& shape,
                             const Slice& slice) const;

  // Returns the newest change of each key, keys ascending.
  DISTRIB_DECL static auto newest_changes(std::span<const TableCut> links) -> std::vector<Change>;
  // Returns why the keys of a link are not those of a link of this shard; null: they are.
  [[nodiscard]] DISTRIB_DECL auto wrong_keys(std::span<const std::uint64_t> with_row,
                                             std::span<const std::uint64_t> counted,
                                             std::span<const std::uint64_t> gone) const -> const char*;

  // Where the rows of a tensor are copied to: a buffer of wider rows without gaps.
  struct Columns {
    AlignedBuffer& buffer;
    std::size_t stride;  // bytes of a row in the buffer
    std::size_t from;  // the first byte in each of its rows
  };

  // Copies rows first .. first + count of a tensor, each of `width` bytes. `to_row(row)`: the row in the buffer, or
  // `nowhere`.
  template <class ToRow>
  static void copy_rows(const BundleReader& reader, std::string_view name, std::size_t first, std::size_t count,
                        ToRow to_row, std::size_t width, const Columns& to, Error& error) {
    if (error) return;
    const auto copy = [&](std::int64_t row, ByteView bytes) {
      for (std::size_t i = 0; i < bytes.size() / width; ++i)
        if (const std::size_t at = to_row(static_cast<std::size_t>(row) + i); at != nowhere)
          std::memcpy(to.buffer.data() + at * to.stride + to.from, bytes.data() + i * width, width);
    };
    reader.read_rows(name, static_cast<std::int64_t>(first), static_cast<std::int64_t>(count), copy, error);
  }

  template <class ToRow>
  void copy_blocks(const BundleReader& reader, const std::string& name, std::size_t first, std::size_t count,
                   ToRow to_row, AlignedBuffer& rows, Error& error) const {
    for (std::size_t b = 0; b < blocks(); ++b)
      copy_rows(reader, block_name(name, b), first, count, to_row, row_bytes(),
                {rows, blocks() * row_bytes(), b * row_bytes()}, error);
  }

  static auto wrong(const BundleReader& reader, checkpoint_errc code, const std::string& name, const std::string& what)
      -> Error {
    return {code, reader.prefix() + ": " + name + ": " + what};
  }

  // Returns how many rows a tensor has. It must be of this type and, except for axis 0, of this shape; for any keys it
  // must also be complete. Otherwise sets `error` and returns 0; so it does if `error` is set already.
  DISTRIB_DECL auto rows_of(const BundleReader& reader, const std::string& name, DType dtype, Shape shape,
                            Error& error) const -> std::size_t;

  DISTRIB_DECL auto read_numbered(const BundleReader& reader, Error& error) const -> TableCut;

  DISTRIB_DECL auto find_saved(const BundleReader& reader, std::uint32_t shard, std::uint32_t shards,
                               Error& error) const -> Saved;

  DISTRIB_DECL static auto read_keys(const BundleReader& reader, const Saved& saved, const TableSharding& sharding,
                                     Error& error) -> std::vector<std::uint64_t>;

  DISTRIB_DECL auto read_any(const BundleReader& reader, Error& error) const -> TableCut;

  // Returns the keys of this shard among all that were saved, first those with a row.
  DISTRIB_DECL auto own_keys(const BundleReader& reader, std::span<const Saved> all, const TableSharding& sharding,
                             std::size_t& with_row, Error& error) const -> AlignedBuffer;

  // Sets `at[i]` to the position of `keys[i]` in `among`, where the first key of `among` has position `first`. Keys
  // that `among` lacks keep their `at[i]`. Both lists ascend.
  DISTRIB_DECL static void find_rows(std::span<const std::uint64_t> keys, std::span<const std::uint64_t> among,
                                     std::size_t first, std::span<std::size_t> at);

  static constexpr std::size_t use_bytes = 2 * sizeof(std::uint32_t);

  TableShare share_;
  AnyUpdater updater_;
  std::uint32_t shard_;
  std::uint32_t shards_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/cut/impl/table_tensors.ipp>
#endif
