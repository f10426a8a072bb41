// SPDX-License-Identifier: Apache-2.0
// A simulated clock, network and disk: for cores, and for whole clusters that train. Not part of ecosystem.hpp.
#pragma once

#include <distrib/sim/dice.hpp>
#include <distrib/sim/disk.hpp>
#include <distrib/sim/faults.hpp>
#include <distrib/sim/options.hpp>
#include <distrib/sim/run.hpp>
#include <distrib/sim/scheduler.hpp>
#include <distrib/sim/wire.hpp>
