// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/cut/cut_tensors.hpp>

#include <distrib/checkpoint/part_writer.hpp>
#include <distrib/checkpoint/perform.hpp>
#include <distrib/checkpoint/save.hpp>
#include <distrib/optimizer/adam.hpp>
#include <distrib/optimizer/sgd.hpp>

#include "ps/cuts.hpp"
#include "ps/linked_cuts.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "support/whole_variables.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using distrib::BundlePart;
using distrib::BundleReader;
using distrib::checkpoint_errc;
using distrib::Cut;
using distrib::CutTensors;
using distrib::Error;
using distrib::Momentum;

namespace {

auto tensors_of(const distrib::Job& job) -> std::vector<CutTensors> {
  std::vector<CutTensors> list;
  for (std::uint32_t shard = 0; shard < job.shards(); ++shard) list.emplace_back(job, shard, cuts::updaters);
  return list;
}

// Saves the cuts of all shards as one checkpoint.
auto save(const std::string& prefix, const distrib::Job& job, const std::vector<Cut>& cuts) -> BundleReader {
  const auto tensors = tensors_of(job);
  std::vector<BundlePart> parts;
  for (std::size_t shard = 0; shard < cuts.size(); ++shard) parts.push_back(tensors[shard].part(cuts[shard]));
  tensors[0].describe(cuts[0], parts[0]);
  distrib::perform(distrib::plan_bundle(prefix, parts));
  return BundleReader::open(prefix);
}

auto read(const BundleReader& reader, const distrib::Job& job) -> std::vector<Cut> {
  std::vector<Cut> cuts;
  for (const CutTensors& tensors : tensors_of(job)) {
    tensors.check_job(reader);
    cuts.push_back(tensors.read(reader));
  }
  return cuts;
}

auto refusal(const BundleReader& reader, const distrib::Job& job) -> Error {
  Error error;
  static_cast<void>(CutTensors{job, 0, cuts::updaters}.read(reader, error));
  return error;
}

}  // namespace

TEST_CASE("CutTensors: variables, slots and the job are stored under their names", "[ps][cut_tensors]") {
  const support::TempDirectory directory;
  const auto job = cuts::make_job(2, 2);
  const auto reader = save(directory / "c-40", job, cuts::make_cuts(job, 40, {21, 19}));
  std::string names;
  for (const auto& tensor : reader.tensors())
    names += tensor.name + to_string(tensor.shape) + " x" + std::to_string(tensor.pieces.size()) + "\n";
  CHECK(names ==
        "b[5] x2\n"
        "b/Momentum[5] x2\n"
        "distrib/applied[2,2] x2\n"
        "distrib/job[] x1\n"
        "global_step[] x1\n"
        "w[6,5] x2\n"
        "w/Momentum[6,5] x2\n");
  CHECK(reader.read_strings("distrib/job").front() == to_text(job));
}

TEST_CASE("CutTensors: a cut can be read with other parts, and on other numbers of shards, than saved it",
          "[ps][cut_tensors]") {
  for (const std::uint32_t shards : {1U, 2U, 3U}) {
    const support::TempDirectory directory;
    const auto job = cuts::make_job(shards, 2);
    const auto reader = save(directory / "c-40", job, cuts::make_cuts(job, 40));
    for (const std::uint32_t other : {1U, 2U, 3U})
      for (const std::int64_t parts : {1, 2, 3}) {
        CAPTURE(shards, other, parts);
        const auto again = cuts::make_job(other, parts);
        CHECK(cuts::same(read(reader, again), cuts::make_cuts(again, 40)));
        const bool equal = shards == other && parts == 2;
        for (const CutTensors& tensors : tensors_of(again)) CHECK(tensors.fits(reader) == equal);
      }
  }
}

