// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc.hpp>

#include <chrono>
#include <string>
#include <system_error>

struct Echo : distrib::Method<"consumer.Echo", std::string, std::string> {};

auto main() -> int {
  asio::io_context context{1};
  distrib::Router router{distrib::on<Echo>([](std::string text) { return text; })};
  distrib::RpcServer server{context.get_executor(), {"127.0.0.1", 0}, router};
  distrib::RpcClientPool client{context.get_executor(), {"127.0.0.1", server.port()}};
  bool same = false;
  client.async_call<Echo>("hello", std::chrono::seconds{5}, [&](std::error_code ec, const std::string& reply) {
    same = !ec && reply == "hello";
    context.stop();
  });
  context.run();
  return same ? 0 : 1;
}
