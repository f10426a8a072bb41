// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/client_stream.hpp>

#include <distrib/rpc/rpc_client.hpp>
#include <distrib/rpc/rpc_server.hpp>

#include "rpc/loopback.hpp"
#include "rpc/messages.hpp"
#include "rpc/stream.hpp"
#include "support/catch.hpp"
#include "support/loopback.hpp"

#include <asio/bind_cancellation_slot.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

using namespace distrib;
using namespace std::chrono_literals;
using messages::Bulk;
using messages::Chat;
using messages::Count;
using messages::Sum;
using messages::Text;
using support::run_until;

namespace {

const Address anywhere{"127.0.0.1", 0};

/// The same name as `Sum` and another way of going: what a server of another release may have.
struct SumAtOnce : Method<"test.Sum", Empty, std::uint64_t> {};
struct CountAtOnce : Method<"test.Count", Text, Text> {};

}  // namespace

TEST_CASE("ClientStream: a deadline ends it, and what waits says so", "[rpc]") {
  asio::io_context context{1};
  RpcServer server{context.get_executor(), anywhere, Router{on<Chat>([](auto) {})}};
  RpcClient client{loopback::connect(context, server.port())};
  auto stream = client.open<Chat>(20ms);
  std::vector<std::error_code> ends;
  stream.async_read([&](std::error_code ec, const std::optional<Text>&) { ends.push_back(ec); });
  run_until(context, [&] { return !ends.empty(); });
  stream.async_write({"late"}, [&](std::error_code ec) { ends.push_back(ec); });
  run_until(context, [&] { return ends.size() == 2; });
  CHECK(ends == std::vector<std::error_code>{rpc_errc::deadline_passed, rpc_errc::deadline_passed});
}

TEST_CASE("ClientStream: a read that is cancelled leaves the stream as it is", "[rpc]") {
  asio::io_context context{1};
  std::function<void()> answer;
  RpcServer server{context.get_executor(), anywhere, Router{on<Count>([&](const Text&, auto stream) {
                     answer = [stream] {
                       stream.async_write({7, nullptr}, [stream](std::error_code) { stream.end(); });
                     };
                   })}};
  RpcClient client{loopback::connect(context, server.port())};
  auto stream = client.open<Count>({});
  asio::cancellation_signal cancel;
  std::vector<std::error_code> ends;
  std::optional<Bulk> got;
  stream.async_read(asio::bind_cancellation_slot(
      cancel.slot(), [&](std::error_code ec, const std::optional<Bulk>&) { ends.push_back(ec); }));
  run_until(context, [&] { return static_cast<bool>(answer); });
  cancel.emit(asio::cancellation_type::terminal);
  CHECK(ends.empty());
  run_until(context, [&] { return ends.size() == 1; });
  CHECK(ends[0] == rpc_errc::cancelled);
  answer();
  stream.async_read([&](std::error_code ec, std::optional<Bulk> item) {
    CHECK_FALSE(ec);
    got = std::move(item);
  });
  run_until(context, [&] { return got.has_value(); });
  CHECK(got->step == 7);
}

TEST_CASE("ClientStream: a write that is cancelled is not sent", "[rpc]") {
  asio::io_context context{1};
  std::vector<std::string> heard;
  std::function<void()> listen;
  RpcServer server{context.get_executor(), anywhere, Router{on<Chat>([&](auto stream) {
                     listen = [&, stream] {
                       stream.async_read([&](std::error_code ec, const std::optional<Text>& text) {
                         if (ec || !text) return;
                         heard.push_back(text->text);
                         listen();
                       });
                     };
                   })}};
  RpcClient client{loopback::connect(context, server.port())};
  auto stream = client.open<Chat>();
  unsigned written = 0;
  for (unsigned i = 0; i < initial_credit; ++i) {
    stream.async_write({"item"}, [&](std::error_code ec) { written += ec ? 0U : 1U; });
    run_until(context, [&] { return written == i + 1; });
  }
  asio::cancellation_signal cancel;
  std::error_code end;
  stream.async_write({"taken back"},
                     asio::bind_cancellation_slot(cancel.slot(), [&](std::error_code ec) { end = ec; }));
  run_until(context, [&] { return static_cast<bool>(listen); });
  cancel.emit(asio::cancellation_type::terminal);
  CHECK_FALSE(end);
  run_until(context, [&] { return static_cast<bool>(end); });
  CHECK(end == rpc_errc::cancelled);
  stream.async_write({"last"}, [&](std::error_code ec) { written += ec ? 0U : 1U; });
  stream.end_writes();  // after what waits
  listen();
  run_until(context, [&] { return heard.size() == initial_credit + 1; });
  CHECK(heard.back() == "last");
  CHECK(written == initial_credit + 1);
}

TEST_CASE("ClientStream: an answer of another shape ends the call alone", "[rpc]") {
  asio::io_context context{1};
  RpcServer server{context.get_executor(), anywhere,
                   Router{on<SumAtOnce>([](Empty) { return ~std::uint64_t{0}; }),
                          on<CountAtOnce>([](const Text& text) { return text; }),
                          on<messages::Echo>([](const Text& text) { return text; })}};
  RpcClient client{loopback::connect(context, server.port())};
  std::vector<std::error_code> ends;
  auto sum = client.open<Sum>();
  sum.async_finish([&](std::error_code ec, const Bulk&) { ends.push_back(ec); });
  run_until(context, [&] { return ends.size() == 1; });
  CHECK(ends[0] == rpc_errc::bad_message);
  auto count = client.open<Count>({"a"});
  count.async_read([&](std::error_code ec, const std::optional<Bulk>&) { ends.push_back(ec); });
  run_until(context, [&] { return ends.size() == 2; });
  CHECK(ends[1] == rpc_errc::protocol);
  std::string answer;
  client.async_call<messages::Echo>({"still"}, {}, [&](std::error_code, const Text& text) { answer = text.text; });
  run_until(context, [&] { return !answer.empty(); });
  CHECK(answer == "still");
}

TEST_CASE("ClientStream: many at once, beside plain calls, some of them dropped", "[rpc]") {
  asio::io_context context{1};
  RpcServer server{context.get_executor(), anywhere,
                   Router{on<Count>([](const Text& request, auto stream) -> asio::awaitable<void> {
                            const auto items = static_cast<std::uint64_t>(std::stoi(request.text));
                            for (std::uint64_t i = 0; i < items; ++i) {
                              Bulk item{i, nullptr};
                              co_await stream.async_write(item, asio::use_awaitable);
                            }
                          }),
                          on<messages::Echo>([](const Text& text) { return text; })}};
  RpcClient client{loopback::connect(context, server.port())};
  unsigned open = 0;
  unsigned echoes = 0;
  for (int i = 0; i < 100; ++i) {
    asio::co_spawn(
        context,
        [](RpcClient& by, int number, unsigned& count) -> asio::awaitable<void> {
          ++count;
          auto stream = by.open<Count>({std::to_string(number * 5)});
          std::uint64_t seen = 0;
          while (number % 7 != 0 || seen < 3) {
            const auto item = co_await stream.async_read(asio::use_awaitable);
            if (!item) break;
            CHECK(item->step == seen);
            ++seen;
          }
          if (number % 7 != 0) CHECK(seen == static_cast<std::uint64_t>(number) * 5);
          --count;
        }(client, i, open),
        [](const std::exception_ptr& thrown) { CHECK_FALSE(thrown); });
    client.async_call<messages::Echo>({"x"}, {}, [&](std::error_code ec, const Text&) { echoes += ec ? 0U : 1U; });
  }
  run_until(context, [&] { return echoes == 100 && open == 0; });
}
