// SPDX-License-Identifier: Apache-2.0
// Mistakes in how an onlooker looks. Random runs must find each of them, or they would not find real ones either.
#include "simulation/onlooker_runs.hpp"
#include "simulation/planted.hpp"

#include "support/catch.hpp"

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace distrib;

namespace {

/// Passes on the actions of a core as `change` leaves them; those for which it returns false are dropped.
template <class Out, class Change>
auto changed_look(Out& out, Change change) {
  return [&out, change](auto action) {
    if (change(action)) out(std::move(action));
  };
}

/// Asks each shard for its newest values, whatever step that is, and takes them for those of the step of the first.
struct MixesSteps : LookCore {
  using LookCore::LookCore;
  void values(std::uint32_t shard, Step counted, std::uint64_t history, SharedBuffer block, auto& out) {
    if (shard == 0) named_ = counted;
    auto newest = changed_look(out, [](auto& action) {
      if constexpr (std::same_as<std::remove_cvref_t<decltype(action)>, AskLook>) action.newest = true;
      return true;
    });
    LookCore::values(shard, named_, history, std::move(block), newest);
  }

 private:
  Step named_ = 0;
};

/// Takes Gone for the end of the job.
struct TakesGoneForTheEnd : LookCore {
  using LookCore::LookCore;
  void gone(Step done, auto& out) {
    LookCore::give_up(out);
    out(LookedAt{done, true, true, {}});
  }
};

/// Is content when all shards but one have answered.
struct MissesAShard : LookCore {
  using LookCore::LookCore;
  void values(std::uint32_t shard, Step counted, std::uint64_t history, SharedBuffer block, auto& out) {
    seen_.push_back(block);
    if (seen_.size() > 1) {
      LookCore::give_up(out);
      return out(LookedAt{counted, true, false, std::exchange(seen_, {})});
    }
    LookCore::values(shard, counted, history, std::move(block), out);
  }

 private:
  std::vector<SharedBuffer> seen_;
};

/// Does not notice that the values are those at the end.
struct LooksForEver : LookCore {
  using LookCore::LookCore;
  void values(std::uint32_t shard, Step counted, std::uint64_t history, SharedBuffer block, auto& out) {
    auto not_last = changed_look(out, [](auto& action) {
      if constexpr (std::same_as<std::remove_cvref_t<decltype(action)>, LookedAt>) action.is_last = false;
      return true;
    });
    LookCore::values(shard, counted, history, std::move(block), not_last);
  }
};

/// Keeps the answers of the first shard over a lost connection, under the step of the next look.
struct KeepsAnOldAnswer : LookCore {
  using LookCore::LookCore;
  void values(std::uint32_t shard, Step counted, std::uint64_t history, SharedBuffer block, auto& out) {
    if (shard == 0 && old_ != nullptr) block = old_;
    if (shard == 0) old_ = block;
    LookCore::values(shard, counted, history, std::move(block), out);
  }

 private:
  SharedBuffer old_;
};

/// Tells the values of the step after the one that it saw.
struct CountsOneTooMany : LookCore {
  using LookCore::LookCore;
  void values(std::uint32_t shard, Step counted, std::uint64_t history, SharedBuffer block, auto& out) {
    auto later = changed_look(out, [](auto& action) {
      if constexpr (std::same_as<std::remove_cvref_t<decltype(action)>, LookedAt>) ++action.step;
      return true;
    });
    LookCore::values(shard, counted, history, std::move(block), later);
  }
};

/// Learns of the end only from the calls of its looks.
struct DoesNotAskForTheEnd : LookCore {
  using LookCore::LookCore;
  void connected(std::uint32_t shard, auto& out) {
    auto looks_only =
        changed_look(out, [](auto& action) { return !std::same_as<std::remove_cvref_t<decltype(action)>, AskEnd>; });
    LookCore::connected(shard, looks_only);
  }
};

/// Waits for values after the word of a shard that the job is done, although that shard answers no more.
struct WaitsAfterTheEnd : LookCore {
  using LookCore::LookCore;
  void done(std::uint32_t, auto&) {}
};

template <class Core>
auto look_wrong(std::uint64_t seed) -> std::string {
  return simulation::look_on_synchronous<Core>(seed);
}

const simulation::Planted look_mistakes[] = {
    {"steps of shards are mixed", look_wrong<MixesSteps>},
    {"Gone is taken for the end", look_wrong<TakesGoneForTheEnd>},
    {"a shard is missing", look_wrong<MissesAShard>},
    {"the end is not noticed", look_wrong<LooksForEver>},
    {"an old answer is kept", look_wrong<KeepsAnOldAnswer>},
    {"the step is counted wrong", look_wrong<CountsOneTooMany>},
    {"the end is not asked for", look_wrong<DoesNotAskForTheEnd>},
    {"the end is not believed", look_wrong<WaitsAfterTheEnd>},
};

}  // namespace

TEST_CASE("Random runs find each mistake of an onlooker", "[simulation][onlookers]") {
  simulation::check_found(look_mistakes, 100);
}

TEST_CASE("How often random runs find the mistakes of onlookers", "[.found]") {
  simulation::print_found(look_mistakes);
}
