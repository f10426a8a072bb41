// SPDX-License-Identifier: Apache-2.0
// The log of the ranks in an object store: random runs of the production cores with kills, frozen and second processes,
// and a store that performs requests late; and mistakes that they must find.
#include "support/catch.hpp"
#include "support/told_seeds.hpp"

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/ps/cut/cut_object_names.hpp>
#include <distrib/ps/cut/object_cuts_core.hpp>
#include <distrib/ps/job/rank_file.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/protocol/rank_log_core.hpp>
#include <distrib/sim/bucket.hpp>
#include <distrib/sim/dice.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace distrib;

namespace {

using RankKinds = ObjectAction::Kind;

struct WrongRanks {
  std::string what;
};

class RanksRun;

/// A process of the shard: its log of the ranks, and the core that makes it durable. What it does to actions is the
/// planted mistake; this class makes none.
class RanksProcess {
 public:
  explicit RanksProcess(RanksRun& of);
  RanksProcess(const RanksProcess&) = delete;
  auto operator=(const RanksProcess&) -> RanksProcess& = delete;
  virtual ~RanksProcess() = default;

  void start() {
    perform([this](auto& out) { core->open(out); });
  }
  void work();  ///< Its turn: a step, a proposal, the next file.
  void take(ObjectAnswer answer) {
    if (!then_) return pass(std::move(answer));
    if (answer.lost) return forward(repeated_);
    std::exchange(then_, nullptr)(std::move(answer));
  }
  void end() { alive = false; }

  RanksRun& run;
  bool alive = true;
  std::uint64_t frozen_until = 0;
  sim::Bucket::Request request = 0;
  std::optional<ObjectAnswer> inbox;
  Step step = 0;
  std::optional<RankLogCore> ranks;
  std::optional<ObjectCutsCore> core;

 protected:
  virtual void happens(ObjectAction action) { forward(std::move(action)); }
  /// It begins with this log.
  virtual void change(std::optional<RankFile>& file) const { static_cast<void>(file); }

  void forward(ObjectAction action);
  void reply(ObjectAnswer answer) { inbox = std::move(answer); }
  /// To the store; what it answers is for `then`.
  void ask(ObjectAction action, std::function<void(ObjectAnswer)> then) {
    repeated_ = action;
    then_ = std::move(then);
    forward(std::move(action));
  }
  void written();
  bool is_open_ = false;
  [[nodiscard]] auto is_log(const ObjectAction& action) const -> bool;
  [[nodiscard]] auto is_list_of_claims(const ObjectAction& action) const -> bool;

 private:
  struct Out {
    RanksProcess* of;
    void operator()(ObjectAction action) const { of->next_ = std::move(action); }
    void operator()(CutDurable) const {}
    void operator()(ObjectCutsDone done) const { of->result_ = std::move(done); }
  };
  void perform(auto begin) {
    Out out{this};
    begin(out);
    if (result_) return over(*std::exchange(result_, std::nullopt));
    if (next_) happens(*std::exchange(next_, std::nullopt));
  }
  void pass(ObjectAnswer answer) {
    perform([&](auto& out) { core->answered(std::move(answer), out); });
  }
  void over(const ObjectCutsDone& done);

  bool saves_ = false;
  std::optional<ObjectAction> next_;
  std::optional<ObjectCutsDone> result_;
  ObjectAction repeated_;
  std::function<void(ObjectAnswer)> then_;
};

using MakeRanks = std::unique_ptr<RanksProcess> (*)(RanksRun& run);

template <class T> auto made_ranks(RanksRun& run) -> std::unique_ptr<RanksProcess> { return std::make_unique<T>(run); }

/// One run of a seed: one shard, whose steps go on as soon as their values are told. For each step the ranks of the next
/// one are noted when its values are told for the first time. Whatever process tells them again must say the same.
class RanksRun {
 public:
  RanksRun(std::uint64_t seed, MakeRanks make) : dice{seed}, make_{make} {
    last = dice.between(6, 30);
    ahead = dice.pick<Step>({1, 1, 2, 4});
    const bool in_parts = dice.percent(40);
    bucket.emplace(dice, sim::BucketFaults{.slow_percent = dice.pick({0U, 2U, 10U, 30U}),
                                           .lost_percent = dice.pick({0U, 2U, 10U, 25U}),
                                           .in_parts = in_parts});
  }

  /// Returns what was wrong; empty: nothing.
  auto go() -> std::string {
    try {
      return run_all();
    } catch (const WrongRanks& wrong) {
      return wrong.what;
    }
  }

