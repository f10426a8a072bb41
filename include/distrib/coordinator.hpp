// SPDX-License-Identifier: Apache-2.0
// One process schedules functions, workers run them, variables live on parameter servers: ClusterCoordinator of
// TensorFlow 2. Not part of ecosystem.hpp.
#pragma once

#include <distrib/coordinator/cluster_coordinator.hpp>
#include <distrib/coordinator/coordinator_options.hpp>
#include <distrib/coordinator/error.hpp>
#include <distrib/coordinator/function.hpp>
#include <distrib/coordinator/function_context.hpp>
#include <distrib/coordinator/function_worker.hpp>
#include <distrib/coordinator/function_worker_options.hpp>
#include <distrib/coordinator/parameter_job.hpp>
#include <distrib/coordinator/remote_value.hpp>
