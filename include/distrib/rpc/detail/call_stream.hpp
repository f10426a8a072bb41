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

/// One end of a streaming call: items that came and wait to be read, and the one that waits to be written. Both ends
/// use it. `Link` points to what carries the call: `item`, `taken`, `writer`, `get_executor`.
///
/// At most `initial_credit` items wait to be read: a peer is granted more when they are. Threads: one at a time, which
/// is the link's executor. `one`: exactly one item is to come.
template <class In, class Out, class Link, bool one = false>
class CallStream : public std::enable_shared_from_this<CallStream<In, Out, Link, one>> {
 public:
  CallStream(Link link, std::uint64_t call) : link_{std::move(link)}, call_{call} {}

  [[nodiscard]] auto link() const noexcept -> const Link& { return link_; }
  [[nodiscard]] auto call() const noexcept -> std::uint64_t { return call_; }

  /// Completes `void(std::error_code, std::optional<In>)`: the next item, nothing after the last one, or why there are
  /// no more; where there is one, `void(std::error_code, In)`. One at a time.
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

  /// Completes `void(std::error_code)` when the item is on its way: the peer's credit is waited for. One at a time.
  /// What the item's codec throws comes out of here, and `handler` hears nothing.
  template <class Handler> void write(Out item, Handler handler) {
    const bool is_sent = !over_ && !end_asked_ && send(item);
    await(writer_, std::move(handler), [](CallStream& self) {
      self.unsent_.reset();
      self.send_end();
      if (self.writer_) self.writer_.complete(rpc_errc::cancelled);
    });
    if (is_sent) writer_.complete({});
    else if (over_ || end_asked_)  // also: it was too large
      writer_.complete(over_code());
    else unsent_.emplace(std::move(item));
  }

  /// No more items are sent, after the one that waits.
  void end_writes() {
    if (over_ || std::exchange(end_asked_, true)) return;
    end_waits_ = true;
    if (!unsent_) send_end();
  }

  // --- what happens ---

  /// An item. False: it does not decode, and the call is to be ended.
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

  /// Credit for an item that was not taken.
  void credit() {
    if (!unsent_ || !send(*unsent_)) return;
    unsent_.reset();
    send_end();
    writer_.complete({});
  }

  /// No more items come. Those that came can be read still.
  void no_more(const std::error_code& why = {}) {
    if (std::exchange(no_more_, true)) return;
    end_ = why;
    if (reader_) give(end_);
  }

  /// The call is over, in both directions.
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
  std::deque<Item> items_;  // that nobody has asked for yet
  HandlerSlot<std::conditional_t<one, In, std::optional<In>>> reader_;
  std::optional<Out> unsent_;
  HandlerSlot<> writer_;  // waits for `unsent_` to be sent
  bool end_asked_ = false;  // nothing more is written
  bool end_waits_ = false;  // but the end is: behind `unsent_`
  std::error_code end_;
  bool no_more_ = false;
  bool over_ = false;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
