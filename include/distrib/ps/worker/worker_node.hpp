// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/ps/job/cut_settings.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/ps/protocol/worker_action.hpp>
#include <distrib/ps/wire/messages.hpp>
#include <distrib/rpc/client_core.hpp>
#include <distrib/rpc/codec.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/rpc/frame_body.hpp>
#include <distrib/rpc/method.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What a worker's node tells its shell; none of these may call the node back from inside.
class WorkerShell {
 public:
  virtual ~WorkerShell() = default;
  virtual void prepare(Prepare work) = 0;      ///< Then `prepared`, on the node's thread.
  virtual void compute(Compute work) = 0;      ///< Then `computed`, on the node's thread.
  virtual void sent(std::uint32_t shard) = 0;  ///< Calls wait in the shard's ClientCore: have them written.
  virtual void moved(Step counted) = 0;  ///< Values came that so many steps made (asynchronous: contributions).
  virtual void saved(Step step) = 0;  ///< Every shard has a cut of this step: it is durable. Synchronous only.
  virtual void not_repeatable(Step step) = 0;  ///< A shard had this contribution before, with other bytes; those count.
  virtual void done(WorkerDone end) = 0;  ///< Each connection ends when its shard has heard so.
  virtual void failed(const Error& why) = 0;  ///< The job cannot go on: a shard refused it, or a rank is lost.
};

/// One worker over rpc: carries what its core tells to the shards as calls of `ps/wire/messages.hpp`, one connection a
/// shard, or with replicas one a replica, by their numbers, and their answers back to the core. What cannot be sent
/// because a connection is down is dropped: after it is there again the core joins, and says everything anew.
///
/// Events in, actions out by calls of the shell; no clock, no I/O, no thread. `Core` is `SyncWorkerCore` or
/// `AsyncWorkerCore`. Threads: one at a time.
template <class Core>
class WorkerNode {
 public:
  WorkerNode(const Job& job, Rank rank, const WorkerOptions& options, CutSettings cuts, WorkerShell& shell)
      : core_{job, rank, options},
        rank_{rank},
        job_text_{to_text(job)},
        job_hash_{to_hex(sha256(as_bytes(job_text_)))},
        cuts_{std::move(cuts)},
        shell_{shell},
        links_(job.num_replicas()) {
    for (const ShardLayout& layout : shard_layouts(job)) block_bytes_.push_back(layout.wire_block_bytes());
  }
  WorkerNode(const WorkerNode&) = delete;
  auto operator=(const WorkerNode&) -> WorkerNode& = delete;

  /// There is a connection to the shard; `link` must live until `disconnected`.
  void connected(std::uint32_t shard, ClientCore& link, Instant now) {
    links_[shard] = Link{};
    links_[shard].core = &link;
    run(now, [shard](Core& core, auto& out) { core.reconnected(shard, out); });
  }

  /// It is lost, and so is what was on its way.
  void disconnected(std::uint32_t shard, Instant now) {
    links_[shard] = {};
    if constexpr (Core::is_synchronous) run(now, [shard](Core& core, auto& out) { core.disconnected(shard, out); });
  }

  [[nodiscard]] auto is_connected(std::uint32_t shard) const -> bool { return links_[shard].core != nullptr; }

  /// What `ClientCore::next` of the shard's connection gave.
  void happened(std::uint32_t shard, const ClientEvent& event, Instant now) {
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
    if (call.mapped().method == Push::id) pushed(shard, call.mapped().step, event, now);
    pump(shard, now);
  }

  /// The rows that `prepare` asked for, one a shard.
  void prepared(Step step, std::vector<WantedRows> rows, Instant now) {
    run(now, [&](Core& core, auto& out) { core.prepared(step, std::move(rows), out); });
  }

  /// The contribution that `compute` asked for, one block a shard; with tables also the rows that the next one needs.
  void computed(std::uint64_t ticket, std::vector<SharedBuffer> blocks, Instant now,
                std::vector<WantedRows> next = {}) {
    run(now, [&](Core& core, auto& out) { core.computed(ticket, std::move(blocks), out, std::move(next)); });
  }

  /// Finish what is in flight, then leave: the job goes on another time.
  void stop(Instant now) {
    run(now, [](Core& core, auto& out) { core.stop(out); });
  }

  /// Whether it is done or has failed: nothing is told any more.
  [[nodiscard]] auto over() const noexcept -> bool { return over_; }
  [[nodiscard]] auto step() const noexcept -> Step { return core_.step(); }

