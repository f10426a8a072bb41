// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/worker/worker_node.hpp>

#include <distrib/core/protowire.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/export_settings.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/wire/messages.hpp>
#include <distrib/rpc/codec.hpp>
#include <distrib/rpc/error.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

namespace distrib {
inline namespace v0 {

// Performs the actions of the core.
class WorkerNode::Out final : public WorkerSink {
 public:
  Out(WorkerNode& of, Instant at) : node_{of}, now_{at} {}

  void operator()(SendJoin m) override { node_.send_join(m.shard, now_); }
  void operator()(SendPull m) override {
    const std::size_t of_shard = node_.block_bytes_[m.shard % node_.block_bytes_.size()];
    const std::size_t bytes = m.rows.keys == nullptr ? of_shard : m.rows.answer_bytes;
    node_.send<Pull>(m.shard, {m.step, std::move(m.rows.keys)}, m.step, now_, bytes);
  }
  void operator()(SendPush m) override {
    PushRequest request{
        m.contribution.step, m.contribution.rank,   m.contribution.common_cut, std::move(m.contribution.block),
        m.pull_follows,      m.contribution.history};
    request.entry = std::move(m.contribution.entry);
    request.after = m.contribution.after;
    const Step step = request.step;
    request.export_number = node_.export_number(step, now_);
    if (m.contribution.level == 0) return node_.send<Push>(m.shard, request, step, now_);
    node_.send<PushSum>(m.shard, {std::move(request), m.contribution.level}, step, now_);
  }
  void operator()(SendRestore m) override { node_.send<Restore>(m.shard, {m.cut, m.lineage}, m.cut, now_); }
  void operator()(SendCatchUp m) override { node_.send<CatchUp>(m.shard, {m.done}, m.done, now_); }
  void operator()(ReplicasDiffer m) override {
    node_.fail({ps_errc::replicas_differ, "step " + std::to_string(m.step) + " of shard " + std::to_string(m.shard)});
  }
  void operator()(TellsNoHistory m) override {
    node_.fail({ps_errc::old_version, "shard " + std::to_string(m.shard % node_.block_bytes_.size())});
  }
  void operator()(SendSave m) override { node_.send<Save>(m.shard, {}, 0, now_); }
  void operator()(SendGoodbye m) override { node_.send<Goodbye>(m.shard, {}, 0, now_); }
  void operator()(SendLeave m) override { node_.send<Leave>(m.shard, {}, 0, now_); }
  void operator()(Prepare work) override { node_.shell_.prepare(work); }
  void operator()(Compute work) override {
    if (!node_.replayable_ && work.step <= node_.begun_)
      return node_.fail({ps_errc::not_replayable, "step " + std::to_string(work.step) + " would be made again"});
    if (!node_.replayable_) node_.begun_ = work.step;
    node_.shell_.compute(std::move(work));
  }
  void operator()(WorkerDone end) override {
    node_.tell_progress();
    node_.over_ = true;
    for (std::uint32_t shard = 0; shard < node_.links_.size(); ++shard) node_.hang_up(shard, now_);
    node_.shell_.done(std::move(end));
  }

 private:
  WorkerNode& node_;
  Instant now_;
};

template <class Event>
void WorkerNode::run(Instant now, Event&& event) {
  if (over_) return;
  Out out{*this, now};
  event(*core_, out);
  if (!over_) tell_progress();
}

template <detail::RpcMethod M>
void WorkerNode::send(std::uint32_t shard, const typename M::Request& request, Step step, Instant now,
                      std::size_t answer_bytes) {
  if (links_[shard].core == nullptr) return;
  WireWriter head;
  MessageBody body = RpcCodec<typename M::Request>::encode(request, head);
  links_[shard].waiting.push_back({M::id, step, answer_bytes, head.take(), std::move(body.body)});
  pump(shard, now);
}

DISTRIB_DECL WorkerNode::WorkerNode(const Job& job, Rank rank, const WorkerOptions& options, CutSettings cuts,
                                    WorkerShell& shell)
    : core_{make_worker(job, rank, options)},
      synchronous_{job.consistency.is_synchronous()},
      replayable_{job.replayable},
      rank_{rank},
      level_{options.level},
      process_{options.process},
      job_text_{to_text(job)},
      job_hash_{to_hex(sha256(as_bytes(job_text_)))},
      arithmetic_{job.arithmetic},
      cuts_{std::move(cuts)},
      shell_{shell},
      links_(job.num_replicas()) {
  for (const ShardLayout& layout : shard_layouts(job)) block_bytes_.push_back(layout.wire_block_bytes());
}

// Names the steps that are exported, if they are named by time: the chief does, for all shards. Its contribution says so,
// which every shard has before the step is complete. Contributions that are sent again say the same.
DISTRIB_DECL auto WorkerNode::export_number(Step step, Instant now) -> std::uint64_t {
  constexpr std::size_t most_named = 1024;
  const ExportSettings& exports = cuts_.exports;
  if (rank_ != 0 || exports.directory.empty() || exports.every_steps != 0) return 0;
  if (step > newest_pushed_ && now >= next_export_) {
    next_export_ = instant_after(now, exports.every);
    named_[step] = ++exports_named_;
    if (named_.size() > most_named) named_.erase(named_.begin());
  }
  newest_pushed_ = std::max(newest_pushed_, step);
  const auto at = named_.find(step);
  return at == named_.end() ? 0 : at->second;
}

DISTRIB_DECL void WorkerNode::connected(std::uint32_t shard, ClientCore& link, Instant now) {
  links_[shard] = Link{};
  links_[shard].core = &link;
  run(now, [shard](AnyWorker& core, WorkerSink& out) { core.reconnected(shard, out); });
}

DISTRIB_DECL void WorkerNode::disconnected(std::uint32_t shard, Instant now) {
  links_[shard] = {};
  run(now, [shard](AnyWorker& core, WorkerSink& out) { core.disconnected(shard, out); });
}

DISTRIB_DECL void WorkerNode::happened(std::uint32_t shard, const ClientEvent& event, Instant now) {
  Link& link = links_[shard];
  if (event.kind == ClientEvent::Kind::greeted || event.kind == ClientEvent::Kind::credit || over_) return;
  if (event.kind == ClientEvent::Kind::item) {
    if (event.call == link.stream) joined(shard, event, now);
    if (link.core != nullptr) link.core->taken(event.call);
    return;
  }
  if (event.kind == ClientEvent::Kind::failed) return call_failed(shard, event, now);
  if (event.kind == ClientEvent::Kind::ended) return end_call(shard, event.call, now);
  const auto call = link.calls.extract(event.call);
  if (call.empty()) return;
  if (call.mapped().method == Pull::id) pulled(shard, call.mapped(), event, now);
  if (call.mapped().method == Push::id || call.mapped().method == PushSum::id)
    pushed(shard, call.mapped().step, event, now);
  pump(shard, now);
}

DISTRIB_DECL void WorkerNode::prepared(Step step, std::vector<WantedRows> rows, Instant now) {
  run(now, [&](AnyWorker& core, WorkerSink& out) { core.prepared(step, std::move(rows), out); });
}

DISTRIB_DECL void WorkerNode::computed(std::uint64_t ticket, std::vector<SharedBuffer> blocks, Instant now,
                                       std::vector<WantedRows> next) {
  run(now, [&](AnyWorker& core, WorkerSink& out) { core.computed(ticket, std::move(blocks), out, std::move(next)); });
}

DISTRIB_DECL void WorkerNode::stop(Instant now) {
  run(now, [](AnyWorker& core, WorkerSink& out) { core.stop(out); });
}

DISTRIB_DECL void WorkerNode::abandon(Instant now) {
  run(now, [](AnyWorker& core, WorkerSink& out) { core.abandon(out); });
}

DISTRIB_DECL void WorkerNode::want(Instant now) {
  run(now, [](AnyWorker& core, WorkerSink& out) { core.want(out); });
}

DISTRIB_DECL void WorkerNode::finish(Instant now) {
  run(now, [](AnyWorker& core, WorkerSink& out) { core.finish(out); });
}

DISTRIB_DECL void WorkerNode::tell_progress() {
  const Step cut = core_->common_cut();
  if (cut > saved_) shell_.saved(saved_ = cut);
  const Step counted = core_->counted();
  if (counted > counted_) shell_.counted(counted_ = counted);
}

DISTRIB_DECL void WorkerNode::send_join(std::uint32_t shard, Instant now) {
  Link& link = links_[shard];
  if (link.core == nullptr) return;
  link.stream = 0;  // items of an older Join are out of date
  JoinRequest request;
  request.rank = rank_;
  request.job_hash = job_hash_;
  request.arithmetic = arithmetic_;
  request.has_begun = begun_ != 0;
  request.process = process_;
  request.level = level_;
  if (link.text_sent) {
    request.job_text = job_text_;
    request.cuts = cuts_;
  }
  send<Join>(shard, request, 0, now);
}

DISTRIB_DECL void WorkerNode::pump(std::uint32_t shard, Instant now) {
  Link& link = links_[shard];
  while (link.core != nullptr && !link.waiting.empty() && link.calls.size() < most_calls) {
    Letter letter = std::move(link.waiting.front());
    link.waiting.pop_front();
    const std::uint64_t call = link.core->call(letter.method, letter.head, std::move(letter.body), std::nullopt, now);
    link.calls[call] = {letter.method, letter.step, letter.answer_bytes};
    if (letter.method == Join::id) link.stream = call;
    shell_.sent(shard);
  }
}

DISTRIB_DECL void WorkerNode::joined(std::uint32_t shard, const ClientEvent& event, Instant now) {
  JoinItem item;
  if (!detail::decode_message({event.head, event.body}, item)) return bad_message(shard, Join::name);
  switch (item.kind) {
    case JoinItem::Kind::joined:
      if (synchronous_) take_back_pulls(links_[shard]);
      return run(now, [&](AnyWorker& core, WorkerSink& out) { core.joined(shard, std::move(item.progress), out); });
    case JoinItem::Kind::notice:
      return run(now, [&](AnyWorker& core, WorkerSink& out) { core.notice(shard, std::move(item.progress), out); });
    case JoinItem::Kind::text_wanted: links_[shard].text_sent = true; return send_join(shard, now);
    case JoinItem::Kind::rank_lost: return fail({ps_errc::rank_lost, "rank " + std::to_string(item.rank)});
  }
}

DISTRIB_DECL void WorkerNode::take_back_pulls(Link& link) {
  std::erase_if(link.waiting, [](const Letter& letter) { return letter.method == Pull::id; });
  std::erase_if(link.calls, [&link](const auto& call) {
    if (call.second.method != Pull::id) return false;
    link.core->cancel(call.first);
    return true;
  });
}

DISTRIB_DECL void WorkerNode::pulled(std::uint32_t shard, const CallState& call, const ClientEvent& event,
                                     Instant now) {
  const Step step = call.step;
  PullReply reply;
  if (!detail::decode_message({event.head, event.body}, reply)) return bad_message(shard, Pull::name);
  if (reply.gone)
    return run(now, [&](AnyWorker& core, WorkerSink& out) { core.gone(shard, step, std::move(reply.progress), out); });
  if (reply.body == nullptr) reply.body = std::make_shared<AlignedBuffer>();
  if (reply.body->size() != call.answer_bytes) return bad_message(shard, Pull::name);
  shell_.moved(reply.counted);
  run(now, [&](AnyWorker& core, WorkerSink& out) {
    core.values(shard, step, std::move(reply.body), std::move(reply.progress), out);
  });
}

DISTRIB_DECL void WorkerNode::pushed(std::uint32_t shard, Step step, const ClientEvent& event, Instant now) {
  PushReply reply;
  if (!detail::decode_message({event.head, event.body}, reply)) return bad_message(shard, Push::name);
  if (reply.not_repeatable) shell_.not_repeatable(step);
  run(now, [&](AnyWorker& core, WorkerSink& out) { core.pushed(shard, std::move(reply.progress), out); });
}

DISTRIB_DECL void WorkerNode::call_failed(std::uint32_t shard, const ClientEvent& event, Instant now) {
  Error error = event.error;
  const auto failed = links_[shard].calls.find(event.call);
  const bool is_sum = failed != links_[shard].calls.end() && failed->second.method == PushSum::id;
  end_call(shard, event.call, now);
  if (is_sum && error.code == rpc_errc::unknown_method) error = {ps_errc::no_sums, "it is of an older version"};
  // Other failures of a call are repaired by joining again, but these would follow each time.
  const bool is_final = error.code == rpc_errc::unknown_method || error.code == rpc_errc::bad_message ||
                        error.code == rpc_errc::too_large;
  if (error.code.category() == detail::rpc_category() && !is_final) return;
  if (error.code == ps_errc::not_joined) return;  // it had joined before; the answer to another call has the reason
  fail({error.code, "shard " + std::to_string(shard) + (error.where.empty() ? "" : ": " + error.where)});
}

DISTRIB_DECL void WorkerNode::hang_up(std::uint32_t shard, Instant now) {
  Link& link = links_[shard];
  if (link.core == nullptr) return;
  const auto last_word = [](std::uint32_t method) { return method == Goodbye::id || method == Leave::id; };
  std::erase_if(link.waiting, [&](const Letter& letter) { return !last_word(letter.method); });
  const auto calls = std::exchange(link.calls, {});  // their answers are not needed any more
  pump(shard, now);
  for (const auto& [call, state] : calls)  // after the last call, because the shard refuses that once Join is cancelled
    if (!last_word(state.method)) link.core->cancel(call);
  link.core->close();
  shell_.sent(shard);
}

DISTRIB_DECL void WorkerNode::end_call(std::uint32_t shard, std::uint64_t call, Instant now) {
  Link& link = links_[shard];
  link.calls.erase(call);
  if (call == link.stream) link.stream = 0;
  pump(shard, now);
}

DISTRIB_DECL void WorkerNode::bad_message(std::uint32_t shard, std::string_view method) {
  fail({rpc_errc::bad_message, "shard " + std::to_string(shard) + ", answer to " + std::string{method}});
}

DISTRIB_DECL void WorkerNode::fail(Error error) {
  if (std::exchange(over_, true)) return;
  if (!replayable_ && error.code == ps_errc::rank_lost) error.code = ps_errc::not_replayable;
  shell_.failed(error);
}

}  // namespace v0
}  // namespace distrib
