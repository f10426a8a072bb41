// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/formats/torch_writer.hpp>

#include <distrib/checkpoint/crc32.hpp>
#include <distrib/checkpoint/formats/torch_pickle.hpp>
#include <distrib/checkpoint/formats/zip_directory.hpp>
#include <distrib/checkpoint/perform.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/paths.hpp>

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto lay_out_torch_file(const std::string& path, std::span<const NamedTensor> tensors,
                                     std::span<const std::uint32_t> checksums, Error& error) -> FileLayout {
  if (!check_tensors(tensors, error)) return {};
  FileLayout::File file{path, {}, {}};
  const std::string_view name = file_of(path);
  const std::string folder = std::string{name.substr(0, name.rfind('.'))} + '/';
  ZipLayout zip;
  std::vector<std::byte> before;
  const auto add_small = [&](const char* entry, std::string_view text) {
    const ByteView bytes = as_bytes(text);
    const auto head = zip.add(folder + entry, bytes.size(), crc32_extend(0, bytes));
    before.insert(before.end(), head.begin(), head.end());
    before.insert(before.end(), bytes.begin(), bytes.end());
  };
  add_small("data.pkl", torch_pickle(tensors));
  add_small(".format_version", "1");
  add_small(".storage_alignment", "64");
  add_small("byteorder", "little");
  add_small("version", "3\n");
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto bytes = static_cast<std::uint64_t>(tensors[i].shape.elements()) * size_bytes(tensors[i].dtype);
    const auto head = zip.add(folder + "data/" + std::to_string(i), bytes, checksums[i]);
    before.insert(before.end(), head.begin(), head.end());
    file.parts.push_back({std::exchange(before, {}), i});
  }
  file.after = std::move(before);
  const auto end = zip.finish();
  file.after.insert(file.after.end(), end.begin(), end.end());
  FileLayout layout;
  layout.files.push_back(std::move(file));
  return layout;
}

}  // namespace detail

DISTRIB_DECL auto plan_torch_file(const std::string& path, std::span<const NamedTensor> tensors, ErrorRef to)
    -> FilePlan {
  detail::ErrorOut error{to};
  std::vector<std::uint32_t> checksums;
  for (const NamedTensor& tensor : tensors) checksums.push_back(detail::crc32_extend(0, tensor.bytes));
  auto layout = detail::lay_out_torch_file(path, tensors, checksums, error);
  if (error) return {};
  return detail::plan_layout(std::move(layout), tensors, error);
}

DISTRIB_DECL void save_torch_file(const std::string& path, std::span<const NamedTensor> tensors, ErrorRef to) {
  detail::ErrorOut error{to};
  const FilePlan plan = plan_torch_file(path, tensors, error);
  if (!error) perform(plan, error);
}

}  // namespace v0
}  // namespace distrib
