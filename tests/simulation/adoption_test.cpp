// SPDX-License-Identifier: Apache-2.0
// How long the ranks of a lost process are served by nobody, in simulated time: what deals them (`RankDesk`) and what
// serves them (`ServedRanks`) are of production; questions and answers travel as those of `RankClient`.
#include <distrib/ps/server/detail/rank_desk.hpp>
#include <distrib/ps/worker/served_ranks.hpp>
#include <distrib/sim/dice.hpp>
#include <distrib/sim/scheduler.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

using namespace distrib;
using namespace std::chrono_literals;

namespace {

constexpr Rank dealt_ranks = 16;
constexpr DealingTimes times{};  // those of production: a process is lost after 15 s

/// A connection on which one question waits for its answer.
class Line {
 public:
  std::function<void(const AskRanksReply&)> answered;

  auto writer() -> WireWriter& {
    answer_.clear();
    return answer_;
  }
  void reply(std::uint64_t, ByteView head, const FrameBody&, std::optional<std::uint32_t>, bool) {
    AskRanksReply reply;
    REQUIRE(reply.decode(head));
    answered(reply);
  }
  void fail(std::uint64_t, const std::error_code& code, std::string_view) { FAIL(code.message()); }

 private:
  WireWriter answer_;
};

/// A process as the simulation has it.
struct Process {
  std::uint32_t index = 0;
  ServedRanks served;
  std::shared_ptr<Line> line;  // null: not connected
  bool is_alive = true;
  std::set<RankBlock> joined = {};  // what its workers serve
};

/// Processes that serve ranks, until one is lost.
class Adoption {
 public:
  explicit Adoption(std::uint64_t seed) : dice_{seed} {
    const auto count = static_cast<std::uint32_t>(dice_.between(2, 6));
    sums_of_ = dice_.percent(70) ? dealt_ranks : 0;
    start_desk();
    for (std::uint32_t index = 0; index < count; ++index) {
      processes_.push_back({index, ServedRanks{index == 0, sums_of_}, nullptr});
      scheduler_.after(some(1'000ms), [this, index] {
        act(processes_[index], [](ServedRanks& served, auto& out) { served.start(out); });
        connect(processes_[index]);
      });
    }
  }

