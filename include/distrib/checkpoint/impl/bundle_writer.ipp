// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/bundle_writer.hpp>

#include <distrib/checkpoint/file_names.hpp>
#include <distrib/checkpoint/ordered_code.hpp>
#include <distrib/checkpoint/string_tensor.hpp>
#include <distrib/core/crc32c.hpp>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto BundleEntries::add(const BundlePart::TensorPiece& piece, std::uint64_t shard, std::uint64_t offset,
                                     Error& error) -> bool {
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

DISTRIB_DECL auto BundleEntries::add(const std::string& name, DType dtype, const Shape& shape,
                                     const StoredTensor::Piece& piece, Error& error) -> bool {
  const BundleEntry entry{dtype, piece.slice.extents, piece.shard, piece.offset, piece.size_bytes, piece.masked_crc, {},
                          {}};
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

DISTRIB_DECL auto BundleEntries::check(Parts parts, Error& error) const -> bool {
  for (const auto& [name, entry] : entries_) {
    if (entry.slices.empty()) continue;
    StoredTensor tensor{name, entry.dtype, entry.shape, {}, true};
    for (const Slice& slice : entry.slices) tensor.pieces.push_back({slice});
    if (overlap(tensor)) return refuse(error, checkpoint_errc::duplicate, name + ": slices overlap");
    if (parts == Parts::all && !covered(tensor)) return refuse(error, checkpoint_errc::incomplete, name);
  }
  return true;
}

DISTRIB_DECL auto plan_data(const BundlePart& part, const std::string& temporary, std::size_t shard, std::size_t shards,
                            BundleEntries& entries, FilePlan& plan, Error& error, std::uint64_t first) -> bool {
  FileAction data = FileAction::write(data_file_name(temporary, shard, shards), {}, {});
  std::uint64_t offset = first;
  for (const BundlePart::TensorPiece& piece : part.tensors) {
    if (!entries.add(piece, shard, offset, error)) return false;
    data.views.push_back(piece.bytes);
    offset += piece.bytes.size();
  }
  for (const BundlePart::StringTensor& strings : part.strings) {
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

DISTRIB_DECL auto plan_names(std::string_view prefix, std::size_t shards, std::vector<std::byte> index) -> FilePlan {
  const std::string temporary = temporary_prefix(prefix);
  const std::string directory = directory_of(prefix);
  FilePlan plan;
  plan.push_back(FileAction::write(index_file_name(temporary), {}, std::move(index)));
  plan.push_back(FileAction::sync(index_file_name(temporary)));
  plan.push_back(FileAction::remove(index_file_name(prefix)));
  plan.push_back(FileAction::sync_directory(directory));
  for (std::size_t shard = 0; shard < shards; ++shard)
    plan.push_back(FileAction::rename(data_file_name(temporary, shard, shards), data_file_name(prefix, shard, shards)));
  plan.push_back(FileAction::sync_directory(directory));
  plan.push_back(FileAction::rename(index_file_name(temporary), index_file_name(prefix)));
  plan.push_back(FileAction::sync_directory(directory));
  return plan;
}

}  // namespace detail

DISTRIB_DECL auto plan_bundle(std::string_view prefix, std::span<const BundlePart> parts, ErrorRef to) -> FilePlan {
  using detail::refuse;
  detail::ErrorOut error{to};
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
  append(plan, detail::plan_names(prefix, parts.size(), entries.encode(parts.size())));
  return plan;
}

}  // namespace v0
}  // namespace distrib
