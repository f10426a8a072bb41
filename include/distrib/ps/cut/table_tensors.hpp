// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/checkpoint/bundle_writer.hpp>
#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/file_names.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/table_info.hpp>
#include <distrib/optimizer/any_updater.hpp>
#include <distrib/ps/job/table_share.hpp>
#include <distrib/ps/store/shard_action.hpp>
#include <distrib/sharding/virtual_shard.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// How one shard's rows of a table are stored as tensors of a checkpoint.
///
/// Numbered keys: as a variable NAME, float32 [rows, dim], and its slots NAME/SLOT, of which each shard has a slice of
/// axis 0; TensorFlow reads them as a partitioned variable. A shard without rows has none of it.
///
/// Any keys: nobody but the shard knows how many it has, so it has tensors of its own, under
/// NAME/shard-SSSSS-of-NNNNN (shard and shards, as in the name of its data file):
///
/// | | | |
/// |---|---|---|
/// | keys | int64 [n] | the bits of the unsigned keys; as in `TableCut`, first those with a row |
/// | uses | int32 [n, 2] | of each key its frequency and its last use |
/// | values | float32 [m, dim] | of the first m keys the weights |
/// | values/SLOT | float32 [m, dim] | and the slots |
///
/// A value. Threads: const members from any. Errors tell the prefix and the tensor, or the file.
class TableTensors {
 public:
  /// `updater`: the table's. `shard` of `shards` is that of `share`.
  TableTensors(TableShare share, AnyUpdater updater, std::uint32_t shard, std::uint32_t shards)
      : share_{std::move(share)}, updater_{std::move(updater)}, shard_{shard}, shards_{shards} {}

  /// Adds what the data file of the shard gets. Views of `cut`, which must outlive `part`. Memory: where the updater
  /// has slots, the bytes of `cut.rows` once more, because weights and slots lie side by side there.
  template <class = void> void add_to(BundlePart& part, const TableCut& cut) const {
    const ByteView rows = view(cut.rows);
    if (!any_key()) {
      if (share_.rows() != 0) add_rows(part, rows, numbered_shape(), own_slice());
      return;
    }
    const std::string name = name_of(shard_, shards_);
    const Shape keys{static_cast<std::int64_t>(view(cut.keys).size() / sizeof(std::uint64_t))};
    const Shape uses{keys[0], 2};
    const Shape values{static_cast<std::int64_t>(rows.size() / (row_bytes() * blocks())), dim()};
    part.tensors.push_back({name + "/keys", DType::int64, keys, Slice::whole(keys), view(cut.keys)});
    part.tensors.push_back({name + "/uses", DType::int32, uses, Slice::whole(uses), view(cut.uses)});
    add_rows(part, rows, values, Slice::whole(values));
  }

  /// How many tensors, or slices of some, the data file of the shard has of the table.
  [[nodiscard]] auto pieces() const -> std::size_t {
    if (any_key()) return 2 + blocks();
    return share_.rows() == 0 ? 0 : blocks();
  }

  /// How many of those a checkpoint of as many shards has in that file.
  template <class = void> [[nodiscard]] auto pieces_in(const BundleReader& reader) const -> std::size_t {
    std::size_t found = 0;
    const auto count = [&](const std::string& name, DType dtype) {
      const StoredTensor* tensor = reader.find(name);
      if (tensor == nullptr || tensor->dtype != dtype || (!any_key() && tensor->shape != numbered_shape())) return;
      const Slice own = any_key() ? Slice::whole(tensor->shape) : own_slice();
      for (const StoredPiece& piece : tensor->pieces)
        if (piece.shard == shard_ && piece.slice == own) ++found;
    };
    if (pieces() == 0) return 0;
    if (any_key()) count(name_of(shard_, shards_) + "/keys", DType::int64);
    if (any_key()) count(name_of(shard_, shards_) + "/uses", DType::int32);
    for (std::size_t b = 0; b < blocks(); ++b) count(block_name(own_rows(), b), DType::float32);
    return found;
  }

