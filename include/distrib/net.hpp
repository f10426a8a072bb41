// SPDX-License-Identifier: Apache-2.0
// Asio and threads.
#pragma once

#include <distrib/net/asio.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/net/signals.hpp>
