// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/cut/initial_checkpoint.hpp>

#include <distrib/checkpoint/bundle_writer.hpp>
#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/formats/safetensors_writer.hpp>
#include <distrib/checkpoint/formats/torch_writer.hpp>
#include <distrib/checkpoint/object_names.hpp>
#include <distrib/checkpoint/perform.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/ps/job/error.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "support/test_dir.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using namespace distrib;

namespace {

/// A checkpoint of float32 tensors. The elements of each count up from its number.
struct InitialBench {
  void add(const std::string& name, const Shape& shape, float first) {
    std::vector<float>& values = kept.emplace_back();
    for (std::int64_t i = 0; i < shape.elements(); ++i) values.push_back(first + static_cast<float>(i));
    part.tensors.push_back({name, DType::float32, shape, Slice::whole(shape), std::as_bytes(std::span{values})});
  }
  void add_numbers(const std::string& name, const Shape& shape) {
    numbers.resize(static_cast<std::size_t>(shape.elements()));
    part.tensors.push_back({name, DType::int64, shape, Slice::whole(shape), std::as_bytes(std::span{numbers})});
  }

  /// Returns a job with these variables, initialised with zeros, that starts with the checkpoint.
  auto job(std::vector<std::pair<std::string, Shape>> variables) -> Job {
    perform(plan_bundle((directory / "c").string(), std::vector{part}));
    Job job;
    job.initial_checkpoint = directory / "c";
    for (const auto& [name, shape] : variables) {
      job.parts.push_back({job.variables.size(), Slice::whole(shape), 0});
      job.variables.push_back({name, DType::float32, shape, {}});
    }
    return job;
  }

  support::TempDirectory directory;
  std::deque<std::vector<float>> kept;
  std::vector<std::int64_t> numbers;
  BundlePart part;
};

auto read_floats(const InitialCheckpoint& checkpoint, const std::string& name) -> std::vector<float> {
  const StoredTensor* tensor = checkpoint.reader().find(name);
  REQUIRE(tensor != nullptr);
  std::vector<float> values(static_cast<std::size_t>(tensor->shape.elements()));
  checkpoint.reader().read(name, Slice::whole(tensor->shape), std::as_writable_bytes(std::span{values}));
  return values;
}

/// Returns why a job cannot start with its checkpoint, without the directory.
auto why_not(const Job& job) -> std::string {
  try {
    static_cast<void>(InitialCheckpoint::of(job));
  } catch (const std::system_error& thrown) {
    const Error error = error_of(thrown);
    CHECK((error.code == ps_errc::not_in_checkpoint || error.code == checkpoint_errc::mismatch));
    CHECK((error.code == ps_errc::not_in_checkpoint) == (error.where.find("it lacks ") != std::string::npos));
    CHECK(error.where.starts_with(job.initial_checkpoint + ": "));
    return error.where.substr(job.initial_checkpoint.size() + 2);
  }
  return {};
}

}  // namespace

TEST_CASE("InitialCheckpoint: empty for a job without a checkpoint; otherwise has all trained variables and no counter",
          "[ps]") {
  CHECK_FALSE(InitialCheckpoint::of(Job{}));
  InitialBench bench;
  bench.add("w", {2}, 1);
  bench.add("b", {}, 5);
  Job job = bench.job({{"b", {}}, {"w", {2}}});
  job.variables.push_back({"seen", DType::int64, {}, {}});  // counters count what this job does
  const auto found = InitialCheckpoint::of(job);
  REQUIRE(found);
  CHECK(found->missing().empty());
  CHECK(read_floats(*found, "w") == std::vector<float>{1, 2});
  CHECK(read_floats(*found, "b") == std::vector<float>{5});
  CHECK(found->reader().tensors().size() == 2);
}

