// SPDX-License-Identifier: Apache-2.0
// What programmers usually write first with Asio: read a header, read its body, write a frame, with one coroutine for
// each connection of the server. The wire format is that of floor.cpp.
#include "frames.hpp"

#ifndef ASIO_STANDALONE
#define ASIO_STANDALONE
#endif
#include <asio/awaitable.hpp>
#include <asio/buffer.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/read.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

namespace {

using Tcp = asio::ip::tcp;

auto frame(const Header& header, std::span<const char> body) -> std::array<asio::const_buffer, 2> {
  return {asio::buffer(&header, sizeof header), asio::buffer(body.data(), body.size())};
}

auto answer(Tcp::socket socket) -> asio::awaitable<void> {
  socket.set_option(Tcp::no_delay{true});
  Header header;
  std::vector<char> body;
  try {
    while (true) {
      co_await asio::async_read(socket, asio::buffer(&header, sizeof header), asio::use_awaitable);
      body.resize(header.size);
      co_await asio::async_read(socket, asio::buffer(body), asio::use_awaitable);
      const auto reply = reply_to(header, body);
      header.size = static_cast<std::uint32_t>(reply.size());
      co_await asio::async_write(socket, frame(header, reply), asio::use_awaitable);
    }
  } catch (const std::system_error&) {
  }
}

auto accept(Tcp::acceptor& acceptor) -> asio::awaitable<void> {
  while (true) {
    Tcp::socket socket = co_await acceptor.async_accept(asio::use_awaitable);
    const auto executor = socket.get_executor();
    asio::co_spawn(executor, answer(std::move(socket)), asio::detached);
  }
}

void serve(const Options& options) {
  map_counters(options);
  asio::io_context context{1};
  Tcp::acceptor acceptor{context, {asio::ip::address_v4::loopback(), 0}};
  block();
  tell_port(acceptor.local_endpoint().port());
  asio::co_spawn(context, accept(acceptor), asio::detached);
  context.run();
}

/// One connection, which writes one request at a time.
class Client {
 public:
  Client(asio::io_context& context, const Options& options, Caller& caller) : socket_{context}, caller_{caller} {
    socket_.connect({asio::ip::address_v4::loopback(), options.port});
    socket_.set_option(Tcp::no_delay{true});
    body_.resize(reply_size(options));
    waiting_ = options.in_flight;
  }

  void start() {
    write();
    read();
  }

 private:
  void write() {
    if (writing_ || waiting_ == 0) return;
    --waiting_;
    writing_ = true;
    request_ = caller_.header();
    asio::async_write(socket_, frame(request_, caller_.request()), [this](std::error_code ec, std::size_t) {
      if (ec) fail(ec.message());
      writing_ = false;
      write();
    });
  }

  void read() {
    asio::async_read(socket_, asio::buffer(&reply_, sizeof reply_), [this](std::error_code ec, std::size_t) {
      if (ec) fail(ec.message());
      body_.resize(reply_.size);
      asio::async_read(socket_, asio::buffer(body_), [this](std::error_code failure, std::size_t) {
        if (failure) fail(failure.message());
        caller_.answered(reply_);
        ++waiting_;
        write();
        read();
      });
    });
  }

  Tcp::socket socket_;
  Caller& caller_;
  Header request_, reply_;
  std::vector<char> body_;
  std::size_t waiting_ = 0;  // calls whose request is still to be written
  bool writing_ = false;
};

void load(const Options& options) {
  asio::io_context context{1};
  Caller caller{options};
  std::vector<std::unique_ptr<Client>> clients;
  for (std::size_t i = 0; i < options.connections; ++i)
    clients.push_back(std::make_unique<Client>(context, options, caller));
  caller.started();
  for (const auto& client : clients) client->start();
  context.run();
}

}  // namespace

auto main(int argc, char** argv) -> int {
  const Options options{argc, argv};
  options.role == "serve" ? serve(options) : load(options);
}
