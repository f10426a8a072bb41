// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/export_log/export_core.hpp>
#include <distrib/export_log/follow_core.hpp>
#include <distrib/export_log/log_part.hpp>
#include <distrib/export_log/retire_log.hpp>
#include <distrib/serve/replica_store.hpp>
#include <distrib/sharding/virtual_shard.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

/// Random runs of the cores of an export log, under kills, zombies, rewinds, lost disks, and reads that are late, old
/// or damaged. A small job with one table is trained by one to three shards; its values are hashes, so each state can
/// be computed again. What is committed must be a state of one history, what is served must be committed, and
/// positions must not fall. In half of the synchronous runs parts are copied at a step and written later, as a shard
/// that trains does it. Bases are copied at a step and written at a drawn time later. A position that names bases must
/// follow, by deltas, from the position that has their rows.
namespace simulation {

/// A mistake that is planted in a core, or in what it stands on.
enum class ExportMistake {
  none,
  no_epochs,
  no_swap,
  no_tombstones,
  any_base,
  no_lineage,
  trust_cut,
  no_checksum,
  skip_gaps,
  go_back,
  no_whole,
  dirty_lost,
  shard_budget,
  use_lost,
  base_of_other_step,
  mixed_bases,
  kept_base,
};

/// Returns a hash of three numbers.
inline auto mixed(std::uint64_t a, std::uint64_t b, std::uint64_t c = 0) noexcept -> std::uint64_t {
  return distrib::hash_key(distrib::hash_key(distrib::hash_key(a) ^ b) ^ c);
}

/// The rows and counts of some groups of keys, and a dense variable with an element for each group.
struct ExportedModel {
  static constexpr std::uint64_t keys = 24;
  static constexpr std::uint64_t groups = 6;
  static constexpr std::size_t quota = 3;  // rows of a group

  static auto group_of(std::uint64_t key) -> std::uint64_t {
    return std::uint64_t{distrib::virtual_shard(key)} * groups / distrib::num_virtual_shards;
  }

  /// Applies an update, which touches five keys of all; then the least used keys of a group beyond its quota go.
  void update(std::uint64_t step, std::uint64_t salt, std::set<std::uint64_t>& dirty, ExportMistake mistake) {
    for (std::uint64_t i = 0; i < 5; ++i) {
      const std::uint64_t key = mixed(salt, step, i) % keys;
      if (!own.contains(group_of(key))) continue;
      const auto row = rows.find(key);
      rows[key] = mixed(row == rows.end() ? mixed(3, key) : row->second, step, salt);
      use[key] = {use[key].first + 1, step};
      dirty.insert(key);
    }
    for (auto& [group, value] : dense) value = mixed(value, step, salt);
    std::map<std::uint64_t, std::vector<std::uint64_t>> lists;  // one for each quota
    for (const auto& [key, row] : rows)
      lists[mistake == ExportMistake::shard_budget ? 0 : group_of(key)].push_back(key);
    const std::size_t most = quota * (mistake == ExportMistake::shard_budget ? own.size() : 1);
    for (auto& [group, list] : lists) {
      std::ranges::sort(list, {}, [&](std::uint64_t key) { return std::pair{use[key], key}; });
      for (std::size_t i = 0; i + most < list.size(); ++i) {
        rows.erase(list[i]);
        use.erase(list[i]);
        dirty.insert(list[i]);
      }
    }
  }

  static auto with_groups(std::set<std::uint64_t> owned) -> ExportedModel {
    ExportedModel model;
    for (const std::uint64_t group : owned) model.dense[group] = 0;
    model.own = std::move(owned);
    return model;
  }

  void merge(const ExportedModel& other) {
    own.insert(other.own.begin(), other.own.end());
    rows.insert(other.rows.begin(), other.rows.end());
    use.insert(other.use.begin(), other.use.end());
    dense.insert(other.dense.begin(), other.dense.end());
  }

  [[nodiscard]] auto only(const std::set<std::uint64_t>& owned) const -> ExportedModel {
    ExportedModel part = with_groups(owned);
    for (const auto& [key, row] : rows)
      if (owned.contains(group_of(key))) part.rows[key] = row, part.use[key] = use.at(key);
    for (const auto& [group, value] : dense)
      if (owned.contains(group)) part.dense[group] = value;
    return part;
  }

  [[nodiscard]] auto same_values(const ExportedModel& other) const -> bool {
    return rows == other.rows && dense == other.dense;
  }

  std::set<std::uint64_t> own;
  std::map<std::uint64_t, std::uint64_t> rows;
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> use;
  std::map<std::uint64_t, std::uint64_t> dense;
};

using History = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // since which step, which settings

class ExportRuns {
 public:
  ExportRuns(std::uint64_t seed, ExportMistake mistake, bool digests)
      : state_{mixed(seed, 77)}, mistake_{mistake}, digests_{digests} {
    synchronous_ = chance(600);
    every_ = 1 + below(3);
    const std::uint64_t bases[] = {3, 4, 6, 50};
    base_every_ = bases[below(4)];
    const std::uint64_t cuts[] = {1, 1, 2, 3};
    cut_every_ = cuts[below(4)];
    const std::uint64_t slow[] = {0, 3, 30};
    slow_ = slow[below(3)];
    const std::uint64_t damage[] = {0, 0, 20, 100};
    damage_ = damage[below(4)];
    writes_later_ = synchronous_ && mixed(seed, 78) % 2 == 0;
    new_reader();
    begin_job(1 + below(3), mixed(seed, 1));
    for (auto& shard : shards_) start(*shard, newest(*shard->disk));
  }

