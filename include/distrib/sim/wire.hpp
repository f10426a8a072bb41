// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/net/connection_core.hpp>
#include <distrib/sim/dice.hpp>
#include <distrib/sim/network_options.hpp>
#include <distrib/sim/scheduler.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace sim {

/// One connection between two cores, byte streams both ways, in simulated time. What an end writes arrives in pieces of
/// any size, as a socket gives them; a full `read_space()` is never assumed.
///
/// The owner of an end is called after every event of its core, to take what the core has (as over a socket), and calls
/// `flush` when it has told its core something by itself. A heap object: events that are under way hold it. The cores
/// must live until `detach`. Threads: one at a time.
template <ConnectionCore A, ConnectionCore B>
class Wire : public std::enable_shared_from_this<Wire<A, B>> {
 public:
  Wire(Scheduler& scheduler, Dice& dice, NetworkOptions options)
      : scheduler_{scheduler}, dice_{dice}, options_{options} {}

  /// Puts the cores at its ends, with what is to be called after their events.
  void attach(A& a, std::function<void()> a_owner, B& b, std::function<void()> b_owner) {
    a_.core = &a;
    a_.owner = std::move(a_owner);
    b_.core = &b;
    b_.owner = std::move(b_owner);
    flush();
  }

  /// The connection breaks: what is under way is lost, and both ends are told, each after a while.
  void reset() {
    if (std::exchange(broken_, true)) return;
    tell_lost(a_, std::make_error_code(std::errc::connection_reset));
    tell_lost(b_, std::make_error_code(std::errc::connection_reset));
  }

  /// It carries nothing before `until`, and then what it was given, as a network does that was cut and mended. Nobody is
  /// told; who waits for an answer less long gives up before.
  void stall(Instant until) { stalled_until_ = std::max(stalled_until_, until); }

  /// It carries nothing any more, for good. An end that does not know finds out by its own deadlines only, as where the
  /// other machine lost its power.
  void half_open(bool a_knows, bool b_knows) {
    if (broken_ || std::exchange(silent_, true)) return;
    if (a_knows) tell_lost(a_, std::make_error_code(std::errc::connection_reset));
    if (b_knows) tell_lost(b_, std::make_error_code(std::errc::connection_reset));
  }

  /// The process of one end is gone: its core is not called any more; the other end reads what was sent, then is told.
  void detach_a() { detach(a_, b_); }
  void detach_b() { detach(b_, a_); }

  /// Takes what the cores want written and when they want to be woken.
  void flush() {
    serve(a_, b_);
    serve(b_, a_);
  }

  /// Whether nothing will be carried any more.
  [[nodiscard]] auto broken() const noexcept -> bool { return broken_ || silent_; }

 private:
  template <class Core>
  struct End {
    Core* core = nullptr;  // null: detached, or told that the connection is lost
    std::function<void()> owner;
    std::deque<std::vector<std::byte>> sent;  // to this end, and not there yet
    std::vector<std::byte> arrived;  // of these, the first `read` were read; empty when all were
    std::size_t read = 0;
    bool writing = false;
    bool closed = false;  // by this end
    Instant last_arrival{};  // of what was sent to this end
    std::optional<Instant> alarm;
  };

  auto hold() { return this->shared_from_this(); }
  auto latency() -> std::chrono::microseconds {
    return std::chrono::microseconds{dice_.between(1, static_cast<std::uint64_t>(options_.latency.count()))};
  }

  template <class Core, class Other>
  void serve(End<Core>& end, End<Other>& other) {
    if (end.core == nullptr) return;
    write(end, other);
    set_alarm(end, other);
    if (end.core->finished() && !end.writing && !std::exchange(end.closed, true)) detach(end, other);
  }

  template <class Core, class Other>
  void write(End<Core>& end, End<Other>& other) {
    if (end.writing || broken_) return;
    const auto& pieces = end.core->output();
    if (pieces.empty()) return;
    end.writing = true;
    if (!silent_) {
      std::vector<std::byte>& bytes = other.sent.emplace_back();
      for (const ByteView piece : pieces) bytes.insert(bytes.end(), piece.begin(), piece.end());
      other.last_arrival = std::max(other.last_arrival, scheduler_.now() + latency());
      scheduler_.at(other.last_arrival, [self = hold(), &end, &other] { self->arrive(other, end); });
    }
    scheduler_.after(latency(), [self = hold(), &end, &other] {
      end.writing = false;
      if (end.core == nullptr || self->broken_) return;
      end.core->written(self->scheduler_.now());
      self->happened(end, other);
    });
  }

