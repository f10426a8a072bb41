// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/worker/worker_client.hpp>

#include <distrib/core/philox.hpp>
#include <distrib/net/connect.hpp>
#include <distrib/net/descriptor_limit.hpp>
#include <distrib/net/error.hpp>
#include <distrib/net/instant.hpp>
#include <distrib/net/transport.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/exit_code.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/wire/messages.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/rpc/nonce.hpp>

#include <algorithm>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL WorkerClient::WorkerClient(const Executor& executor, const Job& job, Rank rank,
                                        std::vector<Address> servers, WorkerClientOptions options, CutSettings cuts,
                                        WorkerOwner& owner)
    : executor_{executor},
      servers_{std::move(servers)},
      options_{std::move(options)},
      shards_{job.shards()},
      owner_{owner},
      node_{job, rank, options_.worker, std::move(cuts), *this},
      phases_{rank, options_.phases},
      hang_up_{executor},
      jitter_{load_le<std::uint64_t>(draw_nonce().data()) | 1} {
  Error error;
  detail::check_transport_of_job(options_.rpc.transport, error);
  throw_if(error);
  for (const ShardLayout& layout : shard_layouts(job))
    if (const std::size_t bytes = std::max(layout.wire_block_bytes(), layout.gradient_block_bytes());
        bytes > options_.rpc.limits.body_bytes)
      throw_error(ps_errc::shard_too_large, "shard " + std::to_string(layout.shard()) + ": " + std::to_string(bytes) +
                                                " bytes, allowed are " +
                                                std::to_string(options_.rpc.limits.body_bytes));
  for (std::uint32_t replica = 0; replica < job.num_replicas(); ++replica)
    links_.emplace_back(executor, *this, replica, job.task_of(replica), job.service_of(replica));
}

DISTRIB_DECL WorkerClient::~WorkerClient() {
  for (Link& link : links_)
    if (link.connection != nullptr) link.connection->close();
}

DISTRIB_DECL void WorkerClient::start() {
  constexpr std::uint64_t others = 128;  // files, and what else the process has open
  if (const std::uint64_t needed = links_.size() + others, allowed = raise_descriptor_limit(needed);
      allowed < needed && options_.observer)
    options_.observer({Event::Kind::low_limit,
                       {},
                       {},
                       {},
                       "the limit of open files is " + std::to_string(allowed) + ", for the connections to " +
                           std::to_string(links_.size()) + " shards " + std::to_string(needed) +
                           " are needed (ulimit -Hn)"});
  refresh_.emplace(executor_, options_.rpc.transport, OwnIdentity{{}, options_.accepted}, options_.observer);
  for (Link& link : links_) {
    link.deadline = instant_after(Clock::now(), options_.start_within);
    connect(link);
  }
}

DISTRIB_DECL void WorkerClient::prepared(Step step, std::vector<WantedRows> rows) {
  node_.prepared(step, std::move(rows), Clock::now());
  flush();
}

DISTRIB_DECL void WorkerClient::computed(std::uint64_t ticket, std::vector<SharedBuffer> blocks,
                                         std::vector<WantedRows> next) {
  const Instant now = Clock::now();
  phases_.computed(now);
  node_.computed(ticket, std::move(blocks), now, std::move(next));
  flush();
}

DISTRIB_DECL void WorkerClient::stop() {
  if (ended_) return;
  node_.stop(Clock::now());
  flush();
}

DISTRIB_DECL void WorkerClient::abandon() {
  if (ended_) return;
  node_.abandon(Clock::now());
  flush();
}

DISTRIB_DECL void WorkerClient::want() {
  if (ended_) return;
  node_.want(Clock::now());
  flush();
}

DISTRIB_DECL void WorkerClient::finish_job() {
  if (ended_) return;
  node_.finish(Clock::now());
  flush();
}

DISTRIB_DECL auto WorkerClient::awaited_tasks() const -> std::vector<std::uint32_t> {
  std::vector<std::uint32_t> tasks;
  for (const Link& link : links_)
    if (node_.awaits(link.replica)) tasks.push_back(link.task);
  std::ranges::sort(tasks);
  tasks.erase(std::unique(tasks.begin(), tasks.end()), tasks.end());
  return tasks;
}

