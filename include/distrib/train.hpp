// SPDX-License-Identifier: Apache-2.0
// Models, trainers, sessions, hooks.
#pragma once

#include <distrib/train/builder.hpp>
#include <distrib/train/cluster_mode.hpp>
#include <distrib/train/cluster_trainer.hpp>
#include <distrib/train/error.hpp>
#include <distrib/train/evaluate.hpp>
#include <distrib/train/evaluator.hpp>
#include <distrib/train/events.hpp>
#include <distrib/train/feed_fn.hpp>
#include <distrib/train/global_step_waiter.hpp>
#include <distrib/train/hook.hpp>
#include <distrib/train/hooks/checkpoint_saver.hpp>
#include <distrib/train/hooks/final_ops.hpp>
#include <distrib/train/hooks/keep_best_checkpoint.hpp>
#include <distrib/train/hooks/logging_tensor.hpp>
#include <distrib/train/hooks/nan_tensor.hpp>
#include <distrib/train/hooks/profiler.hpp>
#include <distrib/train/hooks/second_or_step_timer.hpp>
#include <distrib/train/hooks/show_progress.hpp>
#include <distrib/train/hooks/step_counter.hpp>
#include <distrib/train/hooks/write_summaries.hpp>
#include <distrib/train/initial_checkpoint_options.hpp>
#include <distrib/train/local_mode.hpp>
#include <distrib/train/metrics.hpp>
#include <distrib/train/model.hpp>
#include <distrib/train/model_updaters.hpp>
#include <distrib/train/named_values.hpp>
#include <distrib/train/own_batches.hpp>
#include <distrib/train/roc_auc.hpp>
#include <distrib/train/save_checkpoint.hpp>
#include <distrib/train/session_options.hpp>
#include <distrib/train/stop_at_step.hpp>
#include <distrib/train/trainer.hpp>
#include <distrib/train/training_session.hpp>
#include <distrib/train/write_result_json.hpp>
