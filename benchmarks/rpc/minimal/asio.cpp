// SPDX-License-Identifier: Apache-2.0
// An echo server with Asio alone: only its compile time and binary size are measured.
#ifdef NARROW_INCLUDES
#include <asio/buffer.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/write.hpp>
#else
#include <asio.hpp>
#endif

#include <array>
#include <cstddef>
#include <memory>
#include <system_error>
#include <utility>

namespace {

using Tcp = asio::ip::tcp;

class Session : public std::enable_shared_from_this<Session> {
 public:
  explicit Session(Tcp::socket socket) : socket_{std::move(socket)} {}

  void read() {
    socket_.async_read_some(asio::buffer(bytes_), [self = shared_from_this()](std::error_code ec, std::size_t count) {
      if (!ec) self->write(count);
    });
  }

 private:
  void write(std::size_t count) {
    asio::async_write(socket_, asio::buffer(bytes_, count),
                      [self = shared_from_this()](std::error_code ec, std::size_t) {
                        if (!ec) self->read();
                      });
  }

  Tcp::socket socket_;
  std::array<char, 4096> bytes_;
};

void accept(Tcp::acceptor& acceptor) {
  acceptor.async_accept([&acceptor](std::error_code ec, Tcp::socket socket) {
    if (!ec) std::make_shared<Session>(std::move(socket))->read();
    accept(acceptor);
  });
}

}  // namespace

auto main() -> int {
  asio::io_context context{1};
  Tcp::acceptor acceptor{context, {asio::ip::address_v4::loopback(), 7000}};
  accept(acceptor);
  context.run();
}
