// SPDX-License-Identifier: Apache-2.0
#include <distrib/checkpoint/formats/tensor_file.hpp>

#include <distrib/checkpoint/crc32.hpp>
#include <distrib/checkpoint/formats/safetensors_writer.hpp>
#include <distrib/checkpoint/formats/torch_pickle.hpp>
#include <distrib/checkpoint/formats/torch_writer.hpp>
#include <distrib/checkpoint/formats/zip_directory.hpp>

#include "checkpoint/formats/formats_support.hpp"
#include "support/temp_directory.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <numeric>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using distrib::checkpoint_errc;
using distrib::DType;
using distrib::Error;
using distrib::open_tensor_file;
using distrib::Shape;
using distrib::Slice;
using distrib::TensorFormat;
using support::Bytes;

namespace {

const std::string torch_fixtures = support::test_dir() + "/checkpoint/formats/fixtures/";

template <class T>
auto values_of(const distrib::BundleReader& reader, const std::string& name) -> std::vector<T> {
  const auto* tensor = reader.find(name);
  REQUIRE(tensor != nullptr);
  std::vector<T> values(static_cast<std::size_t>(tensor->shape.elements()));
  reader.read(name, Slice::whole(tensor->shape), std::as_writable_bytes(std::span{values}));
  return values;
}

auto refusal(const std::string& path) -> Error {
  Error error;
  CHECK_FALSE(open_tensor_file(path, error));
  CHECK(error.where.starts_with(path));
  return error;
}

/// Returns a zip archive of stored entries, with the names and contents given.
auto torch_archive(const std::vector<std::pair<std::string, std::string>>& contents, bool checksums = true)
    -> std::string {
  distrib::detail::ZipLayout zip;
  std::string all;
  for (const auto& [name, content] : contents) {
    const auto bytes = distrib::as_bytes(content);
    all += distrib::as_text(zip.add(name, bytes.size(), checksums ? distrib::detail::crc32_extend(0, bytes) : 0));
    all += content;
  }
  return all += distrib::as_text(zip.finish());
}

}  // namespace

TEST_CASE("open_tensor_file: the 60 attacks on safetensors have the verdicts that they should have",
          "[checkpoint][tensor_file]") {
  const support::TempDirectory directory;
  const std::string path = directory / "x.safetensors";
  for (const auto& c : support::safetensors_cases()) {
    CAPTURE(c.name);
    support::write_file(path, c.file);
    Error error;
    const auto file = open_tensor_file(path, error);
    CHECK(file.has_value() == c.taken);
    CHECK(file.has_value() == !error);
    if (!file) {
      CHECK(error.code == checkpoint_errc::bad_tensor_file);
      CHECK(error.where.starts_with(path + ": "));
      continue;
    }
    for (const auto& tensor : file->reader.tensors()) {
      if (!tensor.is_readable()) continue;
      Bytes bytes(static_cast<std::size_t>(tensor.shape.elements()) * size_bytes(tensor.dtype));
      file->reader.read(tensor.name, Slice::whole(tensor.shape), bytes);
      CHECK(bytes == Bytes(bytes.size()));  // all bytes of the attacks are zero
    }
  }
}

// Worked by a program in another language: bytes and values are not computed here.
TEST_CASE("case C10: safetensors with entries out of order have their values; a name twice is refused",
          "[checkpoint][tensor_file]") {
  const support::TempDirectory directory;
  const std::string path = directory / "x.safetensors";
  const Bytes bytes = support::from_hex(
      "6e000000000000007b2262223a7b226474797065223a22463332222c227368617065223a5b315d2c22646174615f6f666673657473223a5b"
      "342c385d7d2c2261223a7b226474797065223a2242463136222c227368617065223a5b325d2c22646174615f6f666673657473223a5b302c"
      "345d7d7d20200000803f00000040");
  CHECK(bytes.size() == 126);
  support::write_file(path, bytes);
  const auto file = open_tensor_file(path);
  REQUIRE(file.reader.tensors().size() == 2);
  REQUIRE(file.reader.find("a") != nullptr);
  CHECK(file.reader.find("a")->dtype == DType::bfloat16);
  CHECK(file.reader.find("a")->shape == Shape{2});
  CHECK(values_of<std::uint16_t>(file.reader, "a") == std::vector<std::uint16_t>{0x0000, 0x3f80});  // 0 and 1
  REQUIRE(file.reader.find("b") != nullptr);
  CHECK(file.reader.find("b")->dtype == DType::float32);
  CHECK(file.reader.find("b")->shape == Shape{1});
  CHECK(values_of<float>(file.reader, "b") == std::vector<float>{2});

  const std::string entry = R"("a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]})";
  support::write_file(path, support::safetensors_file("{" + entry + "," + entry + "}", std::string(4, '\0')));
  CHECK(refusal(path).code == checkpoint_errc::bad_tensor_file);
}

