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

/// Whether large bodies of requests of a method are wanted in chunks.
using TakesChunks = bool (*)(std::uint32_t method);

/// What the connections of a server on one thread have in common: how they behave, and what they have taken on
/// together.
struct ServerBudget {
  explicit ServerBudget(const RpcServerOptions& how) : options{how} {}

  RpcServerOptions options;
  std::size_t calls = 0;  ///< Not answered.
  std::size_t bytes = 0;  ///< Of requests that are not answered, and of answers that are not written.
  std::uint32_t turn = 0;  ///< The service that the next client gets who asks for none.
  TakesChunks takes_chunks = nullptr;  ///< Null: none.
  WireWriter answer;       ///< Where the head of an answer is written, before it is copied.
};

/// The part of a budget that one connection has taken; given back when this is destroyed. Threads: one at a time, the
/// same one for all shares of a budget.
class BudgetShare {
 public:
  explicit BudgetShare(std::shared_ptr<ServerBudget> of) noexcept : of_{std::move(of)} {}
  BudgetShare(BudgetShare&& other) noexcept
      : of_{std::move(other.of_)}, calls_{other.calls_}, held_{other.held_}, owed_{other.owed_} {}
  DISTRIB_DECL auto operator=(BudgetShare&& other) noexcept -> BudgetShare&;
  ~BudgetShare() { leave(); }

  /// Gives back what was taken, to take it from another budget.
  DISTRIB_DECL void leave() noexcept;
  DISTRIB_DECL void join(std::shared_ptr<ServerBudget> other) noexcept;

  [[nodiscard]] auto options() const noexcept -> const RpcServerOptions& { return of_->options; }
  /// Whether the body of this frame, if it is large, is wanted in chunks.
  [[nodiscard]] auto takes_chunks(const FrameHeader& header) const -> bool {
    return header.kind == FrameKind::request && of_->takes_chunks != nullptr && of_->takes_chunks(header.method);
  }

  /// Empty, and good for one answer of any connection.
  [[nodiscard]] auto writer() noexcept -> WireWriter& {
    of_->answer.clear();
    return of_->answer;
  }

  /// For a client that asks for no service.
  [[nodiscard]] auto next_service() noexcept -> std::uint32_t { return of_->turn++ % options().services; }

  /// A call has begun, or brought more.
  void begin(std::size_t bytes) noexcept {
    ++calls_;
    ++of_->calls;
    hold(bytes);
  }
  void hold(std::size_t bytes) noexcept {
    held_ += bytes;
    of_->bytes += bytes;
  }
  /// What a call brought was used up, or the call is over.
  void release(std::size_t bytes) noexcept {
    held_ -= bytes;
    of_->bytes -= bytes;
  }
  void end(std::size_t bytes) noexcept {
    --calls_;
    --of_->calls;
    release(bytes);
  }
  /// So much waits to be written now.
  void owe(std::size_t bytes) noexcept {
    of_->bytes += bytes - owed_;
    owed_ = bytes;
  }

  /// Calls of this connection that are not answered.
  [[nodiscard]] auto calls() const noexcept -> std::size_t { return calls_; }
  /// Whether a further call is refused.
  [[nodiscard]] auto has_calls() const noexcept -> bool {
    return calls_ < options().max_calls && of_->calls < options().server_calls;
  }
  /// Whether the client has to read more before it is served on.
  [[nodiscard]] auto owes_too_much() const noexcept -> bool { return owed_ > options().owed_bytes; }
  /// Whether more of its calls have to be answered first.
  [[nodiscard]] auto holds_too_much() const noexcept -> bool { return held_ > options().held_bytes; }
  /// Whether one of them is so, or all connections together have too much.
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
