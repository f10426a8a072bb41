// SPDX-License-Identifier: Apache-2.0
// Threads and connections.
#pragma once

#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/async_connect.hpp>
#include <distrib/net/connect.hpp>
#include <distrib/net/error.hpp>
#include <distrib/net/io_pool.hpp>
