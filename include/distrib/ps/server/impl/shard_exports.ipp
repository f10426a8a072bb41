// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/server/shard_exports.hpp>

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL ShardExports::ShardExports(const Job& job, std::uint32_t shard, ExportSettings settings,
                                        std::uint64_t new_log)
    : settings_{std::move(settings)},
      total_steps_{job.total_steps},
      job_settings_{settings_hash(job)},
      writer_{std::make_shared<const ExportPartWriter>(job, shard, settings_.rows_as)} {
  rules_.shard = shard;
  rules_.shards = job.shards();
  rules_.synchronous = true;
  rules_.every = std::max<std::uint64_t>(1, settings_.every_steps);
  rules_.new_log = new_log;
}

DISTRIB_DECL void ShardExports::opened(ShardStore& store, Step step, const Lineage& made) {
  if (store.tables() != nullptr) store.tables()->track_changes(settings_.rows_as);
  begin(store, step, made);
  store.observe(this);
}

DISTRIB_DECL void ShardExports::loaded(const Cut& cut, ShardStore& store) { begin(store, cut.step, cut.lineage); }

// What is under way belongs to another state: its results are ignored. What it has written already are states of steps
// of the job, so it does no harm if they are committed.
DISTRIB_DECL void ShardExports::begin(ShardStore& store, Step step, const Lineage& made) {
  store_ = &store;
  lineage_ = made.continued(step, job_settings_).digest();
  core_.emplace(rules_, lineage_, ExportMark{});
  ++run_;
  queue_.clear();
  beside_.clear();
  waiting_ = 0;
  waiting_bytes_ = 0;
  wants_poll_ = is_behind_ = part_is_next_ = false;
  poll_at_.reset();
  last_written_.clear();
  named_.erase(named_.begin(), named_.upper_bound(step));
  step_ = begun_at_ = step;
  begun_state_ = state_of(store);
  is_begun_ = false;
  ExportActions out;
  core_->start(out);
  take(out);
}

DISTRIB_DECL auto ShardExports::bytes_of_all_rows(const ShardStore& store) -> std::uint64_t {
  std::uint64_t bytes = store.layout().block_bytes();
  if (store.tables() == nullptr) return bytes;
  const std::vector<TableSize> sizes = store.tables()->sizes();
  for (std::size_t table = 0; table < sizes.size(); ++table)
    bytes += sizes[table].rows * (sizeof(std::uint64_t) + sizeof(float) * store.layout().tables()[table].info().dim);
  return bytes;
}

DISTRIB_DECL auto ShardExports::state_of(ShardStore& store) const -> RowDigest {
  std::vector<RowDigest> of_tables;
  if (store.tables() != nullptr) of_tables = store.tables()->tracked_digests();
  return ExportPartWriter::state(store.dense()->bytes(), of_tables, settings_.rows_as);
}

DISTRIB_DECL void ShardExports::name(Step step, std::uint64_t number) {
  constexpr std::size_t most_named = 1024;
  if (settings_.every_steps == 0 && number != 0 && step > step_ && named_.size() < most_named)
    named_.emplace(step, number);
}

// Returns the number of the export of a step; 0: it is not due.
DISTRIB_DECL auto ShardExports::number_of(Step step) const -> std::uint64_t {
  if (step == 0) return 0;
  if (step == total_steps_) return 1;  // it has all rows, whatever its number
  if (const std::uint64_t every = settings_.every_steps; every != 0) {
    return step % every == 0 ? step / every : 0;
  }
  const auto at = named_.find(step);
  return at != named_.end() ? at->second : 0;
}

DISTRIB_DECL void ShardExports::applied(std::uint64_t count, ShardStore& store) {
  step_ = count;
  consider(count, store);
  named_.erase(named_.begin(), named_.upper_bound(count));
}

// Files are slower than steps. A position needs each shard, so shards must not leave out different steps: one that has
// left out a step exports only each eighth export, at which the others begin a new chain, until all is committed.
DISTRIB_DECL auto ShardExports::leaves_out(Step step, std::uint64_t number, const ShardStore& store) -> bool {
  if (number == 0 || step == total_steps_) return false;
  const bool is_too_much =
      waiting_ >= most_small || (waiting_ >= most_waiting && waiting_bytes_ >= 2 * bytes_of_all_rows(store));
  if (is_too_much) is_behind_ = true;
  else if (waiting_ == 0 && !core_->has_pending()) is_behind_ = false;
  return is_too_much || (is_behind_ && number % rules_.most_pending != 0);
}

