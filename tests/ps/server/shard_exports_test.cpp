// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/server/shard_exports.hpp>

#include <distrib/core/half.hpp>
#include <distrib/export_log/directory_log.hpp>
#include <distrib/export_log/log_part.hpp>
#include <distrib/export_log/retire_log.hpp>
#include <distrib/ps/server/perform_export.hpp>
#include <distrib/serve/model_replica.hpp>

#include "ps/exported_store.hpp"
#include "support/catch.hpp"
#include "support/counted_memory.hpp"
#include "support/sanitizers.hpp"
#include "support/temp_directory.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

using distrib::DirectoryLog;
using distrib::ExportSettings;
using distrib::ExportWork;
using distrib::Instant;
using distrib::Lineage;
using distrib::ShardExports;
using distrib::ShardStore;
using namespace std::chrono_literals;

namespace {

/// A shard that is trained and exported, and its work with files.
struct ExportingShard {
  ExportingShard(const distrib::Job& of, std::uint32_t number, const ExportSettings& settings, std::uint64_t random,
                 float learning_rate = 0.1F)
      : job{of},
        store{std::make_unique<ShardStore>(job, number, exported_store::updaters(learning_rate),
                                           std::numeric_limits<std::uint64_t>::max())},
        exports{std::make_unique<ShardExports>(job, number, settings, random)} {
    store->keep_previous(true);
  }
  void open_at(const distrib::Cut* cut) {
    if (cut != nullptr) store->load(*cut);
    step = cut != nullptr ? cut->step : 0;
    exports->opened(*store, step, cut != nullptr ? cut->lineage : Lineage{});
  }
  void train() { exported_store::update(*store, 3, ++step); }

  /// Does one piece of work, if there is one.
  auto work(Instant now) -> bool {
    std::optional<ExportWork> next = exports->next(now);
    if (!next) next = exports->next_beside();
    if (!next) return false;
    perform(std::move(*next), now);
    return true;
  }
  void perform(ExportWork work, Instant now) {
    DirectoryLog log{exports->settings().directory};
    perform_export(log, *exports->writer(), work);
    exports->performed(std::move(work), now);
  }

  distrib::Job job;
  std::unique_ptr<ShardStore> store;
  std::unique_ptr<ShardExports> exports;
  std::uint64_t step = 0;
};

/// Returns what a piece of work is.
auto name_of(const ExportWork& work) -> std::string {
  if (const auto* const part = std::get_if<std::shared_ptr<distrib::TakenPart>>(&work.what))
    return "part " + std::to_string((*part)->step);
  if (std::holds_alternative<ExportWork::Retire>(work.what)) return "retire";
  if (const auto* const base = std::get_if<ExportWork::Base>(&work.what))
    return "base " + std::to_string(base->rows->step);
  const auto& action = std::get<distrib::ExportAction>(work.what);
  if (std::holds_alternative<distrib::export_action::ReadLog>(action)) return "log";
  if (std::holds_alternative<distrib::export_action::ReadVotes>(action)) return "votes";
  if (std::holds_alternative<distrib::export_action::SwapHead>(action)) return "head";
  if (std::holds_alternative<distrib::export_action::Remove>(action)) return "remove";
  const std::string& name = std::get<distrib::export_action::Put>(action).name;
  return name.starts_with("votes/") ? "vote " + std::to_string(std::stoull(name.substr(6, 20))) : "manifest";
}

/// The next pieces of work of a shard; each takes as long as told. What `fails` says fails, once.
struct WorkTable {
  ExportingShard& shard;
  Instant& now;
  std::chrono::milliseconds each{0};
  std::string fails = {};

