// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/formats/tensor_file.hpp>

#include <distrib/checkpoint/crc32.hpp>
#include <distrib/checkpoint/detail/input_file.hpp>
#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/formats/safetensors_header.hpp>
#include <distrib/checkpoint/formats/safetensors_index.hpp>
#include <distrib/checkpoint/formats/torch_pickle.hpp>
#include <distrib/checkpoint/formats/zip_directory.hpp>
#include <distrib/core/files.hpp>
#include <distrib/core/paths.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

// What files begin with: an archive, a pickle as `torch.save` wrote it before 1.6, the header of a tape archive.
inline constexpr std::string_view zip_beginning = "PK\x03\x04";
inline constexpr std::string_view pickle_beginning = "\x80\x02";
inline constexpr std::size_t tar_magic_at = 257;

DISTRIB_DECL auto first_bytes(const std::string& path, std::size_t most) -> std::string {
  std::error_code ec;
  return is_directory(path) || !path_exists(path) ? std::string{} : read_up_to(path, most, ec);
}

DISTRIB_DECL auto tensor_format_of(const std::string& path) -> TensorFormat {
  if (path.ends_with(".safetensors") || path.ends_with(".index.json")) return TensorFormat::safetensors;
  if (path.ends_with(".pt") || path.ends_with(".pth")) return TensorFormat::torch;
  const std::string first = first_bytes(path, safetensors_length_bytes + 1);
  if (first.starts_with(zip_beginning) || first.starts_with(pickle_beginning)) return TensorFormat::torch;
  // The length of a header is below 2^27, so four of its bytes are zero.
  const bool is_header =
      first.size() > safetensors_length_bytes && first.back() == '{' && first.substr(4, 4) == std::string(4, '\0');
  return is_header ? TensorFormat::safetensors : TensorFormat::checkpoint;
}

/// Opens one file of tensors. The errors of its members name the file.
class TensorFileOpener {
 public:
  TensorFileOpener(std::string path, Error& error) : path_{std::move(path)}, error_{error} {}

  /// Reads the header of a safetensors file.
  DISTRIB_DECL auto safetensors(SafetensorsHeader& header) -> bool;
  /// Reads what a PyTorch file says about its tensors, which are then pieces of data file 0.
  DISTRIB_DECL auto torch(std::vector<StoredTensor>& tensors) -> bool;

 private:
  auto refuse(checkpoint_errc code, const std::string& what) -> bool {
    error_ = {code, path_ + ": " + what};
    return false;
  }
  auto named() -> bool {  // adds the name of the file to an error without it
    error_.where = path_ + ": " + error_.where;
    return false;
  }
  DISTRIB_DECL auto refuse_no_archive() -> bool;
  DISTRIB_DECL auto read_entry(const InputFile& file, const ZipEntry& entry, std::uint64_t most, std::string& text)
      -> bool;
  DISTRIB_DECL auto find_folder(std::string& folder) -> bool;
  DISTRIB_DECL auto make_tensors(const InputFile& file, const TorchState& state, const std::string& folder,
                                 std::vector<StoredTensor>& tensors) -> bool;
  DISTRIB_DECL auto verify_entry(const InputFile& file, const ZipEntry& entry) -> bool;
  auto find_entry(const std::string& name) const -> const ZipEntry* {
    const auto at =
        std::lower_bound(entries_.begin(), entries_.end(), name,
                         [](const ZipEntry& entry, const std::string& wanted) { return entry.name < wanted; });
    return at != entries_.end() && at->name == name ? &*at : nullptr;
  }

  std::string path_;
  Error& error_;
  std::vector<ZipEntry> entries_;  // in ascending order of the names
  bool has_checksums_ = true;  // false: torch.save was told to leave them out, and wrote zeros
};

