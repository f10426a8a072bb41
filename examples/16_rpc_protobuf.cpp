// SPDX-License-Identifier: Apache-2.0
// Protocol Buffers messages as request and reply, with metadata; a handler that lets another thread do the work; a
// server that ends when all calls are answered.
#include <distrib/net/io_pool.hpp>
#include <distrib/rpc.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <numeric>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "16_rpc_protobuf.pb.h"

namespace {

using namespace std::chrono_literals;

struct Predict : distrib::Method<"example.Predict", example::Question, example::Forecast> {};

auto forecast(const example::Question& question, const std::string& unit) -> example::Forecast {
  example::Forecast forecast;
  forecast.set_place(question.place());
  const auto& measured = question.measured();
  if (!measured.empty()) forecast.set_mean(std::accumulate(measured.begin(), measured.end(), 0.0) / measured.size());
  if (unit == "fahrenheit") forecast.set_mean(32 + 1.8 * forecast.mean());
  for (int day = 0; day < 3; ++day) forecast.add_next(forecast.mean());
  return forecast;
}

}  // namespace

auto main() -> int try {
  asio::io_context context{1};
  distrib::IoPool workers{1};  // destroyed before the context, to which it passes answers
  const auto predict = [&](example::Question question, auto call) {
    const std::string unit{distrib::as_text(call.metadata())};  // a copy: the view is valid until this returns
    asio::post(workers.executor(), [=, call = call.from_anywhere()] { call.reply(forecast(question, unit)); });
  };
  distrib::Router router{distrib::on<Predict>(predict)};
  distrib::RpcServer server{context.get_executor(), {"127.0.0.1", 0}, router};
  distrib::RpcClientPool client{context.get_executor(), {"127.0.0.1", server.port()}};

  example::Question question;
  question.set_place("Husum");
  for (const double degrees : {12.5, 14.0, 16.0}) question.add_measured(degrees);
  std::optional<std::error_code> ended;
  const distrib::CallOptions call{5s, "fahrenheit"};
  client.async_call<Predict>(std::move(question), call, [&](std::error_code ec, const example::Forecast& reply) {
    std::printf("%s: %g degrees, for %d days\n", reply.place().c_str(), reply.mean(), reply.next_size());
    ended = ec;
  });
  while (!ended) context.run_one();
  server.drain(5s);
  while (server.connections() > 0) context.run_one();
  if (*ended) throw std::system_error{*ended, "example.Predict"};
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
