// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/error.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/ps/cut/object_access.hpp>
#include <distrib/ps/job/cut_settings.hpp>
#include <distrib/ps/job/erased_keys.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/exit_code.hpp>
#include <distrib/ps/job/export_settings.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/lineage.hpp>
#include <distrib/ps/job/rank_block.hpp>
#include <distrib/ps/job/rank_file.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/protocol/any_shard.hpp>
#include <distrib/ps/protocol/erase_log_core.hpp>
#include <distrib/ps/protocol/rank_log_core.hpp>
#include <distrib/ps/server/detail/block_checksum.hpp>
#include <distrib/ps/server/detail/erase_calls.hpp>
#include <distrib/ps/server/detail/look_desk.hpp>
#include <distrib/ps/server/detail/met_processes.hpp>
#include <distrib/ps/server/detail/push_call.hpp>
#include <distrib/ps/server/detail/rank_desk.hpp>
#include <distrib/ps/server/detail/scale_calls.hpp>
#include <distrib/ps/server/detail/served_job.hpp>
#include <distrib/ps/server/detail/shard_peers.hpp>
#include <distrib/ps/server/detail/state_call.hpp>
#include <distrib/ps/server/detail/text_waits.hpp>
#include <distrib/ps/server/perform_export.hpp>
#include <distrib/ps/server/shard_clock.hpp>
#include <distrib/ps/server/shard_exports.hpp>
#include <distrib/ps/server/shard_identity.hpp>
#include <distrib/ps/server/shard_meter.hpp>
#include <distrib/ps/server/shard_options.hpp>
#include <distrib/ps/server/shard_shell.hpp>
#include <distrib/ps/store/cut.hpp>
#include <distrib/ps/store/pull_rows.hpp>
#include <distrib/ps/store/shard_action.hpp>
#include <distrib/ps/store/shard_store.hpp>
#include <distrib/ps/wire/messages.hpp>
#include <distrib/ps/wire/shard_status.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/rpc/router.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Answers the methods of `ps/wire/messages.hpp` for one shard: learns the job from the first Join, then passes calls
/// to the shard's core, and the core's answers to the connections. Each connection is a peer, for which the service
/// keeps the calls that are not answered yet.
///
/// Events in, actions out by calls of the shell; no clock, no I/O, no thread. `Connection`: what `Call` sends its
/// answers to.
///
/// Threads: one at a time. Must outlive the calls of its connections; `shell` must outlive it.
template <class Connection>
class ShardService final : private ShardSink {
 public:
  ShardService(const ShardIdentity& identity, const ShardOptions& options, ShardKinds kinds, ShardShell& shell,
               Instant now)
      : options_{options},
        job_{identity, std::move(kinds), options},
        shell_{shell},
        clock_{options, identity, now},
        meter_{now},
        desk_{identity, options.dealing, now} {}
  ShardService(const ShardService&) = delete;
  auto operator=(const ShardService&) -> ShardService& = delete;

  // --- events of connections ---

  /// A call has arrived, was cancelled, or may send items again.
  void happened(const Connection& connection, const ServerEvent& event, Instant now) {
    now_ = now;
    if (event.kind == ServerEvent::Kind::request) return router_.dispatch(connection, event);
    if (event.kind == ServerEvent::Kind::cancelled) drop_look(looks_.cancelled(connection, event.call));
    const Peer peer = peers_.find(connection);
    if (peer == 0) return;
    Client& state = peers_[peer];
    if (event.kind == ServerEvent::Kind::cancelled) texts_.cancelled(peer, event.call);
    if (event.kind == ServerEvent::Kind::cancelled && state.calls.forget(event.call)) part(peer);
    if (event.kind == ServerEvent::Kind::credit && state.entered)
      state.calls.tell_owed(core_->progress(state.ranks.first));
  }

  /// The connection is lost.
  void closed(const Connection& connection, Instant now) {
    now_ = now;
    desk_.closed(connection);
    drop_look(looks_.closed(connection));
    scaling_.drop(connection);
    erasing_.drop(connection);
    const Peer peer = peers_.find(connection);
    if (peer == 0) return;
    part(peer);
    if (sending_.forget(peer) && core_ != nullptr) core_->disconnect(peer, *this);
    texts_.drop(peer, false);
    texts_.answered(peer);
    peers_.erase(connection, peer);
    ask_for_text();
  }

  // --- events of the shell ---

