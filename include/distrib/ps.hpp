// SPDX-License-Identifier: Apache-2.0
// Parameters: cores of shards and workers, and what carries their messages.
#pragma once

#include <distrib/ps/any_shard.hpp>
#include <distrib/ps/async_shard_core.hpp>
#include <distrib/ps/async_worker_core.hpp>
#include <distrib/ps/block_pool.hpp>
#include <distrib/ps/consistency.hpp>
#include <distrib/ps/cut_interval.hpp>
#include <distrib/ps/cut_settings.hpp>
#include <distrib/ps/cut_store.hpp>
#include <distrib/ps/cut_tensors.hpp>
#include <distrib/ps/dense_store.hpp>
#include <distrib/ps/error.hpp>
#include <distrib/ps/exit_code.hpp>
#include <distrib/ps/finished_job.hpp>
#include <distrib/ps/initial_cut.hpp>
#include <distrib/ps/job.hpp>
#include <distrib/ps/messages.hpp>
#include <distrib/ps/methods.hpp>
#include <distrib/ps/parse_job.hpp>
#include <distrib/ps/peer_calls.hpp>
#include <distrib/ps/plan_parts.hpp>
#include <distrib/ps/replay_buffer.hpp>
#include <distrib/ps/server.hpp>
#include <distrib/ps/server_options.hpp>
#include <distrib/ps/shard_action.hpp>
#include <distrib/ps/shard_clock.hpp>
#include <distrib/ps/shard_layout.hpp>
#include <distrib/ps/shard_service.hpp>
#include <distrib/ps/shard_shell.hpp>
#include <distrib/ps/sync_shard_core.hpp>
#include <distrib/ps/sync_worker_core.hpp>
#include <distrib/ps/worker_action.hpp>
#include <distrib/ps/worker_client.hpp>
#include <distrib/ps/worker_node.hpp>
