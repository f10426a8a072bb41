// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of ps/job/, compiled once: include this in one unit of a program that defines
// DISTRIB_SEPARATE_COMPILATION.
#ifndef DISTRIB_SEPARATE_COMPILATION
#error "distrib: <distrib/ps/job/src.hpp> is for programs that define DISTRIB_SEPARATE_COMPILATION in every unit"
#endif

#include <distrib/ps/job/impl/client_rules.ipp>
#include <distrib/ps/job/impl/consistency.ipp>
#include <distrib/ps/job/impl/cut_interval.ipp>
#include <distrib/ps/job/impl/directory_lock.ipp>
#include <distrib/ps/job/impl/erased_keys.ipp>
#include <distrib/ps/job/impl/initial_blocks.ipp>
#include <distrib/ps/job/impl/initial_name.ipp>
#include <distrib/ps/job/impl/job.ipp>
#include <distrib/ps/job/impl/job_updaters.ipp>
#include <distrib/ps/job/impl/lineage.ipp>
#include <distrib/ps/job/impl/parse_job.ipp>
#include <distrib/ps/job/impl/rank_block.ipp>
#include <distrib/ps/job/impl/rank_file.ipp>
#include <distrib/ps/job/impl/rank_log.ipp>
#include <distrib/ps/job/impl/rank_rate.ipp>
#include <distrib/ps/job/impl/rank_text.ipp>
#include <distrib/ps/job/impl/rate_rule.ipp>
#include <distrib/ps/job/impl/shard_layout.ipp>
#include <distrib/ps/job/impl/table_share.ipp>
