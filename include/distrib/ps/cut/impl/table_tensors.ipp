// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/cut/table_tensors.hpp>

#include <distrib/sharding/virtual_shard.hpp>

#include <functional>
#include <memory>
#include <numeric>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void TableTensors::add_to(BundlePart& part, const TableCut& cut) const {
  const ByteView rows = view(cut.rows);
  if (!any_key()) {
    if (share_.rows() != 0) add_rows(part, own_rows(), rows, numbered_shape(), own_slice());
    return;
  }
  const std::string name = name_of(shard_, shards_);
  const Shape keys{static_cast<std::int64_t>(view(cut.keys).size() / sizeof(std::uint64_t))};
  const Shape uses{keys[0], 2};
  const Shape values{static_cast<std::int64_t>(rows.size() / (row_bytes() * blocks())), dim()};
  part.tensors.push_back({name + "/keys", DType::int64, keys, Slice::whole(keys), view(cut.keys)});
  part.tensors.push_back({name + "/uses", DType::int32, uses, Slice::whole(uses), view(cut.uses)});
  add_rows(part, own_rows(), rows, values, Slice::whole(values));
}

DISTRIB_DECL auto TableTensors::pieces_in(const BundleReader& reader) const -> std::size_t {
  std::size_t found = 0;
  const auto count = [&](const std::string& name, DType dtype) {
    const StoredTensor* tensor = reader.find(name);
    if (tensor == nullptr || tensor->dtype != dtype || (!any_key() && tensor->shape != numbered_shape())) return;
    const Slice own = any_key() ? Slice::whole(tensor->shape) : own_slice();
    for (const StoredTensor::Piece& piece : tensor->pieces)
      if (piece.shard == shard_ && piece.slice == own) ++found;
  };
  if (pieces() == 0) return 0;
  if (any_key()) count(name_of(shard_, shards_) + "/keys", DType::int64);
  if (any_key()) count(name_of(shard_, shards_) + "/uses", DType::int32);
  for (std::size_t b = 0; b < blocks(); ++b) count(block_name(own_rows(), b), DType::float32);
  return found;
}

DISTRIB_DECL void TableTensors::add_rows(BundlePart& part, const std::string& name, ByteView rows, const Shape& shape,
                                         const Slice& slice) const {
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
        {block_name(name, b), DType::float32, shape, slice, rows.subspan(b * block_bytes, block_bytes)});
}

// --- links ---

DISTRIB_DECL void TableTensors::add_changes_to(BundlePart& part, const TableCut& link) const {
  const auto add = [&](const std::string& name, DType dtype, const Shape& shape, ByteView bytes) {
    part.tensors.push_back({own_name() + name, dtype, shape, Slice::whole(shape), bytes});
  };
  const auto keys = static_cast<std::int64_t>(view(link.keys).size() / sizeof(std::uint64_t));
  add("/keys", DType::int64, {keys}, view(link.keys));
  if (any_key()) add("/uses", DType::int32, {keys, 2}, view(link.uses));
  const auto gone = static_cast<std::int64_t>(view(link.gone).size() / sizeof(std::uint64_t));
  if (any_key()) add("/gone", DType::int64, {gone}, view(link.gone));
  const Shape values{static_cast<std::int64_t>(rows_in(link)), dim()};
  add_rows(part, own_name() + "/values", view(link.rows), values, Slice::whole(values));
}

