// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/onlooker.hpp>

#include <distrib/checkpoint/file_names.hpp>
#include <distrib/cluster/roles.hpp>
#include <distrib/cluster/task_id.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/event.hpp>
#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/instant.hpp>
#include <distrib/net/signals.hpp>
#include <distrib/ps/cut/finished_job.hpp>
#include <distrib/ps/job/client_rules.hpp>
#include <distrib/ps/job/exit_code.hpp>
#include <distrib/ps/protocol/batch_keys.hpp>
#include <distrib/ps/worker/look_client.hpp>
#include <distrib/tensor/runtime_values.hpp>
#include <distrib/train/any_model.hpp>
#include <distrib/train/cluster_mode.hpp>
#include <distrib/train/error.hpp>
#include <distrib/train/job/assemble.hpp>
#include <distrib/train/writer_locks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// One run of an onlooker: the client is on a thread of the pool, everything else on the thread of the owner, inside
/// `run()`.
class OnlookerRun final : public LookOwner {
 public:
  OnlookerRun(const TrainingPlan& plan, IoPool& pool, const ClusterFlags& flags, TrainingReport& report)
      : plan_{plan},
        pool_{pool},
        report_{report},
        task_{to_string(flags.task())},
        evaluation_{plan.model().open_evaluation()} {
    if (evaluation_ == nullptr) throw_error(train_errc::nothing_to_evaluate, task_);
    if (plan.measures_averages()) throw_error(train_errc::no_averages, task_ + ": an onlooker sees values only");
    locks_.hold_evaluator(plan, task_);
    planned_ = planned_job(flags);
    planned_.initial_values.clear();  // a worker sends them
    rows_.emplace(planned_.job, planned_.layouts);
    if (!planned_.job.tables.empty()) rows_->find({}, evaluation_->keys());
    std::vector<Address> servers;
    for (const std::string& host : flags.ps_hosts) servers.push_back(Address::parse(host));
    client_ = std::make_shared<LookClient>(pool_.executor(0), planned_.job, std::move(servers),
                                           planned_.job.tables.empty() ? std::vector<WantedRows>{} : rows_->wanted(),
                                           options(flags), *this);
  }
  OnlookerRun(const OnlookerRun&) = delete;
  auto operator=(const OnlookerRun&) -> OnlookerRun& = delete;
  ~OnlookerRun() override {  // the client must not call this object any more
    std::promise<void> closed;
    std::future<void> is_closed = closed.get_future();
    asio::post(pool_.executor(0), [this, &closed] {
      client_->close();
      closed.set_value();
    });
    while (is_closed.wait_for(std::chrono::milliseconds{100}) != std::future_status::ready && !pool_.has_left(0)) {
    }
  }