  /// The result of `ShardShell::open`: the shard's durable cuts, steps ascending, and the newest of them. Null: the
  /// shard starts at step 0. If the shard has another replica, asks that replica for a newer state first, and no worker
  /// joins before the answer. `ranks`: the log of the shard as it was saved last, in a job whose ranks change or whose
  /// keys may be erased.
  ///
  /// Errors: throws as `make_shard`, for example if the tables need more memory than there is. Then `not_opened` must
  /// be called.
  void opened(std::vector<DurableCut> cuts, const Cut* newest, Instant now, const std::optional<RankFile>& ranks = {}) {
    now_ = now;
    core_ = job_.make_shard(std::move(cuts), newest);
    if (RankLogCore* const log = core_->rank_log()) log->open(ranks, options_.rank_steps_ahead);
    if (EraseLogCore* const log = core_->erase_log()) log->open(ranks, options_.rank_steps_ahead);
    write_ranks();
    begin_exports(newest);
    begin_links(newest);
    met_ = detail::MetProcesses{job_->rank_names()};
    const bool has_dealt_ranks = job_.identity().processes != 0;
    clock_.opened(now, job_->replicas > 1, job_->total_steps == open_end || has_dealt_ranks || job_->most_ranks != 0,
                  job_->rank_names(), job_->consistency.backup_workers(job_->ranks));
    meter_.opened(*job_.get());
    wait_for_last_ranks();
    if (sending_.peer() != 0) core_->state(sending_.peer(), sending_.have(), *this);
    answer_looks();
    if (job_->replicas == 1) return enter_all();
    starting_ = true;
    ask_sibling();
  }

  /// `ShardShell::open` failed: refuses the workers that have joined, and forgets the job. The next worker may bring it
  /// again.
  void not_opened(const Error& why) {
    job_.forget();
    sending_.send(sending_.peer(), nullptr);
    looks_.end_all(false, why.code, why.where);
    peers_.refuse_all(why.code, why.where);
  }

  /// The result of `ShardShell::ask_sibling`. Null: the other replica has no newer cut, or cannot be reached. Ends with
  /// code 74 if the state needs more memory than there is.
  void state_came(const Cut* cut, Instant now) {
    asking_ = false;
    if (over_at(now)) return;
    try {
      core_->state_came(cut, *this);
    } catch (const std::system_error& error) {  // tables that need more memory than there is
      return end(exit_code::io_error, error_of(error));
    }
    if (std::exchange(starting_, false)) enter_all();
    answer_looks();
  }
  /// The result of `ShardShell::send`. Null: the cut could not be read.
  void state_read(Peer peer, const Cut* cut) { sending_.send(peer, cut); }

  /// As `ShardShell::copy` asked: copies one piece of the cut.
  void copy_cut(Instant now) {
    copying_ = false;
    if (over_at(now)) return;
    core_->copy_cut(options_.copy_bytes, *this);
    end_if_saved();
  }
  /// `ShardShell::save` is done: the cut of `step` is durable.
  void cut_saved(Step step, Instant now) {
    saving_ = false;
    if (over_at(now)) return;
    clock_.saved(now);
    core_->cut_saved(step, *this);
    wait_for_last_ranks();
    answer_looks();
    end_if_saved();
  }
  /// `ShardShell::save_ranks` is done.
  void ranks_saved(Instant now) {
    if (over_at(now)) return;
    unsaved_ranks_.reset();
    core_->ranks_written(*this);
    write_ranks();
    answer_looks();
  }
  /// `ShardShell::save_ranks` failed. If the disk is full, or the object store does not answer, the shard tries again
  /// after a pause; calls for other ranks wait, and so do workers when the steps reach the horizon. After any other
  /// failure it ends with code 74.
  void ranks_not_saved(const Error& why, Instant now) {
    if (over_at(now)) return;
    if (why.code != checkpoint_errc::no_room && !may_pass(why.code)) return end(exit_code::io_error, why);
    if (!stopping_) ranks_again_ = instant_after(now, options_.save_again_after);
  }
  /// The result of `ShardShell::load`. Throws as `ShardStore::load`; then `load_failed` must be called.
  void cut_loaded(const Cut& cut, Instant now) {
    if (over_at(now)) return;
    core_->cut_loaded(cut, *this);
    write_ranks();
    answer_looks();
  }
  /// `ShardShell::load` failed. If the cut is damaged or missing, loads the newest other cut instead. Otherwise, or if
  /// it is cut 0, ends with code 74.
  void load_failed(const Error& why, Instant now) {
    if (over_at(now)) return;
    const bool is_bad = why.code == failure::corrupt || why.code == failure::not_found;
    if (!is_bad || core_->step() == 0) return end(exit_code::io_error, why);
    core_->cut_refused(*this);
  }
  /// `ShardShell::save` failed. If the disk is full, or the object store does not answer, the shard tries again after a
  /// pause, or ends with code 1 if it was asked to stop. After any other failure it ends with code 74.
  void save_failed(const Error& why, Instant now) {
    if (over_) return;
    const bool no_room = why.code == checkpoint_errc::no_room || may_pass(why.code);
    if (stopping_ || !no_room) return end(no_room ? exit_code::again : exit_code::io_error, why);
    clock_.found_no_room(now);
    core_->no_room(*this);
  }

