// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/sim/detail/shard_host.hpp>

#include <distrib/checkpoint/file_names.hpp>
#include <distrib/ps/job/exit_code.hpp>
#include <distrib/ps/wire/messages.hpp>

namespace distrib {
inline namespace v0 {
namespace sim {
namespace detail {

DISTRIB_DECL ShardHost::ShardHost(World& world, std::uint32_t replica, HostOwner& owner)
    : world_{world},
      owner_{owner},
      number_{replica},
      task_{world.job.task_of(replica)},
      name_{"shard " + std::to_string(replica % world.job.shards())} {
  if (replica >= world.job.shards()) name_ += " replica 1";
  options_.linger = linger;
  options_.lease = std::min(options_.lease, world.options.lost_after);
  options_.restart_window = world.options.lost_after - options_.lease;
  options_.rank_steps_ahead = 3;
}

DISTRIB_DECL void ShardHost::start(bool finished) {
  ++incarnation_;
  alarm_ = {};
  if (world_.disk || !stored_) stored_.emplace(files());  // without a disk, cuts in memory survive the process
  const Job& job = world_.job;
  service_.emplace(ShardIdentity{task_, job.service_of(number_), job.tasks, job.ranks, finished}, options_,
                   world_.kinds, *this, world_.now());
  tell("starts");
  set_alarm();
}

DISTRIB_DECL void ShardHost::die() {
  tell("dies");
  note_contributions();
  if (!queue_.empty() && world_.dice.percent(70)) leave_half_done();
  leave();
}

DISTRIB_DECL void ShardHost::leave() {
  for (const LinkPointer& link : std::exchange(links_, {})) {
    link->server_open = false;
    link->session->flush = nullptr;
    link->wire->detach_b();
  }
  forget();
  queue_.clear();
  ++incarnation_;
  service_.reset();
}

DISTRIB_DECL void ShardHost::count(ShardTally& tally) const {
  ++tally.shards;
  tally.connections += links_.size();
  if (!service_) return;
  if (service_->over()) ++tally.over;
  if (const auto& job = service_->job()) tally.shards_of_job = job->shards_per_task * job->replicas;
}

DISTRIB_DECL auto ShardHost::state() const -> std::string {
  if (!is_up()) return " " + name_ + (is_done() ? " done" : " down");
  const ShardStatus status = service_->status(world_.now());
  std::string text = " " + name_ + " at " + std::to_string(status.step) + " newest cut " +
                     std::to_string(status.newest_cut) + " parked " + std::to_string(status.parked);
  for (const ShardStatus::RankStatus& rank : status.of_ranks)
    text += (rank.here ? " +" : " -") + std::to_string(rank.last);
  return text;
}

DISTRIB_DECL void ShardHost::on_activity(const LinkPointer& link) {
  if (!link->server_open) return;
  const Instant now = world_.now();
  link->session->active = true;
  for (ServerEvent event; link->session->core.next(now, event);)
    if (service_) service_->happened(link->session, event, now);
  link->session->active = false;
  if (!link->session->core.finished()) return link->session->answered();
  link->server_open = false;
  std::erase(links_, link);
  if (service_) service_->closed(link->session, now);
  set_alarm();
  owner_.changed();
}

DISTRIB_DECL void ShardHost::ended(int code, const Error& why) {
  // Without a disk, this replica cannot find out that the other one has reached the end and that it may end without the
  // last cut: so the simulation looks.
  const bool ends_without =
      !world_.disk && world_.job.replicas > 1 && world_.shards[world_.job.sibling_of(number_)]->is_done();
  tell("is over with code " + std::to_string(code));
  note_contributions();
  owner_.ended(ends_without ? exit_code::done : code, why);
}

DISTRIB_DECL void ShardHost::next_on_disk() {
  world_.scheduler.after(world_.disk_time(), [this, mine = incarnation_] {
    if (mine != incarnation_ || !service_) return;
    perform(queue_.front());
    CutWork work = std::move(queue_.front());
    if (work.kind == CutWork::Kind::open) world_.refused_cuts += static_cast<unsigned>(work.refused.size());
    performed(std::move(work));
    if (mine != incarnation_) return;
    check_erased();
    queue_.pop_front();
    if (!queue_.empty()) next_on_disk();
    send_answers();
    if (queue_.empty()) owner_.changed();
  });
}

DISTRIB_DECL void ShardHost::send_answers() {
  for (const LinkPointer& link : std::vector{links_}) link->session->answered();
  set_alarm();
}

DISTRIB_DECL void ShardHost::leave_half_done() {
  if (world_.disk) world_.disk->stop_after(world_.dice.below(14));
  try {
    perform(queue_.front());
  } catch (const Disk::Stopped&) {
    tell("dies while it works on a file");
  }
  if (world_.disk) world_.disk->go_on();
}

DISTRIB_DECL void ShardHost::perform(CutWork& work) {
  const bool flips = work.kind == CutWork::Kind::open && world_.flips_due > 0;
  const std::string flipped = flips ? flip_a_bit() : std::string{};
  try {
    (*stored_)(work);
  } catch (const Disk::Stopped&) {  // it is not known whether an older cut is good
    if (!flipped.empty()) world_.disk->mend(flipped);
    throw;
  }
  if (work.kind == CutWork::Kind::save) note_save(work);
  if (!work.failure && (work.kind == CutWork::Kind::save_ranks || work.kind == CutWork::Kind::open))
    note_ranks(work.ranks);
  if (flipped.empty()) return;
  if (work.cuts.empty()) {
    world_.disk->mend(flipped);
    work.refused.clear();
    work.failure = {};
    (*stored_)(work);
  } else {
    --world_.flips_due;
    fragile_ = true;
  }
}

DISTRIB_DECL void ShardHost::note_save(const CutWork& save) {
  if (world_.traces()) tell((save.failure ? "cannot save cut " : "has saved cut ") + std::to_string(save.step));
  if (save.failure) return;
  fragile_ = false;
  last_lineage_ = save.cut.lineage;
  if (!world_.disk) in_memory_ = std::max(in_memory_, save.step);
}

DISTRIB_DECL auto ShardHost::flip_a_bit() -> std::string {
  if (number_ >= world_.job.shards()) return {};
  Error error;
  const std::uint32_t shards = world_.job.shards();
  const auto own = distrib::detail::find_cuts(world_.cuts.directory, "model.ckpt", number_, shards, error);
  if (own.empty() || own.back().step >= world_.job.total_steps) return {};
  const std::string& prefix = own.back().prefix;
  std::string file = data_file_name(prefix, number_, shards);
  if (world_.dice.percent(50)) file = part_file_name(prefix, number_, shards);
  if (!world_.disk->flip_bit(file)) return {};
  tell("has a bit flipped in " + file);
  return file;
}

DISTRIB_DECL void ShardHost::set_alarm() {
  const auto wake = service_ ? service_->wake() : std::nullopt;
  if (!wake || *wake == alarm_) return;
  alarm_ = *wake;
  world_.scheduler.at(*wake, [this, mine = incarnation_, when = *wake] {
    if (mine != incarnation_ || alarm_ != when) return;
    service_->woken(world_.now());
    set_alarm();
  });
}

DISTRIB_DECL auto open_link(World& world, ShardHost& host, const std::string& from, Rank rank,
                            std::function<void(const LinkPointer&)> happened) -> LinkPointer {
  RpcClientOptions options;
  options.categories = ps_categories();
  const auto link = std::make_shared<Link>(options, RpcServerOptions{}, world.now());
  link->from = from;
  link->rank = rank;
  link->task = host.task();
  host.accept(link);
  NetworkOptions network = world.network;
  network.latency *= std::max(world.factor(from), world.factor("ps " + std::to_string(host.task())));
  link->wire = std::make_shared<Wire<ClientCore, ServerCore>>(world.scheduler, world.dice, network);
  link->session->flush = [wire = link->wire.get()] { wire->flush(); };
  world.links.push_back(link);
  link->wire->attach(
      link->client, [at = link.get(), happened = std::move(happened)] { happened(at->shared_from_this()); },
      link->session->core, [&host, at = link.get()] { host.on_activity(at->shared_from_this()); });
  return link;
}

DISTRIB_DECL auto ShardHost::open_to_sibling(std::function<void()> happened) -> LinkPointer {
  ShardHost& sibling = *world_.shards[world_.job.sibling_of(number_)];
  if (!sibling.is_up()) return nullptr;
  return open_link(world_, sibling, name_, world_.job.ranks, [happened](const LinkPointer&) { happened(); });
}

}  // namespace detail
}  // namespace sim
}  // namespace v0
}  // namespace distrib