DISTRIB_DECL auto TensorFileOpener::safetensors(SafetensorsHeader& header) -> bool {
  const auto file = InputFile::open(path_, checkpoint_errc::no_such_checkpoint, error_);
  if (!file) return false;
  std::vector<std::byte> head(
      static_cast<std::size_t>(std::min<std::uint64_t>(file->size(), safetensors_length_bytes)));
  if (!file->read(0, head, error_)) return false;
  const auto bytes = safetensors_header_bytes(head, file->size(), error_);
  if (!bytes) return named();
  head.resize(safetensors_length_bytes + static_cast<std::size_t>(*bytes));
  if (!file->read(0, head, error_)) return false;
  return parse_safetensors(head, file->size(), header, error_) || named();
}

DISTRIB_DECL auto TensorFileOpener::torch(std::vector<StoredTensor>& tensors) -> bool {
  constexpr std::uint64_t most_pickle_bytes = std::uint64_t{32} << 20;
  const auto file = InputFile::open(path_, checkpoint_errc::no_such_checkpoint, error_);
  if (!file) return false;
  std::array<std::byte, 4> first{};
  if (file->size() >= first.size() && !file->read(0, first, error_)) return false;
  if (as_text(first) != zip_beginning) return refuse_no_archive();
  const ReadAt read = [&](std::uint64_t offset, std::span<std::byte> to, Error& error) {
    return file->read(offset, to, error);
  };
  if (!read_zip_directory(file->size(), read, entries_, error_)) {
    const bool is_of_read = error_.code == checkpoint_errc::cannot_read || error_.code == checkpoint_errc::corrupt_data;
    return is_of_read ? false : named();
  }
  std::string folder;
  if (!find_folder(folder)) return false;
  const ZipEntry& of_pickle = *find_entry(folder + "data.pkl");
  has_checksums_ = of_pickle.crc32 != 0;
  std::string order = "little";
  if (const ZipEntry* const entry = find_entry(folder + "byteorder"); entry && !read_entry(*file, *entry, 16, order))
    return false;
  if (order != "little") return refuse(checkpoint_errc::unsupported, "written on a machine that is big-endian");
  std::string pickle;
  if (!read_entry(*file, of_pickle, most_pickle_bytes, pickle)) return false;
  TorchState state;
  if (!parse_torch_pickle(as_bytes(pickle), state, error_)) return named();
  return make_tensors(*file, state, folder, tensors);
}

// Says what a file is that is no zip archive.
DISTRIB_DECL auto TensorFileOpener::refuse_no_archive() -> bool {
  const std::string again = "; load it with PyTorch and save it again with torch.save";
  const std::string first = first_bytes(path_, 512);
  if (first.starts_with(pickle_beginning))
    return refuse(checkpoint_errc::unsupported, "a pickle, as PyTorch wrote it before 1.6" + again);
  if (first.size() > tar_magic_at && first.substr(tar_magic_at).starts_with("ustar"))
    return refuse(checkpoint_errc::unsupported, "a tape archive, as PyTorch wrote it before 0.1.10" + again);
  return refuse(checkpoint_errc::bad_tensor_file, "it does not begin as a zip archive");
}

// Finds the folder that all files of torch.save are in. Refuses archives that are not of torch.save.
DISTRIB_DECL auto TensorFileOpener::find_folder(std::string& folder) -> bool {
  constexpr std::string_view pickle = "/data.pkl";
  std::size_t found = 0;
  for (const ZipEntry& entry : entries_) {
    if (!entry.name.ends_with(pickle) || entry.name.find('/') != entry.name.size() - pickle.size()) continue;
    folder = entry.name.substr(0, entry.name.size() - pickle.size() + 1);
    ++found;
  }
  if (found != 1)
    return refuse(checkpoint_errc::bad_tensor_file, "no archive of torch.save: it has no FOLDER/data.pkl");
  if (find_entry(folder + "constants.pkl") != nullptr)
    return refuse(checkpoint_errc::unsupported,
                  "a TorchScript module, with code; save its tensors alone: torch.save(module.state_dict(), FILE)");
  for (const ZipEntry& entry : entries_)
    if (entry.is_compressed)
      return refuse(checkpoint_errc::unsupported, "entry " + entry.name +
                                                      " is compressed; PyTorch does not compress: save it again with "
                                                      "torch.save");
  return true;
}

