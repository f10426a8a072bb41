// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/cut/copy_checkpoint.hpp>

#include <distrib/checkpoint/bundle_index.hpp>
#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/checkpoint/bundle_writer.hpp>
#include <distrib/checkpoint/directories.hpp>
#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/file_names.hpp>
#include <distrib/checkpoint/keep_newest.hpp>
#include <distrib/checkpoint/latest_checkpoint.hpp>
#include <distrib/checkpoint/perform.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/io_action.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/core/slice.hpp>
#include <distrib/ps/cut/cut_object.hpp>
#include <distrib/ps/cut/cut_object_names.hpp>
#include <distrib/ps/cut/object_checkpoints.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/record/mapped_file.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// A checkpoint in a store, as its index says.
struct StoredCheckpoint {
  BundleIndex index;
  std::vector<std::byte> bytes;  // of the index
  std::vector<CheckpointCut> cuts;

  /// The object that has the data of a shard.
  [[nodiscard]] auto cut_of(std::size_t shard) const -> const CheckpointCut& {
    return cuts[cuts.size() == 1 ? 0 : shard];
  }
};

DISTRIB_DECL auto read_stored(ObjectDirectory from, Step step, Error& error) -> StoredCheckpoint {
  const CutObjectNames names{from.root};
  ObjectCheckpoints checkpoints{from};
  const std::vector<CheckpointKey> whole = checkpoints.list(error);
  if (error) return {};
  const auto found = std::ranges::find(whole, step, &CheckpointKey::step);
  if (found == whole.end()) {
    error = {checkpoint_errc::no_such_checkpoint, checkpoints.prefix_of(step)};
    return {};
  }
  StoredCheckpoint stored;
  const std::string name = names.checkpoint(*found);
  stored.bytes = from.store.get(name, most_index_bytes, error);
  if (error) return {};
  stored.cuts = parse_checkpoint_index(stored.bytes, error);
  if (!error) static_cast<void>(parse_bundle_index(stored.bytes, stored.index, error));
  if (error) error.where = name + ": " + error.where;
  return stored;
}

/// Where the data of a shard are in its object.
struct DataRange {
  std::uint64_t first = 0;
  std::uint64_t bytes = 0;
};

DISTRIB_DECL auto data_ranges(const BundleIndex& index) -> std::vector<DataRange> {
  constexpr auto none = static_cast<std::uint64_t>(-1);
  std::vector<DataRange> ranges(static_cast<std::size_t>(index.shards), DataRange{none, 0});
  for (const StoredTensor& tensor : index.tensors)
    for (const StoredTensor::Piece& piece : tensor.pieces) {
      DataRange& range = ranges[static_cast<std::size_t>(piece.shard)];
      const std::uint64_t end =
          std::max(range.first == none ? 0 : range.first + range.bytes, piece.offset + piece.size_bytes);
      range.first = std::min(range.first, piece.offset);
      range.bytes = end - range.first;
    }
  for (DataRange& range : ranges)
    if (range.first == none) range.first = 0;
  return ranges;
}

// Returns the entries of an index whose data file of shard s begins `shift(s)` bytes earlier or later.
template <class Shift>
auto shifted_entries(const BundleIndex& index, Shift shift, Error& error) -> BundleEntries {
  BundleEntries entries;
  for (const StoredTensor& tensor : index.tensors)
    for (StoredTensor::Piece piece : tensor.pieces) {
      piece.offset += shift(static_cast<std::size_t>(piece.shard));  // modulo 2^64
      if (!entries.add(tensor.name, tensor.dtype, tensor.shape, piece, error)) return {};
    }
  return entries;
}

// Writes bytes of an object as a file, in portions.
DISTRIB_DECL void write_range(AnyObjectStore& store, const std::string& key, const DataRange& range,
                              const std::string& path, Error& error) {
  constexpr std::uint64_t portion = 16 << 20;
  perform(FileAction::write(path, {}, {}), error);
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(portion, range.bytes)));
  for (std::uint64_t done = 0; done < range.bytes && !error;) {
    const auto to =
        std::span{buffer}.first(static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), range.bytes - done)));
    store.get_range(key, range.first + done, to, {}, error);
    if (!error) perform(FileAction::append(path, {to}, {}), error);
    done += to.size();
  }
  if (!error) perform(FileAction::sync(path), error);
}

DISTRIB_DECL auto bucket_url(const ObjectDirectory& of) -> std::string {
  return of.url.substr(0, of.url.size() - std::min(of.url.size(), of.root.size()));
}

}  // namespace detail