  /// The shard's rows out of a checkpoint, whatever the shards that saved it: of as many shards only its own tensors
  /// are read, of another number all, and what the shard owns is kept. Memory beside the result: 1 MiB, and of any keys
  /// 16 bytes for each key of the shard and 16 for each of one that saved. Of any keys it is taken only when the files
  /// are so large; numbered ones are as many as the job says.
  ///
  /// Errors as `BundleReader::read`: `checkpoint_errc::not_found` when a tensor is not there; `mismatch` when it has
  /// another type or shape, or not as many rows as there are keys; `corrupt_data` when keys do not ascend, come twice
  /// or are not of the shard that saved them. The result is unspecified then.
  template <class = void> [[nodiscard]] auto read(const BundleReader& reader, Error& error) const -> TableCut {
    error = {};
    return any_key() ? read_any(reader, error) : read_numbered(reader, error);
  }

 private:
  // What one shard has saved of a table of any keys.
  struct Saved {
    std::string name;
    std::uint32_t shard = 0;
    std::size_t keys = 0;
    std::size_t rows = 0;
  };
  static constexpr auto nowhere = static_cast<std::size_t>(-1);

  static auto view(const SharedBuffer& buffer) -> ByteView { return buffer == nullptr ? ByteView{} : buffer->bytes(); }

  auto info() const -> const TableInfo& { return share_.info(); }
  auto any_key() const -> bool { return info().any_key(); }
  auto dim() const -> std::int64_t { return static_cast<std::int64_t>(info().dim); }
  auto row_bytes() const -> std::size_t { return info().row_bytes(); }
  // Weights are block 0 of a row, slots the others.
  auto blocks() const -> std::size_t { return 1 + updater_.slots().size(); }
  template <class = void> auto block_name(const std::string& name, std::size_t block) const -> std::string {
    return block == 0 ? name : name + "/" + std::string{updater_.slots()[block - 1].name};
  }
  template <class = void> auto name_of(std::uint32_t shard, std::uint32_t shards) const -> std::string {
    return info().name + "/shard-" + detail::shard_of_shards(shard, shards);
  }
  template <class = void>
  auto own_rows() const -> std::string {
    return any_key() ? name_of(shard_, shards_) + "/values" : info().name;
  }
  auto numbered_shape() const -> Shape { return {static_cast<std::int64_t>(info().rows), dim()}; }
  template <class = void> auto own_slice() const -> Slice {
    return Slice::along(numbered_shape(), 0, static_cast<std::int64_t>(share_.first()),
                        static_cast<std::int64_t>(share_.rows()));
  }

  // Weights and slots, one after the other instead of side by side.
  template <class = void> void add_rows(BundlePart& part, ByteView rows, const Shape& shape, const Slice& slice) const {
    const std::size_t block_bytes = rows.size() / blocks();
    if (blocks() != 1) {
      auto apart = std::make_shared<AlignedBuffer>(AlignedBuffer::for_overwrite(rows.size()));
      for (std::size_t from = 0, to = 0; from < rows.size(); to += row_bytes())
        for (std::size_t b = 0; b < blocks(); ++b, from += row_bytes())
          std::memcpy(apart->data() + b * block_bytes + to, rows.data() + from, row_bytes());
      rows = std::as_const(*apart).bytes();
      part.kept.push_back(std::move(apart));
    }
    for (std::size_t b = 0; b < blocks(); ++b)
      part.tensors.push_back(
          {block_name(own_rows(), b), DType::float32, shape, slice, rows.subspan(b * block_bytes, block_bytes)});
  }

  // Where in each of the wider rows that lie one after the other in a buffer the rows of a tensor go.
  struct Columns {
    AlignedBuffer& buffer;
    std::size_t stride;  // bytes of a row there
    std::size_t from;  // the first byte in each
  };

  // Copies rows first .. first + count of a tensor, each of `width` bytes; `to_row(row)` tells to which row there.
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

  template <class = void>
  static auto wrong(const BundleReader& reader, checkpoint_errc code, const std::string& name, const std::string& what)
      -> Error {
    return {code, reader.prefix() + ": " + name + ": " + what};
  }

