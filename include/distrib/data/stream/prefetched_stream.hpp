// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/data/order/error.hpp>
#include <distrib/data/stream/stream.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/io_pool.hpp>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace distrib {
inline namespace v0 {

namespace detail {

/// A stream and the items that were read ahead from it, shared with the threads of a pool. The thread that has set
/// `busy` uses the stream alone; `mutex` protects all other members.
template <class Below> struct ReadAhead {
  /// An element, a failure, or, if both are empty, the end; and the position of the stream behind it.
  struct Item {
    std::optional<Held<typename Below::Element>> element;
    Error error;
    StreamPosition position;
  };

  ReadAhead(Below stream, std::uint64_t ahead) : below{std::move(stream)}, most{ahead} {}

  /// Reads until `upto` items are ready or there is nothing more to read. `lock` must hold the mutex, and `busy` must
  /// be false.
  void read(std::unique_lock<std::mutex>& lock, std::uint64_t upto) noexcept {
    busy = true;
    while (!halted && !ended && !thrown && items.size() < upto) {
      lock.unlock();
      std::optional<Item> item;
      std::exception_ptr failure;
      try {
        item.emplace();
        if (const auto element = below.next(item->error)) item->element.emplace(*element);
        if constexpr (SeekableStream<Below>) item->position = below.position();
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      try {
        if (!failure) items.push_back(*std::move(item));
      } catch (...) {
        failure = std::current_exception();
      }
      thrown = failure;
      ended = !thrown && !items.back().element && !items.back().error;
      changed.notify_one();
    }
    busy = false;
    changed.notify_one();
  }

  /// Runs on a thread of the pool: reads until `most` items are ready.
  void read_all() noexcept {
    std::unique_lock lock{mutex};
    asked = false;
    if (!busy) read(lock, most);
  }

  /// Waits until no thread uses the stream, and keeps all threads from using it until `halted` is reset. Drops the
  /// items.
  void halt() {
    std::unique_lock lock{mutex};
    halted = true;
    changed.wait(lock, [this] { return !busy; });
    items.clear();
    thrown = nullptr;
    ended = false;
  }

  Below below;
  std::uint64_t most;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Item> items;
  std::exception_ptr thrown;  // what the stream threw, behind the items
  bool asked = false;  // a task that reads was posted to the pool and has not begun
  bool busy = false;
  bool halted = false;
  bool ended = false;
};

}  // namespace detail

/// Reads elements on a thread of a pool ahead of their use: the same elements and failures, in the same order. If the
/// pool is busy or stopped, or the caller itself runs on it, the caller reads. Records are copied once. Everything else
/// that an element points to must stay valid while later elements are read.
///
/// Errors: `next` reports `data_errc::bad_buffer` if `ahead` is 0. It reports a failure of the stream below, or throws
/// what that stream threw, at the same position as without prefetching.
///
/// Memory: `ahead` elements, and the one that was returned last.
///
/// Threads: the steps below run on threads of the pool and on the caller's thread, one at a time. The pool must outlive
/// the stream. The destructor waits for the element that is being read.
template <Stream Below> class PrefetchedStream {
 public:
  using Element = typename Below::Element;
  static_assert(
      !std::is_pointer_v<Element>,
      "distrib: a batch of columns is valid only until the next one: call prefetch(pool, n) before batch(schema, n)");

  PrefetchedStream(Below below, IoPool& pool, std::uint64_t ahead)
      : pool_{&pool}, shared_{std::make_shared<Shared>(std::move(below), ahead)} {}
  PrefetchedStream(PrefetchedStream&&) noexcept = default;
  auto operator=(PrefetchedStream&&) -> PrefetchedStream& = delete;
  ~PrefetchedStream() {
    if (shared_) shared_->halt();
  }

  [[nodiscard]] auto next(Error& error) -> std::optional<Element> {
    Shared& shared = *shared_;
    if (shared.most == 0) {
      error = {data_errc::bad_buffer, "prefetch(pool, 0)"};
      return std::nullopt;
    }
    std::unique_lock lock{shared.mutex};
    while (shared.items.empty() && !shared.thrown && !shared.ended && !shared.halted) {
      if (shared.busy) shared.changed.wait(lock);
      else shared.read(lock, 1);
    }
    if (shared.items.empty()) {
      if (shared.thrown) std::rethrow_exception(std::exchange(shared.thrown, nullptr));
      return std::nullopt;
    }
    given_.emplace(std::move(shared.items.front()));
    shared.items.pop_front();
    if (!shared.asked && !shared.busy && !shared.ended && shared.items.size() <= shared.most / 2) {
      shared.asked = true;
      lock.unlock();
      asio::post(pool_->executor(), [weak = std::weak_ptr{shared_}] {  // the stream may be destroyed before this runs
        if (const std::shared_ptr<Shared> ahead = weak.lock()) ahead->read_all();
      });
    }
    error = given_->error;
    return given_->element ? std::optional{given_->element->get()} : std::nullopt;
  }

  void rewind(std::uint64_t epoch, Error& error) {
    shared_->halt();
    shared_->below.rewind(epoch, error);
    go_on();
  }

  /// Returns the description of the stream below: a state made with prefetching can be used without it, and the
  /// reverse.
  [[nodiscard]] auto describe() const -> std::string {
    return description_.empty() ? shared_->below.describe() : description_;
  }

  [[nodiscard]] auto position() const -> detail::StreamPosition
    requires detail::SeekableStream<Below>
  {
    return given_ ? given_->position : begin_;
  }
  void seek(detail::StreamPosition position, Error& error)
    requires detail::SeekableStream<Below>
  {
    shared_->halt();
    shared_->below.seek(position, error);
    go_on();
  }

 private:
  using Shared = detail::ReadAhead<Below>;

  /// Lets reading begin at the present position of the stream. No thread uses the stream now.
  void go_on() {
    given_.reset();
    description_ = shared_->below.describe();
    if constexpr (detail::SeekableStream<Below>) begin_ = shared_->below.position();
    const std::scoped_lock lock{shared_->mutex};
    shared_->halted = false;
  }

  IoPool* pool_;
  std::shared_ptr<Shared> shared_;
  std::optional<typename Shared::Item> given_;  // the last item; the caller has its element
  std::string description_;
  detail::StreamPosition begin_;
};

}  // namespace v0
}  // namespace distrib
