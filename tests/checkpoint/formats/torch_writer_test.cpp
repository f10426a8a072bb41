// SPDX-License-Identifier: Apache-2.0
#include <distrib/checkpoint/formats/torch_writer.hpp>

#include <distrib/checkpoint/formats/tensor_file.hpp>

#include "checkpoint/formats/formats_support.hpp"
#include "support/temp_directory.hpp"

#include <cstdint>
#include <string>
#include <vector>

using distrib::Error;
using distrib::NamedTensor;
using support::named;

namespace {

const std::vector<float> weights{1, 2, 3, 4, 5, 6};
const std::vector<std::int64_t> tracked{7};
const std::vector<std::uint8_t> mask{0, 1, 1};
const std::vector<float> none;

auto module_tensors() -> std::vector<NamedTensor> {
  return {named("conv.weight", {2, 3}, weights),
          named("bn.num_batches_tracked", {}, tracked),
          {"mask", distrib::DType::boolean, {3}, support::bytes_of(mask)},
          named("none", {0, 2}, none)};
}

}  // namespace

TEST_CASE("save_torch_file: an archive of stored entries in a folder with the name of the file",
          "[checkpoint][torch_writer]") {
  Error error;
  const auto plan = plan_torch_file("d/model.pt", module_tensors(), error);
  REQUIRE_FALSE(error);
  const auto files = support::files_of(plan);
  REQUIRE(files.size() == 1);
  const auto bytes = distrib::as_bytes(files.at("d/model.pt"));
  std::vector<distrib::detail::ZipEntry> entries;
  REQUIRE(read_zip_directory(bytes.size(), support::read_from(bytes), entries, error));
  std::string names;
  for (const auto& entry : entries) {  // sorted by name
    names += entry.name + " ";
    CHECK(entry.offset % 64 == 0);
  }
  CHECK(names ==
        "model/.format_version model/.storage_alignment model/byteorder model/data.pkl model/data/0 model/data/1 "
        "model/data/2 model/data/3 model/version ");
  CHECK(plan.front().path == "d/.saving.model.pt");
  CHECK(plan.back().kind == distrib::FileAction::Kind::sync_directory);
}

TEST_CASE("save_torch_file: what was saved is read again; damage is found", "[checkpoint][torch_writer]") {
  const support::TempDirectory directory;
  const std::string path = directory / "m.pt";
  save_torch_file(path, module_tensors());
  const auto opened = distrib::open_tensor_file(path);
  CHECK(opened.format == distrib::TensorFormat::torch);
  REQUIRE(opened.reader.tensors().size() == 4);
  opened.reader.verify();
  std::vector<float> found(6);
  opened.reader.read("conv.weight", distrib::Slice::whole({2, 3}), std::as_writable_bytes(std::span{found}));
  CHECK(found == weights);
  CHECK(opened.reader.find("none")->shape == distrib::Shape{0, 2});

  auto bytes = support::read_file(path);
  bytes[static_cast<std::size_t>(opened.reader.find("conv.weight")->pieces.front().offset) + 5] ^= std::byte{1};
  support::write_file(path, bytes);
  const auto damaged = distrib::open_tensor_file(path);
  Error error;
  damaged.reader.read("conv.weight", distrib::Slice::whole({2, 3}), std::as_writable_bytes(std::span{found}), error);
  CHECK(error.code == distrib::checkpoint_errc::corrupt_data);
  CHECK_THAT(error.where, ContainsSubstring("m.pt: conv.weight"));
  damaged.reader.read("bn.num_batches_tracked", distrib::Slice::whole({}),
                      std::as_writable_bytes(std::span{found}).first(8), error);
  CHECK_FALSE(error);
}

TEST_CASE("save_torch_file: tensors that cannot be written are refused with their names",
          "[checkpoint][torch_writer]") {
  Error error;
  CHECK(plan_torch_file("m.pt", std::vector{named("w", {6}, weights), named("w", {6}, weights)}, error).empty());
  CHECK(error.code == distrib::checkpoint_errc::duplicate);
  CHECK(plan_torch_file("m.pt", std::vector{named("w", {5}, weights)}, error).empty());
  CHECK(error.code == distrib::checkpoint_errc::mismatch);
  CHECK_THROWS_WITH(distrib::save_torch_file("none/m.pt", module_tensors()), ContainsSubstring("none/.saving.m.pt"));
}
