// SPDX-License-Identifier: Apache-2.0
// Asio, threads, sockets, and the shells of cores.
#pragma once

#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/async_connect.hpp>
#include <distrib/net/connect.hpp>
#include <distrib/net/connection.hpp>
#include <distrib/net/connection_core.hpp>
#include <distrib/net/drive.hpp>
#include <distrib/net/error.hpp>
#include <distrib/net/instant.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/net/listener.hpp>
#include <distrib/net/page_core.hpp>
#include <distrib/net/signals.hpp>