  /// Returns what was wrong; empty: nothing.
  auto run(int events = 1200) -> std::string {
    try {
      for (int i = 0; i < events; ++i) event(false);
      zombies_.clear();
      damage_ = slow_ = 0;
      is_calm_ = true;
      now_ += 1000;
      const std::uint64_t commits = commits_;
      for (int i = 0; commits_ <= commits + 1; ++i) {
        if (i == 9000) return "the job commits nothing any more" + story();
        event(true);
      }
      for (int i = 0; follow_->manifest_name() != store_.head.manifest; ++i) {
        if (i == 2000) return "the reader does not get what is committed";
        ++now_;
        read();
      }
    } catch (const std::logic_error& wrong) {
      return wrong.what();
    }
    return {};
  }

  [[nodiscard]] auto commits() const { return commits_; }
  [[nodiscard]] auto served() const { return served_; }
  [[nodiscard]] auto refused() const { return refused_; }
  [[nodiscard]] auto kills() const { return kills_; }
  [[nodiscard]] auto rewinds() const { return rewinds_; }
  /// How often a position has named bases, and how often a reader began with them.
  [[nodiscard]] auto named_bases() const { return named_bases_; }
  [[nodiscard]] auto begun_with_bases() const { return begun_with_bases_; }

 private:
  struct Cut {
    ExportedModel model;
    History history;
    std::uint64_t lineage = 0;  // as the job knows it
    distrib::ExportMark mark;
  };
  using Disk = std::map<std::uint64_t, Cut>;  // by label

  /// What a shard has copied and not written yet.
  struct Copied {
    distrib::ExportPlan plan;
    ExportedModel model;
    History history;
    std::set<std::uint64_t> dirty;
    std::uint64_t step = 0;
    std::uint64_t due = 0;  // of a base: not written before
  };

  struct Process {
    std::uint32_t number = 0;
    std::uint32_t of = 1;
    std::uint64_t salt = 0;
    bool alive = false;
    std::shared_ptr<Disk> disk = std::make_shared<Disk>();
    ExportedModel model = {};
    ExportedModel exported = {};  // as of the last export
    History history = {};
    std::set<std::uint64_t> dirty = {};
    std::uint64_t step = 0;
    std::uint64_t label = 0;  // of the newest cut
    std::uint64_t random = 0;
    std::uint64_t real_epoch = 0;
    std::optional<distrib::ExportCore> core = {};
    std::optional<distrib::LogManifest> newest = {};  // as it was really read
    std::deque<distrib::ExportAction> todo = {};
    std::deque<Copied> copied = {};
    std::optional<Copied> base = {};
    std::optional<distrib::LogBase> kept_base = {};  // of the newest vote with one, also of the process before
    std::string last_written = {};
  };

  /// What a part really has.
  struct TruePart {
    ExportedModel model;
    History history;
    std::uint64_t step = 0;
    std::uint32_t shard = 0;
    std::uint64_t real_epoch = 0;
  };

  struct Store {
    struct Object {
      std::vector<std::byte> bytes;
      std::uint64_t since = 0;
    };
    ExportRuns* runs = nullptr;
    std::map<std::string, Object> objects;
    distrib::LogHead head;
    std::uint64_t head_version = 0;
    std::vector<std::pair<std::uint64_t, distrib::LogHead>> heads;

    auto read_head(distrib::Error& error) -> std::optional<distrib::StampedHead> {
      error = {};
      if (head_version == 0) return std::nullopt;
      return distrib::StampedHead{head, std::to_string(head_version)};
    }
    auto swap_head(const std::string& version, const distrib::LogHead& next, distrib::Error& error) -> bool {
      error = {};
      const bool is_same = (head_version == 0 ? "" : std::to_string(head_version)) == version;
      if (!is_same && runs->mistake_ != ExportMistake::no_swap) return false;
      const bool is_commit = next.position > head.position || (!is_same && next.position != head.position);
      std::vector<std::uint64_t> epochs = head.epochs;
      head = next;
      if (!is_same && is_commit) head.epochs = std::move(epochs);
      ++head_version;
      heads.emplace_back(runs->now_ + runs->lag(), head);
      return true;
    }
    auto get(const std::string& name, std::uint64_t, distrib::Error& error) -> std::vector<std::byte> {
      const auto at = objects.find(name);
      error = {};
      if (at != objects.end()) return at->second.bytes;
      error = {distrib::export_errc::missing_object, name};
      return {};
    }
    void put(const std::string& name, distrib::ByteView bytes, distrib::Error& error) {
      error = {};
      objects.try_emplace(name, Object{{bytes.begin(), bytes.end()}, runs->now_ + runs->lag()});
    }
    void remove(const std::string& name, distrib::Error& error) {
      error = {};
      objects.erase(name);
    }
  };
  friend struct Store;

