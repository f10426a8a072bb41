// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/bundle_index.hpp>
#include <distrib/checkpoint/detail/bundle_entry.hpp>
#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/file_names.hpp>
#include <distrib/checkpoint/string_tensor.hpp>
#include <distrib/checkpoint/table_writer.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/crc32c.hpp>
#include <distrib/core/io_action.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// A tensor, or one slice of it, that is to be saved. The bytes are not copied: they must stay until the plan was
/// performed. A slice that covers its tensor is saved as a plain tensor.
struct TensorPiece {
  std::string name;  ///< Of the whole tensor; not empty, and not beginning with a zero byte.
  DType dtype = DType::float32;
  Shape shape;     ///< Of the whole tensor.
  Slice slice;     ///< Which part `bytes` is; `Slice::whole(shape)` for all of it.
  ByteView bytes;  ///< Row-major; as many as the slice has elements times the size of one.
};

/// A tensor of texts that is to be saved, always whole; rank 0 with one value is a scalar.
struct StringTensor {
  std::string name;
  Shape shape;
  std::vector<std::string> values;
};

/// What one data file of a checkpoint gets: the share of one shard of the parameters.
struct BundlePart {
  std::vector<TensorPiece> tensors;
  std::vector<StringTensor> strings;
  std::vector<SharedBuffer> kept = {};  ///< Memory that pieces point to and nobody else keeps, if there is such.
};

namespace detail {

/// Collects the entries of all parts and finds what does not fit together.
class BundleEntries {
 public:
  template <class = void>
  [[nodiscard]] auto add(const TensorPiece& piece, std::uint64_t shard, std::uint64_t offset, Error& error) -> bool {
    const std::size_t element_bytes = size_bytes(piece.dtype);
    if (piece.name.empty() || piece.name.front() == '\0')
      return refuse(error, checkpoint_errc::mismatch, "a tensor without a name");
    if (element_bytes == 0) return refuse(error, checkpoint_errc::mismatch, piece.name + ": dtype");
    if (!piece.slice.inside(piece.shape))
      return refuse(error, checkpoint_errc::mismatch,
                    piece.name + ": slice " + to_string(piece.slice) + " of " + to_string(piece.shape));
    if (piece.bytes.size() % element_bytes != 0 ||
        piece.bytes.size() / element_bytes != static_cast<std::size_t>(piece.slice.extents.elements()))
      return refuse(error, checkpoint_errc::mismatch,
                    piece.name + ": " + std::to_string(piece.bytes.size()) + " bytes for " +
                        to_string(piece.slice.extents) + " of " + std::string{distrib::name(piece.dtype)});

    return add(piece.name, piece.dtype, piece.shape,
               {piece.slice, shard, offset, piece.bytes.size(), mask_crc(crc32c(piece.bytes))}, error);
  }

  /// A piece of which it is known where it lies.
  template <class = void>
  [[nodiscard]] auto add(const std::string& name, DType dtype, const Shape& shape, const StoredPiece& piece,
                         Error& error) -> bool {
    const BundleEntry entry{
        dtype, piece.slice.extents, piece.shard, piece.offset, piece.size_bytes, piece.masked_crc, {}, {}};
    if (piece.slice == Slice::whole(shape)) return insert(name, entry, error);

    const auto [at, first] = entries_.insert({name, {}});
    BundleEntry& full = at->second;
    if (first) full = {dtype, shape, 0, 0, 0, 0, {}, {}};
    if (!first && full.slices.empty()) return refuse(error, checkpoint_errc::duplicate, name);
    if (full.dtype != dtype || full.shape != shape)
      return refuse(error, checkpoint_errc::mismatch, name + ": two slices disagree about dtype or shape");
    full.slices.push_back(piece.slice);
    return insert(slice_key(name, piece.slice), entry, error, name + ", slice " + to_string(piece.slice));
  }

  template <class = void>
  [[nodiscard]] auto insert(std::string key, BundleEntry entry, Error& error, std::string_view shown = {}) -> bool {
    const auto [at, first] = entries_.insert({std::move(key), std::move(entry)});
    if (!first) return refuse(error, checkpoint_errc::duplicate, shown.empty() ? at->first : std::string{shown});
    return true;
  }

  template <class = void> [[nodiscard]] auto find(const std::string& key) const -> const BundleEntry* {
    const auto at = entries_.find(key);
    return at == entries_.end() ? nullptr : &at->second;
  }

