// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of sim/, compiled once: for one unit of a program that defines DISTRIB_SEPARATE_COMPILATION.
#ifndef DISTRIB_SEPARATE_COMPILATION
#error "distrib: <distrib/sim/src.hpp> is for programs that define DISTRIB_SEPARATE_COMPILATION in every unit"
#endif

#include <distrib/sim/detail/impl/cluster.ipp>
#include <distrib/sim/detail/impl/hosted_shard.ipp>
#include <distrib/sim/detail/impl/ps_process.ipp>
#include <distrib/sim/detail/impl/shard_host.ipp>
#include <distrib/sim/detail/impl/simulation.ipp>
#include <distrib/sim/detail/impl/worker_process.ipp>
#include <distrib/sim/detail/impl/world.ipp>
#include <distrib/sim/impl/bucket.ipp>
#include <distrib/sim/impl/disk.ipp>
#include <distrib/sim/impl/faults.ipp>
#include <distrib/sim/impl/options.ipp>
#include <distrib/sim/impl/run.ipp>
#include <distrib/sim/impl/scheduler.ipp>