  /// The process is asked to end: saves, then ends with code 1. Refuses pushes from now on, because the cut does not
  /// contain them.
  void stop() {
    if (over_ || stopping_) return;
    stopping_ = true;
    save_again(Instant::max());
    if (core_ != nullptr) core_->save(*this);
    end_if_saved();
  }

  /// Returns when `woken` must be called; empty: not before the next event.
  [[nodiscard]] auto wake() const -> std::optional<Instant> {
    if (over_) return std::nullopt;
    const auto earlier = [](std::optional<Instant> a, std::optional<Instant> b) {
      return a && b ? std::min(*a, *b) : b ? b : a;
    };
    const std::optional<Instant> dealing = desk_.wake();
    if (job_ && core_ == nullptr) return dealing;
    return earlier(earlier(clock_.wake(is_complete()), exports_ ? exports_->wake() : std::nullopt),
                   earlier(dealing, ranks_again_));
  }
  /// Does what is due at `now`. `finished`: the directory has the checkpoint of a job's last step, see
  /// `found_finished`.
  void woken(Instant now, bool finished = false) {
    now_ = now;
    if (finished) clock_.found_finished();
    ends_without_ = ends_without_ || (finished && job_ && job_->replicas > 1);
    if (!over_) desk_.woken(now);
    if (over_ || (job_ && core_ == nullptr)) return;
    save_again(now);
    save_ranks_again(now);
    if (end_if_exported()) return;
    if (!is_complete() && clock_.asks_sibling(now)) ask_sibling();
    ShardClock::Verdict verdict = clock_.look(now, is_complete());
    for (; verdict.kind == ShardClock::Verdict::Kind::vacant; verdict = clock_.look(now, is_complete())) {
      clock_.vacated(verdict.rank);
      shell_.goes_on_without(verdict.rank);
      core_->vacate(verdict.rank, *this);
      if (over_) return;
    }
    if (verdict.kind == ShardClock::Verdict::Kind::finished) return end(exit_code::done, {});
    if (verdict.kind == ShardClock::Verdict::Kind::nobody_came)
      return end(exit_code::again, {ps_errc::nobody_joined, "/job:ps/task:" + std::to_string(job_.identity().task)});
    if (verdict.kind != ShardClock::Verdict::Kind::lost) return;
    if (!job_->replayable) return cannot_replay(verdict.rank);
    for (auto& [peer, state] : peers_) state.calls.tell_lost(verdict.rank);
    const std::string at =
        job_->replicas == 1 ? "" : "; the other replica sent no newer state than step " + std::to_string(core_->step());
    end(exit_code::somebody_lost, {ps_errc::rank_lost, "rank " + std::to_string(verdict.rank) + at});
  }

  /// The directory has the checkpoint of a job's last step, which is `step`. A shard without a job then ends when no
  /// worker connects for the linger time. A shard that knows its job relies on its own cuts and does nothing, unless it
  /// has another replica: that replica may have written the checkpoint, so this one may end without the last cut.
  void found_finished(Step step, Instant now) { woken(now, !job_ || step >= job_->total_steps); }

  /// Returns the status of the shard; changes nothing.
  [[nodiscard]] auto status(Instant now) const -> ShardStatus {
    ShardStatus status = meter_.describe(job_.identity(), job_.get(), job_.kind(), core_.get(), now);
    if (job_) status.job_hash = job_.hash();
    if (exports_) {
      const ExportStatus exported = exports_->status();
      status.exported.emplace(ShardStatus::ExportedStatus{exported.position, exported.step, exported.taken,
                                                          exported.left_out, exported.failures, exported.digest.first,
                                                          exported.digest.second});
    }
    if (core_ != nullptr)
      if (const RankLogCore* const log = core_->rank_log()) status.horizon = log->horizon();
    peers_.describe(status);
    return status;
  }

  /// Returns what exports the shard; null: nothing does. The shell asks it for work after each event.
  [[nodiscard]] auto exports() noexcept -> ShardExports* { return over_ ? nullptr : exports_.get(); }
  /// Work that `exports()->next` returned is done, or has failed.
  void exported(ExportWork work, Instant now) {
    if (over_at(now)) return;
    exports_->performed(std::move(work), now);
    end_if_exported();
  }

  /// Returns what the shard decides about ranks; null: they never change, or the shard is not open.
  [[nodiscard]] auto rank_log() noexcept -> RankLogCore* { return core_ != nullptr ? core_->rank_log() : nullptr; }
  /// True if keys may be erased: the job lets them, and the shard is open.
  [[nodiscard]] auto can_erase() noexcept -> bool { return core_ != nullptr && core_->erase_log() != nullptr; }
  /// Returns which keys go after which steps, as far as that was acknowledged. Only if `can_erase`.
  [[nodiscard]] auto erased() -> std::span<const ErasedKeys> { return core_->erase_log()->entries(); }
  /// Asks to erase keys, as a call of `Erase` does, without an answer. Only if `can_erase`.
  void erase(std::string table, std::vector<std::uint64_t> keys) {
    core_->erase_log()->ask(0, std::move(table), std::move(keys));
    write_ranks();
  }
  /// Asks for other ranks, as a call of `Scale` does, without an answer. Only if there is a `rank_log`.
  void propose(RankEntry entry) {
    rank_log()->propose(0, std::move(entry));
    write_ranks();
  }

