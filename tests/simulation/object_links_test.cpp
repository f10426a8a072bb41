// SPDX-License-Identifier: Apache-2.0
// Incremental cuts in an object store: random runs of the production core, and mistakes that they must find.
#include "simulation/object_cuts.hpp"

#include "support/catch.hpp"
#include "support/told_seeds.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace simulation::objects;
using LinkKind = ObjectAction::Kind;

namespace {

/// Removes cuts by itself, after each that was saved. A cut that nothing needs any more goes, but not what
/// listed cuts stand on, as far as `keeps_under` says.
struct SweepsItself : Process {
  using Process::Process;
  virtual auto keeps_under(const CutKey& listed) const -> bool = 0;

  void saved() override {
    sweep(core->cuts(), [] {});
  }

  void sweep(std::map<Step, CutKey> listed, std::function<void()> then) {
    ask(ObjectAction::list(run.names.cuts()),
        [this, listed, then](const ObjectAnswer& answer) { remove_all(useless(answer, listed), then); });
  }

  auto useless(const ObjectAnswer& answer, std::map<Step, CutKey> listed) -> std::vector<std::string> {
    const Step common = run.known_common(), complete = run.complete();
    std::vector<Step> held;
    for (const auto& [step, key] : listed)
      if (run.is_async || step <= common) held.push_back(step);
    const Step before = held.size() > 1 ? held[held.size() - 2] : 0;
    for (const Step step : held)
      if (step < before && (!run.is_wanted(step) || step < complete)) listed.erase(step);
    std::map<std::pair<distrib::ObjectClaim, std::uint32_t>, CutKey> there;
    for (const auto& info : answer.objects)
      if (const auto key = run.names.cut_of(info.key); key && key->shard == shard)
        there[{key->claim, key->number}] = *key;
    std::set<CutKey> kept;
    bool has_own = false;
    for (const auto& [step, key] : listed) {
      kept.insert(key);
      has_own = has_own || key.claim == core->claim();
      if (!keeps_under(key)) continue;
      for (std::uint32_t under = key.root(); under < key.number; ++under)
        if (const auto at = there.find({key.claim, under}); at != there.end()) kept.insert(at->second);
    }
    std::vector<std::string> names;
    for (const auto& [place, key] : there) {
      if (kept.contains(key) || run.is_named(key) || key.claim > core->claim()) continue;
      const bool is_over = !run.is_wanted(key.step) || key.step < complete;
      const bool goes = key.claim == core->claim() ? is_over : run.is_async ? has_own : key.step < before && is_over;
      if (goes) names.push_back(run.names.cut(key));
    }
    return names;
  }
};

/// What is listed is kept, but not what it stands on.
struct SweepsBases : SweepsItself {
  using SweepsItself::SweepsItself;
  auto keeps_under(const CutKey&) const -> bool override { return false; }
};

/// What listed cuts of other processes stand on is not kept.
struct SweepsBasesOfOthers : SweepsItself {
  using SweepsItself::SweepsItself;
  auto keeps_under(const CutKey& listed) const -> bool override { return listed.claim == core->claim(); }
};

/// Only what the newest cut stands on is kept.
struct KeepsTheNewestChain : SweepsItself {
  using SweepsItself::SweepsItself;
  auto keeps_under(const CutKey& listed) const -> bool override { return listed.step == core->cuts().rbegin()->first; }
};

/// Cuts are removed after a cut was written, before the claims are listed.
struct SweepsBeforeItLooks : SweepsItself {
  using SweepsItself::SweepsItself;
  auto keeps_under(const CutKey&) const -> bool override { return true; }
  void saved() override {}
  void happens(ObjectAction action) override {
    const bool looks = std::exchange(wrote_cut_, is_put_of_cut(action)) && is_list_of_claims(action);
    if (!looks) return forward(std::move(action));
    std::map<Step, CutKey> listed = core->cuts();
    listed[put_->step] = *put_;
    while (run.is_async && listed.size() > 2) listed.erase(listed.begin());
    sweep(std::move(listed), [this, action] { forward(action); });
  }
  bool wrote_cut_ = false;
};

/// The first cut of a process is a link on the cut that it began with.
struct LinksOnWhatItBeganWith : Process {
  using Process::Process;
  auto hidden_base(std::optional<Step>) -> std::string override {
    if (!std::exchange(is_first_, false) || run.is_wanted(saving_->step) || core->cuts().empty()) return {};
    return run.names.cut(core->cuts().rbegin()->second);
  }
  void went_back(Step, bool) override { is_first_ = false; }
  bool is_first_ = true;
};

/// The same, if that cut was never told.
struct LinksOnWhatWasNotTold : LinksOnWhatItBeganWith {
  using LinksOnWhatItBeganWith::LinksOnWhatItBeganWith;
  auto hidden_base(std::optional<Step> base) -> std::string override {
    std::string name = LinksOnWhatItBeganWith::hidden_base(base);
    return run.said.contains(name) ? std::string{} : name;
  }
};

/// After a start or a Restore the next cut is a link on the newest cut, whatever the process goes on from.
struct LinksOnTheNewest : Process {
  using Process::Process;
  void happens(ObjectAction action) override {
    lists_ = !started && action.kind == LinkKind::list && action.key == run.names.cuts();
    forward(std::move(action));
  }
  void comes(ObjectAnswer answer) override {
    if (lists_)
      for (const auto& info : answer.objects)
        if (const auto key = run.names.cut_of(info.key); key && key->shard == shard)
          if (!found_ || std::pair{found_->step, found_->claim} < std::pair{key->step, key->claim}) found_ = key;
    pass(std::move(answer));
  }
  auto hidden_base(std::optional<Step>) -> std::string override {
    if (!std::exchange(is_next_, false) || run.is_wanted(saving_->step)) return {};
    if (tip_) return run.names.cut(*tip_);
    return found_ && !core->cuts().empty() ? run.names.cut(*found_) : "";
  }
  void went_back(Step, bool) override { is_next_ = true; }
  bool is_next_ = true, lists_ = false;
  std::optional<CutKey> found_;
};

/// The same, and nothing is removed on which a listed cut stands.
struct FollowsTheNewest : LinksOnTheNewest {
  using LinksOnTheNewest::LinksOnTheNewest;
  void happens(ObjectAction action) override {
    if (action.kind != LinkKind::remove_all) return LinksOnTheNewest::happens(std::move(action));
    const auto is_needed = [this](const std::string& name) {
      for (const auto& [step, key] : core->cuts())
        if ((!leaves() || step == run.last) && run.names.cut(key) != name && run.stands_on(run.names.cut(key), name))
          return true;
      return false;
    };
    std::erase_if(action.keys, is_needed);
    if (action.keys.empty()) return reply({});
    forward(std::move(action));
  }
};

/// A Restore removes all newer cuts.
struct RestoreRemovesNewer : Process {
  using Process::Process;
  void went_back(Step to, bool by_worker) override {
    for (const auto& [step, key] : core->cuts())
      if (step > to && !run.is_wanted(step) && away.insert(step).second) newer_.push_back(run.names.cut(key));
    if (by_worker) run.forget_after(to);
  }
  void happens(ObjectAction action) override {
    remove_all(std::exchange(newer_, {}), [this, action] { forward(action); });
  }
  std::vector<std::string> newer_;
};

/// A chain has no bounds.
struct LinksForEver : Process {
  using Process::Process;
  auto sizes_of_cut() -> distrib::CutChain::Sizes override { return {1000, 1}; }
};

/// What has changed is forgotten when the cut is durable, not when it was copied.
struct ForgetsTooLate : Process {
  using Process::Process;
  void was_told() override {
    tell(true);
    touched_.clear();
  }
};

/// A cut is a link on one whose write was not answered.
struct LinksOnWhatIsUnderWay : Process {
  using Process::Process;
  void happens(ObjectAction action) override {
    writes_link_ = is_put_of_cut(action) && !cut_of(action)->is_whole();
    forward(std::move(action));
  }
  void comes(ObjectAnswer answer) override {
    if (writes_link_) unanswered_ = answer.lost;
    if (writes_link_ && answer.lost) answer = {};
    pass(std::move(answer));
  }
  void was_told() override { tell(!std::exchange(unanswered_, false)); }
  bool writes_link_ = false, unanswered_ = false;
};

/// Before a whole cut is written, the chain before it is removed.
struct RemovesTheChainFirst : Process {
  using Process::Process;
  void happens(ObjectAction action) override {
    if (!is_put_of_cut(action) || !cut_of(action)->is_whole() || !tip_) return forward(std::move(action));
    ask(ObjectAction::list(run.names.cuts()), [this, action](const ObjectAnswer& answer) {
      std::vector<std::string> chain;
      for (const auto& info : answer.objects) {
        const auto key = run.names.cut_of(info.key);
        if (key && key->shard == shard && key->claim == tip_->claim && key->number >= tip_->root() &&
            key->number <= tip_->number)
          chain.push_back(info.key);
      }
      remove_all(std::move(chain), [this, action] { forward(action); });
    });
  }
};

/// A cut of a wanted step may be a link, and an index names it.
struct NamesLinks : Process {
  using Process::Process;
  auto is_kept(Step) const -> bool override { return false; }
  auto hidden_base(std::optional<Step> base) -> std::string override {
    return base && tip_ && run.is_wanted(saving_->step) ? run.names.cut(*tip_) : "";
  }
};

template <class T> auto make_linked(Run& run, std::uint32_t number) -> std::unique_ptr<Process> {
  return std::make_unique<T>(run, number);
}

constexpr Mistake planted_with_links[] = {
    {"what listed cuts stand on is removed", make_linked<SweepsBases>},
    {"what listed cuts of other processes stand on is removed", make_linked<SweepsBasesOfOthers>, false, 5000},
    {"only what the newest cut stands on is kept", make_linked<KeepsTheNewestChain>},
    {"cuts are removed before the claims are listed", make_linked<SweepsBeforeItLooks>, false, 5000},
    {"the first cut is a link on what the process began with", make_linked<LinksOnWhatItBeganWith>},
    {"the first cut is a link on a cut that was never told", make_linked<LinksOnWhatWasNotTold>},
    {"after a start or a Restore a link on the newest cut", make_linked<LinksOnTheNewest>},
    {"the same, and what it stands on is kept", make_linked<FollowsTheNewest>, false, 5000},
    {"a Restore removes newer cuts", make_linked<RestoreRemovesNewer>, false, 5000},
    {"a chain has no bounds", make_linked<LinksForEver>},
    {"what has changed is forgotten when the cut is stored", make_linked<ForgetsTooLate>},
    {"a link on a cut whose write was not answered", make_linked<LinksOnWhatIsUnderWay>},
    {"the old chain is removed before the next whole cut is written", make_linked<RemovesTheChainFirst>},
    {"an index names a link", make_linked<NamesLinks>},
};

auto outcome_with_links(const Mistake& mistake, std::uint64_t seed) -> std::string {
  return Run{seed, mistake.make, mistake.late_lists, mistake.asynchronous, 1, true}.go();
}

void check_links(std::uint64_t first, std::uint64_t count, std::uint32_t replicas = 1) {
  std::uint64_t wrong = 0, links = 0, late = 0;
  std::uint32_t longest = 0;
  for (std::uint64_t seed = first; seed < first + count && wrong < 5; ++seed) {
    Run run{seed, honest, false, false, replicas, true};
    const std::string what = run.go();
    links += run.links_written;
    late += run.links_late;
    longest = std::max(longest, run.longest);
    if (what.empty()) continue;
    ++wrong;
    CAPTURE(seed);
    CHECK(what == "");
  }
  CHECK(wrong == 0);
  CHECK(links > count);
  CHECK(longest > 1);
  if (count >= 10'000)
    std::printf("%llu links, %llu landed when what they stand on was gone, the longest chain has %u\n",
                static_cast<unsigned long long>(links), static_cast<unsigned long long>(late), longest);
}

#ifdef NDEBUG
constexpr std::uint64_t seeds_with_links = 300;  // `[.seeds]` runs more on request
#else
constexpr std::uint64_t seeds_with_links = 100;
#endif

}  // namespace

TEST_CASE("Random runs: incremental cuts in an object store are found, whatever happens", "[simulation]") {
  check_links(0, seeds_with_links);
}

TEST_CASE("Random runs: incremental cuts of replicas in an object store are found, whatever happens", "[simulation]") {
  check_links(0, seeds_with_links, 2);
}

TEST_CASE("Random runs find each mistake with incremental cuts in an object store", "[simulation]") {
  for (const Mistake& mistake : planted_with_links) {
    CAPTURE(mistake.name);
    CHECK(first_found(mistake.most, [&](std::uint64_t seed) { return outcome_with_links(mistake, seed); }) <
          mistake.most);
  }
}

TEST_CASE("Random runs: the requested seeds of incremental cuts in an object store", "[.seeds][simulation]") {
  const std::uint64_t from = support::told_seeds().from;
  check_links(from, support::told_seeds().count.value_or(10'000));
  check_links(from, support::told_seeds().count.value_or(10'000), 2);
}

TEST_CASE("Random runs: how often they find mistakes with incremental cuts", "[.found][simulation]") {
  const support::ToldSeeds told = support::told_seeds();
  for (const Mistake& mistake : planted_with_links)
    tell_found(mistake.name, told.from, told.count.value_or(2000),
               [&](std::uint64_t seed) { return outcome_with_links(mistake, seed); });
}