  // Where the job stands, if it stands still and a person wants to know why.
  auto story() -> std::string {
    if (std::getenv("DISTRIB_STORY") == nullptr) return {};
    std::string text = synchronous_ ? ", sync" : ", async";
    text +=
        " every " + std::to_string(every_) + " base " + std::to_string(base_every_) + " head " + to_text(store_.head);
    if (const auto manifest = manifest_of(store_.head)) text += to_text(*manifest);
    for (const auto& shard : shards_) {
      text += "shard alive " + std::to_string(shard->alive) + " step " + std::to_string(shard->step) + " epoch " +
              std::to_string(shard->core->epoch()) + " busy " + std::to_string(shard->core->is_busy()) + " todo " +
              std::to_string(shard->todo.size()) + " lineage " + std::to_string(lineage_of(shard->history)) + "\n";
      for (const distrib::LogVote& vote : shard->core->mark().votes) text += "  " + to_text(vote);
    }
    return text;
  }

  // Dice.
  auto draw() -> std::uint64_t { return distrib::hash_key(state_ += 0x9E3779B97F4A7C15U); }
  auto below(std::uint64_t end) -> std::uint64_t { return draw() % end; }
  auto chance(std::uint64_t per_thousand) -> bool { return below(1000) < per_thousand; }
  auto lag() -> std::uint64_t { return slow_ == 0 ? 0 : below(slow_ + 1); }

  // The job.
  void begin_job(std::uint64_t shards, std::uint64_t salt) {
    shards_.clear();
    for (std::uint32_t i = 0; i < shards; ++i) {
      auto process = std::make_shared<Process>();
      process->number = i;
      process->of = static_cast<std::uint32_t>(shards);
      process->salt = salt;
      shards_.push_back(std::move(process));
    }
  }
  static auto groups_of(const Process& shard) -> std::set<std::uint64_t> {
    std::set<std::uint64_t> own;
    for (std::uint64_t group = shard.number; group < ExportedModel::groups; group += shard.of) own.insert(group);
    return own;
  }
  static auto newest(const Disk& disk) -> std::uint64_t { return disk.empty() ? 0 : disk.rbegin()->first; }
  [[nodiscard]] auto lineage_of(const History& history) const -> std::uint64_t {
    if (!synchronous_ || mistake_ == ExportMistake::no_lineage) return 0;
    std::uint64_t lineage = 1;
    for (const auto& [since, salt] : history) lineage = mixed(lineage, since, salt);
    return lineage;
  }

  void start(Process& shard, std::uint64_t at) {
    shard.alive = true;
    shard.dirty.clear();
    shard.todo.clear();
    shard.copied.clear();
    shard.base.reset();
    shard.last_written.clear();
    shard.newest.reset();
    distrib::ExportMark mark;
    if (const auto cut = shard.disk->find(at); cut != shard.disk->end()) {
      shard.model = cut->second.model;
      shard.history = cut->second.history;
      mark = cut->second.mark;
      shard.step = step_of_label(shard, at);
    } else {
      shard.model = ExportedModel::with_groups(groups_of(shard));
      shard.history.clear();
      shard.step = 0;
    }
    shard.label = at;
    if (mistake_ == ExportMistake::use_lost)
      for (auto& [key, use] : shard.model.use) use = {1, 0};
    shard.random = draw();
    if (synchronous_ && (shard.history.empty() || shard.history.back().second != shard.salt))
      shard.history.emplace_back(shard.step, shard.salt);
    if (mistake_ == ExportMistake::dirty_lost && committed_part(shard) != nullptr)
      mark = {committed_part(shard)->name, {}};
    distrib::ExportRules rules;
    rules.shard = shard.number;
    rules.shards = shard.of;
    rules.synchronous = synchronous_;
    rules.every = every_;
    rules.base_every = base_every_;
    rules.new_log = 1 + below(1000);
    if (mistake_ == ExportMistake::trust_cut) rules.most_pending = 1000;
    shard.core.emplace(rules, lineage_of(shard.history), std::move(mark));
    act(shard, [&](auto& out) { shard.core->start(out); });
  }
  [[nodiscard]] auto step_of_label(const Process& shard, std::uint64_t label) const -> std::uint64_t {
    if (synchronous_) return label;
    const auto at = steps_.find({shard.disk.get(), label});
    return at == steps_.end() ? 0 : at->second;
  }
  auto committed_part(const Process& shard) -> const distrib::LogPart* {
    newest_manifest_ = manifest_of(store_.head);
    if (!newest_manifest_ || newest_manifest_->parts.size() != shard.of) return nullptr;
    return &newest_manifest_->parts[shard.number];
  }
  auto manifest_of(const distrib::LogHead& head) -> std::optional<distrib::LogManifest> {
    const auto at = store_.objects.find(head.manifest);
    if (at == store_.objects.end()) return std::nullopt;
    distrib::Error error;
    return distrib::parse_log_manifest(distrib::as_text(at->second.bytes), error);
  }

  template <class Happens>
  void act(Process& shard, Happens happens) {
    distrib::ExportActions out;
    happens(out);
    for (auto& action : out) shard.todo.push_back(std::move(action));
  }

