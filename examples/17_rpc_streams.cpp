// SPDX-License-Identifier: Apache-2.0
// Calls that stream items: from the server, from the client, both ways. A writer waits for its reader.
#include <distrib/net/connect.hpp>
#include <distrib/rpc.hpp>

#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <utility>

namespace {

struct Count : distrib::StreamingMethod<"example.Count", int, int> {};    // a request, then items and an end
struct Sum : distrib::ClientStreamingMethod<"example.Sum", int, int> {};  // items and an end, then an answer
struct Talk : distrib::BidirectionalMethod<"example.Talk", std::string, std::string> {};

int written = 0;  // counts what `count` writes: here server and client are in one process

auto count(int to, distrib::ServerStream<Count, distrib::ServerConnection> stream) -> asio::awaitable<void> {
  for (written = 0; written < to; ++written) co_await stream.async_write(written, asio::use_awaitable);
}

auto sum(distrib::ServerStream<Sum, distrib::ServerConnection> stream) -> asio::awaitable<int> {
  for (int total = 0;;) {
    const std::optional<int> item = co_await stream.async_read(asio::use_awaitable);
    if (!item) co_return total;
    total += *item;
  }
}

auto talk(distrib::ServerStream<Talk, distrib::ServerConnection> stream) -> asio::awaitable<void> {
  for (;;) {
    const std::optional<std::string> heard = co_await stream.async_read(asio::use_awaitable);
    if (!heard) co_return;  // this ends the stream
    co_await stream.async_write("you said " + *heard, asio::use_awaitable);
  }
}

auto use(distrib::TcpSocket socket, bool& done) -> asio::awaitable<void> {
  distrib::RpcClient client{std::move(socket)};
  auto counted = client.open<Count>(1000);  // read below
  auto summed = client.open<Sum>();
  for (int i = 1; i <= 1000; ++i) co_await summed.async_write(i, asio::use_awaitable);
  const int total = co_await summed.async_finish(asio::use_awaitable);
  std::printf("the sum is %d, and %d of 1000 items were written meanwhile\n", total, written);
  int read = 0;
  for (std::optional<int> item = 0; item; ++read) item = co_await counted.async_read(asio::use_awaitable);
  std::printf("%d items and an end were read\n", read - 1);

  auto talked = client.open<Talk>();
  co_await talked.async_write("hello", asio::use_awaitable);
  talked.end_writes();
  const std::optional<std::string> answer = co_await talked.async_read(asio::use_awaitable);
  std::printf("%s\n", answer.value_or("nothing").c_str());
  done = true;
}

}  // namespace

auto main() -> int try {
  asio::io_context context{1};
  distrib::Router router{distrib::on<Count>(count), distrib::on<Sum>(sum), distrib::on<Talk>(talk)};
  distrib::RpcServer server{context.get_executor(), {"127.0.0.1", 0}, router};
  bool done = false;
  const auto rethrow = [](const std::exception_ptr& thrown) {
    if (thrown) std::rethrow_exception(thrown);
  };
  const auto connected = [&](const distrib::Error& error, std::optional<distrib::TcpSocket> socket) {
    distrib::throw_if(error);
    asio::co_spawn(context, use(*std::move(socket), done), rethrow);
  };
  const distrib::Connector connector{context.get_executor(), {"127.0.0.1", server.port()}, {}, connected};
  while (!done) context.run_one();
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