  auto one() -> std::string {
    std::optional<ExportWork> next = shard.exports->next(now);
    if (!next) next = shard.exports->next_beside();
    if (!next) return {};
    std::string name = name_of(*next);
    now += each;
    if (name == fails) {
      next->failure = {std::make_error_code(std::errc::no_space_on_device), "log"};
      fails.clear();
      shard.exports->performed(std::move(*next), now);
      now += ShardExports::pause;
      return name + " fails";
    }
    DirectoryLog log{shard.exports->settings().directory};
    perform_export(log, *shard.exports->writer(), *next);
    REQUIRE_FALSE(next->failure);
    shard.exports->performed(std::move(*next), now);
    return name;
  }
  auto list(std::size_t most = 1000) -> std::vector<std::string> {
    std::vector<std::string> names;
    while (names.size() < most) {
      std::string name = one();
      if (name.empty()) break;
      names.push_back(std::move(name));
    }
    return names;
  }
};

using Names = std::vector<std::string>;

/// Returns the row of a key of a table, as a pull gives it.
auto pulled(ShardStore& store, std::size_t table, std::uint64_t key) -> std::vector<float> {
  distrib::PullRows pull;
  pull.keys.resize(store.layout().tables().size());
  pull.keys[table] = {key};
  const distrib::SharedBuffer values = store.values(pull);
  std::vector<float> row(store.layout().tables()[table].info().dim);
  std::memcpy(row.data(), values->data() + store.layout().wire_block_bytes(), row.size() * sizeof(float));
  return row;
}

// Equal to the bit.
auto same_bits(const std::vector<float>& a, const std::vector<float>& b) -> bool {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// The values of each step, computed without exports.
class StepOracle {
 public:
  explicit StepOracle(std::uint32_t shards) {
    const distrib::Job job = exported_store::job(shards);
    for (std::uint32_t shard = 0; shard < shards; ++shard)
      stores_.emplace_back(std::make_unique<ShardStore>(job, shard, exported_store::updaters(),
                                                        std::numeric_limits<std::uint64_t>::max()));
  }
  /// Trains up to a step that is not below the last one.
  void train_to(std::uint64_t step) {
    for (; step_ < step; ++step_)
      for (auto& store : stores_) exported_store::update(*store, 3, step_ + 1);
  }
  /// Checks that a view has what a pull of this step would give, with rows rounded to `rows_as`.
  void check(const distrib::ModelView& view, distrib::FloatFormat rows_as = distrib::FloatFormat::float32) {
    static const char* const names[] = {"words", "classes", "half"};
    std::vector<std::uint64_t> keys = exported_store::universe();
    keys.push_back(~std::uint64_t{0});  // a key that was never trained
    for (std::size_t table = 0; table < 3; ++table) {
      CAPTURE(names[table]);
      if (table == 1) {
        keys.clear();
        for (std::uint64_t key = 0; key < exported_store::numbered_rows; ++key) keys.push_back(key);
      }
      if (table == 2) keys = exported_store::universe();
      const std::size_t dim = stores_[0]->layout().tables()[table].info().dim;
      for (const std::uint64_t key : keys) {
        std::vector<float> row(dim);
        view.rows(names[table], std::span{&key, 1}, row);
        for (auto& store : stores_) {
          if (!store->layout().tables()[table].owns(key)) continue;
          std::vector<float> expected = pulled(*store, table, key);
          if (rows_as == distrib::FloatFormat::bfloat16)
            for (float& value : expected) value = distrib::detail::from_bfloat16(distrib::detail::to_bfloat16(value));
          REQUIRE(same_bits(expected, row));
        }
      }
    }
    for (auto& store : stores_)
      for (const auto& entry : store->layout().entries()) {
        const auto whole = view.variable(entry.name).values.as<float>();
        const auto begin = static_cast<std::size_t>(entry.slice.start.extents()[0]);
        for (std::size_t i = 0; i < entry.size_bytes / sizeof(float); ++i)
          REQUIRE(whole[begin + i] == store->dense()->as<float>()[entry.offset_bytes / sizeof(float) + i]);
      }
  }

 private:
  std::vector<std::unique_ptr<ShardStore>> stores_;
  std::uint64_t step_ = 0;
};

// Checks that the parts of a position have no more bytes than what they must have, and 4 KiB. Returns their bytes.
auto check_size(const std::string& directory, const distrib::LogManifest& manifest) -> std::size_t {
  std::size_t all = 0;
  for (const distrib::LogPart& part : manifest.parts) {
    DirectoryLog log{directory};
    distrib::Error error;
    const std::vector<std::byte> bytes = log.get(part.name, part.bytes, error);
    const auto contents = distrib::parse_log_part(bytes, error);
    REQUIRE(contents);
    std::size_t most = 4096;
    for (const distrib::PartTable& table : contents->tables) {
      const std::size_t element = table.format == distrib::FloatFormat::float32 ? 4 : 2;
      most += table.rows() * (8 + element * table.dim) + 8 * table.gone_keys();
    }
    for (const distrib::PartSlice& slice : contents->slices) most += slice.bytes.size();
    CHECK(bytes.size() <= most);
    all += bytes.size();
  }
  return all;
}

template <class T> auto buffer_of(const std::vector<T>& all) -> distrib::SharedBuffer {
  auto made = std::make_shared<distrib::AlignedBuffer>(all.size() * sizeof(T));
  if (!all.empty()) std::memcpy(made->data(), all.data(), made->size());
  return made;
}

/// Returns what a shard has of the cuts of all shards of a job that is divided in another way.
auto divided(const distrib::Job& from, const std::vector<distrib::Cut>& cuts, const distrib::ShardLayout& to)
    -> distrib::Cut {
  struct Entry {
    distrib::KeyUse use;
    std::vector<float> row;  // with its slot; empty: the key is only counted
  };
  std::vector<float> dense(6);
  std::vector<float> slots(6);
  std::vector<std::map<std::uint64_t, Entry>> tables(to.tables().size());
  for (std::uint32_t shard = 0; shard < cuts.size(); ++shard) {
    const distrib::ShardLayout layout{from, shard};
    const distrib::Cut& cut = cuts[shard];
    const distrib::ShardLayout::Entry& entry = layout.entries()[0];
    const auto begin = static_cast<std::size_t>(entry.slice.start.extents()[0]);
    std::copy_n(cut.values->as<float>().data(), entry.size_bytes / sizeof(float), dense.data() + begin);
    std::copy_n(cut.slots[0]->as<float>().data(), entry.size_bytes / sizeof(float), slots.data() + begin);
    for (std::size_t table = 0; table < tables.size(); ++table) {
      const std::size_t floats = 2 * layout.tables()[table].info().dim;
      const auto keys = cut.tables[table].keys->as<std::uint64_t>();
      const auto uses = cut.tables[table].uses->as<distrib::KeyUse>();
      const auto rows = cut.tables[table].rows->as<float>();
      for (std::size_t i = 0; i < keys.size(); ++i) {
        Entry& made = tables[table][keys[i]];
        if (!uses.empty()) made.use = uses[i];
        if (i < rows.size() / floats) made.row.assign(rows.data() + i * floats, rows.data() + (i + 1) * floats);
      }
    }
  }
  distrib::Cut cut;
  cut.step = cuts[0].step;
  cut.lineage = cuts[0].lineage;
  const distrib::ShardLayout::Entry& entry = to.entries()[0];
  const auto begin = static_cast<std::ptrdiff_t>(entry.slice.start.extents()[0]);
  std::vector<float> block(to.block_bytes() / sizeof(float));
  std::copy_n(dense.begin() + begin, entry.size_bytes / sizeof(float), block.begin());
  std::vector<float> slot(to.groups()[0].size_bytes / sizeof(float));
  std::copy_n(slots.begin() + begin, entry.size_bytes / sizeof(float), slot.begin());
  cut.values = buffer_of(block);
  cut.slots = {buffer_of(slot)};
  for (std::size_t table = 0; table < tables.size(); ++table) {
    std::vector<std::uint64_t> keys;
    std::vector<distrib::KeyUse> uses;
    std::vector<float> rows;
    for (const bool has_row : {true, false})
      for (const auto& [key, made] : tables[table]) {
        if (made.row.empty() == has_row || !to.tables()[table].owns(key)) continue;
        keys.push_back(key);
        if (to.tables()[table].info().any_key()) uses.push_back(made.use);
        rows.insert(rows.end(), made.row.begin(), made.row.end());
      }
    cut.tables.push_back({buffer_of(keys), buffer_of(uses), buffer_of(rows)});
  }
  return cut;
}

}  // namespace

TEST_CASE("shards that export: a replica has what a pull of that step gives, also when shards are killed and go back",
          "[ps]") {
  const auto [shards, rows_as] =
      GENERATE(std::pair{1U, distrib::FloatFormat::float32}, std::pair{2U, distrib::FloatFormat::float32},
               std::pair{2U, distrib::FloatFormat::bfloat16});
  const support::TempDirectory directory;
  const distrib::Job job = exported_store::job(shards);
  ExportSettings settings;
  settings.directory = directory / "log";
  settings.every_steps = 4;
  settings.rows_as = rows_as;
  std::vector<std::unique_ptr<ExportingShard>> all;
  std::vector<std::map<std::uint64_t, distrib::Cut>> cuts(shards);
  std::mt19937_64 random{shards};
  Instant now{};
  const auto start = [&](std::uint32_t number) {
    if (all.size() <= number) all.resize(number + 1);
    all[number] = std::make_unique<ExportingShard>(job, number, settings, 1 + random() % 1000);
    const auto newest = cuts[number].empty() ? nullptr : &cuts[number].rbegin()->second;
    all[number]->open_at(newest);
  };
  for (std::uint32_t shard = 0; shard < shards; ++shard) start(shard);
  distrib::ModelReplica replica{{settings.directory}};
  std::uint64_t served = 0;
  std::size_t deltas = 0;
  std::map<std::uint64_t, distrib::RowDigest> digests;  // of the tables of each step that was served
  const int events = DISTRIB_TEST_ADDRESS_SANITIZER ? 1500 : 6000;
  const auto look = [&] {
    if (!replica.poll()) return;
    const distrib::ModelView view = replica.view();
    CHECK(view.position() > served);
    served = view.position();
    if (!view.manifest().is_base()) ++deltas;
    CHECK(check_size(settings.directory, view.manifest()) > 0);
    distrib::RowDigest sum;
    for (const distrib::LogTable& table : view.manifest().tables) sum += table.digest;
    const auto [at, is_new] = digests.emplace(view.step(), sum);
    CHECK(at->second == sum);
    if (!is_new) return;
    StepOracle fresh{shards};
    fresh.train_to(view.step());
    fresh.check(view, settings.rows_as);
  };
  for (int event = 0; event < events && all[0]->step < 400; ++event) {
    now += std::chrono::milliseconds{random() % 40};
    ExportingShard& one = *all[random() % shards];
    const std::uint64_t least = (*std::ranges::min_element(all, {}, [](auto& s) { return s->step; }))->step;
    switch (random() % 40) {
      case 0: {  // kill -9
        const std::uint32_t number = static_cast<std::uint32_t>(random() % shards);
        if (random() % 3 == 0) start(number);
        break;
      }
      case 1:  // a durable cut
        for (std::uint32_t shard = 0; shard < shards; ++shard)
          if (all[shard].get() == &one) {
            distrib::Cut cut = exported_store::cut_of(*one.store, one.step);
            cut.lineage = Lineage{}.continued(0, settings_hash(job));
            if (one.step == 0) cut.lineage = {};
            cuts[shard][one.step] = std::move(cut);
          }
        break;
      case 2:  // Restore: all go back to a cut that all have
        if (random() % 4 != 0) break;
        for (auto at = cuts[0].rbegin(); at != cuts[0].rend(); ++at) {
          if (!std::ranges::all_of(cuts, [&](auto& own) { return own.contains(at->first); })) continue;
          for (std::uint32_t shard = 0; shard < shards; ++shard) {
            all[shard]->store->load(cuts[shard].at(at->first));
            all[shard]->step = at->first;
          }
          break;
        }
        break;
      case 3:
      case 4: look(); break;
      default:
        if (random() % 3 == 0 && one.step < least + 2) one.train();
        else if (std::optional<ExportWork> beside; random() % 4 == 0 && (beside = one.exports->next_beside()))
          one.perform(std::move(*beside), now);
        else one.work(now);
    }
  }
  for (int calm = 0; calm < 3000; ++calm) {
    now += 50ms;
    for (auto& shard : all) {
      if (shard->step < 420) shard->train();
      while (shard->work(now)) {
      }
    }
    if (std::ranges::all_of(all, [](auto& shard) { return shard->exports->status().step == 420; })) break;
  }
  for (auto& shard : all) CHECK(shard->exports->status().step == 420);
  look();
  CHECK(replica.view().step() == 420);
  CHECK(replica.status().counts.wrong_digests == 0);
  CHECK(deltas > 0);
  // the digest of the log is that of the trainer, computed at once
  std::vector<distrib::RowDigest> trained(3);
  for (auto& shard : all) {
    const std::vector<distrib::RowDigest> own = shard->store->tables()->tracked_digests();
    for (std::size_t table = 0; table < 3; ++table) trained[table] += own[table];
  }
  const distrib::ModelView view = replica.view();
  REQUIRE(view.manifest().tables.size() == 3);  // by name: classes, half, words
  CHECK(view.manifest().tables[0].digest == trained[1]);
  CHECK(view.manifest().tables[1].digest == trained[2]);
  CHECK(view.manifest().tables[2].digest == trained[0]);
}

TEST_CASE("a shard that exports: what could not be written is written later, and steps go on", "[ps]") {
  const support::TempDirectory directory;
  ExportSettings settings;
  settings.directory = directory / "log";
  settings.every_steps = 2;
  ExportingShard one{exported_store::job(1), 0, settings, 5};
  one.open_at(nullptr);
  Instant now{};
  while (one.work(now)) {
  }
  const auto fails = [&] {
    std::optional<ExportWork> next = one.exports->next(now);
    REQUIRE(next);
    next->failure = {std::make_error_code(std::errc::no_space_on_device), "log"};
    one.exports->performed(std::move(*next), now);
    CHECK_FALSE(one.exports->next(now));  // after a pause
    CHECK(one.exports->wake() == now + ShardExports::pause);
    CHECK(one.exports->take_failure().code == std::errc::no_space_on_device);
    CHECK_FALSE(one.exports->take_failure());
    now += ShardExports::pause;
  };
  one.train();
  one.train();
  fails();  // the part
  one.train();
  one.train();
  fails();
  CHECK(one.work(now));  // the part of step 2
  fails();  // the vote for it
  while (one.work(now)) {
  }
  CHECK(one.exports->status().step == 4);
  CHECK(one.exports->status().failures == 3);
  // Ten deltas have the bytes of all rows twice: while nothing is written, what is due after these is left out.
  for (int i = 0; i < 40; ++i) one.train();
  CHECK(one.exports->status().left_out == 10);
  while (one.work(now)) {
  }
  CHECK(one.exports->status().step == 24);
  one.train();
  one.train();
  while (one.work(now)) {
  }
  distrib::ModelReplica replica{{settings.directory}};
  REQUIRE(replica.poll());
  CHECK(replica.view().step() == 46);
  StepOracle oracle{1};
  oracle.train_to(46);
  oracle.check(replica.view());
}

TEST_CASE("a shard that exports commits a part before it writes the next one", "[ps]") {
  const support::TempDirectory directory;
  ExportSettings settings;
  settings.directory = directory / "log";
  settings.every_steps = 2;
  ExportingShard one{exported_store::job(1), 0, settings, 5};
  one.open_at(nullptr);
  Instant now{};
  WorkTable work{one, now};
  CHECK(work.list() == Names{"log", "head"});
  for (int i = 0; i < 8; ++i) one.train();
  CHECK(work.list(14) == Names{"part 2", "vote 2", "log", "votes", "manifest", "head", "remove",  //
                               "part 4", "vote 4", "log", "votes", "manifest", "head", "remove"});
  CHECK(one.exports->status().step == 4);
  one.train();
  one.train();
  CHECK(work.list() == Names{"part 6",  "vote 6",  "log", "votes", "manifest", "head", "remove",  //
                             "part 8",  "vote 8",  "log", "votes", "manifest", "head", "remove",  //
                             "part 10", "vote 10", "log", "votes", "manifest", "head", "remove",  //
                             "retire"});  // position 1 has all rows; no position waits for that
  CHECK(one.exports->status().step == 10);

  for (int i = 0; i < 4; ++i) one.train();
  now += 1s;
  work.fails = "part 12";
  CHECK(work.list(3) == Names{"part 12 fails", "part 12", "vote 12"});  // also if it is time to look at the log
  work.fails = "log";
  // After a failure a part is next: what fails does not keep parts from being written.
  CHECK(work.list(5) == Names{"log fails", "part 14", "vote 12", "vote 14", "log"});
  CHECK(work.list() == Names{"votes", "manifest", "head", "remove",  //
                             "log", "votes", "manifest", "head", "remove"});
  CHECK(one.exports->status().step == 14);
}

TEST_CASE("shards that export look at the log once between two parts, and again while that leads to something",
          "[ps]") {
  const support::TempDirectory directory;
  ExportSettings settings;
  settings.directory = directory / "log";
  settings.every_steps = 2;
  const distrib::Job job = exported_store::job(2);
  ExportingShard first{job, 0, settings, 5};
  ExportingShard second{job, 1, settings, 5};
  Instant now{};
  WorkTable of_first{first, now, 1s};  // longer than `poll_every`: it is always time to look
  WorkTable of_second{second, now, 1s};
  for (ExportingShard* const shard : {&first, &second}) shard->open_at(nullptr);
  CHECK(of_first.list(2) == Names{"log", "head"});
  CHECK(of_second.list(2) == Names{"log", "head"});
  for (int i = 0; i < 8; ++i) first.train();
  for (int i = 0; i < 2; ++i) second.train();
  CHECK(of_first.list(12) == Names{"log",  //
                                   "part 2", "vote 2", "log", "votes",  //
                                   "part 4", "vote 4", "log", "votes", "votes",  //
                                   "part 6", "vote 6"});
  CHECK(of_first.one() == "log");
  CHECK(of_second.list(5) == Names{"log", "part 2", "vote 2", "log", "votes"});
  CHECK(of_first.list(2) == Names{"votes", "manifest"});
  CHECK(of_second.list(2) == Names{"manifest", "head"});
  CHECK(second.exports->status().step == 2);
  CHECK(of_first.one() == "head");  // the other shard was faster
  CHECK(first.exports->status().step == 0);
  CHECK(of_first.list(5) == Names{"log", "remove", "votes", "votes", "part 8"});
  CHECK(first.exports->status().step == 2);
  // The shard that votes last commits at once, whatever waits at the others.
  for (int i = 0; i < 2; ++i) second.train();
  CHECK(of_second.list(7) == Names{"remove", "part 4", "vote 4", "log", "votes", "manifest", "head"});
  CHECK(second.exports->status().step == 4);
}

TEST_CASE("a shard whose job is done exports its last step again if its log was compacted meanwhile", "[ps]") {
  const support::TempDirectory directory;
  ExportSettings settings;
  settings.directory = directory / "log";
  settings.every_steps = 4;
  distrib::Job job = exported_store::job(1);
  job.total_steps = 9;
  ExportingShard one{job, 0, settings, 5};
  one.open_at(nullptr);
  Instant now{};
  WorkTable work{one, now};
  work.list();
  for (int i = 0; i < 4; ++i) one.train();
  work.list();
  // The next position has the same rows, in a part of its own.
  DirectoryLog log{settings.directory};
  distrib::Error error;
  distrib::StampedHead head = log.read_head(error).value();
  distrib::LogManifest base = list_log(log, 1, error).front().manifest;
  base.before = head.head.manifest;
  base.position = ++head.head.position;
  const std::vector<std::byte> bytes = log.get(base.parts[0].name, base.parts[0].bytes, error);
  base.parts[0].name = distrib::part_name(1000, 0, 1, bytes);
  log.put(base.parts[0].name, bytes, error);
  const std::string text = to_text(base);
  head.head.manifest = distrib::manifest_name(base.position, text);
  log.put(head.head.manifest, distrib::as_bytes(text), error);
  REQUIRE(log.swap_head(head.version, head.head, error));

  for (int i = 0; i < 5; ++i) one.train();
  CHECK_FALSE(one.exports->may_end(now));
  CHECK(work.list(5) == Names{"part 8", "vote 8", "log", "part 9", "part 9"});
  work.list();
  CHECK(one.exports->may_end(now));
  CHECK_FALSE(one.exports->has_work());
  distrib::ModelReplica replica{{settings.directory}};
  REQUIRE(replica.poll());
  CHECK(replica.view().step() == 9);
}

TEST_CASE("a shard whose job is done ends when its last step is exported, however late it could begin", "[ps]") {
  const support::TempDirectory directory;
  ExportSettings settings;
  settings.directory = directory / "log";
  settings.every_steps = 4;
  distrib::Job job = exported_store::job(1);
  job.total_steps = 9;
  ExportingShard one{job, 0, settings, 5};
  one.open_at(nullptr);
  Instant now{};
  const auto fails = [&] {
    std::optional<ExportWork> next = one.exports->next(now);
    REQUIRE(next);
    next->failure = {std::make_error_code(std::errc::io_error), "log"};
    one.exports->performed(std::move(*next), now);
    CHECK_FALSE(one.exports->may_end(now));
    now += ShardExports::pause;
  };
  for (int step = 1; step <= 9; ++step) one.train();  // before the log could be read
  fails();
  fails();
  while (one.work(now)) {
  }
  CHECK(one.exports->may_end(now));
  CHECK_FALSE(one.exports->has_work());
  distrib::ModelReplica replica{{settings.directory}};
  REQUIRE(replica.poll());
  CHECK(replica.view().step() == 9);

  ExportingShard away{job, 0, {directory / "file" / "log", 4}, 5};
  away.open_at(nullptr);
  std::ofstream{directory / "file"} << "no directory";
  for (int step = 1; step <= 9; ++step) away.train();
  CHECK_FALSE(away.exports->may_end(now));
  const Instant end = now + ShardExports::last_patience;
  for (; now < end; now += ShardExports::pause) {
    while (away.work(now)) {
    }
    CHECK_FALSE(away.exports->may_end(now));
    REQUIRE(away.exports->wake());
    CHECK(*away.exports->wake() <= end);
  }
  CHECK(away.exports->may_end(now));
  CHECK(away.exports->has_work());  // so its service says that the last step is missing
}

TEST_CASE("a shard that exports by time: it exports the steps that the chief names, and the last one", "[ps]") {
  const support::TempDirectory directory;
  ExportSettings settings;
  settings.directory = directory / "log";
  settings.every = 500ms;
  distrib::Job job = exported_store::job(1);
  job.total_steps = 9;
  ExportingShard one{job, 0, settings, 5};
  one.open_at(nullptr);
  const Instant now{};
  while (one.work(now)) {
  }
  std::vector<std::uint64_t> steps;
  for (std::uint64_t step = 1; step <= 9; ++step) {
    if (step == 3) one.exports->name(3, 1);
    if (step == 5) {
      one.exports->name(5, 2);
      one.exports->name(2, 3);  // done already
      one.exports->name(6, 0);  // not named
    }
    one.train();
    while (one.work(now)) {
    }
    if (const std::uint64_t of = one.exports->status().step; of != 0 && (steps.empty() || steps.back() != of))
      steps.push_back(of);
  }
  CHECK(steps == std::vector<std::uint64_t>{3, 5, 9});
}

TEST_CASE("a shard that starts where the log ends goes on with deltas, and exports its state if the log lacks it",
          "[ps]") {
  const support::TempDirectory directory;
  ExportSettings settings;
  settings.directory = directory / "log";
  settings.every_steps = 5;
  const distrib::Job job = exported_store::job(1);
  const Instant now{};
  const auto newest = [&] {
    DirectoryLog log{settings.directory};
    distrib::Error error;
    auto list = list_log(log, 1, error);
    REQUIRE_FALSE(error);
    return list.front().manifest;
  };
  const auto finish = [&](ExportingShard& shard) {
    while (shard.work(now)) {
    }
  };
  ExportingShard first{job, 0, settings, 5};
  first.open_at(nullptr);
  finish(first);
  for (int i = 0; i < 5; ++i) first.train();
  finish(first);
  CHECK(newest().is_base());
  const auto cut_with_lineage = [&](ExportingShard& shard) {
    distrib::Cut cut = exported_store::cut_of(*shard.store, shard.step);
    cut.lineage = Lineage{}.continued(0, settings_hash(job));
    return cut;
  };
  const distrib::Cut at_5 = cut_with_lineage(first);
  for (int i = 0; i < 5; ++i) first.train();
  const distrib::Cut at_10 = cut_with_lineage(first);  // its part is lost with the process

  ExportingShard second{job, 0, settings, 6};
  second.open_at(&at_5);
  finish(second);
  CHECK(newest().step == 5);
  for (int i = 0; i < 2; ++i) second.train();
  finish(second);
  for (int i = 0; i < 3; ++i) second.train();
  finish(second);
  CHECK(newest().step == 10);
  CHECK_FALSE(newest().is_base());

  settings.rows_as = distrib::FloatFormat::bfloat16;
  ExportingShard rounded{job, 0, settings, 8};
  rounded.open_at(&at_10);
  finish(rounded);
  for (int i = 0; i < 5; ++i) rounded.train();
  finish(rounded);
  CHECK(newest().step == 15);
  CHECK(newest().is_base());  // no part has rows of two formats
  settings.rows_as = distrib::FloatFormat::float32;

  const support::TempDirectory other;
  settings.directory = other / "log";
  ExportingShard third{job, 0, settings, 7};
  third.open_at(&at_10);
  finish(third);
  CHECK(newest().step == 10);
  CHECK(newest().is_base());
}

TEST_CASE("shards that export write bases when the deltas since the last ones outweigh them, and not before", "[ps]") {
  const std::uint32_t shards = GENERATE(1U, 2U);
  const bool is_late = GENERATE(false, true);  // one shard learns of positions later than the other
  CAPTURE(shards, is_late);
  const support::TempDirectory directory;
  ExportSettings settings;
  settings.directory = directory / "log";
  settings.every_steps = 1;
  const distrib::Job job = exported_store::job(shards);
  std::vector<std::unique_ptr<ExportingShard>> all;
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    all.push_back(std::make_unique<ExportingShard>(job, shard, settings, 5));
    all.back()->open_at(nullptr);
  }
  constexpr std::uint64_t steps = 49;  // no number of a base
  Instant now{};
  for (std::uint64_t step = 0; step < steps; ++step) {
    now += ShardExports::poll_every;
    for (auto& shard : all) shard->train();
    for (auto& shard : all) {
      const bool is_slow = is_late && shard == all.back();
      if (std::optional<ExportWork> beside = shard->exports->next_beside()) shard->perform(std::move(*beside), now);
      for (int i = 0; i < (is_slow ? 7 : 100) && shard->work(now); ++i) {
      }
    }
  }
  for (int i = 0; i < 400; ++i) {
    now += ShardExports::poll_every;
    for (auto& shard : all) shard->work(now);
  }
  DirectoryLog log{settings.directory};
  distrib::Error error;
  std::vector<distrib::LogEntry> list = list_log(log, 1000, error);
  REQUIRE_FALSE(error);
  std::ranges::reverse(list);
  CHECK(list.back().manifest.step == steps);
  std::size_t base = 0;
  std::size_t deltas = 0;
  std::size_t largest = 0;
  std::size_t times = 0;
  std::vector<distrib::LogBase> named = list.front().manifest.bases;
  for (const distrib::LogEntry& entry : list) {
    const distrib::LogManifest& manifest = entry.manifest;
    CHECK(manifest.is_base() == (manifest.position == 1));
    const std::size_t bytes = check_size(settings.directory, manifest);
    if (std::exchange(named, manifest.bases) != manifest.bases) {
      CHECK(named[0].label % distrib::ExportRules{}.base_turn == 0);
      if (base != 0 && !is_late) CHECK(deltas > base);
      base = deltas = 0;
      for (const distrib::LogBase& one : named) base += one.bytes;
      ++times;
    }
    if (base == 0) continue;  // it counts from bases that are removed
    deltas += bytes;
    largest = std::max(largest, bytes);
    if (!is_late) CHECK(deltas <= base + 12 * largest);
    CHECK(manifest.base_bytes == base);
    CHECK(manifest.delta_bytes == deltas);
  }
  CHECK(times >= 2);
  distrib::ModelReplica replica{{settings.directory}};
  REQUIRE(replica.poll());
  CHECK(replica.view().step() == steps);
  StepOracle oracle{shards};
  oracle.train_to(steps);
  oracle.check(replica.view());
}

