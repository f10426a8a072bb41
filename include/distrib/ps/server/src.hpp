// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of ps/server/, compiled once. For one unit of a program that defines DISTRIB_SEPARATE_COMPILATION.
#ifndef DISTRIB_SEPARATE_COMPILATION
#error "distrib: <distrib/ps/server/src.hpp> is for programs that define DISTRIB_SEPARATE_COMPILATION in every unit"
#endif

#include <distrib/ps/server/detail/impl/give_way.ipp>
#include <distrib/ps/server/detail/impl/make_server_task.ipp>
#include <distrib/ps/server/detail/impl/scale_calls.ipp>
#include <distrib/ps/server/detail/impl/served_job.ipp>
#include <distrib/ps/server/detail/impl/state_fetch.ipp>
#include <distrib/ps/server/impl/adopt_job.ipp>
#include <distrib/ps/server/impl/cluster_mismatch.ipp>
#include <distrib/ps/server/impl/export_part.ipp>
#include <distrib/ps/server/impl/metrics_text.ipp>
#include <distrib/ps/server/impl/rank_dealer.ipp>
#include <distrib/ps/server/impl/server.ipp>
#include <distrib/ps/server/impl/shard_clock.ipp>
#include <distrib/ps/server/impl/shard_exports.ipp>
#include <distrib/ps/server/impl/shard_meter.ipp>
#include <distrib/ps/server/impl/status_page.ipp>
