// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/worker/look_client.hpp>

#include <distrib/core/bytes.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/net/connect.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/exit_code.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/rpc/nonce.hpp>

#include <algorithm>
#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL LookClient::LookClient(const Executor& executor, const Job& job, std::vector<Address> servers,
                                    const std::vector<WantedRows>& rows, LookClientOptions options, LookOwner& owner)
    : executor_{executor},
      job_{job},
      hash_{to_hex(job_hash(job))},
      servers_{std::move(servers)},
      options_{std::move(options)},
      owner_{owner},
      core_{job},
      jitter_{load_le<std::uint64_t>(draw_nonce().data()) | 1} {
  Error error;
  detail::check_transport_of_job(options_.rpc.transport, error);
  throw_if(error);
  const std::size_t most = options_.rpc.limits.body_bytes;
  for (const ShardLayout& layout : shard_layouts(job)) {
    const std::size_t bytes = std::max(layout.wire_block_bytes(), rows.empty() ? 0 : rows[layout.shard()].answer_bytes);
    if (bytes > most)
      throw_error(ps_errc::shard_too_large, "shard " + std::to_string(layout.shard()) + ": " + std::to_string(bytes) +
                                                " bytes, allowed are " + std::to_string(most));
  }
  for (std::uint32_t shard = 0; shard < job.shards(); ++shard)
    links_.emplace_back(executor, shard, rows.empty() ? nullptr : rows[shard].keys);
}

DISTRIB_DECL void LookClient::start() {
  refresh_.emplace(executor_, options_.rpc.transport, OwnIdentity{{}, options_.accepted}, options_.observer);
  for (Link& link : links_) connect(link);
}

DISTRIB_DECL void LookClient::look() {
  if (!closed_) core_.look(out_);
}

DISTRIB_DECL void LookClient::look_at_end() {
  if (!closed_) core_.look_at_end(out_);
}

DISTRIB_DECL void LookClient::close() {
  closed_ = true;
  ++ticket_;
  refresh_.reset();
  for (Link& link : links_) {
    link.connector.reset();
    link.pause.cancel();
    link.client.reset();
  }
}

DISTRIB_DECL auto LookClient::name_of(const Link& link) const -> std::string {
  const std::uint32_t task = job_.task_of(link.replica);
  return "/job:ps/task:" + std::to_string(task) + " at " + servers_[task].to_string();
}

DISTRIB_DECL auto LookClient::is_refusal(const std::error_code& code) -> bool {
  return code == rpc_errc::unknown_service || code == rpc_errc::unknown_method ||
         code == rpc_errc::unsupported_version || code == rpc_errc::unauthorized || detail::is_tls_refusal(code) ||
         code.category() == detail::ps_category();
}

DISTRIB_DECL void LookClient::connect(Link& link) {
  ConnectOptions how;
  how.most_tries = 1;  // the pauses are this client's
  const auto done = [this, &link](const Error& error, std::optional<PeerStream> stream) {
    const auto self = shared_from_this();
    connected(link, error, std::move(stream));
  };
  link.connector = std::make_unique<PeerConnector>(executor_, servers_[job_.task_of(link.replica)], std::move(how),
                                                   done, PeerSecurity{options_.rpc.transport});
}

DISTRIB_DECL void LookClient::connected(Link& link, const Error& error, std::optional<PeerStream> stream) {
  if (closed_) return;
  if (detail::is_tls_refusal(error.code)) return end(exit_code::refused, {error.code, name_of(link)});
  if (error) return lost(link, {error.code, name_of(link)});
  RpcClientOptions rpc = options_.rpc;
  rpc.service = job_.service_of(link.replica);
  rpc.categories = ps_categories();
  const std::weak_ptr<LookClient> weak = weak_from_this();
  const auto closed = [weak, &link](const Error& why) {
    const auto self = weak.lock();
    if (self == nullptr || self->closed_) return;
    if (is_refusal(why.code)) return self->end(exit_code::refused, {why.code, self->name_of(link)});
    self->lost(link, {why ? why.code : make_error_code(rpc_errc::closed), self->name_of(link)});
  };
  const auto available = [weak, &link](bool yes) {
    const auto self = weak.lock();
    if (self != nullptr && !self->closed_ && yes) self->greeted(link);
  };
  link.client = std::make_unique<RpcClient>(*std::move(stream), rpc, closed, available);
}

DISTRIB_DECL void LookClient::greeted(Link& link) {
  link.here = true;
  if (std::ranges::all_of(links_, &Link::here)) lost_since_.reset();
  core_.connected(link.shard, out_);
}

DISTRIB_DECL void LookClient::Out::operator()(AskLook ask) const {
  Link& link = client->links_[ask.shard];
  const auto cancel = std::make_shared<asio::cancellation_signal>();
  const auto text = std::make_shared<std::string>();
  link.cancel = cancel;
  auto answered = [self = client->shared_from_this(), &link, cancel, text, ticket = client->ticket_](
                      const std::error_code& code, PullReply reply) {
    if (!self->closed_ && ticket == self->ticket_) self->answered(link, code, *text, std::move(reply));
  };
  link.client->async_call<Look>(LookRequest{client->hash_, ask.step, ask.newest, link.rows},
                                CallOptions{std::nullopt, {}, text.get()},
                                asio::bind_cancellation_slot(cancel->slot(), std::move(answered)));
}

