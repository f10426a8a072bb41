// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulation/carrier.hpp"

#include "support/actions.hpp"
#include "support/catch.hpp"

#include <distrib/core/bytes.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/protocol/worker_action.hpp>

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>

/// Mistakes that are planted in production cores, for random runs to find. Each mistake is a class that does what the
/// core does, except for the mistake. Which mistake a run has is chosen at run time, so that all mistakes share one
/// core and one `Carrier`.
namespace simulation {

/// A mistake, and the runs that have it.
struct Planted {
  const char* mistake;
  auto (*run)(std::uint64_t seed) -> std::string;  ///< Returns what was wrong; empty: nothing.
};

template <class Rules>
auto run(std::uint64_t seed) -> std::string {
  return Carrier<Rules>{seed}.run();
}

/// Returns the first seed that shows the mistake; `most` if no seed below `most` does.
inline auto first_seed(const Planted& planted, std::uint64_t most) -> std::uint64_t {
  std::uint64_t seed = 0;
  while (seed < most && planted.run(seed).empty()) ++seed;
  return seed;
}

/// Checks that random runs find each mistake, with a seed below `most`.
inline void check_found(std::span<const Planted> list, std::uint64_t most = 1000) {
  for (const Planted& planted : list) {
    CAPTURE(planted.mistake);
    CHECK(first_seed(planted, most) < most);
  }
}

/// Prints for each mistake how often, from which seed on, and how it is found.
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

/// Passes on the actions of `happens`, each as `change` leaves it. An action for which `change` returns false is
/// dropped.
template <class Action>
void pass_on(support::ActionList<Action>& out, auto happens, auto change) {
  support::ActionList<Action> told;
  happens(told);
  for (Action& action : told)
    if (change(action)) out.push_back(std::move(action));
}

/// The mistake that cores are made with.
template <class Mistake>
class Plant {
 public:
  /// Chooses `M` from now on. `Mistake` itself: no mistake.
  template <class M>
  static void choose() {
    make_ = [](const distrib::Job& job) -> std::unique_ptr<Mistake> {
      if constexpr (requires { M{job}; }) return std::make_unique<M>(job);
      else return std::make_unique<M>();
    };
  }
  static auto make(const distrib::Job& job) -> std::unique_ptr<Mistake> { return make_(job); }

 private:
  static inline std::unique_ptr<Mistake> (*make_)(const distrib::Job& job) = nullptr;
};

/// The events of a worker that a mistake can override.
template <class Core>
struct WorkerMistake {
  using Actions = support::WorkerActions;
  using Progress = distrib::Progress;

  WorkerMistake() = default;
  WorkerMistake(const WorkerMistake&) = delete;
  auto operator=(const WorkerMistake&) -> WorkerMistake& = delete;
  virtual ~WorkerMistake() = default;

  virtual void joined(Core& core, std::uint32_t shard, Progress progress, Actions& out) {
    core.joined(shard, std::move(progress), out);
  }
  virtual void notice(Core& core, std::uint32_t shard, Progress progress, Actions& out) {
    core.notice(shard, std::move(progress), out);
  }
  virtual void pushed(Core& core, std::uint32_t shard, Progress progress, Actions& out) {
    core.pushed(shard, std::move(progress), out);
  }
  virtual void values(Core& core, std::uint32_t shard, Step step, distrib::SharedBuffer block, Progress progress,
                      Actions& out) {
    core.values(shard, step, std::move(block), std::move(progress), out);
  }
};

/// A worker with the chosen mistake.
template <class Core>
class MistakenWorker : public Core {
 public:
  using Actions = support::WorkerActions;
  using Progress = distrib::Progress;

  MistakenWorker(const distrib::Job& job, Rank rank, distrib::WorkerOptions options)
      : Core{job, rank, std::move(options)}, mistake_{Plant<WorkerMistake<Core>>::make(job)} {}

  void joined(std::uint32_t shard, Progress progress, Actions& out) {
    mistake_->joined(*this, shard, std::move(progress), out);
  }
  void notice(std::uint32_t shard, Progress progress, Actions& out) {
    mistake_->notice(*this, shard, std::move(progress), out);
  }
  void pushed(std::uint32_t shard, Progress progress, Actions& out) {
    mistake_->pushed(*this, shard, std::move(progress), out);
  }
  void values(std::uint32_t shard, Step step, distrib::SharedBuffer block, Progress progress, Actions& out) {
    mistake_->values(*this, shard, step, std::move(block), std::move(progress), out);
  }

 private:
  std::unique_ptr<WorkerMistake<Core>> mistake_;
};

/// A worker that misunderstands what shards report: `belief` changes each progress.
template <class Core, void (*belief)(const distrib::Job&, distrib::Progress&)>
class Misunderstands : public WorkerMistake<Core> {
 public:
  using Actions = support::WorkerActions;
  using Progress = distrib::Progress;

  explicit Misunderstands(const distrib::Job& job) : job_{job} {}

  void joined(Core& core, std::uint32_t shard, Progress progress, Actions& out) override {
    core.joined(shard, believed(std::move(progress)), out);
  }
  void notice(Core& core, std::uint32_t shard, Progress progress, Actions& out) override {
    core.notice(shard, believed(std::move(progress)), out);
  }
  void pushed(Core& core, std::uint32_t shard, Progress progress, Actions& out) override {
    core.pushed(shard, believed(std::move(progress)), out);
  }
  void values(Core& core, std::uint32_t shard, Step step, distrib::SharedBuffer block, Progress progress,
              Actions& out) override {
    core.values(shard, step, std::move(block), believed(std::move(progress)), out);
  }

 private:
  [[nodiscard]] auto believed(Progress progress) const -> Progress {
    belief(job_, progress);
    return progress;
  }

  distrib::Job job_;
};

}  // namespace simulation
