// SPDX-License-Identifier: Apache-2.0
// What is TensorFlow's own: SyncReplicas, its accumulators, where its ParameterServerStrategy puts variables.
#pragma once

#include <distrib/tf/conditional_accumulator.hpp>
#include <distrib/tf/parameter_server_strategy.hpp>
#include <distrib/tf/sparse_conditional_accumulator.hpp>
#include <distrib/tf/sync_replicas.hpp>
#include <distrib/tf/sync_replicas_plan.hpp>