  void advance(Process& shard) {
    if (synchronous_)
      for (const auto& other : shards_)
        if (shard.step > other->step) return;
    ++shard.step;
    shard.model.update(shard.step, synchronous_ ? shard.salt : mixed(shard.random, shard.step), shard.dirty, mistake_);
    if (synchronous_ ? shard.step % every_ == 0 : chance(1000 / every_)) export_step(shard);
  }

  void export_step(Process& shard) {
    constexpr std::size_t most_copied = 4;
    if (shard.copied.size() == most_copied) return;  // left out: what has changed is still known
    const distrib::RowDigest state = digest_of(shard.model);
    const distrib::ExportPlan plan = shard.core->plan(shard.step, state);
    if (plan.kind == distrib::ExportPlan::Kind::nothing) {
      if (plan.forget_changes) shard.dirty.clear();
      if (synchronous_) save(shard, shard.step, plan.forget_changes);
      return;
    }
    if (!is_calm_ && chance(10)) return;  // the part could not be written: what has changed is still known
    shard.copied.push_back({plan, shard.model, shard.history, std::exchange(shard.dirty, {}), shard.step});
    if (writes_later_) shard.core->taken();
    if (plan.with_base) {
      shard.base = shard.copied.back();
      shard.base->plan.kind = distrib::ExportPlan::Kind::full;
      shard.base->plan.on.clear();
      shard.base->due = now_ + below(150);
      if (mistake_ == ExportMistake::base_of_other_step) shard.base->model = shard.exported;
      shard.core->base_taken();
    }
    shard.exported = shard.model;
    if (writes_later_) return save(shard, plan.label, false);
    write_copied(shard);
    save(shard, plan.label, true);
    act(shard, [&](auto& out) { shard.core->vote(out); });
  }

  // Writes the oldest part that is copied. The next `poll` votes for it.
  void write_copied(Process& shard) {
    Copied one = std::move(shard.copied.front());
    shard.copied.pop_front();
    if (one.plan.on_taken) one.plan.on = shard.last_written;
    distrib::LogTable table = table_settings();
    table.rows = one.model.rows.size();
    for (const auto& [key, row] : one.model.rows) table.digest += row_of(key, row);
    distrib::LogPart part = write_part(shard, one, false);
    shard.last_written = part.name;
    shard.core->written(one.step, std::move(part), {table});
  }

  void write_base(Process& shard) {
    Copied one = std::move(*shard.base);
    shard.base.reset();
    if (!is_calm_ && chance(30)) return shard.core->base_dropped(one.plan.label);
    const distrib::LogPart base = write_part(shard, one, true);
    shard.core->base_written(one.plan.label, base.name, base.bytes);
  }

  // Of a synchronous job only some exports are cuts, too: the others can be made again.
  void save(Process& shard, std::uint64_t label, bool is_marked) {
    if (synchronous_ && label / every_ % cut_every_ != 0) return;
    distrib::ExportMark mark;
    if (is_marked) mark = shard.core->mark();
    (*shard.disk)[label] = {shard.model, shard.history, lineage_of(shard.history), std::move(mark)};
    steps_[{shard.disk.get(), label}] = shard.step;
    shard.label = label;
  }

  static auto row_of(std::uint64_t key, std::uint64_t value) -> distrib::RowDigest {
    return distrib::row_digest(key, distrib::detail::bytes_of(value));
  }
  static auto digest_of(const ExportedModel& model) -> distrib::RowDigest {
    distrib::RowDigest digest;
    for (const auto& [key, row] : model.rows) digest += row_of(key, row);
    for (const auto& [group, value] : model.dense) digest += row_of(1000 + group, value);
    return digest;
  }
  static auto table_settings() -> distrib::LogTable {
    distrib::LogTable table;
    table.info.name = "t";
    table.info.dim = 2;
    table.info.initializer = distrib::ZerosInitializer{};
    table.seed = 5;
    return table;
  }

  auto write_part(const Process& shard, const Copied& copied, bool is_base) -> distrib::LogPart {
    const distrib::ExportPlan& plan = copied.plan;
    const ExportedModel& model = copied.model;
    const bool is_full = plan.kind == distrib::ExportPlan::Kind::full;
    std::vector<std::uint64_t> keys;
    std::vector<std::uint64_t> values;
    std::vector<std::uint64_t> gone;
    const auto add = [&](std::uint64_t key) {
      const auto row = model.rows.find(key);
      if (row != model.rows.end()) keys.push_back(key), values.push_back(row->second);
      else if (!is_full && mistake_ != ExportMistake::no_tombstones) gone.push_back(key);
    };
    if (is_full)
      for (const auto& [key, row] : model.rows) add(key);
    else
      for (const std::uint64_t key : copied.dirty) add(key);
    distrib::PartContents contents;
    contents.step = copied.step;
    contents.shard = shard.number;
    contents.on = plan.on;
    distrib::PartTable& table = contents.tables.emplace_back();
    table.name = "t";
    table.dim = 2;
    table.keys = std::as_bytes(std::span{keys});
    table.values = std::as_bytes(std::span{values});
    table.gone = std::as_bytes(std::span{gone});
    for (const std::uint64_t group : model.own) {
      const auto first = [](std::uint64_t of) {
        return (of * distrib::num_virtual_shards + 5) / ExportedModel::groups;
      };
      table.owned.push_back({first(group), first(group + 1)});
    }
    const distrib::Shape whole{static_cast<std::int64_t>(ExportedModel::groups)};
    for (const auto& [group, value] : model.dense)
      contents.slices.push_back({"d", distrib::DType::int64, whole,
                                 distrib::Slice::along(whole, 0, static_cast<std::int64_t>(group), 1),
                                 distrib::detail::bytes_of(value)});
    distrib::Error error;
    const std::vector<std::byte> bytes = distrib::write_log_part(contents, error);
    if (error) throw std::logic_error{"a part cannot be written"};
    const std::string name = is_base
                                 ? distrib::base_name(plan.label, shard.number, shard.of, shard.core->epoch(), bytes)
                                 : distrib::part_name(plan.label, shard.number, shard.of, bytes);
    store_.put(name, bytes, error);
    parts_.insert_or_assign(name, TruePart{model, copied.history, copied.step, shard.number, shard.real_epoch});
    return {name, bytes.size(), plan.on, digest_of(model)};
  }

