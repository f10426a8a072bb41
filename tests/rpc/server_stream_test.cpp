// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/server_stream.hpp>

#include <distrib/rpc/router.hpp>
#include <distrib/rpc/rpc_client.hpp>
#include <distrib/rpc/rpc_server.hpp>

#include "rpc/loopback.hpp"
#include "rpc/messages.hpp"
#include "rpc/stream.hpp"
#include "support/catch.hpp"
#include "support/loopback.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

using namespace distrib;
using loopback::anywhere;
using messages::Bulk;
using messages::Chat;
using messages::Count;
using messages::Sum;
using messages::Text;
using support::run_until;

namespace {

/// Sends increasing numbers, as fast as the client's credit allows.
template <class Stream>
struct Counter : std::enable_shared_from_this<Counter<Stream>> {
  explicit Counter(Stream to, std::uint64_t end) : stream{std::move(to)}, last{end} {}
  void next() {
    if (sent == last) return stream.end();
    if (sent_to != nullptr) *sent_to = sent + 1;
    stream.async_write({sent++, stream::body(3)}, [self = this->shared_from_this()](std::error_code ec) {
      self->error = ec;
      ec ? static_cast<void>(self->done()) : self->next();
    });
  }
  Stream stream;
  std::uint64_t last;
  std::uint64_t sent = 0;
  std::uint64_t* sent_to = nullptr;
  std::error_code error;
  std::function<void()> done = [] {};
};

}  // namespace

TEST_CASE("ServerStream: a handler with callbacks writes as the client reads", "[rpc]") {
  asio::io_context context{1};
  RpcServer server{context.get_executor(), anywhere, Router{on<Count>([](const Text& request, auto stream) {
                     CHECK(request.text == "up");
                     std::make_shared<Counter<decltype(stream)>>(stream, 1000)->next();
                   })}};
  RpcClient client{loopback::connect(context, server.port())};
  auto stream = client.open<Count>({"up"});
  std::vector<std::uint64_t> steps;
  bool ended = false;
  std::function<void(std::error_code, std::optional<Bulk>)> take = [&](std::error_code ec, std::optional<Bulk> item) {
    CHECK_FALSE(ec);
    if (!item) {
      ended = true;
      return;
    }
    CHECK(item->body->size() == 3);
    steps.push_back(item->step);
    stream.async_read(take);
  };
  stream.async_read(take);
  CHECK(steps.empty());
  run_until(context, [&] { return ended; });
  REQUIRE(steps.size() == 1000);
  CHECK(steps.back() == 999);
  stream.async_read([&](std::error_code ec, const std::optional<Bulk>& item) { ended = ec || item; });
  run_until(context, [&] { return !ended; });  // it is still the end
}

TEST_CASE("ServerStream: if the client does not read, the handler writes no more than the client's credit", "[rpc]") {
  asio::io_context context{1};
  std::uint64_t sent = 0;
  bool closed = false;
  RpcServer server{context.get_executor(), anywhere, Router{on<Count>([&](const Text&, auto stream) {
                     const auto counter = std::make_shared<Counter<decltype(stream)>>(stream, 1'000'000);
                     counter->done = [&closed, at = counter.get()] { closed = at->error == rpc_errc::cancelled; };
                     counter->sent_to = &sent;
                     counter->next();
                   })}};
  RpcClient client{loopback::connect(context, server.port())};
  {
    auto stream = client.open<Count>({});
    bool read = false;
    stream.async_read(
        [&](std::error_code ec, const std::optional<Bulk>& item) { read = !ec && item && item->step == 0; });
    run_until(context, [&] { return read; });
    while (context.poll() != 0) {
    }
    CHECK(sent == initial_credit + 1);  // the credit, and one item that waits
  }  // the destructor cancels the call
  run_until(context, [&] { return closed; });
}

TEST_CASE("ServerStream: a coroutine adds up what a client sends", "[rpc]") {
  asio::io_context context{1};
  RpcServer server{context.get_executor(), anywhere, Router{on<Sum>([](auto stream) -> asio::awaitable<Bulk> {
                     Bulk sum;
                     while (true) {
                       const std::optional<Bulk> item = co_await stream.async_read(asio::use_awaitable);
                       if (!item) break;
                       if (item->step == 13) throw_error(rpc_errc::bad_message, "thirteen");
                       sum.step += item->step;
                     }
                     co_return sum;
                   })}};
  RpcClient client{loopback::connect(context, server.port())};
  const auto add = [&](std::uint64_t first, std::uint64_t count) {
    auto stream = client.open<Sum>();
    std::uint64_t next = first;
    bool refused = false;
    std::function<void(std::error_code)> more = [&](std::error_code ec) {
      refused = static_cast<bool>(ec);
      if (!ec && next < first + count) {
        ++next;
        stream.async_write({next - 1, {}}, more);
      }
    };
    more({});
    run_until(context, [&] { return next == first + count || refused; });
    std::optional<std::pair<std::error_code, std::uint64_t>> answer;
    stream.async_finish([&](std::error_code ec, const Bulk& sum) { answer = {ec, sum.step}; });
    CHECK_FALSE(answer);
    run_until(context, [&] { return answer.has_value(); });
    return *answer;
  };
  const auto sum = add(100, 500);
  CHECK_FALSE(sum.first);
  CHECK(sum.second == (100 + 599) * 500 / 2);
  CHECK(add(0, 0).second == 0);
  CHECK(add(10, 10).first == rpc_errc::bad_message);
}