TEST_CASE("CutTensors: stores tables beside the variables", "[ps][cut_tensors]") {
  for (const std::uint32_t shards : {1U, 2U, 3U}) {
    const support::TempDirectory directory;
    const auto job = cuts::with_tables(cuts::make_job(shards, 2));
    const auto reader = save(directory / "c-40", job, cuts::make_cuts(job, 40, {21, 21}));
    for (const std::uint32_t other : {1U, 2U, 3U}) {
      CAPTURE(shards, other);
      const auto again = cuts::with_tables(cuts::make_job(other, 2));
      CHECK(cuts::same(read(reader, again), cuts::make_cuts(again, 40, {21, 21})));
      for (const CutTensors& tensors : tensors_of(again)) CHECK(tensors.fits(reader) == (shards == other));
      for (const CutTensors& tensors : tensors_of(cuts::make_job(other, 2))) CHECK_FALSE(tensors.fits(reader));
    }
    Error error;
    CutTensors{cuts::with_tables(job, 8), 0, cuts::updaters}.check_job(reader, error);
    CHECK(error.code == distrib::ps_errc::job_mismatch);
    CHECK_THAT(error.where, ContainsSubstring("'table ids keys 7 dim 3"));
    CHECK_THROWS_WITH((CutTensors{job, 0, distrib::JobUpdaters{distrib::Adam{}}}.read(reader)),
                      ContainsSubstring("w/Adam"));
  }
}

TEST_CASE("CutTensors: a job may have only tables, each with its own updater", "[ps][cut_tensors]") {
  const support::TempDirectory directory;
  auto job = cuts::with_tables(cuts::make_job(2, 2));
  job.variables.clear();
  job.parts.clear();
  job.updaters_of = {{"words", "adam "}};
  const distrib::JobUpdaters updaters{distrib::Sgd{}, distrib::Adam{}};
  std::vector<BundlePart> parts;
  std::vector<Cut> saved;
  for (std::uint32_t shard = 0; shard < 2; ++shard) {
    const distrib::ShardLayout layout{job, shard};
    Cut cut{40, std::make_shared<distrib::AlignedBuffer>(), {}, {}};
    cut.tables = {cuts::make_table(layout.tables()[0], {}, 0, 40),
                  cuts::make_table(layout.tables()[1], cuts::make_keys(20, 4), 2, 40)};
    saved.push_back(std::move(cut));
  }
  for (std::uint32_t shard = 0; shard < 2; ++shard)
    parts.push_back(CutTensors{job, shard, updaters}.part(saved[shard]));
  CutTensors{job, 0, updaters}.describe(saved[0], parts[0]);
  distrib::perform(distrib::plan_bundle((directory / "c-40").string(), parts));
  const auto reader = BundleReader::open(directory / "c-40");
  CHECK(reader.find("ids/Momentum") == nullptr);
  CHECK(reader.find("words/shard-00001-of-00002/values/Adam_1") != nullptr);
  for (std::uint32_t shard = 0; shard < 2; ++shard) {
    const CutTensors tensors{job, shard, updaters};
    tensors.check_job(reader);
    CHECK(tensors.fits(reader));
    CHECK(cuts::same(tensors.read(reader), saved[shard]));
    CHECK_FALSE(CutTensors(job, shard, {distrib::Adam{}, distrib::Sgd{}}).fits(reader));
  }
  CHECK_THROWS_WITH((CutTensors{job, 0, {distrib::Adam{}, distrib::Adam{}}}.read(reader)),
                    ContainsSubstring("c-40: Key ids/Adam"));
}

TEST_CASE("CutTensors: a part can be read alone", "[ps][cut_tensors]") {
  const support::TempDirectory directory;
  const std::string prefix = directory / "c-40";
  const auto job = cuts::make_job(3, 3);
  const auto saved = cuts::make_cuts(job, 40, {21, 19});
  const CutTensors tensors{job, 1, cuts::updaters};
  BundlePart part = tensors.part(saved[1]);
  tensors.describe(saved[1], part);
  Error error;
  distrib::perform(distrib::plan_part(prefix, part, 1, 3, nullptr, error));
  const auto reader = BundleReader::open_part(prefix, 1, 3, error);
  REQUIRE(reader);
  CHECK(tensors.fits(*reader));
  CHECK(cuts::same(tensors.read(*reader), saved[1]));
  tensors.check_job(*reader);

  CHECK_FALSE(CutTensors(cuts::make_job(3, 2), 1, cuts::updaters).fits(*reader));
  CHECK_FALSE(CutTensors(job, 0, cuts::updaters).fits(*reader));
  CHECK_FALSE(CutTensors(job, 1, distrib::JobUpdaters{distrib::Adam{}}).fits(*reader));
  CHECK_FALSE(CutTensors(job, 1, distrib::JobUpdaters{distrib::Sgd{}}).fits(*reader));
}

