// SPDX-License-Identifier: Apache-2.0
// Mistakes in what a host decides about cuts and states. `sim::run` must find each of them, or it would not find real
// ones either.
#include <distrib/sim/run.hpp>

#include <distrib/optimizer/adam.hpp>
#include <distrib/ps/cut/shard_files.hpp>
#include <distrib/ps/cut/state_fetch_core.hpp>
#include <distrib/sim/detail/hosted_shard.hpp>
#include <distrib/sim/detail/simulation.hpp>

#include "sim/trainers.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "support/told_seeds.hpp"
#include "train/line_job.hpp"

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>

using namespace distrib;

namespace {

using Kind = CutWork::Kind;

/// Passes each piece of work to `out` as `change` leaves it.
auto changed(auto& out, auto change) {
  return [&out, change](auto action) {
    if constexpr (std::same_as<decltype(action), CutWork>) change(action);
    out(std::move(action));
  };
}

// --- in ShardFiles ---

/// Reports a cut that found no disk space as durable.
struct AnnouncesFailed : ShardFiles {
  using ShardFiles::ShardFiles;
  void performed(CutWork work, auto& service, Instant now, auto& out) {
    if (work.kind == Kind::save) work.failure = {};
    ShardFiles::performed(std::move(work), service, now, out);
  }
};

/// Reports a cut as durable before it is written.
struct AnnouncesEarly : ShardFiles {
  using ShardFiles::ShardFiles;
  void save(SaveCut action, auto& out) {
    out(CutWork{Kind::send, action.cut.step});  // no peer asked for this; its result is the report
    ShardFiles::save(std::move(action), out);
  }
  void performed(CutWork work, auto& service, Instant now, auto& out) {
    if (work.kind == Kind::send && work.peer == 0) return service.cut_saved(work.step, now);
    ShardFiles::performed(std::move(work), service, now, out);
  }
};

/// A shard that has several cuts starts with the values of its oldest cut under the step of its newest cut.
struct StartsWithTheOldest : ShardFiles {
  using ShardFiles::ShardFiles;
  void performed(CutWork work, auto& service, Instant now, auto& out) {
    if (work.kind == Kind::open && !work.cuts.empty()) {
      oldest_ = work.cuts.front().step;
      newest_ = work.cuts.back().step;
    }
    if (work.kind == Kind::start) work.cut.step = newest_;
    auto with_the_oldest = changed(out, [this](CutWork& next) {
      if (next.kind == Kind::start) next.step = oldest_;
    });
    ShardFiles::performed(std::move(work), service, now, with_the_oldest);
  }

 private:
  Step oldest_ = 0, newest_ = 0;
};

/// A shard that has cuts starts with its initial values under the step of its newest cut.
struct StartsAnew : ShardFiles {
  using ShardFiles::ShardFiles;
  void performed(CutWork work, auto& service, Instant now, auto& out) {
    if (work.kind == Kind::start) work.cut.step = work.step;
    auto anew = changed(out, [](CutWork& next) { next.is_initial = next.is_initial || next.kind == Kind::start; });
    ShardFiles::performed(std::move(work), service, now, anew);
  }
};

/// A shard that a worker sends to a cut goes to its newest cut instead.
struct LoadsTheNewest : ShardFiles {
  using ShardFiles::ShardFiles;
  void load(Step step, auto& out) { ShardFiles::load(newest_ != 0 ? newest_ : step, out); }
  void performed(CutWork work, auto& service, Instant now, auto& out) {
    if (work.kind == Kind::open && !work.cuts.empty()) newest_ = work.cuts.back().step;
    if (work.kind == Kind::save && !work.failure) newest_ = work.step;
    ShardFiles::performed(std::move(work), service, now, out);
  }

 private:
  Step newest_ = 0;
};

/// The newest cut is removed instead of an old one.
struct DropsTheNewest : ShardFiles {
  using ShardFiles::ShardFiles;
  void drop(DropCut action, auto& out) {
    if (newest_ != 0) action.step = newest_;
    ShardFiles::drop(action, out);
  }
  void performed(CutWork work, auto& service, Instant now, auto& out) {
    if (work.kind == Kind::save && !work.failure) newest_ = work.step;
    ShardFiles::performed(std::move(work), service, now, out);
  }