  /// Whether nothing of this rank is left to be saved: shards may go home without another word.
  [[nodiscard]] auto everything_saved() const -> bool { return core_.everything_saved(); }

 private:
  struct Letter {
    std::uint32_t method;
    Step step;
    std::size_t answer_bytes;  // of a pull: the values that come
    std::vector<std::byte> head;
    FrameBody body;
  };
  struct CallState {
    std::uint32_t method;
    Step step;
    std::size_t answer_bytes;
  };
  struct Link {
    ClientCore* core = nullptr;  // null: not connected
    std::deque<Letter> waiting;  // until fewer calls are in flight: a replay may be long
    std::map<std::uint64_t, CallState> calls;
    std::uint64_t stream = 0;  // the call of Join; 0: none
    bool text_sent = false;
  };

  /// What the core tells.
  struct Out {
    WorkerNode& node;
    Instant now;

    void operator()(SendJoin m) const { node.send_join(m.shard, now); }
    void operator()(SendPull m) const {
      const std::size_t of_shard = node.block_bytes_[m.shard % node.block_bytes_.size()];
      const std::size_t bytes = m.rows.keys == nullptr ? of_shard : m.rows.answer_bytes;
      node.template send<Pull>(m.shard, {m.step, std::move(m.rows.keys)}, m.step, now, bytes);
    }
    void operator()(SendPush m) const {
      PushRequest request{m.contribution.step, m.contribution.rank, m.contribution.common_cut,
                          std::move(m.contribution.block), m.pull_follows};
      const Step step = request.step;
      node.template send<Push>(m.shard, request, step, now);
    }
    void operator()(SendRestore m) const { node.template send<Restore>(m.shard, {m.cut}, m.cut, now); }
    void operator()(SendCatchUp m) const { node.template send<CatchUp>(m.shard, {m.done}, m.done, now); }
    void operator()(ReplicasDiffer m) const {
      node.fail({ps_errc::replicas_differ, "step " + std::to_string(m.step) + " of shard " + std::to_string(m.shard)});
    }
    void operator()(SendSave m) const { node.template send<Save>(m.shard, {}, 0, now); }
    void operator()(SendGoodbye m) const { node.template send<Goodbye>(m.shard, {}, 0, now); }
    void operator()(SendLeave m) const { node.template send<Leave>(m.shard, {}, 0, now); }
    void operator()(Prepare work) const { node.shell_.prepare(work); }
    void operator()(Compute work) const { node.shell_.compute(std::move(work)); }
    void operator()(WorkerDone end) const {
      node.tell_saved();
      node.over_ = true;
      for (std::uint32_t shard = 0; shard < node.links_.size(); ++shard) node.hang_up(shard, now);
      node.shell_.done(std::move(end));
    }
  };

  template <class Event>
  void run(Instant now, Event&& event) {
    if (over_) return;
    Out out{*this, now};
    event(core_, out);
    if (!over_) tell_saved();
  }

  void tell_saved() {
    if constexpr (Core::is_synchronous) {
      const Step cut = core_.common_cut();
      if (cut > saved_) shell_.saved(saved_ = cut);
    }
  }

  void send_join(std::uint32_t shard, Instant now) {
    Link& link = links_[shard];
    if (link.core == nullptr) return;
    link.stream = 0;  // what an older Join is told is from before
    JoinRequest request{rank_, job_hash_, {}, {}};
    if (link.text_sent) {
      request.job_text = job_text_;
      request.cuts = cuts_;
    }
    send<Join>(shard, request, 0, now);
  }

  template <detail::RpcMethod M>
  void send(std::uint32_t shard, const typename M::Request& request, Step step, Instant now,
            std::size_t answer_bytes = 0) {
    if (links_[shard].core == nullptr) return;
    WireWriter head;
    MessageBody body = RpcCodec<typename M::Request>::encode(request, head);
    links_[shard].waiting.push_back({M::id, step, answer_bytes, head.take(), std::move(body.body)});
    pump(shard, now);
  }