TEST_CASE("CutTensors: the contributions counted, on the same and on other numbers of shards and ranks",
          "[ps][cut_tensors]") {
  const support::TempDirectory directory;
  const auto job = cuts::make_job(2, 2);  // two ranks
  const auto with_ranks = [](std::uint32_t shards, std::uint32_t ranks) {
    auto other = cuts::make_job(shards, 2);
    other.ranks = ranks;
    return other;
  };
  auto apart = cuts::make_cuts(job, 40, {21, 19});
  apart[1].applied = {20, 20};
  const auto reader = save(directory / "c-40", job, apart);
  CHECK(cuts::same(read(reader, job), apart));  // each shard reads its own row
  for (const auto& other : {cuts::make_job(1, 2), cuts::make_job(3, 2), cuts::make_job(2, 1), with_ranks(2, 3)}) {
    const Error error = refusal(reader, other);
    CHECK(error.code == distrib::ps_errc::job_mismatch);
    CHECK_THAT(error.where,
               ContainsSubstring("as many shards and workers as it had: distrib/applied [shards, workers] is [2,2]"));
  }

  const auto agreed = save(directory / "c-41", job, cuts::make_cuts(job, 41, {22, 19}));
  CHECK(read(agreed, cuts::make_job(3, 2))[2].applied == std::vector<distrib::Step>{22, 19});
  CHECK(refusal(agreed, with_ranks(2, 3)).code == distrib::ps_errc::job_mismatch);  // no equal shares
  const auto shared = save(directory / "c-42", job, cuts::make_cuts(job, 42, {21, 21}));
  CHECK(read(shared, with_ranks(1, 3))[0].applied == std::vector<distrib::Step>{21, 21});
}

TEST_CASE("CutTensors: an asynchronous job whose ranks change continues only as such a job with as many ranks",
          "[ps][cut_tensors]") {
  const support::TempDirectory directory;
  const auto job_of = [](std::uint32_t shards, std::uint32_t ranks, std::uint32_t most) {
    auto job = cuts::make_job(shards, 2);
    job.ranks = ranks;
    job.most_ranks = most;
    job.consistency = distrib::AsynchronousParallel{};
    return job;
  };
  const auto job = job_of(2, 2, 3);
  auto apart = cuts::make_cuts(job, 40, {22, 9, 9, 2});  // the last steps of three ranks; it began with two
  apart[1].applied = {22, 10, 8, 2};
  const auto reader = save(directory / "c-40", job, apart);
  CHECK(cuts::same(read(reader, job), apart));
  CHECK_THAT(refusal(reader, job_of(3, 2, 3)).where, ContainsSubstring("only with as many shards and workers"));
  const std::string why = "an asynchronous job whose ranks change continues only from a checkpoint of such a job";
  // four columns, as in a job of four ranks
  for (const auto& other : {job_of(2, 2, 4), job_of(2, 2, 0), job_of(2, 4, 0)}) {
    const Error error = refusal(reader, other);
    CHECK(error.code == distrib::ps_errc::job_mismatch);
    CHECK_THAT(error.where, ContainsSubstring(why) && ContainsSubstring("distrib/applied is [2,4]"));
  }
  const auto agreed = save(directory / "c-41", job, cuts::make_cuts(job, 41, {23, 9, 9, 2}));
  CHECK(read(agreed, job_of(3, 2, 3))[2].applied == std::vector<distrib::Step>{23, 9, 9, 2});

  const auto fixed = job_of(2, 4, 0);
  const auto of_fixed = save(directory / "c-42", fixed, cuts::make_cuts(fixed, 42, {11, 11, 10, 10}));
  CHECK_THAT(refusal(of_fixed, job).where, ContainsSubstring(why));
  auto synchronous = job;  // has no such counts
  synchronous.consistency = distrib::BulkSynchronousParallel{};
  const auto of_steps = save(directory / "c-43", synchronous, cuts::make_cuts(synchronous, 43));
  CHECK(read(of_steps, synchronous)[0].applied.empty());
}

