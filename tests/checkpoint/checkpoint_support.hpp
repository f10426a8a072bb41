// SPDX-License-Identifier: Apache-2.0
// What several tests of checkpoints need.
#pragma once

#include <distrib/checkpoint/bundle_writer.hpp>
#include <distrib/checkpoint/file_shell.hpp>

#include "support/catch.hpp"
#include "support/test_dir.hpp"

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace support {

using Bytes = std::vector<std::byte>;

inline auto from_hex(std::string_view hex) -> Bytes {
  Bytes bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string{hex.substr(i, 2)}, nullptr, 16)));
  return bytes;
}

inline auto to_hex(distrib::ByteView bytes) -> std::string {
  std::string hex;
  for (const std::byte byte : bytes) {
    hex += "0123456789abcdef"[static_cast<unsigned>(byte) >> 4];
    hex += "0123456789abcdef"[static_cast<unsigned>(byte) & 15];
  }
  return hex;
}

inline auto read_file(const std::string& path) -> Bytes {
  std::ifstream file{path, std::ios::binary};
  REQUIRE(file.good());
  const std::string text{std::istreambuf_iterator<char>{file}, {}};
  const auto bytes = distrib::as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

inline void write_file(const std::string& path, distrib::ByteView bytes) {
  distrib::perform(std::vector<distrib::FileAction>{distrib::FileAction::write(path, {bytes}, {})});
}
inline void write_file(const std::string& path, std::string_view text) { write_file(path, distrib::as_bytes(text)); }

template <class T>
auto bytes_of(const std::vector<T>& values) -> distrib::ByteView {
  return std::as_bytes(std::span{values});
}

/// A tensor saved whole.
template <class T>
auto whole(std::string name, const distrib::Shape& shape, const std::vector<T>& values) -> distrib::TensorPiece {
  return {std::move(name), distrib::dtype_of<T>, shape, distrib::Slice::whole(shape), bytes_of(values)};
}

inline const std::string fixtures = test_dir() + "/checkpoint/fixtures/";

}  // namespace support
