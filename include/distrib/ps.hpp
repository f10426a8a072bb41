// SPDX-License-Identifier: Apache-2.0
// Parameters: the server, its options, settings on which all workers must agree, lookups of rows.
#pragma once

#include <distrib/ps/job/consistency.hpp>
#include <distrib/ps/job/erased_keys.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/exit_code.hpp>
#include <distrib/ps/job/initial_name.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/job/rank_rate.hpp>
#include <distrib/ps/job/rank_text.hpp>
#include <distrib/ps/job/rate_rule.hpp>
#include <distrib/ps/job/reduction_order.hpp>
#include <distrib/ps/job/row_mean.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/ps/job/wire_format.hpp>
#include <distrib/ps/rows/clip_rows.hpp>
#include <distrib/ps/rows/combiner.hpp>
#include <distrib/ps/rows/embedding_lookup_sparse.hpp>
#include <distrib/ps/rows/safe_embedding_lookup_sparse.hpp>
#include <distrib/ps/rows/sparse_ids.hpp>
#include <distrib/ps/rows/unique_keys.hpp>
#include <distrib/ps/server/server.hpp>
#include <distrib/ps/server/server_options.hpp>
#include <distrib/ps/server/shard_options.hpp>
#include <distrib/ps/wire/ask_shard.hpp>
#include <distrib/ps/wire/shard_status.hpp>
#include <distrib/ps/worker/ask_status.hpp>
#include <distrib/ps/worker/erase_keys.hpp>
#include <distrib/ps/worker/probe.hpp>
#include <distrib/ps/worker/scale_ranks.hpp>
