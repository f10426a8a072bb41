// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/asio.hpp>
#include <distrib/net/connection_core.hpp>
#include <distrib/net/detail/at_work.hpp>
#include <distrib/net/detail/read_scratch.hpp>
#include <distrib/net/detail/read_some.hpp>
#include <distrib/net/detail/write_pieces.hpp>
#include <distrib/net/error.hpp>
#include <distrib/net/flag_while.hpp>
#include <distrib/net/peer_stream.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

/// Runs a `ConnectionCore` over a connected stream: at most one read, one write and one timer at a time. All decisions
/// are made by the core.
///
/// Make it with `std::make_shared`; the first `settle()` starts it. Its handlers keep it alive until the stream is
/// closed. After every event it calls `owner.on_activity(now)`: there the owner takes the events of the core, and may
/// call the core, `settle()`, `detach()` and `close()`. Then the connection settles.
///
/// All output of one event leaves in one gather write. A socket is read into memory that all connections of a thread
/// share, and is written at once; the connection waits only for the output that the system does not accept.
///
/// If writing fails, the bytes that have arrived are read to their end first, because they may say why the peer ended
/// the connection. When the core is finished and its output is written, the connection tells the peer that nothing
/// follows, and drops what the peer still sends until the peer closes too: an earlier close could destroy output that
/// is under way. For this, and for writing the rest, a peer that makes no progress gets the time `linger` (5 s by
/// default).
///
/// Errors: an exception of the owner leaves the context's `run()`. The events that the owner has not taken yet are
/// offered again in a later handler.
///
/// Threads: one at a time; once it runs, only the executor's thread.
///
/// Memory: allocates none after warm-up.
template <ConnectionCore Core, class Owner>
class Connection : public std::enable_shared_from_this<Connection<Core, Owner>> {
 public:
  using Executor = PeerStream::executor_type;

  /// Makes the core from the arguments `core`. The owner must live until `detach()`, `close()`, or the call of
  /// `on_activity` after the core's `lost`. Small writes leave at once (TCP_NODELAY).
  template <class... CoreArgs>
  Connection(PeerStream stream, Owner& owner, CoreArgs&&... core)
      : stream_{std::move(stream)},
        executor_{stream_.get_executor()},
        timer_{executor_},
        owner_{&owner},
        core_(std::forward<CoreArgs>(core)...) {
    std::error_code ignored;
    stream_.lowest_layer().set_option(asio::ip::tcp::no_delay{true}, ignored);
    stream_.lowest_layer().non_blocking(true, ignored);
  }

  [[nodiscard]] auto get_executor() const noexcept -> Executor { return executor_; }

  [[nodiscard]] auto lowest_layer() const noexcept -> const auto& { return stream_.lowest_layer(); }

  [[nodiscard]] auto core() noexcept -> Core& { return core_; }
  [[nodiscard]] auto core() const noexcept -> const Core& { return core_; }

  /// True until the connection is lost, is closed, or has ended after its core was finished.
  [[nodiscard]] auto is_open() const noexcept -> bool { return open_; }

  /// Sets how long a peer that makes no progress can delay the end of a connection whose core is finished. Less than 0
  /// counts as 0, more than a day as a day.
  void set_linger(std::chrono::milliseconds time) noexcept {
    using namespace std::chrono;
    linger_ = duration_cast<Linger>(std::clamp<milliseconds>(time, {}, hours{24}));
  }

  /// Starts what the core wants: a read, a write, the timer, or the end. Call it after every call of the core outside
  /// of `on_activity`. Never calls the owner; does nothing after the connection is closed.
  void settle() {
    if (!open_) return;
    if (!is_finishing() && core_.finished()) finish_by_ = Clock::now() + linger_;
    start_write();
    if (!open_) return;
    start_read();
    if (peer_ended_ && shut_down_) return close();
    arm();
    if (is_broken() || (owner_ != nullptr && core_.ready())) settle_soon();
  }

  /// Called by the owner when it has handled one event of the core. After each 64 events the output is written, so that
  /// the peer can begin while this end continues. It is not written early if other connections are at work on this
  /// thread: they keep the thread busy, and one write at the end is cheaper.
  void taken_one() {
    if (++taken_ % taken_together == 0 && is_alone_ && !writing_) start_write();
  }

  /// Settles after the handlers that are due now: the output of all of them leaves in one write.
  void settle_soon() {
    const bool is_over = !open_ && owner_ == nullptr;  // closed, and the owner knows it
    if (is_over || std::exchange(soon_, true)) return;
    asio::post(executor_, [self = this->shared_from_this()] { self->on_posted(); });
  }

