// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/contributor.hpp>

#include "support/catch.hpp"
#include "support/sanitizers.hpp"
#include "support/temp_directory.hpp"
#include "train/line_model.hpp"
#include "train/table_model.hpp"

#include <distrib/core/float_codec.hpp>
#include <distrib/optimizer/adamw.hpp>
#include <distrib/optimizer/any_updater.hpp>
#include <distrib/optimizer/learning_rate.hpp>
#include <distrib/optimizer/momentum.hpp>
#include <distrib/optimizer/sgd.hpp>
#include <distrib/placement/round_robin.hpp>
#include <distrib/ps/job/plan_parts.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/store/shard_store.hpp>
#include <distrib/sharding/fixed_shards.hpp>
#include <distrib/train/job/assemble.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace {
auto make_job(std::uint32_t shards, std::int64_t parts) -> distrib::Job {
  distrib::Job job;
  job.seed = 5;
  job.variables = LineModel{}.variables().infos();
  job.shards_per_task = shards;
  job.parts = distrib::plan_parts(job.variables, distrib::FixedShardsPartitioner{parts}, distrib::RoundRobinStrategy{},
                                  1, shards);
  job.ranks = 2;
  job.total_steps = 20;
  return job;
}

// Returns the loss and the gradients of contribution (step, rank) at the initial values, as whole variables.
template <class Source>
auto contribution(const Source& source, const distrib::Job& job, distrib::Rank rank, distrib::Step step,
                  const std::optional<distrib::AnyUpdater>& local_updater = {}) {
  const LineModel model;
  const auto layouts = distrib::shard_layouts(job);
  std::vector<distrib::SharedBuffer> values;
  std::vector<std::shared_ptr<distrib::AlignedBuffer>> blocks;
  for (const auto& layout : layouts) {
    values.push_back(
        distrib::wire_block(layout, std::make_shared<distrib::AlignedBuffer>(distrib::initial_values(job, layout))));
    blocks.push_back(std::make_shared<distrib::AlignedBuffer>(layout.wire_block_bytes()));
  }
  distrib::Contributor<LineModel, Source> contribute{model, source, job, layouts, {}, {}, {}, local_updater};
  const float loss = contribute(rank, step, values, blocks);
  distrib::Values<LineModel::Variables> whole{distrib::RuntimeVariables{job.variables}};
  const std::vector<distrib::SharedBuffer> read{blocks.begin(), blocks.end()};
  distrib::assemble(layouts, read, whole);
  const auto weights = distrib::get<"weights">(whole);
  return std::vector<float>{loss, weights(0), weights(1), distrib::get<"bias">(whole)()};
}

auto table_job() -> distrib::Job {
  const TableModel model;
  distrib::Job job;
  job.variables = model.variables().infos();
  job.tables = model.variables().table_infos();
  job.parts =
      distrib::plan_parts(job.variables, distrib::FixedShardsPartitioner{1}, distrib::RoundRobinStrategy{}, 1, 1);
  job.ranks = 2;
  job.total_steps = 5;
  return job;
}
}  // namespace

TEST_CASE("Contributor: the gradient depends on (step, rank), and not on parts and shards", "[train]") {
  const support::TempDirectory directory;
  const auto source = line_model::write(directory.path()).shuffle(1).batch(16).open();
  const auto expected = contribution(source, make_job(1, 1), 1, 4);
  CHECK(expected[0] > 0);
  for (const std::uint32_t shards : {1U, 2U, 3U})
    for (const std::int64_t parts : {1, 2}) CHECK(contribution(source, make_job(shards, parts), 1, 4) == expected);
  CHECK(contribution(source, make_job(1, 1), 0, 4) != expected);
  CHECK(contribution(source, make_job(1, 1), 1, 5) != expected);
}