TEST_CASE("open_tensor_file: the format is found by suffix or by content", "[checkpoint][tensor_file]") {
  using distrib::detail::tensor_format_of;
  const support::TempDirectory directory;
  const std::vector<float> one{3};
  const std::vector tensors{support::named("w", {1}, one)};
  for (const char* name : {"a.safetensors", "a.bin", "a"}) {
    const std::string path = directory / name;
    save_safetensors(path, tensors);
    CHECK(tensor_format_of(path) == TensorFormat::safetensors);
    CHECK(values_of<float>(open_tensor_file(path).reader, "w") == one);
  }
  for (const char* name : {"b.pt", "b.pth", "b.bin", "b.ckpt", "b"}) {
    const std::string path = directory / name;
    save_torch_file(path, tensors);
    CHECK(tensor_format_of(path) == TensorFormat::torch);
    CHECK(values_of<float>(open_tensor_file(path).reader, "w") == one);
  }
  CHECK(tensor_format_of(directory / "none.safetensors.index.json") == TensorFormat::safetensors);
  CHECK(tensor_format_of(directory / "none.pt") == TensorFormat::torch);
  CHECK(tensor_format_of(directory / "model.ckpt-9") == TensorFormat::checkpoint);
  CHECK(tensor_format_of(directory.path().string()) == TensorFormat::checkpoint);

  const auto checkpoint = open_tensor_file(support::fixtures + "object/ckpt-1");
  CHECK(checkpoint.format == TensorFormat::checkpoint);
  CHECK(checkpoint.reader.find("w/.ATTRIBUTES/VARIABLE_VALUE") != nullptr);

  for (const char* name : {"none.safetensors", "none.safetensors.index.json", "none.pt", "none"})
    CHECK(refusal(directory / name).code == checkpoint_errc::no_such_checkpoint);
  CHECK_THROWS_WITH(open_tensor_file(directory / "none.pt"), ContainsSubstring("there is no such checkpoint"));
  std::filesystem::create_directory(directory / "d.pt");
  CHECK(refusal(directory / "d.pt").code == checkpoint_errc::cannot_read);
}

TEST_CASE("open_tensor_file: of a safetensors file only the wanted bytes are read, aligned or not",
          "[checkpoint][tensor_file]") {
  const support::TempDirectory directory;
  const std::string path = directory / "x.safetensors";
  std::vector<double> values(40);
  std::iota(values.begin(), values.end(), 0.5);
  const std::string data = "1234" + std::string{distrib::as_text(support::bytes_of(values))};
  support::write_file(path, support::safetensors_file(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                                                      R"("b":{"dtype":"F64","shape":[10,4],"data_offsets":[4,324]}})",
                                                      data));
  const auto reader = open_tensor_file(path).reader;
  CHECK(values_of<double>(reader, "b") == values);
  std::vector<double> some(8);
  reader.read("b", Slice::along({10, 4}, 0, 3, 2), std::as_writable_bytes(std::span{some}));
  CHECK(some == std::vector<double>(values.begin() + 12, values.begin() + 20));
  std::vector<double> column(10);
  reader.read("b", Slice::along({10, 4}, 1, 2, 1), std::as_writable_bytes(std::span{column}));
  for (std::size_t i = 0; i < 10; ++i) CHECK(column[i] == values[4 * i + 2]);

  std::vector<double> rows;
  Error error;
  reader.read_rows(
      "b", 2, 3,
      [&](std::int64_t row, distrib::ByteView bytes) {
        CHECK(row == 2);
        rows.resize(bytes.size() / sizeof(double));
        std::memcpy(rows.data(), bytes.data(), bytes.size());
      },
      error);
  CHECK_FALSE(error);
  CHECK(rows == std::vector<double>(values.begin() + 8, values.begin() + 20));

  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 64);  // after it was opened
  reader.read("b", Slice::along({10, 4}, 0, 3, 2), std::as_writable_bytes(std::span{some}), error);
  CHECK_FALSE(error);
  reader.read("b", Slice::along({10, 4}, 0, 7, 2), std::as_writable_bytes(std::span{some}), error);
  CHECK(error.code == checkpoint_errc::corrupt_data);
}