  /// A process tells the values of a step.
  void told(Step step, const RankLog& log) {
    const SharedRankEntry& entry = log.entry_of(step + 1);
    const auto [at, first] = makers_.try_emplace(step, *entry);
    if (!first && at->second != *entry)
      throw WrongRanks{"step " + std::to_string(step + 1) + " is made by other ranks than was told"};
    newest_told = std::max(newest_told, step);
  }
  /// A process has answered that an entry is in force.
  void took(const RankEntry& entry) {
    const auto told_at = makers_.find(entry.from - 1);
    if (told_at != makers_.end() && entry > told_at->second)
      throw WrongRanks{"an entry was taken for a step that was told"};
    taken_.push_back(entry);
  }
  /// Checks that a process that tells a step has all entries that were taken for it.
  void has_all(Step step, const RankLog& log) const {
    for (const RankEntry& entry : taken_)
      if (entry.from <= step + 1 && *log.entry_of(entry.from) < entry) throw WrongRanks{"an entry is lost"};
  }

  sim::Dice dice;
  const CutObjectNames names{"run"};
  std::optional<sim::Bucket> bucket;
  Step last = 0, ahead = 1, newest_told = 0;
  std::uint64_t number = 0;  // of entries
  std::uint64_t files = 0, entries = 0;

 private:
  auto live() -> std::vector<RanksProcess*> {
    std::vector<RanksProcess*> all;
    for (const auto& one : processes_)
      if (one->alive) all.push_back(one.get());
    return all;
  }
  void start() {
    processes_.push_back(make_(*this));
    processes_.back()->start();
  }