TEST_CASE("InitialCheckpoint: parts that are separate tensors are named in the error, and joined on request", "[ps]") {
  InitialBench bench;
  bench.add("bias", {}, 4);
  bench.add("weights/part_0", {2}, 1);
  bench.add("weights/part_1", {1}, 3);
  Job job = bench.job({{"weights", {3}}, {"bias", {}}});
  CHECK(why_not(job) ==
        "it lacks weights (nearest: weights/part_0 float32[2], weights/part_1 float32[1]: separate tensors, which the "
        "name weights/part_* joins)");
  job.initial_names = {{"weights/part_*", "weights"}};
  CHECK(read_floats(*InitialCheckpoint::of(job), "weights") == std::vector<float>{1, 2, 3});
  job.variables[0].shape = {4};
  CHECK(why_not(job) == "weights/part_*: it is 2 tensors, the first float32[2], not float32[4], for weights");
  const Job other = bench.job({{"model/weights", {3}}, {"weights/part_2", {9}}});
  CHECK_THAT(why_not(other),
             ContainsSubstring("it lacks model/weights (nearest: weights/part_0 float32[2], weights/part_1 float32[1]: "
                               "separate tensors, which the name weights/part_* joins)"));
  job.initial_names = {{"bias_*", "weights"}};
  CHECK_THAT(why_not(job), ContainsSubstring("it lacks bias_*, for weights (nearest: bias float32[], "));
}

