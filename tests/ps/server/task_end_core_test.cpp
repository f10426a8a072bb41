// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/server/task_end_core.hpp>

#include "support/catch.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

using namespace distrib;
using namespace std::chrono_literals;
using Texts = std::vector<std::string>;

namespace {

/// A task of two threads, with a shell that records the actions.
struct EndBench {
  void operator()(const LookForEnd& look) { told.push_back("look after " + std::to_string(look.after.count())); }
  void operator()(const TellFinished& tell) { told.push_back("finished at " + std::to_string(tell.step)); }
  void operator()(const EndFiles& end) { told.push_back(end.done ? "files: done" : "files: not done"); }
  void operator()(const HangUp& hang_up) { told.push_back("hang up in " + std::to_string(hang_up.within.count())); }
  void operator()(const TaskOver& over) { told.push_back("over " + std::to_string(over.code)); }

  auto ends(std::size_t thread, ShardTally tally, int code, const std::error_code& why = {}) -> std::function<void()> {
    return [=, this] { core.ended(thread, tally, code, {why, "shard"}, *this); };
  }
  auto counts(std::size_t thread, ShardTally tally) -> std::function<void()> {
    return [=, this] { core.counted(thread, tally, *this); };
  }

  struct Event {
    const char* what;  ///< Describes the event; shown if the check fails.
    std::function<void()> happens;
    Texts expected;  ///< What the shell must do then.
  };
  void tell(const std::vector<Event>& events) {
    for (const Event& event : events) {
      told.clear();
      event.happens();
      CAPTURE(event.what);
      CHECK(told == event.expected);
    }
  }

  TaskEndCore core{2, 30s};
  Texts told;
};

}  // namespace

TEST_CASE("TaskEndCore: a task is done when all its shards are done, and ends when its connections have ended",
          "[ps]") {
  EndBench bench;
  bench.tell({
      {"a job arrives", bench.counts(0, {1, 0, 2, 3}), {}},
      {"two more shards", bench.counts(1, {2, 0, 4, 3}), {}},
      {"one is done", bench.ends(0, {1, 1, 2, 3}, 0), {}},
      {"another", bench.ends(1, {2, 1, 4, 3}, 0), {}},
      {"the last", bench.ends(1, {2, 2, 4, 3}, 0), {"files: done"}},
      {"a connection ends", bench.counts(1, {2, 2, 3, 3}), {}},
      {"the work with files is done", [&] { bench.core.files_done(bench); }, {"hang up in 2000"}},
      {"connections are counted", [&] { bench.core.counts_connections(bench); }, {}},
      {"some connections end", bench.counts(1, {2, 2, 0, 3}), {}},
      {"the last connection ends", bench.counts(0, {1, 1, 0, 3}), {"over 0"}},
      {"the time is over", [&] { bench.core.hung_up(bench); }, {}},
  });
  CHECK(bench.core.shards_of_job() == 3);
  CHECK_FALSE(bench.core.why());
}

TEST_CASE("TaskEndCore: a shard that was taken over ends the task at once, with code 1", "[ps]") {
  EndBench bench;
  bench.tell({
      {"a job arrives", bench.counts(0, {2, 0, 2, 2}), {}},
      {"a shard was taken over", bench.ends(0, {2, 0, 2, 2}, 1, ps_errc::shard_taken_over), {"files: not done"}},
      {"the other one, too", bench.ends(0, {2, 0, 2, 2}, 1, ps_errc::shard_taken_over), {}},
      {"the work with files is done", [&] { bench.core.files_done(bench); }, {"hang up in 2000"}},
      {"the time is over", [&] { bench.core.hung_up(bench); }, {"over 1"}},
  });
  CHECK(bench.core.why().code == ps_errc::shard_taken_over);
}

