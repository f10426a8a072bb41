// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/bundle_reader.hpp>

#include <distrib/checkpoint/detail/table_format.hpp>
#include <distrib/checkpoint/string_tensor.hpp>
#include <distrib/checkpoint/variant_sum.hpp>
#include <distrib/core/files.hpp>
#include <distrib/core/half.hpp>
#include <distrib/core/paths.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto read_index_file(const std::string& file, BundleIndex& index, Error& error) -> bool {
  constexpr std::uint64_t max_index_bytes = std::uint64_t{1} << 30;
  error = {};
  std::vector<std::byte> bytes;
  if (!read_file(file, max_index_bytes, checkpoint_errc::corrupt_index, bytes, error)) return false;
  if (!parse_bundle_index(bytes, index, error)) error.where = file + ": " + error.where;
  return !error;
}

// True if a file ends as a table does. A checkpoint of version 1 is such a file, without data files.
DISTRIB_DECL auto is_table(const std::string& path) -> bool {
  std::array<std::byte, 8> magic{};
  Error error;
  const auto file = InputFile::open(path, checkpoint_errc::not_found, error);
  return file && file->size() >= magic.size() && file->read(file->size() - magic.size(), magic, error) &&
         load_le<std::uint64_t>(magic.data()) == table_magic;
}

// Returns why there is no index file of this prefix.
DISTRIB_DECL auto why_no_index(const std::string& prefix) -> Error {
  if (is_directory(prefix))
    return {checkpoint_errc::no_such_checkpoint,
            prefix + ": a directory; name a checkpoint in it, for example " + join_path(prefix, "model.ckpt-1000")};
  const std::string_view name = file_of(prefix);
  std::error_code ignored;
  for (const std::string& file : list_directory(directory_of(prefix), ignored)) {
    const auto shard_file = parse_shard_file(file);
    if (shard_file && shard_file->prefix == name) return {checkpoint_errc::missing_index_file, index_file_name(prefix)};
    // One file with the name of the prefix, or several: "PREFIX-00000-of-00002".
    const bool numbered = file.starts_with(name) && file.size() == name.size() + 15 &&
                          std::string_view{file}.substr(name.size() + 6, 4) == "-of-";
    if ((file == name || numbered) && is_table(join_path(directory_of(prefix), file)))
      return {checkpoint_errc::unsupported,
              prefix +
                  ": a checkpoint of version 1; save it again with TensorFlow, "
                  "tf.compat.v1.train.Saver(write_version=tf.compat.v1.train.SaverDef.V2)"};
  }
  return {checkpoint_errc::no_such_checkpoint, index_file_name(prefix)};
}

DISTRIB_DECL auto read_index_of(std::string& prefix, BundleIndex& index, Error& error) -> bool {
  constexpr std::string_view graph = ".meta";  // TensorFlow saves it beside the other files
  if (!path_exists(index_file_name(prefix))) {
    const std::string_view before = prefix_of_file(prefix);
    if (!before.empty()) prefix = std::string{before};
    else if (prefix.ends_with(graph)) prefix.resize(prefix.size() - graph.size());
  }
  if (read_index_file(index_file_name(prefix), index, error)) return true;
  if (error.code == checkpoint_errc::not_found) error = why_no_index(prefix);
  return false;
}

DISTRIB_DECL void widen(DType from, ByteView numbers, std::span<std::byte> to) noexcept {
  for (std::size_t at = 0; at < numbers.size(); at += sizeof(std::uint16_t)) {
    const auto half = load_le<std::uint16_t>(numbers.data() + at);
    store_le(to.data() + 2 * at, from == DType::bfloat16 ? from_bfloat16(half) : from_float16(half));
  }
}

}  // namespace detail

DISTRIB_DECL auto BundleReader::open(std::string prefix, ErrorRef to) -> std::optional<BundleReader> {
  detail::ErrorOut error{to};
  BundleReader reader{std::move(prefix)};
  if (!detail::read_index_of(reader.prefix_, reader.index_, error)) return std::nullopt;
  if (!reader.check_sizes(0, reader.index_.shards, error)) return std::nullopt;
  return reader;
}

DISTRIB_DECL auto BundleReader::open_part(std::string prefix, std::size_t shard, std::size_t shards, Error& error)
    -> std::optional<BundleReader> {
  const std::string file = part_file_name(prefix, shard, shards);
  BundleReader reader{std::move(prefix)};
  reader.is_part_ = true;
  if (!detail::read_index_file(file, reader.index_, error)) return std::nullopt;
  bool own = reader.index_.shards == shards;
  for (const StoredTensor& tensor : reader.index_.tensors)
    for (const StoredTensor::Piece& piece : tensor.pieces) own = own && piece.shard == shard;
  if (!own) {
    error = {checkpoint_errc::corrupt_index, file + ": it is the part of another shard"};
    return std::nullopt;
  }
  if (!reader.check_sizes(shard, shard + 1, error)) return std::nullopt;
  return reader;
}

