// SPDX-License-Identifier: Apache-2.0
// Choice of the parameter server task for each variable.
#pragma once

#include <distrib/placement/device_scopes.hpp>
#include <distrib/placement/error.hpp>
#include <distrib/placement/function.hpp>
#include <distrib/placement/greedy_load_balancing.hpp>
#include <distrib/placement/random.hpp>
#include <distrib/placement/replica_device_setter.hpp>
#include <distrib/placement/round_robin.hpp>
#include <distrib/placement/strategy.hpp>
