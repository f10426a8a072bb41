// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/bundle_writer.hpp>
#include <distrib/checkpoint/error.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/philox.hpp>
#include <distrib/ps/cut/cut_object.hpp>
#include <distrib/ps/cut/cut_object_names.hpp>
#include <distrib/ps/cut/object_cuts_core.hpp>
#include <distrib/ps/store/cut_chain.hpp>
#include <distrib/sim/bucket.hpp>
#include <distrib/sim/dice.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// Random runs of `ObjectCutsCore`: the shards of a job, with up to two and more processes each, that save cuts in one
/// `sim::Bucket`. Processes are killed, frozen and started beside others; workers die. As cuts see it, training is a
/// chain of states: a synchronous shard has one of each step, an asynchronous shard gets another one by each
/// contribution. With replicas each shard is saved by two kinds of processes, which have the same states, and help each
/// other as the protocol says: a replica that is behind goes on from a cut that the other one has told.
///
/// With links (`CutChain`) a state has rows. Each step writes or evicts some of them, and training goes on while a cut
/// is written. After each change of the store it is read as a process would read it that starts now.
namespace simulation::objects {

using distrib::CheckpointCut;
using distrib::CutKey;
using distrib::ObjectAction;
using distrib::ObjectAnswer;
using distrib::Step;

/// A state of a shard.
struct Node {
  std::uint64_t id = 0;
  Step step = 0;
  std::vector<Step> applied;  ///< Of each worker.
  const Node* parent = nullptr;

  [[nodiscard]] auto descends(const Node& from) const -> bool {
    const Node* at = this;
    while (at != nullptr && at->step > from.step) at = at->parent;
    return at == &from;
  }
};

struct Wrong {
  std::string what;
};

using Rows = std::map<unsigned, std::uint64_t>;

/// The rows of a state, and those that its last step wrote or evicted.
struct Content {
  Rows rows;
  std::set<unsigned> touched;
};

/// What is in the object of a cut.
struct Saved {
  const Node* node = nullptr;
  std::string on;  ///< The name of the cut that it stands on; empty: it is whole.
  std::map<unsigned, std::optional<std::uint64_t>> rows;  ///< Of a link: the rows that have changed; none: it is gone.

  void apply_to(Rows& all) const {
    for (const auto& [row, value] : rows) {
      if (value) all[row] = *value;
      else all.erase(row);
    }
  }
};

class Run;

/// A process of a shard, between the core and the store. What it does to actions and answers is the planted mistake;
/// this class makes none.
class Process {
 public:
  /// `number`: of the replica, as `Job` counts them; without replicas that of the shard.
  Process(Run& run, std::uint32_t number);
  Process(const Process&) = delete;
  auto operator=(const Process&) -> Process& = delete;
  virtual ~Process() = default;

  void start();
  void work();  ///< Its turn: training, or the next piece of work.
  void take(ObjectAnswer answer);  ///< An answer, or none: then it says `lost`.
  void go_back(const Node* to);  ///< A worker sends it to this cut.

  [[nodiscard]] auto waits() const -> bool { return request == 0 && !inbox; }
  [[nodiscard]] auto leaves() const -> bool { return at_ == At::finishing; }
  /// The cuts that it has told: its own, and those of checkpoints that it found at its start.
  [[nodiscard]] auto cuts() const -> std::map<Step, CutKey>;

  Run& run;
  std::uint32_t number, shard, replica;
  bool alive = true, started = false, done = false, finished = false;
  std::uint64_t frozen_until = 0;
  distrib::sim::Bucket::Request request = 0;
  std::optional<ObjectAnswer> inbox;
  const Node* state = nullptr;
  std::optional<distrib::ObjectCutsCore> core;
  std::map<Step, CutKey> of_checkpoints;  // a cut of the other replica
  std::set<Step> away;  // cuts that a planted mistake has removed: the process knows it

 protected:
  virtual void happens(ObjectAction action) { forward(std::move(action)); }
  virtual void comes(ObjectAnswer answer) { pass(std::move(answer)); }

  // With links, what a planted mistake changes.
  virtual auto sizes_of_cut() -> distrib::CutChain::Sizes;
  virtual auto is_kept(Step step) const -> bool;
  /// The cut on which the next one stands though its name says that it is whole. `base`: what `CutChain` says.
  virtual auto hidden_base(std::optional<Step> base) -> std::string {
    static_cast<void>(base);
    return {};
  }
  virtual void was_told() { tell(true); }
  /// The work of saving a cut is over.
  virtual void saved() {}
  /// It goes on from the cut of `to`. `by_worker`: because a worker has died.
  virtual void went_back(Step to, bool by_worker) { static_cast<void>(to), static_cast<void>(by_worker); }

  /// The cut that is saved is durable. `workers`: they are told so.
  void tell(bool workers);
  /// The rows that have changed since the cut on which the next one may stand.
  [[nodiscard]] auto changed() const -> std::set<unsigned> {
    std::set<unsigned> rows = touched_;
    for (const auto& [copy, keys] : copies_) rows.insert(keys.begin(), keys.end());
    return rows;
  }

  void forward(ObjectAction action);  ///< To the store, for the core.
  void pass(ObjectAnswer answer);  ///< To the core.
  void reply(ObjectAnswer answer) { inbox = std::move(answer); }  ///< To the core, without the store.
  /// To the store; what it answers is for `then`.
  void ask(ObjectAction action, std::function<void(ObjectAnswer)> then);
  /// Removes objects one by one, then calls `then`.
  void remove_all(std::vector<std::string> keys, std::function<void()> then);

  [[nodiscard]] auto cut_of(const ObjectAction& action) const -> std::optional<CutKey>;
  [[nodiscard]] auto is_put_of_cut(const ObjectAction& action) const -> bool {
    return action.kind == ObjectAction::Kind::put && cut_of(action);
  }
  [[nodiscard]] auto is_list_of_claims(const ObjectAction& action) const -> bool;
  /// Takes the claims to the shard out of a list; returns them.
  auto take_claims(ObjectAnswer& answer) const -> std::vector<distrib::ObjectInfo>;

