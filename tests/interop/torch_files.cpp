// SPDX-License-Identifier: Apache-2.0
// usage: torch_files write DIRECTORY | read FILE
// write: fills DIRECTORY with model.safetensors, sharded.safetensors.index.json and its files, and model.pt, which hold
// the same tensors of every type; and with a checkpoint of a table on three shards. read: prints a line of JSON for
// each
// tensor of a file: name, dtype, shape, and its bytes as hex.
#include <distrib/checkpoint/formats/safetensors_writer.hpp>
#include <distrib/checkpoint/formats/tensor_file.hpp>
#include <distrib/checkpoint/formats/torch_writer.hpp>
#include <distrib/checkpoint/perform.hpp>
#include <distrib/core/json_text.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/optimizer/momentum.hpp>
#include <distrib/ps/cut/table_tensors.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/table_share.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using distrib::DType;
using Bytes = std::vector<std::byte>;

auto some_bytes(DType dtype, std::int64_t elements) -> Bytes {
  Bytes bytes(static_cast<std::size_t>(elements) * size_bytes(dtype));
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = dtype == DType::boolean ? static_cast<std::byte>(i % 2) : static_cast<std::byte>(i * 37 % 59);
  return bytes;
}

// A table of any keys on three shards, each with its own keys, and Momentum's slot.
void write_table(const std::string& prefix) {
  constexpr std::uint32_t shards = 3;
  distrib::Job job;
  job.shards_per_task = shards;
  job.tables.emplace_back();
  job.tables[0].name = "users";
  job.tables[0].dim = 2;
  const distrib::TableSharding sharding{job.tables[0], shards};
  std::vector<distrib::TableCut> cuts;
  std::vector<distrib::BundlePart> parts(shards);
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    std::vector<std::uint64_t> keys;
    for (std::uint64_t i = 0; i < 1000; ++i)
      if (sharding.shard(i * i * i) == shard) keys.push_back(i * i * i);
    auto of_keys = std::make_shared<distrib::AlignedBuffer>(keys.size() * 8);
    auto uses = std::make_shared<distrib::AlignedBuffer>(keys.size() * 8);
    auto rows = std::make_shared<distrib::AlignedBuffer>(keys.size() * 16);
    std::copy(keys.begin(), keys.end(), of_keys->as<std::uint64_t>().begin());
    for (std::size_t i = 0; i < keys.size(); ++i)
      for (std::size_t j = 0; j < 4; ++j)
        rows->as<float>()[4 * i + j] = static_cast<float>(keys[i] % 1000) + static_cast<float>(j) / 4;
    cuts.push_back({std::move(of_keys), std::move(uses), std::move(rows)});
    const distrib::TableTensors tensors{{job, 0, shard}, distrib::Momentum{}, shard, shards};
    tensors.add_to(parts[shard], cuts.back());
  }
  distrib::perform(distrib::plan_bundle(prefix, parts));
}

void write(const std::string& directory) {
  const DType types[] = {DType::float32, DType::float64, DType::float16, DType::bfloat16, DType::boolean,
                         DType::uint8,   DType::int8,    DType::int16,   DType::uint16,   DType::int32,
                         DType::uint32,  DType::int64,   DType::uint64};
  std::deque<Bytes> kept;
  std::vector<distrib::NamedTensor> tensors;
  const auto add = [&](std::string name, DType dtype, const distrib::Shape& shape) {
    tensors.push_back({std::move(name), dtype, shape, kept.emplace_back(some_bytes(dtype, shape.elements()))});
  };
  for (const DType type : types) add("of." + std::string{name(type)}, type, {3, 5});
  add("scalar", DType::float32, {});
  add("empty", DType::float32, {0, 4});
  add("deep", DType::int8, {2, 1, 3, 1, 2, 2});
  add("a \"name\"/\xc3\xa9", DType::float32, {2});
  add("large", DType::float32, {300, 1000});
  distrib::save_safetensors(directory + "/model.safetensors", tensors);
  distrib::save_safetensors(directory + "/sharded.safetensors", tensors, {.max_file_bytes = 100'000});
  distrib::save_torch_file(directory + "/model.pt", tensors);
  write_table(directory + "/table");
}

void read(const std::string& path) {
  const auto file = distrib::open_tensor_file(path);
  file.reader.verify();
  for (const distrib::StoredTensor& tensor : file.reader.tensors()) {
    std::string content = "null";
    if (tensor.is_readable()) {
      Bytes bytes(static_cast<std::size_t>(tensor.shape.elements()) * size_bytes(tensor.dtype));
      file.reader.read(tensor.name, distrib::Slice::whole(tensor.shape), bytes);
      content = '"' + distrib::to_hex(bytes) + '"';
    }
    std::printf("{\"name\": %s, \"dtype\": \"%s\", \"shape\": %s, \"bytes\": %s}\n",
                distrib::json_text(tensor.name).c_str(), tensor.type_name().c_str(), to_string(tensor.shape).c_str(),
                content.c_str());
  }
}

}  // namespace

auto main(int argc, char** argv) -> int try {
  const std::string_view what = argc == 3 ? argv[1] : "";
  if (what == "write") write(argv[2]);
  else if (what == "read") read(argv[2]);
  else throw std::invalid_argument{"usage: torch_files write DIRECTORY | read FILE"};
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
