// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/cut/shard_files.hpp>

#include <distrib/optimizer/sgd.hpp>

#include "ps/story.hpp"
#include "support/catch.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using namespace distrib;
using Kind = CutWork::Kind;
using Texts = std::vector<std::string>;

namespace {

const Instant now{std::chrono::hours{1}};

auto initial_from(const std::string& checkpoint) -> Job {
  Job job = story::job(1, 1, 9, 3);
  job.initial_checkpoint = checkpoint;
  return job;
}

/// The files of a shard, with a shell and a service that record the calls that they get.
struct FilesBench {
  explicit FilesBench(Job of = story::job(1, 1, 9, 3), const std::string& directory = {})
      : job{std::move(of)}, files{directory} {}

  // --- the shell and the service ---

  void operator()(const CutWork& work) {
    static const char* const kinds[] = {"open", "start",  "load", "send",      "save",
                                        "drop", "finish", "look", "save ranks"};
    std::string text = std::string{"work: "} + kinds[static_cast<int>(work.kind)];
    if (work.owner)
      text += " replica " + std::to_string(work.owner->replica) + " in " + work.owner->settings.directory + " of " +
              std::to_string(work.owner->job.total_steps) + " steps, " + std::to_string(work.owner->updaters.size()) +
              " updaters";
    if (work.kind == Kind::save_ranks) text += " up to " + std::to_string(work.ranks->horizon);
    else if (work.kind != Kind::open && work.kind != Kind::finish && work.kind != Kind::look)
      text += work.is_initial ? " initial" : " " + std::to_string(work.step);
    if (work.kind == Kind::save) text += story::text(work.save.cut.values);
    if (work.unneeded) text += " unneeded";
    if (work.peer != 0) text += " for " + std::to_string(work.peer);
    told.push_back(std::move(text));
  }
  void operator()(const distrib::Event& event) {
    const bool bad = event.kind == distrib::Event::Kind::checkpoint_refused;
    const bool full = event.kind == distrib::Event::Kind::no_room;
    told.push_back((bad ? "refused: " : full ? "no room: " : "restored: ") + event.text);
  }
  void operator()(const EndTask& end) { told.push_back("end " + std::to_string(end.code) + ": " + end.why.where); }

  void opened(const std::vector<distrib::DurableCut>& cuts, const Cut* newest, Instant,
              const std::optional<distrib::RankFile>& ranks) {
    if (refuses) throw_error(*refuses, "tables");
    told.push_back("opened with " + story::text(story::steps_of(cuts)) + ": " +
                   (newest ? story::text(newest->values) : " nothing") +
                   (ranks ? ", ranks up to " + std::to_string(ranks->horizon) : ""));
  }
  void ranks_saved(Instant) { told.push_back("ranks saved"); }
  void ranks_not_saved(const Error& why, Instant) { told.push_back("ranks not saved: " + why.where); }
  void not_opened(const Error& why) { told.push_back("not opened: " + why.where); }
  void cut_saved(Step step, Instant) { told.push_back("saved " + std::to_string(step)); }
  void save_failed(const Error& why, Instant) { told.push_back("not saved: " + why.where); }
  void cut_loaded(const Cut& cut, Instant) {
    if (refuses) throw_error(*refuses, "tables");
    told.push_back("loaded" + story::text(cut.values));
  }
  void load_failed(const Error& why, Instant) { told.push_back("not loaded: " + why.where); }
  void state_came(const Cut* cut, Instant) {
    told.push_back(cut ? "state came" + story::text(cut->values) : "no state came");
  }
  void state_read(Peer peer, const Cut* cut) {
    told.push_back("state for " + std::to_string(peer) + (cut ? story::text(cut->values) : " none"));
  }

  // --- events ---

  auto opens(std::uint32_t replica = 0, const CutSettings& settings = {"of the job"}) -> std::function<void()> {
    return [this, replica, settings] { files.open(job, replica, settings, JobUpdaters{Sgd{}}, *this); };
  }
  auto found(const std::vector<Step>& steps, std::vector<Error> refused = {}) -> std::function<void()> {
    CutWork work{.kind = Kind::open, .cuts = story::cuts_at(steps, {}), .refused = std::move(refused)};
    return performed(std::move(work));
  }
  auto has_read(Kind kind, Step step, float number, Peer peer = 0, bool is_initial = false) -> std::function<void()> {
    CutWork work{.kind = kind, .step = step, .is_initial = is_initial, .peer = peer};
    work.cut.step = step;
    work.cut.values = story::block(number);
    return performed(std::move(work));
  }
  auto failed(Kind kind, const std::error_code& code, Step step = 0, Peer peer = 0) -> std::function<void()> {
    return performed({.kind = kind, .step = step, .peer = peer, .failure = {code, "a file"}});
  }
  auto performed(CutWork work) -> std::function<void()> {
    return [this, done = std::make_shared<CutWork>(std::move(work))] {
      files.performed(std::move(*done), *this, now, *this);
    };
  }

