// SPDX-License-Identifier: Apache-2.0
// A TensorFlow checkpoint: saved in two slices, listed, read in another slice, and skipped after it was damaged.
#include <distrib/checkpoint/data_file_name.hpp>
#include <distrib/checkpoint/latest_checkpoint.hpp>
#include <distrib/checkpoint/save.hpp>

#include <array>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace {

using Matrix = std::array<float, 12>;
const distrib::Shape shape{4, 3};

// Two shards have three rows and one row of the same variable; each writes a data file of its own.
void save(const std::string& directory, const std::string& name, const Matrix& matrix) {
  const distrib::Slice upper = distrib::Slice::along(shape, 0, 0, 3);
  const distrib::Slice lower = distrib::Slice::along(shape, 0, 3, 1);
  const auto bytes = std::as_bytes(std::span{matrix});
  const std::vector<distrib::BundlePart> parts{
      {{{"weights", distrib::DType::float32, shape, upper, bytes.first(36)}}, {}},
      {{{"weights", distrib::DType::float32, shape, lower, bytes.last(12)}}, {}}};
  distrib::save_checkpoint(directory, name, parts, {.max_to_keep = 2});
}

void list(const distrib::BundleReader& reader) {
  for (const distrib::StoredTensor& tensor : reader.tensors())
    std::printf("%s %s %s in %zu pieces\n", tensor.name.c_str(), std::string{distrib::name(tensor.dtype)}.c_str(),
                distrib::to_string(tensor.shape).c_str(), tensor.pieces.size());
}

void damage(const std::string& file) { std::fstream{file, std::ios::binary | std::ios::in | std::ios::out}.put('?'); }

// Rows 2 and 3 are in different files; a reader need not know that.
auto read_last_rows(const distrib::BundleReader& reader) -> std::array<float, 6> {
  std::array<float, 6> rows{};
  reader.read("weights", distrib::Slice::along(shape, 0, 2, 2), std::as_writable_bytes(std::span{rows}));
  return rows;
}

}  // namespace

auto main() -> int try {
  const std::string directory = "02_checkpoint.out";
  Matrix matrix{};
  std::iota(matrix.begin(), matrix.end(), 1.0F);
  save(directory, "model.ckpt-10", matrix);
  for (float& x : matrix) x *= 10;
  save(directory, "model.ckpt-20", matrix);

  std::vector<distrib::Error> refused;
  auto newest = distrib::newest_complete(directory, refused);
  list(newest.value());
  const bool right = read_last_rows(*newest) == std::array{70.0F, 80.0F, 90.0F, 100.0F, 110.0F, 120.0F};

  damage(distrib::data_file_name(newest->prefix(), 1, 2));
  newest = distrib::newest_complete(directory, refused);
  for (const distrib::Error& error : refused)
    std::printf("refused: %s: %s\n", error.where.c_str(), error.code.message().c_str());
  std::printf("used: %s\n", newest.value().prefix().c_str());
  const bool older = refused.size() == 1 && read_last_rows(*newest)[0] == 7.0F;
  std::filesystem::remove_all(directory);
  return right && older ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
