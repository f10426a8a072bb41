// SPDX-License-Identifier: Apache-2.0
// The shortest possible echo server: only its compile time and binary size are measured.
#include <distrib/rpc/method.hpp>
#include <distrib/rpc/router.hpp>
#include <distrib/rpc/rpc_server.hpp>

#include <string>

namespace {

struct Text {
  std::string text;
  void encode(distrib::WireWriter& head) const { head.raw(distrib::as_bytes(text)); }
  auto decode(distrib::ByteView head) -> bool {
    text = distrib::as_text(head);
    return true;
  }
};

struct Echo : distrib::Method<"Echo", Text, Text> {};

}  // namespace

auto main() -> int {
  asio::io_context context{1};
  const distrib::RpcServer server{
      context.get_executor(),
      {"127.0.0.1", 7000},
      distrib::Router{distrib::on<Echo>([](const Text& request, const auto& call) { call.reply(request); })}};
  context.run();
}
