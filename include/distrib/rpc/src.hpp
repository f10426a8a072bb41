// SPDX-License-Identifier: Apache-2.0
#pragma once

// The function bodies of rpc/. A program that defines DISTRIB_SEPARATE_COMPILATION includes this in one of its units.
#ifndef DISTRIB_SEPARATE_COMPILATION
#error "distrib: <distrib/rpc/src.hpp> is for programs that define DISTRIB_SEPARATE_COMPILATION in every unit"
#endif

#include <distrib/rpc/detail/impl/call_slots.ipp>
#include <distrib/rpc/detail/impl/deadline_wheel.ipp>
#include <distrib/rpc/detail/impl/listener_options.ipp>
#include <distrib/rpc/detail/impl/run_for.ipp>
#include <distrib/rpc/detail/impl/server_calls.ipp>
#include <distrib/rpc/impl/backoff.ipp>
#include <distrib/rpc/impl/client_core.ipp>
#include <distrib/rpc/impl/greeting.ipp>
#include <distrib/rpc/impl/handshake.ipp>
#include <distrib/rpc/impl/latency_histogram.ipp>
#include <distrib/rpc/impl/remote_error.ipp>
#include <distrib/rpc/impl/retry_policy.ipp>
#include <distrib/rpc/impl/rpc_metrics.ipp>
#include <distrib/rpc/impl/server_budget.ipp>
#include <distrib/rpc/impl/server_core.ipp>
#include <distrib/rpc/impl/shared_secret.ipp>