DISTRIB_DECL auto copy_to_files(const ObjectDirectory& from, Step step, const std::string& directory, ErrorRef to)
    -> std::string {
  detail::ErrorOut out{to};
  Error error;
  const auto failed = [&] {
    out = error;
    return std::string{};
  };
  const detail::StoredCheckpoint stored = detail::read_stored(from, step, error);
  if (!error) make_directories(directory, error);
  if (error) return failed();
  const std::string name = "model.ckpt-" + std::to_string(step);
  std::string prefix = detail::join_path(directory, name);
  const std::string temporary = detail::temporary_prefix(prefix);
  const std::vector<detail::DataRange> ranges = detail::data_ranges(stored.index);
  const CutObjectNames names{from.root};
  AnyObjectStore store = from.store;
  for (std::size_t shard = 0; shard < ranges.size() && !error; ++shard)
    detail::write_range(store, names.cut(stored.cut_of(shard).key), ranges[shard],
                        data_file_name(temporary, shard, ranges.size()), error);
  const auto entries =
      detail::shifted_entries(stored.index, [&](std::size_t shard) { return 0 - ranges[shard].first; }, error);
  if (!error) perform(detail::plan_names(prefix, ranges.size(), entries.encode(stored.index.shards)), error);
  if (error) return failed();
  const auto reader = BundleReader::open(prefix, error);
  if (reader) reader->verify(error);
  if (error) return failed();
  Error ignored;  // a state file that cannot be read is replaced
  perform(plan_keep_newest(directory, name, list_checkpoints(directory, ignored), {.max_to_keep = 0}), error);
  if (error) return failed();
  out = Error{};
  return prefix;
}

DISTRIB_DECL auto copy_to_tensorflow_names(const ObjectDirectory& from, Step step, const ObjectDirectory& target,
                                           ErrorRef to) -> std::string {
  detail::ErrorOut out{to};
  Error error;
  if (detail::bucket_url(from) != detail::bucket_url(target))
    error = {checkpoint_errc::unsupported, target.url + ": the store copies only inside a bucket"};
  const auto stored = error ? detail::StoredCheckpoint{} : detail::read_stored(from, step, error);
  const CutObjectNames names{from.root};
  const auto prefix_in = [step](const std::string& root) {
    return (root.empty() ? "" : root + '/') + "model.ckpt-" + std::to_string(step);
  };
  const std::string prefix = prefix_in(target.root);
  AnyObjectStore store = from.store;
  const auto shards = static_cast<std::size_t>(stored.index.shards);
  // TensorFlow does not mind what follows the data in a data file.
  for (std::size_t shard = 0; shard < shards && !error; ++shard)
    store.copy(names.cut(stored.cut_of(shard).key), data_file_name(prefix, shard, shards), error);
  if (!error) store.put(index_file_name(prefix), stored.bytes, error);
  out = error;
  return error ? std::string{} : target.url + "/model.ckpt-" + std::to_string(step);
}

DISTRIB_DECL auto copy_to_store(const std::string& prefix, const ObjectDirectory& target, std::uint64_t nonce,
                                ErrorRef to) -> std::string {
  detail::ErrorOut out{to};
  Error error;
  const auto failed = [&] {
    out = error;
    return std::string{};
  };
  const auto reader = BundleReader::open(prefix, error);
  if (reader && reader->find("distrib/job") == nullptr)
    error = {ps_errc::job_mismatch, prefix + ": no job is stored in it"};
  if (!error) reader->verify(error);
  std::int64_t step = 0;
  if (!error) reader->read("global_step", Slice::whole({}), std::as_writable_bytes(std::span{&step, 1}), error);
  if (!error && step < 0) error = {checkpoint_errc::mismatch, prefix + ": global_step is negative"};
  if (error) return failed();
  const CutObjectNames names{target.root};
  AnyObjectStore store = target.store;
  const bool is_used =
      !store.list(names.cuts(), error).empty() || (!error && !store.list(names.claims(0), error).empty());
  if (!error && is_used)
    error = {checkpoint_errc::unsupported, target.url + ": a job saves there already; name another directory"};
  if (error) return failed();

  const auto shards = static_cast<std::size_t>(reader->index().shards);
  std::vector<std::byte> object;
  std::vector<std::uint64_t> begins;
  for (std::size_t shard = 0; shard < shards; ++shard) {
    std::error_code ec;
    const std::string path = data_file_name(reader->prefix(), shard, shards);
    const MappedFile file{path, ec};
    if (ec) error = {checkpoint_errc::cannot_read, path + " (" + ec.message() + ')'};
    if (ec) return failed();
    begins.push_back(object.size());
    object.insert(object.end(), file.bytes().begin(), file.bytes().end());
  }
  const auto entries =
      detail::shifted_entries(reader->index(), [&](std::size_t shard) { return begins[shard]; }, error);
  if (error) return failed();
  // A claim of no process: any process that claims the directory has a larger one.
  const CutKey key{static_cast<Step>(step), 0, 1, {0, nonce}, 1};
  detail::end_cut_object(object, entries.encode(shards));
  const CutTail tail = parse_cut_footer(object, object.size(), error);
  BundleIndex table;
  if (!error) table = parse_cut_table(object, tail, 0, 1, error);
  const CheckpointCut cut{key, object.size(), tail.table_crc};
  std::vector<std::byte> index;
  if (!error) index = encode_checkpoint_index({&cut, 1}, {&table, 1}, error);
  if (!error) store.put(names.cut(key), object, error);
  if (!error) store.put(names.checkpoint({key.step, checkpoint_hash(index)}), index, error);
  if (error) return failed();
  out = Error{};
  return ObjectCheckpoints{target}.prefix_of(key.step);
}

}  // namespace v0
}  // namespace distrib
