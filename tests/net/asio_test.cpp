// SPDX-License-Identifier: Apache-2.0
#include <distrib/net/asio.hpp>

#include "support/catch.hpp"

#include <chrono>
#include <memory>
#include <tuple>

#if !defined(ASIO_HAS_CO_AWAIT)
#error "the door leaves Asio without coroutines"
#endif

TEST_CASE("asio: the header provides posting and timers", "[net]") {
  asio::io_context context{1};
  int posted = 0;
  asio::post(context, [&posted] { ++posted; });
  asio::steady_timer timer{context, std::chrono::nanoseconds{0}};
  timer.async_wait([&posted](const std::error_code& ec) { posted += ec ? 0 : 10; });
  CHECK(context.run() == 2);
  CHECK(posted == 11);
}

TEST_CASE("asio: as_tuple and deferred have one name for all versions", "[net]") {
  asio::io_context context{1};
  asio::steady_timer timer{context, std::chrono::nanoseconds{0}};
  bool waited = false;
  timer.async_wait(distrib::as_tuple([&waited](std::tuple<std::error_code> result) { waited = !std::get<0>(result); }));
  auto later = timer.async_wait(distrib::deferred);
  context.run();
  CHECK(waited);
  waited = false;
  std::move(later)([&waited](const std::error_code& ec) { waited = !ec; });
  context.restart();
  context.run();
  CHECK(waited);
}

TEST_CASE("asio: system errors get the category of the standard library", "[net]") {
  asio::io_context context{1};
  distrib::TcpSocket socket{context.get_executor()};
  std::error_code ec;
  socket.connect({asio::ip::address_v4::loopback(), 0}, ec);
  const std::error_code ours = distrib::detail::without_asio(ec);
  CHECK(ours);
  CHECK(ours.category() == std::system_category());
  CHECK(ours.value() == ec.value());
  CHECK(distrib::detail::without_asio(asio::error::eof) == asio::error::eof);  // not an error of the system
  CHECK(!distrib::detail::without_asio({}));
}