TEST_CASE("ServerStream: items in both directions", "[rpc]") {
  asio::io_context context{1};
  RpcServer server{context.get_executor(), anywhere, Router{on<Chat>([](auto stream) -> asio::awaitable<void> {
                     while (true) {
                       const std::optional<Text> heard = co_await stream.async_read(asio::use_awaitable);
                       if (!heard) break;
                       Text answer{heard->text + "!"};
                       co_await stream.async_write(answer, asio::use_awaitable);
                     }
                     Text last{"bye"};
                     co_await stream.async_write(last, asio::use_awaitable);
                   })}};
  RpcClient client{loopback::connect(context, server.port())};
  std::vector<std::string> heard;
  asio::co_spawn(
      context,
      [](RpcClient& by, std::vector<std::string>& all) -> asio::awaitable<void> {
        auto stream = by.open<Chat>();
        for (int i = 0; i < 200; ++i) {
          Text text{std::to_string(i)};
          co_await stream.async_write(text, asio::use_awaitable);
          const std::optional<Text> answer = co_await stream.async_read(asio::use_awaitable);
          all.push_back(answer ? answer->text : "none");
        }
        stream.end_writes();
        while (true) {
          const std::optional<Text> answer = co_await stream.async_read(asio::use_awaitable);
          if (!answer) break;
          all.push_back(answer->text);
        }
        all.push_back("end");
      }(client, heard),
      [](const std::exception_ptr& thrown) { CHECK_FALSE(thrown); });
  run_until(context, [&] { return !heard.empty() && heard.back() == "end"; });
  REQUIRE(heard.size() == 202);
  CHECK(heard[199] == "199!");
  CHECK(heard[200] == "bye");
}

TEST_CASE("ServerStream: when the server is destroyed, waiting reads at both ends complete", "[rpc]") {
  asio::io_context context{1};
  std::vector<std::error_code> at_server;
  using Handler = std::function<void(ServerStream<Chat, ServerConnection>)>;
  using ChatRouter = Router<detail::Route<Chat, Handler>>;
  std::optional<RpcServer<ChatRouter>> server;
  server.emplace(context.get_executor(), anywhere, ChatRouter{on<Chat>(Handler{[&](auto stream) {
                   stream.async_read([&](std::error_code ec, const std::optional<Text>&) { at_server.push_back(ec); });
                 }})});
  RpcClient client{loopback::connect(context, server->port())};
  auto stream = client.open<Chat>();
  std::vector<std::error_code> at_client;
  stream.async_read([&](std::error_code ec, const std::optional<Text>&) { at_client.push_back(ec); });
  run_until(context, [&] { return server->connections() == 1; });
  while (context.poll() != 0) {
  }
  server.reset();
  CHECK(at_server.empty());
  run_until(context, [&] { return !at_server.empty() && !at_client.empty(); });
  CHECK(at_server == std::vector<std::error_code>{rpc_errc::closed});
  CHECK(at_client == std::vector<std::error_code>{rpc_errc::lost});
  stream.async_write({"too late"}, [&](std::error_code ec) { at_client.push_back(ec); });
  run_until(context, [&] { return at_client.size() == 2; });
  CHECK(at_client[1] == rpc_errc::lost);
}

TEST_CASE("ServerStream: an item that is too large for the client ends the call at both ends", "[rpc]") {
  asio::io_context context{1};
  std::optional<std::error_code> written;
  RpcServer server{context.get_executor(), anywhere, Router{on<Count>([&](const Text&, auto stream) {
                     stream.async_write({0, stream::body(1'000)}, [&written, stream](std::error_code ec) {
                       CHECK_FALSE(ec);
                       stream.async_write({1, stream::body(3'000)}, [&](std::error_code why) { written = why; });
                     });
                   })}};
  RpcClientOptions options;
  options.limits.body_bytes = 2'000;
  RpcClient client{loopback::connect(context, server.port()), options};
  auto stream = client.open<Count>({""});
  int items = 0;
  std::error_code read;
  std::function<void(std::error_code, std::optional<Bulk>)> take = [&](std::error_code ec, std::optional<Bulk> item) {
    items += item.has_value();
    read = ec;
    if (item) stream.async_read(take);
  };
  stream.async_read(take);
  run_until(context, [&] { return written && read; });
  CHECK(*written == rpc_errc::too_large);
  CHECK(read == rpc_errc::too_large);
  CHECK(items == 1);
}
