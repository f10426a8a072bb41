// SPDX-License-Identifier: Apache-2.0
// One process schedules functions, workers run them, variables live on parameter servers: ClusterCoordinator of
// TensorFlow 2. Not part of ecosystem.hpp.
#pragma once

#include <distrib/coordinator/coordinator_options.hpp>
#include <distrib/coordinator/error.hpp>
