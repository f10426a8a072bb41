// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/asio.hpp>
#include <distrib/net/io_pool.hpp>

#include <atomic>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <utility>

namespace distrib {
inline namespace v0 {

/// The work of a `PoolAhead`. `work(piece, dropped)` makes one piece, and may throw. It is called on several threads at
/// once, each with another piece. `dropped` becomes true when the `PoolAhead` is destroyed: then no piece is needed any
/// more.
///
/// `is_waited_for`: true if the destructor of `PoolAhead` waits for the pieces that are being made. If false, `work`
/// must own everything that it reads, and must return soon after `dropped` has become true.
template <class W>
concept WorkAhead = requires(W& work, typename W::Piece& piece, const std::atomic<bool>& dropped) {
  work(piece, dropped);
  { W::is_waited_for } -> std::convertible_to<bool>;
};

/// A ring of pieces of work that the threads of a pool make ahead of the caller. The caller takes the pieces in any
/// order.
///
/// A piece is made by the thread that claims it first: a thread of the pool, or the caller when it wants to take the
/// piece. So the results do not depend on the pool: a pool that is busy or stopped, or to which the caller itself
/// belongs, only costs time.
///
/// It can be moved; the pieces keep their addresses. The pool must outlive it.
///
/// Threads: one at a time. Only that thread may access a piece, and not between `want` or `want_ahead` and `finish`.
template <WorkAhead Work> class PoolAhead {
 public:
  using Piece = typename Work::Piece;

  /// Makes an empty ring.
  PoolAhead() = default;

  /// Makes a ring of `pieces` pieces, each constructed from `arguments`. `pool` null: the caller does all the work.
  template <class... Arguments>
  PoolAhead(IoPool* pool, std::size_t pieces, Work work, const Arguments&... arguments)
      : pool_{pool}, ring_{std::make_shared<Ring>(std::move(work))} {
    for (std::size_t i = 0; i < pieces; ++i) ring_->slots.emplace_back(arguments...);
  }

  PoolAhead(PoolAhead&&) noexcept = default;
  auto operator=(PoolAhead&& other) noexcept -> PoolAhead& {
    std::swap(pool_, other.pool_);
    std::swap(ring_, other.ring_);
    return *this;
  }
  /// Drops the pieces that have not begun. Waits for the pieces that are being made if `Work::is_waited_for`.
  ~PoolAhead() {
    if (!ring_) return;
    ring_->dropped = true;
    if (Work::is_waited_for) drop();
  }

  /// Returns the number of pieces.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return ring_ ? ring_->slots.size() : 0; }

  [[nodiscard]] auto operator[](std::size_t at) noexcept -> Piece& { return ring_->slots[at].piece; }
  [[nodiscard]] auto operator[](std::size_t at) const noexcept -> const Piece& { return ring_->slots[at].piece; }

  /// Marks piece `at` as wanted; `finish` makes it. The piece must not be wanted already, unless it is finished or
  /// dropped.
  void want(std::size_t at) noexcept {
    Slot& slot = ring_->slots[at];
    slot.thrown = nullptr;
    slot.state.store(State::wanted, std::memory_order_release);
  }

  /// Marks piece `at` as wanted, as `want` does, and lets a thread of the pool make it before `finish` is called.
  void want_ahead(std::size_t at) {
    want(at);
    if (pool_ == nullptr) return;
    asio::post(pool_->executor(), [weak = std::weak_ptr{ring_}, &slot = ring_->slots[at]] {
      if (const std::shared_ptr<Ring> ring = weak.lock(); ring && !ring->dropped) ring->make(slot);
    });
  }

  /// Returns piece `at`, which must be wanted: makes it, or waits for the thread that makes it. If making it threw an
  /// exception, throws that exception, at each call until the piece is wanted again.
  auto finish(std::size_t at) -> Piece& {
    Slot& slot = ring_->slots[at];
    if (!ring_->make(slot)) slot.wait();
    return slot.result();
  }

  /// Returns piece `at` as `finish` does, but while a thread of the pool makes the piece, the caller makes other wanted
  /// pieces, beginning with the next ones in the ring.
  auto finish_helping(std::size_t at) -> Piece& {
    Slot& slot = ring_->slots[at];
    assert(slot.state != State::idle);
    while (slot.state.load(std::memory_order_acquire) != State::done) {
      bool helped = false;
      for (std::size_t i = 0; i < size() && !helped; ++i) helped = ring_->make(ring_->slots[(at + i) % size()]);
      if (!helped) slot.wait();
    }
    return slot.result();
  }

  /// Drops all wanted pieces, and waits for those that are being made.
  void drop() noexcept {
    for (Slot& slot : ring_->slots) {
      State wanted = State::wanted;
      slot.state.compare_exchange_strong(wanted, State::idle, std::memory_order_relaxed);
    }
    for (Slot& slot : ring_->slots) slot.wait();
  }

 private:
  enum class State : int { idle, wanted, begun, done };

  struct Slot {
    template <class... Arguments> explicit Slot(const Arguments&... arguments) : piece{arguments...} {}

    std::atomic<State> state = State::idle;
    Piece piece;
    std::exception_ptr thrown;

    void wait() noexcept { state.wait(State::begun, std::memory_order_acquire); }

    auto result() -> Piece& {
      assert(state == State::done);
      if (thrown) std::rethrow_exception(thrown);
      return piece;
    }
  };

  // A thread of the pool shares it while it makes a piece.
  struct Ring {
    explicit Ring(Work how) : work{std::move(how)} {}

    // Makes the piece. Returns false if it is not wanted, or if another thread has claimed it.
    auto make(Slot& slot) noexcept -> bool {
      State wanted = State::wanted;
      if (!slot.state.compare_exchange_strong(wanted, State::begun, std::memory_order_acquire)) return false;
      try {
        work(slot.piece, dropped);
      } catch (...) {
        slot.thrown = std::current_exception();
      }
      slot.state.store(State::done, std::memory_order_release);
      slot.state.notify_one();
      return true;
    }

    Work work;
    std::deque<Slot> slots;
    std::atomic<bool> dropped = false;
  };

  IoPool* pool_ = nullptr;
  std::shared_ptr<Ring> ring_;
};

}  // namespace v0
}  // namespace distrib
