// SPDX-License-Identifier: Apache-2.0
#include <distrib/net/page_thread.hpp>

#include "support/catch.hpp"
#include "support/loopback.hpp"

#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using namespace distrib;

TEST_CASE("PageThread: shows pages while no other thread runs a context, and ends at once", "[net]") {
  std::vector<PageServer::Served> pages;
  pages.push_back({{"/a", "text/a"}, [](const PageServer::Show& show) { show("content"); }});
  std::optional<PageThread> house;
  house.emplace(Address{"127.0.0.1", 0}, std::move(pages));
  asio::io_context context{1};
  TcpSocket visitor{context.get_executor()};
  visitor.connect({asio::ip::address_v4::loopback(), house->port()});
  TcpSocket silent{context.get_executor()};
  silent.connect({asio::ip::address_v4::loopback(), house->port()});
  asio::write(visitor, asio::buffer(std::string{"GET /a HTTP/1.1\r\n\r\n"}));
  CHECK_THAT(support::SocketPair::read_all(visitor), ContainsSubstring("\r\n\r\ncontent"));
  house.reset();
  CHECK(support::SocketPair::read_all(silent).empty());
}

TEST_CASE("PageThread: an address that cannot be used is an exception", "[net]") {
  const PageThread first{Address{"127.0.0.1", 0}, {}};
  CHECK_THROWS_AS((PageThread{Address{"127.0.0.1", first.port()}, {}}), std::system_error);
}
