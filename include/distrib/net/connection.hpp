// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/connection_core.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib::inline v0 {

/// Runs a core over a connected stream: at most one read, one write and one timer at a time. It decides nothing.
///
/// Made by `std::make_shared`; the first `settle()` starts it. Its handlers hold it, so that it lives until the stream
/// is closed, whoever else lets go. After every event it calls `owner.on_activity(now)`, where the owner takes from the
/// core what is there for it, and may call the core, `settle()`, `detach()` and `close()`; then it settles.
///
/// A connection that breaks while there is something to read is read to its end first, because that may say why. When
/// the core is finished and its output is written, the peer is told that nothing follows, and what it still sends is
/// dropped until it closes too: closing earlier could take from it what is on its way. For that, and for writing the
/// rest, a peer that makes no progress is given `linger` of time.
///
/// Threads: one at a time, which is the executor's once it runs. Memory: none after warm-up. What the owner throws
/// comes out of the context's `run()`. `Stream` is a TCP socket or a layer above one, of an
/// `io_context`'s own executor.
template <ConnectionCore Core, class Owner, class Stream = TcpSocket>
class Connection : public std::enable_shared_from_this<Connection<Core, Owner, Stream>> {
 public:
  /// The owner must live until `detach()`, `close()`, or the call of `on_activity` after the core's `lost`. The core is
  /// made of `core`. Small writes leave at once (TCP_NODELAY).
  template <class... CoreArgs>
  Connection(Stream stream, Owner& owner, CoreArgs&&... core)
      : stream_{std::move(stream)},
        timer_{stream_.get_executor()},
        owner_{&owner},
        core_(std::forward<CoreArgs>(core)...) {
    std::error_code ignored;
    stream_.lowest_layer().set_option(asio::ip::tcp::no_delay{true}, ignored);
  }

  [[nodiscard]] auto core() noexcept -> Core& { return core_; }
  [[nodiscard]] auto core() const noexcept -> const Core& { return core_; }

  /// Until it was lost, is finished, or was closed.
  [[nodiscard]] auto is_open() const noexcept -> bool { return open_; }

  /// How long a peer that makes no progress holds up the end of a connection whose core is finished.
  void set_linger(std::chrono::milliseconds time) noexcept { linger_ = time; }

  /// Starts what the core wants: a read, a write, the timer, the end. To be called after every call of the core that is
  /// not from `on_activity`. Calls nobody back; does nothing when closed.
  void settle() {
    if (!open_) return;
    if (!is_finishing() && core_.finished()) finish_by_ = Clock::now() + linger_;
    start_write();
    start_read();
    if (peer_ended_ && shut_down_) return close();
    arm();
  }

  /// From now on the owner is called no more; the connection goes on until it is lost, or its core is finished.
  void detach() noexcept { owner_ = nullptr; }

  /// Ends it at once; neither core nor owner are told or called any more.
  void close() noexcept {
    open_ = false;
    owner_ = nullptr;
    timer_.cancel();
    std::error_code ignored;
    stream_.lowest_layer().close(ignored);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr Instant never = Instant::max();

  [[nodiscard]] auto is_finishing() const noexcept -> bool { return finish_by_ != never; }

  /// The end of every event of the core.
  void activity(Instant now) {
    if (owner_ != nullptr) owner_->on_activity(now);
    settle();
    if (open_ && write_error_ && !reading_) lose({});
  }

  void lose(const std::error_code& reason) {
    Owner* const owner = owner_;
    close();
    core_.lost(write_error_ ? write_error_ : reason);
    if (owner != nullptr) owner->on_activity(Clock::now());
  }

  // --- reading ---

  void start_read() {
    if (reading_ || peer_ended_) return;
    const std::span<std::byte> space = is_finishing() ? std::span<std::byte>{dropped_} : core_.read_space();
    if (space.empty()) return;
    reading_ = true;
    stream_.async_read_some(asio::mutable_buffer{space.data(), space.size()},
                            [self = this->shared_from_this()](const std::error_code& ec, std::size_t count) {
                              self->on_read(ec, count);
                            });
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
    if (writing_ || write_error_ || shut_down_) return;
    const std::span<const ByteView> output = core_.output();
    if (output.empty()) {
      if (is_finishing()) shut_down(asio::socket_base::shutdown_send);
      return;
    }
    buffers_.clear();
    for (const ByteView view : output)
      if (!view.empty()) buffers_.emplace_back(view.data(), view.size());
    unwritten_ = buffers_;
    writing_ = true;
    write_some();
  }

  void write_some() {
    stream_.async_write_some(unwritten_,
                             [self = this->shared_from_this()](const std::error_code& ec, std::size_t count) {
                               self->on_written(ec, count);
                             });
  }

  void on_written(const std::error_code& ec, std::size_t count) {
    if (!open_) return;
    if (ec) return on_write_error(ec);

    while (!unwritten_.empty() && count >= unwritten_.front().size()) {
      count -= unwritten_.front().size();
      unwritten_ = unwritten_.subspan(1);
    }
    if (!unwritten_.empty()) unwritten_.front() += count;

    const Instant now = Clock::now();
    if (is_finishing()) finish_by_ = now + linger_;
    if (!unwritten_.empty()) return write_some();
    writing_ = false;
    core_.written(now);
    activity(now);
  }

  void on_write_error(const std::error_code& ec) {
    if (is_finishing()) return close();
    write_error_ = detail::without_asio(ec);
    shut_down(asio::socket_base::shutdown_both);  // what arrived can still be read, and then comes an end
    if (!reading_) lose({});
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

  Stream stream_;
  detail::SteadyTimer timer_;
  Owner* owner_;
  Core core_;
  bool open_ = true;
  bool reading_ = false;
  bool writing_ = false;
  bool peer_ended_ = false;  // while finishing: nothing more to read
  bool shut_down_ = false;   // nothing more to write
  std::error_code write_error_;
  std::chrono::milliseconds linger_{5'000};
  Instant finish_by_ = never;  // set: the core is finished
  Instant armed_ = never;
  std::vector<asio::const_buffer> buffers_;
  std::span<asio::const_buffer> unwritten_;  // of buffers_
  std::array<std::byte, 512> dropped_;
};

}  // namespace distrib::inline v0
