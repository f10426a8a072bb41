// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Says which versions of a model are being read. A reader pins the version that is served; the writer publishes the
/// next one by one store, and reuses what only older versions need when no one of them is pinned any more. No reader
/// waits for the writer.
///
/// Threads: any may pin; one at a time publishes.
class VersionPins {
 public:
  /// Most readers at the same time; a further one waits for another to end.
  static constexpr std::size_t most = 512;

  struct Pinned {
    std::size_t place = 0;
    std::uint64_t version = 0;
  };

  /// Pins the version that is served.
  [[nodiscard]] auto pin() noexcept -> Pinned {
    // Each thread begins at a place of its own: a cache line that no other thread writes.
    static std::atomic<std::size_t> threads{0};
    thread_local const std::size_t own = threads.fetch_add(1, std::memory_order_relaxed);
    for (std::size_t place = own % most;; place = (place + 1) % most) {
      std::uint64_t free = 0;
      std::uint64_t version = version_.load(std::memory_order_seq_cst);
      if (!pins_[place].version.compare_exchange_strong(free, version, std::memory_order_seq_cst)) continue;
      // The writer may have looked at the pins before this one was there: then the version has changed.
      for (;;) {
        const std::uint64_t now = version_.load(std::memory_order_seq_cst);
        if (now == version) return {place, version};
        version = now;
        pins_[place].version.store(version, std::memory_order_seq_cst);
      }
    }
  }

  void unpin(std::size_t place) noexcept { pins_[place].version.store(0, std::memory_order_release); }

  /// Returns the version that is served.
  [[nodiscard]] auto version() const noexcept -> std::uint64_t { return version_.load(std::memory_order_seq_cst); }

  /// Serves this version from now on. It must be larger than the one before.
  void publish(std::uint64_t version) noexcept { version_.store(version, std::memory_order_seq_cst); }

  /// True if no reader has an older version than the one that is served.
  [[nodiscard]] auto is_drained() const noexcept -> bool {
    const std::uint64_t now = version();
    for (const Pin& pin : pins_) {
      const std::uint64_t pinned = pin.version.load(std::memory_order_seq_cst);
      if (pinned != 0 && pinned < now) return false;
    }
    return true;
  }

  /// Number of pins.
  [[nodiscard]] auto pinned() const noexcept -> std::size_t {
    std::size_t count = 0;
    for (const Pin& pin : pins_) count += pin.version.load(std::memory_order_relaxed) != 0 ? 1U : 0U;
    return count;
  }

 private:
  struct alignas(64) Pin {
    std::atomic<std::uint64_t> version{0};
  };

  std::array<Pin, most> pins_;
  alignas(64) std::atomic<std::uint64_t> version_{2};
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
