// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of ps/protocol/, compiled once. For one unit of a program that defines DISTRIB_SEPARATE_COMPILATION.
#ifndef DISTRIB_SEPARATE_COMPILATION
#error "distrib: <distrib/ps/protocol/src.hpp> is for programs that define DISTRIB_SEPARATE_COMPILATION in every unit"
#endif

#include <distrib/ps/protocol/detail/impl/awaited_values.ipp>
#include <distrib/ps/protocol/detail/impl/replica_views.ipp>
#include <distrib/ps/protocol/detail/impl/step_contributions.ipp>
#include <distrib/ps/protocol/impl/any_shard.ipp>
#include <distrib/ps/protocol/impl/any_worker.ipp>
#include <distrib/ps/protocol/impl/async_shard_core.ipp>
#include <distrib/ps/protocol/impl/async_worker_core.ipp>
#include <distrib/ps/protocol/impl/batch_keys.ipp>
#include <distrib/ps/protocol/impl/block_sum.ipp>
#include <distrib/ps/protocol/impl/erase_log_core.ipp>
#include <distrib/ps/protocol/impl/rank_log_core.ipp>
#include <distrib/ps/protocol/impl/replay_buffer.ipp>
#include <distrib/ps/protocol/impl/sync_shard_core.ipp>
#include <distrib/ps/protocol/impl/sync_worker_core.ipp>