DISTRIB_DECL void LookClient::Out::operator()(DropLooks) const {
  ++client->ticket_;
  for (Link& link : client->links_)
    if (const auto cancel = std::exchange(link.cancel, nullptr)) cancel->emit(asio::cancellation_type::terminal);
}

DISTRIB_DECL void LookClient::Out::operator()(AskEnd ask) const {
  Link& link = client->links_[ask.shard];
  const auto text = std::make_shared<std::string>();
  auto answered = [self = client->shared_from_this(), &link, text, number = link.number](const std::error_code& code,
                                                                                         Empty) {
    if (self->closed_ || number != link.number) return;
    if (code) self->failed(link, code, *text);
    else self->core_.done(link.shard, self->out_);
  };
  link.client->async_call<AwaitEnd>(AwaitEndRequest{client->hash_}, CallOptions{std::nullopt, {}, text.get()},
                                    std::move(answered));
}

DISTRIB_DECL void LookClient::Out::operator()(JobDone) const {
  client->is_done_ = true;
  asio::post(client->executor_, [self = client->shared_from_this()] { self->end(exit_code::done, {}); });
}

DISTRIB_DECL void LookClient::Out::operator()(LookedAt values) const {
  client->has_looked_ = true;
  client->unserved_since_.reset();
  asio::post(client->executor_, [self = client->shared_from_this(), values = std::move(values)]() mutable {
    if (!self->closed_) self->owner_.looked(std::move(values));
  });
}

DISTRIB_DECL void LookClient::Out::operator()(CannotKeepUp action) const {
  asio::post(client->executor_, [self = client->shared_from_this(), action] {
    if (!self->closed_) self->owner_.cannot_keep_up(action.step);
  });
}

DISTRIB_DECL void LookClient::answered(Link& link, const std::error_code& code, const std::string& text,
                                       PullReply reply) {
  link.cancel = nullptr;
  if (!code && reply.gone) return core_.gone(reply.progress.done, out_);
  if (!code) return core_.values(link.shard, reply.counted, reply.progress.history, std::move(reply.body), out_);
  failed(link, code, text);
}

DISTRIB_DECL void LookClient::failed(Link& link, const std::error_code& code, const std::string& text) {
  if (code == ps_errc::shard_done) return core_.done(link.shard, out_);
  const Error why{code, name_of(link) + (text.empty() ? "" : ": " + text)};
  if (code == ps_errc::too_many_onlookers || code == ps_errc::nobody_joined) return not_served(why);
  if (code == rpc_errc::unknown_method)
    return end(exit_code::refused, {code, name_of(link) + " is of an older version, which serves no onlookers"});
  if (is_refusal(code)) return end(exit_code::refused, why);
  lost(link, why);
}

DISTRIB_DECL void LookClient::hang_up(Link& link) {
  ++link.number;
  link.cancel = nullptr;
  link.connector.reset();
  if (std::exchange(link.here, false)) core_.disconnected(link.shard, out_);
  link.client.reset();
}

DISTRIB_DECL void LookClient::lost(Link& link, const Error& why) {
  hang_up(link);
  if (job_.replicas > 1) link.replica = job_.sibling_of(link.replica);
  trouble(lost_since_, why);
  if (closed_) return;
  link.pause.expires_after(detail::drawn_pause(pause_after_loss, jitter_, ++pauses_));
  link.pause.async_wait([self = shared_from_this(), &link](const std::error_code& ec) {
    if (!ec && !self->closed_) self->connect(link);
  });
}

DISTRIB_DECL void LookClient::not_served(const Error& why) {
  trouble(unserved_since_, why);
  if (closed_) return;
  // The other shards may give the place to an onlooker that all shards can serve.
  for (Link& each : links_) {
    hang_up(each);
    each.pause.expires_after(pause_after_loss + detail::drawn_pause(pause_after_loss, jitter_, ++pauses_));
    each.pause.async_wait([self = shared_from_this(), &each](const std::error_code& ec) {
      if (!ec && !self->closed_) self->connect(each);
    });
  }
}

DISTRIB_DECL void LookClient::trouble(std::optional<Instant>& since, const Error& why) {
  if (is_done_) return;
  const Instant now = Clock::now();
  if (!since) since = now;
  if (now >= instant_after(*since, has_looked_ ? options_.lost_after : options_.start_within))
    return end(exit_code::again, why);
  owner_.troubled(why);
}

DISTRIB_DECL void LookClient::end(int code, const Error& why) {
  if (closed_) return;
  const auto self = shared_from_this();
  close();
  owner_.ended(code, why);
}

}  // namespace v0
}  // namespace distrib
