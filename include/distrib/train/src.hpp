// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of train/, compiled once: for one unit of a program that defines DISTRIB_SEPARATE_COMPILATION.
#ifndef DISTRIB_SEPARATE_COMPILATION
#error "distrib: <distrib/train/src.hpp> is for programs that define DISTRIB_SEPARATE_COMPILATION in every unit"
#endif

#include <distrib/train/impl/checkpoint_store.ipp>
#include <distrib/train/impl/checkpoint_values.ipp>
#include <distrib/train/impl/choose_updaters.ipp>
#include <distrib/train/impl/cluster_trainer.ipp>
#include <distrib/train/impl/evaluator.ipp>
#include <distrib/train/impl/feed_fn.ipp>
#include <distrib/train/impl/initial_values.ipp>
#include <distrib/train/impl/make_local_run.ipp>
#include <distrib/train/impl/make_worker_run.ipp>
#include <distrib/train/impl/metrics.ipp>
#include <distrib/train/impl/model_updaters.ipp>
#include <distrib/train/impl/named_values.ipp>
#include <distrib/train/impl/onlooker.ipp>
#include <distrib/train/impl/parameters_sha256.ipp>
#include <distrib/train/impl/roc_auc.ipp>
#include <distrib/train/impl/session_loop.ipp>
#include <distrib/train/impl/stop_at_step.ipp>
#include <distrib/train/impl/trainer.ipp>
#include <distrib/train/impl/training_options.ipp>
#include <distrib/train/impl/training_plan.ipp>
#include <distrib/train/impl/training_report.ipp>
#include <distrib/train/impl/write_result_json.ipp>
#include <distrib/train/impl/writer_locks.ipp>