DISTRIB_DECL auto BundleReader::of_files(std::string name, std::vector<std::string> files,
                                         std::vector<StoredTensor> tensors) -> BundleReader {
  BundleReader reader{std::move(name)};
  reader.index_.shards = files.size();
  reader.files_ = std::move(files);
  reader.set_tensors(std::move(tensors));
  return reader;
}

DISTRIB_DECL auto BundleReader::of_ranges(std::string name, BundleIndex index, std::vector<std::string> names,
                                          std::vector<RangedBytes> files, std::optional<std::size_t> part, ErrorRef to)
    -> std::optional<BundleReader> {
  detail::ErrorOut error{to};
  BundleReader reader{std::move(name)};
  reader.index_ = std::move(index);
  reader.is_part_ = part.has_value();
  reader.files_ = std::move(names);
  for (RangedBytes& file : files) reader.elsewhere_.push_back(std::make_shared<const RangedBytes>(std::move(file)));
  if (files.size() != reader.index_.shards || reader.files_.size() != files.size() || files.empty())
    error = {checkpoint_errc::corrupt_index, reader.prefix_ + ": another number of data files"};
  if (!error) reader.check_sizes(part.value_or(0), part ? *part + 1 : files.size(), error);
  return error ? std::nullopt : std::optional{std::move(reader)};
}

DISTRIB_DECL void BundleReader::add_name(std::string_view name, std::string other) {
  const StoredTensor* tensor = find(name);
  if (tensor == nullptr || find(other) != nullptr) return;
  StoredTensor copy = *tensor;
  copy.name = std::move(other);
  const auto after = [](const StoredTensor& a, const StoredTensor& b) { return a.name < b.name; };
  index_.tensors.insert(std::upper_bound(index_.tensors.begin(), index_.tensors.end(), copy, after), copy);
}

DISTRIB_DECL void BundleReader::set_tensors(std::vector<StoredTensor> tensors) {
  detail::sort_by_name(tensors);
  index_.tensors = std::move(tensors);
}

DISTRIB_DECL void BundleReader::read(std::string_view name, const Slice& wanted, std::span<std::byte> out,
                                     ErrorRef to) const {
  detail::ErrorOut error{to};
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

  if (!tensor->stored_as) {
    read_stored(*tensor, wanted, out, error);
    return;
  }
  std::vector<std::byte> stored(out.size() / element_bytes * size_bytes(*tensor->stored_as));
  if (read_stored(*tensor, wanted, stored, error)) detail::widen(*tensor->stored_as, stored, out);
}

DISTRIB_DECL auto BundleReader::read_stored(const StoredTensor& tensor, const Slice& wanted, std::span<std::byte> out,
                                            Error& error) const -> bool {
  for (const StoredTensor::Piece& piece : tensor.pieces)
    if (piece.slice == wanted) return read_piece(tensor, piece, out, error);
  if (!tensor.complete) {
    fail(error, checkpoint_errc::incomplete, tensor, to_string(tensor.shape));
    return false;
  }
  const std::size_t element_bytes = size_bytes(tensor.stored_dtype());
  std::vector<std::byte> buffer;
  for (const StoredTensor::Piece& piece : tensor.pieces) {
    if (!touches(piece.slice, wanted)) continue;
    if (read_run(piece, wanted, out, element_bytes, error)) continue;
    if (error) return false;
    buffer.resize(static_cast<std::size_t>(piece.size_bytes));
    if (!read_piece(tensor, piece, buffer, error)) return false;
    detail::copy_overlap(piece.slice, buffer.data(), wanted, out.data(), element_bytes);
  }
  return true;
}

DISTRIB_DECL auto BundleReader::read_run(const StoredTensor::Piece& piece, const Slice& wanted,
                                         std::span<std::byte> out, std::size_t element_bytes, Error& error) const
    -> bool {
  if (piece.checksum != StoredTensor::Checksum::none || !piece.strides.empty()) return false;
  struct Run {
    std::size_t from = 0;
    std::size_t to = 0;
    std::size_t count = 0;
  } run;
  const auto elements = detail::for_each_overlap(
      piece.slice, wanted, [&](std::size_t from, std::size_t to, std::size_t count) { run = {from, to, count}; });
  if (run.count != static_cast<std::size_t>(elements)) return false;
  const auto file = open_data(piece.shard, error);
  return file && file->read(piece.offset + run.from * element_bytes,
                            out.subspan(run.to * element_bytes, run.count * element_bytes), error);
}

