// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/rpc/frame.hpp>
#include <distrib/rpc/server_options.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace distrib {
inline namespace v0 {

/// A function that gets the id of a method, and returns true if the server shall pass on request bodies of more than 4
/// KiB of that method in chunks, while they arrive: see `Router::takes_chunks`.
using TakesChunks = bool (*)(std::uint32_t method);

/// What the connections of a server on one thread share: the options, and the sum of the resources that they use.
struct ServerBudget {
  explicit ServerBudget(const RpcServerOptions& how) : options{how} {}

  RpcServerOptions options;
  std::size_t calls = 0;  ///< Calls that are not answered.
  std::size_t bytes = 0;  ///< Bytes of requests not answered, of items not used, and of answers not written.
  std::uint32_t turn = 0;  ///< Counts clients that ask for no particular service; they get the services in turn.
  TakesChunks takes_chunks = nullptr;  ///< Null: no method takes chunks.
  WireWriter answer;       ///< The head of an answer is written here before it is copied into the queue.
};

/// The part of a budget that one connection uses; the destructor returns it.
///
/// Threads: all shares of a budget must be used on the same thread.
class BudgetShare {
 public:
  explicit BudgetShare(std::shared_ptr<ServerBudget> of) noexcept : of_{std::move(of)} {}
  BudgetShare(BudgetShare&& other) noexcept
      : of_{std::move(other.of_)}, calls_{other.calls_}, held_{other.held_}, owed_{other.owed_} {}
  DISTRIB_DECL auto operator=(BudgetShare&& other) noexcept -> BudgetShare&;
  ~BudgetShare() { leave(); }

  /// Returns this share to the budget, to take it from another budget by `join`. Until then nothing else may be called.
  DISTRIB_DECL void leave() noexcept;
  /// Leaves the present budget, if any, and takes the same share from `other`.
  DISTRIB_DECL void join(std::shared_ptr<ServerBudget> other) noexcept;

  [[nodiscard]] auto options() const noexcept -> const RpcServerOptions& { return of_->options; }
  /// True if a frame with this header is a request of a method that takes chunks: see `Router::takes_chunks`. Does not
  /// look at the size of the body.
  [[nodiscard]] auto takes_chunks(const FrameHeader& header) const -> bool {
    return header.kind == FrameKind::request && of_->takes_chunks != nullptr && of_->takes_chunks(header.method);
  }

  /// Returns the shared writer, emptied, for the head of one answer.
  [[nodiscard]] auto writer() noexcept -> WireWriter& {
    of_->answer.clear();
    return of_->answer;
  }

  /// Returns the service for a client that asks for no particular one: each service in turn.
  [[nodiscard]] auto next_service() noexcept -> std::uint32_t { return of_->turn++ % options().services; }

  /// Counts a call that begins, with the bytes of its request.
  void begin(std::size_t bytes) noexcept {
    ++calls_;
    ++of_->calls;
    hold(bytes);
  }
  /// Counts more bytes that a call has received.
  void hold(std::size_t bytes) noexcept {
    held_ += bytes;
    of_->bytes += bytes;
  }
  /// Subtracts bytes of a call that have been used.
  void release(std::size_t bytes) noexcept {
    held_ -= bytes;
    of_->bytes -= bytes;
  }
  /// Subtracts a call that has ended, with the bytes that it still holds.
  void end(std::size_t bytes) noexcept {
    --calls_;
    --of_->calls;
    release(bytes);
  }
  /// Sets how many bytes of this connection wait to be written.
  void owe(std::size_t bytes) noexcept {
    of_->bytes += bytes - owed_;
    owed_ = bytes;
  }

  /// Returns the number of calls of this connection that are not answered.
  [[nodiscard]] auto calls() const noexcept -> std::size_t { return calls_; }
  /// True if one more call is allowed: neither this connection nor the server has reached its limit.
  [[nodiscard]] auto has_calls() const noexcept -> bool {
    return calls_ < options().max_calls && of_->calls < options().server_calls;
  }
  /// True if too many bytes wait to be written: the client must read answers before more of its frames are taken.
  [[nodiscard]] auto owes_too_much() const noexcept -> bool { return owed_ > options().owed_bytes; }
  /// True if unanswered requests hold too many bytes: calls must be answered before more frames are taken.
  [[nodiscard]] auto holds_too_much() const noexcept -> bool { return held_ > options().held_bytes; }
  /// True if this connection owes or holds too much, or all connections of the budget together are over `server_bytes`.
  [[nodiscard]] auto is_full() const noexcept -> bool {
    return owes_too_much() || holds_too_much() || of_->bytes > options().server_bytes;
  }

 private:
  std::shared_ptr<ServerBudget> of_;
  std::size_t calls_ = 0;
  std::size_t held_ = 0;
  std::size_t owed_ = 0;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/rpc/impl/server_budget.ipp>
#endif