  // The store, as a shard sees it: one action at a time. Each action may fail.
  void perform(Process& shard) {
    if (writes_later_ && !shard.copied.empty() && chance(400)) {
      if (is_calm_ || !chance(15)) write_copied(shard);
      return;
    }
    if (shard.base && shard.base->due <= now_ && chance(300)) return write_base(shard);
    if (shard.todo.empty()) {
      if (!shard.core->is_busy()) act(shard, [&](auto& out) { shard.core->poll(out); });
      return;
    }
    const distrib::ExportAction action = std::move(shard.todo.front());
    shard.todo.pop_front();
    distrib::Error error;
    const bool fails = !is_calm_ && chance(15);
    if (fails && (!std::holds_alternative<distrib::export_action::SwapHead>(action) || chance(500))) {
      shard.todo.clear();
      return shard.core->failed();
    }
    if (std::holds_alternative<distrib::export_action::ReadLog>(action)) {
      distrib::LogView view;
      if (const auto head = store_.read_head(error)) view = {head->head, head->version, manifest_of(head->head)};
      shard.newest = view.manifest;
      change(shard, view);
      act(shard, [&](auto& out) { shard.core->log_read(std::move(view), out); });
    } else if (const auto* const swap = std::get_if<distrib::export_action::SwapHead>(&action)) {
      const bool is_commit = swap->head.position != 0 && parts_of(swap->head) != committed_manifest_;
      const bool done = store_.swap_head(swap->version, swap->head, error);
      const bool starts = shard.core->epoch() == 0;
      if (done && starts) shard.real_epoch = ++real_epochs_[shard.number];
      if (done && !starts && is_commit) committed(swap->head.manifest);
      if (fails) {  // done, but the answer is lost
        shard.todo.clear();
        return shard.core->failed();
      }
      act(shard, [&](auto& out) { shard.core->swapped(done, out); });
    } else if (const auto* const put = std::get_if<distrib::export_action::Put>(&action)) {
      store_.put(put->name, distrib::as_bytes(changed(shard, *put)), error);
      // A part counts for the newest process that votes for it: the one that wrote it, or one that started from its
      // cut.
      if (const auto own = vote(put->name)) {
        std::uint64_t& epoch = parts_.at(own->part.name).real_epoch;
        epoch = std::max(epoch, shard.real_epoch);
      }
    } else if (const auto* const remove = std::get_if<distrib::export_action::Remove>(&action)) {
      if (names_of_bases_.contains(remove->name)) throw std::logic_error{"removed a base that a position names"};
      store_.remove(remove->name, error);
    } else if (const auto* const votes = std::get_if<distrib::export_action::ReadVotes>(&action)) {
      std::vector<std::optional<distrib::LogVote>> read;
      for (const std::string& name : votes->names) read.push_back(vote(name));
      change(shard, *votes, read);
      act(shard, [&](auto& out) { shard.core->votes_read(read, out); });
    } else if (std::holds_alternative<distrib::export_action::Committed>(action)) {
      if (chance(300)) (void)distrib::retire_log(store_, error);
    }
  }
  static auto parts_of(const distrib::LogHead& head) -> const std::string& { return head.manifest; }
  auto vote(const std::string& name) -> std::optional<distrib::LogVote> {
    distrib::Error error;
    const auto bytes = store_.get(name, 0, error);
    return error ? std::nullopt : distrib::parse_log_vote(distrib::as_text(distrib::ByteView{bytes}), error);
  }

