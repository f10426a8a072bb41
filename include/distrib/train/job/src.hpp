// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of train/job/, compiled once: for one unit of a program that defines DISTRIB_SEPARATE_COMPILATION.
#ifndef DISTRIB_SEPARATE_COMPILATION
#error "distrib: <distrib/train/job/src.hpp> is for programs that define DISTRIB_SEPARATE_COMPILATION in every unit"
#endif

#include <distrib/train/job/impl/accumulate_gradients.ipp>
#include <distrib/train/job/impl/clip_gradients.ipp>
#include <distrib/train/job/impl/local_round.ipp>
#include <distrib/train/job/impl/make_cluster_job.ipp>
#include <distrib/train/job/impl/make_local_job.ipp>
#include <distrib/train/job/impl/make_ranks_job.ipp>
