// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "expect.hpp"
#include "targets.hpp"

#include "support/temp_directory.hpp"

#include <distrib/checkpoint/formats/tensor_file.hpp>
#include <distrib/core/slice.hpp>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace fuzz {

/// A file with this suffix that is written again for each input.
class SuffixedFile {
 public:
  explicit SuffixedFile(const std::string& name) : path_{directory_ / name} {}

  auto write(ByteView bytes) -> const std::string& {
    std::ofstream file{path_, std::ios::binary | std::ios::trunc};
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return path_;
  }

 private:
  support::TempDirectory directory_;
  std::string path_;
};

/// Opens a file of tensors, and reads all of them, whole and by rows. No tensor may have more bytes than the file.
inline void read_tensors(const std::string& path, std::size_t file_bytes) {
  distrib::Error error;
  const auto file = distrib::open_tensor_file(path, error);
  expect(file.has_value() != static_cast<bool>(error), "a file or a failure");
  if (!file) return expect(error.where.starts_with(path), "a failure names the file");
  std::uint64_t read = 0;
  for (const distrib::StoredTensor& tensor : file->reader.tensors()) {
    if (!tensor.is_readable()) continue;
    const std::size_t bytes = static_cast<std::size_t>(tensor.shape.elements()) * size_bytes(tensor.dtype);
    expect(bytes <= file_bytes, "a tensor is not larger than its file");
    if ((read += bytes) > 64 * file_bytes) return;  // many tensors may share a storage
    std::vector<std::byte> whole(bytes);
    file->reader.read(tensor.name, distrib::Slice::whole(tensor.shape), whole, error);
    if (tensor.shape.rank() == 0) continue;
    distrib::Error of_rows;
    std::size_t rows = 0;
    const auto compare = [&](std::int64_t row, ByteView some) {
      const std::size_t row_bytes = bytes / static_cast<std::size_t>(tensor.shape[0]);
      const auto at = whole.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(row) * row_bytes);
      expect(error || std::equal(some.begin(), some.end(), at), "rows are those of the whole tensor");
      rows += some.size();
    };
    file->reader.read_rows(tensor.name, 0, tensor.shape[0], compare, of_rows);
    expect(static_cast<bool>(of_rows) == static_cast<bool>(error), "both ways fail, or none");
    expect(of_rows || rows == bytes, "all rows are read");
  }
}

}  // namespace fuzz
