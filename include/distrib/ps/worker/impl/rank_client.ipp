// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/worker/rank_client.hpp>

#include <distrib/core/bytes.hpp>
#include <distrib/net/connect.hpp>
#include <distrib/net/transport.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/exit_code.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/rpc/nonce.hpp>

#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL RankClient::RankClient(const Executor& executor, Address server, Options options, RankOwner& owner)
    : executor_{executor},
      server_{std::move(server)},
      options_{std::move(options)},
      owner_{owner},
      id_{load_le<std::uint64_t>(draw_nonce().data()) | 1},
      timer_{executor} {
  options_.rpc.service = 0;
  options_.rpc.categories = ps_categories();
}

DISTRIB_DECL void RankClient::start() {
  deadline_ = instant_after(Clock::now(), options_.start_within);
  connect();
}

DISTRIB_DECL void RankClient::leave() {
  if (std::exchange(closed_, true)) return;
  timer_.cancel();
  connector_.reset();
  if (client_ == nullptr) return;
  client_->async_call<AskRanks>(question(true), {ask_within},
                                [self = shared_from_this()](const std::error_code&, const AskRanksReply&) {});
}

DISTRIB_DECL void RankClient::close() {
  closed_ = true;
  timer_.cancel();
  connector_.reset();
  client_.reset();
}

DISTRIB_DECL void RankClient::connect() {
  ConnectOptions how;
  how.deadline = deadline_;
  how.longest_pause = pause_after_loss;
  how.jitter = id_;
  const auto done = [this](const Error& error, std::optional<PeerStream> stream) {
    const auto self = shared_from_this();
    connected(error, std::move(stream));
  };
  connector_ =
      std::make_unique<PeerConnector>(executor_, server_, std::move(how), done, PeerSecurity{options_.rpc.transport});
}

DISTRIB_DECL void RankClient::connected(const Error& error, std::optional<PeerStream> stream) {
  if (closed_) return;
  if (detail::is_tls_refusal(error.code)) return fail(exit_code::refused, error);
  if (error) return lost(error.code);
  client_ = std::make_unique<RpcClient>(*std::move(stream), options_.rpc);
  ask();
}

DISTRIB_DECL void RankClient::ask() {
  if (closed_ || client_ == nullptr) return;
  auto text = std::make_shared<std::string>();
  client_->async_call<AskRanks>(
      question(false), {ask_within, {}, text.get()},
      [self = shared_from_this(), text](const std::error_code& code, const AskRanksReply& reply) {
        self->answered(code, *text, reply);
      });
}

DISTRIB_DECL void RankClient::answered(const std::error_code& code, const std::string& text,
                                       const AskRanksReply& reply) {
  if (closed_) return;
  if (!code) {
    was_answered_ = ever_answered_ = true;
    owner_.dealt(reply);
    if (!closed_) after(pause_between, &RankClient::ask);
    return;
  }
  if (code == rpc_errc::unknown_method)
    return fail(exit_code::refused, {ps_errc::other_ranks, "the parameter server at " + server_.to_string() +
                                                               " is of an older version, which does not know --ranks"});
  const bool is_refusal = code == rpc_errc::unknown_service || code == rpc_errc::unsupported_version ||
                          code == rpc_errc::unauthorized || code.category() == detail::ps_category();
  if (is_refusal) return fail(exit_code::refused, {code, text.empty() ? server_.to_string() : text});
  lost(code);
}

DISTRIB_DECL void RankClient::lost(const std::error_code& code) {
  client_.reset();
  const Instant now = Clock::now();
  if (std::exchange(was_answered_, false)) deadline_ = instant_after(now, options_.lost_after);
  if (now >= deadline_)
    return fail(ever_answered_ ? exit_code::somebody_lost : exit_code::again, {code, server_.to_string()});
  after(pause_after_loss, &RankClient::connect);
}

DISTRIB_DECL void RankClient::fail(int code, const Error& why) {
  close();
  owner_.not_dealt(code, why);
}

DISTRIB_DECL void RankClient::after(std::chrono::milliseconds pause, void (RankClient::*what)()) {
  timer_.expires_after(pause);
  timer_.async_wait([self = shared_from_this(), what](const std::error_code& ec) {
    if (!ec && !self->closed_) (*self.*what)();
  });
}

DISTRIB_DECL auto RankClient::question(bool leaves) const -> AskRanksRequest {
  return {id_,
          options_.index,
          options_.is_chief,
          leaves,
          options_.ranks,
          leaves ? std::vector<Rank>{} : owner_.serves(),
          options_.most_ranks};
}

}  // namespace v0
}  // namespace distrib