TEST_CASE("a shard that exports commits positions while its base is written, and a later one names the base", "[ps]") {
  const support::TempDirectory directory;
  ExportSettings settings;
  settings.directory = directory / "log";
  settings.every_steps = 1;
  ExportingShard one{exported_store::job(1), 0, settings, 5};
  one.open_at(nullptr);
  Instant now{};
  const auto newest = [&] {
    DirectoryLog log{settings.directory};
    distrib::Error error;
    return list_log(log, 1, error).at(0).manifest;
  };
  // All that a position waits for.
  const auto work = [&] {
    while (std::optional<ExportWork> next = one.exports->next(now)) one.perform(std::move(*next), now);
  };
  const auto step = [&] {
    one.train();
    work();
    CHECK(newest().step == one.step);
  };
  // Goes on until a base is due.
  const auto held_base = [&]() -> ExportWork {
    for (;;) {
      while (std::optional<ExportWork> beside = one.exports->next_beside()) {
        if (std::holds_alternative<ExportWork::Base>(beside->what)) return std::move(*beside);
        one.perform(std::move(*beside), now);
      }
      REQUIRE(one.step < 400);
      step();
    }
  };
  work();
  ExportWork base = held_base();
  const std::uint64_t step_of_base = one.step;
  CHECK(name_of(base) == "base " + std::to_string(step_of_base));
  for (int i = 0; i < 9; ++i) {  // beyond the next turn
    step();
    CHECK_FALSE(newest().is_base());
    CHECK(newest().bases.empty());
    CHECK_FALSE(one.exports->next_beside());
  }
  CHECK(one.exports->status().left_out == 0);
  one.perform(std::move(base), now);
  step();
  REQUIRE(newest().bases.size() == 1);
  CHECK(newest().bases[0].label == step_of_base);
  CHECK(newest().base_bytes == newest().bases[0].bytes);
  const auto check_begin = [&] {
    distrib::ModelReplica replica{{settings.directory}};
    REQUIRE(replica.poll());
    CHECK(replica.view().step() == one.step);
    CHECK(replica.status().counts.wrong_digests == 0);
    StepOracle oracle{1};
    oracle.train_to(one.step);
    oracle.check(replica.view());
    replica.hold(replica.view().position() - 10);  // the position whose rows the base has
    REQUIRE(replica.poll());
    CHECK(replica.view().step() == step_of_base);
    StepOracle of_base{1};
    of_base.train_to(step_of_base);
    of_base.check(replica.view());
  };
  check_begin();

  // One that cannot be written is dropped, and another one comes.
  ExportWork failing = held_base();
  const std::uint64_t failed_at = one.step;
  failing.failure = {std::make_error_code(std::errc::no_space_on_device), "log"};
  one.exports->performed(std::move(failing), now);
  CHECK(one.exports->take_failure().code == std::errc::no_space_on_device);
  CHECK(one.exports->status().failures == 1);
  step();  // no pause
  CHECK(newest().bases[0].label == step_of_base);
  ExportWork next = held_base();
  CHECK(one.step > failed_at);

  // A state that is loaded forgets the base that is being written.
  distrib::Cut cut = exported_store::cut_of(*one.store, one.step);
  cut.lineage = Lineage{}.continued(0, settings_hash(one.job));
  one.store->load(cut);
  work();
  one.perform(std::move(next), now);
  for (int i = 0; i < 4; ++i) step();
  CHECK(newest().bases[0].label == step_of_base);

  // The end does not wait for a base that is not begun.
  for (;;) {
    step();
    const std::optional<ExportWork> beside = one.exports->next_beside();
    if (!beside) continue;
    CHECK(std::holds_alternative<ExportWork::Base>(beside->what));
    CHECK_FALSE(one.exports->may_end(now));  // it is under way
    CHECK_FALSE(one.exports->has_work());
    CHECK(one.exports->may_end(now + ShardExports::last_patience));
    break;
  }
}

