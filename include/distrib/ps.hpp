// SPDX-License-Identifier: Apache-2.0
// Parameters: cores of shards and workers.
#pragma once

#include <distrib/ps/async_shard_core.hpp>
#include <distrib/ps/async_worker_core.hpp>
#include <distrib/ps/block_pool.hpp>
#include <distrib/ps/consistency.hpp>
#include <distrib/ps/dense_store.hpp>
#include <distrib/ps/error.hpp>
#include <distrib/ps/job.hpp>
#include <distrib/ps/messages.hpp>
#include <distrib/ps/methods.hpp>
#include <distrib/ps/plan_parts.hpp>
#include <distrib/ps/replay_buffer.hpp>
#include <distrib/ps/shard_action.hpp>
#include <distrib/ps/shard_layout.hpp>
#include <distrib/ps/sync_shard_core.hpp>
#include <distrib/ps/sync_worker_core.hpp>
#include <distrib/ps/worker_action.hpp>
