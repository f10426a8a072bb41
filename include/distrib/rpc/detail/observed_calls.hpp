// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/address.hpp>
#include <distrib/rpc/call_observer.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Reports the calls of one connection to an observer, and remembers of each call what is known until it ends, by slot.
///
/// Memory: for each of the largest number of calls that were in flight at once, a `Call` and a slot number (4 bytes).
template <CallObserver Observes> class ObservedCalls {
 public:
  /// `stream`: the connection; its remote address becomes `ObservedCall::peer`.
  template <class Stream> ObservedCalls(Observes& observer, const Stream& stream) : observer_{&observer} {
    std::error_code unknown;
    const auto peer = stream.lowest_layer().remote_endpoint(unknown);
    if (!unknown) peer_ = Address{peer.address().to_string(), peer.port()}.to_string();
  }

  /// Reports that a call has begun. `bytes`: of its request.
  void started(std::uint64_t id, std::uint32_t method, std::size_t bytes, Instant now) {
    if (observer_ == nullptr) return;
    const auto slot = static_cast<std::uint32_t>(id);
    if (slot >= calls_.size()) calls_.resize(slot + std::size_t{1});
    Call& call = calls_[slot];
    if (call.is == Is::ending) flush();  // the peer has reused the slot without waiting for the answer
    call.began = now;
    call.request_bytes = bytes;
    call.reply_bytes = 0;
    call.generation = static_cast<std::uint32_t>(id >> 32);
    call.method = method;
    call.is = Is::open;
    observer_->started({peer_, id, method, now, {}, bytes, 0});
  }

  /// Counts bytes of a part of the answer.
  void more(std::uint64_t id, std::size_t bytes) noexcept {
    if (Call* const call = open(id)) call->reply_bytes += bytes;
  }

  /// Reports that a call has ended at `now`. `bytes`: of the last part of its answer.
  void ended(std::uint64_t id, const std::error_code& code, std::size_t bytes, Instant now) {
    Call* const call = open(id);
    if (call == nullptr) return;
    call->is = Is::over;
    call->reply_bytes += bytes;
    tell(*call, id, code, now);
  }

  /// Notes that a call has ended, and leaves the report and its time to `flush`, which is called at the end of an
  /// event.
  void ends(std::uint64_t id, const std::error_code& code, std::size_t bytes) {
    Call* const call = open(id);
    if (call == nullptr) return;
    call->is = Is::ending;
    call->reply_bytes += bytes;
    call->code = code;
    ending_.push_back(static_cast<std::uint32_t>(id));
  }
  /// Reports the calls for which `ends` was called, with the time now.
  void flush() {
    if (ending_.empty()) return;
    const Instant now = std::chrono::steady_clock::now();
    for (const std::uint32_t slot : ending_) {
      Call& call = calls_[slot];
      call.is = Is::over;
      tell(call, std::uint64_t{call.generation} << 32 | slot, call.code, now);
    }
    ending_.clear();
  }

  /// Returns an empty error code. (To make one each time would cost a call of a function of the standard library.)
  [[nodiscard]] static auto well() noexcept -> const std::error_code& {
    static const std::error_code none;
    return none;
  }

  /// Reports that every open call has ended with `code`, because the connection has ended or the observer may be
  /// destroyed soon. Nothing is reported afterwards.
  void end_all(const std::error_code& code) {
    if (observer_ == nullptr) return;
    for (std::size_t slot = 0; slot < calls_.size(); ++slot)
      ends(std::uint64_t{calls_[slot].generation} << 32 | slot, code, 0);
    flush();
    observer_ = nullptr;
  }

 private:
  enum class Is : std::uint8_t { over, open, ending };

  struct Call {
    Instant began;
    std::size_t request_bytes = 0;
    std::size_t reply_bytes = 0;
    std::error_code code;  // set for `Is::ending`
    std::uint32_t generation = 0;
    std::uint32_t method = 0;
    Is is = Is::over;
  };

  /// Returns an open call; null if it is over or unknown.
  auto open(std::uint64_t id) noexcept -> Call* {
    const auto slot = static_cast<std::uint32_t>(id);
    if (slot >= calls_.size()) return nullptr;
    Call& call = calls_[slot];
    return call.is == Is::open && call.generation == id >> 32 ? &call : nullptr;
  }

  void tell(const Call& call, std::uint64_t id, const std::error_code& code, Instant now) {
    if (observer_ != nullptr)
      observer_->ended({peer_, id, call.method, call.began, now, call.request_bytes, call.reply_bytes}, code);
  }

  Observes* observer_;
  std::string peer_;
  std::vector<Call> calls_;  // by slot
  std::vector<std::uint32_t> ending_;
};

/// Without an observer: does nothing.
template <> class ObservedCalls<const NoCallObserver> {
 public:
  template <class Stream> ObservedCalls(const NoCallObserver&, const Stream&) noexcept {}
  void started(std::uint64_t, std::uint32_t, std::size_t, Instant) const noexcept {}
  void more(std::uint64_t, std::size_t) const noexcept {}
  void ended(std::uint64_t, const std::error_code&, std::size_t, Instant) const noexcept {}
  void ends(std::uint64_t, const std::error_code&, std::size_t) const noexcept {}
  void flush() const noexcept {}
  void end_all(const std::error_code&) const noexcept {}
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
