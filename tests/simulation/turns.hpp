// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace simulation {

/// Threads that run one at a time: the thread that has the turn gives it to another one. So code that blocks can be
/// interrupted in its middle, at places and in an order that a test draws, and runs the same way each time.
///
/// Threads: `give` and the destructor are for the thread that made the object, `start` and `pass` for the thread that
/// has the turn.
class Turns {
 public:
  /// A thread by its number; `maker` is the thread that made the object.
  using Task = std::size_t;
  static constexpr Task maker = 0;

  /// Thrown by `pass` in a thread that is to end.
  struct Ended {};

  Turns() { slots_.push_back(std::make_unique<Slot>()); }
  Turns(const Turns&) = delete;
  auto operator=(const Turns&) -> Turns& = delete;
  /// Ends all threads: what they wait in throws `Ended`.
  ~Turns() {
    for (Task task = 1; task < slots_.size(); ++task) {
      slots_[task]->ends = true;
      if (!slots_[task]->is_done) give(task);
      slots_[task]->thread.join();
    }
  }

  /// Starts a thread, which waits for its first turn. When `work` ends, the turn goes to the maker. `work` may throw
  /// nothing but `Ended`.
  auto start(std::function<void()> work) -> Task {
    const Task task = slots_.size();
    slots_.push_back(std::make_unique<Slot>());
    Slot& slot = *slots_.back();
    slot.thread = std::thread{[this, &slot, work = std::move(work)] {
      try {
        wait(slot);
        work();
      } catch (const Ended&) {  // NOLINT: it ends
      }
      slot.is_done = true;
      wake(*slots_[maker]);
    }};
    return task;
  }

  /// True if the work of the thread has ended.
  [[nodiscard]] auto is_done(Task task) const -> bool { return slots_[task]->is_done; }

  /// Gives the turn to a thread, and waits until it comes back.
  void give(Task to) { pass(maker, to); }

  /// Gives the turn of `from`, which calls it, to another thread, and waits until it comes back.
  void pass(Task from, Task to) {
    if (from == to) return;
    Slot& own = *slots_[from];
    wake(*slots_[to]);
    wait(own);
  }

 private:
  struct Slot {
    std::condition_variable wakes;
    bool has_turn = false;
    bool ends = false;
    bool is_done = false;
    std::thread thread;
  };

  void wake(Slot& slot) {
    {
      const std::lock_guard lock{mutex_};
      slot.has_turn = true;
    }
    slot.wakes.notify_one();
  }
  void wait(Slot& slot) {
    std::unique_lock lock{mutex_};
    slot.wakes.wait(lock, [&slot] { return slot.has_turn; });
    slot.has_turn = false;
    if (slot.ends) throw Ended{};
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace simulation
