// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensor_stream.hpp"

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/checkpoint/error.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/core/shortest_text.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tools {

/// A table of any keys as `TableTensors` saves it: each shard has its own keys and rows.
struct SavedTable {
  std::string name;
  std::size_t shards = 0;
  std::uint64_t rows = 0;  ///< Of all shards. Keys that are only counted have no row.
  std::int64_t dim = 0;
  std::vector<std::string> slots;

  /// Returns the name of a tensor of one shard: of its keys if `block` is "keys".
  [[nodiscard]] auto tensor(std::size_t shard, const std::string& block) const -> std::string {
    return name + "/shard-" + distrib::detail::shard_of_shards(shard, shards) + "/" + block;
  }
};

/// Returns the name of the table if `tensor` is a tensor of a shard of a table: "users" for
/// "users/shard-00001-of-00002/keys"; otherwise an empty text. `shards`: the number of shards.
[[nodiscard]] inline auto table_of(std::string_view tensor, std::size_t& shards) -> std::string_view {
  constexpr std::string_view mark = "/shard-";
  constexpr std::size_t digits = 5;
  const std::size_t at = tensor.find(mark);
  if (at == std::string_view::npos) return {};
  const std::string_view number = tensor.substr(at + mark.size());  // 00001-of-00002/keys
  const auto of = distrib::detail::parse_whole<std::size_t>(number.substr(std::min(number.size(), digits + 4), digits));
  if (!of || number.size() < 2 * digits + 5 || number.substr(digits, 4) != "-of-" || number[2 * digits + 4] != '/')
    return {};
  shards = *of;
  return tensor.substr(0, at);
}

/// Returns the tables of any keys in a checkpoint, by name. On failure sets `error`: `incomplete` if a shard of a table
/// is missing, `mismatch` if its tensors do not fit together.
[[nodiscard]] inline auto tables_in(const distrib::BundleReader& reader, distrib::Error& error)
    -> std::vector<SavedTable> {
  std::map<std::string, SavedTable> tables;
  for (const distrib::StoredTensor& tensor : reader.tensors()) {
    std::size_t shards = 0;
    const std::string name{table_of(tensor.name, shards)};
    if (name.empty()) continue;
    SavedTable& table = tables[name];
    table.name = name;
    table.shards = std::max(table.shards, shards);
    const std::string slot = table.tensor(0, "values/");
    if (tensor.name.starts_with(slot)) table.slots.push_back(tensor.name.substr(slot.size()));
  }
  std::vector<SavedTable> all;
  const auto refuse = [&](distrib::checkpoint_errc code, const std::string& name) {
    error = {code, reader.prefix() + ": " + name};
    return std::vector<SavedTable>{};
  };
  for (auto& [name, table] : tables) {
    for (std::size_t shard = 0; shard < table.shards; ++shard) {
      const auto* const keys = reader.find(table.tensor(shard, "keys"));
      const auto* const uses = reader.find(table.tensor(shard, "uses"));
      const auto* const values = reader.find(table.tensor(shard, "values"));
      if (keys == nullptr || uses == nullptr || values == nullptr)
        return refuse(distrib::checkpoint_errc::incomplete, table.tensor(shard, "keys, uses, values"));
      if (keys->shape.rank() != 1 || values->shape.rank() != 2 || values->shape[0] > keys->shape[0] ||
          uses->shape != distrib::Shape{keys->shape[0], 2} || (shard != 0 && values->shape[1] != table.dim))
        return refuse(distrib::checkpoint_errc::mismatch, values->name);
      table.dim = values->shape[1];
      table.rows += static_cast<std::uint64_t>(values->shape[0]);
      for (const std::string& slot : table.slots) {
        const auto* const rows = reader.find(table.tensor(shard, "values/" + slot));
        if (rows == nullptr || rows->shape != values->shape)
          return refuse(distrib::checkpoint_errc::mismatch, table.tensor(shard, "values/" + slot));
      }
    }
    all.push_back(std::move(table));
  }
  return all;
}

/// Reads one of the tensors of a table of any keys, of all shards together, in ascending order of the keys: so the
/// bytes do not depend on the shards that saved it. Keys without a row are left out. Memory: 1 MiB or less for each
/// shard.
class TableStream {
 public:
  /// `block`: "keys", "uses", "values" or "values/SLOT". `reader` must outlive the stream and have the table, as
  /// `tables_in` returns it.
  TableStream(const distrib::BundleReader& reader, const SavedTable& table, const std::string& block)
      : is_of_keys_{block == "keys"} {
    for (std::size_t shard = 0; shard < table.shards; ++shard) {
      const auto& keys = *reader.find(table.tensor(shard, "keys"));
      const auto& rows = *reader.find(table.tensor(shard, block));
      const auto count = static_cast<std::uint64_t>(reader.find(table.tensor(shard, "values"))->shape[0]);
      row_bytes_ =
          is_of_keys_ ? sizeof(std::uint64_t) : static_cast<std::size_t>(rows.shape[1]) * size_bytes(rows.dtype);
      cursors_.push_back({{reader, keys},
                          {reader, rows},
                          count,
                          static_cast<std::uint64_t>(keys.shape[0]) - count,
                          block == "uses" ? static_cast<std::uint64_t>(keys.shape[0]) - count : 0,
                          {},
                          {},
                          0,
                          keys.name});
    }
  }

  /// Fills `to` with the next rows; there must be as many. On failure returns false and sets `error`, as
  /// `BundleReader::read`; `corrupt_data` if a key occurs twice, or keys of a shard do not ascend.
  [[nodiscard]] auto read(std::span<std::byte> to, distrib::Error& error) -> bool {
    if (!begun_) {
      begun_ = true;
      for (std::size_t shard = 0; shard < cursors_.size(); ++shard)
        if (!advance(shard, error)) return false;
    }
    for (; !to.empty(); to = to.subspan(row_bytes_)) {
      std::ranges::pop_heap(heap_, later_);
      const auto [key, shard] = heap_.back();
      heap_.pop_back();
      Cursor& cursor = cursors_[shard];
      if (last_ && key <= *last_) {
        error = {distrib::checkpoint_errc::corrupt_data,
                 cursor.name + ": key " + std::to_string(key) + " is not greater than the key before it"};
        return false;
      }
      last_ = key;
      if (is_of_keys_) distrib::store_le(to.data(), key);
      else std::memcpy(to.data(), cursor.block.data() + cursor.at * row_bytes_, row_bytes_);
      ++cursor.at;
      if (!advance(shard, error)) return false;
    }
    return true;
  }

 private:
  struct Cursor {
    TensorStream keys;
    TensorStream rows;
    std::uint64_t left = 0;  // rows that are not in `block` yet
    std::uint64_t keys_behind = 0;  // keys without a row, which come after the others
    std::uint64_t rows_behind = 0;  // their rows
    std::vector<std::uint64_t> block_keys;
    std::vector<std::byte> block;
    std::size_t at = 0;  // in the block
    std::string name;
  };
  using Next = std::pair<std::uint64_t, std::size_t>;  // key and shard

  // Puts the next key of a shard into the heap, if it has one.
  auto advance(std::size_t shard, distrib::Error& error) -> bool {
    Cursor& cursor = cursors_[shard];
    if (cursor.at == cursor.block_keys.size()) {
      const std::uint64_t most = std::max<std::uint64_t>(1, (std::uint64_t{1} << 18) / row_bytes_);
      const auto some = static_cast<std::size_t>(std::min(most, cursor.left));
      cursor.at = 0;
      cursor.left -= some;
      cursor.block_keys.resize(some);
      if (!cursor.keys.read(std::as_writable_bytes(std::span{cursor.block_keys}), error)) return false;
      if (!is_of_keys_) {
        cursor.block.resize(some * row_bytes_);
        if (!cursor.rows.read(cursor.block, error)) return false;
      }
      if (cursor.left == 0 && !read_behind(cursor, error)) return false;
    }
    if (cursor.at == cursor.block_keys.size()) return true;
    heap_.emplace_back(cursor.block_keys[cursor.at], shard);
    std::ranges::push_heap(heap_, later_);
    return true;
  }

  // Reads what follows the rows, so that the checksums are verified. A use has 8 bytes, as a key.
  static auto read_behind(Cursor& cursor, distrib::Error& error) -> bool {
    return drain(cursor.keys, std::exchange(cursor.keys_behind, 0) * sizeof(std::uint64_t), error) &&
           drain(cursor.rows, std::exchange(cursor.rows_behind, 0) * sizeof(std::uint64_t), error);
  }
  static auto drain(TensorStream& stream, std::uint64_t bytes, distrib::Error& error) -> bool {
    std::vector<std::byte> unused(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, std::uint64_t{1} << 18)));
    for (; bytes != 0; bytes -= unused.size()) {
      unused.resize(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, unused.size())));
      if (!stream.read(unused, error)) return false;
    }
    return true;
  }

  static constexpr auto later_ = [](const Next& a, const Next& b) { return a > b; };

  bool is_of_keys_;
  std::size_t row_bytes_ = 0;
  std::vector<Cursor> cursors_;
  std::vector<Next> heap_;
  std::optional<std::uint64_t> last_;
  bool begun_ = false;
};

}  // namespace tools
