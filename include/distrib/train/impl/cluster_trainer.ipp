// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/cluster_trainer.hpp>

#include <distrib/core/error.hpp>
#include <distrib/core/event.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/ps/job/exit_code.hpp>
#include <distrib/ps/server/server.hpp>
#include <distrib/ps/server/server_options.hpp>
#include <distrib/train/cluster_mode.hpp>
#include <distrib/train/error.hpp>
#include <distrib/train/job/training_run.hpp>
#include <distrib/train/make_worker_run.hpp>

#include <memory>
#include <string>
#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL ClusterTrainer::ClusterTrainer(const TrainingPlan& plan, IoPool& pool, ClusterFlags flags)
    : plan_{plan.with_flags(flags)}, pool_{pool}, flags_{std::move(flags)}, report_{plan_.hooks()} {
  if (flags_.local() && flags_.ranks != 0)
    throw_error(train_errc::cannot_deal, "--ranks " + std::to_string(flags_.ranks) +
                                             ": one process is the whole job; LocalMode::workers says how many ranks");
  if (flags_.local()) local_.emplace(plan_, &pool_);
  if (flags_.local() || flags_.job_name == "ps") return;
  plan_.check();
  plan_.check_directory();
  if (plan_.measures_averages() && !plan_.save()) throw_error(train_errc::no_averages, "SaveCheckpoint");
  if (flags_.job_name == "evaluator") evaluator_.emplace(plan_, to_string(flags_.task()));
  if (flags_.job_name == "onlooker") onlooker_.emplace(plan_, pool_, flags_);
}

// --- a parameter server ---

DISTRIB_DECL auto ClusterTrainer::serve() -> int {
  asio::io_context here{1};  // hooks are called on this thread
  const ClusterMode& mode = plan_.options().cluster;
  ServerOptions options;
  options.directory = plan_.cut_settings().directory;
  options.open_store = plan_.options().object_stores;
  options.shard.lease = mode.lease;
  options.shard.restart_window = mode.restart_window;
  options.shard.dealing.adopt_after = mode.adopt_after;
  options.shard.rank_steps_ahead = mode.rank_steps_ahead;
  options.ranks = flags_.ranks;
  options.metrics = mode.metrics;
  options.metrics_need_certificate = mode.metrics_need_certificate;
  options.rpc.secret = mode.secret;
  options.rpc.transport = mode.tls;
  options.observer = [this, &here](const Event& event) { asio::post(here, [this, event] { report_.tell(event); }); };
  if (const PhaseObserver measured = report_.phases_of(to_string(flags_.task())))
    options.phases = [measured, &here](const Phase& phase) {
      asio::post(here, [measured, phase] { measured(phase); });
    };
  Server server{
      pool_, flags_.cluster(), flags_.job_name, flags_.task_index, plan_.updater_finder(), std::move(options)};
  const int code = server.join(here);
  if (code == exit_code::refused) throw_if(server.why());
  tell_end(server.why());
  return code;
}

DISTRIB_DECL void ClusterTrainer::tell_end(const Error& why) {
  if (why)
    report_.tell(Event{Event::Kind::ended, to_string(flags_.task()), why.where, why.code,
                       why.where + ": " + why.code.message()});
}

DISTRIB_DECL auto ClusterTrainer::run() -> int {
  if (local_) return local_->run();
  if (evaluator_) return evaluator_->run();
  if (onlooker_) return onlooker_->run();
  if (flags_.job_name == "ps") return serve();
  const std::unique_ptr<TrainingRun> run = make_worker_run(plan_, pool_, flags_, report_);
  while (run->next()) run->make();
  return run->end();
}

DISTRIB_DECL ClusterTrainer::~ClusterTrainer() = default;

}  // namespace v0
}  // namespace distrib
