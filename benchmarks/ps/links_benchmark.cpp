// SPDX-License-Identifier: Apache-2.0
// How many bytes the cuts of a shard have if they may be links, and if they are whole: the tables and the keys of the
// click example on one shard, 200 examples a step, a cut each 100 steps, for 3000 steps; then 3000 steps more on the
// same examples. usage: links_benchmark
#include <distrib/ps/store/shard_store.hpp>

#include <distrib/optimizer/adagrad.hpp>

#include "click/generator.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

namespace {

constexpr distrib::Step steps = 3000, every = 100;
constexpr std::uint64_t examples = 200;

auto make_job() -> distrib::Job {
  distrib::Job job;
  job.variables = {{"hidden", distrib::DType::float32, {63'360}, distrib::ZerosInitializer{}}};
  job.parts = {{0, distrib::Slice::whole({63'360}), 0}};
  job.tables = {{"wide", 1, 0}, {"deep", 16, 0}};
  job.updater = distrib::Adagrad{}.describe();
  return job;
}

auto keys_of(const ClickGenerator& click, distrib::Step step) -> std::vector<std::uint64_t> {
  std::vector<std::uint64_t> keys;
  for (std::uint64_t i = 0; i < examples; ++i) {
    const auto example = click(ClickGenerator::Split::train, (step - 1) % steps * examples + i).example;
    for (std::size_t column = 0; column < example.categories.size(); ++column)
      if (example.categories[column] >= 0)
        keys.push_back(std::uint64_t{column} << 32 | static_cast<std::uint64_t>(example.categories[column]));
  }
  std::ranges::sort(keys);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

void update(distrib::ShardStore& store, distrib::Step step, const std::vector<std::uint64_t>& keys) {
  const distrib::ContributionLayout places{store.layout(), {keys, keys}};
  auto block = std::make_shared<distrib::AlignedBuffer>(places.size_bytes());
  places.write_keys(block->bytes());
  std::vector<distrib::ReadContribution> one;
  one.push_back(std::move(store.read(std::move(block)).first));
  std::error_code ec;
  store.apply(step, one, ec);
  distrib::throw_if({ec, "an update"});
}

// Bytes of the tensors of a cut.
auto bytes_of(const distrib::Cut& cut) -> std::uint64_t {
  std::uint64_t bytes = cut.values->size();
  for (const distrib::SharedBuffer& slots : cut.slots) bytes += slots->size();
  for (const distrib::TableCut& table : cut.tables)
    for (const distrib::SharedBuffer& part : {table.keys, table.uses, table.rows, table.gone})
      if (part != nullptr) bytes += part->size();
  return bytes;
}

}  // namespace

auto main() -> int {
  const distrib::Job job = make_job();
  distrib::ShardStore store{job, 0, {distrib::Adagrad{}}, std::numeric_limits<std::uint64_t>::max()};
  store.make_links([](distrib::Step step) { return step % steps == 0; }, 0);
  const ClickGenerator click{1};
  const char* separator = "{";
  for (distrib::Step first = 0; first < 2 * steps; first += steps) {
    std::uint64_t links = 0, whole = 0, saved = 0;
    for (distrib::Step step = first + 1; step <= first + steps; ++step) {
      update(store, step, keys_of(click, step));
      if (step % every != 0) continue;
      store.begin_cut(step);
      while (!store.copy_cut(std::size_t{512} << 10)) {
      }
      const distrib::Cut cut = store.take_cut().finish();
      store.cut_is_durable(step);
      if (cut.base) ++links;
      saved += bytes_of(cut);
      whole += store.tables()->copy_bytes() + cut.values->size() + cut.slots[0]->size();
      std::fprintf(stderr, "step %llu: %s of %.1f MiB, whole %.1f MiB\n", static_cast<unsigned long long>(step),
                   cut.base ? "a link" : "whole", static_cast<double>(bytes_of(cut)) / (1 << 20),
                   static_cast<double>(store.tables()->copy_bytes()) / (1 << 20));
    }
    std::printf(R"(%s"%s": {"links": %llu, "mib": %.2f, "whole_mib": %.2f})", separator, first == 0 ? "new" : "on",
                static_cast<unsigned long long>(links), static_cast<double>(saved) / (1 << 20),
                static_cast<double>(whole) / (1 << 20));
    separator = ", ";
  }
  std::printf("}\n");
}