DISTRIB_DECL void ShardExports::consider(Step step, ShardStore& store) {
  const std::optional<LogManifest>& newest = core_->newest();
  const bool is_newest = newest && newest->lineage == lineage_ && newest->step == step;
  const std::uint64_t number = number_of(step);
  if ((number == 0 && !is_newest) || !core_->has_started()) return;  // changes are counted on
  if (leaves_out(step, number, store)) {
    ++status_.left_out;
    return;
  }
  TableStore* const tables = store.tables();
  // Only at the step of the newest position must the state be known before rows are taken: it proves that they are the
  // same. The last step has all rows, on all shards: it is committed whatever was left out before.
  const ExportPlan plan = core_->plan(step, is_newest ? state_of(store) : RowDigest{}, number, step == total_steps_);
  if (plan.kind == ExportPlan::Kind::nothing) {
    if (plan.forget_changes && tables != nullptr) static_cast<void>(tables->take_changes(false));
    return;
  }
  auto part = std::make_shared<TakenPart>();
  part->step = step;
  part->label = plan.label;
  part->on = plan.on;
  part->on_written = plan.on_taken;
  part->dense = store.dense();
  if (tables != nullptr) part->tables = tables->take_changes(plan.kind == ExportPlan::Kind::full);
  std::vector<RowDigest> of_tables;
  for (const ExportedRows& table : part->tables) of_tables.push_back(table.digest);
  part->state = ExportPartWriter::state(part->dense->bytes(), of_tables, settings_.rows_as);
  core_->taken();
  if (plan.with_base) take_base(*part, store);
  ++waiting_;
  waiting_bytes_ += part->size_bytes();
  status_.taken = step;
  status_.digest = part->state;
  ExportWork work;
  work.run = run_;
  work.what = std::move(part);
  queue_.push_back(std::move(work));
}

// Copies all rows of a step whose changes are copied. They are not counted as parts that wait: deltas must not be left
// out because a base is large.
DISTRIB_DECL void ShardExports::take_base(const TakenPart& part, ShardStore& store) {
  const auto is_base = [](const ExportWork& work) { return std::holds_alternative<ExportWork::Base>(work.what); };
  std::erase_if(beside_, is_base);  // it has become useless
  auto rows = std::make_shared<TakenPart>();
  rows->step = part.step;
  rows->label = part.label;
  rows->state = part.state;
  rows->dense = part.dense;
  if (store.tables() != nullptr) rows->tables = store.tables()->take_changes(true);
  core_->base_taken();
  ExportWork work;
  work.run = run_;
  work.what = ExportWork::Base{std::move(rows), core_->epoch()};
  beside_.push_back(std::move(work));
}

// The number is taken, so the log is known: compares it with the state at which this run began. Changes are counted from
// there.
DISTRIB_DECL void ShardExports::started() {
  is_begun_ = true;
  if (step_ == begun_at_) return consider(begun_at_, *store_);
  const std::optional<LogManifest>& newest = core_->newest();
  if (newest && newest->lineage == lineage_ && newest->step == begun_at_)
    static_cast<void>(core_->plan(begun_at_, begun_state_));
  export_last();
}

// The last step is done, and no part of it is on its way: the log could not be read before, or a process that compacted
// the log has taken from the parts of this shard what they stood on.
DISTRIB_DECL void ShardExports::export_last() {
  if (step_ != total_steps_ || core_->has_pending()) return;
  const std::optional<LogManifest>& newest = core_->newest();
  if (!newest || newest->lineage != lineage_ || newest->step != step_) consider(step_, *store_);
}

// Actions are small, and go before parts, in their own order. Otherwise nothing would be committed while there is always
// a part to write.
DISTRIB_DECL void ShardExports::take(ExportActions& actions) {
  auto at = std::ranges::find_if_not(
      queue_, [](const ExportWork& work) { return std::holds_alternative<ExportAction>(work.what); });
  for (ExportAction& action : actions) {
    ExportWork work;
    work.run = run_;
    work.what = std::move(action);
    at = queue_.insert(at, std::move(work)) + 1;
  }
  actions.clear();
}

// Between two parts the log is looked at once, and again as long as that leads to something. A look that fails, or takes
// longer than `poll_every`, must not keep parts from being written.
DISTRIB_DECL auto ShardExports::may_poll(Instant now) const -> bool {
  const bool is_due = wants_poll_ || (poll_at_ && now >= *poll_at_);
  if (!is_due || core_->is_busy()) return false;
  if (queue_.empty()) return true;
  const bool is_action = std::holds_alternative<ExportAction>(queue_.front().what);
  return !is_action && !part_is_next_ && core_->has_started();
}

DISTRIB_DECL auto ShardExports::next(Instant now) -> std::optional<ExportWork> {
  if (!core_ || is_under_way_ || now < not_before_) return std::nullopt;
  for (;;) {
    if (may_poll(now)) {
      wants_poll_ = false;
      part_is_next_ = true;
      poll_at_.reset();
      ExportActions out;
      core_->poll(out);
      take(out);
      continue;
    }
    if (queue_.empty()) return std::nullopt;
    ExportWork work = std::move(queue_.front());
    queue_.pop_front();
    if (const auto* const action = std::get_if<ExportAction>(&work.what)) {
      if (const auto* const committed = std::get_if<export_action::Committed>(action)) {
        if (core_->has_written()) poll_soon();
        if (!committed->has_new_base) continue;
        work.what = ExportWork::Retire{};
        beside_.push_back(std::move(work));
        continue;
      }
      if (std::holds_alternative<export_action::Replaced>(*action)) {
        poll_at_ = instant_after(now, poll_every);
        continue;
      }
    } else {
      part_is_next_ = false;
      const auto* const part = std::get_if<std::shared_ptr<TakenPart>>(&work.what);
      if (part != nullptr && (*part)->on_written) (*part)->on = last_written_;
    }
    is_under_way_ = true;
    return work;
  }
}