  void pump(std::uint32_t shard, Instant now) {
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

  template <RpcMessage T>
  static auto decode(const ClientEvent& event, T& message) -> bool {
    return detail::decode_message({event.head, event.body}, message);
  }

  void joined(std::uint32_t shard, const ClientEvent& event, Instant now) {
    JoinItem item;
    if (!decode(event, item)) return bad_message(shard, Join::name);
    switch (item.kind) {
      case JoinItem::Kind::joined:
        if constexpr (Core::is_synchronous) take_back_pulls(links_[shard]);
        return run(now, [&](Core& core, auto& out) { core.joined(shard, std::move(item.progress), out); });
      case JoinItem::Kind::notice:
        return run(now, [&](Core& core, auto& out) { core.notice(shard, std::move(item.progress), out); });
      case JoinItem::Kind::text_wanted: links_[shard].text_sent = true; return send_join(shard, now);
      case JoinItem::Kind::rank_lost: return fail({ps_errc::rank_lost, "rank " + std::to_string(item.rank)});
    }
  }

  // Where shards may be sent back, one that says where it is is asked anew. What it was asked before, and may not answer
  // for long, would come to too many calls when somebody sends it back again and again.
  static void take_back_pulls(Link& link) {
    std::erase_if(link.waiting, [](const Letter& letter) { return letter.method == Pull::id; });
    std::erase_if(link.calls, [&link](const auto& call) {
      if (call.second.method != Pull::id) return false;
      link.core->cancel(call.first);
      return true;
    });
  }

  void pulled(std::uint32_t shard, const CallState& call, const ClientEvent& event, Instant now) {
    const Step step = call.step;
    PullReply reply;
    if (!decode(event, reply)) return bad_message(shard, Pull::name);
    if (reply.gone) {
      if constexpr (Core::is_synchronous)
        run(now, [&](Core& core, auto& out) { core.gone(shard, step, std::move(reply.progress), out); });
      return;
    }
    if (reply.body == nullptr) reply.body = std::make_shared<AlignedBuffer>();
    if (reply.body->size() != call.answer_bytes) return bad_message(shard, Pull::name);
    shell_.moved(reply.counted);
    run(now, [&](Core& core, auto& out) {
      core.values(shard, step, std::move(reply.body), std::move(reply.progress), out);
    });
  }

  void pushed(std::uint32_t shard, Step step, const ClientEvent& event, Instant now) {
    PushReply reply;
    if (!decode(event, reply)) return bad_message(shard, Push::name);
    if (reply.not_repeatable) shell_.not_repeatable(step);
    run(now, [&](Core& core, auto& out) { core.pushed(shard, std::move(reply.progress), out); });
  }

  // What the connection or its limits did is mended by joining anew; what the shard's job says is final.
  void call_failed(std::uint32_t shard, const ClientEvent& event, Instant now) {
    const Error error = event.error;
    end_call(shard, event.call, now);
    if (error.code.category() == detail::rpc_category() && error.code != rpc_errc::unknown_method &&
        error.code != rpc_errc::bad_message)
      return;
    if (error.code == ps_errc::not_joined) return;  // it was joined before; the answer to another call says more
    fail({error.code, "shard " + std::to_string(shard) + (error.where.empty() ? "" : ": " + error.where)});
  }

  // Nothing but the answer to the last word is waited for; then the connection ends.
  void hang_up(std::uint32_t shard, Instant now) {
    Link& link = links_[shard];
    if (link.core == nullptr) return;
    const auto last_word = [](std::uint32_t method) { return method == Goodbye::id || method == Leave::id; };
    std::erase_if(link.waiting, [&](const Letter& letter) { return !last_word(letter.method); });
    const auto calls = std::exchange(link.calls, {});  // nothing more is heard of them
    pump(shard, now);
    for (const auto& [call, state] : calls)  // after the last word: who takes Join back before it is not joined
      if (!last_word(state.method)) link.core->cancel(call);
    link.core->close();
    shell_.sent(shard);
  }

  void end_call(std::uint32_t shard, std::uint64_t call, Instant now) {
    Link& link = links_[shard];
    link.calls.erase(call);
    if (call == link.stream) link.stream = 0;
    pump(shard, now);
  }

  void bad_message(std::uint32_t shard, std::string_view method) {
    fail({rpc_errc::bad_message, "shard " + std::to_string(shard) + ", answer to " + std::string{method}});
  }

  void fail(const Error& error) {
    if (std::exchange(over_, true)) return;
    shell_.failed(error);
  }

  static constexpr std::size_t most_calls = 256;  // on one connection

  Core core_;
  Rank rank_;
  std::string job_text_;
  std::string job_hash_;
  CutSettings cuts_;
  WorkerShell& shell_;
  std::vector<Link> links_;
  std::vector<std::size_t> block_bytes_;  // of each shard, as they travel
  Step saved_ = 0;
  bool over_ = false;
};

}  // namespace v0
}  // namespace distrib