  // How many rows a tensor has that is of this type and, but for axis 0, of this shape; of any keys it is all there.
  template <class = void>
  auto rows_of(const BundleReader& reader, const std::string& name, DType dtype, Shape shape, Error& error) const
      -> std::size_t {
    if (error) return 0;
    const StoredTensor* tensor = reader.find(name);
    if (tensor == nullptr) {
      error = {checkpoint_errc::not_found, reader.prefix() + ": Key " + name};
      return 0;
    }
    const Shape& found = tensor->shape;
    if (found.rank() == shape.rank()) shape = Slice::along(shape, 0, 0, found[0]).extents;
    if (tensor->dtype != dtype || found != shape)
      error = wrong(reader, checkpoint_errc::mismatch, name,
                    "it is " + std::string{distrib::name(tensor->dtype)} + to_string(found));
    else if (any_key() && !tensor->complete) error = wrong(reader, checkpoint_errc::incomplete, name, to_string(found));
    return error ? 0 : static_cast<std::size_t>(found[0]);
  }

  template <class = void> auto read_numbered(const BundleReader& reader, Error& error) const -> TableCut {
    const auto first = static_cast<std::size_t>(share_.first());
    const auto count = static_cast<std::size_t>(share_.rows());
    const std::string& name = info().name;
    for (std::size_t b = 0; b < blocks() && count != 0; ++b) {
      const std::string block = block_name(name, b);
      const std::size_t rows = rows_of(reader, block, DType::float32, {0, dim()}, error);
      if (!error && rows != info().rows)
        error = wrong(reader, checkpoint_errc::mismatch, block,
                      std::to_string(rows) + " rows, not " + std::to_string(info().rows));
      if (error) return {};
    }
    const auto keys = std::make_shared<AlignedBuffer>(AlignedBuffer::for_overwrite(count * sizeof(std::uint64_t)));
    const auto numbers = keys->as<std::uint64_t>();
    std::iota(numbers.begin(), numbers.end(), share_.first());
    const auto rows = std::make_shared<AlignedBuffer>(AlignedBuffer::for_overwrite(count * blocks() * row_bytes()));
    const auto to_row = [first](std::size_t row) { return row - first; };
    if (count != 0) copy_blocks(reader, name, first, count, to_row, *rows, error);
    return {keys, std::make_shared<AlignedBuffer>(), rows};
  }

  template <class = void>
  auto find_saved(const BundleReader& reader, std::uint32_t shard, std::uint32_t shards, Error& error) const -> Saved {
    Saved saved{name_of(shard, shards), shard, 0, 0};
    saved.keys = rows_of(reader, saved.name + "/keys", DType::int64, {0}, error);
    const std::size_t uses = rows_of(reader, saved.name + "/uses", DType::int32, {0, 2}, error);
    const std::string values = saved.name + "/values";
    saved.rows = rows_of(reader, values, DType::float32, {0, dim()}, error);
    if (!error && (uses != saved.keys || saved.rows > saved.keys))
      error = wrong(reader, checkpoint_errc::mismatch, saved.name,
                    std::to_string(saved.keys) + " keys, " + std::to_string(uses) + " uses and " +
                        std::to_string(saved.rows) + " rows");
    for (std::size_t b = 1; b < blocks(); ++b) {
      const std::string slot = block_name(values, b);
      const std::size_t rows = rows_of(reader, slot, DType::float32, {0, dim()}, error);
      if (!error && rows != saved.rows)
        error = wrong(reader, checkpoint_errc::mismatch, slot,
                      std::to_string(rows) + " rows, not " + std::to_string(saved.rows));
    }
    return saved;
  }

  template <class = void>
  static auto read_keys(const BundleReader& reader, const Saved& saved, const TableSharding& sharding, Error& error)
      -> std::vector<std::uint64_t> {
    std::vector<std::uint64_t> keys(saved.keys);
    const std::string name = saved.name + "/keys";
    const Slice whole = Slice::whole({static_cast<std::int64_t>(saved.keys)});
    reader.read(name, whole, std::as_writable_bytes(std::span{keys}), error);
    const auto with_row = keys.begin() + static_cast<std::ptrdiff_t>(saved.rows);
    for (std::size_t i = 0; i < keys.size() && !error; ++i) {
      const char* what = nullptr;
      if (i != 0 && i != saved.rows && keys[i] <= keys[i - 1]) what = " is not above the one before it";
      else if (i >= saved.rows && std::binary_search(keys.begin(), with_row, keys[i])) what = " comes twice";
      else if (sharding.shard(keys[i]) != saved.shard) what = " is another shard's";
      if (what != nullptr)
        error = wrong(reader, checkpoint_errc::corrupt_data, name, "key " + std::to_string(keys[i]) + what);
    }
    return keys;
  }