  /// Returns the counters of the shard. A shell with a clock reports to them when calls arrive and are answered.
  [[nodiscard]] auto meter() noexcept -> ShardMeter& { return meter_; }

  /// Returns the steps that the shard has counted; 0 while it is not open.
  [[nodiscard]] auto step() const noexcept -> Step { return core_ != nullptr ? core_->step() : 0; }

  /// Returns the job; empty: none is known yet.
  [[nodiscard]] auto job() const noexcept -> const std::optional<Job>& { return job_.get(); }
  /// True if `ShardShell::ended` was called.
  [[nodiscard]] auto over() const noexcept -> bool { return over_; }

 private:
  using Client = detail::ShardPeer<Connection>;

  /// Passes every request of the router to its overload of `serve`.
  struct Serve {
    ShardService* service;
    template <class Request, class M>
    void operator()(Request&& request, Call<M, Connection> call) const {
      if constexpr (std::is_same_v<M, AskRanks>)
        if (service->is_done_) return call.reply({{}, true});
      if constexpr (std::is_same_v<M, AwaitEnd>)
        if (service->is_done_) return call.reply({});
      // The connection may stay open for long, because other shards of the task go on: a worker must not wait for it.
      if constexpr (std::is_same_v<M, Join> || std::is_same_v<M, Look>)
        if (service->is_done_) return call.fail(ps_errc::shard_done);
      if (service->over_) return call.fail(service->end_.code, service->end_.where);
      service->serve(std::forward<Request>(request), std::move(call));
    }
  };

  // --- calls ---

  void serve(JoinRequest request, Call<Join, Connection> call) {
    const Peer peer = peers_.number_of(call.connection());
    leave(peer);
    texts_.drop(peer, true);
    if (!request.job_text.empty()) texts_.answered(peer);
    join(peer, std::move(request), std::move(call));
    while (job_ && !over_ && !texts_.empty()) {  // those that have waited for the job
      auto waited = texts_.take();
      join(waited.peer, std::move(waited.request), std::move(waited.call));
    }
  }

  void join(Peer peer, JoinRequest request, Call<Join, Connection> call) {
    if (const std::string unlike = desk_.unlike(request); !unlike.empty()) {
      call.fail(ps_errc::other_ranks, unlike);
      return ask_for_text();
    }
    if (!job_.is(request.job_hash)) {
      if (request.job_text.empty()) return ask_for_text(peer, std::move(request), std::move(call));
      if (const Error error = job_.adopt(request)) {
        call.fail(error.code, error.where);
        return ask_for_text();
      }
      cut_settings_ = request.cuts;
      shell_.open(*job_.get(), job_.replica(), request.cuts, job_.kind().updaters);
    }
    if (const std::string unlike = job_.unlike_arithmetic(request); !unlike.empty()) {
      if (job_->consistency.is_synchronous()) return call.fail(ps_errc::unlike_arithmetic, unlike);
      shell_.joined_unlike(unlike);
    }
    Client& state = peers_[peer];
    state.ranks = request.ranks();
    state.has_begun = request.has_begun;
    state.process = request.process;
    state.calls.join(std::move(call));
    if (core_ != nullptr && !starting_) enter(peer, state);
  }

  void serve(PullRequest request, Call<Pull, Connection> call) {
    const Peer peer = peers_.entered(call);
    if (peer == 0) return;
    peers_[peer].calls.park(request.step, std::move(call), meter_.arrived());
    PullRows rows;
    if (const Error bad = read_pull_rows(core_->store().layout(), request.body, options_.max_pull_bytes, rows))
      return (*this)(RefusedReply{peer, bad.code, request.step, peers_[peer].ranks.first, bad.where});
    core_->pull(peer, request.step, *this, std::move(rows));
  }