DISTRIB_DECL auto BundleReader::read_strings(std::string_view name, ErrorRef to) const -> std::vector<std::string> {
  detail::ErrorOut error{to};
  std::vector<std::string> values;
  const StoredTensor* tensor = present(name, error);
  if (tensor == nullptr) return values;
  if (tensor->dtype != DType::string)
    fail(error, checkpoint_errc::mismatch, *tensor, "it holds " + std::string{distrib::name(tensor->dtype)});
  else if (tensor->pieces.size() != 1 || tensor->pieces.front().slice != Slice::whole(tensor->shape))
    fail(error, checkpoint_errc::unsupported, *tensor, "a tensor of texts in slices");
  else read_texts(*tensor, tensor->pieces.front(), values, error);
  return values;
}

DISTRIB_DECL void BundleReader::verify(std::string_view name, ErrorRef to) const {
  detail::ErrorOut error{to};
  const StoredTensor* const tensor = present(name, error);
  if (tensor == nullptr) return;
  std::uint64_t longest = 1;
  for (const StoredTensor::Piece& piece : tensor->pieces) longest = std::max(longest, piece.size_bytes);
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min<std::uint64_t>(longest, std::uint64_t{1} << 20)));
  verify_tensor(*tensor, buffer, error);
}

DISTRIB_DECL void BundleReader::verify(ErrorRef to) const {
  detail::ErrorOut error{to};
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  for (const StoredTensor& tensor : index_.tensors)
    if (!verify_tensor(tensor, buffer, error)) return;
}

DISTRIB_DECL auto BundleReader::verify_tensor(const StoredTensor& tensor, std::span<std::byte> buffer,
                                              Error& error) const -> bool {
  if (!tensor.complete && !is_part_) fail(error, checkpoint_errc::incomplete, tensor, to_string(tensor.shape));
  for (const StoredTensor::Piece& piece : tensor.pieces)
    if (!error) verify_piece(tensor, piece, buffer, error);
  return !error;
}

// The checksums of texts and variants are not computed over the stored bytes.
DISTRIB_DECL auto BundleReader::verify_piece(const StoredTensor& tensor, const StoredTensor::Piece& piece,
                                             std::span<std::byte> buffer, Error& error) const -> bool {
  if (tensor.dtype == DType::string) {
    std::vector<std::string> values;
    return read_texts(tensor, piece, values, error);
  }
  if (tensor.dtype != variant_type)
    return stream_piece(tensor, piece, {0, piece.size_bytes}, buffer, [](auto, auto) {}, error);
  VariantSum sum{static_cast<std::uint64_t>(piece.slice.extents.elements())};
  if (!for_each_chunk(piece, buffer, [&](auto, ByteView chunk) { sum.add(chunk); }, error)) return false;
  if (!sum.is_right(piece.masked_crc)) fail_crc(error, tensor, piece);
  return !error;
}

// True if every piece lies inside its file, so that no length from the index makes a reader allocate more memory than
// the file is long. All pieces are in the data files `first` .. `end - 1`.
DISTRIB_DECL auto BundleReader::check_sizes(std::uint64_t first, std::uint64_t end, Error& error) const -> bool {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t shard = first; shard < end; ++shard) {
    const auto file = open_data(shard, error);
    if (!file) return false;
    sizes.push_back(file->size());
  }
  for (const StoredTensor& tensor : index_.tensors)
    for (const StoredTensor::Piece& piece : tensor.pieces) {
      const std::uint64_t size = sizes[static_cast<std::size_t>(piece.shard - first)];
      if (piece.offset <= size && piece.size_bytes <= size - piece.offset) continue;
      error = {checkpoint_errc::corrupt_data,
               data_file(piece.shard) + " ends at " + std::to_string(size) + ", inside " + tensor.name};
      return false;
    }
  return true;
}

DISTRIB_DECL auto BundleReader::read_piece(const StoredTensor& tensor, const StoredTensor::Piece& piece,
                                           std::span<std::byte> to, Error& error) const -> bool {
  auto stream = this->stream(tensor, piece, error);
  return stream && stream->read(to, error);
}

DISTRIB_DECL auto BundleReader::read_texts(const StoredTensor& tensor, const StoredTensor::Piece& piece,
                                           std::vector<std::string>& values, Error& error) const -> bool {
  std::vector<std::byte> bytes(static_cast<std::size_t>(piece.size_bytes));
  const auto file = open_data(piece.shard, error);
  if (!file || !file->read(piece.offset, bytes, error)) return false;
  const auto count = static_cast<std::uint64_t>(piece.slice.extents.elements());
  if (!parse_strings(bytes, count, piece.masked_crc, values)) fail_crc(error, tensor, piece);
  return !error;
}

}  // namespace v0
}  // namespace distrib
