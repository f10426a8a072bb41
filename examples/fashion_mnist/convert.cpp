// SPDX-License-Identifier: Apache-2.0
// Converts the four IDX files of Fashion-MNIST (gzip) to TFRecord files of tf.train.Example {image: 784 bytes, label:
// int64}.
//   convert SOURCE_DIR TARGET_DIR
#include "fashion_example.hpp"

#include <distrib/example/example_writer.hpp>
#include <distrib/record/record_writer.hpp>

#include <zlib.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

// Reads an IDX file: magic number and extents in big-endian order, then bytes (yann.lecun.com/exdb/mnist).
// `item_bytes`: size of one item.
struct Idx {
  std::size_t items = 0;
  std::vector<std::byte> bytes;
};

auto read_idx(const std::filesystem::path& path, std::uint32_t magic, std::size_t item_bytes) -> Idx {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file{gzopen(path.c_str(), "rb"), gzclose};
  if (!file) throw std::runtime_error("cannot open " + path.string());
  const auto read = [&](std::span<std::byte> to) {
    if (gzread(file.get(), to.data(), static_cast<unsigned>(to.size())) != static_cast<int>(to.size()))
      throw std::runtime_error(path.string() + " is incomplete or damaged");
  };
  const auto number = [&] {
    std::array<std::byte, 4> b{};
    read(b);
    return std::to_integer<std::uint32_t>(b[0]) << 24 | std::to_integer<std::uint32_t>(b[1]) << 16 |
           std::to_integer<std::uint32_t>(b[2]) << 8 | std::to_integer<std::uint32_t>(b[3]);
  };
  const auto wrong = [&] { return std::runtime_error(path.string() + " is not a file of Fashion-MNIST"); };
  if (number() != magic) throw wrong();
  Idx idx;
  idx.items = number();
  if (idx.items > 60'000) throw wrong();
  if (item_bytes > 1 && (number() != 28 || number() != 28)) throw wrong();
  idx.bytes.resize(idx.items * item_bytes);
  read(idx.bytes);
  return idx;
}

void convert(const std::filesystem::path& source, const std::string& idx_name, const std::filesystem::path& target,
             const std::string& shard_name, std::size_t shards) {
  const Idx images = read_idx(source / (idx_name + "-images-idx3-ubyte.gz"), 0x803, 784);
  const Idx labels = read_idx(source / (idx_name + "-labels-idx1-ubyte.gz"), 0x801, 1);
  if (images.items != labels.items) throw std::runtime_error(idx_name + ": the numbers of images and labels differ");

  distrib::ExampleWriter encode{distrib::schema<FashionExample>(image_feature, label_feature)};
  for (std::size_t shard = 0; shard < shards; ++shard) {
    char name[64];
    std::snprintf(name, sizeof name, "%s-%05zu-of-%05zu", shard_name.c_str(), shard, shards);
    distrib::RecordWriter writer{target / name, {.rename_on_close = true}};
    for (std::size_t i = shard * images.items / shards; i < (shard + 1) * images.items / shards; ++i)
      writer.append(encode.write(
          {std::span{images.bytes}.subspan(i * 784, 784), std::to_integer<std::int64_t>(labels.bytes[i])}));
    writer.close();
  }
  std::printf("%s: %zu examples in %zu files\n", shard_name.c_str(), images.items, shards);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s SOURCE_DIR TARGET_DIR\n", argv[0]);
    return 64;
  }
  const std::filesystem::path source = argv[1], target = argv[2];
  std::filesystem::create_directories(target);
  convert(source, "train", target, "train", 10);
  convert(source, "t10k", target, "test", 2);
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 65;
}
