// SPDX-License-Identifier: Apache-2.0
// The floor: Asio alone, with callbacks. It reads ahead, handles all complete frames and answers them with one gather
// write. It has no features at all, so an RPC library on Asio cannot be much faster.
#include "frames.hpp"

#ifndef ASIO_STANDALONE
#define ASIO_STANDALONE
#endif
#include <asio/buffer.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>

#include <array>
#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

using Tcp = asio::ip::tcp;
using Socket = asio::basic_stream_socket<Tcp, asio::io_context::executor_type>;

/// One end of a connection; deletes itself when the connection ends. `Take` gets every frame, and the outbox for its
/// answer.
template <class Take>
class Connection {
 public:
  Connection(Socket socket, Take take) : socket_{std::move(socket)}, take_{std::move(take)} {
    std::error_code ignored;
    socket_.set_option(Tcp::no_delay{true}, ignored);
  }

  [[nodiscard]] auto out() -> Outbox& { return out_; }

  void start() {
    write();
    read();
  }

  void write() {
    if (writing_) return;
    const auto parts = out_.parts();
    if (parts.empty()) return;
    const std::size_t count = std::min(parts.size(), buffers_.size());
    for (std::size_t i = 0; i < count; ++i) buffers_[i] = {parts[i].data(), parts[i].size()};
    writing_ = true;
    socket_.async_write_some(std::span<const asio::const_buffer>{buffers_.data(), count},
                             [this](std::error_code ec, std::size_t written) {
                               writing_ = false;
                               if (ec || over_) return end();
                               out_.written(written);
                               write();
                             });
  }

 private:
  void read() {
    reading_ = true;
    const auto space = in_.space();
    socket_.async_read_some(
        asio::mutable_buffer{space.data(), space.size()}, [this](std::error_code ec, std::size_t count) {
          reading_ = false;
          if (ec || over_) return end();
          in_.filled(count);
          in_.each([this](const Header& header, std::span<const char> body) { take_(header, body, out_); });
          write();
          read();
        });
  }

  void end() {
    over_ = true;
    std::error_code ignored;
    socket_.close(ignored);
    if (!reading_ && !writing_) delete this;
  }

  Socket socket_;
  Take take_;
  Inbox in_;
  Outbox out_;
  std::array<asio::const_buffer, 64> buffers_;
  bool reading_ = false, writing_ = false, over_ = false;
};

struct Answer {
  void operator()(const Header& header, std::span<const char> body, Outbox& out) const {
    const auto reply = reply_to(header, body);
    out.add({static_cast<std::uint32_t>(reply.size()), header.method, header.call}, reply);
  }
};

/// A server of one or more threads. Each thread has an io_context, and each connection belongs to one of them.
class Server {
 public:
  explicit Server(std::size_t threads) {
    for (std::size_t i = 0; i < threads; ++i) contexts_.emplace_back(1);
    acceptor_.emplace(contexts_[0], Tcp::endpoint{asio::ip::address_v4::loopback(), 0});
    block();
    tell_port(acceptor_->local_endpoint().port());
    accept();
  }

  void run() {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < contexts_.size(); ++i)
      threads.emplace_back([this, i] {
        const auto work = asio::make_work_guard(contexts_[i]);
        contexts_[i].run();
      });
    contexts_[0].run();
  }

 private:
  void accept() {
    asio::io_context& context = contexts_[accepted_++ % contexts_.size()];
    acceptor_->async_accept(context.get_executor(), [this, &context](std::error_code ec, Socket socket) {
      if (!ec) {
        auto* const connection = new Connection<Answer>{std::move(socket), Answer{}};
        asio::post(context, [connection] { connection->start(); });
      }
      accept();
    });
  }

  std::deque<asio::io_context> contexts_;
  std::optional<asio::basic_socket_acceptor<Tcp, asio::io_context::executor_type>> acceptor_;
  std::size_t accepted_ = 0;
};

void load(const Options& options) {
  asio::io_context context{1};
  Caller caller{options};
  auto take = [&caller](const Header& header, std::span<const char>, Outbox& out) { caller.answered(header, out); };
  std::vector<Connection<decltype(take)>*> connections;
  for (std::size_t i = 0; i < options.connections; ++i) {
    Socket socket{context};
    socket.connect({asio::ip::address_v4::loopback(), options.port});
    connections.push_back(new Connection{std::move(socket), take});
  }
  if (options.role == "idle") tell_connected(connections.size());
  else caller.started();
  for (auto* const connection : connections) {
    if (options.role != "idle" || options.used) caller.begin(connection->out());
    connection->start();
  }
  context.run();
  fail("the server has closed the connections");
}

}  // namespace

auto main(int argc, char** argv) -> int {
  const Options options{argc, argv};
  if (options.role != "serve") load(options);
  map_counters(options);
  Server{options.threads}.run();
}