DISTRIB_DECL auto TableTensors::read_changes(const BundleReader& reader, Error& error) const -> TableCut {
  error = {};
  const std::string name = own_name();
  const auto read_all = [&](const std::string& tensor, DType dtype, Shape shape) {
    const std::size_t count = rows_of(reader, tensor, dtype, shape, error);
    const std::size_t columns = shape.rank() == 1 ? 1 : static_cast<std::size_t>(shape[1]);
    auto buffer = std::make_shared<AlignedBuffer>(AlignedBuffer::for_overwrite(count * columns * size_bytes(dtype)));
    const Slice whole = Slice::along(shape, 0, 0, static_cast<std::int64_t>(count));
    if (!error) reader.read(tensor, whole, buffer->bytes(), error);
    return buffer;
  };
  TableCut link;
  link.keys = read_all(name + "/keys", DType::int64, {0});
  link.uses = any_key() ? read_all(name + "/uses", DType::int32, {0, 2}) : std::make_shared<AlignedBuffer>();
  link.gone = any_key() ? read_all(name + "/gone", DType::int64, {0}) : std::make_shared<AlignedBuffer>();
  const std::size_t rows = rows_of(reader, name + "/values", DType::float32, {0, dim()}, error);
  for (std::size_t b = 1; b < blocks() && !error; ++b)
    if (rows_of(reader, block_name(name + "/values", b), DType::float32, {0, dim()}, error) != rows && !error)
      error = wrong(reader, checkpoint_errc::corrupt_data, name, "slots and weights have not as many rows");
  if (error) return {};
  const auto keys = link.keys->as<std::uint64_t>();
  const bool fit =
      any_key() ? rows <= keys.size() && link.uses->size() == keys.size() * use_bytes : rows == keys.size();
  const char* what = fit ? nullptr : "not as many keys as uses or rows";
  if (fit) what = wrong_keys(keys.first(rows), keys.subspan(rows), link.gone->as<std::uint64_t>());
  if (what != nullptr) error = wrong(reader, checkpoint_errc::corrupt_data, name, what);
  const auto buffer = std::make_shared<AlignedBuffer>(AlignedBuffer::for_overwrite(rows * saved_row_bytes()));
  if (!error) copy_blocks(reader, name + "/values", 0, rows, [](std::size_t row) { return row; }, *buffer, error);
  link.rows = buffer;
  return link;
}

DISTRIB_DECL auto TableTensors::wrong_keys(std::span<const std::uint64_t> with_row,
                                           std::span<const std::uint64_t> counted,
                                           std::span<const std::uint64_t> gone) const -> const char* {
  for (const auto keys : {with_row, counted, gone}) {
    if (std::adjacent_find(keys.begin(), keys.end(), std::greater_equal<>{}) != keys.end()) return "keys do not ascend";
    if (!share_.owns_all(keys)) return "a key belongs to another shard";
  }
  const auto is_in = [](std::uint64_t key, std::span<const std::uint64_t> keys) {
    return std::binary_search(keys.begin(), keys.end(), key);
  };
  for (const std::uint64_t key : counted)
    if (is_in(key, with_row)) return "a key occurs twice";
  for (const std::uint64_t key : gone)
    if (is_in(key, with_row) || is_in(key, counted)) return "a key has gone and is there";
  return nullptr;
}

DISTRIB_DECL auto TableTensors::newest_changes(std::span<const TableCut> links) -> std::vector<Change> {
  std::vector<Change> changes;
  for (const TableCut& link : links) {
    const auto keys = link.keys->as<std::uint64_t>();
    for (std::size_t at = 0; at < keys.size(); ++at) changes.push_back({keys[at], &link, at});
    if (link.gone == nullptr) continue;
    for (const std::uint64_t key : link.gone->as<std::uint64_t>()) changes.push_back({key, &link, nowhere});
  }
  std::ranges::sort(changes, [](const Change& a, const Change& b) {  // of one key the newest first
    if (a.key != b.key) return a.key < b.key;
    return a.link != b.link ? a.link > b.link : a.at < b.at;
  });
  const auto same = std::ranges::unique(changes, {}, &Change::key);
  changes.erase(same.begin(), same.end());
  return changes;
}

DISTRIB_DECL auto TableTensors::with_changes(const TableCut& whole, std::span<const TableCut> links) const -> TableCut {
  const std::vector<Change> changes = newest_changes(links);
  const auto row_of = [this](const TableCut& cut, std::size_t at) {
    return cut.rows->bytes().subspan(at * saved_row_bytes(), saved_row_bytes());
  };
  if (!any_key()) {
    auto rows = std::make_shared<AlignedBuffer>(AlignedBuffer::for_overwrite(whole.rows->size()));
    std::ranges::copy(whole.rows->bytes(), rows->data());
    for (const Change& change : changes)
      std::ranges::copy(row_of(*change.link, change.at),
                        rows->data() + (change.key - share_.first()) * saved_row_bytes());
    return {whole.keys, whole.uses, std::move(rows)};
  }
  // First those with a row, then those without: of the keys of `whole` those that have not changed.
  std::vector<Change> all;
  const auto old = whole.keys->as<std::uint64_t>();
  const auto take = [&](std::size_t first, std::size_t end, bool with_row) {
    auto change = changes.begin();
    const auto take_until = [&](auto is_before) {
      for (; change != changes.end() && is_before(change->key); ++change)
        if (change->at != nowhere && (change->at < rows_in(*change->link)) == with_row) all.push_back(*change);
    };
    for (std::size_t i = first; i < end; ++i) {
      take_until([key = old[i]](std::uint64_t other) { return other < key; });
      if (change == changes.end() || change->key != old[i]) all.push_back({old[i], &whole, i});
    }
    take_until([](std::uint64_t) { return true; });
  };
  take(0, rows_in(whole), true);
  const std::size_t with_row = all.size();
  take(rows_in(whole), old.size(), false);

  auto keys = std::make_shared<AlignedBuffer>(AlignedBuffer::for_overwrite(all.size() * sizeof(std::uint64_t)));
  auto uses = std::make_shared<AlignedBuffer>(AlignedBuffer::for_overwrite(all.size() * use_bytes));
  auto rows = std::make_shared<AlignedBuffer>(AlignedBuffer::for_overwrite(with_row * saved_row_bytes()));
  for (std::size_t i = 0; i < all.size(); ++i) {
    keys->as<std::uint64_t>()[i] = all[i].key;
    std::ranges::copy(all[i].link->uses->bytes().subspan(all[i].at * use_bytes, use_bytes),
                      uses->data() + i * use_bytes);
    if (i < with_row) std::ranges::copy(row_of(*all[i].link, all[i].at), rows->data() + i * saved_row_bytes());
  }
  return {std::move(keys), std::move(uses), std::move(rows)};
}