  void serve(PushRequest request, Call<Push, Connection> call) { push(std::move(request), 0, std::move(call)); }
  void serve(PushSumRequest request, Call<PushSum, Connection> call) {
    const std::uint32_t level = request.level;
    push(std::move(request), level, std::move(call));
  }
  template <class Method> void push(PushRequest request, std::uint32_t level, Call<Method, Connection> call) {
    const Peer peer = peers_.entered(call);
    if (peer == 0) return;
    if (level != 0 && !core_->takes_sums()) return call.fail(ps_errc::no_sums);
    if (stopping_) return call.fail(rpc_errc::closed);  // the cut that `stop` waits for does not contain it
    if (request.body == nullptr) request.body = std::make_shared<AlignedBuffer>();
    push_.begin(std::move(call), request.pull_follows);
    meter_.pushed({request.rank, level}, request.step, core_->step(), request.body->size());
    if (exports_) exports_->name(request.step, request.export_number);
    if (!job_->replayable && request.step != 0) met_.pushed(peers_[peer].ranks.first);
    const Step before = core_->step();
    core_->push(peer,
                {request.step, request.rank, std::move(request.body), request.body_checksum, request.common_cut,
                 request.history, level, std::move(request.entry), request.after},
                *this);
    if (job_->consistency.is_synchronous() && core_->step() > before && request.step == before + 1)
      meter_.completed({request.rank, level}, request.step);
    write_ranks();
    if (push_) push_.answer(core_->progress(request.rank));  // Joined was sent on the stream instead of an answer
    answer_looks();
  }

  void serve(RestoreRequest request, Call<Restore, Connection> call) {
    const Peer peer = peers_.entered(call);
    if (peer == 0) return;
    core_->restore(peer, request.cut, *this, request.lineage);
    meter_.opened(*job_.get());
    call.reply({});
  }

  void serve(CatchUpRequest request, Call<CatchUp, Connection> call) {
    const Peer peer = peers_.answered(call);
    if (peer == 0) return;
    if (core_->step() > request.done || job_->replicas == 1) core_->join(peer, peers_[peer].ranks, *this);
    else ask_sibling();
  }

  void serve(StateRequest request, Call<State, Connection> call) {
    const Peer peer = peers_.number_of(call.connection());
    if (!job_.is(request.job_hash) || peers_[peer].entered) return call.fail(ps_errc::not_joined);
    if (sending_.ask(peer, request, std::move(call)) && core_ != nullptr) core_->state(peer, request.have, *this);
  }

  void serve(Empty, Call<Save, Connection> call) {
    if (const Peer p = peers_.answered(call)) core_->save(p, *this);
  }
  void serve(Empty, Call<Leave, Connection> call) {
    const Peer peer = peers_.answered(call);
    if (peer == 0) return;
    const Rank rank = peers_[peer].ranks.first;
    leave(peer);
    if (cannot_lose()) cannot_replay(rank);
  }

  void serve(Empty, Call<Goodbye, Connection> call) {
    const Peer peer = peers_.answered(call);
    if (peer == 0) return;
    for (const Rank rank : ranks_of(peers_[peer])) clock_.said_goodbye(rank);
    core_->goodbye(peer, *this);
    if (over_) return;
    leave(peer);
    write_ranks();  // the rank may be needed no longer
  }

  void serve(AskRanksRequest request, Call<AskRanks, Connection> call) {  // also before Join
    desk_.ask(std::move(request), std::move(call), now_);
  }

  void serve(LookRequest request, Call<Look, Connection> call) {  // needs no Join
    if (!knows_job(request, call)) return;
    looks_.take(std::move(request), std::move(call));
    answer_looks();
  }
  void serve(const AwaitEndRequest& request, Call<AwaitEnd, Connection> call) {  // nor does this
    if (knows_job(request, call)) looks_.await_end(std::move(call));
  }

  void serve(ScaleRequest request, Call<Scale, Connection> call) {  // also before Join
    RankLogCore* const log = rank_log();
    if (log == nullptr) {
      const char* const why = !job_                   ? "it knows no job yet"
                              : job_->most_ranks != 0 ? "it still reads its cuts"
                                                      : "the ranks of its job are fixed";
      const Error refused{ps_errc::fixed_ranks, job_.place() + ": " + why};
      if (request.entry != nullptr)
        shell_.asked_for_ranks(detail::words_of_request(call.connection(), request) + ": refused by " + refused.where +
                               ": " + refused.code.message());
      return call.fail(refused.code, refused.where);
    }
    if (request.entry == nullptr)
      return call.reply(
          {false, log->horizon(), core_->rank_step(), log->log(), static_cast<Rank>(log->first()->ranks.size())});
    log->propose(scaling_.add(request, std::move(call)), *request.entry);
    write_ranks();
  }

  void serve(EraseRequest request, Call<Erase, Connection> call) {  // also before Join
    EraseLogCore* const log = core_ != nullptr ? core_->erase_log() : nullptr;
    if (log == nullptr) {
      const char* const why = !job_               ? "it knows no job yet"
                              : job_->erases_keys ? "it still reads its cuts"
                                                  : "its job was started without with_erasable_keys";
      const Error refused{ps_errc::not_erasable, job_.place() + ": " + why};
      shell_.asked_to_erase(detail::words_of_request(call.connection(), request) + ": refused by " + refused.where +
                            ": " + refused.code.message());
      return call.fail(refused.code, refused.where);
    }
    const std::uint64_t caller = erasing_.add(request, std::move(call));
    log->ask(caller, std::move(request.table), std::move(request.keys));
    write_ranks();
  }