  // What a planted mistake makes of what a core is told.
  void change(Process& shard, distrib::LogView& view) {
    if (mistake_ == ExportMistake::no_epochs && shard.core->epoch() == 0 && view.head.epochs.size() > shard.number &&
        view.head.epochs[shard.number] > 1)
      --view.head.epochs[shard.number];
    if (mistake_ == ExportMistake::trust_cut) {
      const distrib::ExportMark mark = shard.core->mark();
      const std::string& trusted =
          mark.votes.empty() || shard.core->epoch() == 0 ? mark.base : mark.votes.front().part.on;
      if (trusted.empty()) return;
      if (!view.manifest) view.manifest.emplace();
      const bool is_known =
          view.manifest->parts.size() == shard.of && std::ranges::any_of(mark.votes, [&](const distrib::LogVote& one) {
            return one.part.name == view.manifest->parts[shard.number].name;
          });
      if (is_known && shard.core->epoch() != 0) return;
      view.manifest->parts.resize(shard.of);
      view.manifest->parts[shard.number].name = trusted;
    }
  }
  auto changed(Process& shard, const distrib::export_action::Put& put) const -> std::string {
    distrib::Error error;
    auto vote = distrib::parse_log_vote(put.text, error);
    if (mistake_ != ExportMistake::kept_base || !vote) return put.text;
    if (vote->base) shard.kept_base = vote->base;
    vote->base = shard.kept_base;
    return to_text(*vote);
  }
  void change(Process& shard, const distrib::export_action::ReadVotes& asked,
              std::vector<std::optional<distrib::LogVote>>& votes) {
    if (mistake_ == ExportMistake::mixed_bases && !votes.empty() && votes[0] && votes[0]->base)
      for (auto& one : votes)
        if (one && one->base) one->base->label = votes[0]->base->label;
    const auto& manifest = shard.newest;
    for (std::size_t i = 0; i < votes.size(); ++i) {
      auto& one = votes[i];
      const bool same_shards = manifest && manifest->parts.size() == votes.size();
      if (mistake_ == ExportMistake::any_base && one && same_shards && !one->part.is_full())
        one->part.on = manifest->parts[i].name;
      if (mistake_ == ExportMistake::trust_cut && one && !one->part.is_full() &&
          !(same_shards && manifest->parts[i].name == one->part.on))
        one.reset();
      if (mistake_ == ExportMistake::no_whole && !one) {
        const std::uint64_t label = std::stoull(asked.names[i].substr(6, 20));
        const std::uint64_t epoch = store_.head.epochs.at(i);
        if (label <= every_) continue;
        const std::uint64_t before = synchronous_ ? label - every_ : label - 1;
        one = vote(distrib::vote_name(before, static_cast<std::uint32_t>(i), epoch));
        if (one) one->label = label, one->step = shard.step;
        if (one && synchronous_) one->step = label;
      }
    }
  }

  // What must be so.
  void committed(const std::string& name) {
    committed_manifest_ = name;
    ++commits_;
    const auto manifest = manifest_of({0, 1, name, {}});
    if (!manifest) throw std::logic_error{"committed, and there is no manifest"};
    ExportedModel whole;
    const TruePart* first = nullptr;
    for (const distrib::LogPart& part : manifest->parts) {
      const TruePart& one = parts_.at(part.name);
      whole.merge(one.model);
      if (first == nullptr) first = &one;
      if (synchronous_ && (one.history != first->history || one.step != manifest->step))
        throw std::logic_error{"committed parts of two histories or steps"};
      if (!synchronous_ && one.real_epoch != real_epochs_[one.shard])
        throw std::logic_error{"committed what a shard had before it was started again"};
    }
    if (whole.own.size() != ExportedModel::groups) throw std::logic_error{"committed, and not whole"};
    if (synchronous_ && !oracle(first->history, manifest->step).same_values(whole))
      throw std::logic_error{"committed, and not the state of that step"};
    truth_.insert_or_assign(name, std::move(whole));
    order_.push_back(name);
    check_bases(*manifest);
    manifests_.insert_or_assign(name, *manifest);
  }

  // A reader that begins with the bases of a position gets from the position with their rows to this one by deltas.
  void check_bases(const distrib::LogManifest& manifest) {
    const auto before = manifests_.find(manifest.before);
    if (before == manifests_.end() || manifest.is_base()) {
      if (!manifest.bases.empty()) throw std::logic_error{"bases at a position with all rows"};
      return;
    }
    if (manifest.bases == before->second.bases) return;
    if (manifest.bases.empty()) throw std::logic_error{"a position without the bases of the one before"};
    auto at = before;
    for (; !at->second.is_place_of(manifest.bases); at = manifests_.find(at->second.before))
      if (at->second.is_base() || !manifests_.contains(at->second.before))
        throw std::logic_error{"named bases whose rows no position has"};
    ++named_bases_;
    for (const distrib::LogBase& base : manifest.bases) names_of_bases_.insert(base.name);
  }

  auto oracle(const History& history, std::uint64_t step) -> const ExportedModel& {
    auto& states = oracles_[history];
    if (states.empty()) states.push_back(ExportedModel::with_groups({0, 1, 2, 3, 4, 5}));
    while (states.size() <= step) {
      const std::uint64_t now = states.size();
      std::uint64_t salt = 0;
      for (const auto& [since, settings] : history)
        if (since < now) salt = settings;
      std::set<std::uint64_t> ignored;
      states.push_back(states.back());
      states.back().update(now, salt, ignored, ExportMistake::none);
    }
    return states[step];
  }

