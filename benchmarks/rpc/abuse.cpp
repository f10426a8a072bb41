// SPDX-License-Identifier: Apache-2.0
// Clients that measure how the library's server and its connections behave under deadlines, overload, drain and loss.
// rpc_abuse.py starts them.
#include "methods.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>
#include <system_error>
#include <vector>

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

auto seconds_of(Clock::time_point time) -> double {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

auto milliseconds_since(Clock::time_point began) -> double {
  return std::chrono::duration<double, std::milli>(Clock::now() - began).count();
}

auto median(std::vector<double> values) -> double {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void run_until(asio::io_context& context, const bool& done) {
  while (!done) context.run_one();
}

void echo(asio::io_context& context, distrib::RpcClient& client) {
  bool done = false;
  client.async_call<Echo>(small(), 5s, [&](std::error_code ec, const Small&) {
    if (ec) fail("echo: " + ec.message());
    done = true;
  });
  run_until(context, done);
}

/// Makes 40 calls that are never answered, one after another, each with a deadline of 50 ms; and before each ten of
/// them a call that is answered after 300 ms. All are on one connection.
void deadline(const Options& options) {
  asio::io_context context{1};
  auto client = connect(context, options);
  echo(context, client);
  std::vector<double> times;
  std::size_t neighbours = 0;
  for (int i = 0; i < 40; ++i) {
    if (i % 10 == 0)
      client.async_call<Sleep>(small(), 5s, [&](std::error_code ec, const Small&) { neighbours += ec ? 0U : 1U; });
    bool done = false;
    const auto began = Clock::now();
    client.async_call<Hang>(small(), 50ms, [&](std::error_code ec, const Small&) {
      if (ec != distrib::rpc_errc::deadline_passed) fail("expected deadline_passed, but got: " + ec.message());
      times.push_back(milliseconds_since(began));
      done = true;
    });
    run_until(context, done);
  }
  echo(context, client);
  std::printf("{\"median\":%.3f,\"most\":%.3f,\"least\":%.3f,\"neighbours\":%zu}\n", median(times),
              *std::max_element(times.begin(), times.end()), *std::min_element(times.begin(), times.end()), neighbours);
}

/// Keeps calls in flight while the server is killed, and makes one call after that.
void pending(const Options& options) {
  asio::io_context context{1};
  auto client = connect(context, options);
  echo(context, client);
  std::vector<int> ends(options.in_flight);
  bool within_call = true, inline_end = false, done = false;
  std::size_t left = options.in_flight;
  Clock::time_point last;
  std::string reason;
  for (std::size_t i = 0; i < options.in_flight; ++i)
    client.async_call<Hang>(small(), 60s, [&, i](std::error_code ec, const Small&) {
      inline_end = inline_end || within_call;
      ++ends[i];
      last = Clock::now();
      reason = ec.message();
      done = --left == 0;
    });
  within_call = false;
  context.run_for(50ms);
  std::printf("{\"ready\":true}\n");
  std::fflush(stdout);
  run_until(context, done);

  bool late = false;
  within_call = true;
  const auto began = Clock::now();
  double late_time = 0;
  client.async_call<Echo>(small(), 5s, [&](std::error_code ec, const Small&) {
    if (!ec) fail("a call was answered after the server was killed");
    inline_end = inline_end || within_call;
    late_time = milliseconds_since(began);
    late = true;
  });
  within_call = false;
  run_until(context, late);
  context.run_for(100ms);  // if the handler of a call were called twice, it would be in this time
  const bool once = std::all_of(ends.begin(), ends.end(), [](int count) { return count == 1; });
  std::printf("{\"last\":%.6f,\"once\":%s,\"inline\":%s,\"later\":%.3f,\"reason\":\"%s\"}\n", seconds_of(last),
              once ? "true" : "false", inline_end ? "true" : "false", late_time, reason.c_str());
}

/// Makes three slow calls before the server begins to drain, and one call after that.
void drain(const Options& options) {
  asio::io_context context{1};
  auto client = connect(context, options);
  echo(context, client);
  std::size_t answered = 0, ended = 0;
  for (int i = 0; i < 3; ++i)
    client.async_call<Sleep>(small(), 5s, [&](std::error_code ec, const Small&) {
      answered += ec ? 0U : 1U;
      ++ended;
    });
  context.run_for(20ms);
  std::printf("{\"ready\":true}\n");
  std::fflush(stdout);
  context.run_for(100ms);
  std::string refused = "it was answered";
  client.async_call<Echo>(small(), 2s, [&](std::error_code ec, const Small&) {
    if (ec) refused = ec.message();
    ++ended;
  });
  while (ended < 4) context.run_one();
  std::printf("{\"answered\":%zu,\"refused\":\"%s\"}\n", answered, refused.c_str());
}

/// Makes as many calls as the server allows, and measures how long one more call takes to fail with `exhausted`.
void overload(const Options& options) {
  asio::io_context context{1};
  auto client = connect(context, options);
  std::vector<double> normal, refused;
  for (int i = 0; i < 1000; ++i) {
    const auto began = Clock::now();
    echo(context, client);
    normal.push_back(1e3 * milliseconds_since(began));
  }
  for (std::size_t i = 0; i < options.max_calls; ++i)
    client.async_call<Hang>(small(), 60s, [](std::error_code, const Small&) {});
  context.run_for(50ms);
  for (int i = 0; i < 1000; ++i) {
    bool done = false;
    const auto began = Clock::now();
    client.async_call<Echo>(small(), 5s, [&](std::error_code ec, const Small&) {
      if (ec != distrib::rpc_errc::exhausted) fail("expected exhausted, but got: " + (ec ? ec.message() : "an answer"));
      refused.push_back(1e3 * milliseconds_since(began));
      done = true;
    });
    run_until(context, done);
  }
  std::printf("{\"normal\":%.3f,\"refused\":%.3f}\n", median(normal), median(refused));
}

}  // namespace

auto main(int argc, char** argv) -> int {
  const Options options{argc, argv};
  if (options.role == "deadline") deadline(options);
  else if (options.role == "pending") pending(options);
  else if (options.role == "drain") drain(options);
  else if (options.role == "overload") overload(options);
  else fail("unknown role: give deadline, pending, drain or overload");
  std::fflush(stdout);
  std::_Exit(0);
}