  void serve(Empty, Call<Status, Connection> call) { call.reply(status(now_)); }  // also before Join

  // --- the job ---

  // Asks the worker for the job's text; or keeps its Join, if enough others are asked and no job is known yet.
  void ask_for_text(Peer peer, JoinRequest request, Call<Join, Connection> call) {
    if (!job_ && !texts_.asks(peer)) return texts_.wait(peer, std::move(request), std::move(call));
    call.item({JoinItem::Kind::text_wanted, {}, 0});
    call.end();
  }
  // A worker that was asked is lost, or its text was refused: asks another one.
  void ask_for_text() {
    while (!job_ && !over_ && texts_.may_ask()) {
      auto waited = texts_.take();
      ask_for_text(waited.peer, std::move(waited.request), std::move(waited.call));
    }
  }

  void ask_sibling() {
    if (!std::exchange(asking_, true)) shell_.ask_sibling(job_.hash(), core_->step());
  }

  void save_again(Instant now) {  // if the pause after a cut without disk space is over
    if (!clock_.tries_again(now)) return;
    saving_ = false;
    core_->save_again(*this);
  }

  // True if the shard has the last cut, or may end without it (`ends_without_`).
  [[nodiscard]] auto is_complete() const { return core_ != nullptr && (ends_without_ || job_.has_last_cut(*core_)); }

  // From now on most cuts have only what has changed, if the job says so and its steps can be made again.
  void begin_links(const Cut* newest) {
    if (!cut_settings_.incremental || !has_repeatable_steps(*job_.get())) return;
    core_->store().make_links(
        [cuts = cut_settings_, last = job_->total_steps](Step of) { return cuts.is_users(of, last); },
        newest != nullptr ? newest->step : 0);
  }

  // --- exports ---

  // One of two replicas exports: they have the same state.
  void begin_exports(const Cut* newest) {
    const bool is_first = job_.replica() < job_->shards();
    if (cut_settings_.exports.directory.empty() || !is_first || !has_repeatable_steps(*job_.get())) return;
    exports_ =
        std::make_unique<ShardExports>(*job_.get(), job_.replica(), cut_settings_.exports, job_.identity().random);
    exports_->opened(core_->store(), core_->step(), newest != nullptr ? newest->lineage : Lineage{});
  }

  // Ends if the job is done and its last export is written. Returns true if the shard is over.
  auto end_if_exported() -> bool {
    if (!ends_after_export_ || over_ || (exports_ && !exports_->may_end(now_))) return over_;
    if (exports_ && exports_->has_work()) shell_.last_export_missing();
    end(exit_code::done, {});
    return true;
  }

  // --- onlookers ---

  // Returns false, and fails the call, if the shard trains no job or another one.
  auto knows_job(const auto& request, const auto& call) -> bool {
    if (!job_) call.fail(ps_errc::nobody_joined, "the shard knows no job yet");
    else if (!job_.is(request.job_hash)) call.fail(ps_errc::job_mismatch, "the hash of an onlooker's job");
    else return true;
    return false;
  }

  // Passes the looks that are due to the core of a synchronous job, as pulls of peers that have not joined. An
  // asynchronous core has no such pulls: its values are read here.
  void answer_looks() {
    if (core_ == nullptr || over_) return;
    const bool synchronous = job_->consistency.is_synchronous();
    const auto is_due = [&](const LookRequest& look) {
      if (look.step == end_of_job && !look.newest)
        return synchronous ? core_->step() >= job_->total_steps : job_.has_last_cut(*core_);
      return synchronous || !core_->progress(0).no_values;
    };
    looks_.tell_due(is_due, [&](Peer peer, const LookRequest& look) {
      PullRows rows;
      const Error bad = read_pull_rows(core_->store().layout(), look.body, options_.max_pull_bytes, rows);
      if (bad) return looks_.fail(peer, bad.code, bad.where);
      if (const std::error_code none = core_->store().check(rows)) return looks_.fail(peer, none, "a look");
      const Step step = look.newest ? core_->step() : std::min(look.step, job_->total_steps);
      if (synchronous) return core_->pull(peer, step, *this, std::move(rows));
      (*this)(ValuesReply{peer, step, core_->store().values(rows), {core_->step(), {}}, core_->step()});
    });
  }

  void drop_look(Peer onlooker) {
    if (onlooker != 0 && core_ != nullptr) core_->disconnect(onlooker, *this);
  }

  // --- ranks that change ---