  /// Returns the time from the loss of a process until others serve all its ranks.
  auto run() -> Instant::duration {
    run_until_served(60s);
    const Instant quiet = scheduler_.now() + some(5'000ms);
    while (scheduler_.now() < quiet) REQUIRE(scheduler_.step());
    Process& lost = processes_[dice_.below(processes_.size())];
    const Instant begun = scheduler_.now();
    lost.is_alive = false;
    lost.joined.clear();
    if (dice_.percent(50)) hang_up(lost);  // otherwise the machine falls silent
    // Misfortune of the others while they wait.
    for (Process& other : processes_)
      if (dice_.percent(20)) scheduler_.after(some(16'000ms), [this, &other] { lose_line(other); });
    if (dice_.percent(20)) {
      is_restarted_ = true;
      scheduler_.after(some(10'000ms), [this] { restart_desk(); });
    }
    run_until_served(60s);
    return scheduler_.now() - begun;
  }

  /// True if what deals ranks was started anew meanwhile: then it does not know the lost process.
  [[nodiscard]] auto is_restarted() const noexcept -> bool { return is_restarted_; }

 private:
  auto some(std::chrono::milliseconds most) -> Instant::duration {
    return std::chrono::microseconds{dice_.between(1, static_cast<std::uint64_t>(most.count()) * 1'000)};
  }

  void run_until_served(Instant::duration most) {
    for (const Instant end = scheduler_.now() + most; !all_served(); REQUIRE(scheduler_.step()))
      REQUIRE(scheduler_.now() < end);
  }
  [[nodiscard]] auto all_served() const -> bool {
    std::set<Rank> served;
    for (const Process& process : processes_)
      for (const RankBlock block : process.joined)
        for (Rank rank = block.first; rank < block.end(dealt_ranks); ++rank) served.insert(rank);
    return served.size() == dealt_ranks;
  }

  // --- the desk ---

  void start_desk() {
    desk_.emplace(ShardIdentity{.ranks = dealt_ranks, .processes = 8}, times, scheduler_.now());
    settle();
  }
  void restart_desk() {
    desk_.reset();
    for (Process& process : processes_) lose_line(process);
    scheduler_.after(some(1'000ms), [this] { start_desk(); });
  }
  // After each event of the desk.
  void settle() {
    const std::optional<Instant> wake = desk_->wake();
    if (!wake || wake == alarm_) return;
    alarm_ = wake;
    scheduler_.at(*wake, [this, when = *wake] {
      if (!desk_ || alarm_ != when) return;
      alarm_.reset();
      desk_->woken(scheduler_.now());
      settle();
    });
  }

  // --- processes ---

  void connect(Process& process) {
    if (!process.is_alive || process.line != nullptr) return;
    if (!desk_) return retry(process);
    process.line = std::make_shared<Line>();
    ask(process);
  }
  void retry(Process& process) {
    scheduler_.after(500ms + some(500ms), [this, &process] { connect(process); });
  }
  void ask(Process& process) {
    const std::shared_ptr<Line> line = process.line;
    AskRanksRequest question{process.index + 100U, process.index,          process.index == 0, false,
                             dealt_ranks,          process.served.serves()};
    line->answered = [this, &process, line = std::weak_ptr{line}](const AskRanksReply& reply) {
      scheduler_.after(some(20ms), [this, &process, line, reply] {
        if (!process.is_alive || process.line != line.lock()) return;
        act(process, [&](ServedRanks& served, auto& out) { served.dealt(reply.serve, out); });
        scheduler_.after(20ms, [this, &process, line] {
          if (process.is_alive && process.line != nullptr && process.line == line.lock()) ask(process);
        });
      });
    };
    scheduler_.after(some(20ms), [this, &process, line, question = std::move(question)] {
      if (!desk_ || process.line != line) return;
      ServerEvent event;
      event.call = ++newest_call_;
      desk_->ask(question, Call<AskRanks, Line*>{line.get(), event}, scheduler_.now());
      settle();
    });
  }
  void hang_up(Process& process) {
    if (process.line != nullptr && desk_) desk_->closed(process.line.get());
    lines_.push_back(std::exchange(process.line, nullptr));
  }
  void lose_line(Process& process) {
    if (!process.is_alive || process.line == nullptr) return;
    hang_up(process);
    retry(process);
  }

  // Workers take a moment to join, and to finish their contribution when they are to leave.
  template <class Event>
  void act(Process& process, Event event) {
    struct Out {
      std::vector<RankBlock> starts, stops;
      void operator()(StartRanks action) { starts.push_back(action.ranks); }
      void operator()(StopRanks action) { stops.push_back(action.ranks); }
      void operator()(ProcessDone) { FAIL("a process has ended"); }
    } out;
    event(process.served, out);
    for (const RankBlock block : out.starts)
      scheduler_.after(some(100ms), [this, &process, block] {
        if (process.is_alive && !leaving_.contains({process.index, block})) process.joined.insert(block);
      });
    for (const RankBlock block : out.stops) {
      leaving_.insert({process.index, block});
      scheduler_.after(100ms + some(200ms), [this, &process, block] {
        if (!process.is_alive) return;
        leaving_.erase({process.index, block});
        process.joined.erase(block);
        act(process, [block](ServedRanks& served, auto& to) { served.ended(block, exit_code::again, to); });
      });
    }
  }

  sim::Dice dice_;
  sim::Scheduler scheduler_;
  Rank sums_of_ = 0;
  std::optional<detail::RankDesk<Line*>> desk_;  // empty: the parameter server is down
  std::optional<Instant> alarm_;
  std::vector<Process> processes_;
  std::set<std::pair<std::uint32_t, RankBlock>> leaving_;
  std::vector<std::shared_ptr<Line>> lines_;  // those that were lost: the desk may still name them
  std::uint64_t newest_call_ = 0;
  bool is_restarted_ = false;
};

}  // namespace

TEST_CASE("The ranks of a lost process are served by others within adopt_after and 2 s", "[simulation]") {
  Instant::duration most{}, least{1h};
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Adoption adoption{seed};
    const Instant::duration took = adoption.run();
    CHECK(took <= times.adopt_after + 2s);
    most = std::max(most, took);
    if (!adoption.is_restarted()) least = std::min(least, took);
  }
  CHECK(most > times.adopt_after);
  CHECK(least > times.adopt_after - 600ms);  // a process asks every 0.5 s at least, and is not given up before its time
}