  // The first of what is on its way, whichever it was when it was sent: order is kept also by what was held up.
  template <class Core, class Other>
  void arrive(End<Core>& end, End<Other>& other) {
    if (end.core == nullptr || broken()) return;
    if (scheduler_.now() < stalled_until_) {
      scheduler_.at(stalled_until_, [self = hold(), &end, &other] { self->arrive(end, other); });
      return;
    }
    end.arrived.insert(end.arrived.end(), end.sent.front().begin(), end.sent.front().end());
    end.sent.pop_front();
    read(end, other);
  }

  // One piece, and, when there is more, another one a little later: other events come in between.
  template <class Core, class Other>
  void read(End<Core>& end, End<Other>& other) {
    if (end.core == nullptr || broken() || end.arrived.empty()) return;
    if (!end.core->reads()) return;  // it wants nothing now: happened() comes here again
    const ReadSpace space = end.core->read_space(lent_);
    const std::size_t count = std::min({space.front.size() + space.back.size(), end.arrived.size() - end.read,
                                        std::size_t{dice_.between(1, options_.piece_bytes)}});
    const ByteView from = ByteView{end.arrived}.subspan(end.read, count);
    const std::size_t in_front = std::min(count, space.front.size());
    std::copy_n(from.begin(), in_front, space.front.begin());
    std::copy(from.begin() + static_cast<std::ptrdiff_t>(in_front), from.end(), space.back.begin());
    end.read += count;
    if (end.read == end.arrived.size()) {
      end.arrived.clear();
      end.read = 0;
    }
    end.core->bytes_read(count, scheduler_.now());
    happened(end, other);
  }

  template <class Core, class Other>
  void happened(End<Core>& end, End<Other>& other) {
    end.owner();
    if (end.core == nullptr) return;  // the owner has left
    end.core->keep();
    serve(end, other);
    if (end.core != nullptr && !end.arrived.empty())
      scheduler_.after(std::chrono::microseconds{1}, [self = hold(), &end, &other] { self->read(end, other); });
  }

  template <class Core, class Other>
  void set_alarm(End<Core>& end, End<Other>& other) {
    const std::optional<Instant> wake = end.core->wake();
    if (!wake || (end.alarm && *end.alarm <= *wake)) return;
    end.alarm = *wake;
    scheduler_.at(*wake, [self = hold(), &end, &other, when = *wake] {
      if (end.core == nullptr || end.alarm != when) return;
      end.alarm.reset();
      end.core->woken(self->scheduler_.now());
      self->happened(end, other);
    });
  }

  template <class Core, class Other>
  void detach(End<Core>& end, End<Other>& other) {
    if (end.core == nullptr) return;
    end.core = nullptr;
    end.closed = true;
    if (other.core == nullptr) return;
    other.last_arrival = std::max(other.last_arrival, scheduler_.now() + latency());
    scheduler_.at(std::max(other.last_arrival, stalled_until_),
                  [self = hold(), &other] { self->close_when_read(other); });
  }

  // The end of the stream comes after the last byte of it.
  template <class Core>
  void close_when_read(End<Core>& end) {
    if (end.core == nullptr || broken()) return;
    if (!end.arrived.empty() || !end.sent.empty()) {
      const Instant soon = std::max(scheduler_.now() + std::chrono::microseconds{10}, stalled_until_);
      scheduler_.at(soon, [self = hold(), &end] { self->close_when_read(end); });
      return;
    }
    tell_now(end, {});
  }

  template <class Core>
  void tell_lost(End<Core>& end, const std::error_code& reason) {
    if (end.core == nullptr) return;
    scheduler_.after(latency(), [self = hold(), &end, reason] { self->tell_now(end, reason); });
  }

  template <class Core>
  void tell_now(End<Core>& end, const std::error_code& reason) {
    if (end.core == nullptr) return;
    Core& core = *std::exchange(end.core, nullptr);
    core.lost(reason);
    end.owner();
  }

  Scheduler& scheduler_;
  Dice& dice_;
  NetworkOptions options_;
  End<A> a_;
  End<B> b_;
  std::vector<std::byte> lent_ = std::vector<std::byte>(least_read_bytes);
  bool broken_ = false;
  bool silent_ = false;  // half-open
  Instant stalled_until_{};
};

}  // namespace sim
}  // namespace v0
}  // namespace distrib