TEST_CASE("open_tensor_file: several safetensors files must be what their index says", "[checkpoint][tensor_file]") {
  const support::TempDirectory directory;
  const std::string index = directory / "m.safetensors.index.json";
  const std::vector<float> one{1};
  const std::vector<float> two{2};
  save_safetensors(directory / "1.safetensors",
                   std::vector{support::named("a", {1}, one), support::named("b", {1}, two)});
  save_safetensors(directory / "2.safetensors", std::vector{support::named("a", {1}, two)});
  const auto write = [&](const char* map) { support::write_file(index, std::string{R"({"weight_map":)"} + map + "}"); };
  write(R"({"a":"2.safetensors","b":"1.safetensors"})");
  const auto reader = open_tensor_file(index).reader;
  CHECK(values_of<float>(reader, "a") == two);  // not the one in the other file
  CHECK(values_of<float>(reader, "b") == two);
  CHECK(reader.tensors().size() == 2);
  write(R"({"b":"2.safetensors"})");
  CHECK_THAT(refusal(index).where, ContainsSubstring("2.safetensors lacks the tensor b"));
  write(R"({"b":"3.safetensors"})");
  Error error;
  CHECK_FALSE(open_tensor_file(index, error));
  CHECK(error.code == checkpoint_errc::missing_data_file);
  CHECK_THAT(error.where, ContainsSubstring("3.safetensors"));
  write(R"({"b":"../1.safetensors"})");
  CHECK_THAT(refusal(index).where, ContainsSubstring("no file of this directory"));
  write("{}");
  CHECK(open_tensor_file(index).reader.tensors().empty());
}

TEST_CASE("open_tensor_file: views of a storage, as PyTorch wrote them", "[checkpoint][tensor_file]") {
  const auto reader = open_tensor_file(torch_fixtures + "views.pt").reader;
  // base = torch.arange(24, dtype=torch.float32).reshape(4, 6)
  const auto at = [](int row, int column) { return static_cast<float>(6 * row + column); };
  const auto whole = values_of<float>(reader, "whole");
  for (int i = 0; i < 24; ++i) CHECK(whole[static_cast<std::size_t>(i)] == static_cast<float>(i));
  CHECK(reader.find("transposed")->shape == Shape{6, 4});
  const auto transposed = values_of<float>(reader, "transposed");
  for (int row = 0; row < 6; ++row)
    for (int column = 0; column < 4; ++column)
      CHECK(transposed[static_cast<std::size_t>(4 * row + column)] == at(column, row));
  CHECK(values_of<float>(reader, "column") == std::vector{at(0, 2), at(1, 2), at(2, 2), at(3, 2)});
  CHECK(values_of<float>(reader, "step") == std::vector{at(0, 0), at(0, 3), at(2, 0), at(2, 3)});
  CHECK(values_of<float>(reader, "last") == std::vector{at(3, 5)});
  CHECK(values_of<float>(reader, "none").empty());
  std::vector<float> slice(4);
  reader.read("transposed", {{1, 2}, {2, 2}}, std::as_writable_bytes(std::span{slice}));
  CHECK(slice == std::vector{at(2, 1), at(3, 1), at(2, 2), at(3, 2)});
  Error error;
  std::vector<float> rows;
  reader.read_rows(
      "transposed", 1, 2,
      [&](std::int64_t, distrib::ByteView bytes) {
        rows.resize(bytes.size() / sizeof(float));
        std::memcpy(rows.data(), bytes.data(), bytes.size());
      },
      error);
  CHECK(rows == std::vector{at(0, 1), at(1, 1), at(2, 1), at(3, 1), at(0, 2), at(1, 2), at(2, 2), at(3, 2)});
  reader.verify();
}

TEST_CASE("open_tensor_file: a training's file, with dicts in dicts and an optimizer", "[checkpoint][tensor_file]") {
  const auto reader = open_tensor_file(torch_fixtures + "training.pt").reader;
  std::string names;
  for (const auto& tensor : reader.tensors())
    names += tensor.name + " " + tensor.type_name() + to_string(tensor.shape) + "\n";
  CHECK(names ==
        "model/bn.bias float32[2]\nmodel/bn.num_batches_tracked int64[]\nmodel/bn.running_mean float32[2]\n"
        "model/bn.running_var float32[2]\nmodel/bn.weight float32[2]\nmodel/fc.bias float32[2]\n"
        "model/fc.weight float32[2,3]\noptimizer/state/0/momentum_buffer float32[2,3]\n"
        "optimizer/state/1/momentum_buffer float32[2]\n");
  CHECK(values_of<float>(reader, "model/fc.weight") == std::vector<float>{0, 1, 2, 3, 4, 5});
}

TEST_CASE("open_tensor_file: damage of a storage that is read in part is found when the file is opened",
          "[checkpoint][tensor_file]") {
  const support::TempDirectory directory;
  const std::string path = directory / "views.pt";
  auto bytes = support::read_file(torch_fixtures + "views.pt");
  const auto reader = open_tensor_file(torch_fixtures + "views.pt").reader;
  bytes[static_cast<std::size_t>(reader.find("whole")->pieces.front().offset) + 9] ^= std::byte{4};
  support::write_file(path, bytes);
  const Error error = refusal(path);
  CHECK(error.code == checkpoint_errc::corrupt_data);
  CHECK_THAT(error.where, ContainsSubstring("views.pt: entry views/data/0"));
}

