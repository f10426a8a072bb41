// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/formats/safetensors_writer.hpp>

#include <distrib/checkpoint/formats/safetensors_header.hpp>
#include <distrib/checkpoint/formats/safetensors_index.hpp>
#include <distrib/checkpoint/perform.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/json_text.hpp>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto bytes_of_tensor(const NamedTensor& tensor) noexcept -> std::uint64_t {
  return static_cast<std::uint64_t>(tensor.shape.elements()) * size_bytes(tensor.dtype);
}

// Returns which tensors each file has. The last file has at least one tensor, unless there are none at all.
DISTRIB_DECL auto divide_into_files(std::span<const NamedTensor> tensors, std::uint64_t most)
    -> std::vector<std::vector<std::size_t>> {
  std::vector<std::size_t> by_name(tensors.size());
  std::iota(by_name.begin(), by_name.end(), std::size_t{0});
  std::ranges::sort(by_name, {}, [&](std::size_t at) -> const std::string& { return tensors[at].name; });
  std::vector<std::vector<std::size_t>> files(1);
  std::uint64_t bytes = 0;
  for (const std::size_t at : by_name) {
    const std::uint64_t own = bytes_of_tensor(tensors[at]);
    if (most != 0 && !files.back().empty() && (own > most || bytes > most - own)) {
      files.emplace_back();
      bytes = 0;
    }
    files.back().push_back(at);
    bytes += own;
  }
  return files;
}

// Returns the length and the header of a file that has these tensors in this order. On failure sets `error`.
DISTRIB_DECL auto safetensors_head(std::span<const NamedTensor> tensors, std::span<const std::size_t> in_file,
                                   const SafetensorsOptions& options, Error& error) -> std::vector<std::byte> {
  auto metadata = options.metadata;
  for (const std::size_t at : in_file)
    if (const auto own = options.metadata_of.find(tensors[at].name); own != options.metadata_of.end())
      metadata.insert(own->second);
  std::string text = "{";
  const auto member = [&](std::string_view name) { text += (text.size() > 1 ? "," : "") + json_text(name) + ":"; };
  if (!metadata.empty()) {
    member(safetensors_metadata);
    const char* before = "{";
    for (const auto& [name, value] : metadata) {
      text += before + json_text(name) + ":" + json_text(value);
      before = ",";
    }
    text += "}";
  }
  std::uint64_t offset = 0;
  for (const std::size_t at : in_file) {
    const NamedTensor& tensor = tensors[at];
    member(tensor.name);
    text += R"({"dtype":")";
    text += safetensors_type(tensor.dtype);
    text += R"(","shape":)" + to_string(tensor.shape) + R"(,"data_offsets":[)" + std::to_string(offset) + ",";
    offset += bytes_of_tensor(tensor);
    text += std::to_string(offset) + "]}";
  }
  text += "}";
  text.append((0 - text.size()) % 8, ' ');
  if (text.size() > max_safetensors_header) {
    error = {checkpoint_errc::mismatch, std::to_string(in_file.size()) + " tensors need a header of " +
                                            std::to_string(text.size()) + " bytes; write several files"};
    return {};
  }
  std::vector<std::byte> head(safetensors_length_bytes);
  store_le(head.data(), static_cast<std::uint64_t>(text.size()));
  const ByteView bytes = as_bytes(text);
  head.insert(head.end(), bytes.begin(), bytes.end());
  return head;
}

DISTRIB_DECL auto lay_out_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                                      const SafetensorsOptions& options, Error& error) -> FileLayout {
  constexpr std::string_view suffix = ".safetensors";
  FileLayout layout;
  if (!check_tensors(tensors, error)) return {};
  for (const NamedTensor& tensor : tensors)
    if (tensor.name == safetensors_metadata) {
      error = {checkpoint_errc::mismatch, tensor.name + ": the format has another meaning for this name"};
      return {};
    }
  auto files = divide_into_files(tensors, options.max_file_bytes);
  const std::string index_path = path + ".index.json";
  const std::string stem = path.substr(0, path.size() - (path.ends_with(suffix) ? suffix.size() : 0));
  WeightMap map;
  std::uint64_t total_bytes = 0;
  for (std::size_t number = 0; number < files.size(); ++number) {
    FileLayout::File file{path, {}, {}};
    if (files.size() > 1) {
      file.path = stem + "-" + shard_of_shards(number + 1, files.size()) + std::string{suffix};
    }
    std::ranges::sort(files[number], [&](std::size_t a, std::size_t b) {
      const std::size_t one = safetensors_order(tensors[a].dtype);
      const std::size_t other = safetensors_order(tensors[b].dtype);
      return one != other ? one > other : tensors[a].name < tensors[b].name;
    });
    file.after = safetensors_head(tensors, files[number], options, error);
    if (error) return {};
    for (const std::size_t at : files[number]) {
      file.parts.push_back({std::exchange(file.after, {}), at});
      map[tensors[at].name] = file_of(file.path);
      total_bytes += bytes_of_tensor(tensors[at]);
    }
    layout.files.push_back(std::move(file));
  }
  layout.stale.push_back(index_path);
  if (files.size() > 1) {
    layout.stale.push_back(path);
    layout.index_path = index_path;
    layout.index = safetensors_index_text(map, total_bytes);
  }
  return layout;
}

}  // namespace detail

DISTRIB_DECL auto plan_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                                   const SafetensorsOptions& options, ErrorRef to) -> FilePlan {
  detail::ErrorOut error{to};
  auto layout = detail::lay_out_safetensors(path, tensors, options, error);
  if (error) return {};
  return detail::plan_layout(std::move(layout), tensors, error);
}

DISTRIB_DECL void save_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                                   const SafetensorsOptions& options, ErrorRef to) {
  detail::ErrorOut error{to};
  const FilePlan plan = plan_safetensors(path, tensors, options, error);
  if (!error) perform(plan, error);
}

}  // namespace v0
}  // namespace distrib
