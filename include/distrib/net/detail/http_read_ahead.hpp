// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/http_client.hpp>
#include <distrib/net/http_message.hpp>
#include <distrib/net/io_pool.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Reads a file of known size in order, by pieces that are fetched ahead. A piece belongs to whoever claims it first: a
/// thread of the pool, or the reader that waits for it. So a pool that is busy or stopped cannot block; without one the
/// reader fetches all.
///
/// `fetch(client, first, to, stop, error)` fills all of `to`, or says why not, soon after `stop` became true too; it
/// may be called on several threads at a time. Dropping the reader waits for nobody. Movable; one thread at a time.
template <class Fetch> class HttpReadAhead {
 public:
  /// `ahead` pieces at a time, at least one; `pool` outlives this. Nothing is fetched before the first `read`.
  HttpReadAhead(Fetch fetch, std::uint64_t size, std::size_t piece_bytes, std::size_t ahead, IoPool* pool,
                const HttpOptions& options)
      : owner_{std::make_shared<Shared>(std::move(fetch))},
        size_{size},
        piece_bytes_{std::max<std::size_t>(piece_bytes, 1)},
        pool_{pool} {
    const std::uint64_t pieces = (size + piece_bytes_ - 1) / piece_bytes_;
    const std::uint64_t slots = pool == nullptr ? 1 : std::max<std::size_t>(ahead, 1);
    for (std::uint64_t i = 0; i < std::min(slots, pieces); ++i) owner_.shared->slots.emplace_back(options);
  }

  /// See `ByteSource`.
  [[nodiscard]] auto read(std::span<std::byte> to, Error& error) -> std::size_t {
    while (window_.empty()) {
      if (failed_) error = failed_;
      if (failed_ || !next_piece(error)) return 0;
    }
    const std::size_t count = std::min(to.size(), window_.size());
    std::memcpy(to.data(), window_.data(), count);
    window_ = window_.subspan(count);
    return count;
  }

 private:
  enum : int { idle, wanted, begun, done };

  struct Slot {
    explicit Slot(const HttpOptions& options) : client{options} {}
    std::atomic<int> state = idle;
    HttpClient client;
    std::uint64_t first = 0;
    std::vector<std::byte> bytes;
    Error error;
    std::exception_ptr thrown;
  };

  struct Shared {
    explicit Shared(Fetch how) : fetch{std::move(how)} {}

    /// Fetches what is wanted of a slot. False: nothing is, or somebody has begun.
    auto work(Slot& slot) noexcept -> bool {
      int expected = wanted;
      if (!slot.state.compare_exchange_strong(expected, begun)) return false;
      try {
        fetch(slot.client, slot.first, std::span{slot.bytes}, stop, slot.error);
      } catch (...) {
        slot.thrown = std::current_exception();
      }
      slot.state.store(done);
      slot.state.notify_one();
      return true;
    }

    Fetch fetch;
    std::deque<Slot> slots;
    std::atomic<bool> stop = false;
  };

  /// Threads that fetch keep what they need; they are told to stop.
  struct Owner {
    explicit Owner(std::shared_ptr<Shared> held) : shared{std::move(held)} {}
    Owner(Owner&&) noexcept = default;
    auto operator=(Owner&&) -> Owner& = delete;
    ~Owner() {
      if (shared) shared->stop = true;
    }
    std::shared_ptr<Shared> shared;
  };

  /// Gives the piece that begins at `asked_` to the pool.
  void want(Slot& slot) {
    if (asked_ == size_) return;
    slot.first = asked_;
    slot.bytes.resize(static_cast<std::size_t>(std::min<std::uint64_t>(piece_bytes_, size_ - asked_)));
    slot.error = {};
    asked_ += slot.bytes.size();
    slot.state.store(wanted);
    if (pool_ == nullptr) return;
    asio::post(pool_->executor(), [weak = std::weak_ptr{owner_.shared}, &slot] {
      if (const auto shared = weak.lock(); shared && !shared->stop) shared->work(slot);
    });
  }

  auto next_piece(Error& error) -> bool {
    if (read_ == size_) return false;
    std::deque<Slot>& slots = owner_.shared->slots;
    if (read_ == 0) {
      for (Slot& slot : slots) want(slot);
    } else {
      want(slots[turn_]);  // all of it has been read
      turn_ = (turn_ + 1) % slots.size();
    }
    Slot& slot = slots[turn_];
    owner_.shared->work(slot);
    for (int state = slot.state; state != done; state = slot.state) slot.state.wait(state);
    slot.state.store(idle);
    if (slot.thrown) std::rethrow_exception(std::exchange(slot.thrown, nullptr));
    if (slot.error) {
      failed_ = error = slot.error;
      return false;
    }
    window_ = slot.bytes;
    read_ += slot.bytes.size();
    return true;
  }

  Owner owner_;
  std::uint64_t size_;
  std::size_t piece_bytes_;
  IoPool* pool_;
  std::uint64_t asked_ = 0;  // up to here pieces are fetched, or will be
  std::uint64_t read_ = 0;  // up to here they were at hand
  std::size_t turn_ = 0;  // the slot at hand
  ByteView window_;  // what is left of the piece at hand
  Error failed_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