DISTRIB_DECL auto WorkerClient::name_of(const Link& link) const -> std::string {
  return "/job:ps/task:" + std::to_string(link.task) + " at " + servers_[link.task].to_string();
}

DISTRIB_DECL void WorkerClient::connect(Link& link) {
  link.told = Clock::now();
  ConnectOptions how;
  how.deadline = link.deadline;
  how.longest_pause = longest_pause;
  how.jitter = detail::mix_bits(jitter_ + link.replica) | 1;
  how.waiting = [this, &link](const Error& missing, std::chrono::milliseconds waited) {
    if (Clock::now() - link.told < tell_every) return;
    link.told = Clock::now();
    tell(Event::Kind::waiting, link, missing.code,
         "waiting for " + name_of(link) + " since " + std::to_string(waited.count() / 1000) +
             " s: " + missing.code.message());
  };
  const auto done = [this, &link](const Error& error, std::optional<PeerStream> stream) {
    const auto self = shared_from_this();
    connected(link, error, std::move(stream));
  };
  link.connector = std::make_unique<PeerConnector>(executor_, servers_[link.task], std::move(how), done,
                                                   PeerSecurity{options_.rpc.transport});
}

DISTRIB_DECL auto WorkerClient::is_refusal(const std::error_code& code) -> bool {
  return code == rpc_errc::unknown_service || code == rpc_errc::unsupported_version || code == rpc_errc::unauthorized ||
         detail::is_tls_refusal(code);
}

DISTRIB_DECL void WorkerClient::connected(Link& link, const Error& error, std::optional<PeerStream> stream) {
  if (ended_ || node_.over()) return;
  if (is_refusal(error.code)) return fail(exit_code::refused, {error.code, name_of(link) + ": " + error.where});
  if (error) return cannot_reach(link, error.code);
  RpcClientOptions rpc = options_.rpc;
  rpc.service = link.service;
  rpc.categories = ps_categories();
  const Instant now = Clock::now();
  link.greeted = false;
  const ChannelBinding binding = stream->binding();
  link.connection =
      std::make_shared<Connection<ClientCore, Link>>(*std::move(stream), link, rpc, now, draw_nonce(), binding);
  touch(link);
  node_.connected(link.replica, link.connection->core(), now);
  flush();
}

DISTRIB_DECL void WorkerClient::on_activity(Link& link, Instant now) {
  const auto self = shared_from_this();
  const auto connection = link.connection;
  if (connection == nullptr) return;
  if (phases_.measures()) look_at_sockets(now, connection->core().receives());
  touch(link);
  ClientEvent event;
  while (connection->core().next(now, event)) {
    if (event.kind == ClientEvent::Kind::greeted) greeted(link);
    node_.happened(link.replica, event, now);
    if (link.connection != connection) return;  // `finish` has closed it
  }
  if (connection->core().finished()) lost(link);
  flush();
}

DISTRIB_DECL void WorkerClient::lost(Link& link) {
  const auto connection = std::exchange(link.connection, nullptr);
  connection->detach();
  connection->settle();
  node_.disconnected(link.replica, Clock::now());
  if (node_.over()) return finish_when_quiet();
  const Error& reason = connection->core().reason();
  if (is_refusal(reason.code))
    return fail(exit_code::refused, {reason.code, name_of(link) + (reason.where.empty() ? "" : ": " + reason.where)});
  const Instant now = Clock::now();
  if (link.greeted) {
    tell(Event::Kind::lost, link, reason.code, "lost " + name_of(link) + ": " + reason.code.message());
    link.failures = 0;
    // When everything is saved, a server that is gone needs no further call.
    link.deadline = instant_after(now, node_.everything_saved() ? options_.goodbye_within : options_.lost_after);
  }
  if (now >= link.deadline) return cannot_reach(link, reason.code);
  // A server that accepts connections but never greets is tried after pauses that double up to 1.6 s.
  connect_after(link, std::chrono::milliseconds{link.failures == 0 ? 0 : 50 << std::min(link.failures, 5U)});
  ++link.failures;
}

DISTRIB_DECL void WorkerClient::connect_after(Link& link, std::chrono::milliseconds pause) {
  link.pause.expires_after(detail::drawn_pause(pause, jitter_, ++pauses_));
  link.pause.async_wait([self = shared_from_this(), &link](const std::error_code& ec) {
    if (!ec && !self->ended_ && !self->node_.over()) self->connect(link);
  });
}

