// SPDX-License-Identifier: Apache-2.0
// Calls between processes, here both in one: a server with two methods, a client that calls them, a deadline, an error.
#include <distrib/net/connect.hpp>
#include <distrib/rpc.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <numeric>
#include <optional>
#include <system_error>
#include <utility>

namespace {

using namespace std::chrono_literals;

// A message writes and reads its head. A member `body` is bulk, carried beside it without a copy.
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

struct Add : distrib::Method<"example.Add", Numbers, Sum> {};
struct Sleep : distrib::Method<"example.Sleep", distrib::Empty, distrib::Empty> {};
struct Nobody : distrib::Method<"example.Nobody", distrib::Empty, distrib::Empty> {};

}  // namespace

auto main() -> int try {
  asio::io_context context{1};
  distrib::RpcServer server{context.get_executor(), {"127.0.0.1", 0},
                            distrib::Router{distrib::on<Add>([](Numbers request, auto call) {
                                              const auto numbers = request.body->as<float>();
                                              call.reply({std::accumulate(numbers.begin(), numbers.end(), 0.0)});
                                            }),
                                            distrib::on<Sleep>([](distrib::Empty, auto) {})}};  // never answers

  int open = 3;
  std::optional<distrib::RpcClient> client;
  const auto connected = [&](const distrib::Error& error, distrib::TcpSocket socket) {
    distrib::throw_if(error);
    client.emplace(std::move(socket));

    auto thousand = std::make_shared<distrib::AlignedBuffer>(1000 * sizeof(float));
    for (float& number : thousand->as<float>()) number = 0.5F;
    client->async_call<Add>({thousand}, 5s, [&](std::error_code ec, Sum sum) {
      std::printf("sum: %g%s\n", sum.value, ec ? ec.message().c_str() : "");
      --open;
    });
    client->async_call<Nobody>({}, 5s, [&](std::error_code ec, distrib::Empty) {
      std::printf("nobody: %s\n", ec.message().c_str());
      --open;
    });
    client->async_call<Sleep>({}, 50ms, [&](std::error_code ec, distrib::Empty) {
      std::printf("sleep: %s\n", ec.message().c_str());
      --open;
    });
  };
  const distrib::Connector connector{context.get_executor(), {"127.0.0.1", server.port()}, {}, connected};
  while (open > 0) context.run_one();
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
