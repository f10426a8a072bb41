// SPDX-License-Identifier: Apache-2.0
#include <distrib/checkpoint/formats/safetensors_writer.hpp>

#include <distrib/checkpoint/formats/tensor_file.hpp>

#include "checkpoint/formats/formats_support.hpp"
#include "support/temp_directory.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <vector>

using distrib::checkpoint_errc;
using distrib::DType;
using distrib::Error;
using distrib::FileAction;
using distrib::NamedTensor;
using distrib::SafetensorsOptions;
using support::named;

namespace {

const std::vector<float> w{0, 1, 2};
const std::vector<std::int64_t> k{0, 1};
const std::vector<std::uint16_t> h{0, 0, 0};

auto some_tensors() -> std::vector<NamedTensor> {
  return {named("w", {3}, w), named("k", {2}, k), {"h", DType::float16, {3}, support::bytes_of(h)}};
}

}  // namespace

TEST_CASE("save_safetensors: the bytes that Python's writer makes", "[checkpoint][safetensors]") {
  Error error;
  const auto plan = plan_safetensors("d/m.safetensors", some_tensors(), {.metadata = {}}, error);
  REQUIRE_FALSE(error);
  const auto files = support::files_of(plan);
  REQUIRE(files.size() == 1);
  const std::string header =
      R"({"k":{"dtype":"I64","shape":[2],"data_offsets":[0,16]},"w":{"dtype":"F32","shape":[3],"data_offsets":[16,28]},)"
      R"("h":{"dtype":"F16","shape":[3],"data_offsets":[28,34]}}   )";
  REQUIRE(header.size() == 168);
  std::string expected{"\xa8\0\0\0\0\0\0\0", 8};
  expected += header;
  for (const auto bytes : {support::bytes_of(k), support::bytes_of(w), support::bytes_of(h)})
    expected += distrib::as_text(bytes);
  CHECK(files.at("d/m.safetensors") == expected);
}

TEST_CASE("plan_safetensors: a file is written under a hidden name, made durable and renamed",
          "[checkpoint][safetensors]") {
  Error error;
  const auto plan = plan_safetensors("d/m.safetensors", some_tensors(), {}, error);
  std::string story;
  for (const FileAction& action : plan) {
    using Kind = FileAction::Kind;
    const char* const names[] = {"write ", "append ", "sync ", "", "link ", "sync directory ", "remove "};
    if (action.kind == Kind::rename) story += action.from + " -> ";
    story += names[static_cast<int>(action.kind)] + action.path + "\n";
  }
  const std::string hidden = "d/.saving.m.safetensors";
  CHECK(story == "write " + hidden + "\nappend " + hidden + "\nappend " + hidden + "\nappend " + hidden + "\nappend " +
                     hidden + "\nsync " + hidden + "\nremove d/m.safetensors.index.json\nsync directory d\n" + hidden +
                     " -> d/m.safetensors\nsync directory d\n");
  // the bytes of tensors are not copied
  CHECK(plan[2].views.front().data() == support::bytes_of(k).data());
}

TEST_CASE("save_safetensors: what was saved is read again, however the plan was stopped before",
          "[checkpoint][safetensors]") {
  const support::TempDirectory directory;
  const std::string path = directory / "m.safetensors";
  const std::vector<float> old{7};
  save_safetensors(path, std::vector{named("w", {1}, old)});
  Error error;
  const auto plan = plan_safetensors(path, some_tensors(), {}, error);
  for (std::size_t actions = 0; actions <= plan.size(); ++actions) {
    distrib::perform(std::span{plan}.first(actions));
    const auto opened = distrib::open_tensor_file(path);
    const bool is_new = opened.reader.find("k") != nullptr;
    CHECK(opened.reader.tensors().size() == (is_new ? 3U : 1U));
    CHECK(is_new == (actions >= plan.size() - 1));
    CHECK(opened.metadata == std::map<std::string, std::string>{{"format", "pt"}});
  }
  std::vector<float> found(3);
  distrib::open_tensor_file(path).reader.read("w", distrib::Slice::whole({3}),
                                              std::as_writable_bytes(std::span{found}));
  CHECK(found == w);
}

