// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/asio.hpp>
#include <distrib/rpc/client_event.hpp>
#include <distrib/rpc/codec.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/rpc/method.hpp>

#include <cstddef>
#include <memory>
#include <new>
#include <system_error>
#include <type_traits>
#include <utility>

namespace distrib {
inline namespace v0 {

/// The completion of a call of method `M`: with its reply, or with an error and an empty reply.
template <detail::RpcMethod M> using CallSignature = void(std::error_code, typename M::Reply);

namespace detail {

/// Calls the completion handler of a call: at once if its associated executor is `executor`, otherwise by dispatching
/// it to its associated executor.
template <class Handler, class Executor, class Reply>
void complete_call(Handler&& handler, const Executor& executor, const std::error_code& ec, Reply&& reply) {
  if (auto cancellation = asio::get_associated_cancellation_slot(handler); cancellation.is_connected())
    cancellation.clear();
  const auto where = asio::get_associated_executor(handler, executor);
  if constexpr (std::is_same_v<std::remove_cvref_t<decltype(where)>, Executor>)
    if (where == executor) return std::move(handler)(ec, std::move(reply));
  asio::dispatch(where, [handler = std::move(handler), ec, reply = std::move(reply)]() mutable {
    std::move(handler)(ec, std::move(reply));
  });
}

/// Holds the completion handler of one call, and later of another call. A handler of up to 64 bytes (together with its
/// executor) is stored inside, so that a call allocates no memory.
template <class Executor> class CallWaiter {
 public:
  CallWaiter() = default;
  CallWaiter(const CallWaiter&) = delete;
  auto operator=(const CallWaiter&) -> CallWaiter& = delete;
  ~CallWaiter() {
    if (operate_ != nullptr) operate_(*this, nullptr);
  }

  /// Stores the handler of a call of `M`. No other handler may be stored here at this time.
  template <RpcMethod M, class Handler> void wait(Handler handler, const Executor& executor) {
    using Waiting = WaitingFor<M, Handler>;
    if constexpr (fits<Waiting>) ::new (static_cast<void*>(memory_)) Waiting{std::move(handler), executor};
    else ::new (static_cast<void*>(memory_)) Waiting*(new Waiting{std::move(handler), executor});
    operate_ = &operate<Waiting>;
  }

  /// Completes the call with its last event, as `complete_call` does. There must be a handler. This object is empty
  /// before the handler is called, so the handler may make a call whose handler is stored here.
  void complete(const ClientEvent& event) { std::exchange(operate_, nullptr)(*this, &event); }

 private:
  static constexpr std::size_t memory_bytes = 64;

  template <RpcMethod M, class Handler> struct WaitingFor {
    Handler handler;
    Executor executor;

    void complete(const ClientEvent& event) && {
      typename M::Reply reply{};
      std::error_code ec = event.error.code;
      if (!ec && !decode_message({event.head, event.body}, reply)) ec = rpc_errc::bad_message;
      complete_call(std::move(handler), executor, ec, std::move(reply));
    }
  };

  template <class Waiting>
  static constexpr bool fits = sizeof(Waiting) <= memory_bytes && alignof(Waiting) <= alignof(std::max_align_t) &&
                               std::is_nothrow_move_constructible_v<Waiting>;

  /// Completes the stored handler; with a null event, destroys it without calling it.
  template <class Waiting> static void operate(CallWaiter& self, const ClientEvent* event) {
    if constexpr (fits<Waiting>) {
      Waiting& inside = *std::launder(reinterpret_cast<Waiting*>(self.memory_));
      Waiting waiting = std::move(inside);
      inside.~Waiting();
      if (event != nullptr) std::move(waiting).complete(*event);
    } else {
      const std::unique_ptr<Waiting> outside{*std::launder(reinterpret_cast<Waiting**>(self.memory_))};
      if (event != nullptr) std::move(*outside).complete(*event);
    }
  }

  void (*operate_)(CallWaiter&, const ClientEvent*) = nullptr;
  alignas(std::max_align_t) std::byte memory_[memory_bytes];
};

}  // namespace detail

}  // namespace v0
}  // namespace distrib
