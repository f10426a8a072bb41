// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of ps/worker/, compiled once. For one unit of a program that defines DISTRIB_SEPARATE_COMPILATION.
#ifndef DISTRIB_SEPARATE_COMPILATION
#error "distrib: <distrib/ps/worker/src.hpp> is for programs that define DISTRIB_SEPARATE_COMPILATION in every unit"
#endif

#include <distrib/ps/worker/detail/impl/shards_of_job.ipp>
#include <distrib/ps/worker/impl/ask_status.ipp>
#include <distrib/ps/worker/impl/erase_keys.ipp>
#include <distrib/ps/worker/impl/look_client.ipp>
#include <distrib/ps/worker/impl/probe.ipp>
#include <distrib/ps/worker/impl/rank_client.ipp>
#include <distrib/ps/worker/impl/scale_ranks.ipp>
#include <distrib/ps/worker/impl/worker_client.ipp>
#include <distrib/ps/worker/impl/worker_meter.ipp>
#include <distrib/ps/worker/impl/worker_node.ipp>
