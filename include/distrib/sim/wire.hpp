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

/// One connection between two cores in simulated time: a byte stream each way. What an end writes arrives in pieces of
/// any size, as from a socket; a read may fill only a part of `read_space()`.
///
/// The owner of an end is called after every event of its core, to take what the core has (as over a socket). After it
/// has called its core on its own, the owner must call `flush`. Must be made by `std::make_shared`: scheduled events
/// hold it.
///
/// Threads: one at a time. Lifetime: a core must live until its end is detached, or until the core is told that the
/// connection is lost. The scheduler and the dice must outlive the wire.
template <ConnectionCore A, ConnectionCore B>
class Wire : public std::enable_shared_from_this<Wire<A, B>> {
 public:
  Wire(Scheduler& scheduler, Dice& dice, NetworkOptions options)
      : scheduler_{scheduler},
        dice_{dice},
        options_{std::max(options.latency, std::chrono::microseconds{1}),
                 std::max<std::size_t>(options.piece_bytes, 1)} {}

  /// Connects the two cores. `a_owner`, `b_owner`: called after each event of the core.
  void attach(A& a, std::function<void()> a_owner, B& b, std::function<void()> b_owner) {
    a_.core = &a;
    a_.owner = std::move(a_owner);
    b_.core = &b;
    b_.owner = std::move(b_owner);
    flush();
  }

  /// Breaks the connection: what is on its way is lost, and both cores get `lost` with `connection_reset`, each after a
  /// latency.
  void reset() {
    if (std::exchange(broken_, true)) return;
    tell_lost(a_, std::make_error_code(std::errc::connection_reset));
    tell_lost(b_, std::make_error_code(std::errc::connection_reset));
  }

  /// Delivers nothing before `until`, and then everything that was sent, like a network that was cut and repaired. A
  /// later time that was given before stays. No end is told; an end that waits for an answer may give up before.
  void stall(Instant until) { stalled_until_ = std::max(stalled_until_, until); }

  /// Delivers nothing any more, permanently. `a_knows`, `b_knows`: true if this end is told, as by `reset`. An end that
  /// is not told finds out only by its own deadlines, as when the other machine has lost power.
  void half_open(bool a_knows, bool b_knows) {
    if (broken_ || std::exchange(silent_, true)) return;
    if (a_knows) tell_lost(a_, std::make_error_code(std::errc::connection_reset));
    if (b_knows) tell_lost(b_, std::make_error_code(std::errc::connection_reset));
  }

  /// Ends the process of one end: its core is not called any more. The other end reads what was sent, then its core
  /// gets `lost` without an error.
  void detach_a() { detach(a_, b_); }
  void detach_b() { detach(b_, a_); }

  /// Takes from both cores what they want to write, and the times at which they want to be woken.
  void flush() {
    serve(a_, b_);
    serve(b_, a_);
  }

  /// True if it will never deliver anything again.
  [[nodiscard]] auto broken() const noexcept -> bool { return broken_ || silent_; }

 private:
  template <class Core>
  struct End {
    Core* core = nullptr;  // null: detached, or told that the connection is lost
    std::function<void()> owner;
    std::deque<std::vector<std::byte>> sent;  // to this end, on its way
    std::vector<std::byte> arrived;  // at this end; the core has read the first `read` bytes; empty if it has read all
    std::size_t read = 0;
    bool writing = false;
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
    if (end.core->finished() && !end.writing) detach(end, other);
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

  // Delivers the first output that is on its way. It need not be the output for which this event was scheduled: so the
  // order is kept also after a stall has delayed some events.
  template <class Core, class Other>
  void arrive(End<Core>& end, End<Other>& other) {
    if (scheduler_.now() < stalled_until_) {
      scheduler_.at(stalled_until_, [self = hold(), &end, &other] { self->arrive(end, other); });
      return;
    }
    end.arrived.insert(end.arrived.end(), end.sent.front().begin(), end.sent.front().end());
    end.sent.pop_front();
    read(end, other);
  }

  // Lets the core read one piece. If there is more, the next piece follows a little later, so that other events can
  // come between them.
  template <class Core, class Other>
  void read(End<Core>& end, End<Other>& other) {
    if (end.core == nullptr || broken() || end.arrived.empty()) return;
    if (!end.core->reads()) return;  // it does not want to read now: happened() schedules another read
    const ReadSpace space = end.core->read_space(scheduler_.scratch(least_read_bytes));
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
    if (other.core == nullptr) return;
    other.last_arrival = std::max(other.last_arrival, scheduler_.now() + latency());
    scheduler_.at(std::max(other.last_arrival, stalled_until_),
                  [self = hold(), &other] { self->close_when_read(other); });
  }

  // Reports the end of the stream after its last byte was read.
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
  bool broken_ = false;
  bool silent_ = false;  // half-open
  Instant stalled_until_{};
};

}  // namespace sim
}  // namespace v0
}  // namespace distrib
