// SPDX-License-Identifier: Apache-2.0
#include <distrib/net/signals.hpp>

#include <distrib/net/io_pool.hpp>

#include "support/catch.hpp"

#include <csignal>
#include <future>
#include <memory>

using distrib::Signals;

namespace {

auto has_default_action(int signal) -> bool {
  struct sigaction action{};
  ::sigaction(signal, nullptr, &action);
  return action.sa_handler == SIG_DFL;
}

}  // namespace

TEST_CASE("Signals: one callback, then both signals have their default action again", "[net]") {
  for (const int signal : {SIGTERM, SIGINT}) {
    asio::io_context context{1};
    int calls = 0;
    const Signals signals{context, [&calls] { ++calls; }};
    CHECK_FALSE(has_default_action(SIGTERM));
    CHECK_FALSE(has_default_action(SIGINT));
    std::raise(signal);
    context.run();
    CHECK(calls == 1);
    CHECK(has_default_action(SIGTERM));
    CHECK(has_default_action(SIGINT));
  }
}

TEST_CASE("Signals: without a signal nothing is called, and the destructor restores the default action", "[net]") {
  asio::io_context context{1};
  int calls = 0;
  {
    const Signals signals{context, [&calls] { ++calls; }};
  }
  CHECK(has_default_action(SIGTERM));
  CHECK(has_default_action(SIGINT));
  context.run();
  CHECK(calls == 0);
}

TEST_CASE("Signals: a signal just before the destructor calls nothing after it", "[net]") {
  asio::io_context context{1};
  int calls = 0;
  {
    const Signals signals{context, [&calls] { ++calls; }};
    std::raise(SIGTERM);
    context.poll_one();  // the signal is read; its handler may wait now
  }
  const int before = calls;
  context.run();
  CHECK(calls == before);
}

TEST_CASE("Signals: after the context was stopped nothing is called", "[net]") {
  int calls = 0;
  {
    asio::io_context context{1};
    const Signals signals{context, [&calls] { ++calls; }};
    asio::post(context, [&context] { context.stop(); });
    context.run();
    std::raise(SIGTERM);
  }
  CHECK(calls == 0);
  CHECK(has_default_action(SIGTERM));
}

TEST_CASE("Signals: the callback runs on a thread of a pool", "[net]") {
  distrib::IoPool pool{1};
  std::promise<std::thread::id> called;
  const Signals signals{pool.executor(0), [&called] { called.set_value(std::this_thread::get_id()); }};
  std::raise(SIGINT);
  CHECK(called.get_future().get() != std::this_thread::get_id());
}

TEST_CASE("Signals: the callback may destroy the object", "[net]") {
  asio::io_context context{1};
  std::unique_ptr<Signals> signals;
  signals = std::make_unique<Signals>(context, [&signals] { signals.reset(); });
  std::raise(SIGINT);
  context.run();
  CHECK_FALSE(signals);
}