// Worked by a program in another language: the numbers are not computed here.
TEST_CASE("case C9: a job at position 9 goes on from an older cut with another rate, on 3 shards for 2: position 10",
          "[ps]") {
  const support::TempDirectory directory;
  ExportSettings settings;
  settings.directory = directory / "log";
  settings.every_steps = 100;
  DirectoryLog log{settings.directory};
  distrib::Error error;
  distrib::ModelReplica replica{{settings.directory}};
  std::vector<std::unique_ptr<ExportingShard>> shards;
  Instant now{};
  std::map<std::string, std::vector<std::byte>> votes;  // of step 600, as they were before the commit removed them
  const auto train_to = [&](std::uint64_t step) {
    for (auto& shard : shards)
      while (shard->step < step) shard->train();
    for (int turn = 0; turn < 10; ++turn) {
      now += ShardExports::poll_every;
      for (auto& shard : shards)
        while (shard->work(now)) {
          for (const std::uint32_t number : {0U, 1U}) {
            const std::string name = distrib::vote_name(600, number, 1);
            const std::vector<std::byte> vote = log.get(name, 1 << 20, error);
            if (!error) votes[name] = vote;
          }
        }
    }
  };
  const auto newest = [&] {
    const std::vector<distrib::LogEntry> list = list_log(log, 1, error);
    REQUIRE_FALSE(error);
    return list.front().manifest;
  };

  const distrib::Job before = exported_store::job(2);
  for (const std::uint32_t number : {0U, 1U}) {
    shards.push_back(std::make_unique<ExportingShard>(before, number, settings, 5));
    shards.back()->open_at(nullptr);
  }
  std::vector<distrib::Cut> cuts;
  std::vector<std::string> old_parts;
  train_to(0);  // the log is known
  for (std::uint64_t position = 1; position <= 9; ++position) {
    train_to(100 * position);
    REQUIRE(newest().position == position);
    REQUIRE(newest().step == 100 * position);
    for (const distrib::LogPart& part : newest().parts) old_parts.push_back(part.name);
    REQUIRE(replica.poll());
    if (position != 5) continue;
    for (auto& shard : shards) {
      cuts.push_back(exported_store::cut_of(*shard->store, 500));
      cuts.back().lineage = Lineage{}.continued(0, settings_hash(before));
    }
  }
  CHECK(log.read_head(error)->head.epochs == std::vector<std::uint64_t>{1, 1});
  CHECK(replica.view().position() == 9);
  CHECK(replica.view().step() == 900);
  REQUIRE(votes.size() == 2);

  shards.clear();
  for (const auto& [name, vote] : votes) log.put(name, vote, error);  // as if they had never been removed
  distrib::Job after = exported_store::job(3);
  after.updater = "adagrad learning_rate=0.05 initial_accumulator_value=0.1";
  for (const std::uint32_t number : {0U, 1U, 2U}) {
    shards.push_back(std::make_unique<ExportingShard>(after, number, settings, 6, 0.05F));
    const distrib::Cut cut = divided(before, cuts, shards.back()->store->layout());
    shards.back()->open_at(&cut);
  }
  train_to(501);  // it learns of the log when step 500 is over; otherwise it would export that step, too
  train_to(600);
  const distrib::LogManifest tenth = newest();
  CHECK(tenth.position == 10);
  CHECK(tenth.step == 600);
  REQUIRE(tenth.parts.size() == 3);
  for (const distrib::LogPart& part : tenth.parts) {
    CHECK(part.on.empty());
    CHECK(std::ranges::find(old_parts, part.name) == old_parts.end());
  }
  CHECK(log.read_head(error)->head.epochs == std::vector<std::uint64_t>{2, 2, 1});
  CHECK(replica.poll());
  CHECK(replica.view().position() == 10);
  CHECK(replica.view().step() == 600);
  distrib::RowDigest trained;
  for (auto& shard : shards)
    for (const distrib::RowDigest& table : shard->store->tables()->tracked_digests()) trained += table;
  distrib::RowDigest served;
  for (const distrib::LogTable& table : replica.status().tables) served += table.digest;
  CHECK(served == trained);
}