  // The reader.
  void new_reader() {
    distrib::detail::FollowChecks checks;
    checks.hashes = mistake_ != ExportMistake::no_checksum;
    checks.chain = mistake_ != ExportMistake::skip_gaps;
    checks.order = mistake_ != ExportMistake::go_back;
    follow_.emplace(checks);
    replica_ = std::make_unique<distrib::ReplicaStore>();
    reading_.clear();
    last_ = 0;
  }
  void read() {
    if (reading_.empty()) {
      if (!replica_->settle()) return;
      told([&](auto& out) { follow_->poll(out); });
      return;
    }
    const distrib::FollowAction action = std::move(reading_.front());
    reading_.pop_front();
    if (std::holds_alternative<distrib::follow_action::ReadHead>(action)) {
      const auto head = some_head();
      told([&](auto& out) { follow_->head_read(head, out); });
    } else if (const auto* const asked = std::get_if<distrib::follow_action::Read>(&action)) {
      const auto at = store_.objects.find(asked->name);
      if (at == store_.objects.end() || at->second.since > now_ || (damage_ != 0 && chance(damage_ / 2)))
        return told([&](auto& out) { follow_->object_failed(out); });
      std::vector<std::byte> bytes = at->second.bytes;
      if (damage_ != 0 && chance(damage_)) damage(bytes);
      reads_base_ |= asked->name.find("-base-") != std::string::npos;
      told([&](auto& out) {
        follow_->object_read(bytes, out);
        for (const auto& one : out)
          if (const auto* const part = std::get_if<distrib::follow_action::Apply>(&one)) replica_->apply(part->part);
      });
    } else if (const auto* const begin = std::get_if<distrib::follow_action::Begin>(&action)) {
      reads_base_ = false;
      replica_->begin(begin->from_base, begin->manifest);
    } else if (const auto* const finish = std::get_if<distrib::follow_action::Finish>(&action)) {
      const std::error_code error = replica_->finish(finish->manifest, digests_);
      follow_->applied(error);
      if (error) ++refused_;
      else accepted();
    } else if (std::holds_alternative<distrib::follow_action::Abandon>(action)) {
      replica_->abandon();
    }
  }
  // What is begun is performed at once: parts are applied as they are read.
  template <class Happens>
  void told(Happens happens) {
    distrib::FollowActions out;
    happens(out);
    for (auto& one : out)
      if (!std::holds_alternative<distrib::follow_action::Apply>(one)) reading_.push_back(std::move(one));
    while (!reading_.empty() && std::holds_alternative<distrib::follow_action::Begin>(reading_.front())) read();
  }
  static void damage(std::vector<std::byte>& bytes) {
    distrib::Error error;
    const auto part = distrib::parse_log_part(bytes, error);
    std::size_t at = bytes.size() / 2;
    if (part && !part->tables.empty() && !part->tables[0].values.empty())
      at = static_cast<std::size_t>(part->tables[0].values.data() - bytes.data());
    bytes[at] ^= std::byte{1};
  }
  auto some_head() -> std::optional<distrib::LogHead> {
    std::vector<const distrib::LogHead*> choices;
    std::size_t sure = 0;
    while (sure < store_.heads.size() && store_.heads[sure].first <= now_) ++sure;
    const std::size_t first = sure - std::min<std::size_t>(sure, 1 + (is_calm_ ? 0 : below(4)));
    for (std::size_t i = first; i < store_.heads.size(); ++i) choices.push_back(&store_.heads[i].second);
    if (choices.empty()) return std::nullopt;
    return *choices[is_calm_ ? choices.size() - 1 : below(choices.size())];
  }
  void accepted() {
    ++served_;
    if (reads_base_) ++begun_with_bases_;
    const auto truth = truth_.find(follow_->manifest_name());
    if (truth == truth_.end()) throw std::logic_error{"served, and never committed"};
    const distrib::ReplicaStore::Reader reader{*replica_};
    ExportedModel has;
    std::vector<std::uint64_t> keys;
    for (std::uint64_t key = 0; key < ExportedModel::keys; ++key) keys.push_back(key);
    std::vector<float> rows(2 * keys.size());
    reader.table("t")->rows(reader.version(), keys, rows.data());
    for (const std::uint64_t key : keys) {
      std::uint64_t value = 0;
      std::memcpy(&value, rows.data() + 2 * key, sizeof value);
      if (value != 0) has.rows[key] = value;
    }
    for (std::uint64_t group = 0; group < ExportedModel::groups; ++group)
      std::memcpy(&has.dense[group], reader.variable("d")->values.data() + 8 * group, 8);
    if (!has.same_values(truth->second)) throw std::logic_error{"served, and no state that was committed"};
    const auto at = static_cast<std::size_t>(std::ranges::find(order_, truth->first) - order_.begin());
    if (at + 1 < last_) throw std::logic_error{"the reader went back in the log"};
    last_ = at + 1;
  }

