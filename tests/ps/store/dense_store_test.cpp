// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/store/dense_store.hpp>

#include <distrib/core/philox.hpp>
#include <distrib/optimizer/adagrad.hpp>
#include <distrib/optimizer/averaged_updater.hpp>
#include <distrib/optimizer/momentum.hpp>
#include <distrib/optimizer/reduce.hpp>
#include <distrib/optimizer/sgd.hpp>

#include "ps/story.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

using distrib::AlignedBuffer;
using distrib::DenseStore;
using distrib::Momentum;
using distrib::SharedBuffer;

namespace {

/// An updater whose results show the number of the update, and how often it has changed each slot.
struct Counting {
  static constexpr std::string_view name = "counting";
  auto slots() const -> std::array<distrib::Slot, 2> { return {{{"a", 5.0F}, {"b", -1.0F}}}; }
  auto describe() const -> std::string { return {}; }
  static auto parse(std::string_view) -> std::optional<Counting> { return Counting{}; }
  void apply(distrib::UpdateStep step, std::span<const float> gradient, std::span<const float> from,
             std::span<float> to, std::span<const std::span<float>> blocks) const {
    for (std::size_t i = 0; i < to.size(); ++i) {
      to[i] = from[i] + gradient[i] * static_cast<float>(step.count);
      blocks[0][i] += 1.0F;
      blocks[1][i] *= 2.0F;
    }
  }
  auto operator==(const Counting&) const -> bool = default;
};

/// A user's updater with a slot that begins as the value, between two others, and never changes.
struct Remembering : Counting {
  static constexpr std::string_view name = "remembering";
  auto slots() const -> std::array<distrib::Slot, 3> {
    return {{{"a", 5.0F}, {.name = "first", .begins_as_value = true}, {"b", -1.0F}}};
  }
  static auto parse(std::string_view) -> std::optional<Remembering> { return Remembering{}; }
  void apply(distrib::UpdateStep step, std::span<const float> gradient, std::span<const float> from,
             std::span<float> to, std::span<const std::span<float>> blocks) const {
    const std::array others{blocks[0], blocks[2]};
    Counting::apply(step, gradient, from, to, others);
  }
  auto operator==(const Remembering&) const -> bool = default;
};

/// A job of one shard with two variables of 16 elements.
auto job() -> distrib::Job {
  distrib::Job job;
  for (const char* name : {"deep/w", "wide/w"}) {
    job.variables.push_back({name, distrib::DType::float32, distrib::Shape{16}, distrib::ZerosInitializer{}});
    job.parts.push_back({job.variables.size() - 1, distrib::Slice::whole(distrib::Shape{16}), 0});
  }
  return job;
}

auto store_of(const distrib::JobUpdaters& updaters, AlignedBuffer values) -> DenseStore {
  return {distrib::ShardLayout{job(), 0}, updaters, std::move(values)};
}

auto values(float number) -> AlignedBuffer {
  AlignedBuffer block{128};
  std::ranges::fill(block.as<float>(), number);
  return block;
}

/// A list of one contribution, whose gradients are all 1.
auto gradient() -> std::span<const distrib::ByteView> {
  static const AlignedBuffer block = values(1.0F);
  static const distrib::ByteView bytes = block.bytes();
  return {&bytes, 1};
}

}  // namespace

TEST_CASE("DenseStore: an update goes into another block; a published block never changes", "[ps]") {
  DenseStore store = store_of({Counting{}}, values(10));
  const SharedBuffer before = store.values();
  CHECK(store.block_bytes() == 128);
  store.apply(1, gradient());
  const SharedBuffer after = store.values();
  store.apply(2, gradient());
  CHECK(before->as<float>()[31] == 10.0F);
  CHECK(after->as<float>()[31] == 11.0F);
  CHECK(store.values()->as<float>()[31] == 13.0F);
}

