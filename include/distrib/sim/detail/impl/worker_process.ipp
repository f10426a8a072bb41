// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/sim/detail/worker_process.hpp>

namespace distrib {
inline namespace v0 {
namespace sim::detail {

DISTRIB_DECL void WorkerProcess::start() {
  tell("starts");
  for (std::uint32_t shard = 0; shard < links_.size(); ++shard) connect(shard);
}

DISTRIB_DECL void WorkerProcess::die() {
  if (!std::exchange(alive_, false)) return;
  if (!done_) tell("dies");
  for (const LinkPointer& link : std::exchange(links_, {}))
    if (link != nullptr) {
      link->client_open = false;
      link->wire->detach_a();
    }
}

DISTRIB_DECL auto WorkerProcess::state() const -> std::string {
  std::string text = " " + name_ + (done_ ? " done" : alive_ ? " at " + std::to_string(node_.step()) : " down");
  for (const LinkPointer& link : links_) text += link ? " +" : " -";
  return text;
}

DISTRIB_DECL auto WorkerProcess::open() const -> std::vector<LinkPointer> {
  std::vector<LinkPointer> open;
  for (const LinkPointer& link : links_)
    if (link != nullptr && link->client_open) open.push_back(link);
  return open;
}

DISTRIB_DECL void WorkerProcess::prepare(Prepare work) {
  later([this, work] {
    node_.prepared(work.step, program_.prepare(work.step), world_.now());
    flush();
  });
}

DISTRIB_DECL void WorkerProcess::compute(Compute work) {
  later([this, work = std::move(work)] {
    if (world_.traces()) tell("computes step " + std::to_string(work.step));
    auto blocks = program_.contribute(work);
    node_.computed(work.ticket, std::move(blocks), world_.now(), program_.prepare(work.step + 1));
    flush();
    world_.contributed();
  });
}

DISTRIB_DECL void WorkerProcess::not_repeatable(Step step) {
  world_.fail("step " + std::to_string(step) + " of " + name_ + " was computed twice, with different bytes");
}

DISTRIB_DECL void WorkerProcess::done(WorkerDone end) {
  tell(end.retired ? "has retired" : "is done");
  retired_ = end.retired;
  done_ = !end.retired;
  world_.one_ended = true;
  if (rank_ == 0 && program_.finish) program_.finish(std::move(end.result));
}

DISTRIB_DECL void WorkerProcess::failed(const Error& why) {
  tell("fails: " + why.where);
  if (world_.ranks && why.code == ps_errc::shard_done) return static_cast<void>(retired_ = world_.one_ended = true);
  if (world_.lost.contains(rank_) && why.code == ps_errc::shard_done)  // it has come back too late
    return static_cast<void>(done_ = world_.one_ended = true);
  if (why.code != ps_errc::not_finite) return world_.fail(name_ + " failed: " + why.where + ": " + why.code.message());
  world_.refusals.push_back(why.where);
  done_ = true;
  world_.one_ended = true;
}

DISTRIB_DECL void WorkerProcess::later(std::function<void()> then) {
  world_.scheduler.after(5 * world_.factor(name_) * world_.pause(),
                         [self = shared_from_this(), then = std::move(then)] {
                           if (self->alive_) then();
                         });
}

DISTRIB_DECL void WorkerProcess::connect(std::uint32_t shard) {
  if (done_) return;
  ShardHost& host = *shards_[shard];
  if (world_.now() < world_.parted_until(rank_, host.task()) || !host.is_up())
    return later([this, shard] { connect(shard); });
  const LinkPointer link = links_[shard] =
      open_link(world_, host, name_, rank_, [this, shard](const LinkPointer& at) { on_activity(at, shard); });
  if (world_.traces()) tell("connects to " + host.name());
  touched_.push_back(shard);
  node_.connected(shard, link->client, world_.now());
  flush();
}

DISTRIB_DECL void WorkerProcess::on_activity(const LinkPointer& link, std::uint32_t shard) {
  if (!link->client_open) return;
  const Instant now = world_.now();
  touched_.push_back(shard);
  for (ClientEvent event; link->client.next(now, event);) node_.happened(shard, event, now);
  flush();
  if (!link->client.finished()) return;
  link->client_open = false;
  links_[shard] = nullptr;
  if (done_) return;
  node_.disconnected(shard, now);
  later([this, shard] { connect(shard); });
}

DISTRIB_DECL void WorkerProcess::flush() {
  std::vector<std::uint32_t> touched = std::exchange(touched_, {});
  std::ranges::sort(touched);
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  for (const std::uint32_t shard : touched) {
    const LinkPointer link = shard < links_.size() ? links_[shard] : nullptr;
    if (link != nullptr && link->client_open && link->wire != nullptr) link->wire->flush();
  }
}

}  // namespace sim::detail
}  // namespace v0
}  // namespace distrib
