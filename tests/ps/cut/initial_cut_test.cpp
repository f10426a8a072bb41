// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/cut/initial_cut.hpp>

#include <distrib/checkpoint/bundle_writer.hpp>
#include <distrib/checkpoint/data_file_name.hpp>
#include <distrib/checkpoint/formats/safetensors_writer.hpp>
#include <distrib/checkpoint/formats/torch_writer.hpp>
#include <distrib/checkpoint/object_names.hpp>
#include <distrib/checkpoint/perform.hpp>
#include <distrib/core/half.hpp>
#include <distrib/optimizer/averaged_updater.hpp>
#include <distrib/optimizer/ftrl.hpp>
#include <distrib/ps/cut/cut_tensors.hpp>
#include <distrib/ps/protocol/sync_shard_core.hpp>

#include "ps/cuts.hpp"
#include "ps/loopback_job.hpp"
#include "support/actions.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <system_error>
#include <vector>

using namespace distrib;

namespace {

// Saves the checkpoint of step 40 of a job that was trained with Momentum.
auto save(const Job& job, const std::string& prefix) -> std::string {
  const auto of_shards = cuts::make_cuts(job, 40);
  std::vector<BundlePart> parts;
  for (std::uint32_t shard = 0; shard < job.shards(); ++shard) {
    const CutTensors tensors{job, shard, cuts::updaters};
    parts.push_back(tensors.part(of_shards[shard]));
    if (shard == 0) tensors.describe(of_shards[0], parts[0]);
  }
  perform(plan_bundle(prefix, parts));
  return prefix;
}

const JobUpdaters two_slots{Ftrl{.initial_accumulator_value = 0.25F}};

auto initial_cut_refusal(const Job& job) -> std::string {
  try {
    static_cast<void>(initial_cut(job, ShardLayout{job, 0}, two_slots));
  } catch (const std::system_error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("initial_cut: initial values, and slots with their first values", "[ps]") {
  const Job job = loopback_job::make(2, 1);
  const JobUpdaters updaters{Ftrl{.initial_accumulator_value = 0.25F}};
  for (std::uint32_t shard = 0; shard < 2; ++shard) {
    const Cut cut = initial_cut(job, ShardLayout{job, shard}, updaters);
    CHECK(cut.step == 0);
    CHECK(cut.applied.empty());
    const SyncShardCore core{job, shard, updaters};
    CHECK(std::ranges::equal(cut.values->bytes(), core.store().dense()->bytes()));
    REQUIRE(cut.slots.size() == 2);
    CHECK(std::ranges::all_of(cut.slots[0]->as<float>(), [](float x) { return x == 0.25F; }));
    CHECK(std::ranges::all_of(cut.slots[1]->as<float>(), [](float x) { return x == 0.0F; }));
    CHECK(cut.slots[1]->size() == cut.values->size());
  }
}

TEST_CASE("initial_cut: takes values and rows from a checkpoint, whatever shards saved them, and nothing else",
          "[ps]") {
  for (const std::uint32_t saved_on : {1U, 2U, 3U}) {
    const support::TempDirectory directory;
    const std::string prefix = save(cuts::with_tables(cuts::make_job(saved_on, 2)), directory / "model.ckpt-40");
    for (const std::uint32_t shards : {1U, 2U, 3U}) {
      Job job = cuts::with_tables(cuts::make_job(shards, 3, 8));  // also another seed
      job.initial_checkpoint = prefix;
      const auto saved = cuts::make_cuts(job, 40);
      for (std::uint32_t shard = 0; shard < shards; ++shard) {
        CAPTURE(saved_on, shards, shard);
        const ShardLayout layout{job, shard};
        const Cut cut = initial_cut(job, layout, two_slots);
        CHECK(cut.step == 0);
        CHECK(cut.applied.empty());
        CHECK(cuts::same_bytes(cut.values, saved[shard].values));
        Job plain = job;
        plain.initial_checkpoint.clear();
        const Cut of_new = initial_cut(plain, layout, two_slots);
        REQUIRE(cut.slots.size() == of_new.slots.size());
        for (std::size_t i = 0; i < cut.slots.size(); ++i) CHECK(cuts::same_bytes(cut.slots[i], of_new.slots[i]));

        REQUIRE(cut.tables.size() == 2);
        for (std::size_t t = 0; t < 2; ++t) {
          const TableCut& table = cut.tables[t];
          const TableCut& trained = saved[shard].tables[t];
          const std::size_t dim = job.tables[t].dim;
          const std::size_t rows = trained.rows->size() / (2 * dim * sizeof(float));
          REQUIRE(table.rows->size() == rows * 3 * dim * sizeof(float));
          REQUIRE(table.keys->size() == rows * sizeof(std::uint64_t));
          CHECK(std::ranges::equal(table.keys->bytes(), trained.keys->bytes().first(table.keys->size())));
          CHECK(table.uses->size() == (job.tables[t].any_key() ? rows * sizeof(KeyUse) : 0));
          for (const KeyUse& use : table.uses->as<KeyUse>()) CHECK(use == KeyUse{1, 0});
          for (std::size_t row = 0; row < rows; ++row)
            for (std::size_t i = 0; i < dim; ++i) {
              const float* const given = table.rows->as<float>().data() + row * 3 * dim;
              CHECK(given[i] == trained.rows->as<float>()[row * 2 * dim + i]);
              CHECK(given[dim + i] == 0.25F);
              CHECK(given[2 * dim + i] == 0.0F);
            }
        }
        ShardStore store{job, shard, two_slots, std::numeric_limits<std::uint64_t>::max()};
        store.load(cut);  // the store accepts it as a cut of this job
        CHECK(cuts::same_bytes(store.dense(), cut.values));
      }
    }
  }
}

TEST_CASE("initial_cut: slots that begin as the values have those of the checkpoint", "[ps]") {
  const support::TempDirectory directory;
  Job job = cuts::with_tables(cuts::make_job(2, 2));
  job.initial_checkpoint = save(job, directory / "model.ckpt-40");
  const JobUpdaters updaters{averaged(Ftrl{.initial_accumulator_value = 0.25F}, {})};
  for (std::uint32_t shard = 0; shard < 2; ++shard) {
    const ShardLayout layout{job, shard};
    const Cut cut = initial_cut(job, layout, updaters);
    const Cut plain = initial_cut(job, layout, two_slots);
    REQUIRE(cut.slots.size() == 3);
    CHECK(cuts::same_bytes(cut.slots[0], plain.slots[0]));
    CHECK(cuts::same_bytes(cut.slots[1], plain.slots[1]));
    CHECK(std::ranges::equal(cut.slots[2]->bytes(), cut.values->bytes().first(cut.slots[2]->size())));
    for (std::size_t t = 0; t < 2; ++t) {
      const std::size_t dim = job.tables[t].dim;
      const auto rows = cut.tables[t].rows->as<float>();
      REQUIRE(rows.size() % (4 * dim) == 0);
      for (std::size_t at = 0; at < rows.size(); at += 4 * dim) {
        CHECK(std::ranges::equal(rows.subspan(at, dim), rows.subspan(at + 3 * dim, dim)));
        CHECK(rows[at + dim] == 0.25F);
        CHECK(rows[at + 2 * dim] == 0.0F);
      }
    }
  }
}

TEST_CASE("initial_cut: from files of safetensors and PyTorch as from the checkpoint with the same values", "[ps]") {
  const support::TempDirectory directory;
  const Job saved = cuts::with_tables(cuts::make_job(2, 2));
  const auto reader = BundleReader::open(save(saved, directory / "model.ckpt-40"));
  std::deque<std::vector<std::byte>> kept;
  std::vector<NamedTensor> tensors;
  const auto read = [&](const std::string& name) -> std::vector<std::byte>& {
    const StoredTensor& tensor = *reader.find(name);
    auto& bytes = kept.emplace_back(static_cast<std::size_t>(tensor.shape.elements()) * size_bytes(tensor.dtype));
    reader.read(name, Slice::whole(tensor.shape), bytes);
    return bytes;
  };
  for (const char* name : {"w", "b", "ids"})
    tensors.push_back({name, DType::float32, reader.find(name)->shape, read(name)});
  // The table of any keys as other programs have it: the keys in any order.
  std::vector<std::uint64_t> keys;
  std::vector<std::array<float, 2>> rows;
  for (const char* shard : {"words/shard-00001-of-00002", "words/shard-00000-of-00002"}) {
    const auto& of_shard = read(std::string{shard} + "/keys");
    const auto& values = read(std::string{shard} + "/values");
    for (std::size_t i = values.size() / 8; i-- > 0;) {
      keys.push_back(load_le<std::uint64_t>(of_shard.data() + 8 * i));
      rows.push_back({load_le<float>(values.data() + 8 * i), load_le<float>(values.data() + 8 * i + 4)});
    }
  }
  REQUIRE_FALSE(std::ranges::is_sorted(keys));
  const auto count = static_cast<std::int64_t>(keys.size());
  tensors.push_back({"words/keys", DType::uint64, {count}, std::as_bytes(std::span{keys})});
  tensors.push_back({"words/values", DType::float32, {count, 2}, std::as_bytes(std::span{rows})});
  save_safetensors(directory / "one.safetensors", tensors);
  save_safetensors(directory / "some.safetensors", tensors, {.max_file_bytes = 200});
  tensors[3].dtype = DType::int64;
  save_torch_file(directory / "one.pt", tensors);

  for (const std::uint32_t shards : {1U, 3U})
    for (const char* file : {"one.safetensors", "some.safetensors.index.json", "one.pt"}) {
      CAPTURE(shards, file);
      Job job = cuts::with_tables(cuts::make_job(shards, 3, 8));
      for (std::uint32_t shard = 0; shard < shards; ++shard) {
        const ShardLayout layout{job, shard};
        job.initial_checkpoint = directory / "model.ckpt-40";
        const Cut expected = initial_cut(job, layout, two_slots);
        job.initial_checkpoint = directory / file;
        const Cut cut = initial_cut(job, layout, two_slots);
        CHECK(cuts::same_bytes(cut.values, expected.values));
        REQUIRE(cut.tables.size() == 2);
        for (std::size_t t = 0; t < 2; ++t) {
          CHECK(std::ranges::equal(cut.tables[t].keys->bytes(), expected.tables[t].keys->bytes()));
          CHECK(std::ranges::equal(cut.tables[t].uses->bytes(), expected.tables[t].uses->bytes()));
          CHECK(std::ranges::equal(cut.tables[t].rows->bytes(), expected.tables[t].rows->bytes()));
        }
      }
    }

  Job job = cuts::with_tables(cuts::make_job(1, 1, 8));
  job.initial_checkpoint = directory / "one.safetensors";
  keys[1] = keys[0];
  tensors[3].dtype = DType::uint64;
  save_safetensors(directory / "one.safetensors", tensors);
  CHECK_THAT(initial_cut_refusal(job),
             ContainsSubstring("words/keys: key " + std::to_string(keys[0]) + " occurs twice"));
}

TEST_CASE("initial_cut: float16 and bfloat16 become float32, of variables and of both kinds of table", "[ps]") {
  const support::TempDirectory directory;
  Job job = cuts::with_tables(cuts::make_job(1, 2));
  std::vector<std::vector<float>> values;
  for (const std::size_t size : {30U, 5U, 21U, 6U}) values.emplace_back(size);
  for (auto& some : values)
    for (std::size_t i = 0; i < some.size(); ++i) some[i] = static_cast<float>(i) / 4 - 2;
  const std::vector<std::int64_t> keys{3, -1, 9};
  const auto is_begun = [&](const std::string& path) {
    job.initial_checkpoint = path;
    const ShardLayout layout{job, 0};
    const Cut cut = initial_cut(job, layout, cuts::updaters);
    for (const ShardLayout::Entry& entry : layout.trained()) {
      const auto& expected = values[entry.name == "w" ? 0 : 1];
      const auto given = cut.values->as<float>().subspan(entry.offset_bytes / 4, entry.size_bytes / 4);
      const auto from = static_cast<std::size_t>(entry.slice.start[0]) * (entry.name == "w" ? 5 : 1);
      CHECK(std::equal(given.begin(), given.end(), expected.begin() + static_cast<std::ptrdiff_t>(from)));
    }
    for (std::size_t row = 0; row < 7; ++row)
      for (std::size_t i = 0; i < 3; ++i) CHECK(cut.tables[0].rows->as<float>()[row * 6 + i] == values[2][row * 3 + i]);
    CHECK(cut.tables[1].keys->as<std::uint64_t>()[2] == ~std::uint64_t{0});  // keys are unsigned
    CHECK(cut.tables[1].rows->as<float>()[8] == values[3][2]);
  };
  for (const DType type : {DType::float16, DType::bfloat16}) {
    std::vector<std::vector<std::uint16_t>> halves;
    for (const auto& some : values) {
      auto& bits = halves.emplace_back(some.size());
      if (type == DType::float16) to_float16(some, bits);
      else to_bfloat16(some, bits);
    }
    const auto bytes = [&](std::size_t i) { return std::as_bytes(std::span{halves[i]}); };
    const std::vector<NamedTensor> tensors{{"w", type, {6, 5}, bytes(0)},
                                           {"b", type, {5}, bytes(1)},
                                           {"ids", type, {7, 3}, bytes(2)},
                                           {"words/keys", DType::int64, {3}, std::as_bytes(std::span{keys})},
                                           {"words/values", type, {3, 2}, bytes(3)}};
    save_safetensors(directory / "x.safetensors", tensors);
    save_torch_file(directory / "x.pt", tensors);
    BundlePart part;
    for (const NamedTensor& tensor : tensors)
      part.tensors.push_back({tensor.name, tensor.dtype, tensor.shape, Slice::whole(tensor.shape), tensor.bytes});
    perform(plan_bundle((directory / "x").string(), std::vector{part}));
    for (const char* name : {"x.safetensors", "x.pt", "x"}) is_begun(directory / name);
  }
}

TEST_CASE("initial_cut: variables missing in the checkpoint keep their initializers, and counters start at zero",
          "[ps]") {
  const support::TempDirectory directory;
  Job job = cuts::make_job(1, 1);
  const auto counts = std::int64_t{7};
  const std::vector<float> w(30, 4.0F);
  BundlePart part;
  part.tensors.push_back({"w", DType::float32, {6, 5}, Slice::whole({6, 5}), std::as_bytes(std::span{w})});
  part.tensors.push_back({"n", DType::int64, {}, Slice::whole({}), detail::bytes_of(counts)});
  perform(plan_bundle((directory / "c").string(), std::vector{part}));
  job.variables.push_back({"n", DType::int64, {}, {}});
  job.parts.push_back({2, Slice::whole({}), 0});
  job.tables = {{"ids", 3, 7}, {"words", 2, 0}};
  const ShardLayout layout{job, 0};
  const Cut plain = initial_cut(job, layout, two_slots);
  job.initial_checkpoint = directory / "c";
  CHECK_THAT(initial_cut_refusal(job), ContainsSubstring("it lacks b") && ContainsSubstring("it lacks ids") &&
                                           ContainsSubstring("it lacks words"));
  job.initial_allow_missing = true;
  const Cut cut = initial_cut(job, layout, two_slots);
  for (const ShardLayout::Entry& entry : layout.entries()) {
    const auto given = cut.values->bytes().subspan(entry.offset_bytes, entry.size_bytes);
    if (entry.name == "w") CHECK(std::ranges::equal(given, std::as_bytes(std::span{w})));
    else CHECK(std::ranges::equal(given, plain.values->bytes().subspan(entry.offset_bytes, entry.size_bytes)));
  }
  REQUIRE(cut.tables.size() == 2);
  CHECK(cut.tables[0].keys == nullptr);
  ShardStore store{job, 0, two_slots, std::numeric_limits<std::uint64_t>::max()};
  const auto fresh = store.tables()->digests();
  Cut trained = cut;
  trained.tables = {cuts::make_table(layout.tables()[0], {}, 2, 9),
                    cuts::make_table(layout.tables()[1], {{5}, {}}, 2, 9)};
  store.load(trained);
  CHECK(store.tables()->digests() != fresh);
  store.load(cut);
  CHECK(store.tables()->digests() == fresh);
}

TEST_CASE("initial_cut: finds variables of an object-based checkpoint by full name and by path", "[ps]") {
  const support::TempDirectory directory;
  Job job = cuts::make_job(1, 1);
  const std::vector<float> w(30, 4.0F);
  const std::vector<float> b(5, 5.0F);
  BundlePart part;
  const std::string suffix = "/.ATTRIBUTES/VARIABLE_VALUE";
  part.tensors.push_back(
      {"model/w" + suffix, DType::float32, {6, 5}, Slice::whole({6, 5}), std::as_bytes(std::span{w})});
  part.tensors.push_back({"b" + suffix, DType::float32, {5}, Slice::whole({5}), std::as_bytes(std::span{b})});
  const auto with = [&](std::vector<std::string> full_names) {
    WireWriter graph;
    for (const std::string& name : full_names)
      graph.message(1, [&](WireWriter& node) {
        node.message(2, [&](WireWriter& attribute) {
          attribute.text(2, name);
          attribute.text(3, (name.empty() ? "b" : "model/w") + suffix);
        });
      });
    part.strings = {{std::string{detail::object_graph_name}, {}, {std::string{as_text(graph.view())}}}};
    perform(plan_bundle((directory / "c").string(), std::vector{part}));
    job.initial_checkpoint = directory / "c";
  };
  with({"w", ""});
  const ShardLayout layout{job, 0};
  const Cut cut = initial_cut(job, layout, two_slots);
  for (const ShardLayout::Entry& entry : layout.trained()) {
    const auto given = cut.values->bytes().subspan(entry.offset_bytes, entry.size_bytes);
    if (entry.name == "w") CHECK(std::ranges::equal(given, std::as_bytes(std::span{w})));
    if (entry.name == "b") CHECK(std::ranges::equal(given, std::as_bytes(std::span{b})));
  }
  for (VariableInfo& variable : job.variables)
    if (variable.name == "w") variable.shape = {3, 5};
  job.parts.clear();
  for (std::size_t i = 0; i < job.variables.size(); ++i)
    job.parts.push_back({i, Slice::whole(job.variables[i].shape), 0});
  CHECK_THAT(initial_cut_refusal(job), ContainsSubstring("c: w: it is float32[6,5], not float32[3,5]"));
}

TEST_CASE("initial_cut: a tensor that is missing, damaged or different is reported by name", "[ps]") {
  const support::TempDirectory directory;
  const Job saved = cuts::with_tables(cuts::make_job(1, 1));
  const std::string prefix = save(saved, directory / "c");
  const auto with = [&](auto change) {
    Job job = saved;
    job.initial_checkpoint = prefix;
    change(job);
    return initial_cut_refusal(job);
  };
  CHECK(with([](Job&) {}).empty());
  CHECK_THAT(with([](Job& job) { job.initial_checkpoint += "2"; }), ContainsSubstring("c2.index"));
  CHECK_THAT(with([&](Job& job) {
               job = cuts::make_job(1, 1, 3, 9);
               job.initial_checkpoint = prefix;
             }),
             ContainsSubstring("c: w: it is float32[6,5], not float32[9,5]"));
  CHECK_THAT(with([](Job& job) { job.tables[0].rows = 8; }),
             ContainsSubstring("ids: it is float32[7,3], not float32[8,3]"));
  CHECK_THAT(with([](Job& job) { job.tables[0].dim = 4; }), ContainsSubstring("ids: it is float32[7,3]"));
  CHECK_THAT(with([](Job& job) { job.tables[0].rows = 0; }),
             ContainsSubstring("ids: it is float32[7,3], not a table of any keys"));
  CHECK_THAT(with([](Job& job) { job.tables[1].rows = 7; }),
             ContainsSubstring("words/shard-00000-of-00001/keys: it is int64[") &&
                 ContainsSubstring("], not a table of numbered keys"));
  const std::int64_t number = 1;
  BundlePart part;
  part.tensors.push_back({"b", DType::int64, {}, Slice::whole({}), detail::bytes_of(number)});
  perform(plan_bundle((directory / "other").string(), std::vector{part}));
  CHECK_THAT(with([&](Job& job) { job.initial_checkpoint = directory / "other"; }),
             ContainsSubstring("other: b: it is int64[], not float32[5]"));
  cuts::damage(data_file_name(prefix, 0, 1));
  CHECK_THAT(with([](Job&) {}), ContainsSubstring("the data of the checkpoint is damaged"));
  std::filesystem::remove(data_file_name(prefix, 0, 1));
  CHECK_THAT(with([](Job&) {}), ContainsSubstring("c.data-00000-of-00001"));
}