  // What happens.
  void event(bool calm) {
    ++now_;
    const std::uint64_t dice = below(1000);
    std::vector<Process*> live;
    for (const auto& shard : shards_)
      if (shard->alive) live.push_back(shard.get());
    const auto any = [&]() -> Process& { return *live[below(live.size())]; };
    if (dice < 220) {
      if (!live.empty()) advance(any());
    } else if (dice < 600) {
      if (!live.empty()) perform(any());
    } else if (dice < 650) {
      if (zombies_.empty()) return;
      Process& zombie = *zombies_[below(zombies_.size())];
      if (chance(300)) advance(zombie);
      else perform(zombie);
    } else if (dice < 970) {
      read();
    } else if (dice < 983) {
      for (const auto& shard : shards_)
        if (!shard->alive) return start(*shard, newest(*shard->disk));
    } else if (calm) {
      return;
    } else if (dice < 988) {
      if (live.empty()) return;
      Process& shard = any();
      ++kills_;
      if (chance(300)) add_zombie(shard);
      shard.alive = false;
    } else if (dice < 991) {
      new_reader();
    } else if (dice < 993) {
      if (synchronous_) restore(common_cut());
    } else if (dice < 995) {
      if (live.empty()) return;
      Process& shard = any();
      shard.disk = std::make_shared<Disk>();
      shard.alive = false;
      if (synchronous_) restore(0);
    } else if (dice < 998) {
      rewind();
    }
  }
  void add_zombie(const Process& shard) {
    auto zombie = std::make_shared<Process>(shard);
    zombie->disk = std::make_shared<Disk>(*shard.disk);
    zombies_.push_back(std::move(zombie));
    if (zombies_.size() > 3) zombies_.erase(zombies_.begin());
  }
  auto common_cut(bool any = false) -> std::uint64_t {
    std::vector<std::uint64_t> common{0};
    for (const auto& [label, cut] : *shards_.front()->disk) {
      const bool all = std::ranges::all_of(shards_, [&](const auto& shard) {
        const auto at = shard->disk->find(label);
        return at != shard->disk->end() && at->second.lineage == cut.lineage;
      });
      if (all) common.push_back(label);
    }
    return any ? common[below(common.size())] : common.back();
  }
  // All go back to a cut that all have. Newer cuts of the same settings stay: they are as good as ever.
  void restore(std::uint64_t label) {
    for (const auto& shard : shards_) {
      shard->alive = false;
      start(*shard, shard->disk->contains(label) ? label : 0);
      drop_cuts_of_others(*shard, label);
    }
  }
  void drop_cuts_of_others(Process& shard, std::uint64_t label) {
    std::erase_if(*shard.disk, [&](const auto& cut) {
      return cut.first > label && cut.second.lineage != lineage_of(shard.history);
    });
  }
  // The operator starts the job again from an older cut, perhaps with other settings or another number of shards.
  void rewind() {
    ++rewinds_;
    const std::uint64_t label = common_cut(true);
    const std::uint64_t old_shards = shards_.size();
    const std::uint64_t shards = chance(600) ? old_shards : 1 + below(3);
    const std::uint64_t old_salt = shards_.front()->salt;
    const std::uint64_t salt = chance(400) ? old_salt : mixed(old_salt, now_);
    const auto old = shards_;
    ExportedModel whole;
    for (const auto& shard : old) {
      if (chance(300) && shard->alive) add_zombie(*shard);
      if (label != 0) whole.merge(shard->disk->at(label).model);
    }
    begin_job(shards, salt);
    for (const auto& shard : shards_) {
      if (shards == old_shards) {  // newer cuts stay on its disk
        *shard->disk = *old[shard->number]->disk;
        for (const auto& [at, cut] : *shard->disk)
          steps_[{shard->disk.get(), at}] = step_of_label(*old[shard->number], at);
        if (!synchronous_) std::erase_if(*shard->disk, [&](const auto& cut) { return cut.first > label; });
      } else if (label != 0) {
        const Cut& cut = old.front()->disk->at(label);
        (*shard->disk)[label] = {whole.only(groups_of(*shard)), cut.history, cut.lineage, {}};
        steps_[{shard->disk.get(), label}] = step_of_label(*old.front(), label);
      }
      if (shards == old_shards) shard->kept_base = old[shard->number]->kept_base;
      start(*shard, label);
      if (synchronous_) drop_cuts_of_others(*shard, label);
    }
  }

  std::uint64_t state_;
  ExportMistake mistake_;
  bool digests_;
  bool synchronous_ = true;
  bool writes_later_ = false;
  bool is_calm_ = false;
  std::uint64_t every_ = 1;
  std::uint64_t base_every_ = 50;
  std::uint64_t cut_every_ = 1;
  std::uint64_t slow_ = 0;
  std::uint64_t damage_ = 0;
  std::uint64_t now_ = 0;
  Store store_{this, {}, {}, 0, {}};
  std::vector<std::shared_ptr<Process>> shards_;
  std::vector<std::shared_ptr<Process>> zombies_;
  std::map<std::pair<const Disk*, std::uint64_t>, std::uint64_t> steps_;  // of cuts
  std::map<std::uint32_t, std::uint64_t> real_epochs_;
  std::map<std::string, TruePart> parts_;
  std::map<std::string, ExportedModel> truth_;  // by manifest
  std::map<std::string, distrib::LogManifest> manifests_;
  std::set<std::string> names_of_bases_;  // that positions name
  std::vector<std::string> order_;
  std::map<History, std::vector<ExportedModel>> oracles_;
  std::optional<distrib::LogManifest> newest_manifest_;
  std::string committed_manifest_;
  std::optional<distrib::FollowCore> follow_;
  std::unique_ptr<distrib::ReplicaStore> replica_;
  std::deque<distrib::FollowAction> reading_;
  std::size_t last_ = 0;
  std::uint64_t commits_ = 0;
  std::uint64_t served_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t kills_ = 0;
  std::uint64_t rewinds_ = 0;
  std::uint64_t named_bases_ = 0;
  std::uint64_t begun_with_bases_ = 0;
  bool reads_base_ = false;  // in this attempt
};

}  // namespace simulation