TEST_CASE("P13: a key that was only counted, evicted or never seen is read as by a pull, to the bit", "[ps]") {
  const support::TempDirectory directory;
  ExportSettings settings;
  settings.directory = directory / "log";
  settings.every_steps = 400;
  ExportingShard one{exported_store::job(1), 0, settings, 5};
  one.open_at(nullptr);
  const Instant now{};
  std::set<std::uint64_t> had_row;
  distrib::TableCut words;
  while (one.step < 400) {
    while (one.work(now)) {
    }
    one.train();
    words = exported_store::cut_of(*one.store, one.step).tables[0];
    const auto with_row = words.keys->as<std::uint64_t>().first(words.rows->size() / (2 * 3 * sizeof(float)));
    had_row.insert(with_row.begin(), with_row.end());
  }
  while (one.work(now)) {
  }
  distrib::ModelReplica replica{{settings.directory}};
  REQUIRE(replica.poll());
  REQUIRE(replica.view().step() == 400);
  const auto keys = words.keys->as<std::uint64_t>();
  const auto with_row = keys.first(words.rows->size() / (2 * 3 * sizeof(float)));
  std::map<std::string, std::vector<std::uint64_t>> kinds{{"unseen", {~std::uint64_t{0}, 1'000'000'007}}};
  for (const std::uint64_t key : exported_store::universe()) {
    if (std::ranges::find(with_row, key) != with_row.end()) continue;
    kinds[std::ranges::find(keys, key) != keys.end() ? "counted"
          : had_row.contains(key)                    ? "evicted"
                                                     : "unseen"]
        .push_back(key);
  }
  REQUIRE(kinds.size() == 3);
  for (const auto& [kind, of_kind] : kinds)
    for (const std::uint64_t key : of_kind) {
      CAPTURE(kind, key);
      std::vector<float> row(3);
      replica.view().rows("words", std::span{&key, 1}, row);
      REQUIRE(same_bits(row, pulled(*one.store, 0, key)));
      CHECK(std::ranges::count(row, 0.0F) == 0);  // initial rows are not zeros
      row.resize(5);
      replica.view().rows("half", std::span{&key, 1}, row);
      REQUIRE(same_bits(row, pulled(*one.store, 2, key)));
    }
}

TEST_CASE("P14: an export takes memory for what has changed, and each shard writes only its own rows", "[ps]") {
  constexpr std::uint64_t rows = 60'000;
  constexpr std::size_t some = 2000;
  const support::TempDirectory directory;
  ExportSettings settings;
  settings.directory = directory / "log";
  settings.every_steps = 10;
  distrib::Job job = exported_store::job(2);
  job.tables.resize(1);
  distrib::TableInfo& words = job.tables[0];
  words.dim = 16;
  words.min_count = 1;
  words.max_rows = 0;
  words.evict_after = 0;
  std::vector<std::unique_ptr<ExportingShard>> shards;
  for (const std::uint32_t number : {0U, 1U}) {
    shards.push_back(std::make_unique<ExportingShard>(job, number, settings, 5));
    shards.back()->open_at(nullptr);
  }
  Instant now{};
  const auto work = [&] {
    for (int turn = 0; turn < 4; ++turn) {
      now += ShardExports::poll_every;
      for (auto& shard : shards)
        while (shard->work(now)) {
        }
    }
  };
  const auto train = [&](std::uint64_t first, std::uint64_t end) {
    std::vector<std::uint64_t> keys;
    for (; first < end; ++first) keys.push_back(first);
    for (auto& shard : shards) exported_store::update(*shard->store, ++shard->step, {keys});
  };
  work();
  for (std::uint64_t step = 0; step < 10; ++step) train(step * rows / 10, (step + 1) * rows / 10);
  const std::size_t before_base = support::allocated;
  work();
  constexpr std::size_t row_bytes = 8 + 16 * sizeof(float);
  if (DISTRIB_TEST_COUNTS_MEMORY) CHECK(support::allocated - before_base > rows * row_bytes);  // it is counted
  REQUIRE(shards[0]->exports->status().step == 10);

  for (std::uint64_t step = 1; step < 10; ++step) train(7, 9);
  const std::size_t before_update = support::allocated;
  train(100, 100 + some);
  const std::size_t of_update = support::allocated - before_update;  // and of the copy of what has changed
  const std::size_t before_delta = support::allocated;
  work();
  const std::size_t of_delta = support::allocated - before_delta;
  REQUIRE(shards[1]->exports->status().step == 20);
  CHECK(of_update < 16 * some * row_bytes);
  CHECK(of_delta < 8 * some * row_bytes);
  DirectoryLog log{settings.directory};
  distrib::Error error;
  const std::vector<distrib::LogEntry> list = list_log(log, 1, error);
  REQUIRE(list.size() == 1);
  std::size_t written = 0;
  for (const std::uint32_t number : {0U, 1U}) {
    const distrib::LogPart& part = list[0].manifest.parts.at(number);
    CHECK_FALSE(part.on.empty());
    const std::vector<std::byte> bytes = log.get(part.name, part.bytes, error);
    const auto contents = distrib::parse_log_part(bytes, error);
    REQUIRE(contents);
    const distrib::PartTable& table = contents->tables.at(0);
    written += table.rows();
    for (std::size_t row = 0; row < table.rows(); ++row)
      CHECK(shards[number]->store->layout().tables()[0].owns(table.key(row)));
  }
  CHECK(written == some + 2);
}
