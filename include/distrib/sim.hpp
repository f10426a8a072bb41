// SPDX-License-Identifier: Apache-2.0
// A simulated clock and network for cores. Not part of ecosystem.hpp.
#pragma once

#include <distrib/sim/dice.hpp>
#include <distrib/sim/scheduler.hpp>
#include <distrib/sim/wire.hpp>