  struct Event {
    const char* what;  ///< Describes the event; shown if the check fails.
    std::function<void()> happens;
    Texts expected;  ///< The calls that the shell and the service then get, in order.
  };
  void tell(const std::vector<Event>& events) {
    for (const Event& event : events) {
      told.clear();
      event.happens();
      CAPTURE(event.what);
      CHECK(told == event.expected);
    }
  }

  Job job;
  ShardFiles files;
  std::optional<std::error_code> refuses;  ///< The error that the service throws.
  Texts told;
};

auto damaged(const char* where) -> Error { return {checkpoint_errc::corrupt_data, where}; }

}  // namespace

TEST_CASE("ShardFiles: a shard without cuts starts with its initial values", "[ps]") {
  FilesBench bench;
  bench.tell({
      {"the job is known", bench.opens(), {"work: open replica 0 in of the job of 9 steps, 1 updaters"}},
      {"there are no cuts", bench.found({}), {"opened with :  nothing"}},
  });
  FilesBench checkpoint{initial_from("elsewhere")};
  checkpoint.tell({
      {"the job is known", checkpoint.opens(1), {"work: open replica 1 in of the job of 9 steps, 1 updaters"}},
      {"there are no cuts", checkpoint.found({}), {"work: start initial"}},
      {"the checkpoint is read",
       checkpoint.has_read(Kind::start, 0, 7, 0, true),
       {"restored: beginning with values of elsewhere", "opened with :  w=7"}},
  });
  FilesBench partial{initial_from("elsewhere")};
  CutWork read{.kind = Kind::start, .step = 0, .is_initial = true};
  read.cut.values = story::block(7);
  read.missing = {"w", "b"};
  partial.tell({
      {"the job is known", partial.opens(), {"work: open replica 0 in of the job of 9 steps, 1 updaters"}},
      {"there are no cuts", partial.found({}), {"work: start initial"}},
      {"the checkpoint lacks variables that may be missing",
       partial.performed(std::move(read)),
       {"restored: beginning with values of elsewhere; from initializers: w, b", "opened with :  w=7"}},
  });
  FilesBench unreadable{initial_from("elsewhere")};
  unreadable.tell({
      {"the job is known", unreadable.opens(), {"work: open replica 0 in of the job of 9 steps, 1 updaters"}},
      {"there are no cuts", unreadable.found({}), {"work: start initial"}},
      {"the checkpoint is of another shape",
       unreadable.failed(Kind::start, checkpoint_errc::mismatch),
       {"not opened: a file"}},
  });
}

TEST_CASE("ShardFiles: a shard continues from its newest good cut, and reports the damaged ones that it skips",
          "[ps]") {
  FilesBench bench{initial_from("elsewhere")};
  bench.tell({
      {"the job is known", bench.opens(), {"work: open replica 0 in of the job of 9 steps, 1 updaters"}},
      {"there are three, and the newest is damaged", bench.found({2, 4}, {damaged("6")}), {"work: start 4"}},
      {"it is read",
       bench.has_read(Kind::start, 4, -3),
       {"refused: passed over a damaged cut: 6: " + make_error_code(checkpoint_errc::corrupt_data).message(),
        "restored: going on from its cut of step 4", "opened with 2,4:  w=-3"}},
  });
}

TEST_CASE("ShardFiles: a cut that is damaged after it was found is passed over too", "[ps]") {
  FilesBench bench;
  bench.tell({
      {"the job is known", bench.opens(), {"work: open replica 0 in of the job of 9 steps, 1 updaters"}},
      {"there are two good cuts", bench.found({2, 4}), {"work: start 4"}},
      {"a bit has changed since", bench.failed(Kind::start, checkpoint_errc::corrupt_data, 4), {"work: start 2"}},
      {"the cut before it is good",
       bench.has_read(Kind::start, 2, 5),
       {"refused: passed over a damaged cut: a file: " + make_error_code(checkpoint_errc::corrupt_data).message(),
        "restored: going on from its cut of step 2", "opened with 2:  w=5"}},
  });
  FilesBench unreadable;
  unreadable.tell({
      {"the job is known", unreadable.opens(), {"work: open replica 0 in of the job of 9 steps, 1 updaters"}},
      {"there are two good cuts", unreadable.found({2, 4}), {"work: start 4"}},
      {"the disk cannot be read",
       unreadable.failed(Kind::start, checkpoint_errc::cannot_read, 4),
       {"not opened: a file"}},
  });
}

