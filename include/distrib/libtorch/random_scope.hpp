// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/philox.hpp>
#include <distrib/libtorch/error.hpp>
#include <distrib/libtorch/torch.hpp>

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Returns the seed with which the generators give the numbers of `torch::manual_seed(seed)`. LibTorch's generator of
/// the CPU ignores the upper half of a seed; here that changes the lower half.
[[nodiscard]] inline auto generator_seed(std::uint64_t seed) noexcept -> std::uint64_t {
  return static_cast<std::uint32_t>(seed) ^ static_cast<std::uint32_t>(mix_bits(seed >> 32));
}

/// Gives the process' random numbers of LibTorch to one thread while it exists, beginning with those of a seed.
/// LibTorch has one default generator for each device, which dropout and initial values draw from, so only one thread
/// at a time can have numbers that do not depend on timing. Threads get it in the order in which they asked, so an
/// evaluation of many batches delays a contribution by one batch at most.
///
/// Threads: one; nested scopes would wait forever.
class RandomScope {
 public:
  RandomScope(std::uint64_t seed, torch::Device device) {
    seed_generator(at::detail::getDefaultCPUGenerator(), seed);
    if (!device.is_cpu()) seed_generator(at::globalContext().defaultGenerator(device), seed);
  }
  RandomScope(const RandomScope&) = delete;
  auto operator=(const RandomScope&) -> RandomScope& = delete;

 private:
  friend class NoRandomScope;

  struct Turns {
    std::mutex mutex;
    std::condition_variable changed;
    std::uint64_t next = 0;  // of those that asked
    std::uint64_t now = 0;  // whose turn it is
  };
  static auto turns() noexcept -> Turns& {
    static Turns all;
    return all;
  }

  class Turn {
   public:
    Turn() {
      std::unique_lock lock{turns().mutex};
      const std::uint64_t mine = turns().next++;
      turns().changed.wait(lock, [&] { return turns().now == mine; });
    }
    Turn(const Turn&) = delete;
    auto operator=(const Turn&) -> Turn& = delete;
    ~Turn() {
      {
        const std::lock_guard lock{turns().mutex};
        ++turns().now;
      }
      turns().changed.notify_all();
    }
  };

  static void seed_generator(at::Generator generator, std::uint64_t seed) {
    const std::lock_guard lock{generator.mutex()};
    generator.set_current_seed(generator_seed(seed));
  }

  Turn turn_;
};

/// For a module that is said to draw no random numbers: notices if it does. Several may exist at a time.
///
/// Threads: one.
class NoRandomScope {
 public:
  NoRandomScope() : before_{state()} {}

  /// Throws `libtorch_errc::drew_random` if numbers of the CPU were drawn since the object was made. `who`: the
  /// function that may have drawn them. Draws beside a `RandomScope` of another thread go unnoticed.
  void check(const char* who) const {
    const State now = state();
    const bool alone = before_.turn == now.turn && !now.is_taken;
    const bool same = before_.engine.left_ == now.engine.left_ && before_.engine.next_ == now.engine.next_ &&
                      before_.engine.state_ == now.engine.state_;
    if (alone && !same) throw_error(libtorch_errc::drew_random, who);
  }

 private:
  struct State {
    at::mt19937_data_pod engine;
    std::uint64_t turn;
    bool is_taken;
  };

  static auto state() -> State {
    State found{};
    {
      const std::lock_guard lock{RandomScope::turns().mutex};
      found.turn = RandomScope::turns().next;
      found.is_taken = RandomScope::turns().now != RandomScope::turns().next;
    }
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    const std::lock_guard lock{generator.mutex()};
    found.engine = at::check_generator<at::CPUGeneratorImpl>(generator)->engine().data();
    return found;
  }

  State before_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