 private:
  Step newest_ = 0;
};

// --- in StateFetchCore ---

/// Nothing follows when the other replica is lost.
struct WaitsForEver : StateFetchCore {
  using StateFetchCore::StateFetchCore;
  void failed(const std::error_code& why, Instant now, auto& out) {
    auto unless_lost = [&out](auto action) {
      if constexpr (!std::same_as<decltype(action), StateFetched>) out(std::move(action));
    };
    StateFetchCore::failed(why, now, unless_lost);
  }
};

/// The fetched state counts as the state of the next step.
struct NamesTheStepAfter : StateFetchCore {
  using StateFetchCore::StateFetchCore;
  void answered(StateReply reply, auto& out) {
    auto named = [&out](auto action) {
      if constexpr (std::same_as<decltype(action), StateFetched>)
        if (action.cut) ++action.cut->step;
      out(std::move(action));
    };
    StateFetchCore::answered(reply, named);
  }
};

template <class Mistaken>
struct WithFiles {
  using Files = Mistaken;
  using Fetch = StateFetchCore;
};
template <class Mistaken>
struct WithFetch {
  using Files = ShardFiles;
  using Fetch = Mistaken;
};

/// Shards with a mistake, and the kind of job that shows it.
struct Planted {
  const char* mistake;
  sim::detail::MakeShard make_shard;
  bool has_replicas = false;
};
template <class Mistaken>
constexpr auto in_files = sim::detail::make_shard<WithFiles<Mistaken>>;
template <class Mistaken>
constexpr auto in_fetch = sim::detail::make_shard<WithFetch<Mistaken>>;

constexpr Planted planted[] = {
    {"a cut that found no disk space is reported as durable", in_files<AnnouncesFailed>},
    {"a cut is reported as durable too early", in_files<AnnouncesEarly>},
    {"a shard starts with the values of its oldest cut", in_files<StartsWithTheOldest>},
    {"a shard starts with its initial values", in_files<StartsAnew>},
    {"a shard that is sent to a cut goes to its newest cut", in_files<LoadsTheNewest>},
    {"the newest cut is removed", in_files<DropsTheNewest>},
    {"the loss of the other replica is not reported", in_fetch<WaitsForEver>, true},
    {"a fetched state counts as the state of the next step", in_fetch<NamesTheStepAfter>, true},
};
constexpr sim::detail::MakeShard without = sim::detail::make_shard<sim::detail::ShardCores>;

auto job_of(const auto& data, std::uint32_t shards) {
  return line_job::builder(data, {.workers = 3, .shards = shards, .parts = 2, .steps = 20}).with_updater(Adam{});
}

/// Jobs of the line model, with and without replicas, and the hash of the parameters with which both end.
class Jobs {
 public:
  static constexpr std::uint64_t most_events = 400'000;  // more than the same runs need without a mistake

  /// Returns what was wrong in the run of a seed; empty: nothing.
  auto found(sim::detail::MakeShard make_shard, bool has_replicas, std::uint64_t seed) -> std::string {
    const auto job = job_of(data_, has_replicas ? 1 : 2).with_replicas(has_replicas ? 2 : 1);
    const sim::Outcome outcome = sim::detail::simulate(
        job.plan(), nullptr, {.seed = seed, .directory = folder_.path().string(), .most_events = most_events},
        make_shard);
    if (outcome.wrong.empty() && outcome.parameters_sha256 != expected_) return "other parameters";
    return outcome.wrong;
  }

 private:
  support::TempDirectory folder_;
  decltype(line_model::write(folder_.path())) data_ = line_model::write(folder_.path());
  std::string expected_ = trainers::local_sha256(job_of(data_, 1));
};

/// Checks that each mistake is found, and that the same seeds show nothing without it.
void check_found(std::span<const Planted> list, std::uint64_t most = 1000) {
  Jobs jobs;
  for (const bool has_replicas : {false, true}) {
    std::uint64_t last = 0;
    for (const Planted& of : list) {
      if (of.has_replicas != has_replicas) continue;
      std::uint64_t seed = 0;
      while (seed < most && jobs.found(of.make_shard, has_replicas, seed).empty()) ++seed;
      CAPTURE(of.mistake);
      CHECK(seed < most);
      last = std::max(last, seed);
    }
    for (std::uint64_t seed = 0; seed <= last; ++seed) CHECK(jobs.found(without, has_replicas, seed) == "");
  }
}

}  // namespace

TEST_CASE("Simulated clusters find each mistake in what a host decides", "[simulation]") { check_found(planted); }

TEST_CASE("Simulated clusters: how often they find mistakes of hosts", "[.found][simulation]") {
  const support::ToldSeeds told = support::told_seeds();
  const std::uint64_t count = told.count.value_or(1000);
  Jobs jobs;
  const auto print = [&](const Planted& of) {
    std::map<std::string, int> how;
    std::uint64_t shown = 0, first = told.from + count;
    for (std::uint64_t seed = first; seed-- > told.from;) {
      const std::string what = jobs.found(of.make_shard, of.has_replicas, seed);
      if (what.empty()) continue;
      ++shown;
      first = seed;
      const std::size_t named = what.find(": ");  // "seed 7: the job has not ended within ... events (after ..."
      ++how[what.substr(0, what.find(" (")).substr(named == std::string::npos ? 0 : named + 2)];
    }
    std::printf("%s%s: %llu of %llu seeds, the first is %llu\n", of.mistake, of.has_replicas ? " (replicas)" : "",
                static_cast<unsigned long long>(shown), static_cast<unsigned long long>(count),
                static_cast<unsigned long long>(first));
    for (const auto& [what, times] : how) std::printf("  %4d: %s\n", times, what.c_str());
    std::fflush(stdout);
  };
  for (const bool has_replicas : {false, true}) print({"none", without, has_replicas});
  for (const Planted& of : planted) print(of);
}
