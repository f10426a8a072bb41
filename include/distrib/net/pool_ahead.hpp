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

/// What `PoolAhead` has done ahead. Semantics: `work(piece, dropped)` makes one piece, and may throw; it is called on
/// several threads at once, each with another piece. `dropped` becomes true when nobody will take pieces any more.
/// `is_waited_for`: whether the end of `PoolAhead` waits for the pieces that are being made. If it does not wait, `work`
/// owns all that it reads, and returns soon after `dropped` became true.
template <class W>
concept WorkAhead = requires(W& work, typename W::Piece& piece, const std::atomic<bool>& dropped) {
  work(piece, dropped);
  { W::is_waited_for } -> std::convertible_to<bool>;
};

/// A ring of pieces of work that the threads of a pool do ahead of the caller, who takes the pieces in his own order. A
/// piece belongs to whoever claims it first: a thread of the pool, or the caller who wants to take it. So the results do
/// not depend on the pool, and a pool that is busy, stopped, or the one that the caller is a thread of, costs time only.
///
/// Threads: one at a time; that thread alone touches a piece, except between `want` or `want_ahead` and `finish`. The pool
/// outlives this. Movable: pieces stay where they are.
template <WorkAhead Work> class PoolAhead {
 public:
  using Piece = typename Work::Piece;

  /// No pieces.
  PoolAhead() = default;

  /// So many pieces, each made with `arguments`. Without a pool the caller does all the work.
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
  /// Drops what has not begun; waits for what has, if the work says so.
  ~PoolAhead() {
    if (!ring_) return;
    ring_->dropped = true;
    if (Work::is_waited_for) drop();
  }

  [[nodiscard]] auto size() const noexcept -> std::size_t { return ring_ ? ring_->slots.size() : 0; }

  [[nodiscard]] auto operator[](std::size_t at) noexcept -> Piece& { return ring_->slots[at].piece; }
  [[nodiscard]] auto operator[](std::size_t at) const noexcept -> const Piece& { return ring_->slots[at].piece; }

  /// Piece `at` is to be made: by `finish`.
  void want(std::size_t at) noexcept {
    Slot& slot = ring_->slots[at];
    slot.thrown = nullptr;
    slot.state.store(State::wanted, std::memory_order_release);
  }

  /// Piece `at` is to be made: by a thread of the pool, or by `finish`, whichever comes first.
  void want_ahead(std::size_t at) {
    want(at);
    if (pool_ == nullptr) return;
    asio::post(pool_->executor(), [weak = std::weak_ptr{ring_}, &slot = ring_->slots[at]] {
      if (const std::shared_ptr<Ring> ring = weak.lock(); ring && !ring->dropped) ring->make(slot);
    });
  }

  /// Piece `at`, which was wanted, as soon as it is made. Throws what making it threw, again each time until it is wanted
  /// again.
  auto finish(std::size_t at) -> Piece& {
    Slot& slot = ring_->slots[at];
    if (!ring_->make(slot)) slot.wait();
    return slot.result();
  }

  /// The same; while a thread of the pool makes it, the caller makes others that are wanted, those behind it first.
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

  /// No piece is wanted any more; returns when those that are being made are done.
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

  // Also held by a thread of the pool while it makes a piece.
  struct Ring {
    explicit Ring(Work how) : work{std::move(how)} {}

    // False: the piece is not wanted, or another thread has claimed it.
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