  enum class Parts { all, some };
  /// Whether no two slices of a tensor overlap and, when these are the entries of all parts, they make it whole.
  template <class = void> [[nodiscard]] auto check(Parts parts, Error& error) const -> bool {
    for (const auto& [name, entry] : entries_) {
      if (entry.slices.empty()) continue;
      StoredTensor tensor{name, entry.dtype, entry.shape, {}, true};
      for (const Slice& slice : entry.slices) tensor.pieces.push_back({slice});
      if (overlap(tensor)) return refuse(error, checkpoint_errc::duplicate, name + ": slices overlap");
      if (parts == Parts::all && !covered(tensor)) return refuse(error, checkpoint_errc::incomplete, name);
    }
    return true;
  }

  /// The index file.
  template <class = void> [[nodiscard]] auto encode(std::uint64_t shards) const -> std::vector<std::byte> {
    TableWriter table;
    table.add("", encode_header(shards));
    for (const auto& [key, entry] : entries_) table.add(key, encode_entry(entry));
    return table.finish();
  }

 private:
  std::map<std::string, BundleEntry> entries_;
};

/// Enters what the data file of one shard gets, and plans its temporary file. False: `error` names the tensor.
template <class = void>
auto plan_data(const BundlePart& part, const std::string& temporary, std::size_t shard, std::size_t shards,
               BundleEntries& entries, FilePlan& plan, Error& error) -> bool {
  FileAction data = FileAction::write(data_file_name(temporary, shard, shards), {}, {});
  std::uint64_t offset = 0;
  for (const TensorPiece& piece : part.tensors) {
    if (!entries.add(piece, shard, offset, error)) return false;
    data.views.push_back(piece.bytes);
    offset += piece.bytes.size();
  }
  for (const StringTensor& strings : part.strings) {
    if (strings.name.empty() || strings.name.front() == '\0' ||
        static_cast<std::size_t>(strings.shape.elements()) != strings.values.size())
      return refuse(
          error, checkpoint_errc::mismatch,
          strings.name + ": " + std::to_string(strings.values.size()) + " texts for " + to_string(strings.shape));
    const std::size_t start = data.owned.size();
    const std::uint32_t crc = append_strings(data.owned, strings.values);
    const std::size_t size = data.owned.size() - start;
    if (!entries.insert(strings.name, {DType::string, strings.shape, shard, offset, size, crc, {}, {}}, error))
      return false;
    offset += size;
  }
  FileAction sync = FileAction::sync(data.path);
  plan.push_back(std::move(data));
  plan.push_back(std::move(sync));
  return true;
}

}  // namespace detail

/// Plans how a checkpoint is written as a TensorFlow V2 bundle: `parts[i]` into `PREFIX.data-IIIII-of-NNNNN`, what they
/// hold into `PREFIX.index`. Everything is written under temporary names and made durable; then an index of the same
/// prefix from an earlier save is removed, the data files get their names, and last the index. So whenever the plan
/// stops, an index that exists has all its data. Performs no I/O; takes one pass over the bytes for their checksums.
///
/// On failure the plan is empty and `error` names the tensor: `duplicate`, `incomplete`, `mismatch`.
template <class = void>
[[nodiscard]] auto plan_bundle(std::string_view prefix, std::span<const BundlePart> parts, Error& error) -> FilePlan {
  using detail::refuse;
  error = {};
  if (parts.empty() || parts.size() > max_data_files) {
    refuse(error, checkpoint_errc::mismatch, "a checkpoint of " + std::to_string(parts.size()) + " parts");
    return {};
  }
  const std::string temporary = detail::temporary_prefix(prefix);
  detail::BundleEntries entries;
  FilePlan plan;
  for (std::size_t shard = 0; shard < parts.size(); ++shard)
    if (!detail::plan_data(parts[shard], temporary, shard, parts.size(), entries, plan, error)) return {};
  if (!entries.check(detail::BundleEntries::Parts::all, error)) return {};

  const std::string index = index_file_name(prefix);
  const std::string directory = detail::directory_of(prefix);
  plan.push_back(FileAction::write(index_file_name(temporary), {}, entries.encode(parts.size())));
  plan.push_back(FileAction::sync(index_file_name(temporary)));
  plan.push_back(FileAction::remove(index));
  plan.push_back(FileAction::sync_directory(directory));
  for (std::size_t shard = 0; shard < parts.size(); ++shard)
    plan.emplace_back(FileAction::rename(data_file_name(temporary, shard, parts.size()),
                                         data_file_name(prefix, shard, parts.size())));
  plan.push_back(FileAction::sync_directory(directory));
  plan.push_back(FileAction::rename(index_file_name(temporary), index));
  plan.push_back(FileAction::sync_directory(directory));
  return plan;
}

/// The same; throws `std::system_error` that names the tensor.
template <class = void>
[[nodiscard]] auto plan_bundle(std::string_view prefix, std::span<const BundlePart> parts) -> FilePlan {
  Error error;
  return detail::or_throw(plan_bundle(prefix, parts, error), error);
}

}  // namespace v0
}  // namespace distrib