  auto run_all() -> std::string {
    std::vector<std::pair<std::uint64_t, int>> planned;
    for (int kind = 0; kind < 3; ++kind)
      for (std::uint64_t i = dice.pick<std::uint64_t>({0, 1, 2, 4, 8}); i > 0; --i)
        planned.emplace_back(dice.between(1, 40 * last), kind);
    std::sort(planned.rbegin(), planned.rend());
    start();
    std::uint64_t down = 0;
    for (std::uint64_t now = 0;; ++now) {
      if (now == 50'000) return "stuck";
      for (; !planned.empty() && planned.back().first <= now; planned.pop_back()) suffer(planned.back().second, now);
      std::erase_if(processes_, [](const auto& one) { return !one->alive; });
      if (processes_.empty()) {
        if (down == 0) down = dice.between(1, 60);
        if (--down == 0) start();
      }
      std::optional<sim::Bucket::Performed> performed;
      if (dice.percent(70)) performed = bucket->perform_one();
      if (performed && performed->request != 0) {
        for (RanksProcess* one : live())
          if (one->request == performed->request) {
            one->request = 0;
            one->inbox = std::move(performed->answer);
          }
      } else if (const auto all = live(); !all.empty()) {
        RanksProcess& one = *all[dice.below(all.size())];
        if (one.frozen_until <= now && one.request == 0 && !one.inbox) one.work();
      }
      for (RanksProcess* one : live()) {
        if (one->frozen_until > now) continue;
        if (one->inbox) {
          one->take(*std::exchange(one->inbox, std::nullopt));
        } else if (one->request != 0 && bucket->is_slow(one->request) && dice.percent(10)) {
          one->request = 0;  // it gives up; the request may yet be performed
          one->take({.lost = true});
        }
      }
      if (newest_told >= last && planned.empty()) return "";
    }
  }

  void suffer(int kind, std::uint64_t now) {
    if (kind == 2) return start();  // beside the others
    const auto all = live();
    if (all.empty()) return;
    RanksProcess& one = *all[dice.below(all.size())];
    if (kind == 0) one.end();
    else one.frozen_until = now + dice.between(20, 1500);
  }

  MakeRanks make_;
  std::vector<std::unique_ptr<RanksProcess>> processes_;
  std::map<Step, RankEntry> makers_;  // of the step after this one
  std::vector<RankEntry> taken_;
};

RanksProcess::RanksProcess(RanksRun& of) : run{of} {
  ObjectCutsOptions options;
  options.has_rank_log = true;
  options.last_step = run.last;
  options.settings.directory = "run";
  options.owner = {"ps 0", "host", "1", ""};
  options.nonce = run.dice.next();
  core.emplace(std::move(options), [](const CutKey&, ByteView, Error&) { return std::optional{Lineage{}}; });
}

void RanksProcess::forward(ObjectAction action) { request = run.bucket->send(std::move(action)); }

auto RanksProcess::is_log(const ObjectAction& action) const -> bool {
  return run.names.rank_log_of(action.key).has_value();
}
auto RanksProcess::is_list_of_claims(const ObjectAction& action) const -> bool {
  return action.kind == RankKinds::list && action.key == run.names.claims(0);
}

void RanksProcess::over(const ObjectCutsDone& done) {
  if (done.failure) return end();
  if (!std::exchange(is_open_, true)) {
    std::optional<RankFile> file = done.ranks;
    change(file);
    ranks.emplace(2U, 8U);
    ranks->open(file, run.ahead);
    step = run.dice.below(run.newest_told + 1);  // of some cut
  } else if (std::exchange(saves_, false)) {
    written();
  }
}

void RanksProcess::written() {
  ++run.files;
  ranks->written();
  for (const RankAnswer& answer : ranks->take_answers()) {
    if (!answer.taken) continue;
    for (const SharedRankEntry& entry : ranks->log()->entries())
      if (entry->number == answer.caller) {
        ++run.entries;
        run.took(*entry);
      }
  }
}

void RanksProcess::work() {
  if (!is_open_ || core->busy()) return;
  if (ranks->may_tell(step)) {
    run.has_all(step, *ranks->log());
    run.told(step, *ranks->log());
    if (step < run.last && run.dice.percent(70)) ++step;
  }
  if (run.dice.percent(15)) {
    const Step about = run.dice.percent(70) ? ranks->horizon() : run.dice.below(run.last);
    RankEntry entry{about + run.dice.between(1, 3), ++run.number, {}};
    for (Rank rank = 0; rank < 8; ++rank)
      if (run.dice.percent(40) || rank == 0) entry.ranks.push_back(rank);
    ranks->propose(run.number, std::move(entry));
  }
  if (auto file = ranks->next_write(step)) {
    saves_ = true;
    return perform([&](auto& out) { core->save_ranks(*file, out); });
  }
  if (run.dice.percent(5)) perform([this](auto& out) { core->look(out); });
}

// --- mistakes ---

/// There is no list of claims after a log was written.
struct LooksForNoClaim : RanksProcess {
  using RanksProcess::RanksProcess;
  void happens(ObjectAction action) override {
    if (is_list_of_claims(action) && wrote_) return reply({});
    wrote_ = action.kind == RankKinds::put && is_log(action);
    forward(std::move(action));
  }
  bool wrote_ = false;
};

/// The claims are listed before the log is written, not after.
struct LooksForClaimsEarly : RanksProcess {
  using RanksProcess::RanksProcess;
  void happens(ObjectAction action) override {
    if (is_list_of_claims(action) && wrote_) return reply(seen_);
    wrote_ = action.kind == RankKinds::put && is_log(action);
    if (!wrote_) return forward(std::move(action));
    ask(ObjectAction::list(run.names.claims(0)), [this, action](ObjectAnswer answer) {
      seen_ = std::move(answer);
      forward(action);
    });
  }
  bool wrote_ = false;
  ObjectAnswer seen_;
};

/// A process that starts lists the logs before it writes its claim.
struct ListsLogsBeforeItClaims : RanksProcess {
  using RanksProcess::RanksProcess;
  void happens(ObjectAction action) override {
    if (action.kind == RankKinds::put && run.names.claim_of(action.key, 0) && !seen_)
      return ask(ObjectAction::list(run.names.rank_logs()), [this, action](ObjectAnswer answer) {
        seen_ = std::move(answer);
        forward(action);
      });
    if (action.kind == RankKinds::list && action.key == run.names.rank_logs() && seen_) return reply(*seen_);
    forward(std::move(action));
  }
  std::optional<ObjectAnswer> seen_;
};

/// A start takes the entries of all logs that are there, and the highest horizon.
struct TakesAllLogs : RanksProcess {
  using RanksProcess::RanksProcess;
  void change(std::optional<RankFile>& file) const override {
    for (const auto& [key, bytes] : run.bucket->objects()) {
      if (!run.names.rank_log_of(key)) continue;
      const auto one = parse_rank_file(*bytes);
      if (!file) file.emplace();
      file->horizon = std::max(file->horizon, one->horizon);
      file->entries.insert(file->entries.end(), one->entries.begin(), one->entries.end());
    }
  }
};

/// All processes write their logs by one name.
struct WritesByOneName : RanksProcess {
  using RanksProcess::RanksProcess;
  void happens(ObjectAction action) override {
    if (is_log(action) && action.kind == RankKinds::remove) return reply({});
    if (is_log(action)) action.key = run.names.rank_log({0, 1, {1, 1}, 1});
    forward(std::move(action));
  }
};

/// The log counts as durable when it is sent.
struct CountsWhenSent : RanksProcess {
  using RanksProcess::RanksProcess;
  void happens(ObjectAction action) override {
    const bool is_sent = action.kind == RankKinds::put && is_log(action);
    forward(std::move(action));
    if (is_sent && is_open_) written();
  }
};

/// The log before is removed before the new one is written.
struct RemovesTheLogEarly : RanksProcess {
  using RanksProcess::RanksProcess;
  void happens(ObjectAction action) override {
    if (action.kind != RankKinds::put || !is_log(action)) return forward(std::move(action));
    std::string before;
    for (const auto& [key, bytes] : run.bucket->objects())
      if (run.names.rank_log_of(key)) before = key;
    if (before.empty() || before == action.key) return forward(std::move(action));
    ask(ObjectAction::remove(before), [this, action](const ObjectAnswer&) { forward(action); });
  }
};

/// A process begins with a log of another one, and writes none of its own before it tells anything.
struct BeginsWithoutItsOwn : RanksProcess {
  using RanksProcess::RanksProcess;
  void happens(ObjectAction action) override {
    const bool changes = action.kind == RankKinds::put || action.kind == RankKinds::remove;
    if (is_log(action) && changes && !is_open_) return reply({});
    forward(std::move(action));
  }
};

struct PlantedInLogs {
  const char* name;
  MakeRanks make;
  std::uint64_t most = 1000;  ///< It is found by a seed below.
};
const PlantedInLogs planted_in_logs[] = {
    {"no list of claims after a log is written", made_ranks<LooksForNoClaim>},
    {"the list of claims before the log is written", made_ranks<LooksForClaimsEarly>},
    {"the logs are listed before the claim", made_ranks<ListsLogsBeforeItClaims>},
    {"all logs that are there count", made_ranks<TakesAllLogs>},
    {"one name for the logs of all processes", made_ranks<WritesByOneName>},
    {"a log counts when it is sent", made_ranks<CountsWhenSent>},
    {"the log before is removed first", made_ranks<RemovesTheLogEarly>},
    {"a start does not write what it begins with", made_ranks<BeginsWithoutItsOwn>, 3000},
};

void check_logs(std::uint64_t from, std::uint64_t count) {
  unsigned wrong = 0;
  std::uint64_t files = 0, entries = 0;
  for (std::uint64_t seed = from; seed < from + count && wrong < 3; ++seed) {
    RanksRun run{seed, made_ranks<RanksProcess>};
    const std::string what = run.go();
    files += run.files;
    entries += run.entries;
    if (what.empty()) continue;
    ++wrong;
    CAPTURE(seed);
    CHECK(what == "");
  }
  CHECK(wrong == 0);
  if (count < 100) return;
  CHECK(files > 4 * count);
  CHECK(entries > count / 2);
}

#ifdef NDEBUG
constexpr std::uint64_t log_seeds = 1000;
#else
constexpr std::uint64_t log_seeds = 50;
#endif

}  // namespace

TEST_CASE("Random runs: the log of the ranks in an object store says the same for ever", "[simulation]") {
  check_logs(0, log_seeds);
}

TEST_CASE("Random runs find each mistake with the log of the ranks in an object store", "[simulation]") {
  for (const PlantedInLogs& mistake : planted_in_logs) {
    std::uint64_t seed = 0;
    while (seed < mistake.most && RanksRun{seed, mistake.make}.go().empty()) ++seed;
    CAPTURE(mistake.name);
    CHECK(seed < mistake.most);
  }
}

TEST_CASE("Random runs: the requested seeds of the log of the ranks in an object store", "[.seeds][simulation]") {
  check_logs(support::told_seeds().from, support::told_seeds().count.value_or(10'000));
}

TEST_CASE("Random runs: how often they find mistakes with the log of the ranks in an object store",
          "[.found][simulation]") {
  const std::uint64_t count = support::told_seeds().count.value_or(1000);
  for (const PlantedInLogs& mistake : planted_in_logs) {
    std::uint64_t found = 0, first = count;
    for (std::uint64_t seed = count; seed-- > 0;)
      if (!RanksRun{seed, mistake.make}.go().empty()) {
        ++found;
        first = seed;
      }
    std::printf("%s: %llu of %llu, the first is %llu\n", mistake.name, static_cast<unsigned long long>(found),
                static_cast<unsigned long long>(count), static_cast<unsigned long long>(first));
  }
}