namespace {
/// Batches that take 2 ms each.
struct SlowBatches {
  void fill(std::uint64_t, distrib::Batch<LineModel::Example>&) const {
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
};
}  // namespace

TEST_CASE("Contributor: measures how long it reads, of all ranks", "[train]") {
  const SlowBatches source;
  distrib::Job job = make_job(1, 1);
  job.gradient_accumulation = 3;
  const auto layouts = distrib::shard_layouts(job);
  const LineModel model;
  distrib::Contributor<LineModel, SlowBatches> contribute{model, source, job, layouts};
  CHECK(contribute.reading() == std::chrono::nanoseconds{0});
  static_cast<void>(contribute.prepare(0, 1));
  const auto one = contribute.reading();
  CHECK(one >= std::chrono::milliseconds{6});
  static_cast<void>(contribute.prepare(0, 1));  // it is prepared
  CHECK(contribute.reading() == one);
  static_cast<void>(contribute.prepare(1, 1));
  CHECK(contribute.reading() >= one + std::chrono::milliseconds{6});
}

TEST_CASE("Contributor: has memory only for the ranks that it is asked about", "[train]") {
  const support::TempDirectory directory;
  const auto source = line_model::write(directory.path()).shuffle(1).batch(16).open();
  distrib::Job job = make_job(1, 1);
  job.ranks = 1U << 20;  // the values and gradients of all of them would be 1 GiB and more
  const auto layouts = distrib::shard_layouts(job);
  const LineModel model;
  const auto resident = [] {
    long pages = 0;
    std::ifstream{"/proc/self/statm"} >> pages >> pages;
    return static_cast<std::size_t>(pages) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  };
  const std::size_t before = resident();
  distrib::Contributor<LineModel, std::remove_const_t<decltype(source)>> contribute{model, source, job, layouts};
  static_cast<void>(contribute.prepare(5, 1));
  const std::size_t grown = resident() - before;
  if (!DISTRIB_TEST_ADDRESS_SANITIZER && !DISTRIB_TEST_THREAD_SANITIZER) CHECK(grown < std::size_t{64} << 20);
  CHECK(std::isnan(contribute.gradient_norm(7)));
}

TEST_CASE("Contributor: clips the whole gradient, with the same bits for any parts and shards", "[train]") {
  const support::TempDirectory directory;
  const auto source = line_model::write(directory.path()).shuffle(1).batch(16).open();
  const auto of = [&](const distrib::GradientClipping& clipping, std::uint32_t shards, std::int64_t parts) {
    auto job = make_job(shards, parts);
    job.gradient_clipping = clipping;
    return contribution(source, job, 1, 4);
  };
  const auto whole = of({}, 1, 1);
  const float norm = std::sqrt(whole[1] * whole[1] + whole[2] * whole[2] + whole[3] * whole[3]);
  const auto scaled = of(distrib::ClipByNorm{norm / 3}, 1, 1);
  const auto cut = of(distrib::ClipByValue{norm / 3}, 1, 1);
  CHECK(scaled[0] == whole[0]);  // the loss
  for (std::size_t i = 1; i < whole.size(); ++i) {
    CHECK(scaled[i] == Approx(whole[i] / 3).epsilon(1e-5));
    CHECK(cut[i] == std::clamp(whole[i], -norm / 3, norm / 3));
  }
  CHECK(of(distrib::ClipByNorm{norm * 2}, 1, 1) == whole);
  for (const std::uint32_t shards : {1U, 2U, 3U})
    for (const std::int64_t parts : {1, 2}) {
      CHECK(of(distrib::ClipByNorm{norm / 3}, shards, parts) == scaled);
      CHECK(of(distrib::ClipByValue{norm / 3}, shards, parts) == cut);
    }
}

TEST_CASE("Contributor: values and gradients have the job's FloatFormat, for any parts and shards", "[train]") {
  const support::TempDirectory directory;
  const auto source = line_model::write(directory.path()).shuffle(1).batch(16).open();
  const auto exact = contribution(source, make_job(1, 1), 1, 4);
  for (const auto format : {distrib::FloatFormat::bfloat16, distrib::FloatFormat::float16}) {
    const auto of = [&](std::uint32_t shards, std::int64_t parts) {
      auto job = make_job(shards, parts);
      job.wire_format = format;
      return contribution(source, job, 1, 4);
    };
    const auto rounded = of(1, 1);
    CHECK(rounded != exact);
    for (std::size_t i = 0; i < exact.size(); ++i) CHECK(rounded[i] == Approx(exact[i]).epsilon(0.02).margin(0.01));
    alignas(float) std::array<std::byte, 4 * sizeof(float)> sent{};
    distrib::encode_elements(format, rounded, sent.data());
    auto again = rounded;
    distrib::decode_elements(format, sent.data(), again);
    CHECK(std::equal(again.begin() + 1, again.end(), rounded.begin() + 1));  // all except the loss
    for (const std::uint32_t shards : {1U, 2U, 3U})
      for (const std::int64_t parts : {1, 2}) CHECK(of(shards, parts) == rounded);
  }
}

TEST_CASE("Contributor: a contribution does not depend on earlier contents of the blocks and of its memory",
          "[train]") {
  const support::TempDirectory directory;
  const auto source = line_model::write(directory.path()).shuffle(1).batch(16).open();
  for (const std::int64_t parts : {1, 2}) {
    CAPTURE(parts);
    const LineModel model;
    const distrib::Job job = make_job(1, parts);
    const distrib::ShardLayout layout{job, 0};
    CHECK(layout.entries()[0].travels_whole == (parts == 1));
    CHECK(layout.entries().back().travels_whole);  // the bias is one number
    distrib::Contributor<LineModel, decltype(source)> contribute{model, source, job, {&layout, 1}};
    const std::vector<distrib::SharedBuffer> values{
        std::make_shared<distrib::AlignedBuffer>(distrib::initial_values(job, layout))};
    const auto fill = [](distrib::AlignedBuffer& block, float value) { std::ranges::fill(block.as<float>(), value); };
    const std::vector used{std::make_shared<distrib::AlignedBuffer>(layout.block_bytes())};
    const auto gradient_of = [&](distrib::Step step) {
      contribute(0, step, values, used);
      const auto floats = used[0]->as<float>();
      return std::vector<float>{floats[0], parts == 1 ? floats[1] : floats[16], floats[layout.block_bytes() / 4 - 16]};
    };
    const auto first = gradient_of(1);
    const auto second = gradient_of(2);
    CHECK(first != second);
    fill(*used[0], 7);
    CHECK(gradient_of(1) == first);
    const std::vector<distrib::SharedBuffer> others{std::make_shared<distrib::AlignedBuffer>(layout.block_bytes())};
    contribute(0, 3, others, used);  // from other values, in another block
    CHECK(gradient_of(2) == second);
  }
}

TEST_CASE("Contributor: the batch of (step, rank) is number (step - 1) * ranks + rank", "[train]") {
  const support::TempDirectory directory;
  const auto source = line_model::write(directory.path()).batch(16).open();
  distrib::Batch<LineModel::Example> batch;
  source.fill(2 * 3 + 1, batch);
  float bias_gradient = 0;  // at zero weights: d/db of the mean of (b - y)^2
  for (std::size_t i = 0; i < 16; ++i) bias_gradient -= 2.0F / 16 * batch[i].y;
  auto job = make_job(1, 1);
  job.variables[0].initializer = distrib::ZerosInitializer{};
  CHECK(contribution(source, job, 1, 4)[3] == Approx(bias_gradient).margin(1e-5));
}

TEST_CASE("Contributor: several batches give the mean of their gradients, as one larger batch does", "[train]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  const auto source = data.shuffle(1).batch(8).open();
  const auto of = [&](std::uint32_t batches, std::uint32_t shards, std::int64_t parts) {
    auto job = make_job(shards, parts);
    job.gradient_accumulation = batches;
    return contribution(source, job, 1, 4);
  };
  // Batch n of 24 has the examples of the batches 3 n to 3 n + 2 of 8.
  const auto larger = contribution(data.shuffle(1).batch(24).open(), make_job(1, 1), 1, 4);
  const auto three = of(3, 1, 1);
  CHECK(three != of(1, 1, 1));
  for (std::size_t i = 0; i < three.size(); ++i) CHECK(three[i] == Approx(larger[i]).epsilon(1e-5));
  for (const std::uint32_t shards : {1U, 3U})
    for (const std::int64_t parts : {1, 2}) CHECK(of(3, shards, parts) == three);

  // The gradient is clipped once, when it is whole.
  auto job = make_job(1, 1);
  job.gradient_accumulation = 3;
  const float norm = std::sqrt(three[1] * three[1] + three[2] * three[2] + three[3] * three[3]);
  job.gradient_clipping = distrib::ClipByNorm{norm / 2};
  const auto clipped = contribution(source, job, 1, 4);
  for (std::size_t i = 1; i < clipped.size(); ++i) CHECK(clipped[i] == Approx(three[i] / 2).epsilon(1e-5));
}

namespace {
/// The contribution (step, rank) of a job with local steps as a plain loop, from the initial values: the loss, and what
/// `count` local steps have changed. `batches`: of one local step.
template <class Source>
auto plain_local_steps(const Source& source, const distrib::Job& job, distrib::Rank rank, distrib::Step step,
                       const distrib::AdamW& updater) -> std::vector<float> {
  const LineModel model;
  const distrib::RuntimeVariables variables{job.variables};
  distrib::Values<LineModel::Variables> values{variables};
  const auto layouts = distrib::shard_layouts(job);
  std::vector<distrib::SharedBuffer> blocks;
  for (const auto& layout : layouts)
    blocks.push_back(
        distrib::wire_block(layout, std::make_shared<distrib::AlignedBuffer>(distrib::initial_values(job, layout))));
  distrib::assemble(layouts, blocks, values);
  const auto flat = [](const auto& of) {
    const auto at = [&of](std::size_t variable) { return reinterpret_cast<const float*>(of.data(variable)); };
    return std::vector<float>{at(0)[0], at(0)[1], at(1)[0]};
  };
  const std::vector<float> before = flat(std::as_const(values));
  std::vector<float> m(3), v(3);
  const std::array<std::span<float>, 2> slots{m, v};
  float loss = 0;
  const distrib::Step first = (step - 1) * job.local_steps + 1;
  for (distrib::Step local = first; local < first + job.local_steps; ++local) {
    distrib::Batch<LineModel::Example> batch;
    source.fill((local - 1) * job.ranks + rank, batch);
    distrib::Gradients<LineModel::Variables> gradients{variables};
    loss += model.gradients(batch, std::as_const(values), gradients, {});
    std::vector<float> now = flat(std::as_const(values));
    updater.apply({.count = local, .before_slots = first - 1}, flat(std::as_const(gradients)), now, now, slots);
    std::copy_n(now.begin(), 2, reinterpret_cast<float*>(values.data(0)));
    *reinterpret_cast<float*>(values.data(1)) = now[2];
  }
  const std::vector<float> after = flat(std::as_const(values));
  return {loss / static_cast<float>(job.local_steps), before[0] - after[0], before[1] - after[1], before[2] - after[2]};
}
}  // namespace

TEST_CASE("Contributor: local steps change the values as a plain loop does, for any parts and shards", "[train]") {
  const support::TempDirectory directory;
  const auto source = line_model::write(directory.path()).shuffle(1).batch(16).open();
  const distrib::AdamW updater{.learning_rate = distrib::Linear{.first = 0.1F, .last = 0.01F, .steps = 12}};
  for (const std::uint32_t shards : {1U, 2U, 3U})
    for (const std::int64_t parts : {1, 2}) {
      distrib::Job job = make_job(shards, parts);
      job.local_steps = 3;
      job.local_updater = distrib::AnyUpdater{updater}.text();
      const auto of = [&](distrib::Rank rank, distrib::Step step) {
        return contribution(source, job, rank, step, distrib::AnyUpdater{updater});
      };
      CHECK(of(1, 4) == plain_local_steps(source, job, 1, 4, updater));
      CHECK(of(0, 1) == plain_local_steps(source, job, 0, 1, updater));
    }
}

TEST_CASE("Contributor: a contribution of local steps does not depend on those that were made before", "[train]") {
  const support::TempDirectory directory;
  const auto source = line_model::write(directory.path()).shuffle(1).batch(16).open();
  const LineModel model;
  distrib::Job job = make_job(1, 1);
  job.local_steps = 4;
  const distrib::ShardLayout layout{job, 0};
  const std::vector<distrib::SharedBuffer> values{
      std::make_shared<distrib::AlignedBuffer>(distrib::initial_values(job, layout))};
  const std::vector<distrib::SharedBuffer> others{std::make_shared<distrib::AlignedBuffer>(layout.block_bytes())};
  const std::vector used{std::make_shared<distrib::AlignedBuffer>(layout.block_bytes())};
  const auto made = [&](auto& contribute, distrib::Step step) {
    const float loss = contribute(0, step, values, used);
    const auto floats = used[0]->as<float>();
    std::vector<float> all{floats.begin(), floats.end()};
    all.push_back(loss);
    return all;
  };
  const distrib::AnyUpdater updater = distrib::Momentum{.learning_rate = 0.05F, .momentum = 0.9F};
  const auto fresh = [&] {
    return distrib::Contributor<LineModel, decltype(source)>{model, source, job, {&layout, 1}, {}, {}, {}, updater};
  };
  auto first = fresh();
  const auto second_step = made(first, 2);
  auto contribute = fresh();
  static_cast<void>(contribute.prepare(0, 1));
  made(contribute, 1);
  static_cast<void>(contribute.prepare(0, 2));
  CHECK(made(contribute, 2) == second_step);
  CHECK(made(contribute, 2) == second_step);  // the same again, with nothing between
  contribute(0, 3, others, used);
  CHECK(made(contribute, 2) == second_step);
}

TEST_CASE("Contributor: a round that is left between local steps is made again with the same bits", "[train]") {
  const support::TempDirectory directory;
  const auto source = line_model::write(directory.path()).shuffle(1).batch(16).open();
  const LineModel model;
  distrib::Job job = make_job(1, 1);
  job.local_steps = 4;
  const distrib::ShardLayout layout{job, 0};
  const std::vector<distrib::SharedBuffer> values{
      std::make_shared<distrib::AlignedBuffer>(distrib::initial_values(job, layout))};
  const std::vector whole{std::make_shared<distrib::AlignedBuffer>(layout.block_bytes())};
  const std::vector left{std::make_shared<distrib::AlignedBuffer>(layout.block_bytes())};
  const distrib::AnyUpdater updater = distrib::Momentum{.learning_rate = 0.05F, .momentum = 0.9F};
  distrib::Contributor<LineModel, decltype(source)> contribute{model, source, job, {&layout, 1}, {}, {}, {}, updater};
  int asked = 0;
  const float loss = contribute(0, 2, values, whole);
  contribute.ask_between([&asked] { return ++asked != 2; });
  CHECK_THROWS_AS(contribute(0, 2, values, left), distrib::RoundLeft);
  CHECK(asked == 2);
  CHECK(contribute(0, 2, values, left) == loss);
  CHECK(asked == 5);  // not before the first local step
  CHECK(std::ranges::equal(left[0]->bytes(), whole[0]->bytes()));
}

namespace {
/// Notes the contexts it gets; sets its gradients instead of adding to them, which is the same for one batch.
struct NotingModel : LineModel {
  std::vector<distrib::StepContext>* contexts;