TEST_CASE("CutTensors: a checkpoint that is no cut of this job is refused", "[ps][cut_tensors]") {
  const support::TempDirectory directory;
  const auto job = cuts::make_job(1, 1);
  const auto reader = save(directory / "c-10", job, cuts::make_cuts(job, 10));
  Error error;
  CutTensors{cuts::make_job(1, 1, 4), 0, cuts::updaters}.check_job(reader, error);
  CHECK(error.code == distrib::ps_errc::job_mismatch);
  CHECK_THAT(error.where, ContainsSubstring("'seed 3'") && ContainsSubstring("'seed 4'"));
  CHECK_THROWS_WITH((CutTensors{job, 0, distrib::JobUpdaters{distrib::Adam{}}}.read(reader)),
                    ContainsSubstring("w/Adam"));

  const std::vector<float> value{1};
  const std::vector<std::int64_t> numbers{1, 2};
  const std::vector<std::int64_t> negative{-1};
  const struct {
    const char* what;
    distrib::BundlePart::TensorPiece piece;
    const char* where;
  } cases[] = {
      {"no step",
       {"x", distrib::DType::float32, {}, {}, std::as_bytes(std::span{value})},
       "global_step is missing or not an int64"},
      {"a float",
       {"global_step", distrib::DType::float32, {}, {}, std::as_bytes(std::span{value})},
       "is missing or not an int64"},
      {"two",
       {"global_step", distrib::DType::int64, {2}, distrib::Slice::whole({2}), std::as_bytes(std::span{numbers})},
       "not a single number"},
      {"below zero", {"global_step", distrib::DType::int64, {}, {}, std::as_bytes(std::span{negative})}, "negative"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.what);
    const std::vector<BundlePart> parts{{{c.piece}, {}}};
    distrib::perform(distrib::plan_bundle((directory / "other").string(), parts));
    const auto other = BundleReader::open(directory / "other");
    CHECK(refusal(other, job).code == checkpoint_errc::mismatch);
    CHECK_THAT(refusal(other, job).where, ContainsSubstring(c.where));
    CHECK_THROWS_WITH((CutTensors{job, 0, cuts::updaters}.check_job(other)), ContainsSubstring("no job is stored"));
  }
}