  const Node* saving_ = nullptr;
  std::optional<CutKey> put_;  // the cut that was written last
  std::optional<CutKey> tip_;  // the cut that was told last
  std::set<unsigned> touched_;  // rows since the last copy
  Step dropped_ = 0;  // up to here the protocol needs no cut

 private:
  enum class At { opening, reading, running, saving, dropping, looking, restoring, finishing };
  struct Out;
  void perform(auto begin);
  void save();
  void over(distrib::ObjectCutsDone done);
  void die() { alive = false; }
  void moved(const Node* before);
  void loaded();
  void train_beside();

  At at_ = At::opening;
  std::optional<distrib::CutChain> chain_;
  std::vector<std::pair<std::uint64_t, std::set<unsigned>>> copies_;  // the rows up to each copy that is not durable
  Rows checked_;  // of the cut that was checked last
  bool owes_a_cut_ = false;  // of the state that it got from the other replica
  std::optional<ObjectAction> next_;
  std::optional<distrib::ObjectCutsDone> result_;
  ObjectAction repeated_;  // for `then_`
  std::function<void(ObjectAnswer)> then_;
};

using Make = std::unique_ptr<Process> (*)(Run& run, std::uint32_t number);

/// What is planted: a kind of process, and whether lists are late.
struct Mistake {
  const char* name;
  Make make;
  bool late_lists = false;
  std::uint64_t most = 1000;  ///< It is found by a seed below.
  bool asynchronous = false;  ///< All runs are of asynchronous jobs.
};

/// Returns what a run of a seed has found; empty: nothing.
using Outcome = std::function<std::string(std::uint64_t seed)>;

/// Returns the first seed below `most` that finds something, or `most`.
inline auto first_found(std::uint64_t most, const Outcome& outcome) -> std::uint64_t {
  std::uint64_t seed = 0;
  while (seed < most && outcome(seed).empty()) ++seed;
  return seed;
}

/// Prints how many of `count` seeds from `from` on find a mistake, the first of them, and what they say.
inline void tell_found(const std::string& name, std::uint64_t from, std::uint64_t count, const Outcome& outcome) {
  std::map<std::string, int> how;
  std::uint64_t shown = 0, first = from + count;
  for (std::uint64_t seed = from + count; seed-- > from;) {
    const std::string what = outcome(seed);
    if (what.empty()) continue;
    ++shown;
    first = seed;
    ++how[what];
  }
  std::printf("%s: %llu of %llu seeds, the first is %llu\n", name.c_str(), static_cast<unsigned long long>(shown),
              static_cast<unsigned long long>(count), static_cast<unsigned long long>(first));
  for (const auto& [what, times] : how) std::printf("  %4d: %s\n", times, what.c_str());
  std::fflush(stdout);
}

inline auto honest(Run& run, std::uint32_t number) -> std::unique_ptr<Process> {
  return std::make_unique<Process>(run, number);
}

/// One run of a seed.
class Run {
 public:
  explicit Run(std::uint64_t seed, Make make = honest, bool late_lists = false, bool asynchronous = false,
               std::uint32_t of_each = 1, bool with_links = false)
      : dice{seed}, replicas{of_each}, links{with_links}, make_{make} {
    is_async = (dice.percent(50) || asynchronous) && replicas == 1;
    shards = static_cast<std::uint32_t>(dice.between(1, 3));
    workers = dice.between(1, 3);
    interval = dice.between(1, 3);
    last = is_async ? workers * dice.between(2, 6) : dice.between(4, 14);
    every = dice.between(1, 3) * interval;
    const bool in_parts = dice.percent(40);
    const bool late = late_lists && dice.percent(50);
    const unsigned lost = dice.pick({0U, 2U, 10U, 25U});
    bucket.emplace(dice, distrib::sim::BucketFaults{.slow_percent = dice.pick({0U, 2U, 10U, 30U}),
                                                    .lost_percent = lost,
                                                    .in_parts = in_parts,
                                                    .late_lists = late});
    for (std::uint64_t& count : faults_) count = dice.pick<std::uint64_t>({0, 1, 2, 4, 8});
    faults_[3] /= 2;
    if (links) {
      every = dice.pick<std::uint64_t>({1, 2, 3, 5, 50}) * interval;
      if (!is_async) last += dice.pick<std::uint64_t>({0, 0, 10});
    }
    for (std::uint32_t q = 0; q < shards; ++q) {
      initial.push_back(make_node(0, std::vector<Step>(workers), nullptr));
      nodes_[{q, 0}] = initial.back();
    }
    for (std::uint32_t number = 0; number < numbers(); ++number) {
      told.push_back(initial[number % shards]);
      told_steps.push_back({0});
    }
    buffers_from.assign(workers, 0);
  }

  /// Returns what was wrong; empty: nothing.
  auto go() -> std::string {
    try {
      return run_all();
    } catch (const Wrong& wrong) {
      return wrong.what;
    }
  }

  // --- what processes ask ---

  [[nodiscard]] auto numbers() const -> std::uint32_t { return shards * replicas; }
  [[nodiscard]] auto is_wanted(Step step) const -> bool { return step == last || (!is_async && step % every == 0); }
  [[nodiscard]] auto is_due(Step step) const -> bool { return step % interval == 0 || step == last; }

  /// The object of a cut: a slice of one variable.
  auto object_of(std::uint32_t shard, const Node& node) -> distrib::ObjectBytes {
    return object_with(shard, node.id, node.step);
  }
  /// The object of a link on the cut with the name `on`.
  auto object_of_link(std::uint32_t shard, const Node& node, const std::set<unsigned>& changed, std::string on)
      -> distrib::ObjectBytes {
    Saved saved{&node, std::move(on), {}};
    const Rows& rows = content_of(node).rows;
    for (const unsigned row : changed) {
      const auto at = rows.find(row);
      saved.rows[row] = at == rows.end() ? std::nullopt : std::optional{at->second};
    }
    saved_.push_back(std::move(saved));
    return object_with(shard, first_link + saved_.size() - 1, node.step);
  }
  [[nodiscard]] auto saved_in(distrib::ByteView object) const -> Saved {
    const auto id = distrib::load_le<std::uint64_t>(object.data());  // "v" is the first tensor
    if (id >= first_link) return saved_.at(static_cast<std::size_t>(id - first_link));
    return {id < all_.size() ? all_[id].get() : nullptr, {}, {}};
  }
  [[nodiscard]] auto node_of(distrib::ByteView object) const -> const Node* { return saved_in(object).node; }