TEST_CASE("ShardFiles: a shard that has only damaged cuts does not start from its initial values", "[ps]") {
  FilesBench bench{initial_from("elsewhere")};
  bench.tell({
      {"the job is known", bench.opens(), {"work: open replica 0 in of the job of 9 steps, 1 updaters"}},
      {"both cuts are damaged", bench.found({}, {damaged("4"), damaged("2")}), {"not opened: 4"}},
      {"a worker joins again", bench.opens(), {"work: open replica 0 in of the job of 9 steps, 1 updaters"}},
      {"one cut was repaired", bench.found({2}, {damaged("4")}), {"work: start 2"}},
      {"it is damaged again", bench.failed(Kind::start, checkpoint_errc::corrupt_data, 2), {"not opened: a file"}},
  });
}

TEST_CASE("ShardFiles: a shard that another process has taken over ends its task, whatever it did", "[ps]") {
  FilesBench bench;
  bench.tell({
      {"it stands still", [&bench] { bench.files.look(bench); }, {"work: look"}},
      {"it still has the shard", bench.performed({.kind = Kind::look}), {}},
      {"the store is away", bench.failed(Kind::look, checkpoint_errc::cannot_read), {}},
      {"the job is done, and it was followed", bench.failed(Kind::finish, ps_errc::shard_taken_over), {}},
  });
  for (const Kind kind : {Kind::open, Kind::start, Kind::load, Kind::save, Kind::drop, Kind::look})
    bench.tell({{"it was followed", bench.failed(kind, ps_errc::shard_taken_over, 3), {"end 1: a file"}}});
}

TEST_CASE("ShardFiles: an error that prevents opening the cuts is reported to the workers", "[ps]") {
  FilesBench bench;
  bench.tell({
      {"the job is known", bench.opens(), {"work: open replica 0 in of the job of 9 steps, 1 updaters"}},
      {"the cuts are another job's", bench.failed(Kind::open, ps_errc::job_mismatch), {"not opened: a file"}},
      {"another process has the directory", bench.failed(Kind::open, ps_errc::directory_in_use), {"end 65: a file"}},
  });
  bench.refuses = make_error_code(std::errc::not_enough_memory);
  bench.tell({
      {"the job is known", bench.opens(), {"work: open replica 0 in of the job of 9 steps, 1 updaters"}},
      {"no memory for the initial values", bench.found({}), {"not opened: tables"}},
      {"there are cuts", bench.found({3}), {"work: start 3"}},
      {"no memory for the values of a cut",
       bench.has_read(Kind::start, 3, 1),
       {"restored: going on from its cut of step 3", "not opened: tables"}},
  });
}

TEST_CASE("ShardFiles: the directory of the server's options overrides that of the job", "[ps]") {
  FilesBench bench{story::job(1, 1, 9, 3), "of the server"};
  bench.tell({{"the job is known", bench.opens(), {"work: open replica 0 in of the server of 9 steps, 1 updaters"}}});
}

TEST_CASE("ShardFiles: a cut is reported as saved when it is durable", "[ps]") {
  FilesBench bench;
  const auto saves = [&] { bench.files.save({{3, story::block(2), {}, {}}}, bench); };
  bench.tell({
      {"a cut is due", saves, {"work: save 3 w=2"}},
      {"it is durable", bench.performed({.kind = Kind::save, .step = 3}), {"saved 3"}},
      {"another cut is due", saves, {"work: save 3 w=2"}},
      {"no disk space",
       bench.failed(Kind::save, checkpoint_errc::no_room, 3),
       {"no room: no room for the cut of step 3, a file; free space on this disk, the shard tries again",
        "not saved: a file"}},
      {"a disk error", bench.failed(Kind::save, make_error_code(std::errc::io_error), 3), {"not saved: a file"}},
  });
}

