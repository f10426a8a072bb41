// SPDX-License-Identifier: Apache-2.0
// Functions that several tests of files of tensors need.
#pragma once

#include <distrib/checkpoint/formats/named_tensor.hpp>
#include <distrib/checkpoint/formats/zip_directory.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/io_action.hpp>

#include "checkpoint/checkpoint_support.hpp"

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace support {

/// One attack on readers of safetensors: tests/checkpoint/formats/fixtures/safetensors_cases.tsv.
struct SafetensorsCase {
  std::string name;
  bool taken = false;
  std::string tensors;  ///< "a:F32[1] b:U8[2,3]", in the order of the names.
  Bytes file;
};

inline auto safetensors_cases() -> std::vector<SafetensorsCase> {
  std::ifstream file{test_dir() + "/checkpoint/formats/fixtures/safetensors_cases.tsv"};
  std::vector<SafetensorsCase> cases;
  std::string name;
  std::string verdict;
  std::string tensors;
  std::string hex;
  while (std::getline(file, name, '\t') && std::getline(file, verdict, '\t') && std::getline(file, tensors, '\t') &&
         std::getline(file, hex))
    cases.push_back({name, verdict == "taken", tensors, from_hex(hex)});
  return cases;
}

/// Returns a safetensors file with this header and these bytes behind it.
inline auto safetensors_file(std::string_view header, std::string_view data = {}) -> Bytes {
  const std::uint64_t size = header.size();
  const auto number = distrib::detail::bytes_of(size);
  Bytes file{number.begin(), number.end()};
  for (const std::string_view text : {header, data}) {
    const auto bytes = distrib::as_bytes(text);
    file.insert(file.end(), bytes.begin(), bytes.end());
  }
  return file;
}

/// Returns a tensor to be written into a file.
template <class T>
auto named(std::string name, const distrib::Shape& shape, const std::vector<T>& values) -> distrib::NamedTensor {
  return {std::move(name), distrib::detail::dtype_of<T>, shape, bytes_of(values)};
}

/// Returns what a plan writes into each file that it renames to its place, by the name that the file then has.
inline auto files_of(const distrib::FilePlan& plan) -> std::map<std::string, std::string> {
  using Kind = distrib::FileAction::Kind;
  std::map<std::string, std::string> files;
  for (const distrib::FileAction& action : plan) {
    if (action.kind == Kind::write) files[action.path].clear();
    if (action.kind == Kind::write || action.kind == Kind::append) {
      for (const auto view : action.views) files[action.path] += distrib::as_text(view);
      files[action.path] += distrib::as_text(action.owned);
    }
    if (action.kind == Kind::rename) {
      files[action.path] = files.at(action.from);
      files.erase(action.from);
    }
  }
  return files;
}

/// Reads from bytes in memory, for `read_zip_directory`.
inline auto read_from(distrib::ByteView bytes) -> distrib::detail::ReadAt {
  return [bytes](std::uint64_t offset, std::span<std::byte> to, distrib::Error& error) {
    if (offset > bytes.size() || to.size() > bytes.size() - offset) {
      error = {distrib::checkpoint_errc::corrupt_data, "beyond the end"};
      return false;
    }
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), to.size(), to.begin());
    return true;
  };
}

}  // namespace support