  /// The rows of a state: each step writes one or two of them, and may evict one.
  auto content_of(const Node& node) -> const Content& {
    const auto [at, first] = contents_.try_emplace(&node);
    Content& content = at->second;
    if (!first) return content;
    const std::uint64_t hash = mixed(node.id, 0x726f'7773);
    if (node.parent == nullptr) {
      for (unsigned row = 0; row < most_rows; ++row) content.rows[row] = mixed(hash, row);
      return content;
    }
    content.rows = content_of(*node.parent).rows;
    content.touched = {static_cast<unsigned>(hash % most_rows), static_cast<unsigned>((hash >> 8) % most_rows)};
    for (const unsigned row : content.touched) {
      std::uint64_t& value = content.rows[row];
      value = mixed(value, node.id);
    }
    if ((hash >> 16) % 3 == 0) {
      const auto gone = static_cast<unsigned>((hash >> 20) % most_rows);
      content.rows.erase(gone);
      content.touched.insert(gone);
    }
    return content;
  }

  /// Returns the rows of a cut, with all that it stands on; nothing: not all of it is there.
  auto rows_in(const std::string& name) -> std::optional<Rows> {
    const auto object = bucket->objects().find(name);
    if (object == bucket->objects().end()) return std::nullopt;
    return rows_of(saved_in(*object->second));
  }
  auto rows_of(const Saved& saved) -> std::optional<Rows> {
    if (saved.on.empty()) return content_of(*saved.node).rows;
    std::optional<Rows> rows = rows_in(saved.on);
    if (rows) saved.apply_to(*rows);
    return rows;
  }
  /// Reads a cut as a process does: `rows` are those of the cut before it in its chain, and become its own. Returns false
  /// if what it stands on is gone, though its name does not say that it stands on it.
  auto read_on(bool is_whole, distrib::ByteView object, Rows& rows) -> bool {
    const Saved saved = saved_in(object);
    if (is_whole) {
      std::optional<Rows> all = rows_of(saved);
      if (!all) return false;
      rows = std::move(*all);
    } else {
      if (saved.on.empty()) throw Wrong{"a whole cut has the name of a link"};
      saved.apply_to(rows);
    }
    if (rows != content_of(*saved.node).rows) throw Wrong{"a chain reads as what never was"};
    return true;
  }

  /// True if the cut `above` is `name`, or stands on it.
  [[nodiscard]] auto stands_on(std::string above, const std::string& name) const -> bool {
    while (above != name) {
      const auto object = bucket->objects().find(above);
      if (object == bucket->objects().end()) return false;
      above = saved_in(*object->second).on;
    }
    return true;
  }
  /// The cuts of a replica of a shard that are there.
  [[nodiscard]] auto cuts_of(std::uint32_t shard, std::uint32_t replica) const -> std::vector<CutKey> {
    std::vector<CutKey> keys;
    const std::string prefix = names.cuts();
    const auto& objects = bucket->objects();
    for (auto at = objects.lower_bound(prefix); at != objects.end() && at->first.starts_with(prefix); ++at)
      if (const auto key = names.cut_of(at->first); key && key->shard == shard && key->replica == replica)
        keys.push_back(*key);
    return keys;
  }
  /// A process that made this mistake knows that what was told after `step` is gone.
  void forget_after(Step step) {
    for (std::uint32_t q = 0; q < shards && !is_async; ++q) {
      told_steps[q].erase(told_steps[q].upper_bound(step), told_steps[q].end());
      if (told[q]->step > step) told[q] = nodes_.at({q, step});
    }
  }

  /// Goes on by one step; returns false if it must wait.
  auto advance(Process& process, std::optional<Step>& restore) -> bool {
    const Node& now = *process.state;
    if (now.step >= last) return false;
    if (is_async) {
      const Step share = last / workers;
      std::vector<std::size_t> open;
      for (std::size_t r = 0; r < workers; ++r)
        if (now.applied[r] < share) open.push_back(r);
      if (open.empty()) return false;
      const std::size_t rank = open[dice.below(open.size())];
      if (now.applied[rank] + 1 <= buffers_from[rank]) return cannot_serve(process);
      std::vector<Step> applied = now.applied;
      ++applied[rank];
      process.state = make_node(now.step + 1, std::move(applied), &now);
      return true;
    }
    Step everybody = last;
    for (std::uint32_t q = 0; q < shards; ++q) {
      Step most = 0;
      for (const Process* other : live())
        if (other->started && other->shard == q) most = std::max(most, other->state->step);
      everybody = std::min(everybody, most);
    }
    clock_ = std::max(clock_, everybody);
    if (now.step > clock_) return false;  // the next step needs the values of all shards
    const Step common = buffers_from.front();
    if (now.step + 1 <= common) {  // what this step needs was let go: a worker sends the shard to the common cut
      if (!process.cuts().contains(common)) return replicas > 1 ? is_helped(process) : cannot_serve(process);
      // Who has followed it may have ended with the job, and removed its cuts. Then it finds that when it reads.
      if (links && !is_followed(process) && !can_read(process.cuts().at(common)))
        throw Wrong{"the common cut cannot be read"};
      clock_ = std::max(clock_, common);
      restore = common;
      return true;
    }
    process.state = node_at(process.shard, now.step + 1, &now);
    return true;
  }

  /// Returns the newest cut of the other replica that is newer than what the process has; null: there is none.
  auto state_for(const Process& process) -> const Node* {
    Step newest = process.state->step;
    for (const Process* other : live())
      if (other->started && other->shard == process.shard && other->replica != process.replica)
        for (const auto& [step, key] : other->cuts()) newest = std::max(newest, step);
    return newest == process.state->step ? nullptr : nodes_.at({process.shard, newest});
  }
  /// Workers have let go of what the process needs: it goes on from a cut of the other replica, or waits for it.
  auto is_helped(Process& process) -> bool {
    if (const Node* state = state_for(process)) {
      process.state = state;
      return true;
    }
    Step most = 0;
    for (std::uint32_t number = process.shard; number < numbers(); number += shards) {
      const Process& of = *processes_[number];
      if (!of.alive || !of.started || is_followed(of)) return false;  // it comes back, and has more
      most = std::max(most, of.state->step);
    }
    if (most > process.state->step) return false;
    return cannot_serve(process);
  }

  auto node_at(std::uint32_t shard, Step step, const Node* parent) -> const Node* {
    const Node*& node = nodes_[{shard, step}];
    if (node == nullptr) node = make_node(step, parent->applied, parent);
    return node;
  }

  /// Workers hear that a cut is durable, and let go of what all shards have.
  void tell(const Process& process, const Node& node) {
    const std::uint32_t q = process.number;
    if (is_async) {
      if (told[q]->descends(node)) return;  // told late; a larger claim has told more since
      if (!node.descends(*told[q])) throw Wrong{"a told cut is not of the history told before"};
      told[q] = &node;
      for (std::size_t r = 0; r < workers; ++r) {
        buffers_from[r] = told[0]->applied[r];
        for (const Node* of : told) buffers_from[r] = std::min(buffers_from[r], of->applied[r]);
      }
    } else {
      told_steps[q].insert(node.step);
      if (node.step > told[q]->step) told[q] = &node;
      buffers_from.assign(workers, std::max(buffers_from.front(), common_told()));
    }
    std::set<std::uint32_t> ended;
    for (std::uint32_t number = 0; number < numbers(); ++number)
      if (told[number]->step == last) ended.insert(number % shards);
    if (node.step == last && complete() < last && ended.size() == shards)
      throw Wrong{"the last step is told, and its checkpoint is not there"};
  }

  /// A process joins: it tells which cuts it has.
  void joined(const Process& process) {
    const std::uint32_t q = process.number;
    if (is_followed(process)) return;  // it will tell nothing
    if (is_async ? !process.state->descends(*told[q]) : process.state->step < told[q]->step)
      throw Wrong{"what was told durable is not found"};
    told[q] = process.state;
    if (is_async) return;
    for (const auto& [step, key] : process.cuts()) told_steps[q].insert(step);
  }

  /// The common cut as a shard knows it: what it hears is true, and may be old.
  [[nodiscard]] auto known_common() -> Step {
    if (is_async || !dice.percent(70)) return 0;
    return replicas > 1 ? buffers_from.front() : common_told();
  }

  [[nodiscard]] auto is_followed(const Process& process) const -> bool {
    const std::string prefix = names.claims(process.shard, process.replica);
    const auto& objects = bucket->objects();
    for (auto at = objects.lower_bound(prefix); at != objects.end() && at->first.starts_with(prefix); ++at) {
      const auto claim = names.claim_of(at->first, process.shard, process.replica);
      if (claim && *claim > process.core->claim()) return true;
    }
    return false;
  }
  auto cannot_serve(const Process& process) -> bool {  // a process that was followed may lag behind; it stands still
    if (is_followed(process)) return false;
    throw Wrong{"a contribution that was let go is needed"};
  }
  [[nodiscard]] auto all_done() const -> bool {
    return std::all_of(processes_.begin(), processes_.end(), [](const auto& process) { return process->done; });
  }

  /// Returns the cut of a shard that a checkpoint names.
  auto cut_in(const distrib::CheckpointKey& checkpoint, std::uint32_t shard) -> std::optional<CutKey> {
    const auto index = bucket->objects().find(names.checkpoint(checkpoint));
    if (index == bucket->objects().end()) return std::nullopt;
    return cuts_in(*index).at(shard).key;
  }
  /// Returns the state in a cut; null: it is gone.
  [[nodiscard]] auto state_in(const CutKey& key) const -> const Node* {
    const auto object = bucket->objects().find(names.cut(key));
    return object == bucket->objects().end() ? nullptr : node_of(*object->second);
  }

  /// True if an index names the cut.
  [[nodiscard]] auto is_named(const CutKey& key) -> bool {
    const auto& objects = bucket->objects();
    const std::string prefix = names.checkpoints();
    for (auto at = objects.lower_bound(prefix); at != objects.end() && at->first.starts_with(prefix); ++at)
      for (const CheckpointCut& cut : cuts_in(*at))
        if (cut.key == key) return true;
    return false;
  }

  /// The newest step whose checkpoint is whole.
  auto complete() -> Step {
    Step best = 0;
    const auto& objects = bucket->objects();
    const std::string prefix = names.checkpoints();
    for (auto at = objects.lower_bound(prefix); at != objects.end() && at->first.starts_with(prefix); ++at)
      if (is_whole(cuts_in(*at))) best = std::max(best, names.checkpoint_of(at->first)->step);
    return best;
  }

  distrib::sim::Dice dice;
  distrib::CutObjectNames names{"run"};
  std::optional<distrib::sim::Bucket> bucket;
  bool is_async = false;
  std::uint32_t shards = 1, replicas = 1;
  bool links = false;
  std::uint64_t workers = 1;
  Step interval = 1, last = 1, every = 1;
  std::vector<const Node*> initial;
  std::vector<const Node*> told;
  std::vector<std::set<Step>> told_steps;
  std::vector<Step> buffers_from;  // of each worker: what it keeps begins after
  std::set<std::string> said;  // the cuts that were told
  std::uint64_t links_written = 0, links_late = 0;  // the latter when what they stand on was gone
  std::uint32_t longest = 0;  // chain, in links

 private:
  using Object = std::pair<const std::string, distrib::ObjectBytes>;

  static constexpr unsigned most_rows = 6;
  static constexpr std::uint64_t first_link = std::uint64_t{1} << 32;

  static auto mixed(std::uint64_t a, std::uint64_t b) -> std::uint64_t {
    std::uint64_t z = (a + 0x9e37'79b9'7f4a'7c15) * 0xbf58'476d'1ce4'e5b9 ^ b;
    z = (z ^ (z >> 30)) * 0x94d0'49bb'1331'11eb;
    return z ^ (z >> 31);
  }
  auto object_with(std::uint32_t shard, std::uint64_t id, Step of) -> distrib::ObjectBytes {
    std::array<std::uint64_t, 1> value{id};
    std::array<std::uint64_t, 1> step{of};
    distrib::BundlePart part;
    const distrib::Shape all{static_cast<std::int64_t>(shards)};
    part.tensors.push_back({"v", distrib::DType::int64, all,
                            distrib::Slice{distrib::Shape{static_cast<std::int64_t>(shard)}, distrib::Shape{1}},
                            std::as_bytes(std::span{value})});
    part.tensors.push_back({"global_step", distrib::DType::int64, distrib::Shape{},
                            distrib::Slice::whole(distrib::Shape{}), std::as_bytes(std::span{step})});
    distrib::Error error;
    auto object = distrib::encode_cut_object(part, shard, shards, error);
    distrib::throw_if(error);
    return std::make_shared<const std::vector<std::byte>>(std::move(object));
  }

  auto make_node(Step step, std::vector<Step> applied, const Node* parent) -> const Node* {
    all_.push_back(std::make_unique<Node>(Node{all_.size(), step, std::move(applied), parent}));
    return all_.back().get();
  }

  /// True if the cuts of this replica count: it has joined, or no replica of its shard has.
  [[nodiscard]] auto counts(std::uint32_t number) const -> bool {
    if (replicas == 1) return true;
    const auto is_there = [this](std::uint32_t of) {
      return of < processes_.size() && processes_[of]->alive && processes_[of]->started;
    };
    if (is_there(number)) return true;
    for (std::uint32_t of = number % shards; of < numbers(); of += shards)
      if (is_there(of)) return false;
    return true;
  }
  [[nodiscard]] auto common_told() const -> Step {
    std::vector<const std::set<Step>*> lists;
    for (std::uint32_t number = 0; number < numbers(); ++number)
      if (counts(number)) lists.push_back(&told_steps[number]);
    for (auto step = lists.front()->rbegin();; ++step)
      if (std::all_of(lists.begin(), lists.end(), [&](const auto* of) { return of->contains(*step); })) return *step;
  }

  [[nodiscard]] auto live() const -> std::vector<Process*> {
    std::vector<Process*> list;
    for (const auto& process : processes_)
      if (process->alive) list.push_back(process.get());
    for (const auto& process : extra_)
      if (process->alive) list.push_back(process.get());
    return list;
  }

  auto cuts_in(const Object& index) -> const std::vector<CheckpointCut>& {
    const auto [at, first] = indexes_.try_emplace(index.first);
    distrib::Error error;
    if (first) at->second = distrib::parse_checkpoint_index(*index.second, error);
    return at->second;
  }
  [[nodiscard]] auto is_whole(const std::vector<CheckpointCut>& cuts) const -> bool {
    const auto is_there = [this](const CheckpointCut& cut) { return bucket->objects().contains(names.cut(cut.key)); };
    return !cuts.empty() && std::all_of(cuts.begin(), cuts.end(), is_there);
  }

  /// Objects have changed.
  void check() {
    const Step now = complete();
    if (now < best_) throw Wrong{"the newest complete checkpoint fell"};
    best_ = std::max(best_, now);
    const auto& objects = bucket->objects();
    const std::string prefix = names.checkpoints();
    for (auto at = objects.lower_bound(prefix); at != objects.end() && at->first.starts_with(prefix); ++at) {
      const auto& cuts = cuts_in(*at);
      const Step step = names.checkpoint_of(at->first)->step;
      if (!is_whole(cuts)) {  // readers pass over it
        if (!at_end_ && step > now) throw Wrong{"an index of what is not there"};
        continue;
      }
      for (std::uint32_t q = 0; q < shards; ++q) {
        const Node* node = node_of(*objects.at(names.cut(cuts[q].key)));
        if (node->step != step) throw Wrong{"a checkpoint of two steps"};
        if (!is_async && node != nodes_[{q, step}]) throw Wrong{"a checkpoint of other values"};
        if (!saved_in(*objects.at(names.cut(cuts[q].key))).on.empty())
          throw Wrong{"a checkpoint that stands on other cuts"};
      }
    }
  }

  /// Returns those of `keys` whose chain is there, by the names and by what is in the objects.
  auto readable(const std::vector<CutKey>& keys) -> std::vector<CutKey> {
    std::set<std::pair<distrib::ObjectClaim, std::uint32_t>> there;
    for (const CutKey& key : keys) there.emplace(key.claim, key.number);
    std::vector<CutKey> good;
    for (const CutKey& key : keys) {
      bool is_there = true;
      for (std::uint32_t number = key.root(); number < key.number; ++number)
        is_there = is_there && there.contains({key.claim, number});
      if (is_there && rows_in(names.cut(key))) good.push_back(key);
    }
    return good;
  }

  auto can_read(const CutKey& key) -> bool {
    const std::vector<CutKey> good = readable(cuts_of(key.shard, key.replica));
    return std::find(good.begin(), good.end(), key) != good.end();
  }

  /// A cut or a base was written or removed: what would a process find that looks now?
  void look(const std::string& name, bool written) {
    const auto key = names.cut_of(name);
    if (key && written) look_at(*key);
    if (replicas > 1) return;
    for (std::uint32_t q = 0; q < shards; ++q)
      if (key ? key->shard == q : name.starts_with(names.bases(q))) {
        if (is_async) look_for_line(q);
        else look_for_step(q);
      }
  }
  void look_at(const CutKey& key) {
    const Saved saved = saved_in(*bucket->objects().at(names.cut(key)));
    const std::optional<Rows> rows = rows_of(saved);
    if (!key.is_whole()) ++links_written;
    if (!rows) ++links_late;
    longest = std::max(longest, key.links);
    if (rows && *rows != content_of(*saved.node).rows) throw Wrong{"a chain reads as what never was"};
    std::size_t changed = 0;
    for (const CutKey& other : cuts_of(key.shard, key.replica))
      if (other.claim == key.claim && !other.is_whole() && other.root() == key.root() && other.number <= key.number)
        changed += saved_in(*bucket->objects().at(names.cut(other))).rows.size();
    if (key.links > distrib::CutChain::most_links || changed > most_rows)
      throw Wrong{"a chain is longer than its bound"};
  }
  void look_for_step(std::uint32_t q) {
    std::vector<std::set<Step>> steps;
    for (std::uint32_t of = 0; of < shards; ++of) {
      steps.push_back({0});
      for (const CutKey& key : readable(cuts_of(of, 0))) steps.back().insert(key.step);
    }
    if (*steps[q].rbegin() < told[q]->step) throw Wrong{"what was told durable would not be found"};
    for (auto step = steps[q].rbegin();; ++step) {
      if (!std::all_of(steps.begin(), steps.end(), [&](const auto& of) { return of.contains(*step); })) continue;
      if (*step < common_told()) throw Wrong{"no common cut would be found"};
      return;
    }
  }
  void look_for_line(std::uint32_t q) {
    const std::vector<CutKey> good = readable(cuts_of(q, 0));
    std::map<distrib::ObjectClaim, const Node*> ends;  // what each process would be continued from
    const auto& objects = bucket->objects();
    const std::string prefix = names.bases(q);
    for (auto at = objects.lower_bound(prefix); at != objects.end() && at->first.starts_with(prefix); ++at) {
      const auto base = names.cut_of(distrib::as_text(*at->second));
      const bool is_there = base && std::find(good.begin(), good.end(), *base) != good.end();
      ends[*names.base_of(at->first, q)] = at->second->empty() ? initial[q] : is_there ? state_in(*base) : nullptr;
    }
    std::map<distrib::ObjectClaim, CutKey> newest;
    for (const CutKey& key : good) {
      CutKey& known = newest[key.claim];
      if (std::pair{known.step, known.number} < std::pair{key.step, key.number}) known = key;
    }
    for (const auto& [claim, key] : newest) ends[claim] = state_in(key);
    const Node* const end = ends.empty() ? initial[q] : ends.rbegin()->second;
    if (end == nullptr) throw Wrong{"what a process began with would not be found"};
    if (!end->descends(*told[q])) throw Wrong{"what was told durable would not be found"};
  }

  /// A worker dies. A new one joins all shards, and all go to the newest cut that all have.
  void worker_dies() {
    if (is_async) return;  // it begins after what was told
    std::vector<Process*> newest(numbers());
    for (Process* process : live())
      if (process->started &&
          (newest[process->number] == nullptr || process->core->claim() > newest[process->number]->core->claim()))
        newest[process->number] = process;
    std::vector<Process*> now;
    std::set<std::uint32_t> there;
    for (Process* process : newest) {
      const bool serves = process != nullptr && !process->leaves();  // a shard that is over refuses Join
      if (!serves && replicas > 1) continue;
      if (!serves || is_followed(*process)) return;  // it waits
      // A replica that is behind gets a state of the other one first.
      if (replicas > 1 && process->state->step < buffers_from.front()) continue;
      now.push_back(process);
      there.insert(process->shard);
    }
    if (there.size() < shards) return;
    std::vector<std::map<Step, CutKey>> lists;
    for (const Process* process : now) lists.push_back(process->cuts());
    Step common = 0;
    for (const auto& [step, key] : lists.front())
      if (std::all_of(lists.begin(), lists.end(), [&](const auto& of) { return of.contains(step); })) common = step;
    if (replicas > 1 && common < buffers_from.front()) return;
    for (const auto& list : lists)
      if (common != 0 && !(links ? can_read(list.at(common)) : bucket->objects().contains(names.cut(list.at(common)))))
        throw Wrong{"the common cut is gone"};
    clock_ = common;
    for (Process* process : live())
      if (process->started && process->state->step > common) process->go_back(nodes_.at({process->shard, common}));
  }

  auto start(std::uint32_t number) -> std::unique_ptr<Process> {
    auto process = make_(*this, number);
    process->start();
    return process;
  }

  /// Passes a performed request to its process.
  void deliver(distrib::sim::Bucket::Performed performed) {
    if (performed.changed) check();
    const bool is_cut = performed.key.starts_with(names.cuts()) || performed.key.starts_with("run/bases/");
    if (links && performed.changed && is_cut) look(performed.key, performed.kind == ObjectAction::Kind::put);
    if (performed.request == 0) return;
    for (Process* process : live())
      if (process->request == performed.request) {
        process->request = 0;
        process->inbox = std::move(performed.answer);
      }
  }

  auto run_all() -> std::string {
    const std::uint64_t span = 60 * last * numbers();
    std::vector<std::pair<std::uint64_t, int>> planned;
    for (int kind = 0; kind < 4; ++kind)
      for (std::uint64_t i = 0; i < faults_[static_cast<std::size_t>(kind)]; ++i)
        planned.emplace_back(dice.between(1, span), kind);
    std::sort(planned.rbegin(), planned.rend());
    for (std::uint32_t q = 0; q < numbers(); ++q) processes_.push_back(start(q));
    std::vector<std::uint64_t> down(numbers());
    for (std::uint64_t now = 0;; ++now) {
      if (now == 100'000) return "stuck";
      for (; !planned.empty() && planned.back().first <= now; planned.pop_back()) suffer(planned.back().second, now);
      for (std::uint32_t q = 0; q < numbers(); ++q) {  // a dead process is started again
        if (processes_[q]->alive || processes_[q]->finished) continue;
        if (down[q] == 0) down[q] = dice.between(1, 60);
        if (--down[q] == 0) processes_[q] = start(q);
      }
      std::vector<Process*> ready;
      for (Process* process : live())
        if (process->frozen_until <= now && process->waits()) ready.push_back(process);
      std::optional<distrib::sim::Bucket::Performed> performed;
      if (ready.empty() || dice.percent(80)) performed = bucket->perform_one();
      if (performed) deliver(std::move(*performed));
      else if (!ready.empty()) ready[dice.below(ready.size())]->work();
      for (Process* process : live()) {
        if (process->frozen_until > now) continue;
        if (process->inbox) {
          process->take(*std::exchange(process->inbox, std::nullopt));
        } else if (process->request != 0 && bucket->is_slow(process->request) && dice.percent(10)) {
          process->request = 0;  // it gives up; the request may yet be performed
          process->take({.lost = true});
        }
      }
      if (std::all_of(processes_.begin(), processes_.end(), [](const auto& of) { return of->finished; })) break;
      std::erase_if(extra_, [](const auto& process) { return !process->alive; });
    }
    if (complete() < last) return "no checkpoint of the last step";
    return end();
  }

  void suffer(int kind, std::uint64_t now) {
    if (kind == 3) return worker_dies();
    const auto list = live();
    if (list.empty()) return;
    Process* process = list[dice.below(list.size())];
    if (kind == 0) process->alive = false;
    if (kind == 1) process->frozen_until = now + dice.between(20, 1500);
    if (kind == 2 && processes_[process->number].get() == process) {  // a second one beside it
      extra_.push_back(std::move(processes_[process->number]));
      processes_[extra_.back()->number] = start(extra_.back()->number);
    }
  }

  /// What is under way is performed at last; one more start of all finds what is left, and clears it away.
  auto end() -> std::string {
    at_end_ = true;
    extra_.clear();
    for (const auto& process : processes_) process->alive = false;
    while (auto performed = bucket->perform_any())
      if (performed->changed) check();
    bucket->heal();
    for (std::uint32_t q = 0; q < numbers(); ++q) processes_[q] = start(q);
    for (int events = 0;; ++events) {
      if (events == 200'000) return "stuck at the end";
      if (auto performed = bucket->perform_any()) {
        deliver(std::move(*performed));
      } else {
        std::vector<Process*> ready;
        for (Process* process : live())
          if (process->waits()) ready.push_back(process);
        if (ready.empty() && live().empty()) break;
        if (!ready.empty()) ready[dice.below(ready.size())]->work();
      }
      for (Process* process : live())
        if (process->inbox) process->take(*std::exchange(process->inbox, std::nullopt));
    }
    if (complete() < last) return "the last checkpoint fell";
    std::set<std::string> named;
    for (const Object& object : bucket->objects())
      if (names.checkpoint_of(object.first))
        for (const CheckpointCut& cut : cuts_in(object)) named.insert(names.cut(cut.key));
    for (const auto& [key, bytes] : bucket->objects())
      if (names.cut_of(key) && (names.cut_of(key)->step != last || replicas > 1) && !named.contains(key))
        return "left over";
    return bucket->uploads() == 0 ? "" : "an upload is left";
  }

  Make make_;
  std::array<std::uint64_t, 4> faults_{};  // kills, freezes, second processes, deaths of workers
  std::vector<std::unique_ptr<Node>> all_;
  std::vector<Saved> saved_;  // the links
  std::map<const Node*, Content> contents_;
  std::map<std::pair<std::uint32_t, Step>, const Node*> nodes_;
  std::vector<std::unique_ptr<Process>> processes_;  // the newest one of each shard
  std::vector<std::unique_ptr<Process>> extra_;
  std::map<std::string, std::vector<CheckpointCut>> indexes_;  // what each one says never changes
  Step clock_ = 0, best_ = 0;
  bool at_end_ = false;
};

// --- Process ---

struct Process::Out {
  Process& process;
  void operator()(ObjectAction action) const { process.next_ = std::move(action); }
  void operator()(distrib::CutDurable cut) const {
    if (cut.step != process.saving_->step) throw Wrong{"another step is told"};
    process.was_told();
  }
  void operator()(distrib::ObjectCutsDone result) const { process.result_ = std::move(result); }
};

inline Process::Process(Run& of, std::uint32_t of_job)
    : run{of}, number{of_job}, shard{of_job % of.shards}, replica{of_job / of.shards} {
  distrib::ObjectCutsOptions options;
  options.shard = shard;
  options.shards = run.shards;
  options.replica = replica;
  options.replicas = run.replicas;
  options.synchronous = !run.is_async;
  options.last_step = run.last;
  options.settings.directory = "run";
  options.settings.keep_every = run.is_async ? 0 : run.every;
  options.settings.retention.max_to_keep = 2;
  options.owner = {"ps " + std::to_string(shard), "host", "1", ""};
  options.nonce = run.dice.next();
  core.emplace(std::move(options), [this](const CutKey& key, distrib::ByteView object, distrib::Error& error) {
    const distrib::CutTail tail = distrib::parse_cut_footer(object, object.size(), error);
    if (!error) static_cast<void>(distrib::parse_cut_table(object, tail, shard, run.shards, error));
    if (error) throw Wrong{"a cut is damaged"};
    if (run.node_of(object)->step != key.step) throw Wrong{"a cut has another step than its name"};
    if (run.links && !run.read_on(key.is_whole(), object, checked_))
      error = {distrib::checkpoint_errc::corrupt_data, ""};
    return std::optional{distrib::Lineage{}};
  });
}

inline auto Process::sizes_of_cut() -> distrib::CutChain::Sizes {
  return {run.content_of(*state).rows.size(), changed().size()};
}
inline auto Process::is_kept(Step step) const -> bool { return run.is_wanted(step); }

inline void Process::tell(bool workers) {
  if (workers) run.tell(*this, *saving_);
  if (!run.links) return;
  if (workers) run.said.insert(run.names.cut(*put_));
  tip_ = put_;
  const std::uint64_t durable = chain_->durable(saving_->step);
  std::erase_if(copies_, [durable](const auto& copy) { return copy.first <= durable; });
}
// The state is another one than before.
inline void Process::moved(const Node* before) {
  if (!run.links || state == before) return;
  if (state->parent != before) return loaded();
  const std::set<unsigned>& rows = run.content_of(*state).touched;
  touched_.insert(rows.begin(), rows.end());
}
inline void Process::loaded() {
  if (!run.links) return;
  if (chain_) chain_->loaded(state->step);
  else chain_.emplace([this](Step step) { return is_kept(step); }, state->step);
  touched_.clear();
  copies_.clear();
}
inline void Process::go_back(const Node* to) {
  state = to;
  loaded();
  went_back(to->step, true);
}
// Training goes on while a cut is written, up to the next step that is due for a cut.
inline void Process::train_beside() {
  while (run.dice.percent(50) && !run.is_due(state->step + 1)) {
    const Node* const before = state;
    std::optional<Step> restore;
    if (!run.advance(*this, restore) || restore) return;
    moved(before);
  }
}

void Process::perform(auto begin) {
  Out out{*this};
  begin(out);
  if (result_) return over(*std::exchange(result_, std::nullopt));
  if (next_) happens(*std::exchange(next_, std::nullopt));
}

inline void Process::start() {
  at_ = At::opening;
  perform([this](auto& out) { core->open(out); });
}

inline void Process::forward(ObjectAction action) {
  if (is_put_of_cut(action)) put_ = cut_of(action);
  request = run.bucket->send(std::move(action));
}
inline void Process::pass(ObjectAnswer answer) {
  perform([&](auto& out) { core->answered(std::move(answer), out); });
}
inline void Process::ask(ObjectAction action, std::function<void(ObjectAnswer)> then) {
  repeated_ = action;
  then_ = std::move(then);
  forward(std::move(action));
}
inline void Process::remove_all(std::vector<std::string> keys, std::function<void()> then) {
  if (keys.empty()) return then();
  std::string key = std::move(keys.back());
  keys.pop_back();
  ask(ObjectAction::remove(std::move(key)),
      [this, keys = std::move(keys), then = std::move(then)](const ObjectAnswer&) { remove_all(keys, then); });
}
inline void Process::take(ObjectAnswer answer) {
  if (run.links && at_ == At::saving) train_beside();
  if (!then_) return comes(std::move(answer));
  if (answer.lost) return forward(repeated_);
  std::exchange(then_, nullptr)(std::move(answer));
}

inline auto Process::cut_of(const ObjectAction& action) const -> std::optional<CutKey> {
  return run.names.cut_of(action.key);
}
inline auto Process::is_list_of_claims(const ObjectAction& action) const -> bool {
  return action.kind == ObjectAction::Kind::list &&
         (action.key == run.names.claims(shard, replica) || action.key == run.names.claims_and_cuts());
}
inline auto Process::take_claims(ObjectAnswer& answer) const -> std::vector<distrib::ObjectInfo> {
  const auto is_claim = [this](const auto& info) { return run.names.claim_of(info.key, shard, replica).has_value(); };
  std::vector<distrib::ObjectInfo> taken;
  std::copy_if(answer.objects.begin(), answer.objects.end(), std::back_inserter(taken), is_claim);
  std::erase_if(answer.objects, is_claim);
  return taken;
}
inline auto Process::cuts() const -> std::map<Step, CutKey> {
  std::map<Step, CutKey> all = core->cuts();
  all.insert(of_checkpoints.begin(), of_checkpoints.end());
  for (const Step step : away) all.erase(step);
  return all;
}

inline void Process::over(distrib::ObjectCutsDone result) {
  if (result.failure) return die();  // it was followed, or what it looked for is gone
  switch (std::exchange(at_, At::running)) {
    case At::opening:
      if (result.of_sibling)
        if (const auto cut = run.cut_in(*result.of_sibling, shard))
          if (const Node* found = run.state_in(*cut)) {  // it is newer than all own cuts
            of_checkpoints[cut->step] = *cut;
            state = found;
            break;
          }
      at_ = At::reading;
      if (!core->cuts().empty()) return perform([this](auto& out) { core->read(core->cuts().rbegin()->first, out); });
      state = run.initial[shard];
      break;
    case At::reading:
    case At::restoring:
      if (run.links) {
        Rows rows;
        bool good = true;
        for (std::size_t i = 0; i < result.under.size(); ++i) good = good && run.read_on(i == 0, result.under[i], rows);
        if (!good || !run.read_on(result.under.empty(), result.object, rows)) return die();
      }
      state = run.node_of(result.object);
      break;
    case At::finishing: finished = true; return die();
    case At::saving: return saved();
    default: return;
  }
  at_ = At::running;
  loaded();
  if (std::exchange(started, true)) return went_back(state->step, false);
  run.joined(*this);
  if (run.replicas == 1 || !run.dice.percent(80)) return;
  if (const Node* newer = run.state_for(*this)) {  // not told before it is saved
    state = newer;
    loaded();
    owes_a_cut_ = true;
  }
}

inline void Process::save() {
  at_ = At::saving;
  saving_ = state;
  away.erase(saving_->step);
  std::optional<Step> base;
  std::string hidden;
  std::set<unsigned> rows;
  if (run.links) {
    rows = changed();
    const distrib::CutChain::Begun begun = chain_->begin(saving_->step, sizes_of_cut(), false);
    base = begun.base;
    copies_.emplace_back(begun.number, std::exchange(touched_, {}));
    hidden = hidden_base(base);
  }
  perform([&](auto& out) {
    if (!hidden.empty()) return core->save(saving_->step, run.object_of_link(shard, *saving_, rows, hidden), out);
    if (!base || !core->may_link(saving_->step, *base))
      return core->save(saving_->step, run.object_of(shard, *saving_), out);
    const std::string on = run.names.cut(*tip_);
    core->save_link(saving_->step, *base, run.object_of_link(shard, *saving_, rows, on), out);
  });
}

inline void Process::work() {
  if (at_ != At::running) return;
  // Rule 5 of the protocol: of the cuts up to the common one the two newest stay.
  if (!run.is_async) {
    const Step common = run.known_common();
    std::vector<Step> old;
    for (const auto& [step, key] : core->cuts())
      if (step <= common) old.push_back(step);
    if (old.size() > 2 && !done) {
      at_ = At::dropping;
      dropped_ = std::max(dropped_, old.front());
      return perform([&](auto& out) { core->drop(old.front(), false, out); });
    }
  }
  if (std::exchange(owes_a_cut_, false) && !cuts().contains(state->step)) return save();
  if (cuts().contains(run.last)) {  // rule 12: wherever it was sent back to since
    done = true;
    if (run.all_done()) {
      at_ = At::finishing;
      return perform([this](auto& out) { core->finish(out); });
    }
  }
  std::optional<Step> restore;
  const Node* const before = state;
  if (run.advance(*this, restore)) {
    moved(before);
    if (restore && !core->cuts().contains(*restore)) {
      state = run.state_in(of_checkpoints.at(*restore));
      if (state == nullptr) throw Wrong{"the common cut of a checkpoint is gone"};
      loaded();
      return;
    }
    if (restore) {
      at_ = At::restoring;
      return perform([&](auto& out) { core->read(*restore, out); });
    }
    const Step step = state->step;
    if (!run.is_due(step) || (cuts().contains(step) && !run.is_async)) return;
    return save();
  }
  if (!run.dice.percent(10)) return;
  at_ = At::looking;
  perform([this](auto& out) { core->look(out); });
}

}  // namespace simulation::objects