TEST_CASE("CutTensors: each variable has the slots of its own updater", "[ps][cut_tensors]") {
  const support::TempDirectory directory;
  auto job = cuts::make_job(2, 2);
  job.updaters_of = {{job.variables.back().name, "adam "}};
  const distrib::JobUpdaters updaters{Momentum{}, distrib::Adam{}};
  std::vector<BundlePart> parts;
  std::vector<distrib::Cut> saved;
  for (std::uint32_t shard = 0; shard < 2; ++shard) {
    const distrib::ShardLayout layout{job, shard};
    REQUIRE_FALSE(layout.groups().empty());
    distrib::Cut cut{40, nullptr, {}, {}};
    float next = 0;
    const auto block = [&](std::size_t bytes) {
      auto made = std::make_shared<distrib::AlignedBuffer>(bytes);
      // Numbers where parts lie; gaps stay zero.
      for (const auto& entry : layout.entries())
        if (entry.offset_bytes + entry.size_bytes <= bytes)
          for (float& x : made->as<float>().subspan(entry.offset_bytes / 4, entry.size_bytes / 4)) x = ++next;
      return made;
    };
    cut.values = block(layout.block_bytes());
    for (const auto& group : layout.groups())
      for (std::size_t i = 0; i < updaters[group.updater].slots().size(); ++i) {
        auto slot = std::make_shared<distrib::AlignedBuffer>(group.size_bytes);
        for (const auto& entry : layout.entries())
          if (entry.updater == group.updater)
            for (float& x :
                 slot->as<float>().subspan((entry.offset_bytes - group.offset_bytes) / 4, entry.size_bytes / 4))
              x = ++next;
        cut.slots.push_back(std::move(slot));
      }
    saved.push_back(cut);
  }
  const CutTensors first{job, 0, updaters};
  for (std::uint32_t shard = 0; shard < 2; ++shard)
    parts.push_back(CutTensors{job, shard, updaters}.part(saved[shard]));
  first.describe(saved[0], parts[0]);
  static_cast<void>(distrib::save_checkpoint(directory.path().string(), "c-40", parts, {}));
  const BundleReader reader = BundleReader::open(directory / "c-40");
  for (std::uint32_t shard = 0; shard < 2; ++shard)
    CHECK(cuts::same(CutTensors{job, shard, updaters}.read(reader), saved[shard]));
  CHECK(reader.find(job.variables.front().name + "/Momentum") != nullptr);
  CHECK(reader.find(job.variables.front().name + "/Adam") == nullptr);
  CHECK(reader.find(job.variables.back().name + "/Adam_1") != nullptr);
  CHECK(reader.find(job.variables.back().name + "/Momentum") == nullptr);
}

TEST_CASE("CutTensors: counters have their own element types and no slots, on any number of shards",
          "[ps][cut_tensors]") {
  const support::TempDirectory directory;
  const auto job_of = [](std::uint32_t shards, std::int64_t parts) {
    distrib::Job job;
    job.variables = {{"seen", distrib::DType::int64, {7}, {}},
                     {"w", distrib::DType::float32, {5}, {}},
                     {"sum", distrib::DType::float64, {2, 3}, {}}};
    job.shards_per_task = shards;
    job.parts = distrib::plan_parts(job.variables, distrib::FixedShardsPartitioner{parts},
                                    distrib::RoundRobinStrategy{}, 1, shards);
    return job;
  };
  std::vector<std::int64_t> seen(7);
  for (std::size_t i = 0; i < 7; ++i) seen[i] = -(std::int64_t{1} << (8 * i));
  const std::vector<float> w{1, 2, 3, 4, 5};
  const std::vector<double> sum{0.1, 1e300, -0.0, 5e-324, 3, 4};
  const void* const variables[] = {seen.data(), w.data(), sum.data()};
  const auto cuts_of = [&](const distrib::Job& job) {
    std::vector<Cut> made;
    for (const distrib::ShardLayout& layout : shard_layouts(job)) {
      auto values = std::make_shared<distrib::AlignedBuffer>(layout.block_bytes());
      support::gather(
          layout, [&](std::size_t v) { return static_cast<const std::byte*>(variables[v]); }, values->data());
      Cut cut{40, values, {}, {}};
      if (!layout.groups().empty()) {  // the slots have the same numbers as the values
        auto slots = std::make_shared<distrib::AlignedBuffer>(layout.float_bytes());
        std::copy_n(values->data(), layout.float_bytes(), slots->data());
        cut.slots.push_back(std::move(slots));
      }
      made.push_back(std::move(cut));
    }
    return made;
  };
  const auto job = job_of(2, 2);
  const auto reader = save(directory / "c-40", job, cuts_of(job));
  REQUIRE(reader.find("seen") != nullptr);
  CHECK(reader.find("seen")->dtype == distrib::DType::int64);
  CHECK(reader.find("sum")->dtype == distrib::DType::float64);
  CHECK(reader.find("w/Momentum") != nullptr);
  CHECK(reader.find("seen/Momentum") == nullptr);
  CHECK(reader.find("sum/Momentum") == nullptr);
  for (const std::uint32_t shards : {1U, 2U, 3U})
    for (const std::int64_t parts : {1, 2, 3}) {
      CAPTURE(shards, parts);
      const auto other = job_of(shards, parts);
      CHECK(cuts::same(read(reader, other), cuts_of(other)));
      for (const CutTensors& tensors : tensors_of(other)) CHECK(tensors.fits(reader) == (shards == 2 && parts == 2));
    }

  auto as_floats = job;  // the same number of bytes
  as_floats.variables[0].dtype = distrib::DType::float64;
  CHECK_FALSE(tensors_of(as_floats)[0].fits(reader));
  Error error;
  tensors_of(as_floats)[0].check_job(reader, error);
  CHECK(error.code == distrib::ps_errc::job_mismatch);
  CHECK_THAT(error.where, ContainsSubstring("'variable seen int64[7] zeros'"));
}

