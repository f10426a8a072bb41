// SPDX-License-Identifier: Apache-2.0
// Cuts in an object store: random runs of the production core, and mistakes that they must find.
#include "simulation/object_cuts.hpp"

#include "support/catch.hpp"
#include "support/told_seeds.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace simulation::objects;
using Kind = ObjectAction::Kind;

namespace {

/// There is no list of claims after a cut was written.
struct NeverLooks : Process {
  using Process::Process;
  void happens(ObjectAction action) override {
    looks_ = is_list_of_claims(action) && wrote_;
    wrote_ = is_put_of_cut(action);
    forward(std::move(action));
  }
  void comes(ObjectAnswer answer) override {
    if (looks_) take_claims(answer);
    wrote_ = wrote_ || (looks_ && answer.lost);
    pass(std::move(answer));
  }
  bool wrote_ = false, looks_ = false;
};

/// The claims are listed before the cut is written, not after.
struct LooksTooEarly : Process {
  using Process::Process;
  void happens(ObjectAction action) override {
    looks_ = is_list_of_claims(action) && wrote_;
    wrote_ = is_put_of_cut(action);
    if (!wrote_) return forward(std::move(action));
    ask(ObjectAction::list(run.names.claims(shard, replica)), [this, action](ObjectAnswer answer) {
      seen_ = take_claims(answer);
      forward(action);
    });
  }
  void comes(ObjectAnswer answer) override {
    if (looks_) {
      take_claims(answer);
      answer.objects.insert(answer.objects.end(), seen_.begin(), seen_.end());
    }
    wrote_ = wrote_ || (looks_ && answer.lost);
    pass(std::move(answer));
  }
  bool wrote_ = false, looks_ = false;
  std::vector<distrib::ObjectInfo> seen_;
};

/// A process that starts lists the cuts before it writes its claim.
struct ListsBeforeItClaims : Process {
  using Process::Process;
  void happens(ObjectAction action) override {
    if (action.kind == Kind::put && run.names.claim_of(action.key, shard, replica) && !seen_)
      return ask(ObjectAction::list(run.names.cuts()), [this, action](ObjectAnswer answer) {
        seen_ = std::move(answer);
        forward(action);
      });
    if (action.kind == Kind::list && action.key == run.names.cuts() && seen_ && !used_) {
      used_ = true;
      return reply(*seen_);
    }
    forward(std::move(action));
  }
  std::optional<ObjectAnswer> seen_;
  bool used_ = false;
};

/// A cut is told when it is sent.
struct TellsWhenSent : Process {
  using Process::Process;
  void happens(ObjectAction action) override {
    if (is_put_of_cut(action)) run.tell(*this, *saving_);
    forward(std::move(action));
  }
};

/// The last cut is told before its checkpoint is made.
struct TellsTheLastEarly : Process {
  using Process::Process;
  void happens(ObjectAction action) override {
    looks_ = is_list_of_claims(action) && wrote_last_;
    wrote_last_ = is_put_of_cut(action) && cut_of(action)->step == run.last;
    forward(std::move(action));
  }
  void comes(ObjectAnswer answer) override {
    if (std::exchange(looks_, looks_ && answer.lost) && !answer.lost && !run.is_followed(*this))
      run.tell(*this, *saving_);
    pass(std::move(answer));
  }
  bool wrote_last_ = false, looks_ = false;
};

/// The cuts of a step have one name, whichever process writes them.
struct WritesFixedNames : Process {
  using Process::Process;
  void happens(ObjectAction action) override {
    if (auto key = cut_of(action)) {
      key->claim = {};
      key->number = 0;
      action.key = run.names.cut(*key);
    }
    forward(std::move(action));
  }
};

/// An asynchronous shard begins with the newest step, whichever process wrote it.
struct BeginsWithTheNewest : Process {
  using Process::Process;
  void happens(ObjectAction action) override {
    lists_cuts_ = !started && run.is_async && action.kind == Kind::list && action.key == run.names.cuts();
    lists_bases_ = run.is_async && action.kind == Kind::list && action.key == run.names.bases(shard);
    forward(std::move(action));
  }
  void comes(ObjectAnswer answer) override {
    const auto step_of = [this](const distrib::ObjectInfo& info) -> Step {
      const auto key = run.names.cut_of(info.key);
      return key && key->shard == shard ? key->step : 0;
    };
    if (lists_cuts_ && !answer.objects.empty()) {
      const auto best = std::max_element(answer.objects.begin(), answer.objects.end(),
                                         [&](const auto& a, const auto& b) { return step_of(a) < step_of(b); });
      found_ = step_of(*best) != 0;
      if (found_) answer.objects = {*best};
    }
    if (lists_bases_ && found_) answer.objects.clear();
    pass(std::move(answer));
  }
  bool lists_cuts_ = false, lists_bases_ = false, found_ = false;
};

/// A process does not write what it began with.
struct WritesNoBase : Process {
  using Process::Process;
  void happens(ObjectAction action) override {
    if (action.kind == Kind::put && run.names.base_of(action.key, shard)) return reply({});
    forward(std::move(action));
  }
};

/// The index of a checkpoint is written before the cut that it names.
struct WritesTheIndexFirst : Process {
  using Process::Process;
  void happens(ObjectAction action) override {
    if (!is_put_of_cut(action) || !run.is_wanted(cut_of(action)->step)) return forward(std::move(action));
    std::vector<CheckpointCut> cuts;
    std::vector<distrib::BundleIndex> parts;
    distrib::Error error;
    for (std::uint32_t q = 0; q < run.shards; ++q) {
      const auto object = q == shard ? action.bytes : run.object_of(q, *run.initial[q]);
      const auto tail = distrib::parse_cut_footer(*object, object->size(), error);
      parts.push_back(distrib::parse_cut_table(*object, tail, q, run.shards, error));
      // `merge` compares what all parts have in common, so here only the own part has it
      if (q != shard) std::erase_if(parts.back().tensors, [](const auto& tensor) { return tensor.name != "v"; });
      CutKey key = *cut_of(action);
      key.shard = q;
      cuts.push_back({key, object->size(), tail.table_crc});
    }
    auto index = distrib::encode_checkpoint_index(cuts, parts, error);
    distrib::throw_if(error);
    const std::string name = run.names.checkpoint({cuts.front().key.step, distrib::checkpoint_hash(index)});
    ask(ObjectAction::put(name, std::make_shared<const std::vector<std::byte>>(std::move(index))),
        [this, action](const ObjectAnswer&) { forward(action); });
  }
};

/// The index has one name a step, and cuts that the last one does not name are removed.
struct WritesFixedIndexes : Process {
  using Process::Process;
  void happens(ObjectAction action) override {
    const auto key = action.kind == Kind::put ? run.names.checkpoint_of(action.key) : std::nullopt;
    if (!key) return forward(std::move(action));
    action.key = run.names.checkpoint({key->step, 0});
    distrib::Error error;
    picked_.clear();
    for (const CheckpointCut& cut : distrib::parse_checkpoint_index(*action.bytes, error))
      picked_.push_back(run.names.cut(cut.key));
    ask(action, [this, step = key->step](const ObjectAnswer&) {
      ask(ObjectAction::list(run.names.cuts_of(step)), [this](const ObjectAnswer& answer) {
        std::vector<std::string> others;
        for (const auto& info : answer.objects)
          if (std::find(picked_.begin(), picked_.end(), info.key) == picked_.end()) others.push_back(info.key);
        remove_all(std::move(others), [this] { reply({}); });
      });
    });
  }
  std::vector<std::string> picked_;
};

/// All old checkpoints are removed, and the new one too.
struct KeepsNoCheckpoint : Process {
  using Process::Process;
  void happens(ObjectAction action) override {
    if (action.kind != Kind::put || !run.names.checkpoint_of(action.key)) return forward(std::move(action));
    ask(action, [this](const ObjectAnswer&) {
      ask(ObjectAction::list(run.names.checkpoints()), [this](const ObjectAnswer& answer) {
        std::vector<std::string> all;
        for (const auto& info : answer.objects) all.push_back(info.key);
        remove_all(std::move(all), [this] { reply({}); });
      });
    });
  }
};

/// The newest cut is removed before the next one is written.
struct RemovesTheOldFirst : Process {
  using Process::Process;
  void happens(ObjectAction action) override {
    if (!is_put_of_cut(action) || core->cuts().empty()) return forward(std::move(action));
    remove_all({run.names.cut(core->cuts().rbegin()->second)}, [this, action] { forward(action); });
  }
};

/// When a process has written a cut, it removes cuts that others have written: those that `goes` says.
struct Sweeps : Process {
  using Process::Process;
  void saved() override {
    ask(ObjectAction::list(run.names.cuts()), [this](const ObjectAnswer& answer) {
      std::vector<std::string> others;
      for (const auto& info : answer.objects) {
        const auto key = run.names.cut_of(info.key);
        if (key && key->shard == shard && goes(*key)) others.push_back(info.key);
      }
      remove_all(std::move(others), [] {});
    });
  }
  virtual auto goes(const CutKey& of_shard) const -> bool = 0;
};

/// A process removes the cuts of all other claims, but the ones that it began with.
struct SweepsAllOthers : Sweeps {
  using Sweeps::Sweeps;
  auto goes(const CutKey& key) const -> bool override {
    const auto listed = core->cuts().find(key.step);
    return key.replica == replica && key.claim != core->claim() &&
           (listed == core->cuts().end() || listed->second != key);
  }
};

/// Both replicas of a shard claim it under one name.
struct SharesItsClaims : Process {
  using Process::Process;
  void happens(ObjectAction action) override {
    const std::string own = run.names.claims(shard, replica);
    if (action.key.starts_with(own)) action.key = run.names.claims(shard) + action.key.substr(own.size());
    lists_ = action.kind == Kind::list &&
             (action.key == run.names.claims(shard) || action.key == run.names.claims_and_cuts());
    forward(std::move(action));
  }
  void comes(ObjectAnswer answer) override {
    const std::string shared = run.names.claims(shard), own = run.names.claims(shard, replica);
    if (lists_)
      for (auto& info : answer.objects)
        if (info.key.starts_with(shared)) info.key = own + info.key.substr(shared.size());
    pass(std::move(answer));
  }
  bool lists_ = false;
};

/// The cuts of both replicas have names as if the first one had saved them; the claims have their own.
struct SharesTheNamesOfCuts : Process {
  using Process::Process;
  void happens(ObjectAction action) override {
    if (auto key = cut_of(action)) {
      key->replica = 0;
      action.key = run.names.cut(*key);
    }
    lists_ = action.kind == Kind::list && (action.key == run.names.cuts() || action.key == run.names.claims_and_cuts());
    forward(std::move(action));
  }
  void comes(ObjectAnswer answer) override {
    if (lists_)
      for (auto& info : answer.objects)
        if (auto key = run.names.cut_of(info.key); key && key->shard == shard) {
          key->replica = replica;
          info.key = run.names.cut(*key);
        }
    pass(std::move(answer));
  }
  bool lists_ = false;
};

/// After a cut was written, the claims of the other replica are listed.
struct LooksAtTheOther : Process {
  using Process::Process;
  void happens(ObjectAction action) override {
    looks_ = is_list_of_claims(action) && wrote_;
    if (looks_ && action.key != run.names.claims_and_cuts()) action.key = run.names.claims(shard, 1 - replica);
    if (!looks_) wrote_ = is_put_of_cut(action);
    forward(std::move(action));
  }
  void comes(ObjectAnswer answer) override {
    if (looks_) take_claims(answer);
    pass(std::move(answer));
  }
  bool wrote_ = false, looks_ = false;
};

/// Checkpoints are made of the cuts of first replicas only.
struct MergesFirstReplicas : Process {
  using Process::Process;
  void happens(ObjectAction action) override {
    lists_ = action.kind == Kind::list && action.key == run.names.claims_and_cuts();
    forward(std::move(action));
  }
  void comes(ObjectAnswer answer) override {
    if (lists_)
      std::erase_if(answer.objects, [this](const auto& info) {
        const auto key = run.names.cut_of(info.key);
        return key && key->replica != 0;
      });
    pass(std::move(answer));
  }
  bool lists_ = false;
};

/// A replica removes the cuts of the other one, but those that an index names when it looks.
struct SweepsTheOther : Sweeps {
  using Sweeps::Sweeps;
  auto goes(const CutKey& key) const -> bool override { return key.replica != replica && !run.is_named(key); }
};

/// A replica that has ended removes its last cut, also if the checkpoint has it.
struct RemovesItsLastCut : Process {
  using Process::Process;
  void happens(ObjectAction action) override {
    const bool ends = done && run.all_done() && action.kind == Kind::list && action.key == run.names.cuts();
    const auto last = core->cuts().find(run.last);
    if (!ends || removed_ || last == core->cuts().end()) return forward(std::move(action));
    removed_ = true;
    remove_all({run.names.cut(last->second)}, [this, action] { forward(action); });
  }
  bool removed_ = false;
};

template <class T> auto make(Run& run, std::uint32_t number) -> std::unique_ptr<Process> {
  return std::make_unique<T>(run, number);
}

constexpr Mistake planted[] = {
    {"no list of claims after a cut was written", make<NeverLooks>},
    {"the claims are listed before the cut is written", make<LooksTooEarly>},
    {"cuts are listed before the claim is written", make<ListsBeforeItClaims>},
    {"a cut is told when it is sent", make<TellsWhenSent>},
    {"the last cut is told before its checkpoint is made", make<TellsTheLastEarly>},
    {"one name a step, whichever process writes", make<WritesFixedNames>},
    {"an asynchronous shard begins with the newest step", make<BeginsWithTheNewest>, false, 3000},
    {"what a process began with is not written", make<WritesNoBase>, false, 20'000},
    {"the index before the cuts", make<WritesTheIndexFirst>},
    {"one index a step, and the rest is removed", make<WritesFixedIndexes>},
    {"no checkpoint is kept", make<KeepsNoCheckpoint>},
    {"the old cut is removed before the new one is written", make<RemovesTheOldFirst>},
    {"the cuts of all other claims are removed", make<SweepsAllOthers>},
    {"lists are late", honest, true},
};

/// In runs with replicas.
constexpr Mistake planted_with_replicas[] = {
    {"both replicas claim the shard under one name", make<SharesItsClaims>},
    {"the cuts of both replicas have one name", make<SharesTheNamesOfCuts>},
    {"the claims of the other replica are listed", make<LooksAtTheOther>},
    {"checkpoints are made of first replicas only", make<MergesFirstReplicas>},
    {"a replica removes the cuts of the other one", make<SweepsTheOther>},
    {"the last cut is removed though the checkpoint has it", make<RemovesItsLastCut>},
    {"no list of claims after a cut was written", make<NeverLooks>},
    {"a cut is told when it is sent", make<TellsWhenSent>},
    {"the last cut is told before its checkpoint is made", make<TellsTheLastEarly>},
    {"no checkpoint is kept", make<KeepsNoCheckpoint>},
    {"the old cut is removed before the new one is written", make<RemovesTheOldFirst>},
    {"lists are late", honest, true},
};

auto outcome(const Mistake& mistake, std::uint64_t seed, std::uint32_t replicas = 1) -> std::string {
  return Run{seed, mistake.make, mistake.late_lists, false, replicas}.go();
}

void check_honest(std::uint64_t first, std::uint64_t count, std::uint32_t replicas = 1) {
  std::uint64_t wrong = 0;
  for (std::uint64_t seed = first; seed < first + count && wrong < 5; ++seed) {
    const std::string what = Run{seed, honest, false, false, replicas}.go();
    if (what.empty()) continue;
    ++wrong;
    CAPTURE(seed);
    CHECK(what == "");
  }
  CHECK(wrong == 0);
}

#ifdef NDEBUG
constexpr std::uint64_t seeds = 300;  // `[.seeds]` runs more on request
#else
constexpr std::uint64_t seeds = 100;
#endif

}  // namespace

TEST_CASE("Random runs: cuts in an object store are found, whatever happens", "[simulation]") {
  check_honest(0, seeds);
}

TEST_CASE("Random runs: cuts of replicas in an object store are found, whatever happens", "[simulation]") {
  check_honest(0, seeds, 2);
}

TEST_CASE("Random runs find each mistake in what is written to an object store", "[simulation]") {
  const auto find = [](const Mistake& mistake, std::uint32_t replicas) {
    CAPTURE(mistake.name, replicas);
    CHECK(first_found(mistake.most, [&](std::uint64_t seed) { return outcome(mistake, seed, replicas); }) <
          mistake.most);
  };
  for (const Mistake& mistake : planted) find(mistake, 1);
  for (const Mistake& mistake : planted_with_replicas) find(mistake, 2);
}

TEST_CASE("Random runs: the requested seeds of cuts in an object store", "[.seeds][simulation]") {
  const std::uint64_t from = support::told_seeds().from;
  check_honest(from, support::told_seeds().count.value_or(10'000));
}

TEST_CASE("Random runs: the requested seeds of cuts of replicas in an object store", "[.seeds][simulation]") {
  const std::uint64_t from = support::told_seeds().from;
  check_honest(from, support::told_seeds().count.value_or(10'000), 2);
}

TEST_CASE("Random runs: how often they find mistakes with object stores", "[.found][simulation]") {
  const support::ToldSeeds told = support::told_seeds();
  const auto tell = [&told](const Mistake& mistake, std::uint32_t replicas) {
    tell_found(std::string{replicas > 1 ? "replicas: " : ""} + mistake.name, told.from, told.count.value_or(1000),
               [&](std::uint64_t seed) { return outcome(mistake, seed, replicas); });
  };
  for (const Mistake& mistake : planted) tell(mistake, 1);
  for (const Mistake& mistake : planted_with_replicas) tell(mistake, 2);
}