TEST_CASE("DenseStore: averages are the last slots of all groups, in a block of their own", "[ps]") {
  distrib::Job two = job();
  two.updaters_of = {{"wide/", "sgd"}};
  const distrib::MovingAverage average{.decay = 0.75F};
  DenseStore store{distrib::ShardLayout{two, 0},
                   {distrib::averaged(Momentum{.learning_rate = 1, .momentum = 0.5F}, average),
                    distrib::averaged(distrib::Sgd{.learning_rate = 2}, average)},
                   values(10)};
  CHECK(store.averages()->as<float>()[31] == 10.0F);
  store.apply(1, gradient());  // values 10 - 1 and 10 - 2
  const SharedBuffer averages = store.averages();
  store.apply(2, gradient());  // values 9 - 1.5 and 8 - 2
  CHECK(averages->as<float>()[0] == 9.75F);
  CHECK(averages->as<float>()[31] == 9.5F);
  CHECK(store.averages()->as<float>()[15] == 9.75F - 0.25F * 2.25F);
  CHECK(store.averages()->as<float>()[16] == 9.5F - 0.25F * 3.5F);
  CHECK(store.values()->as<float>()[0] == 7.5F);
}

TEST_CASE("DenseStore: blocks that are no longer held are used again", "[ps]") {
  DenseStore store = store_of({Counting{}}, values(0));
  std::vector<const void*> used;
  SharedBuffer held;
  for (std::uint64_t count = 1; count <= 6; ++count) {
    store.apply(count, gradient());
    held = store.values();  // holds a block until the next one is published, as a reader does
    used.push_back(held.get());
  }
  CHECK(used[0] != used[1]);
  CHECK(used[0] == used[2]);
  CHECK(used[1] == used[5]);
}

TEST_CASE("DenseStore: a block that no reader holds is updated in place", "[ps]") {
  DenseStore store = store_of({Counting{}}, values(0));
  store.apply(1, gradient());
  const void* const first = store.values().get();
  store.apply(2, gradient());
  CHECK(store.values().get() == first);
  CHECK(store.values()->as<float>()[31] == 3.0F);

  const SharedBuffer held = store.values();
  store.apply(3, gradient());
  CHECK(store.values() != held);
  CHECK(held->as<float>()[31] == 3.0F);
  CHECK(store.values()->as<float>()[31] == 6.0F);

  const distrib::Cut cut = store.cut(3);
  store.load(cut);
  store.apply(4, gradient());
  CHECK(cut.values->as<float>()[31] == 6.0F);
  CHECK(store.values()->as<float>()[31] == 10.0F);
}

TEST_CASE("DenseStore: a cut is the state at one moment; loading it restores values and slots", "[ps]") {
  DenseStore store = store_of({Counting{}}, values(0));
  store.apply(1, gradient());
  const distrib::Cut cut = store.cut(1, {1, 0});
  CHECK(cut.step == 1);
  CHECK(cut.applied == std::vector<distrib::Step>{1, 0});
  REQUIRE(cut.slots.size() == 2);
  CHECK(cut.slots[0]->as<float>()[3] == 6.0F);
  CHECK(cut.slots[1]->as<float>()[3] == -2.0F);
  store.apply(2, gradient());
  CHECK(cut.values->as<float>()[3] == 1.0F);
  CHECK(cut.slots[0]->as<float>()[3] == 6.0F);

  store.load(cut);
  store.apply(2, gradient());
  CHECK(store.values()->as<float>()[3] == 3.0F);
  CHECK(store.cut(2).slots[0]->as<float>()[3] == 7.0F);
  CHECK(cut.values->as<float>()[3] == 1.0F);
}

TEST_CASE("DenseStore: works with the library's updaters", "[ps]") {
  DenseStore store = store_of({Momentum{.learning_rate = 1.0F, .momentum = 0.5F}}, values(0));
  store.apply(1, gradient());
  store.apply(2, gradient());
  CHECK(store.values()->as<float>()[0] == -2.5F);
  DenseStore plain = store_of({distrib::Sgd{.learning_rate = 1.0F}}, values(0));
  plain.apply(1, gradient());
  CHECK(plain.values()->as<float>()[0] == -1.0F);
  CHECK(plain.cut(1).slots.empty());
}