TEST_CASE("TaskEndCore: it does not wait for a connection whose client reads nothing", "[ps]") {
  EndBench bench;
  bench.tell({
      {"a shard is done", bench.ends(0, {1, 1, 1, 1}, 0), {"files: done"}},
      {"the work with files is done", [&] { bench.core.files_done(bench); }, {"hang up in 2000"}},
      {"connections are counted", [&] { bench.core.counts_connections(bench); }, {}},
      {"the time is over", [&] { bench.core.hung_up(bench); }, {"over 0"}},
      {"the connection ends", bench.counts(0, {1, 1, 0, 1}), {}},
  });
}

TEST_CASE("TaskEndCore: a shard that cannot continue ends the task at once, with its code and reason", "[ps]") {
  EndBench bench;
  bench.tell({
      {"a job of two shards arrives", bench.counts(0, {2, 0, 1, 2}), {}},
      {"one has lost a rank",
       bench.ends(0, {2, 1, 1, 2}, exit_code::somebody_lost, ps_errc::rank_lost),
       {"files: not done"}},
      {"the other shard fails too", bench.ends(0, {2, 2, 1, 2}, exit_code::io_error), {}},
      {"the work with files is done", [&] { bench.core.files_done(bench); }, {"hang up in 2000"}},
      {"no connection", bench.counts(0, {2, 2, 0, 2}), {}},
      {"connections are counted", [&] { bench.core.counts_connections(bench); }, {"over 70"}},
  });
  CHECK(bench.core.why().code == ps_errc::rank_lost);
}

TEST_CASE("TaskEndCore: a task that is asked to stop waits until all its shards have saved", "[ps]") {
  EndBench bench;
  bench.tell({
      {"a job of two shards arrives", bench.counts(0, {2, 0, 0, 2}), {}},
      {"one has saved", bench.ends(0, {2, 1, 0, 2}, exit_code::again), {}},
      {"the other shard has saved too", bench.ends(0, {2, 2, 0, 2}, exit_code::again), {"files: not done"}},
  });
  EndBench done;
  done.tell({
      {"a job of two shards arrives", done.counts(0, {2, 0, 0, 2}), {}},
      {"one is done", done.ends(0, {2, 1, 0, 2}, 0), {}},
      {"the other shard is asked to stop", done.ends(0, {2, 2, 0, 2}, exit_code::again), {"files: not done"}},
  });
}

TEST_CASE("TaskEndCore: a shard without workers ends the task only while no job is known", "[ps]") {
  EndBench bench;
  bench.tell({
      {"a job of two shards arrives at one", bench.counts(0, {1, 0, 1, 2}), {}},
      {"no worker joined the other", bench.ends(1, {1, 1, 0, 0}, exit_code::again, ps_errc::nobody_joined), {}},
  });
  CHECK_FALSE(bench.core.why());
  EndBench alone;
  CHECK(alone.core.shards_of_job() == TaskEndCore::most_shards);
  alone.tell({{"no worker joined",
               alone.ends(0, {1, 1, 0, 0}, exit_code::again, ps_errc::nobody_joined),
               {"files: not done"}}});
  CHECK(alone.core.why().code == ps_errc::nobody_joined);
  EndBench late;
  late.tell({{"the job was done before", late.ends(0, {1, 1, 0, 0}, 0), {"files: done"}}});
}

TEST_CASE("TaskEndCore: the directory is checked regularly until the task ends", "[ps]") {
  EndBench bench;
  bench.tell({
      {"start", [&] { bench.core.start(true, bench); }, {"look after 30000"}},
      {"no finished job", [&] { bench.core.looked({}, bench); }, {"look after 30000"}},
      {"a finished job", [&] { bench.core.looked(9, bench); }, {"finished at 9", "look after 30000"}},
      {"a shard is done", bench.ends(0, {1, 1, 0, 0}, 0), {"files: done"}},
      {"a finished job", [&] { bench.core.looked(9, bench); }, {}},
  });
  EndBench memory;
  memory.tell({{"start without a directory", [&] { memory.core.start(false, memory); }, {}}});
}
