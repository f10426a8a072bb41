// SPDX-License-Identifier: Apache-2.0
// Tensors as files that Python loads, safetensors and PyTorch, and such files read again.
#include <distrib/checkpoint/formats/safetensors_writer.hpp>
#include <distrib/checkpoint/formats/tensor_file.hpp>
#include <distrib/checkpoint/formats/torch_writer.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace {

void list(const distrib::TensorFile& file) {
  for (const distrib::StoredTensor& tensor : file.reader.tensors())
    std::printf("%s %s%s\n", tensor.name.c_str(), tensor.type_name().c_str(), distrib::to_string(tensor.shape).c_str());
}

}  // namespace

auto main() -> int try {
  const std::string directory = "25_tensor_files.out";
  std::filesystem::create_directory(directory);
  const std::array<float, 6> weights{1, 2, 3, 4, 5, 6};
  const std::array<std::int64_t, 1> batches{40};
  const std::vector<distrib::NamedTensor> tensors{
      {"fc.weight", distrib::DType::float32, {2, 3}, std::as_bytes(std::span{weights})},
      {"bn.num_batches_tracked", distrib::DType::int64, {}, std::as_bytes(std::span{batches})}};
  distrib::save_safetensors(directory + "/model.safetensors", tensors);
  distrib::save_torch_file(directory + "/model.pt", tensors);

  const auto file = distrib::open_tensor_file(directory + "/model.pt");
  list(file);
  std::array<float, 3> row{};
  file.reader.read("fc.weight", distrib::Slice::along({2, 3}, 0, 1, 1), std::as_writable_bytes(std::span{row}));
  std::printf("row 1: %.0f %.0f %.0f\n", double{row[0]}, double{row[1]}, double{row[2]});

  distrib::Error error;
  if (!distrib::open_tensor_file(directory + "/nothing.safetensors", error))
    std::printf("%s: %s\n", error.where.c_str(), error.code.message().c_str());
  std::filesystem::remove_all(directory);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
