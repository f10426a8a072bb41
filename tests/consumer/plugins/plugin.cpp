// SPDX-License-Identifier: Apache-2.0
#include "plugin.hpp"

#define main trainer  // of the example: an ordinary function here
#include PROGRAM
#undef main

#include <distrib/message/protobuf.hpp>
#include <distrib/rpc.hpp>

#include "shelf.pb.h"

#include <chrono>
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

namespace {

struct Echo : distrib::Method<"consumer.Echo", std::string, std::string> {};

auto train() -> bool { return trainer() == 0; }

auto messages() -> bool {
  consumer::Shelf shelf;
  (*shelf.add_examples()->mutable_features()->mutable_feature())["x"].mutable_float_list()->add_value(0.5F);
  std::vector<std::byte> bytes;
  distrib::ProtobufCodec{}.encode(shelf, bytes);
  consumer::Shelf copy;
  distrib::ProtobufCodec{}.decode(bytes, copy);
  return copy.examples(0).features().feature().at("x").float_list().value(0) == 0.5F;
}

auto call(unsigned short port) -> bool {
  asio::io_context context{1};
  distrib::RpcClientPool client{context.get_executor(), {"127.0.0.1", port}};
  bool same = false;
  client.async_call<Echo>("hello", std::chrono::seconds{5}, [&](std::error_code ec, const std::string& reply) {
    same = !ec && reply == "hello";
    context.stop();
  });
  context.run();
  return same;
}

auto serve(bool (*use)(unsigned short port)) -> bool {
  asio::io_context context{1};
  distrib::Router router{distrib::on<Echo>([](std::string text) { return text; })};
  distrib::RpcServer server{context.get_executor(), {"127.0.0.1", 0}, router};
  std::thread thread{[&context] { context.run(); }};
  const bool used = use(server.port());
  context.stop();
  thread.join();
  return used;
}

}  // namespace

extern "C" [[gnu::visibility("default")]] auto plugin() -> const Plugin* {
  static const Plugin that{train, messages, call, serve};
  return &that;
}