  /// True if `settle_soon` was called and has not settled yet.
  [[nodiscard]] auto settles_soon() const noexcept -> bool { return soon_; }

  /// Never calls the owner again. The connection continues until it is lost, or its core is finished.
  void detach() noexcept { owner_ = nullptr; }

  /// True while output waits until the system accepts more.
  [[nodiscard]] auto is_writing() const noexcept -> bool { return writing_; }

  /// Returns stream and core, to continue with them on `executor`; this connection is then closed. Must not be called
  /// while `is_writing()`.
  [[nodiscard]] auto release(const Executor& executor) -> std::pair<PeerStream, Core> {
    core_.keep();
    PeerStream released = stream_.release(executor);
    close();
    return {std::move(released), std::move(core_)};
  }

  /// Ends the connection at once. Neither the core nor the owner is called any more.
  void close() noexcept {
    open_ = false;
    owner_ = nullptr;
    timer_.cancel();
    std::error_code ignored;
    stream_.lowest_layer().close(ignored);
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Linger = std::chrono::duration<std::uint32_t, std::milli>;
  static constexpr Instant never = Instant::max();
  static constexpr std::uint32_t taken_together = 64;
  // most reads of large data in one handler: their output leaves in one write
  static constexpr std::uint32_t most_reads = 16;

  [[nodiscard]] auto is_finishing() const noexcept -> bool { return finish_by_ != never; }

  /// True if nothing can be written and no read is outstanding.
  [[nodiscard]] auto is_broken() const noexcept -> bool { return write_error_ && !reading_; }

  void on_posted() {
    soon_ = false;
    if (!open_) return tell_end();
    if (std::exchange(interrupted_, false)) return activity(Clock::now());  // the owner has not taken all events
    if (is_broken()) return lose({});
    if (core_.ready()) return activity(Clock::now());
    settle();
  }

  /// Called at the end of every event of the core.
  void activity(Instant now) {
    tell(now);
    settle();
    if (open_ && is_broken()) lose({});
  }

  void tell(Instant now) try {
    is_alone_ = detail::is_at_work_again(this);
    taken_ = 0;
    const detail::FlagWhile active{active_};
    if (owner_ != nullptr) owner_->on_activity(now);
    core_.keep();
  } catch (...) {
    interrupted_ = true;  // when the context runs again, the connection continues
    core_.keep();
    settle_soon();
    throw;
  }

  void lose(const std::error_code& reason) {
    Owner* const owner = owner_;
    close();
    // A peer that refuses this end says why before it ends the connection.
    core_.lost(write_error_ && !detail::is_tls_refusal(reason) ? write_error_ : reason);
    owner_ = owner;
    tell_end();
  }

  void tell_end() try {
    if (owner_ != nullptr) owner_->on_activity(Clock::now());
    owner_ = nullptr;
  } catch (...) {
    settle_soon();
    throw;
  }

  // --- reading ---

  void start_read() {
    if (reading_ || active_ || peer_ended_ || !(is_finishing() || core_.reads())) return;
    reading_ = true;
    auto readable = [self = this->shared_from_this()](const std::error_code&) { self->on_readable(); };
    if (is_finishing()) stream_.lowest_layer().async_wait(PeerStream::wait_read, std::move(readable));
    else stream_.async_wait(PeerStream::wait_read, std::move(readable));
  }

  void on_readable() {
    detail::ReadScratch scratch;
    std::error_code ec;
    for (std::uint32_t reads = 1; open_; ++reads) {
      const ReadSpace space = is_finishing() || core_.reads() ? space_in(scratch.bytes()) : ReadSpace{};
      reading_ = false;
      if (reads != 1 && !space.is_large) return settle();
      const std::size_t count = read_some(space, ec);
      if (ec == asio::error::would_block || (!ec && count == 0)) return settle();
      if (ec || is_finishing() || count < space.size() || reads == most_reads) return on_read(ec, count);
      const Instant now = Clock::now();
      core_.bytes_read(count, now);
      tell(now);
      reading_ = open_;
    }
  }

  /// What is read and dropped at the end need not be decrypted.
  auto read_some(const ReadSpace& space, std::error_code& ec) -> std::size_t {
    return is_finishing() ? detail::read_some(stream_.lowest_layer(), space, ec) : stream_.read_some(space, ec);
  }

  auto space_in(std::span<std::byte> lent) -> ReadSpace {
    return is_finishing() ? ReadSpace{lent} : core_.read_space(lent);
  }

  void on_read(const std::error_code& ec, std::size_t count) {
    reading_ = false;
    if (!open_) return;
    if (is_finishing()) {
      peer_ended_ = static_cast<bool>(ec);
      return settle();
    }
    if (ec) return lose(ec == asio::error::eof ? std::error_code{} : detail::without_asio(ec));
    const Instant now = Clock::now();
    core_.bytes_read(count, now);
    activity(now);
  }

  // --- writing ---

  void start_write() {
    while (open_ && !writing_ && !write_error_ && !shut_down_) {
      if (core_.output().empty()) {
        if (is_finishing()) end_output();
        return;
      }
      written_ = 0;
      write_some();
    }
  }

  void write_some() {
    std::error_code ec;
    for (bool more = true; more && !ec;) {
      const detail::WritePieces pieces{core_.output(), written_};
      const std::size_t count = stream_.write_some(pieces, ec);
      written_ += count;
      more = count != pieces.bytes() || !pieces.is_all();
    }
    if (ec == asio::error::would_block) return wait_to_write();
    if (ec) return on_write_error(ec);
    core_.written(Clock::now());
  }

  void wait_to_write() {
    writing_ = true;
    stream_.async_wait(PeerStream::wait_write,
                       [self = this->shared_from_this()](const std::error_code&) { self->on_writable(); });
  }

  /// Called when the system accepts more output.
  void on_writable() {
    if (!open_) return;
    const Instant now = Clock::now();
    if (is_finishing()) finish_by_ = now + linger_;
    writing_ = false;
    if (ends_) {
      end_output();
      return settle();
    }
    write_some();
    if (!open_) return;
    writing_ || write_error_ ? settle() : activity(now);
  }

  /// Tells the peer that nothing follows, after all output was written.
  void end_output() {
    std::error_code ec;
    stream_.end(ec);
    ends_ = ec == asio::error::would_block;
    if (ends_) return wait_to_write();
    shut_down(asio::socket_base::shutdown_send);
  }

  void on_write_error(const std::error_code& ec) {
    if (is_finishing()) return close();
    write_error_ = detail::without_asio(ec);
    shut_down(asio::socket_base::shutdown_both);  // bytes that have arrived can still be read, then the end
  }

  void shut_down(asio::socket_base::shutdown_type what) noexcept {
    shut_down_ = true;
    std::error_code ignored;
    stream_.lowest_layer().shutdown(what, ignored);
  }

  // --- time ---

  void arm() {
    const Instant at = is_finishing() ? finish_by_ : core_.wake().value_or(never);
    if (at >= armed_) return;
    armed_ = at;
    timer_.expires_at(at);  // the wait for a later time ends with an error
    timer_.async_wait([self = this->shared_from_this()](const std::error_code& ec) {
      if (!ec) self->on_timer();
    });
  }

  void on_timer() {
    if (!open_) return;
    armed_ = never;
    const Instant now = Clock::now();
    if (is_finishing()) return now < finish_by_ ? arm() : close();
    if (now < core_.wake().value_or(never)) return arm();
    core_.woken(now);
    activity(now);
  }

  PeerStream stream_;
  Executor executor_;
  detail::SteadyTimer timer_;
  Owner* owner_;
  Core core_;
  std::error_code write_error_;
  Instant finish_by_ = never;  // when to close at the latest; not `never`: the core is finished
  Instant armed_ = never;  // the time for which `timer_` is set
  std::size_t written_ = 0;  // bytes of the core's output that are written
  // Small members together: there may be many thousands of connections.
  Linger linger_{5'000};
  std::uint32_t taken_ = 0;  // events taken by the owner in this event
  bool open_ = true;
  bool active_ = false;  // `on_activity` runs
  bool soon_ = false;  // `on_posted` is posted
  bool is_alone_ = false;  // no other connection was at work on this thread since the last event of this one
  bool interrupted_ = false;  // the owner threw: it may not have taken all events
  bool reading_ = false;  // a read is outstanding
  bool writing_ = false;  // output, or the end, waits until the system accepts more
  bool ends_ = false;  // the end of the secure layer is not written yet
  bool peer_ended_ = false;  // while finishing: nothing more to read
  bool shut_down_ = false;  // nothing more to write
};

}  // namespace v0
}  // namespace distrib
