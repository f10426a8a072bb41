// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/initial_values.hpp>

#include <distrib/checkpoint/formats/safetensors_writer.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/own_values_model.hpp"
#include "train/runtime_models.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace distrib;

namespace {

/// Draws its initial values from the seed of the job.
struct SeededModel : OwnValuesModel {
  void initial_values(InitialValues<Variables>& values, std::uint64_t seed) const {
    Philox random{seed, 0, 0};
    for (std::size_t i = 0; i < 2; ++i) get<"weights">(values)(i) = uniform01(random());
  }
};

struct TakesText : LineModel {
  void initial_values(InitialValues<Variables>&, const std::string&) const {}
};

}  // namespace

static_assert(InitializedModel<OwnValuesModel>);
static_assert(InitializedModel<SeededModel>);
static_assert(!InitializedModel<LineModel>);
static_assert(!InitializedModel<TakesText>);

namespace {

template <class M>
auto job_of(const M& model) -> Job {
  Job job;
  job.variables = model.variables().infos();
  job.tables = model.variables().table_infos();
  job.shards_per_task = 2;
  job.parts = {{0, Slice::along({2}, 0, 0, 1), 1}, {0, Slice::along({2}, 0, 1, 1), 0}, {1, Slice::whole({}), 1}};
  return job;
}

/// Has a variable with custom initial values, but no function that writes them.
struct Silent : LineModel {
  auto variables() const -> Variables { return {{{2}}, {{}, CustomInitializer{}}}; }
};

struct Throws : OwnValuesModel {
  void initial_values(InitialValues<Variables>&) const { throw std::runtime_error{"no such file"}; }
};

/// Has a table with custom initial values, which is not supported.
struct OwnRows {
  using Variables = VariableList<Embedding<"users", float, 4>, Variable<"bias", float, 1>>;
  using Example = LineModel::Example;
  auto variables() const -> Variables { return {{CustomInitializer{}}, {{1}}}; }
  void lookups(const Batch<Example>&, Lookups<Variables>&) const {}
  auto gradients(const Batch<Example>&, const Values<Variables>&, Gradients<Variables>&, StepContext) const -> float {
    return 0;
  }
};

}  // namespace

TEST_CASE("make_initial_values: uses the model's own values for variables with a CustomInitializer", "[train]") {
  Job job = job_of(OwnValuesModel{});
  const std::vector<SharedBuffer> blocks = make_initial_values(OwnValuesModel{}, job);
  REQUIRE(blocks.size() == 2);
  CHECK(blocks[0]->as<float>()[0] == -0.75F);
  CHECK(blocks[1]->as<float>()[0] == 0.25F);
  CHECK(blocks[1]->as<float>()[16] == 3);
  CHECK(job.initial_blocks == std::vector{sha256(blocks[0]->bytes()), sha256(blocks[1]->bytes())});

  Job other = job_of(OwnValuesModel{});
  OwnValuesModel changed;
  changed.first = 0.5F;
  static_cast<void>(make_initial_values(changed, other));
  CHECK(job_hash(other) != job_hash(job));
  CHECK_THAT(identity_difference(to_text(other), to_text(job)),
             ContainsSubstring("it has 'variable weights float32[2] custom"));

  Job plain = job_of(LineModel{});
  CHECK(make_initial_values(LineModel{}, plain).empty());
  CHECK(plain.initial_blocks.empty());
}

TEST_CASE("make_initial_values: the error names the variable or table whose values are missing or not supported",
          "[train]") {
  Job silent = job_of(Silent{});
  CHECK_THROWS_WITH(make_initial_values(Silent{}, silent),
                    ContainsSubstring("bias: the variable has a CustomInitializer, but the model provides no values"));
  Job both = job_of(OwnValuesModel{});
  both.initial_checkpoint = "/saved/model.ckpt-1";
  both.initial_allow_missing = true;
  CHECK_THROWS_WITH(make_initial_values(OwnValuesModel{}, both), ContainsSubstring("/saved/model.ckpt-1"));
  Job rows = job_of(OwnRows{});
  CHECK_THROWS_WITH(make_initial_values(OwnRows{}, rows),
                    ContainsSubstring("table users: a CustomInitializer is possible only for a Variable"));
  Job job = job_of(Throws{});
  CHECK_THROWS_WITH(make_initial_values(Throws{}, job), "no such file");
}

