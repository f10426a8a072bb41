// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/rpc/codec.hpp>
#include <distrib/rpc/detail/handler_slot.hpp>
#include <distrib/rpc/error.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// One end of a streaming call, at client or server: the received items that wait to be read, and the item that waits
/// to be written.
///
/// `Link` is a pointer to the object that carries the call; it has the functions `item`, `taken`, `writer` and
/// `get_executor`. `one`: true if exactly one item is expected.
///
/// At most `initial_credit` items wait to be read: the peer is granted more credit when they are read.
///
/// Threads: only the link's executor.
template <class In, class Out, class Link, bool one = false>
class CallStream : public std::enable_shared_from_this<CallStream<In, Out, Link, one>> {
 public:
  CallStream(Link link, std::uint64_t call) : link_{std::move(link)}, call_{call} {}

  [[nodiscard]] auto link() const noexcept -> const Link& { return link_; }
  [[nodiscard]] auto call() const noexcept -> std::uint64_t { return call_; }

  /// Reads the next item. Completes `void(std::error_code, std::optional<In>)`: with the item, with no item and no
  /// error after the last item, or with an error. With `one` it completes `void(std::error_code, In)`, and a stream
  /// that ends without an item is the error `rpc_errc::protocol`. One read at a time.
  template <class Handler> void read(Handler handler) {
    await(reader_, std::move(handler), [](CallStream& self) {
      if (self.reader_) self.give(rpc_errc::cancelled);
    });
    if (!items_.empty()) {
      Item item = std::move(items_.front());
      items_.pop_front();
      give({}, std::move(item.value));
      link_->taken(call_, item.bytes);
    } else if (no_more_) {
      give(end_);
    }
  }

  /// Sends an item. Completes `void(std::error_code)` when the item is queued for sending; waits for the peer's credit
  /// if necessary. One write at a time. After the end of the call it completes with the error of that end, or with
  /// `rpc_errc::closed` if there was none; after `end_writes` with `rpc_errc::closed`. If the item's codec throws, so
  /// does this function, and `handler` is not called.
  template <class Handler> void write(Out item, Handler handler) {
    const bool is_sent = !over_ && !end_asked_ && send(item);
    await(writer_, std::move(handler), [](CallStream& self) {
      self.unsent_.reset();
      self.send_end();
      if (self.writer_) self.writer_.complete(rpc_errc::cancelled);
    });
    if (is_sent) writer_.complete({});
    else if (over_ || end_asked_)  // also if the item was too large, which has ended the call
      writer_.complete(over_code());
    else unsent_.emplace(std::move(item));
  }

  /// Sends no more items after the item that waits to be written.
  void end_writes() {
    if (over_ || std::exchange(end_asked_, true)) return;
    end_waits_ = true;
    if (!unsent_) send_end();
  }

  // --- events ---

  /// Takes an item that has arrived. Returns false if it cannot be decoded; the caller must then end the call.
  auto came(ByteView head, const FrameBody& body) -> bool {
    In value{};
    if (!decode_message({head, body}, value)) return false;
    const std::size_t bytes = head.size() + body.bytes().size();
    if (!reader_) {
      items_.push_back({std::move(value), bytes});
    } else {
      give({}, std::move(value));
      link_->taken(call_, bytes);
    }
    return true;
  }

  /// Sends the item that waits, after the peer has granted credit.
  void credit() {
    if (!unsent_ || !send(*unsent_)) return;
    unsent_.reset();
    send_end();
    writer_.complete({});
  }

  /// Called when no more items arrive; `why` is the error, if any. Items that have arrived can still be read.
  void no_more(const std::error_code& why = {}) {
    if (std::exchange(no_more_, true)) return;
    end_ = why;
    if (reader_) give(end_);
  }

  /// Called when the call is over in both directions; `why` is the error, if any.
  void over(const std::error_code& why = {}) {
    if (std::exchange(over_, true)) return;
    const auto self = this->shared_from_this();
    no_more(why);
    unsent_.reset();
    if (writer_) writer_.complete(over_code());
  }

  [[nodiscard]] auto is_over() const noexcept -> bool { return over_; }

 private:
  struct Item {
    In value;
    std::size_t bytes;
  };

  [[nodiscard]] auto over_code() const -> std::error_code { return end_ ? end_ : std::error_code{rpc_errc::closed}; }

  void send_end() {
    if constexpr (requires { link_->end_items(call_); })
      if (std::exchange(end_waits_, false)) link_->end_items(call_);
  }

  auto send(const Out& item) -> bool {
    WireWriter& head = link_->writer();
    const MessageBody body = RpcCodec<Out>::encode(item, head);
    return link_->item(call_, head.view(), body.body);
  }

  void give(std::error_code ec, std::optional<In> item = std::nullopt) {
    if constexpr (one) {
      if (!ec && !item) ec = rpc_errc::protocol;
      reader_.complete(ec, item ? std::move(*item) : In{});
    } else {
      reader_.complete(ec, std::move(item));
    }
  }

  template <class Slot, class Handler, class Cancel> void await(Slot& slot, Handler handler, Cancel cancel) {
    if (auto cancellation = asio::get_associated_cancellation_slot(handler); cancellation.is_connected())
      cancellation.assign([weak = this->weak_from_this(), cancel](asio::cancellation_type) {
        if (const auto self = weak.lock()) cancel(*self);
      });
    slot.wait(std::move(handler), link_->get_executor());
  }

  Link link_;
  std::uint64_t call_;
  std::deque<Item> items_;  // items that have arrived and were not read yet
  HandlerSlot<std::conditional_t<one, In, std::optional<In>>> reader_;
  std::optional<Out> unsent_;
  HandlerSlot<> writer_;  // waits for `unsent_` to be sent
  bool end_asked_ = false;  // `end_writes` was called
  bool end_waits_ = false;  // the end is still to be sent, after `unsent_`
  std::error_code end_;
  bool no_more_ = false;
  bool over_ = false;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