DISTRIB_DECL auto ShardExports::next_beside() -> std::optional<ExportWork> {
  if (is_under_way_beside_ || beside_.empty()) return std::nullopt;
  ExportWork work = std::move(beside_.front());
  beside_.pop_front();
  is_under_way_beside_ = true;
  return work;
}

// What fails here is not tried again: another base comes, and what removes old positions then removes more.
DISTRIB_DECL void ShardExports::performed_beside(ExportWork work) {
  is_under_way_beside_ = false;
  if (work.run != run_) return;
  const auto* const base = std::get_if<ExportWork::Base>(&work.what);
  if (work.failure) {
    ++status_.failures;
    failure_ = std::move(work.failure);
    if (base != nullptr) core_->base_dropped(base->rows->label);
  } else if (base != nullptr) {
    core_->base_written(base->rows->label, std::move(work.part.name), work.part.bytes);
  }
}

DISTRIB_DECL void ShardExports::performed(ExportWork work, Instant now) {
  if (!std::holds_alternative<ExportAction>(work.what) &&
      !std::holds_alternative<std::shared_ptr<TakenPart>>(work.what))
    return performed_beside(std::move(work));
  is_under_way_ = false;
  if (work.run != run_) return;
  if (work.failure) return failed(std::move(work), now);
  ExportActions out;
  if (const auto* const action = std::get_if<ExportAction>(&work.what)) answer(*action, work, out);
  else if (const auto* const part = std::get_if<std::shared_ptr<TakenPart>>(&work.what)) part_written(**part, work);
  take(out);
  if (core_->has_started()) {
    if (is_begun_) export_last();
    else started();
  }
  if (!poll_at_ && (!core_->has_started() || core_->has_pending())) poll_at_ = instant_after(now, poll_every);
}

DISTRIB_DECL void ShardExports::answer(const ExportAction& action, ExportWork& work, ExportActions& out) {
  if (std::holds_alternative<export_action::ReadLog>(action)) {
    core_->log_read(std::move(work.view), out);
  } else if (std::holds_alternative<export_action::SwapHead>(action)) {
    if (!work.is_swapped) poll_soon();  // another process was faster
    core_->swapped(work.is_swapped, out);
  } else if (std::holds_alternative<export_action::ReadVotes>(action)) {
    core_->votes_read(work.votes, out);
  }
}

DISTRIB_DECL void ShardExports::part_written(const TakenPart& part, ExportWork& work) {
  --waiting_;
  waiting_bytes_ -= part.size_bytes();
  last_written_ = work.part.name;
  core_->written(part.step, std::move(work.part), std::move(work.tables));
  if (core_->has_written()) poll_soon();
}

DISTRIB_DECL void ShardExports::failed(ExportWork work, Instant now) {
  ++status_.failures;
  failure_ = std::exchange(work.failure, Error{});
  not_before_ = instant_after(now, pause);
  part_is_next_ = true;
  if (std::holds_alternative<ExportAction>(work.what)) {
    std::erase_if(queue_, [](const ExportWork& one) { return std::holds_alternative<ExportAction>(one.what); });
    core_->failed();
    wants_poll_ = true;
    return;
  }
  queue_.push_front(std::move(work));  // its rows are in no other part
}

DISTRIB_DECL auto ShardExports::wake() const -> std::optional<Instant> {
  std::optional<Instant> at;
  if (core_ && !is_under_way_) {
    if (!queue_.empty() || wants_poll_) at = not_before_;
    else if (poll_at_) at = std::max(*poll_at_, not_before_);
  }
  return at && ends_at_ ? std::min(*at, *ends_at_) : at ? at : ends_at_;
}

DISTRIB_DECL auto ShardExports::has_work() const -> bool {
  return !queue_.empty() || is_under_way_ || wants_poll_ || !core_ || !core_->has_started();
}

DISTRIB_DECL auto ShardExports::may_end(Instant now) -> bool {
  if (!ends_at_) ends_at_ = instant_after(now, last_patience);
  std::erase_if(beside_, [](const ExportWork& work) { return std::holds_alternative<ExportWork::Base>(work.what); });
  return (!has_work() && !is_under_way_beside_ && beside_.empty()) || now >= *ends_at_;
}

DISTRIB_DECL auto ShardExports::status() const -> ExportStatus {
  ExportStatus status = status_;
  if (!core_) return status;
  status.position = core_->position();
  if (core_->newest()) status.step = core_->newest()->step;
  return status;
}

}  // namespace v0
}  // namespace distrib