DISTRIB_DECL void WorkerClient::greeted(Link& link) {
  link.greeted = true;
  if (link.was_connected) tell(Event::Kind::connected, link, {}, name_of(link) + " is there again");
  link.was_connected = true;
}

DISTRIB_DECL void WorkerClient::cannot_reach(Link& link, const std::error_code& reason) {
  const Instant now = Clock::now();
  for (const Link& other : links_)
    if (other.replica % shards_ == link.replica % shards_)
      link.deadline =
          std::max(link.deadline, other.connection ? instant_after(now, options_.lost_after) : other.deadline);
  if (link.deadline > now) return connect_after(link, longest_pause);
  const bool for_good = link.was_connected && !node_.everything_saved();
  fail(for_good ? exit_code::somebody_lost : exit_code::again, {reason, name_of(link)});
}

DISTRIB_DECL void WorkerClient::flush() {
  for (Link* const link : touched_) {
    link->touched = false;
    if (link->connection != nullptr) link->connection->settle();
  }
  touched_.clear();
  tell_replay(ended_ ? 0 : node_.replay_bytes());
  if (phases_.measures()) look_at_sockets(Clock::now(), false);
}

DISTRIB_DECL void WorkerClient::tell_replay(std::size_t bytes) {
  const std::size_t told = std::exchange(replay_told_, bytes);
  if (bytes != told && options_.replay_changed)
    options_.replay_changed(static_cast<std::int64_t>(bytes) - static_cast<std::int64_t>(told));
}

DISTRIB_DECL void WorkerClient::look_at_sockets(Instant now, bool arriving) {
  bool is_writing = false;
  for (const Link& link : links_) is_writing = is_writing || (link.connection && link.connection->is_writing());
  if (!is_writing) phases_.written(now);
  if (arriving) phases_.arriving(now);
}

DISTRIB_DECL void WorkerClient::not_repeatable(Step step) {
  if (options_.observer)
    options_.observer({Event::Kind::not_repeatable,
                       {},
                       {},
                       ps_errc::not_repeatable,
                       "the contribution of step " + std::to_string(step) +
                           " came twice with different bytes; the first one counts: make the "
                           "model and its input depend on seed, step and rank only"});
}

DISTRIB_DECL void WorkerClient::done(WorkerDone end) {
  end_ = {end.left ? exit_code::again : exit_code::done, {}, std::move(end.result), end.retired};
  for (Link& link : links_) link.connector.reset();
  hang_up_.expires_at(instant_after(Clock::now(), options_.goodbye_within));
  hang_up_.async_wait([self = shared_from_this()](const std::error_code& ec) {
    if (!ec) self->finish();
  });
  asio::post(executor_, [self = shared_from_this()] { self->finish_when_quiet(); });
}

DISTRIB_DECL void WorkerClient::failed(const Error& why) {
  if (why.code == ps_errc::not_replayable || why.code == ps_errc::shard_done) return fail(exit_code::again, why);
  fail(why.code == ps_errc::rank_lost ? exit_code::somebody_lost : exit_code::refused, why);
}

DISTRIB_DECL void WorkerClient::fail(int code, const Error& why) {
  end_ = {code, why, {}, false};
  asio::post(executor_, [self = shared_from_this()] { self->finish(); });
}

DISTRIB_DECL void WorkerClient::finish_when_quiet() {
  for (const Link& link : links_)
    if (link.connection != nullptr) return;
  finish();
}

DISTRIB_DECL void WorkerClient::finish() {
  if (std::exchange(ended_, true)) return;
  tell_replay(0);
  hang_up_.cancel();
  refresh_.reset();
  for (Link& link : links_) {
    link.connector.reset();
    link.pause.cancel();
    if (link.connection != nullptr) std::exchange(link.connection, nullptr)->close();
  }
  owner_.ended(std::move(end_));
}

DISTRIB_DECL void WorkerClient::tell(Event::Kind kind, const Link& link, const std::error_code& code,
                                     const std::string& text) {
  if (options_.observer) options_.observer({kind, {}, "/job:ps/task:" + std::to_string(link.task), code, text});
}

}  // namespace v0
}  // namespace distrib