TEST_CASE("ShardFiles: a save releases its memory before the service gets its result", "[ps]") {
  FilesBench bench;
  const SharedBuffer block = story::block(2);
  CutWork work{.kind = Kind::save, .step = 3, .save = {{3, block, {}, {}}}};
  work.cut = work.save.cut;
  struct Service : FilesBench {
    void cut_saved(Step, Instant) { uses = block->use_count(); }
    const SharedBuffer* block = nullptr;
    long uses = 0;
  } service;
  service.block = &block;
  bench.files.performed(std::move(work), service, now, bench);
  CHECK(service.uses == 1);
}

TEST_CASE("ShardFiles: a shard that a worker sends back reports this, and a cut that cannot be read", "[ps]") {
  FilesBench bench;
  const auto loads = [&](Step step) { return [&bench, step] { bench.files.load(step, bench); }; };
  bench.tell({
      {"to a cut", loads(3), {"work: load 3"}},
      {"it is read",
       bench.has_read(Kind::load, 3, 2),
       {"restored: went to its cut of step 3, as a worker asked: later steps are computed or sent again",
        "loaded w=2"}},
      {"to cut 0, which is made again", loads(0), {"work: load initial"}},
      {"it is made",
       bench.has_read(Kind::load, 0, 8, 0, true),
       {"restored: went to its cut of step 0, as a worker asked: later steps are computed or sent again",
        "loaded w=8"}},
      {"to a cut that was removed", loads(6), {"work: load 6"}},
      {"the file is missing",
       bench.failed(Kind::load, checkpoint_errc::not_found, 6),
       {"refused: cannot go to its cut of step 6: a file: " + make_error_code(checkpoint_errc::not_found).message(),
        "not loaded: a file"}},
  });
  bench.refuses = make_error_code(std::errc::not_enough_memory);
  bench.tell({{"no memory for its rows",
               bench.has_read(Kind::load, 3, 2),
               {"restored: went to its cut of step 3, as a worker asked: later steps are computed or sent again",
                "not loaded: tables"}}});
}

TEST_CASE("ShardFiles: cuts for and from the other replica, cuts that are dropped, and the end of the job", "[ps]") {
  FilesBench bench;
  bench.tell({
      {"the other replica asks", [&] { bench.files.send({5, 3}, bench); }, {"work: send 3 for 5"}},
      {"its cut is read", bench.has_read(Kind::send, 3, 2, 5), {"state for 5 w=2"}},
      {"it cannot be read", bench.failed(Kind::send, checkpoint_errc::corrupt_data, 3, 5), {"state for 5 none"}},
      {"the state of the other replica arrives",
       [&] { bench.files.state_came(Cut{6, story::block(4), {}, {}}, bench, now, bench); },
       {"restored: going on from the state of its other replica, step 6", "state came w=4"}},
      {"it has no newer state", [&] { bench.files.state_came({}, bench, now, bench); }, {"no state came"}},
      {"a cut is old", [&] { bench.files.drop({3}, bench); }, {"work: drop 3"}},
      {"it is removed", bench.performed({.kind = Kind::drop, .step = 3}), {}},
      {"the other shards will not make their cuts",
       [&] { bench.files.drop({6, true}, bench); },
       {"work: drop 6 unneeded"}},
      {"it cannot be removed", bench.failed(Kind::drop, make_error_code(std::errc::io_error), 6), {}},
      {"the job is done", [&] { bench.files.finish(bench); }, {"work: finish"}},
      {"the work failed, which does not matter", bench.failed(Kind::finish, make_error_code(std::errc::io_error)), {}},
  });
}

TEST_CASE("ShardFiles: the log of the ranks is opened with the cuts, and saved", "[ps]") {
  FilesBench bench;
  CutWork found{.kind = Kind::open, .cuts = story::cuts_at({3}, {})};
  found.ranks = distrib::RankFile{40, {}};
  bench.tell({
      {"the cuts and the log", bench.performed(std::move(found)), {"work: start 3"}},
      {"the newest cut",
       bench.has_read(Kind::start, 3, 7),
       {"restored: going on from its cut of step 3", "opened with 3:  w=7, ranks up to 40"}},
      {"it is raised", [&] { bench.files.save_ranks({80, {}}, bench); }, {"work: save ranks up to 80"}},
      {"durable", bench.performed({.kind = Kind::save_ranks}), {"ranks saved"}},
      {"not durable", bench.failed(Kind::save_ranks, checkpoint_errc::no_room), {"ranks not saved: a file"}},
  });
}