  template <class = void> auto read_any(const BundleReader& reader, Error& error) const -> TableCut {
    if (reader.index().shards > num_virtual_shards) {
      error = wrong(reader, checkpoint_errc::mismatch, info().name,
                    "a table on " + std::to_string(reader.index().shards) + " shards");
      return {};
    }
    const auto shards = static_cast<std::uint32_t>(reader.index().shards);
    const TableSharding sharding{info(), shards};
    std::vector<Saved> all;
    for (std::uint32_t shard = 0; shard < shards && !error; ++shard)
      if (shards != shards_ || shard == shard_) all.push_back(find_saved(reader, shard, shards, error));

    // Which keys the result has, then what belongs to them: the keys of one that saved are in memory at a time.
    std::size_t with_row = 0;
    const auto keys = std::make_shared<AlignedBuffer>(own_keys(reader, all, sharding, with_row, error));
    if (error) return {};
    const auto own = std::as_const(*keys).as<std::uint64_t>();
    const auto uses = std::make_shared<AlignedBuffer>(AlignedBuffer::for_overwrite(own.size() * use_bytes));
    const auto rows = std::make_shared<AlignedBuffer>(AlignedBuffer::for_overwrite(with_row * blocks() * row_bytes()));
    for (const Saved& saved : all) {
      const auto theirs = read_keys(reader, saved, sharding, error);
      if (error) return {};
      std::vector<std::size_t> at(theirs.size(), nowhere);
      find_rows(std::span{theirs}.first(saved.rows), own.first(with_row), 0, at);
      find_rows(std::span{theirs}.subspan(saved.rows), own.subspan(with_row), with_row,
                std::span{at}.subspan(saved.rows));
      const auto to_row = [&](std::size_t row) { return at[row]; };
      copy_rows(reader, saved.name + "/uses", 0, saved.keys, to_row, use_bytes, {*uses, use_bytes, 0}, error);
      copy_blocks(reader, saved.name + "/values", 0, saved.rows, to_row, *rows, error);
    }
    return {keys, uses, rows};
  }

  // The keys of this shard among all that were saved, first those with a row.
  template <class = void>
  auto own_keys(const BundleReader& reader, std::span<const Saved> all, const TableSharding& sharding,
                std::size_t& with_row, Error& error) const -> AlignedBuffer {
    std::vector<std::uint64_t> own;
    std::vector<std::uint64_t> counted;
    for (const Saved& saved : all) {
      if (error) return {};
      const auto keys = read_keys(reader, saved, sharding, error);
      for (std::size_t i = 0; i < keys.size(); ++i)
        if (share_.owns(keys[i])) (i < saved.rows ? own : counted).push_back(keys[i]);
    }
    with_row = own.size();
    std::sort(own.begin(), own.end());
    std::sort(counted.begin(), counted.end());
    own.insert(own.end(), counted.begin(), counted.end());
    AlignedBuffer keys = AlignedBuffer::for_overwrite(own.size() * sizeof(std::uint64_t));
    std::copy(own.begin(), own.end(), keys.as<std::uint64_t>().begin());
    return keys;
  }

  // Where each of some ascending keys lies among others that ascend, of which the first is number `first`.
  template <class = void>
  static void find_rows(std::span<const std::uint64_t> keys, std::span<const std::uint64_t> among, std::size_t first,
                        std::span<std::size_t> at) {
    auto next = among.begin();
    for (std::size_t i = 0; i < keys.size() && next != among.end(); ++i) {
      if (*next != keys[i]) next = std::lower_bound(next, among.end(), keys[i]);
      if (next == among.end() || *next != keys[i]) continue;
      at[i] = first + static_cast<std::size_t>(next - among.begin());
      ++next;
    }
  }

  static constexpr std::size_t use_bytes = 2 * sizeof(std::uint32_t);

  TableShare share_;
  AnyUpdater updater_;
  std::uint32_t shard_;
  std::uint32_t shards_;
};

}  // namespace v0
}  // namespace distrib