  // After each event that may complete a step, ask for other ranks, or ask to erase keys.
  void write_ranks() {
    if (over_) return;
    if (EraseLogCore* const log = core_->erase_log()) return write_erased(*log);
    RankLogCore* const log = core_->rank_log();
    if (log == nullptr) return;
    write_log(log->next_write(core_->rank_step()));
    for (const RankAnswer& answer : log->take_answers())
      if (const std::string report = scaling_.answer(answer, job_.place(), core_->rank_step()); !report.empty())
        shell_.asked_for_ranks(report);
    if (job_->consistency.is_synchronous()) return desk_.wants(log->log(), core_->common_cut(), now_);
    if (log->log()->entries().size() == 1) return;  // a shard that has just come may lack entries that others have
    if (auto needed = core_->take_needed_ranks()) desk_.wants(*std::move(needed), now_);
  }
  void write_erased(EraseLogCore& log) {
    write_log(log.next_write(core_->step()));
    for (const EraseAnswer& answer : log.take_answers())
      if (const std::string report = erasing_.answer(answer, job_.place(), core_->step()); !report.empty())
        shell_.asked_to_erase(report);
  }
  void write_log(std::optional<RankFile> file) {
    if (!file) return;
    unsaved_ranks_ = *file;
    shell_.save_ranks(*std::move(file));
  }
  // With the last cut: nobody waits for ranks that do not make the last step.
  void wait_for_last_ranks() {
    RankLogCore* const log = core_->rank_log();
    if (log == nullptr || over_ || !is_complete() || std::exchange(waits_for_last_, true)) return;
    const std::uint64_t total = job_->total_steps;
    if (!job_->consistency.is_synchronous()) return clock_.waits_only_for(log->log()->last_ranks(total), now_);
    clock_.waits_only_for(log->log()->entry_of(total)->ranks, now_);
  }
  void save_ranks_again(Instant now) {  // if the pause after a file without disk space is over
    if (!ranks_again_ || now < *ranks_again_) return;
    ranks_again_.reset();
    shell_.save_ranks(*unsaved_ranks_);
  }

  // --- peers ---

  void enter(Peer peer, Client& state) {
    const Rank first = state.ranks.first;
    if (is_block(state.ranks, job_->rank_names()) && (state.ranks.level == 0 || core_->takes_sums())) {
      if (cannot_lose() && !met_.joins(first, state.has_begun)) return cannot_replay(first);
      state.entered = true;
      bool is_second = false;
      for (const Rank rank : ranks_of(state)) is_second = clock_.joined(rank) || is_second;
      if (is_second && job_.identity().processes == 0) shell_.joined_twice(first);  // dealt ranks move
    } else if (is_block(state.ranks, job_->rank_names())) {
      const bool changes = job_->most_ranks != 0;
      return state.calls.refuse(ps_errc::no_sums,
                                changes ? "the ranks of the job may change"
                                        : "it continues a job that was begun in rank order, or is asynchronous");
    }
    core_->join(peer, state.ranks, *this);
  }

  void enter_all() {
    for (auto& [peer, state] : peers_)
      if (state.calls.joined()) enter(peer, state);
  }

  void leave(Peer peer) {  // the worker may join again on the same connection
    part(peer);
    peers_[peer].calls.end();
  }

  void part(Peer peer) {
    Client& state = peers_[peer];
    if (!std::exchange(state.entered, false)) return;
    state.calls.fail_pulls(rpc_errc::cancelled);
    core_->disconnect(peer, *this);
    for (const Rank rank : ranks_of(state)) clock_.parted(rank, now_);
  }
  [[nodiscard]] auto ranks_of(const Client& state) const {
    return std::views::iota(state.ranks.first, state.ranks.end(job_->rank_names()));
  }

  // Every event sets the time. Returns true if the shard is over.
  auto over_at(Instant now) -> bool {
    now_ = now;
    return over_;
  }

  // True if the job cannot continue without the workers that it has: it is not replayable, and not all steps are done.
  [[nodiscard]] auto cannot_lose() const -> bool {
    return !job_->replayable && core_ != nullptr && core_->step() < job_->total_steps;
  }
  // Contributions of the rank are lost: tells all workers, saves, and ends with code 1.
  void cannot_replay(Rank rank) {
    for (auto& [peer, state] : peers_) state.calls.tell_lost(rank);
    if (!stopping_) why_stopped_ = {ps_errc::not_replayable, "rank " + std::to_string(rank)};
    stop();
  }

  void end_if_saved() {
    if (!stopping_ || copying_ || saving_ || over_) return;
    if (ends_after_export_) end(exit_code::done, {});  // without its last export
    else end(exit_code::again, why_stopped_);
  }

  void end(int code, const Error& why) {
    over_ = true;
    is_done_ = code == exit_code::done;
    peers_.end_all(end_.code);
    texts_.fail_all(end_.code, end_.where);
    looks_.end_all(is_done_, end_.code, end_.where);
    desk_.end_all(is_done_, end_.code, end_.where);
    scaling_.fail_all(end_.code, end_.where);
    erasing_.fail_all(end_.code, end_.where);
    shell_.ended(code, why);
  }