// --- whole cuts ---

DISTRIB_DECL auto TableTensors::rows_of(const BundleReader& reader, const std::string& name, DType dtype, Shape shape,
                                        Error& error) const -> std::size_t {
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

DISTRIB_DECL auto TableTensors::read_numbered(const BundleReader& reader, Error& error) const -> TableCut {
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

DISTRIB_DECL auto TableTensors::find_saved(const BundleReader& reader, std::uint32_t shard, std::uint32_t shards,
                                           Error& error) const -> Saved {
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

DISTRIB_DECL auto TableTensors::read_keys(const BundleReader& reader, const Saved& saved, const TableSharding& sharding,
                                          Error& error) -> std::vector<std::uint64_t> {
  std::vector<std::uint64_t> keys(saved.keys);
  const std::string name = saved.name + "/keys";
  const Slice whole = Slice::whole({static_cast<std::int64_t>(saved.keys)});
  reader.read(name, whole, std::as_writable_bytes(std::span{keys}), error);
  const auto with_row = keys.begin() + static_cast<std::ptrdiff_t>(saved.rows);
  for (std::size_t i = 0; i < keys.size() && !error; ++i) {
    const char* what = nullptr;
    if (i != 0 && i != saved.rows && keys[i] <= keys[i - 1]) what = " is not greater than the key before it";
    else if (i >= saved.rows && std::binary_search(keys.begin(), with_row, keys[i])) what = " occurs twice";
    else if (sharding.shard(keys[i]) != saved.shard) what = " belongs to another shard";
    if (what != nullptr)
      error = wrong(reader, checkpoint_errc::corrupt_data, name, "key " + std::to_string(keys[i]) + what);
  }
  return keys;
}

DISTRIB_DECL auto TableTensors::read_any(const BundleReader& reader, Error& error) const -> TableCut {
  if (reader.index().shards > num_virtual_shards) {
    error = wrong(reader, checkpoint_errc::mismatch, info().name,
                  "a table on " + std::to_string(reader.index().shards) + " shards, more than a table can have");
    return {};
  }
  const auto shards = static_cast<std::uint32_t>(reader.index().shards);
  const TableSharding sharding{info(), shards};
  std::vector<Saved> all;
  for (std::uint32_t shard = 0; shard < shards && !error; ++shard)
    if (shards != shards_ || shard == shard_) all.push_back(find_saved(reader, shard, shards, error));

  // First find which keys the result has, then what belongs to them: only the keys of one shard that saved are in
  // memory at a time.
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

DISTRIB_DECL auto TableTensors::own_keys(const BundleReader& reader, std::span<const Saved> all,
                                         const TableSharding& sharding, std::size_t& with_row, Error& error) const
    -> AlignedBuffer {
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

DISTRIB_DECL void TableTensors::find_rows(std::span<const std::uint64_t> keys, std::span<const std::uint64_t> among,
                                          std::size_t first, std::span<std::size_t> at) {
  auto next = among.begin();
  for (std::size_t i = 0; i < keys.size() && next != among.end(); ++i) {
    if (*next != keys[i]) next = std::lower_bound(next, among.end(), keys[i]);
    if (next == among.end() || *next != keys[i]) continue;
    at[i] = first + static_cast<std::size_t>(next - among.begin());
    ++next;
  }
}

}  // namespace v0
}  // namespace distrib
