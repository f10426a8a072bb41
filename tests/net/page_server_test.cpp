// SPDX-License-Identifier: Apache-2.0
#include <distrib/net/page_server.hpp>

#include "support/catch.hpp"
#include "support/loopback.hpp"

#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using namespace distrib;
using support::run_until;

namespace {

/// A server with the pages /now, whose content is there at once, and /later, whose content the test brings.
struct PageHouse {
  PageHouse() {
    std::vector<PageServer::Served> pages;
    pages.push_back({{"/now", "text/a"}, [](const PageServer::Show& show) { show("content"); }});
    pages.push_back({{"/later", "text/b"}, [this](PageServer::Show show) { waiting.push_back(std::move(show)); }});
    server = std::make_unique<PageServer>(context.get_executor(), Address{"127.0.0.1", 0}, std::move(pages));
  }
  auto visitor(const std::string& path) -> TcpSocket {
    TcpSocket socket{context.get_executor()};
    socket.connect({asio::ip::address_v4::loopback(), server->port()});
    asio::write(socket, asio::buffer("GET " + path + " HTTP/1.1\r\n\r\n"));
    return socket;
  }
  /// Returns all that a visitor gets until its connection ends.
  auto answer_to(TcpSocket& socket) -> std::string {
    std::string answer;
    bool ended = false;
    asio::async_read(socket, asio::dynamic_buffer(answer), [&](const std::error_code&, std::size_t) { ended = true; });
    run_until(context, [&] { return ended; });
    return answer;
  }

  asio::io_context context{1};
  std::vector<PageServer::Show> waiting;
  std::unique_ptr<PageServer> server;
};

}  // namespace

TEST_CASE("PageServer: each page has its content and type", "[net]") {
  PageHouse house;
  TcpSocket first = house.visitor("/now");
  CHECK(house.answer_to(first) ==
        "HTTP/1.1 200 OK\r\nContent-Type: text/a\r\nContent-Length: 7\r\nConnection: close\r\n\r\ncontent");
  TcpSocket second = house.visitor("/later");
  run_until(house.context, [&] { return house.waiting.size() == 1; });
  house.waiting.front()("at last");
  CHECK(house.answer_to(second) ==
        "HTTP/1.1 200 OK\r\nContent-Type: text/b\r\nContent-Length: 7\r\nConnection: close\r\n\r\nat last");
  TcpSocket third = house.visitor("/other");
  CHECK(house.answer_to(third).starts_with("HTTP/1.1 404 Not Found\r\n"));
}

TEST_CASE("PageServer: more than 16 visitors at once are disconnected, and later ones are served again", "[net]") {
  PageHouse house;
  std::vector<TcpSocket> visitors;
  for (std::size_t i = 0; i < PageServer::most_visitors; ++i) visitors.push_back(house.visitor("/later"));
  run_until(house.context, [&] { return house.waiting.size() == PageServer::most_visitors; });
  TcpSocket further = house.visitor("/now");
  CHECK(house.answer_to(further).empty());
  house.waiting.front()("content");
  CHECK(house.answer_to(visitors.front()).ends_with("content"));
  TcpSocket later = house.visitor("/now");
  CHECK(house.answer_to(later).ends_with("content"));
}

TEST_CASE("PageServer: a page that is ready after the server's end is not shown", "[net]") {
  PageHouse house;
  TcpSocket visitor = house.visitor("/later");
  run_until(house.context, [&] { return house.waiting.size() == 1; });
  house.server.reset();
  house.waiting.front()("content");
  CHECK(house.answer_to(visitor).empty());
}