TEST_CASE("DenseStore: a shard without variables", "[ps]") {
  DenseStore store{distrib::ShardLayout{distrib::Job{}, 0}, {Momentum{}}, AlignedBuffer{}};
  store.apply(1, {});
  CHECK(store.values()->size() == 0);
  store.load(store.cut(1));
}

TEST_CASE("DenseStore: each variable is updated by its own updater", "[ps]") {
  distrib::Job two = job();
  two.updaters_of = {{"wide/", "counting "}};
  const distrib::ShardLayout layout{two, 0};
  const distrib::JobUpdaters updaters{distrib::Sgd{.learning_rate = 1.0F}, Counting{}};
  DenseStore store{layout, updaters, values(0)};
  CHECK(distrib::store_bytes(layout, updaters) == 3 * 128 + 2 * 64);
  store.apply(1, gradient());
  store.apply(2, gradient());
  CHECK(store.values()->as<float>()[0] == -2.0F);
  CHECK(store.values()->as<float>()[15] == -2.0F);
  CHECK(store.values()->as<float>()[16] == 3.0F);
  CHECK(store.values()->as<float>()[31] == 3.0F);
  const distrib::Cut cut = store.cut(2);
  REQUIRE(cut.slots.size() == 2);
  CHECK(cut.slots[0]->size() == 64);
  CHECK(cut.slots[0]->as<float>()[0] == 7.0F);
  store.apply(3, gradient());
  store.load(cut);
  CHECK(store.cut(2).slots[1]->as<float>()[15] == -4.0F);
  CHECK(store.values()->as<float>()[31] == 3.0F);
}

TEST_CASE("DenseStore: contributions are added to counters in order, without an updater", "[ps]") {
  distrib::Job counting = job();
  counting.variables.insert(counting.variables.begin(), {"seen", distrib::DType::int64, distrib::Shape{2}, {}});
  counting.variables.push_back({"sum", distrib::DType::float64, distrib::Shape{3}, {}});
  counting.parts = {{0, distrib::Slice::whole(distrib::Shape{2}), 0},
                    {1, distrib::Slice::whole(distrib::Shape{16}), 0},
                    {2, distrib::Slice::whole(distrib::Shape{16}), 0},
                    {3, distrib::Slice::whole(distrib::Shape{3}), 0}};
  const distrib::ShardLayout layout{counting, 0};
  REQUIRE(layout.float_bytes() == 128);
  REQUIRE(layout.block_bytes() == 256);
  const distrib::JobUpdaters updaters{Counting{}};
  DenseStore store{layout, updaters, AlignedBuffer{256}};
  CHECK(distrib::store_bytes(layout, updaters) == 3 * 256 + 2 * 128);

  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::vector<AlignedBuffer> blocks(3);
  const std::array<std::array<std::int64_t, 2>, 3> seen{{{1, most}, {10, 1}, {-100, 1}}};
  const std::array<std::array<double, 3>, 3> sums{{{1e16, 1.0, 0.1}, {1.0, 1e16, 0.2}, {-1e16, -1e16, 0.3}}};
  std::vector<distrib::ByteView> contributions;
  for (std::size_t i = 0; i < 3; ++i) {
    blocks[i] = AlignedBuffer{256};
    std::ranges::fill(blocks[i].as<float>().first(32), 1.0F);
    std::ranges::copy(seen[i], blocks[i].as<std::int64_t>().begin() + 16);
    std::ranges::copy(sums[i], blocks[i].as<double>().begin() + 24);
    blocks[i].as<double>()[27] = 5;  // not added: the gaps of the store keep their contents
    contributions.push_back(blocks[i].bytes());
  }
  const auto counts = [](const SharedBuffer& block) {
    const auto numbers = block->as<std::int64_t>().subspan(16, 2);
    return std::vector<std::int64_t>{numbers.begin(), numbers.end()};
  };
  const auto doubles = [](const SharedBuffer& block) {
    const auto numbers = block->as<double>().subspan(24, 3);
    return std::vector<double>{numbers.begin(), numbers.end()};
  };
  store.apply(1, contributions);
  const SharedBuffer first = store.values();
  CHECK(counts(first) == std::vector<std::int64_t>{-89, std::numeric_limits<std::int64_t>::min() + 1});
  CHECK(doubles(first) == std::vector<double>{0.0, 0.0, 0.1 + 0.2 + 0.3});  // 1e16 + 1 rounds to 1e16
  CHECK(first->as<double>()[27] == 0);
  CHECK(first->as<float>()[0] == 1.0F);
  const distrib::Cut cut = store.cut(1);
  REQUIRE(cut.slots.size() == 2);
  CHECK(cut.slots[0]->size() == 128);

  std::ranges::reverse(contributions);
  store.apply(2, contributions);
  CHECK(counts(store.values()) == std::vector<std::int64_t>{-178, 2});
  CHECK(doubles(store.values()) == std::vector<double>{0.0, 1.0, 0.1 + 0.2 + 0.3 + 0.3 + 0.2 + 0.1});
  CHECK(counts(first) == std::vector<std::int64_t>{-89, std::numeric_limits<std::int64_t>::min() + 1});
  store.load(cut);
  store.apply(2, std::span{contributions}.first(1));
  CHECK(counts(store.values()) == std::vector<std::int64_t>{-189, std::numeric_limits<std::int64_t>::min() + 2});
}