namespace {

// The cuts of a shard that makes links: each as it was made, and what it is with all that it stands on.
struct LinkedShardCuts {
  explicit LinkedShardCuts(const CutTensors& of_shard) : tensors{of_shard} {}

  // Returns the whole cut: from its base, and, which must be the same, from the whole cut under its chain.
  auto add(Cut made) -> const Cut& {
    const distrib::Step step = made.step;
    std::vector<Cut> chain;
    const Cut* at = &made;
    for (; at->base; at = &as_made.at(*at->base)) chain.insert(chain.begin(), *at);
    if (!chain.empty()) ++links;
    longest = std::max(longest, chain.size());
    Cut from_root = tensors.with_links(*at, chain);
    if (made.base) CHECK(cuts::same(from_root, tensors.with_links(whole.at(*made.base), {&made, 1})));
    as_made[step] = std::move(made);
    return whole[step] = std::move(from_root);
  }

  const CutTensors& tensors;
  std::map<distrib::Step, Cut> as_made;
  std::map<distrib::Step, Cut> whole;
  std::size_t links = 0;
  std::size_t longest = 0;
};

}  // namespace

TEST_CASE("CutTensors: a link on what it stands on is the whole cut, whatever happens while it is copied", "[ps]") {
  const std::uint32_t shards = GENERATE(1U, 2U);
  const std::uint32_t seed = GENERATE(1U, 2U, 3U);
  const std::uint64_t updates = 700;
  const distrib::Job job = linked_cuts::job(shards);
  const CutTensors tensors{job, shards - 1, exported_store::updaters()};
  linked_cuts::Shard linked{job, shards - 1};
  linked_cuts::Shard plain{job, shards - 1};
  linked.make_links([](distrib::Step) { return false; });
  LinkedShardCuts all{tensors};
  std::mt19937_64 random{seed};
  std::vector<distrib::Step> pending;
  while (linked.step() < updates) {
    linked.train(linked.step() + 1);
    plain.train(linked.step());
    if (random() % 2 == 0 && !pending.empty()) {  // one becomes durable; those before it were given up, or are older
      const std::size_t at = random() % pending.size();
      linked.store().cut_is_durable(pending[at]);
      pending.erase(pending.begin(), pending.begin() + static_cast<std::ptrdiff_t>(at + random() % 2));
    }
    if (random() % 6 != 0) continue;
    const distrib::Step step = linked.step();
    linked.store().begin_cut(step, {}, random() % 10 == 0);
    const Cut expected = plain.cut();
    while (!linked.store().copy_cut(random() % 600))
      if (random() % 3 == 0) linked.train(linked.step() + 1);
    CHECK(cuts::same(all.add(linked.store().take_cut().finish()), expected));
    plain.train(linked.step());
    pending.push_back(step);
    if (random() % 30 != 0) continue;  // goes to a cut, as after a Restore
    const Cut& to = all.whole.at(step);
    linked.load(to);
    plain.load(to);
    pending.clear();
    all.as_made.clear();
    all.whole.clear();
  }
  CHECK(all.links > updates / 40);
  CHECK(all.longest > 2);
}
