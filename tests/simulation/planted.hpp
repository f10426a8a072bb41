// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulation/carrier.hpp"

#include "support/catch.hpp"

#include <distrib/core/bytes.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/protocol/worker_action.hpp>

#include <cstdint>
#include <cstdio>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

/// Mistakes that are planted in production cores, for random runs to find.
namespace simulation {

/// Rules whose cores have a mistake.
struct Planted {
  const char* mistake;
  auto (*run)(std::uint64_t seed) -> std::string;  ///< What was not as it must be; empty: nothing.
};

template <class Rules>
auto run(std::uint64_t seed) -> std::string {
  return Carrier<Rules>{seed}.run();
}

/// The first seed that shows the mistake; `most`: none before that does.
inline auto first_seed(const Planted& planted, std::uint64_t most) -> std::uint64_t {
  std::uint64_t seed = 0;
  while (seed < most && planted.run(seed).empty()) ++seed;
  return seed;
}

/// Random runs find each of them.
inline void check_found(std::span<const Planted> list) {
  constexpr std::uint64_t most = 1000;
  for (const Planted& planted : list) {
    CAPTURE(planted.mistake);
    CHECK(first_seed(planted, most) < most);
  }
}

/// Prints how often, from which seed on, and how each of them is found.
inline void print_found(std::span<const Planted> list) {
  constexpr int most = 1000;
  for (const Planted& planted : list) {
    int shown = 0;
    int first = most;
    std::map<std::string, int> how;
    for (int seed = most - 1; seed >= 0; --seed) {
      const std::string what = planted.run(static_cast<std::uint64_t>(seed));
      if (what.empty()) continue;
      ++shown;
      first = seed;
      ++how[what];
    }
    std::printf("%s: %d of %d seeds, the first is %d\n", planted.mistake, shown, most, first);
    for (const auto& [what, times] : how) std::printf("  %4d: %s\n", times, what.c_str());
  }
}

/// Passes actions on; of those of one kind what `change` makes of them.
template <class Action>
auto changed(auto& out, auto change) {
  return [&out, change](auto action) {
    if constexpr (std::is_same_v<decltype(action), Action>) change(action);
    out(std::move(action));
  };
}

/// A worker that believes something else than shards tell of themselves.
template <class Core, void (*belief)(const distrib::Job&, distrib::Progress&)>
class Misunderstands : public Core {
 public:
  Misunderstands(const distrib::Job& job, Rank rank, distrib::WorkerOptions options)
      : Core{job, rank, options}, job_{job} {}

  void joined(std::uint32_t shard, distrib::Progress progress, auto& out) {
    belief(job_, progress);
    Core::joined(shard, std::move(progress), out);
  }
  void notice(std::uint32_t shard, distrib::Progress progress, auto& out) {
    belief(job_, progress);
    Core::notice(shard, std::move(progress), out);
  }
  void pushed(std::uint32_t shard, distrib::Progress progress, auto& out) {
    belief(job_, progress);
    Core::pushed(shard, std::move(progress), out);
  }
  void values(std::uint32_t shard, Step step, distrib::SharedBuffer block, distrib::Progress progress, auto& out) {
    belief(job_, progress);
    Core::values(shard, step, std::move(block), std::move(progress), out);
  }

 private:
  distrib::Job job_;
};

}  // namespace simulation