TEST_CASE("DenseStore: a mean computed in pieces is the same at every element", "[ps]") {
  distrib::Job large;
  large.updaters_of = {{"wide/", "counting "}};
  for (const auto& [name, elements] : {std::pair{"deep/w", 40'000}, {"wide/w", 16'385}}) {
    large.variables.push_back({name, distrib::DType::float32, distrib::Shape{elements}, distrib::ZerosInitializer{}});
    large.parts.push_back({large.variables.size() - 1, distrib::Slice::whole(distrib::Shape{elements}), 0});
  }
  const distrib::ShardLayout layout{large, 0};
  const distrib::JobUpdaters updaters{Momentum{.learning_rate = 0.1F}, Counting{}};
  DenseStore store{layout, updaters, AlignedBuffer{layout.block_bytes()}};
  DenseStore of_mean{layout, updaters, AlignedBuffer{layout.block_bytes()}};
  distrib::Philox random{1, 2, 3};
  for (std::uint64_t count = 1; count <= 2; ++count) {
    std::vector<AlignedBuffer> blocks;
    std::vector<distrib::ByteView> contributions;
    std::vector<std::span<const float>> floats;
    for (int i = 0; i < 3; ++i) {
      for (float& one : blocks.emplace_back(layout.block_bytes()).as<float>())
        one = static_cast<float>(random()) * 1e-9F - 2.0F;
      contributions.push_back(blocks.back().bytes());
      floats.push_back(blocks.back().as<float>());
    }
    store.apply(count, contributions);
    AlignedBuffer mean{layout.block_bytes()};
    distrib::reduce_mean(floats, mean.as<float>());
    const distrib::ByteView whole = mean.bytes();
    of_mean.apply(count, std::span{&whole, 1});
  }
  CHECK(std::ranges::equal(store.values()->bytes(), of_mean.values()->bytes()));
  const distrib::Cut cut = store.cut(2);
  const distrib::Cut expected = of_mean.cut(2);
  REQUIRE(cut.slots.size() == 3);
  for (std::size_t i = 0; i < cut.slots.size(); ++i)
    CHECK(std::ranges::equal(cut.slots[i]->bytes(), expected.slots[i]->bytes()));
}

