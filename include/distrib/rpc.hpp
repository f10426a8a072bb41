// SPDX-License-Identifier: Apache-2.0
// Calls over a connection: servers, clients, methods.
#pragma once

#include <distrib/rpc/call.hpp>
#include <distrib/rpc/call_observer.hpp>
#include <distrib/rpc/chunked_route.hpp>
#include <distrib/rpc/client_options.hpp>
#include <distrib/rpc/client_stream.hpp>
#include <distrib/rpc/codec.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/rpc/error_categories.hpp>
#include <distrib/rpc/frame_limits.hpp>
#include <distrib/rpc/latency_histogram.hpp>
#include <distrib/rpc/method.hpp>
#include <distrib/rpc/retry_options.hpp>
#include <distrib/rpc/router.hpp>
#include <distrib/rpc/rpc_client.hpp>
#include <distrib/rpc/rpc_client_pool.hpp>
#include <distrib/rpc/rpc_metrics.hpp>
#include <distrib/rpc/rpc_pool_server.hpp>
#include <distrib/rpc/rpc_server.hpp>
#include <distrib/rpc/server_options.hpp>
#include <distrib/rpc/server_session.hpp>
#include <distrib/rpc/server_stream.hpp>
#include <distrib/rpc/shared_secret.hpp>