TEST_CASE("InitialCheckpoint: parts are joined along the axis along which they were divided, whole or in slices",
          "[ps]") {
  InitialBench bench;
  bench.add("rows/part_0", {1, 3}, 0);
  bench.add("rows/part_1", {2, 3}, 3);
  const Shape columns{2, 2};
  std::vector<float> left{0, 1, 10, 11};
  std::vector<float> right{2, 12};
  for (std::int64_t row = 0; row < 2; ++row)
    bench.part.tensors.push_back({"columns/part_0", DType::float32, columns, Slice::along(columns, 0, row, 1),
                                  std::as_bytes(std::span{left}).subspan(static_cast<std::size_t>(row) * 8, 8)});
  bench.part.tensors.push_back(
      {"columns/part_1", DType::float32, {2, 1}, Slice::whole({2, 1}), std::as_bytes(std::span{right})});
  bench.add("alone/part_0", {2, 2}, 7);
  bench.add_numbers("mixed/part_0", {1});
  bench.add("mixed/part_1", {1}, 0);
  Job job = bench.job({{"rows", {3, 3}}, {"columns", {2, 3}}, {"alone", {2, 2}}});
  job.initial_names = {{"rows/part_*", "rows"}, {"columns/part_*", "columns"}, {"alone/part_*", "alone"}};
  const auto found = InitialCheckpoint::of(job);
  CHECK(read_floats(*found, "rows") == std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(read_floats(*found, "columns") == std::vector<float>{0, 1, 2, 10, 11, 12});
  CHECK(read_floats(*found, "alone") == std::vector<float>{7, 8, 9, 10});
  std::array<float, 2> some{};
  found->reader().read("columns", {{1, 1}, {1, 2}}, std::as_writable_bytes(std::span{some}));
  CHECK(some == std::array<float, 2>{11, 12});

  for (const Shape& other : {Shape{9}, Shape{3, 3, 1}, Shape{2, 3}, Shape{3, 2}, Shape{1, 9}, Shape{}}) {
    job.variables[0].shape = other;
    CHECK_THAT(why_not(job), ContainsSubstring("rows/part_*: it is 2 tensors, the first float32[1,3], not float32"));
  }
  job.variables[0] = {"rows", DType::float32, {2}, {}};
  job.initial_names[0] = {"mixed/part_*", "rows"};
  CHECK_THAT(why_not(job), ContainsSubstring("mixed/part_*: it is 2 tensors, the first int64[1], not float32[2]"));
}

TEST_CASE("InitialCheckpoint: the error names everything that is missing or differs, with the nearest names", "[ps]") {
  InitialBench bench;
  bench.add("model/dense/kernel", {2, 3}, 0);
  bench.add("model/dense/bias", {3}, 0);
  bench.add("hidden/weights", {4}, 0);
  bench.add("hidden/weights/Momentum", {4}, 0);
  bench.add_numbers("global_step", {});
  bench.part.strings = {{"note", {}, {"text"}}};
  const Job job = bench.job({{"dense/kernel", {2, 3}}, {"hidden/wieghts", {4}}, {"hidden/weights", {5}}, {"x", {3}}});
  const std::string text = why_not(job);
  CHECK(
      text.starts_with("hidden/weights: it is float32[4], not float32[5]; it lacks dense/kernel (nearest: "
                       "model/dense/kernel float32[2,3], "));
  CHECK_THAT(text, ContainsSubstring("; it lacks hidden/wieghts (nearest: hidden/weights float32[4], "));
  // a tensor of that shape
  CHECK_THAT(text, ContainsSubstring("; it lacks x (nearest: model/dense/bias float32[3], "));
  CHECK(text.find("note") == std::string::npos);

  InitialBench empty;
  empty.part.strings = {{"note", {}, {"text"}}};
  CHECK(why_not(empty.job({{"w", {}}})) == "it lacks w (it has no numeric tensor)");

  std::vector<std::pair<std::string, Shape>> many;
  for (int i = 0; i < 250; ++i) many.emplace_back("v" + std::to_string(i) + "/w", Shape{});
  const std::string of_many = why_not(bench.job(many));
  CHECK_THAT(of_many, ContainsSubstring("it lacks v9/w (nearest: ") &&
                          ContainsSubstring("; it lacks v10/w; it lacks") &&
                          ContainsSubstring("; it lacks v199/w; and 50 more"));
}

TEST_CASE("InitialCheckpoint: names say where the checkpoint has variables, or that they keep their initializers",
          "[ps]") {
  InitialBench bench;
  bench.add("linear/w", {2}, 1);
  bench.add("linear/b", {2}, 3);
  bench.add("a", {2}, 5);
  bench.add("b", {2}, 7);
  bench.add("head/w", {9}, 0);
  Job job = bench.job({{"wide/w", {2}}, {"wide/b", {2}}, {"a", {2}}, {"b", {2}}, {"head/w", {2}}});
  job.initial_names = {{"linear/", "wide/"}, {"b", "a"}, {"a", "b"}, {"", "head/"}};  // a and b change places
  const auto found = InitialCheckpoint::of(job);
  CHECK(found->missing() == std::vector<std::string>{"head/w"});
  CHECK(read_floats(*found, "wide/w") == std::vector<float>{1, 2});
  CHECK(read_floats(*found, "wide/b") == std::vector<float>{3, 4});
  CHECK(read_floats(*found, "a") == std::vector<float>{7, 8});
  CHECK(read_floats(*found, "b") == std::vector<float>{5, 6});

  job.initial_names = {{"lin/", "wide/"}, {"linear/b", "head/w"}};
  CHECK_THAT(why_not(job), ContainsSubstring("it lacks lin/w, for wide/w (nearest: linear/w float32[2], ") &&
                               ContainsSubstring("; it lacks lin/b, for wide/b (nearest: linear/b float32[2], "));
  job.initial_names = {{"linear/", "wide/"}};
  CHECK(why_not(job) == "head/w: it is float32[9], not float32[2]");
  job.initial_names = {{"linear/", "wide/"}, {"head/w", "a"}, {"", "head/"}};
  CHECK(why_not(job) == "head/w: it is float32[9], not float32[2], for a");
}

TEST_CASE(
    "InitialCheckpoint: variables that may be missing are reported; a name that matches nothing is still an error",
    "[ps]") {
  InitialBench bench;
  bench.add("linear/w", {2}, 1);
  bench.add("a", {2}, 5);
  Job job = bench.job({{"wide/w", {2}}, {"wide/more", {2}}, {"a", {2}}, {"head", {2}}});
  job.initial_allow_missing = true;
  job.initial_names = {{"linear/", "wide/"}};
  const auto found = InitialCheckpoint::of(job);
  CHECK(found->missing() == std::vector<std::string>{"wide/more", "head"});
  CHECK(read_floats(*found, "wide/w") == std::vector<float>{1, 2});
  CHECK(read_floats(*found, "a") == std::vector<float>{5, 6});
  CHECK(beginning_with("c", found->missing()) == "beginning with values of c; from initializers: wide/more, head");
  CHECK(beginning_with("c", {}) == "beginning with values of c");
  CHECK_THAT(beginning_with("c", std::vector<std::string>(25, "v")), ContainsSubstring("v, v and 5 more"));

  job.initial_names = {{"lniear/", "wide/"}};
  CHECK_THAT(why_not(job), ContainsSubstring("it lacks lniear/w, for wide/w") &&
                               ContainsSubstring("it lacks lniear/more, for wide/more"));
  CHECK(why_not(job).find("head") == std::string::npos);
  job.initial_names = {{"b", "a"}};
  CHECK_THAT(why_not(job), ContainsSubstring("it lacks b, for a"));
  job.initial_names = {};
  job.variables[2].shape = {3};
  CHECK(why_not(job).starts_with("a: it is float32[2], not float32[3]"));  // not missing, but of another shape

  Job other = bench.job({{"x", {2}}, {"y", {2}}});  // the checkpoint has nothing of it
  other.initial_allow_missing = true;
  CHECK_THAT(why_not(other), ContainsSubstring("it lacks x ") && ContainsSubstring("it lacks y "));
}

TEST_CASE("InitialCheckpoint: finds tables by name, both of any keys and of numbered keys", "[ps]") {
  InitialBench bench;
  bench.add("emb/part_0", {2, 4}, 0);
  bench.add("emb/part_1", {1, 4}, 8);
  for (const char* shard : {"0-of-00002", "1-of-00002"}) {
    const std::string of = std::string{"users/shard-0000"} + shard;
    bench.add_numbers(of + "/keys", {2});
    bench.add(of + "/values", {2, 3}, 0);
  }
  Job job = bench.job({});
  const auto table = [](std::string name, std::uint32_t dim, std::uint64_t rows) {
    TableInfo info;
    info.name = std::move(name);
    info.dim = dim;
    info.rows = rows;
    return info;
  };
  job.tables = {table("items", 4, 3), table("people", 3, 0)};
  job.initial_names = {{"emb/part_*", "items"}, {"users", "people"}};
  const auto found = InitialCheckpoint::of(job);
  CHECK(found->reader().find("items")->shape == Shape{3, 4});
  CHECK(read_floats(*found, "items").back() == 11);
  CHECK(found->reader().find("people/shard-00001-of-00002/values") != nullptr);
  CHECK(found->reader().tensors().size() == 5);

  const auto with = [&](TableInfo other, std::vector<InitialName> names) {
    Job changed = job;
    changed.tables = {std::move(other)};
    changed.initial_names = std::move(names);
    return why_not(changed);
  };
  CHECK_THAT(with(table("items", 4, 3), {}), ContainsSubstring("it lacks items (nearest: "));
  CHECK_THAT(with(table("people", 3, 0), {}), ContainsSubstring("it lacks people (nearest: "));
  CHECK(with(table("users", 4, 0), {}) == "users/shard-00000-of-00002/values: it is float32[2,3], not rows of 4");
  CHECK(with(table("users", 3, 9), {}) ==
        "users/shard-00000-of-00002/keys: it is int64[2], not a table of numbered keys");
  CHECK(with(table("emb/part_0", 4, 0), {}) == "emb/part_0: it is float32[2,4], not a table of any keys");
  CHECK(with(table("items", 4, 4), {{"emb/part_*", "items"}}) ==
        "emb/part_*: it is 2 tensors, the first float32[2,4], not float32[4,4], for items");
  CHECK(with(table("emb/part_0", 4, 3), {}) == "emb/part_0: it is float32[2,4], not float32[3,4]");
}

TEST_CASE("InitialCheckpoint: finds objects of TensorFlow 2 by any path, and shows names without the suffix", "[ps]") {
  InitialBench bench;
  const std::string suffix = "/.ATTRIBUTES/VARIABLE_VALUE";
  bench.add("model/kernel" + suffix, {2}, 1);
  WireWriter graph;
  const auto child = [](WireWriter& node, std::uint64_t object, const char* name) {
    node.message(1, [&](WireWriter& reference) {
      reference.varint(1, object);
      reference.text(2, name);
    });
  };
  graph.message(1, [&](WireWriter& node) {
    child(node, 1, "model");
    child(node, 2, "shared");
  });
  graph.message(1, [&](WireWriter& node) { child(node, 2, "kernel"); });
  graph.message(1, [&](WireWriter& node) {
    node.message(2, [&](WireWriter& attribute) {
      attribute.text(1, "VARIABLE_VALUE");
      attribute.text(2, "dense/kernel");
      attribute.text(3, "model/kernel" + suffix);
    });
  });
  bench.part.strings = {{std::string{detail::object_graph_name}, {}, {std::string{as_text(graph.view())}}}};
  const Job job = bench.job({{"model/kernel", {2}}, {"shared", {2}}, {"dense/kernel", {2}}});
  const auto found = InitialCheckpoint::of(job);
  for (const VariableInfo& variable : job.variables)
    CHECK(read_floats(*found, variable.name) == std::vector<float>{1, 2});
  CHECK(why_not(bench.job({{"kernel", {2}}})) == "it lacks kernel (nearest: model/kernel float32[2])");
}

TEST_CASE(
    "InitialCheckpoint: a checkpoint with a saved iterator has its other tensors, and the iterator is no variable",
    "[ps]") {
  Job job;
  job.initial_checkpoint = support::test_dir() + "/checkpoint/fixtures/iterator/ckpt-1";
  job.variables.push_back({"w", DType::float32, {2}, {}});
  job.parts.push_back({0, Slice::whole({2}), 0});
  const auto found = InitialCheckpoint::of(job);
  REQUIRE(found);
  CHECK(found->missing().empty());
  CHECK(read_floats(*found, "w") == std::vector<float>{1, 2});

  job.variables[0].shape = {3};
  CHECK(why_not(job) == "w: it is float32[2], not float32[3]");
  job.variables[0] = {"step", DType::float32, {}, {}};
  CHECK(why_not(job) == "step: it is int64[], not float32[]");
  job.variables[0] = {"iterator", DType::float32, {11}, {}};
  CHECK(why_not(job) == "it lacks iterator (nearest: save_counter int64[], step int64[], w float32[2])");
}

TEST_CASE("InitialCheckpoint: files of safetensors and PyTorch are searched and refused as checkpoints are", "[ps]") {
  const support::TempDirectory directory;
  const std::vector<float> w{1, 2, 3, 4};
  const std::vector<std::uint16_t> half{0x3C00, 0x4000};  // 1, 2
  const std::vector<std::uint64_t> keys{4, 2};
  const auto bytes = [](const auto& values) { return std::as_bytes(std::span{values}); };
  const std::vector<NamedTensor> tensors{{"module.fc.weight", DType::float32, {2, 2}, bytes(w)},
                                         {"module.half", DType::float16, {2}, bytes(half)},
                                         {"parts/part_0", DType::float16, {1}, bytes(half).first(2)},
                                         {"parts/part_1", DType::float16, {1}, bytes(half).last(2)},
                                         {"users/keys", DType::uint64, {2}, bytes(keys)},
                                         {"users/values", DType::float32, {2, 2}, bytes(w)},
                                         {"odd/keys", DType::uint64, {2}, bytes(keys)},
                                         {"odd/values", DType::float32, {4}, bytes(w)},
                                         {"real/keys", DType::float32, {4}, bytes(w)},
                                         {"real/values", DType::float32, {4, 1}, bytes(w)}};
  save_safetensors(directory / "x.safetensors", tensors);
  save_torch_file(directory / "x.pt", tensors);
  for (const char* name : {"x.safetensors", "x.pt"}) {
    Job job;
    job.initial_checkpoint = directory / name;
    const auto with = [&](std::vector<std::pair<std::string, Shape>> variables, std::vector<InitialName> names) {
      job.variables.clear();
      for (const auto& [variable, shape] : variables) job.variables.push_back({variable, DType::float32, shape, {}});
      job.initial_names = std::move(names);
      return job;
    };
    const auto found = InitialCheckpoint::of(
        with({{"fc.weight", {2, 2}}, {"half", {2}}, {"w", {2}}}, {{"module.", "/"}, {"parts/part_*", "w"}}));
    CHECK(read_floats(*found, "fc.weight") == w);
    CHECK(read_floats(*found, "half") == std::vector<float>{1, 2});
    CHECK(read_floats(*found, "w") == std::vector<float>{1, 2});
    CHECK_THAT(why_not(with({{"fc.weight", {2, 2}}}, {})),
               ContainsSubstring("it lacks fc.weight (nearest: module.fc.weight float32[2,2], "));
    CHECK(why_not(with({{"half", {3}}}, {{"module.", "/"}})) ==
          "module.half: it is float16[2], not float32[3], for half");

    static_cast<void>(with({}, {}));
    const auto with_table = [&](const std::string& table, std::uint32_t dim, std::uint64_t rows) {
      TableInfo info;
      info.name = table;
      info.dim = dim;
      info.rows = rows;
      job.tables = {info};
      return job;
    };
    const auto of_table = InitialCheckpoint::of(with_table("users", 2, 0));
    CHECK(of_table->reader().find("users/keys") != nullptr);
    CHECK(of_table->reader().tensors().size() == 2);
    CHECK(why_not(with_table("users", 3, 0)) == "users/values: it is float32[2,2], not float32[2,3]");
    CHECK_THAT(why_not(with_table("users", 2, 9)), ContainsSubstring("it lacks users (nearest: users/keys"));
    CHECK(why_not(with_table("odd", 2, 0)) == "odd/values: it is float32[4], not float32[2,2]");
    CHECK(why_not(with_table("real", 1, 0)) == "real/keys: it is float32[4], not keys of 64 bits");
  }
}
