// SPDX-License-Identifier: Apache-2.0
// Models, trainers, hooks.
#pragma once

#include <distrib/train/builder.hpp>
#include <distrib/train/cluster_mode.hpp>
#include <distrib/train/cluster_trainer.hpp>
#include <distrib/train/error.hpp>
#include <distrib/train/evaluate.hpp>
#include <distrib/train/events.hpp>
#include <distrib/train/hook.hpp>
#include <distrib/train/initial_checkpoint_options.hpp>
#include <distrib/train/local_mode.hpp>
#include <distrib/train/metrics.hpp>
#include <distrib/train/model.hpp>
#include <distrib/train/model_updaters.hpp>
#include <distrib/train/roc_auc.hpp>
#include <distrib/train/save_checkpoint.hpp>
#include <distrib/train/show_progress.hpp>
#include <distrib/train/stop_at_step.hpp>
#include <distrib/train/trainer.hpp>
#include <distrib/train/write_result_json.hpp>
#include <distrib/train/write_summaries.hpp>
