// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of train/hooks/, compiled once: for one unit of a program that defines DISTRIB_SEPARATE_COMPILATION.
#ifndef DISTRIB_SEPARATE_COMPILATION
#error "distrib: <distrib/train/hooks/src.hpp> is for programs that define DISTRIB_SEPARATE_COMPILATION in every unit"
#endif

#include <distrib/train/hooks/impl/background_writes.ipp>
#include <distrib/train/hooks/impl/keep_best_checkpoint.ipp>
#include <distrib/train/hooks/impl/logging_tensor.ipp>
#include <distrib/train/hooks/impl/object_uploads.ipp>
#include <distrib/train/hooks/impl/profiler.ipp>
#include <distrib/train/hooks/impl/second_or_step_timer.ipp>
#include <distrib/train/hooks/impl/show_progress.ipp>
#include <distrib/train/hooks/impl/step_counter.ipp>
#include <distrib/train/hooks/impl/summary_file.ipp>
#include <distrib/train/hooks/impl/train_job_progress.ipp>
#include <distrib/train/hooks/impl/write_summaries.ipp>
