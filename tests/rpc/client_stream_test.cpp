// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/client_stream.hpp>

#include <distrib/rpc/router.hpp>
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
#include <stdexcept>
#include <string>
#include <vector>

using namespace distrib;
using namespace std::chrono_literals;
using loopback::anywhere;
using messages::Bulk;
using messages::Chat;
using messages::Count;
using messages::Echo;
using messages::Sum;
using messages::Text;
using support::run_until;

namespace {

/// Methods with the names of `Sum` and `Count` but another kind, as a server of another release may have.
struct SumAtOnce : Method<"test.Sum", Empty, std::uint64_t> {};
struct CountAtOnce : Method<"test.Count", Text, Text> {};

}  // namespace

TEST_CASE("ClientStream: a deadline ends the stream, and its read and write fail with deadline_passed", "[rpc]") {
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

TEST_CASE("ClientStream: after a cancelled read the stream continues", "[rpc]") {
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

TEST_CASE("ClientStream: the item of a cancelled write is not sent", "[rpc]") {
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
  stream.end_writes();  // after the item that waits
  listen();
  run_until(context, [&] { return heard.size() == initial_credit + 1; });
  CHECK(heard.back() == "last");
  CHECK(written == initial_credit + 1);
}

TEST_CASE("ClientStream: an answer of another kind ends only its call", "[rpc]") {
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

TEST_CASE("ClientStream: many streams at once, some of them destroyed early, beside plain calls", "[rpc]") {
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

TEST_CASE("ClientStream: the end is sent even if the write before it was cancelled", "[rpc]") {
  asio::io_context context{1};
  std::function<void()> listen;
  unsigned heard = 0;
  RpcServer server{context.get_executor(), anywhere, Router{on<Sum>([&](auto stream) {
                     listen = [&, stream] {
                       stream.async_read([&, stream](std::error_code, const std::optional<Bulk>& item) {
                         if (!item) return stream.reply({heard, nullptr});
                         ++heard;
                         listen();
                       });
                     };
                   })}};
  RpcClient client{loopback::connect(context, server.port())};
  auto stream = client.open<Sum>();
  unsigned written = 0;
  for (unsigned i = 0; i < initial_credit; ++i) {
    stream.async_write({i, nullptr}, [&](std::error_code ec) { written += ec ? 0U : 1U; });
    run_until(context, [&] { return written == i + 1; });
  }
  asio::cancellation_signal cancel;
  std::error_code end;
  stream.async_write({1, nullptr}, asio::bind_cancellation_slot(cancel.slot(), [&](std::error_code ec) { end = ec; }));
  std::optional<std::error_code> finished;
  stream.async_finish([&](std::error_code ec, const Bulk&) { finished = ec; });
  run_until(context, [&] { return static_cast<bool>(listen); });
  cancel.emit(asio::cancellation_type::terminal);
  run_until(context, [&] { return static_cast<bool>(end); });
  CHECK(end == rpc_errc::cancelled);
  listen();
  run_until(context, [&] { return finished.has_value(); });
  CHECK_FALSE(*finished);
  CHECK(heard == initial_credit);
}

TEST_CASE("ClientStream: a write after end_writes fails, and breaks no other call", "[rpc]") {
  asio::io_context context{1};
  std::function<void()> answer;
  RpcServer server{
      context.get_executor(), anywhere,
      Router{on<Echo>([&](const Text& text, auto call) { answer = [=] { call.reply(text); }; }), on<Sum>([](auto) {})}};
  RpcClient client{loopback::connect(context, server.port())};
  std::optional<std::error_code> other;
  client.async_call<Echo>({"a"}, {}, [&](std::error_code ec, const Text&) { other = ec; });
  auto stream = client.open<Sum>();
  stream.end_writes();
  std::optional<std::error_code> wrote;
  stream.async_write({1, nullptr}, [&](std::error_code ec) { wrote = ec; });
  run_until(context, [&] { return wrote && answer; });
  CHECK(*wrote == rpc_errc::closed);
  answer();
  run_until(context, [&] { return other.has_value(); });
  CHECK_FALSE(*other);
}

TEST_CASE("ClientStream: a deferred read may start after stream and client were destroyed", "[rpc]") {
  asio::io_context context{1};
  RpcServer server{context.get_executor(), anywhere, Router{on<Count>([](const Text&, auto) {})}};
  std::optional<RpcClient> client{loopback::connect(context, server.port())};
  std::optional stream{client->open<Count>({""})};
  auto read = stream->async_read(distrib::deferred);
  stream.reset();
  client.reset();
  context.poll();
  std::optional<std::error_code> end;
  std::move(read)([&](std::error_code ec, const std::optional<Bulk>&) { end = ec; });
  run_until(context, [&] { return end.has_value(); });
  CHECK(*end);
}

namespace {

/// A message whose codec throws when it reads a 1.
struct FragileItem {
  std::uint64_t step = 0;
  void encode(WireWriter& head) const { head.varint(1, step); }
  [[nodiscard]] auto decode(ByteView head) -> bool {
    WireReader reader{head};
    while (reader.next()) step = reader.uint64();
    if (step == 1) throw std::length_error{"decode"};
    return reader.ok();
  }
};
struct CountFragile : StreamingMethod<"test.CountFragile", Text, FragileItem> {};

}  // namespace

TEST_CASE("ClientStream: an item whose codec throws ends the stream with bad_message", "[rpc]") {
  asio::io_context context{1};
  RpcServer server{context.get_executor(), anywhere,
                   Router{on<CountFragile>([](Text, auto stream) -> asio::awaitable<void> {
                     for (std::uint64_t i = 0; i < 3; ++i) {
                       FragileItem item{i};
                       co_await stream.async_write(item, asio::use_awaitable);
                     }
                   })}};
  RpcClient client{loopback::connect(context, server.port())};
  auto stream = client.open<CountFragile>({""});
  int items = 0;
  std::optional<std::error_code> end;
  std::function<void(std::error_code, std::optional<FragileItem>)> take = [&](std::error_code ec,
                                                                              std::optional<FragileItem> item) {
    if (!item) {
      end = ec;
      return;
    }
    ++items;
    stream.async_read(take);
  };
  stream.async_read(take);
  run_until(context, [&] { return end.has_value(); });
  CHECK(*end == rpc_errc::bad_message);
  CHECK(items == 1);
}
