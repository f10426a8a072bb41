// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/formats/file_layout.hpp>

#include <distrib/core/bytes.hpp>
#include <distrib/core/utf8.hpp>

#include <set>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto check_tensors(std::span<const NamedTensor> tensors, Error& error) -> bool {
  std::set<std::string_view> names;
  const auto refuse = [&](checkpoint_errc code, std::string what) {
    error = {code, std::move(what)};
    return false;
  };
  for (const NamedTensor& tensor : tensors) {
    if (!is_utf8(tensor.name) || tensor.name.find('\0') != std::string::npos)
      return refuse(checkpoint_errc::mismatch, tensor.name + ": the name is not UTF-8 or has a zero byte");
    if (size_bytes(tensor.dtype) == 0)
      return refuse(checkpoint_errc::mismatch, tensor.name + ": a file of tensors cannot hold texts");
    if (!names.insert(tensor.name).second) return refuse(checkpoint_errc::duplicate, tensor.name);
  }
  return true;
}

DISTRIB_DECL auto plan_publish(const FileLayout& layout) -> FilePlan {
  FilePlan plan;
  for (const FileLayout::File& file : layout.files) plan.push_back(FileAction::sync(file.temporary()));
  const FileLayout::File index{layout.index_path, {}, {}};
  const bool has_index = !layout.index_path.empty();
  if (has_index) {
    const ByteView text = as_bytes(layout.index);
    plan.push_back(FileAction::write(index.temporary(), {}, {text.begin(), text.end()}));
    plan.push_back(FileAction::sync(index.temporary()));
  }
  const std::string directory = directory_of(has_index ? layout.index_path : layout.files.front().path);
  for (const std::string& path : layout.stale) plan.push_back(FileAction::remove(path));
  if (!layout.stale.empty()) plan.push_back(FileAction::sync_directory(directory));
  for (const FileLayout::File& file : layout.files) plan.push_back(FileAction::rename(file.temporary(), file.path));
  plan.push_back(FileAction::sync_directory(directory));
  if (has_index) {
    plan.push_back(FileAction::rename(index.temporary(), index.path));
    plan.push_back(FileAction::sync_directory(directory));
  }
  return plan;
}

DISTRIB_DECL auto plan_layout(FileLayout layout, std::span<const NamedTensor> tensors, Error& error) -> FilePlan {
  FilePlan plan;
  for (FileLayout::File& file : layout.files) {
    const std::string temporary = file.temporary();
    plan.push_back(FileAction::write(temporary, {}, {}));
    for (FileLayout::Part& part : file.parts) {
      const NamedTensor& tensor = tensors[part.tensor];
      const std::size_t size = size_bytes(tensor.dtype);
      if (tensor.bytes.size() % size != 0 ||
          tensor.bytes.size() / size != static_cast<std::size_t>(tensor.shape.elements())) {
        error = {checkpoint_errc::mismatch, tensor.name + ": " + std::to_string(tensor.bytes.size()) + " bytes for " +
                                                std::string{name(tensor.dtype)} + to_string(tensor.shape)};
        return {};
      }
      if (!part.before.empty()) plan.push_back(FileAction::append(temporary, {}, std::move(part.before)));
      if (!tensor.bytes.empty()) plan.push_back(FileAction::append(temporary, {tensor.bytes}, {}));
    }
    if (!file.after.empty()) plan.push_back(FileAction::append(temporary, {}, std::move(file.after)));
  }
  append(plan, plan_publish(layout));
  return plan;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