TEST_CASE("DenseStore: a slot may begin as the values, also if these come as contribution 0", "[ps]") {
  distrib::Job two = job();
  two.updaters_of = {{"wide/", ""}};
  DenseStore store{distrib::ShardLayout{two, 0}, {Counting{}, Remembering{}}, values(2)};
  const auto slot_of = [&store](std::size_t number) {
    const SharedBuffer slot = store.cut(0).slots[number];
    const auto floats = slot->as<float>();
    return std::vector<float>{floats.begin(), floats.end()};
  };
  // The slots of deep/w, then those of wide/w.
  const auto of = [](float number) { return std::vector<float>(16, number); };
  CHECK(slot_of(2) == of(5));
  CHECK(slot_of(3) == of(2));
  CHECK(slot_of(4) == of(-1));
  store.begin(std::make_shared<AlignedBuffer>(values(7)));
  CHECK(slot_of(0) == of(5));
  CHECK(slot_of(2) == of(5));
  CHECK(slot_of(3) == of(7));
  CHECK(slot_of(4) == of(-1));

  const AlignedBuffer gradient = values(1);
  const distrib::ByteView contributions[] = {gradient.bytes()};
  store.apply(1, contributions);
  CHECK(store.values()->as<float>()[16] == 8.0F);
  CHECK(slot_of(3) == of(7));
  const distrib::Cut cut = store.cut(1);
  DenseStore other{distrib::ShardLayout{two, 0}, {Counting{}, Remembering{}}, values(3)};
  other.load(cut);
  const SharedBuffer slot = other.cut(1).slots[3];
  const auto loaded = slot->as<float>();
  CHECK(std::vector<float>{loaded.begin(), loaded.end()} == of(7));
}

TEST_CASE("DenseStore: the gaps between parts are zeros, whatever the slots and gradients have there", "[ps]") {
  distrib::Job job;
  for (const char* name : {"a", "b"}) {
    job.variables.push_back({name, distrib::DType::float32, distrib::Shape{3}, distrib::ZerosInitializer{}});
    job.parts.push_back({job.variables.size() - 1, distrib::Slice::whole(distrib::Shape{3}), 0});
  }
  const distrib::ShardLayout layout{job, 0};
  REQUIRE(layout.block_bytes() == 128);
  const distrib::JobUpdaters updaters{distrib::averaged(distrib::Adagrad{.learning_rate = 0.5F}, {.decay = 0.5F})};
  const auto only_parts = [&](float number) {
    AlignedBuffer block{128};
    for (const std::size_t at : {0, 16}) std::ranges::fill(block.as<float>().subspan(at, 3), number);
    return block;
  };
  const AlignedBuffer gradient = only_parts(0.25F);
  const distrib::ByteView of_gradient = gradient.bytes();
  DenseStore store{layout, updaters, only_parts(1.0F)};
  store.apply(1, {&of_gradient, 1});

  // As `CutTensors` reads it from files: the gaps of the slots are zeros, and so Adagrad divides 0 by 0 there.
  distrib::Cut read = store.cut(1);
  for (SharedBuffer& slot : read.slots) {
    AlignedBuffer without{slot->size()};
    for (const std::size_t at : {0, 16})
      std::ranges::copy(slot->as<float>().subspan(at, 3), without.as<float>().subspan(at).begin());
    slot = std::make_shared<const AlignedBuffer>(std::move(without));
  }
  DenseStore loaded{layout, updaters, AlignedBuffer{128}};
  loaded.load(read);
  const AlignedBuffer everywhere = values(0.25F);  // from a worker that writes into the gaps
  const distrib::ByteView of_everywhere = everywhere.bytes();
  store.apply(2, {&of_gradient, 1});
  loaded.apply(2, {&of_gradient, 1});
  CHECK(std::ranges::equal(store.values()->bytes(), loaded.values()->bytes()));
  CHECK(std::ranges::equal(store.averages()->bytes(), loaded.averages()->bytes()));
  loaded.apply(3, {&of_everywhere, 1});
  for (const SharedBuffer& block : {loaded.values(), loaded.averages()})
    for (const std::size_t at : {3, 19})
      for (const float gap : block->as<float>().subspan(at, 13)) CHECK(std::bit_cast<std::uint32_t>(gap) == 0);
}