TEST_CASE("open_tensor_file: what is no file of torch.save is refused with words", "[checkpoint][tensor_file]") {
  const support::TempDirectory directory;
  const std::string path = directory / "x.pt";
  const std::vector<float> w{1, 2};
  const std::string pickle = distrib::detail::torch_pickle(std::vector{support::named("w", {2}, w)});
  const std::string data{distrib::as_text(support::bytes_of(w))};
  std::string tar(1024, '\0');
  tar.replace(257, 5, "ustar");
  const struct {
    std::string content;
    checkpoint_errc code;
    const char* where;
  } cases[] = {
      {"", checkpoint_errc::bad_tensor_file, "does not begin as a zip archive"},
      {"PK", checkpoint_errc::bad_tensor_file, "does not begin as a zip archive"},
      {"\x80\x02}q\x01.", checkpoint_errc::unsupported,
       "a pickle, as PyTorch wrote it before 1.6; load it with PyTorch"},
      {tar, checkpoint_errc::unsupported, "a tape archive, as PyTorch wrote it before 0.1.10"},
      {"PK\x03\x04 and more", checkpoint_errc::bad_tensor_file, "does not end as a zip archive"},
      {torch_archive({{"x/other", ""}}), checkpoint_errc::bad_tensor_file, "it has no FOLDER/data.pkl"},
      {torch_archive({{"data.pkl", pickle}}), checkpoint_errc::bad_tensor_file, "it has no FOLDER/data.pkl"},
      {torch_archive({{"x/y/data.pkl", pickle}}), checkpoint_errc::bad_tensor_file, "it has no FOLDER/data.pkl"},
      {torch_archive({{"x/data.pkl", pickle}, {"y/data.pkl", pickle}}), checkpoint_errc::bad_tensor_file,
       "no FOLDER/data.pkl"},
      {torch_archive({{"x/data.pkl", pickle}, {"x/constants.pkl", ""}}), checkpoint_errc::unsupported,
       "a TorchScript module"},
      {torch_archive({{"x/data.pkl", pickle}, {"x/byteorder", "big"}}), checkpoint_errc::unsupported, "big-endian"},
      {torch_archive({{"x/data.pkl", pickle}}), checkpoint_errc::bad_tensor_file, "storage 0 of 8 bytes is missing"},
      {torch_archive({{"x/data.pkl", pickle}, {"x/data/0", data + "0"}}), checkpoint_errc::bad_tensor_file,
       "storage 0 of 8 bytes has 9"},
      {torch_archive({{"x/data.pkl",
                       "\x80\x02"
                       "cos\nsystem\n."}}),
       checkpoint_errc::unsupported, "it needs os.system of Python"},
  };
  for (const auto& c : cases) {
    support::write_file(path, c.content);
    const Error error = refusal(path);
    CHECK(error.code == c.code);
    CHECK_THAT(error.where, ContainsSubstring(c.where));
  }
  support::write_file(path, torch_archive({{"x/data.pkl", pickle}, {"x/data/0", data}}));
  CHECK(values_of<float>(open_tensor_file(path).reader, "w") == w);

  support::write_file(path, torch_archive({{"x/data.pkl", pickle}, {"x/data/0", data}}, false));
  CHECK(values_of<float>(open_tensor_file(path).reader, "w") == w);  // without checksums, which PyTorch can leave out

  std::string damaged = torch_archive({{"x/data.pkl", pickle}, {"x/data/0", data}});
  damaged[damaged.find("FloatStorage")] = 'f';
  support::write_file(path, damaged);
  CHECK(refusal(path).code == checkpoint_errc::corrupt_data);
}

TEST_CASE("open_tensor_file: booleans that are not 0 or 1 are refused, in every format", "[checkpoint][tensor_file]") {
  const support::TempDirectory directory;
  std::vector<std::uint8_t> mask(100'000, 1);
  const std::vector<distrib::NamedTensor> tensors{{"mask", DType::boolean, {100'000}, support::bytes_of(mask)}};
  save_safetensors(directory / "x.safetensors", tensors);
  save_torch_file(directory / "x.pt", tensors);
  CHECK(open_tensor_file(directory / "x.safetensors").reader.tensors().size() == 1);
  CHECK(open_tensor_file(directory / "x.pt").reader.tensors().size() == 1);
  mask.back() = 2;
  save_safetensors(directory / "x.safetensors", tensors);
  save_torch_file(directory / "x.pt", tensors);
  for (const char* name : {"x.safetensors", "x.pt"}) {
    const Error error = refusal(directory / name);
    CHECK(error.code == checkpoint_errc::bad_tensor_file);
    CHECK_THAT(error.where, ContainsSubstring("mask: a boolean that is not 0 or 1"));
  }
}
