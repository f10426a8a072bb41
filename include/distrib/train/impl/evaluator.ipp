// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/evaluator.hpp>

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/checkpoint/file_names.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/event.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/instant.hpp>
#include <distrib/net/signals.hpp>
#include <distrib/ps/cut/finished_job.hpp>
#include <distrib/ps/cut/object_checkpoints.hpp>
#include <distrib/ps/job/exit_code.hpp>
#include <distrib/tensor/runtime_values.hpp>
#include <distrib/train/checkpoint_values.hpp>
#include <distrib/train/error.hpp>
#include <distrib/train/writer_locks.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto Evaluator::run() -> int {
  const std::unique_ptr<const AnyEvaluation> evaluation = plan_.model().open_evaluation();
  if (evaluation == nullptr || !plan_.save()) throw_error(train_errc::nothing_to_evaluate, task_);
  WriterLocks locks;
  locks.hold_evaluator(plan_, task_);
  const std::string& directory = plan_.save()->directory;
  const auto patience = detail::bounded_time(plan_.options().cluster.evaluator_patience);
  report_ = TrainingReport{plan_.hooks()};

  asio::io_context here{1};
  detail::SteadyTimer pause{here};
  int code = exit_code::again;
  const auto stop = [&](const std::string& why) {
    code = exit_code::again;
    report_.stopped_by(why);
    report_.tell(Event{Event::Kind::interrupted, task_, {}, {}, "asked to stop" + (why.empty() ? "" : ": " + why)});
    here.stop();
  };
  const Signals signals{here, [&] { stop({}); }};
  std::string seen;
  auto since = std::chrono::steady_clock::now();
  const std::function<void()> look = [&] {
    // First: what is the newest now is measured before it is asked whether that is the last one.
    const bool is_finished = !finished_checkpoint(directory, plan_.options().object_stores).empty();
    Error unasked;  // the store is asked again
    const std::string newest = newest_prefix(directory, plan_.options().object_stores, unasked);
    if (!newest.empty() && newest != seen) {
      measure(*evaluation, seen = newest);
      since = std::chrono::steady_clock::now();
    }
    const bool is_done = is_finished && report_.result().checkpoint == newest;
    code = is_done ? exit_code::done : exit_code::again;
    if (is_done && report_.result().steps >= plan_.stop_step()) return here.stop();
    if (const std::string reason = report_.stop_reason(); !reason.empty()) return stop(reason);
    if (std::chrono::steady_clock::now() - since >= patience) {
      report_.tell(Event{Event::Kind::waiting, task_, directory, {}, "no new checkpoint in " + directory});
      return here.stop();
    }
    pause.expires_after(look_every);
    pause.async_wait([&](const std::error_code& ec) {
      if (!ec) look();
    });
  };
  asio::post(here, look);
  here.run();
  report_.end();
  return code;
}

DISTRIB_DECL void Evaluator::measure(const AnyEvaluation& evaluation, const std::string& prefix) {
  Error unread;
  RuntimeValues values{RuntimeVariables{}};
  try {
    values = checkpoint_values(plan_, evaluation.keys(), prefix);
  } catch (const std::system_error& error) {
    unread = error_of(error);
  }
  if (unread) {
    report_.tell(Event{Event::Kind::checkpoint_refused, task_, prefix, unread.code,
                       "not measured: " + unread.where + ": " + unread.code.message()});
    return;
  }
  const auto step = static_cast<Step>(checkpoint_step(prefix).value_or(0));
  report_.reached(step);
  report_.has_checkpoint(prefix);
  report_.evaluated({step, evaluation(values), prefix});
}

}  // namespace v0
}  // namespace distrib