TEST_CASE("save_safetensors: several files and their index", "[checkpoint][safetensors]") {
  const support::TempDirectory directory;
  const std::string path = directory / "model.safetensors";
  std::vector<std::vector<float>> values;
  for (int i = 0; i < 5; ++i) values.emplace_back(10, static_cast<float>(i));
  std::vector<NamedTensor> tensors;
  for (std::size_t i = 0; i < 5; ++i) tensors.push_back(named("t" + std::to_string(4 - i), {10}, values[4 - i]));
  SafetensorsOptions options{.max_file_bytes = 80};
  options.metadata_of["t4"] = {"about t4", "text"};
  save_safetensors(path, std::vector{named("w", {3}, w)});  // replaced by several files
  save_safetensors(path, tensors, options);
  CHECK_FALSE(std::filesystem::exists(path));
  for (const char* name : {"model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors",
                           "model-00003-of-00003.safetensors", "model.safetensors.index.json"})
    CHECK(std::filesystem::exists(directory / name));
  CHECK(distrib::open_tensor_file(directory / "model-00002-of-00003.safetensors").reader.tensors().front().name ==
        "t2");
  const auto last = distrib::open_tensor_file(directory / "model-00003-of-00003.safetensors");
  CHECK(last.reader.tensors().size() == 1);
  CHECK(last.metadata.at("about t4") == "text");
  CHECK_FALSE(distrib::open_tensor_file(directory / "model-00001-of-00003.safetensors").metadata.contains("about t4"));

  const auto all = distrib::open_tensor_file(path + ".index.json");
  REQUIRE(all.reader.tensors().size() == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    std::vector<float> found(10);
    all.reader.read("t" + std::to_string(i), distrib::Slice::whole({10}), std::as_writable_bytes(std::span{found}));
    CHECK(found == values[i]);
  }
  CHECK(all.metadata == std::map<std::string, std::string>{{"about t4", "text"}, {"format", "pt"}});

  // a tensor that is larger than a file may be has a file of its own; the limit is for bytes of tensors
  Error error;
  CHECK(support::files_of(plan_safetensors("m.safetensors", tensors, {.max_file_bytes = 39}, error)).size() == 6);
  CHECK(support::files_of(plan_safetensors("m.safetensors", tensors, {.max_file_bytes = 199}, error)).size() == 3);
  CHECK(support::files_of(plan_safetensors("m.safetensors", tensors, {.max_file_bytes = 200}, error)).size() == 1);

  save_safetensors(path, std::vector{named("w", {3}, w)});  // the index would be mistaken for this save's
  CHECK_FALSE(std::filesystem::exists(path + ".index.json"));
}

TEST_CASE("save_safetensors: no tensors, empty ones, scalars, and names that JSON escapes",
          "[checkpoint][safetensors]") {
  const support::TempDirectory directory;
  const std::string path = directory / "m";
  distrib::save_safetensors(path, {});
  CHECK(distrib::detail::tensor_format_of(path) == distrib::TensorFormat::safetensors);
  CHECK(distrib::open_tensor_file(path).reader.tensors().empty());
  const std::vector<float> none;
  const std::vector<float> one{3};
  const std::string odd = "a\"\\\n\xc3\xa9/..";
  save_safetensors(path, std::vector{named("", {}, one), named(odd, {0, 3}, none)});
  const auto opened = distrib::open_tensor_file(path);
  REQUIRE(opened.reader.tensors().size() == 2);
  CHECK(opened.reader.find("")->shape == distrib::Shape{});
  CHECK(opened.reader.find(odd)->shape == distrib::Shape{0, 3});
}

TEST_CASE("save_safetensors: tensors that cannot be written are refused with their names",
          "[checkpoint][safetensors]") {
  const struct {
    const char* what;
    std::vector<NamedTensor> tensors;
    checkpoint_errc expected;
    const char* where;
  } cases[] = {
      {"twice", {named("w", {3}, w), named("w", {3}, w)}, checkpoint_errc::duplicate, "w"},
      {"size", {named("w", {4}, w)}, checkpoint_errc::mismatch, "w: 12 bytes for float32[4]"},
      {"part of an element",
       {{"w", DType::float32, {3}, support::bytes_of(w).first(11)}},
       checkpoint_errc::mismatch,
       "w: 11 bytes"},
      {"texts", {{"w", DType::string, {0}, {}}}, checkpoint_errc::mismatch, "w: a file of tensors cannot hold texts"},
      {"metadata", {named("__metadata__", {3}, w)}, checkpoint_errc::mismatch, "__metadata__"},
      {"not UTF-8", {named("\xff", {3}, w)}, checkpoint_errc::mismatch, "UTF-8"},
      {"zero byte", {named(std::string{"a\0b", 3}, {3}, w)}, checkpoint_errc::mismatch, "zero byte"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.what);
    Error error;
    CHECK(plan_safetensors("m.safetensors", c.tensors, {}, error).empty());
    CHECK(error.code == c.expected);
    CHECK_THAT(error.where, ContainsSubstring(c.where));
  }
  CHECK_THROWS_WITH(distrib::save_safetensors("none/m.safetensors", some_tensors()),
                    ContainsSubstring("none/.saving.m.safetensors (No such file or directory)"));
}
