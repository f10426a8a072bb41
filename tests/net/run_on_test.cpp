// SPDX-License-Identifier: Apache-2.0
#include <distrib/net/run_on.hpp>

#include "support/catch.hpp"

#include <thread>
#include <vector>

using distrib::IoPool;
using distrib::detail::run_on;

TEST_CASE("run_on: runs on the thread after earlier handlers, and waits for handlers that it posts", "[net]") {
  IoPool pool{2};
  std::vector<int> order;
  std::thread::id where;
  asio::post(pool.executor(1), [&] { order.push_back(1); });
  run_on(pool, 1, [&] {
    order.push_back(2);
    where = std::this_thread::get_id();
    asio::post(pool.executor(1), [&] { order.push_back(3); });  // run_on waits for this handler too
  });
  CHECK(order == std::vector<int>{1, 2, 3});
  CHECK(where != std::this_thread::get_id());
}

TEST_CASE("run_on: runs on the calling thread if the thread has ended", "[net]") {
  IoPool pool{1};
  pool.join();
  std::thread::id where;
  run_on(pool, 0, [&where] { where = std::this_thread::get_id(); });
  CHECK(where == std::this_thread::get_id());
}