DISTRIB_DECL auto TensorFileOpener::read_entry(const InputFile& file, const ZipEntry& entry, std::uint64_t most,
                                               std::string& text) -> bool {
  if (entry.size > most)
    return refuse(checkpoint_errc::unsupported, "entry " + entry.name + " has " + std::to_string(entry.size) +
                                                    " bytes; at most " + std::to_string(most) + " are read");
  if (!verify_entry(file, entry)) return false;
  text.resize(static_cast<std::size_t>(entry.size));
  return file.read(entry.offset, std::as_writable_bytes(std::span{text}), error_);
}

DISTRIB_DECL auto TensorFileOpener::verify_entry(const InputFile& file, const ZipEntry& entry) -> bool {
  if (!has_checksums_) return true;
  std::uint32_t crc = 0;
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min<std::uint64_t>(entry.size, std::uint64_t{1} << 20)));
  for (std::uint64_t done = 0; done < entry.size;) {
    const std::span chunk =
        std::span{buffer}.first(static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), entry.size - done)));
    if (!file.read(entry.offset + done, chunk, error_)) return false;
    crc = crc32_extend(crc, chunk);
    done += chunk.size();
  }
  return crc == entry.crc32 || refuse(checkpoint_errc::corrupt_data, "entry " + entry.name);
}

DISTRIB_DECL auto TensorFileOpener::make_tensors(const InputFile& file, const TorchState& state,
                                                 const std::string& folder, std::vector<StoredTensor>& tensors)
    -> bool {
  std::vector<const ZipEntry*> found;
  for (const TorchStorage& storage : state.storages) {
    const ZipEntry* const entry = find_entry(folder + "data/" + storage.key);
    if (entry == nullptr || entry->size != storage.size_bytes)
      return refuse(checkpoint_errc::bad_tensor_file,
                    "storage " + storage.key + " of " + std::to_string(storage.size_bytes) +
                        (entry == nullptr ? " bytes is missing" : " bytes has " + std::to_string(entry->size)));
    found.push_back(entry);
  }
  std::vector<bool> read_in_part(state.storages.size());
  for (const TorchTensor& tensor : state.tensors) {
    const ZipEntry& entry = *found[tensor.storage];
    const Shape shape{tensor.extents};
    const auto bytes = static_cast<std::uint64_t>(shape.elements()) * tensor.element_bytes;
    StoredTensor::Piece piece{Slice::whole(shape), 0, entry.offset + tensor.first * tensor.element_bytes, bytes};
    std::int64_t row_major = 1;
    bool is_row_major = true;
    for (std::size_t axis = shape.rank(); axis-- > 0 && bytes != 0;) {
      is_row_major = is_row_major && (shape[axis] == 1 || tensor.strides[axis] == row_major);
      row_major *= shape[axis];
    }
    if (!is_row_major) piece.strides = tensor.strides;
    piece.masked_crc = entry.crc32;
    piece.checksum = StoredTensor::Checksum::crc32;
    if (!has_checksums_ || !is_row_major || bytes != entry.size) {
      piece.checksum = StoredTensor::Checksum::none;
      read_in_part[tensor.storage] = true;
    }
    StoredTensor stored{tensor.name, tensor.dtype, shape, {}, true};
    stored.other_type = tensor.other_type;
    stored.pieces.push_back(std::move(piece));
    tensors.push_back(std::move(stored));
  }
  for (std::size_t i = 0; i < found.size(); ++i)
    if (read_in_part[i] && !verify_entry(file, *found[i])) return false;
  return true;
}

