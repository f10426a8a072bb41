// SPDX-License-Identifier: Apache-2.0
#include <distrib/net/io_pool.hpp>

#include "support/catch.hpp"

#include <atomic>
#include <future>
#include <set>
#include <stdexcept>
#include <vector>

using distrib::IoPool;

TEST_CASE("IoPool: each executor has a thread of its own", "[net]") {
  IoPool pool{3};
  REQUIRE(pool.size() == 3);
  std::set<std::thread::id> threads{std::this_thread::get_id()};
  for (std::size_t i = 0; i < pool.size(); ++i) {
    const auto ask = [&pool, i] {
      std::promise<std::thread::id> answer;
      auto future = answer.get_future();
      asio::post(pool.executor(i), [&answer] { answer.set_value(std::this_thread::get_id()); });
      return future.get();
    };
    const std::thread::id thread = ask();
    CHECK(ask() == thread);
    threads.insert(thread);
  }
  CHECK(threads.size() == 4);
}

TEST_CASE("IoPool: executor() returns the executors in turn", "[net]") {
  IoPool pool{2};
  const auto first = pool.executor();
  const auto second = pool.executor();
  CHECK(first == pool.executor(0));
  CHECK(second == pool.executor(1));
  CHECK(pool.executor() == first);
}

TEST_CASE("IoPool::join: everything posted has run, also from thread to thread", "[net]") {
  IoPool pool{4};
  std::atomic<int> runs = 0;
  std::vector<int> in_order;  // used on one executor only
  for (int i = 0; i < 100; ++i) {
    asio::post(pool.executor(), [&pool, &runs, &in_order, i] {
      ++runs;
      asio::post(pool.executor(0), [&in_order, i] { in_order.push_back(i); });
    });
  }
  pool.join();
  CHECK(runs == 100);
  pool.join();  // nothing more to wait for
}

TEST_CASE("IoPool: handlers that have not begun are dropped by the destructor", "[net]") {
  auto owned = std::make_shared<int>(1);
  std::promise<void> begun;
  std::promise<void> go;
  {
    IoPool pool{1};
    asio::post(pool.executor(), [&begun, waits = go.get_future().share()] {
      begun.set_value();
      waits.wait();
    });
    asio::post(pool.executor(), [owned] { ++*owned; });
    begun.get_future().wait();
    pool.stop();
    go.set_value();
  }
  CHECK(*owned == 1);
  CHECK(owned.use_count() == 1);
}

TEST_CASE("IoPool::has_left: true after the last handler has returned, not when the thread is asked to stop", "[net]") {
  IoPool pool{2};
  std::promise<void> begun;
  std::promise<void> go;
  int plain = 0;
  asio::post(pool.executor(1), [&] {
    begun.set_value();
    go.get_future().wait();
    plain = 1;
  });
  begun.get_future().wait();
  pool.stop();
  while (!pool.has_left(0)) std::this_thread::yield();
  CHECK_FALSE(pool.has_left(1));
  go.set_value();
  while (!pool.has_left(1)) std::this_thread::yield();
  CHECK(plain == 1);
}

TEST_CASE("IoPool: join throws the exception of a handler", "[net]") {
  IoPool pool{2};
  std::promise<void> release;
  asio::post(pool.executor(1), [waits = release.get_future().share()] { waits.wait(); });
  asio::post(pool.executor(0), [&release] {
    release.set_value();
    throw std::runtime_error{"a handler's own"};
  });
  CHECK_THROWS_WITH(pool.join(), Equals("a handler's own"));
  CHECK_NOTHROW(pool.join());
}

TEST_CASE("IoPool: zero threads throw", "[net]") {
  CHECK_THROWS_WITH(IoPool{0}, ContainsSubstring("an IoPool needs at least one thread"));
}
