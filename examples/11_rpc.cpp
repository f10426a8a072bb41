// SPDX-License-Identifier: Apache-2.0
// Calls between processes, here both in one process: a server with four methods, a client with callbacks, a deadline
// and an error.
#include <distrib/rpc.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <numeric>
#include <string>
#include <system_error>

namespace {

using namespace std::chrono_literals;

// A message writes and reads its head. A member `body` is bulk data, which is sent after the head without a copy.
struct Numbers {
  distrib::SharedBuffer body;
  void encode(distrib::WireWriter&) const {}
  auto decode(distrib::ByteView) -> bool { return body != nullptr; }
};

struct Sum {
  double value = 0;
  void encode(distrib::WireWriter& head) const { head.float64(1, value); }
  auto decode(distrib::ByteView head) -> bool {
    distrib::WireReader reader{head};
    while (reader.next())
      if (reader.tag() == distrib::wire_tag(1, distrib::WireType::fixed64)) value = reader.float64();
    return reader.ok();
  }
};

struct Echo : distrib::Method<"example.Echo", std::string, std::string> {};
struct Add : distrib::Method<"example.Add", Numbers, Sum> {};
struct Sleep : distrib::Method<"example.Sleep", distrib::Empty, distrib::Empty> {};
struct Nobody : distrib::Method<"example.Nobody", distrib::Empty, distrib::Empty> {};

}  // namespace

auto main() -> int try {
  asio::io_context context{1};
  distrib::Router router{distrib::on<Echo>([](std::string text) { return text; }),
                         distrib::on<Add>([](Numbers request, auto call) {
                           const auto numbers = request.body->as<float>();
                           call.reply({std::accumulate(numbers.begin(), numbers.end(), 0.0)});
                         }),
                         distrib::on<Sleep>([](distrib::Empty, auto) {})};  // never answers
  distrib::RpcServer server{context.get_executor(), {"127.0.0.1", 0}, router};
  distrib::RpcClientPool client{context.get_executor(), {"127.0.0.1", server.port()}};

  int open = 4;
  client.async_call<Echo>("hello", 5s, [&](std::error_code ec, const std::string& reply) {
    std::printf("echo: %s\n", ec ? ec.message().c_str() : reply.c_str());
    --open;
  });
  auto thousand = std::make_shared<distrib::AlignedBuffer>(1000 * sizeof(float));
  for (float& number : thousand->as<float>()) number = 0.5F;
  client.async_call<Add>({thousand}, 5s, [&](std::error_code ec, Sum sum) {
    std::printf("sum: %g%s\n", sum.value, ec ? ec.message().c_str() : "");
    --open;
  });
  client.async_call<Nobody>({}, 5s, [&](std::error_code ec, distrib::Empty) {
    std::printf("unknown: %s\n", ec.message().c_str());
    --open;
  });
  client.async_call<Sleep>({}, 50ms, [&](std::error_code ec, distrib::Empty) {
    std::printf("sleep: %s\n", ec.message().c_str());
    --open;
  });
  while (open > 0) context.run_one();
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