  auto run() -> int {
    const auto work = asio::make_work_guard(here_);
    const Signals signals{here_, [this] { stop({}); }};
    call(&LookClient::start);
    look();
    here_.run();
    if (code_ == exit_code::refused) throw_if(why_);
    if (why_)
      report_.tell(Event{Event::Kind::ended, task_, why_.where, why_.code, why_.where + ": " + why_.code.message()});
    report_.end();
    return code_;
  }

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] auto planned_job(const ClusterFlags& flags) const -> PlannedJob {
    const std::unique_ptr<OpenModel> model = plan_.model().open();
    const auto tasks = static_cast<std::uint32_t>(flags.ps_hosts.size());
    const std::size_t budget = plan_.options().cluster.replay_budget_bytes;
    if (flags.ranks != 0) return plan_.dealt_job(*model, tasks, flags.ranks, budget);
    return plan_.cluster_job(*model, tasks, static_cast<std::uint32_t>(rank_count(flags.cluster())), budget);
  }

  [[nodiscard]] auto options(const ClusterFlags& flags) -> LookClientOptions {
    const ClusterMode& mode = plan_.options().cluster;
    LookClientOptions options;
    options.start_within = bounded_time(mode.start_within);
    options.lost_after = bounded_time(mode.lease) + bounded_time(mode.restart_window);
    options.rpc.secret = mode.secret;
    options.rpc.transport = mode.tls;
    options.accepted = std::make_shared<const ClientRules>(client_rules(flags.cluster()));
    options.observer = [this](const Event& event) { asio::post(here_, [this, event] { report_.tell(event); }); };
    return options;
  }

  // --- called by the client, on the thread of the pool ---

  void looked(LookedAt values) override {
    asio::post(here_, [this, values = std::move(values)] { measure(values); });
  }
  void cannot_keep_up(Step step) override {
    asio::post(here_, [this, step] {
      tell_waiting({}, "cannot keep up with the job, which is at step " + std::to_string(step) + "; looks again");
      look_after_pause();
    });
  }
  void troubled(const Error& why) override {
    asio::post(here_, [this, why] { in_trouble(why); });
  }
  void ended(int code, const Error& why) override {
    asio::post(here_, [this, code, why] { finish(code, why); });
  }

  // --- on the thread of the owner ---

  void call(void (LookClient::*what)()) {
    asio::post(pool_.executor(0), [client = client_, what] { (*client.*what)(); });
  }

  void look() {
    begun_ = Clock::now();
    call(&LookClient::look);
  }

  void look_after_pause() {
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begun_);
    pause_.expires_after(std::max(Onlooker::look_every, took));
    pause_.async_wait([this](const std::error_code& ec) {
      if (!ec && !is_over_) look();
    });
  }

  void measure(const LookedAt& seen) {
    if (is_over_) return;
    told_ = {};
    // The values at the end come without a pause. Asked for before the measurement, during which the job may end.
    if (!seen.is_last) call(&LookClient::look_at_end);
    if (seen.step != measured_) {
      RuntimeValues values{plan_.model().variables()};
      assemble(planned_.layouts, seen.blocks, values);
      if (!planned_.job.tables.empty()) assemble_rows(planned_.job, *rows_, seen.blocks, values);
      report_.reached(seen.step);
      report_.evaluated({seen.step, (*evaluation_)(values)});
      measured_ = seen.step;
    }
    if (seen.is_last) return finish(exit_code::done, {});
    if (const std::string reason = report_.stop_reason(); !reason.empty()) return stop(reason);
    look_after_pause();
  }

  void in_trouble(const Error& why) {
    if (is_over_) return;
    const auto now = Clock::now();
    if (looked_for_end_ && now - *looked_for_end_ < Onlooker::look_every) return;
    looked_for_end_ = now;
    if (has_last_checkpoint()) return finish(exit_code::done, {});
    tell_waiting(why.code, why.where + ": " + why.code.message());
  }

  // True if the job is done: its parameter servers may have ended before this task could see that.
  [[nodiscard]] auto has_last_checkpoint() const -> bool {
    if (!plan_.save()) return false;
    const std::string prefix = finished_checkpoint(plan_.save()->directory, plan_.options().object_stores);
    return !prefix.empty() && checkpoint_step(prefix) == static_cast<std::int64_t>(planned_.job.total_steps);
  }

  // Not more often than every half minute, unless there were values meanwhile.
  void tell_waiting(const std::error_code& code, const std::string& text) {
    constexpr std::chrono::seconds tell_every{30};
    const auto now = Clock::now();
    if (told_ && now - *told_ < tell_every) return;
    told_ = now;
    report_.tell(Event{Event::Kind::waiting, task_, {}, code, text});
  }

  void stop(const std::string& reason) {
    if (is_over_) return;
    report_.stopped_by(reason);
    report_.tell(
        Event{Event::Kind::interrupted, task_, {}, {}, "asked to stop" + (reason.empty() ? "" : ": " + reason)});
    finish(exit_code::again, {});
  }

  void finish(int code, const Error& why) {
    if (std::exchange(is_over_, true)) return;
    code_ = code;
    why_ = why;
    here_.stop();
  }

  const TrainingPlan& plan_;
  IoPool& pool_;
  TrainingReport& report_;
  std::string task_;
  std::unique_ptr<const AnyEvaluation> evaluation_;
  WriterLocks locks_;
  PlannedJob planned_;
  std::optional<BatchKeys> rows_;  // that the evaluation needs
  asio::io_context here_{1};
  SteadyTimer pause_{here_};
  std::shared_ptr<LookClient> client_;
  Clock::time_point begun_;  // of the last look
  std::optional<Step> measured_;
  std::optional<Clock::time_point> told_;  // that it waits
  std::optional<Clock::time_point> looked_for_end_;
  bool is_over_ = false;
  int code_ = exit_code::again;
  Error why_;
};

}  // namespace detail

DISTRIB_DECL auto Onlooker::run() -> int {
  report_ = TrainingReport{plan_.hooks()};
  return detail::OnlookerRun{plan_, pool_, flags_, report_}.run();
}

}  // namespace v0
}  // namespace distrib