TEST_CASE("make_initial_values: a checkpoint that has every variable replaces the model's own values", "[train]") {
  Job job = job_of(Throws{});
  job.initial_checkpoint = "/saved/model.ckpt-1";
  CHECK(make_initial_values(Throws{}, job).empty());
  CHECK(job.initial_blocks.empty());
  for (const auto& variable : job.variables) CHECK(!variable.initializer.is_custom());
}

TEST_CASE("make_initial_values: what a checkpoint lacks, or a name leaves out, begins with the model's values",
          "[train]") {
  const support::TempDirectory directory;
  const std::vector<float> weights{5, 6}, bias{7};
  const auto saved = [&](const std::string& name, bool with_weights) {
    std::vector<NamedTensor> tensors{{"bias", DType::float32, {}, std::as_bytes(std::span{bias})}};
    if (with_weights) tensors.push_back({"weights", DType::float32, {2}, std::as_bytes(std::span{weights})});
    save_safetensors(directory / name, tensors);
    return std::string{directory / name};
  };
  const auto job_from = [&](const std::string& checkpoint, bool allow_missing, std::vector<InitialName> names = {}) {
    Job job = job_of(OwnValuesModel{});
    job.initial_checkpoint = checkpoint;
    job.initial_allow_missing = allow_missing;
    job.initial_names = std::move(names);
    return job;
  };
  const std::string some = saved("some.safetensors", false), all = saved("all.safetensors", true);
  for (const bool left_out : {false, true}) {
    Job job = left_out ? job_from(all, false, {{"", "weights"}}) : job_from(some, true);
    const std::vector<SharedBuffer> blocks = make_initial_values(OwnValuesModel{}, job);
    REQUIRE(blocks.size() == 2);
    CHECK(blocks[0]->as<float>()[0] == -0.75F);
    CHECK(blocks[1]->as<float>()[0] == 0.25F);
    CHECK(blocks[1]->as<float>()[16] == 7);
    CHECK(job.initial_blocks == std::vector{sha256(blocks[0]->bytes()), sha256(blocks[1]->bytes())});
    for (const auto& variable : job.variables) CHECK(variable.initializer.is_custom());
  }
  Job job = job_from(all, true);
  CHECK(make_initial_values(Throws{}, job).empty());  // nothing is lacking: the model is not asked
  for (const auto& variable : job.variables) CHECK(!variable.initializer.is_custom());
  Job wrong = job_from(some, false, {{"", "weights"}, {"other", "bias"}});
  CHECK_THROWS_WITH(make_initial_values(OwnValuesModel{}, wrong), ContainsSubstring("it lacks other"));
}

TEST_CASE("make_initial_values: the seed of the job decides, and another seed gives another job", "[train]") {
  const auto made = [](std::uint64_t seed) {
    Job job = job_of(SeededModel{});
    job.seed = seed;
    static_cast<void>(make_initial_values(SeededModel{}, job));
    return job;
  };
  const Job job = made(7);
  CHECK(job.initial_blocks == made(7).initial_blocks);
  CHECK(job.initial_blocks != made(8).initial_blocks);
  Job unlike = made(8);
  unlike.seed = 7;  // all else being equal, the values still differ
  CHECK_THAT(identity_difference(to_text(unlike), to_text(job)),
             ContainsSubstring("it has 'variable weights float32[2] custom"));
}

TEST_CASE("make_initial_values: of a list that is known at run time", "[train]") {
  struct RuntimeOwn : RuntimeLineModel {
    auto variables() const -> Variables {
      return Variables{{{"weights", DType::float32, {2}, CustomInitializer{}}, {"bias", DType::float32, {}}}};
    }
    void initial_values(InitialValues<Variables>& values, std::uint64_t seed) const {
      get(values, "weights")(0) = static_cast<float>(seed);
      get(values, "weights")(1) = -0.75F;
    }
  };
  Job job = job_of(RuntimeOwn{});
  job.seed = 3;
  const std::vector<SharedBuffer> blocks = make_initial_values(RuntimeOwn{}, job);
  REQUIRE(blocks.size() == 2);
  CHECK(blocks[0]->as<float>()[0] == -0.75F);
  CHECK(blocks[1]->as<float>()[0] == 3);
}