// True if all booleans are 0 or 1. Otherwise sets `error`.
DISTRIB_DECL auto have_true_booleans(const BundleReader& reader, Error& error) -> bool {
  std::vector<std::byte> buffer(std::size_t{1} << 16);
  for (const StoredTensor& tensor : reader.tensors()) {
    if (tensor.dtype != DType::boolean) continue;
    for (const StoredTensor::Piece& piece : tensor.pieces) {
      auto stream = reader.stream(tensor, piece, error);
      while (stream && stream->left() != 0) {
        const std::span chunk =
            std::span{buffer}.first(static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), stream->left())));
        if (!stream->read(chunk, error)) return false;
        if (std::all_of(chunk.begin(), chunk.end(), [](std::byte value) { return value <= std::byte{1}; })) continue;
        error = {checkpoint_errc::bad_tensor_file,
                 reader.prefix() + ": " + tensor.name + ": a boolean that is not 0 or 1"};
        return false;
      }
      if (!stream) return false;
    }
  }
  return true;
}

// Opens the files that an index lists.
DISTRIB_DECL auto open_sharded(const std::string& path, TensorFile& opened, Error& error) -> bool {
  std::vector<std::byte> text;
  if (!read_file(path, max_safetensors_header, checkpoint_errc::bad_tensor_file, text, error)) {
    if (error.code == checkpoint_errc::not_found) error.code = checkpoint_errc::no_such_checkpoint;
    return false;
  }
  WeightMap map;
  if (!parse_safetensors_index(as_text(text), map, error)) {
    error.where = path + ": " + error.where;
    return false;
  }
  std::vector<std::string> files;
  for (const auto& [name, file] : map) files.push_back(file);
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  std::vector<StoredTensor> tensors;
  for (std::size_t number = 0; number < files.size(); ++number) {
    const std::string file = std::exchange(files[number], join_path(directory_of(path), files[number]));
    SafetensorsHeader header;
    if (!TensorFileOpener{files[number], error}.safetensors(header)) {
      if (error.code == checkpoint_errc::no_such_checkpoint) error.code = checkpoint_errc::missing_data_file;
      return false;
    }
    for (StoredTensor& tensor : header.tensors) {
      const auto listed = map.find(tensor.name);
      if (listed == map.end() || listed->second != file) continue;
      tensor.pieces.front().shard = number;
      tensors.push_back(std::move(tensor));
      map.erase(listed);
    }
    for (auto& member : header.metadata) opened.metadata.insert(std::move(member));
  }
  if (!map.empty()) {
    error = {checkpoint_errc::bad_tensor_file,
             path + ": " + map.begin()->second + " lacks the tensor " + map.begin()->first};
    return false;
  }
  opened.reader = BundleReader::of_files(path, std::move(files), std::move(tensors));
  return true;
}

DISTRIB_DECL auto open_other_format(const std::string& path, TensorFile& opened, Error& error) -> bool {
  if (path.ends_with(".index.json")) {
    if (!open_sharded(path, opened, error)) return false;
  } else if (opened.format == TensorFormat::safetensors) {
    SafetensorsHeader header;
    if (!TensorFileOpener{path, error}.safetensors(header)) return false;
    opened.metadata = std::move(header.metadata);
    opened.reader = BundleReader::of_files(path, {path}, std::move(header.tensors));
  } else {
    std::vector<StoredTensor> tensors;
    if (!TensorFileOpener{path, error}.torch(tensors)) return false;
    if (const StoredTensor* const twice = sort_by_name(tensors)) {
      error = {checkpoint_errc::bad_tensor_file, path + ": tensor " + twice->name + " occurs twice"};
      return false;
    }
    opened.reader = BundleReader::of_files(path, {path}, std::move(tensors));
  }
  return have_true_booleans(opened.reader, error);
}

}  // namespace detail

DISTRIB_DECL auto open_tensor_file(const std::string& path, ErrorRef to) -> std::optional<TensorFile> {
  detail::ErrorOut error{to};
  const TensorFormat format = detail::tensor_format_of(path);
  if (format == TensorFormat::checkpoint) {
    auto reader = BundleReader::open(path, error);
    if (!reader) return std::nullopt;
    return TensorFile{format, *std::move(reader)};
  }
  TensorFile opened{format, BundleReader::of_files(path, {}, {})};
  if (!detail::open_other_format(path, opened, error)) return std::nullopt;
  return opened;
}

}  // namespace v0
}  // namespace distrib
