// SPDX-License-Identifier: Apache-2.0
// Whole clusters that train in a simulated network, with a simulated clock and disk. Not part of ecosystem.hpp.
#pragma once

#include <distrib/sim/faults.hpp>
#include <distrib/sim/network_options.hpp>
#include <distrib/sim/options.hpp>
#include <distrib/sim/run.hpp>