  auto gradients(const distrib::Batch<Example>&, const distrib::Values<Variables>&,
                 distrib::Gradients<Variables>& gradients, distrib::StepContext context) const -> float {
    contexts->push_back(context);
    distrib::get<"bias">(gradients)() = static_cast<float>(context.micro_batch + 1);
    if (context.step == 3 && context.micro_batch == 1) throw std::runtime_error{"no luck"};
    return static_cast<float>(context.micro_batch);
  }
};
}  // namespace

TEST_CASE("Contributor: each batch of a contribution has a number, and random numbers of its own", "[train]") {
  const support::TempDirectory directory;
  const auto source = line_model::write(directory.path()).batch(8).open();
  auto job = make_job(1, 1);
  job.gradient_accumulation = 3;
  const auto layouts = distrib::shard_layouts(job);
  std::vector<distrib::StepContext> contexts;
  const NotingModel model{{}, &contexts};
  distrib::Contributor<NotingModel, decltype(source)> contribute{model, source, job, layouts};
  const std::vector<distrib::SharedBuffer> values{
      std::make_shared<distrib::AlignedBuffer>(distrib::initial_values(job, layouts[0]))};
  const std::vector blocks{std::make_shared<distrib::AlignedBuffer>(layouts[0].wire_block_bytes())};
  CHECK(contribute(1, 2, values, blocks) == 1.0F);  // the mean of 0, 1 and 2
  CHECK(blocks[0]->as<float>()[layouts[0].block_bytes() / 4 - 16] == 2.0F);  // the mean of 1, 2 and 3
  REQUIRE(contexts.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(contexts[i].step == 2);
    CHECK(contexts[i].rank == 1);
    CHECK(contexts[i].micro_batch == i);
    for (std::size_t j = 0; j < 3; ++j) CHECK((contexts[i].random() == contexts[j].random()) == (i == j));
  }
  CHECK(contexts[0].random() == distrib::Philox{job.seed, 2, 1});
  CHECK_THROWS_WITH(contribute(1, 3, values, blocks),
                    ContainsSubstring("step 3 of worker 1 (batch 16): no luck"));  // ((3 - 1) * 2 + 1) * 3 + 1
}

TEST_CASE("Contributor: several batches share the rows of their tables", "[train]") {
  const support::TempDirectory directory;
  const auto data = table_model::write(directory.path());
  const TableModel model;
  const auto gradient = [&](std::uint64_t batch, std::uint32_t batches) {
    distrib::Job job = table_job();
    job.gradient_accumulation = batches;
    const auto source = data.batch(batch).open();
    const auto layouts = distrib::shard_layouts(job);
    distrib::Contributor<TableModel, std::remove_cvref_t<decltype(source)>> contribute{model, source, job, layouts};
    contribute.prepare(1, 2);
    const distrib::PullRows asked = contribute.requests(1, 2)[0];
    distrib::ShardStore store{job, 0, {distrib::Sgd{}}, std::numeric_limits<std::uint64_t>::max()};
    const std::vector<distrib::SharedBuffer> values{store.values(asked)};
    const std::vector blocks{std::make_shared<distrib::AlignedBuffer>(0)};
    const float loss = contribute(1, 2, values, blocks);
    const auto bytes = blocks[0]->bytes();
    return std::tuple{loss, asked.keys, std::vector<std::byte>{bytes.begin(), bytes.end()}};
  };
  const auto [loss, keys, sent] = gradient(15, 3);
  const auto [larger_loss, larger_keys, larger] = gradient(45, 1);
  CHECK(loss == Approx(larger_loss).epsilon(1e-5));
  CHECK(keys == larger_keys);
  REQUIRE(sent.size() == larger.size());
  const auto* const floats = reinterpret_cast<const float*>(sent.data());
  const auto* const others = reinterpret_cast<const float*>(larger.data());
  std::size_t differences = 0;
  for (std::size_t i = 0; i < sent.size() / 4; ++i)
    if (std::abs(floats[i] - others[i]) > 1e-5F * std::max(1.0F, std::abs(others[i]))) ++differences;
  CHECK(differences == 0);
}

TEST_CASE("Contributor: after its last step a rank requests the rows of `others` and the digests, then nothing",
          "[train]") {
  const support::TempDirectory directory;
  const auto source = table_model::write(directory.path()).batch(16).open();
  const TableModel model;
  distrib::Job job = table_job();
  const auto layouts = distrib::shard_layouts(job);
  const distrib::KeyLists others{{7, 9}, {3}};
  for (const distrib::Consistency consistency :
       {distrib::Consistency{}, distrib::Consistency{distrib::AsynchronousParallel{}}}) {
    job.consistency = consistency;
    for (const distrib::Rank rank : {0U, 1U}) {
      CAPTURE(consistency.mode(), rank);
      const distrib::Step last =
          consistency.is_synchronous() ? 5 : 3 - rank;  // both ranks together make 5 contributions
      distrib::Contributor<TableModel, decltype(source)> contributor{model, source, job, layouts};
      CHECK(contributor.prepare(rank, last, others).size() == 1);
      CHECK_FALSE(contributor.requests(rank, last)[0].digests);
      CHECK(contributor.requests(rank, last)[0].keys[1].size() > 1);  // includes the keys of the batch
      CHECK(contributor.prepare(rank, last + 1, others).size() == 1);
      CHECK(contributor.requests(rank, last + 1)[0].digests);
      CHECK(contributor.requests(rank, last + 1)[0].keys == others);
      CHECK(contributor.prepare(rank, last + 2, others).empty());
    }
  }
}

TEST_CASE("Contributor: if the request after the last step fails, no step is prepared in its place", "[train]") {
  const support::TempDirectory directory;
  const auto source = table_model::write(directory.path()).batch(16).open();
  const TableModel model;
  const distrib::Job job = table_job();
  const auto layouts = distrib::shard_layouts(job);
  distrib::Contributor<TableModel, decltype(source)> contributor{model, source, job, layouts};
  contributor.prepare(0, 4);  // step 6 has the same memory
  const distrib::KeyLists keys = contributor.requests(0, 4)[0].keys;
  CHECK_THROWS_WITH(contributor.prepare(0, 6, {{7}, {TableModel::num_items}}), ContainsSubstring("key 40 of 40 rows"));
  contributor.prepare(0, 4);
  CHECK(contributor.requests(0, 4)[0].keys == keys);
}

namespace {

/// Notes which batches are read.
struct NotedBatches {
  std::vector<std::uint64_t>* read;
  void fill(std::uint64_t number, distrib::Batch<LineModel::Example>&) const { read->push_back(number); }
};
/// Looks at no batch.
struct BlindModel : LineModel {
  auto gradients(const distrib::Batch<Example>&, const distrib::Values<Variables>&, distrib::Gradients<Variables>&,
                 distrib::StepContext) const -> float {
    return 0;
  }
};

/// Makes the contributions of a log; returns the numbers of their batches, in the order of steps and ranks.
/// `looks_ahead`: prepares each step before its number is known, and returns only the last batch of each contribution.
auto batches_of_log(distrib::Job job, const distrib::RankLog& log, distrib::Step steps, bool looks_ahead = false) {
  const BlindModel model;
  job.most_ranks = 8;
  const distrib::ShardLayout layout{job, 0};
  const std::vector<distrib::SharedBuffer> values{
      std::make_shared<distrib::AlignedBuffer>(distrib::initial_values(job, layout))};
  const std::vector blocks{std::make_shared<distrib::AlignedBuffer>(layout.wire_block_bytes())};
  std::vector<std::uint64_t> read, used;
  const NotedBatches source{&read};
  const distrib::AnyUpdater updater = distrib::Sgd{};
  distrib::Contributor<BlindModel, NotedBatches> contribute{model, source, job, {&layout, 1}, {}, {}, {}, updater};
  for (distrib::Step step = 1; step <= steps; ++step)
    for (const distrib::Rank rank : log.entry_of(step)->ranks) {
      if (looks_ahead) static_cast<void>(contribute.prepare(rank, step));
      contribute.set_number(rank, step, *log.entry_of(step), log.number_of(step, rank));
      const std::size_t before = read.size();
      if (!looks_ahead) static_cast<void>(contribute.prepare(rank, step));
      contribute(rank, step, values, blocks);
      if (looks_ahead) used.push_back(read.back());
      else used.insert(used.end(), read.begin() + static_cast<std::ptrdiff_t>(before), read.end());
    }
  return used;
}

}  // namespace

TEST_CASE("Contributor: in a job whose ranks change each batch is used once, whatever the log is", "[train]") {
  distrib::RankLog log{2};
  log.add(std::make_shared<const distrib::RankEntry>(distrib::RankEntry{3, 1, {0, 4, 7}}));
  log.add(std::make_shared<const distrib::RankEntry>(distrib::RankEntry{5, 1, {2}}));
  log.add(std::make_shared<const distrib::RankEntry>(distrib::RankEntry{6, 1, {0, 1, 2, 3}}));
  const distrib::Step steps = 7;
  const std::uint64_t contributions = 2 * 2 + 2 * 3 + 1 + 2 * 4;
  auto job = make_job(1, 1);
  std::vector<std::uint64_t> in_order(contributions);
  std::iota(in_order.begin(), in_order.end(), std::uint64_t{0});
  CHECK(batches_of_log(job, log, steps) == in_order);
  CHECK(batches_of_log(job, log, steps, true) == in_order);  // what was read ahead for other ranks is not used

  job.gradient_accumulation = 3;
  CHECK(batches_of_log(job, log, steps).size() == 3 * contributions);
  job.local_steps = 2;
  std::vector<std::uint64_t> rounds = batches_of_log(job, log, steps);
  std::ranges::sort(rounds);
  REQUIRE(rounds.size() == 6 * contributions);
  for (std::uint64_t i = 0; i < rounds.size(); ++i) CHECK(rounds[i] == i);
}

TEST_CASE("Contributor: in an asynchronous job whose ranks change no batch is read that no contribution has",
          "[train]") {
  distrib::RankLog log{2};
  log.add(std::make_shared<const distrib::RankEntry>(distrib::RankEntry{2, 1, {0, 1, 2}}));
  auto job = make_job(1, 1);
  job.consistency = distrib::AsynchronousParallel{};
  job.most_ranks = 8;
  job.total_steps = 7;  // of the third step two of three
  const BlindModel model;
  const distrib::ShardLayout layout{job, 0};
  const std::vector<distrib::SharedBuffer> values{
      std::make_shared<distrib::AlignedBuffer>(distrib::initial_values(job, layout))};
  const std::vector blocks{std::make_shared<distrib::AlignedBuffer>(layout.wire_block_bytes())};
  std::vector<std::uint64_t> read;
  const NotedBatches source{&read};
  distrib::Contributor<BlindModel, NotedBatches> contribute{model, source, job, {&layout, 1}};
  const auto make = [&](distrib::Rank rank, distrib::Step step) {
    read.clear();
    contribute.set_number(rank, step, *log.entry_of(step), log.number_of(step, rank));
    contribute(rank, step, values, blocks);
    static_cast<void>(contribute.prepare(rank, step + 1));
    return std::exchange(read, {});
  };
  using Batches = std::vector<std::uint64_t>;
  CHECK(make(1, 1) == Batches{1, 3});  // 3, if step 2 had the same ranks
  CHECK(make(1, 2) == Batches{6});  // 3 is there already
  CHECK(make(2, 2) == Batches{4});  // 7 is none of the job's
  CHECK(make(1, 3).empty());
  static_cast<void>(contribute.prepare(1, 9));
  CHECK(read.empty());
}

TEST_CASE("Contributor: ranks that stay have the batches that they have in a job whose ranks never change", "[train]") {
  const support::TempDirectory directory;
  const auto source = line_model::write(directory.path()).shuffle(1).batch(8).open();
  const distrib::RankLog log{2};
  for (const std::uint32_t local_steps : {0U, 4U}) {
    distrib::Job job = make_job(1, 1);
    job.local_steps = local_steps;
    const distrib::AnyUpdater updater = distrib::Sgd{.learning_rate = 0.05F};
    const auto fixed = contribution(source, job, 1, 5, updater);
    job.most_ranks = 2;
    const auto layouts = distrib::shard_layouts(job);
    const LineModel model;
    distrib::Contributor<LineModel, std::remove_const_t<decltype(source)>> contribute{model, source, job, layouts,
                                                                                      {},    {},     {},  updater};
    const std::vector<distrib::SharedBuffer> values{
        std::make_shared<distrib::AlignedBuffer>(distrib::initial_values(job, layouts[0]))};
    const std::vector blocks{std::make_shared<distrib::AlignedBuffer>(layouts[0].wire_block_bytes())};
    contribute.set_number(1, 5, *log.entry_of(5), log.number_of(5, 1));
    CHECK(contribute(1, 5, values, blocks) == fixed.front());
  }
}