  // --- the actions of the core ---

  void operator()(JoinedReply reply) override { peers_[reply.peer].calls.tell(JoinItem::Kind::joined, reply.progress); }
  void operator()(NoticeReply reply) override { peers_[reply.peer].calls.tell(JoinItem::Kind::notice, reply.progress); }
  void operator()(ValuesReply reply) override {
    const std::uint32_t checksum = checksum_.of(reply.block);
    if (looks_.is_onlooker(reply.peer))
      return looks_.answer(reply.peer,
                           {std::move(reply.progress), false, reply.counted, std::move(reply.block), checksum});
    meter_.pulled(reply.block->size(), peers_[reply.peer].calls.came(reply.step));
    peers_[reply.peer].calls.answer(
        reply.step, {std::move(reply.progress), false, reply.counted, std::move(reply.block), checksum});
  }
  void operator()(GoneReply reply) override {
    if (looks_.is_onlooker(reply.peer))
      return looks_.answer(reply.peer, {std::move(reply.progress), true, 0, nullptr, {}});
    peers_[reply.peer].calls.answer(reply.step, {std::move(reply.progress), true, 0, nullptr, {}});
  }
  void operator()(PushedReply reply) override { push_.answer(std::move(reply.progress)); }
  void operator()(RefusedReply reply) override {
    if (reply.code == ps_errc::not_repeatable) return push_.found_other_bytes();
    const std::string where = to_string(reply);
    // a peer that has not entered can only have called Join
    if (Client& state = peers_[reply.peer]; !state.entered) return state.calls.refuse(reply.code, where);
    push_.fail(reply.code, where);
    // Another shard may have counted this contribution; then its step could never be completed here. So a refusal ends
    // the job, and all workers get the reason.
    end_ = {reply.code, where};
    peers_.refuse_all(reply.code, where);
    end(exit_code::refused, end_);
  }
  void operator()(CopyCut) override {
    copying_ = true;
    shell_.copy();
  }
  void operator()(SaveCut action) override {
    saving_ = true;
    shell_.save(std::move(action));
  }
  void operator()(LoadCut action) override { shell_.load(action.step); }
  void operator()(DropCut action) override { shell_.drop(action); }
  void operator()(SendState action) override {
    if (action.step == 0) sending_.send(action.peer, nullptr);
    else shell_.send(action);
  }
  void operator()(ShardDone) override {
    ends_after_export_ = true;
    end_if_exported();
  }

  template <class... Methods> using RouterOf = Router<detail::Route<Methods, Serve>...>;
  ShardOptions options_;
  detail::ServedJob job_;
  ShardShell& shell_;
  ShardClock clock_;
  ShardMeter meter_;
  detail::RankDesk<Connection> desk_;
  RouterOf<Join, Pull, Push, PushSum, Restore, CatchUp, State, Save, Leave, Goodbye, AskRanks, Look, AwaitEnd, Scale,
           Erase, Status>
      router_{{Serve{this}}, {Serve{this}}, {Serve{this}}, {Serve{this}}, {Serve{this}}, {Serve{this}},
              {Serve{this}}, {Serve{this}}, {Serve{this}}, {Serve{this}}, {Serve{this}}, {Serve{this}},
              {Serve{this}}, {Serve{this}}, {Serve{this}}, {Serve{this}}};
  Instant now_{};
  CutSettings cut_settings_;
  std::unique_ptr<ShardExports> exports_;  // null: nothing is exported
  std::unique_ptr<AnyShard> core_;  // null: there is no job, or its cuts are being read
  detail::ShardPeers<Connection> peers_;
  detail::TextWaits<Connection> texts_;
  detail::LookDesk<Connection> looks_;
  detail::ScaleCalls<Connection> scaling_;
  detail::EraseCalls<Connection> erasing_;
  std::optional<RankFile> unsaved_ranks_;  // the file that is being written
  std::optional<Instant> ranks_again_;  // when it is written again
  bool waits_for_last_ = false;  // see `wait_for_last_ranks`
  detail::StateCall<Connection> sending_;  // the cut that is sent to the other replica
  bool asking_ = false,  // the other replica was asked for its state and has not answered
      starting_ = false,  // no worker may join before that answer
      ends_without_ = false,  // the job's last checkpoint exists, so this replica may end without having it
      ends_after_export_ = false;  // the job is done
  detail::PushCall<Connection> push_;
  detail::BlockChecksum checksum_;  // of values
  detail::MetProcesses met_;  // used only if the job is not replayable
  Error why_stopped_;  // no error: the process was asked to end
  bool copying_ = false, saving_ = false, stopping_ = false, over_ = false;
  bool is_done_ = false;  // over, with code 0
  Error end_{rpc_errc::closed, {}};  // the error of calls after the end
};

}  // namespace v0
}  // namespace distrib
