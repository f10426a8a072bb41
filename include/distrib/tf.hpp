// SPDX-License-Identifier: Apache-2.0
// Features that only TensorFlow has: SyncReplicas and its accumulators, the placement of ParameterServerStrategy, and
// its definitions of clusters, servers and devices. Not part of ecosystem.hpp.
#pragma once

#include <distrib/cluster/cluster_def.hpp>
#include <distrib/cluster/cluster_dict.hpp>
#include <distrib/cluster/device_change.hpp>
#include <distrib/cluster/device_filters.hpp>
#include <distrib/cluster/device_name.hpp>
#include <distrib/cluster/master_url.hpp>
#include <distrib/cluster/run_config.hpp>
#include <distrib/cluster/server_def.hpp>
#include <distrib/tf/conditional_accumulator.hpp>
#include <distrib/tf/parameter_server_strategy.hpp>
#include <distrib/tf/sparse_conditional_accumulator.hpp>
#include <distrib/tf/sync_replicas.hpp>
#include <distrib/tf/sync_replicas_plan.hpp>
