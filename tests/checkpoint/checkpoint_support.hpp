// SPDX-License-Identifier: Apache-2.0
// Functions that several tests of checkpoints need.
#pragma once

#include <distrib/checkpoint/bundle_writer.hpp>
#include <distrib/checkpoint/perform.hpp>
#include <distrib/core/sha256.hpp>

#include "support/catch.hpp"
#include "support/hex.hpp"
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

/// Returns a tensor that is saved whole.
template <class T>
auto whole(std::string name, const distrib::Shape& shape, const std::vector<T>& values)
    -> distrib::BundlePart::TensorPiece {
  return {std::move(name), distrib::detail::dtype_of<T>, shape, distrib::Slice::whole(shape), bytes_of(values)};
}

inline const std::string fixtures = test_dir() + "/checkpoint/fixtures/";

}  // namespace support
