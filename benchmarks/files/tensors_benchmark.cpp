// SPDX-License-Identifier: Apache-2.0
// Measures how fast a tensor of 1 GiB is read from files of safetensors and PyTorch, and from a checkpoint, whole and
// in 64 slices, beside pread of the same bytes into the same memory. The files are in the page cache; each way is taken
// nine times, in turns. Prints the medians, in GB/s, as JSON. usage: tensors_benchmark DIRECTORY
#include <distrib/checkpoint.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t rows = 1 << 18;
const distrib::Shape shape{rows, 1024};
constexpr std::size_t size = std::size_t{1} << 30;
constexpr int turns = 9;

void read_plainly(const std::string& path, std::uint64_t offset, std::span<std::byte> to) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  while (!to.empty()) {
    const ::ssize_t got = ::pread(file, to.data(), to.size(), static_cast<::off_t>(offset));
    if (got <= 0) throw std::runtime_error{"pread"};
    to = to.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  ::close(file);
}

void read_slices(const distrib::BundleReader& reader, std::span<std::byte> to) {
  constexpr std::int64_t slices = 64;
  for (std::int64_t i = 0; i < slices; ++i)
    reader.read("w", distrib::Slice::along(shape, 0, i * rows / slices, rows / slices),
                to.subspan(static_cast<std::size_t>(i) * size / slices, size / slices));
}

}  // namespace

auto main(int argc, char** argv) -> int try {
  if (argc != 2) throw std::invalid_argument{"usage: tensors_benchmark DIRECTORY"};
  const std::string directory = argv[1];
  std::filesystem::create_directories(directory);
  std::vector<std::byte> memory(size);
  for (std::size_t i = 0; i < size; i += 8) distrib::store_le(memory.data() + i, i * 0x9E3779B97F4A7C15U);
  const std::vector<distrib::NamedTensor> tensors{{"w", distrib::DType::float32, shape, memory}};
  distrib::save_safetensors(directory + "/w.safetensors", tensors);
  distrib::save_torch_file(directory + "/w.pt", tensors);
  const std::vector<distrib::BundlePart> parts{
      {{{"w", distrib::DType::float32, shape, distrib::Slice::whole(shape), memory}}, {}}};
  distrib::perform(distrib::plan_bundle(directory + "/w", parts));

  const auto safetensors = distrib::open_tensor_file(directory + "/w.safetensors").reader;
  const auto torch = distrib::open_tensor_file(directory + "/w.pt").reader;
  const auto checkpoint = distrib::BundleReader::open(directory + "/w");
  const auto whole = [&](const distrib::BundleReader& reader) {
    return [&] { reader.read("w", distrib::Slice::whole(shape), memory); };
  };
  const std::uint64_t offset = safetensors.find("w")->pieces.front().offset;
  const std::map<std::string, std::function<void()>> ways{
      {"pread", [&] { read_plainly(directory + "/w.safetensors", offset, memory); }},
      {"safetensors", whole(safetensors)},
      {"safetensors_slices", [&] { read_slices(safetensors, memory); }},
      {"torch", whole(torch)},
      {"checkpoint", whole(checkpoint)}};
  std::map<std::string, std::vector<double>> speeds;
  for (int turn = 0; turn < turns; ++turn)
    for (const auto& [name, read] : ways) {
      const auto began = Clock::now();
      read();
      speeds[name].push_back(static_cast<double>(size) / 1e9 /
                             std::chrono::duration<double>{Clock::now() - began}.count());
    }
  std::string text = "{";
  for (auto& [name, all] : speeds) {
    std::nth_element(all.begin(), all.begin() + turns / 2, all.end());
    text += (text.size() > 1 ? ", \"" : "\"") + name + "\": " + std::to_string(all[turns / 2]);
  }
  std::printf("%s}\n", text.c_str());
  std::filesystem::remove_all(directory);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 70;
}
