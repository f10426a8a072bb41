// SPDX-License-Identifier: Apache-2.0
// Compiled once for the tests of rooms with sockets and threads: the headers of precompiled_values.hpp, and Asio.
#pragma once

#include "support/precompiled_values.hpp"

#include <distrib/net/asio.hpp>

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>
