// SPDX-License-Identifier: Apache-2.0
// A server, its clients and their calls start and end in any order, over real sockets: nothing hangs, and every call
// ends once. `tests/run.sh soak` runs many more orders than the default test.
#include <distrib/net/connect.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/rpc/router.hpp>
#include <distrib/rpc/rpc_client.hpp>
#include <distrib/rpc/rpc_server.hpp>
#include <distrib/sim/dice.hpp>

#include "rpc/messages.hpp"
#include "support/catch.hpp"
#include "support/loopback.hpp"

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/write.hpp>

#include <sys/socket.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using distrib::IoPool;
using distrib::RpcClient;
using distrib::TcpSocket;
using distrib::sim::Dice;
using messages::Echo;
using messages::Text;
using namespace std::chrono_literals;

namespace {

/// Aborts the program, and names the seed, if an order takes longer than 60 s.
class Watchdog {
 public:
  Watchdog(std::uint64_t seed, std::size_t threads)
      : thread_{[this, seed, threads] {
          std::unique_lock lock{mutex_};
          if (done_.wait_for(lock, 60s, [this] { return is_done_; })) return;
          std::fprintf(stderr, "the order of seed %llu on %zu threads hangs\n", static_cast<unsigned long long>(seed),
                       threads);
          std::abort();
        }} {}
  Watchdog(const Watchdog&) = delete;
  ~Watchdog() {
    {
      const std::scoped_lock lock{mutex_};
      is_done_ = true;
    }
    done_.notify_one();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  bool is_done_ = false;
  std::thread thread_;
};

/// Used only on the server's executor.
struct ServerSide {
  std::vector<std::function<void()>> kept;
  std::function<void()> end;
};

/// Answers calls. The first letter of a call's text says how.
struct OrderAnswer {
  ServerSide* side;
  IoPool* pool;

  void operator()(const Text& request, const auto& call) const {
    const auto executor = call.connection()->get_executor();
    switch (request.text.at(0)) {
      case 'k': side->kept.emplace_back([call, request] { call.reply(request); }); break;
      case 'n': break;  // no answer
      case 'f': call.fail(distrib::rpc_errc::exhausted, "as asked"); break;
      case 'p': asio::post(executor, [call, request] { call.reply(request); }); break;
      case 'a':
        asio::post(pool->executor(), [from_anywhere = call.from_anywhere(), request] { from_anywhere.reply(request); });
        break;
      case 'e':
        call.reply(request);
        asio::post(executor, [server = side] { server->end(); });
        break;
      default: call.reply(request);
    }
  }
};
using OrderRouter = decltype(distrib::Router{distrib::on<Echo>(std::declval<OrderAnswer>())});
using OrderServer = distrib::RpcServer<OrderRouter>;

struct MadeCall {
  int ends = 0;
  asio::cancellation_signal cancellation;
};

/// Used only on the clients' executor.
struct ClientSide {
  std::unique_ptr<RpcClient> client;
  std::unique_ptr<distrib::Connector> connector;
  int socket = -1;  // valid while the connection is open
};

/// One order, drawn from a seed. Only this thread draws random numbers, before it posts a step, so that a seed always
/// makes the same steps; how the steps interleave depends on the threads.
class Order {
 public:
  Order(std::uint64_t seed, std::size_t threads) : dice_{seed}, pool_{threads}, joins_{dice_.percent(60)} {
    asio::io_context context{1};
    port_ = support::Acceptor{context, support::loopback()}.local_endpoint().port();  // probably free again
    server_side_.end = [this] { server_.reset(); };
  }

  /// Returns what was wrong; an empty text if nothing.
  auto run() -> std::string {
    for (auto steps = dice_.between(5, 60); steps > 0; --steps) {
      step();
      if (dice_.percent(10)) wait_for_all();
    }
    end();
    for (const MadeCall& call : calls_) {
      if (call.ends > 1) return "a call ended twice";
      if (joins_ && call.ends == 0) return "a call has no end";
    }
    return {};
  }

  auto answered() const -> int { return answered_; }

 private:
  template <class Step>
  void at_server(Step step) {
    asio::post(pool_.executor(0), std::move(step));
  }
  template <class Step>
  void at_clients(Step step) {
    asio::post(pool_.executor(pool_.size() - 1), std::move(step));
  }

  /// Waits until everything posted so far has run.
  void wait_for_all() {
    std::promise<void> server;
    std::promise<void> clients;
    at_server([&] { server.set_value(); });
    at_clients([&] { clients.set_value(); });
    server.get_future().wait();
    clients.get_future().wait();
  }

  void step() {
    const auto chance = dice_.below(100);
    if (chance < 12) return at_server([this, drains = dice_.percent(30)] { start_server(drains); });
    if (chance < 16) return at_server([this] { server_.reset(); });
    if (chance < 20)
      return at_server([this] { server_ == nullptr ? void() : server_->drain(std::chrono::seconds{10}); });
    if (chance < 28) return at_server([this, n = dice_.below(8)] { answer_kept(n); });
    if (chance < 32) return stranger();
    if (clients_made_ == 0 || chance < 40) {
      ++clients_made_;
      return at_clients([this, waits = dice_.percent(30)] { start_client(waits); });
    }
    const std::size_t which = dice_.below(clients_made_);
    if (chance < 44) return at_clients([this, which] { clients_[which]->client.reset(); });
    if (chance < 47) return at_clients([this, which] { lose(*clients_[which]); });
    if (chance < 55) {
      const std::size_t call = dice_.below(200);
      return at_clients([this, call] {
        if (call < calls_.size()) calls_[call].cancellation.emit(asio::cancellation_type::terminal);
      });
    }
    std::string text(dice_.percent(10) ? dice_.below(300'000) : dice_.below(100), 'x');
    text.insert(0, 1, dice_.pick({'x', 'x', 'x', 'k', 'k', 'n', 'f', 'p', 'a', dice_.percent(20) ? 'e' : 'x'}));
    distrib::CallOptions options;
    if (dice_.percent(30)) options = std::chrono::milliseconds{dice_.below(20)};
    const auto again = dice_.percent(20) ? dice_.below(5) : 0;
    at_clients([this, which, text, options, again] { call(*clients_[which], text, options, again); });
  }

  // --- on the server's executor ---

  void start_server(bool drains) {
    server_.reset();
    try {
      server_ = make_server(port_);
    } catch (const std::system_error&) {  // another process uses the port by now
      server_ = make_server(0);
    }
    port_ = server_->port();
    if (drains) server_->drain(std::chrono::seconds{10});
  }
  auto make_server(std::uint16_t port) -> std::unique_ptr<OrderServer> {
    return std::make_unique<OrderServer>(pool_.executor(0), distrib::Address{"127.0.0.1", port},
                                         OrderRouter{distrib::on<Echo>(OrderAnswer{&server_side_, &pool_})});
  }

  void answer_kept(std::size_t n) {
    if (server_side_.kept.empty()) return;
    std::swap(server_side_.kept[n % server_side_.kept.size()], server_side_.kept.back());
    const auto answer = std::move(server_side_.kept.back());
    server_side_.kept.pop_back();
    answer();
  }

  // --- on the clients' executor ---

  auto address() const -> distrib::Address { return {"127.0.0.1", port_}; }

  void start_client(bool waits) {
    ClientSide& side = *clients_.emplace_back(std::make_unique<ClientSide>());
    if (waits) {
      distrib::ConnectOptions options;
      options.first_pause = options.longest_pause = 1ms;
      side.connector =
          std::make_unique<distrib::Connector>(pool_.executor(pool_.size() - 1), address(), options,
                                               [&side](const distrib::Error&, std::optional<TcpSocket> socket) {
                                                 if (socket) use(side, *std::move(socket));
                                               });
      return;
    }
    TcpSocket socket{pool_.executor(pool_.size() - 1)};
    std::error_code ec;
    socket.connect({asio::ip::address_v4::loopback(), port_}, ec);
    if (!ec) use(side, std::move(socket));
  }

  static void use(ClientSide& side, TcpSocket socket) {
    side.socket = socket.native_handle();
    side.client = std::make_unique<RpcClient>(std::move(socket), distrib::RpcClientOptions{},
                                              [&side](const distrib::Error&) { side.socket = -1; });
  }

  static void lose(ClientSide& side) {
    if (side.client != nullptr && side.socket != -1) ::shutdown(side.socket, SHUT_RDWR);
  }

  void call(ClientSide& side, const std::string& text, const distrib::CallOptions& options, std::uint64_t again) {
    if (side.client == nullptr) return;
    MadeCall& made = calls_.emplace_back();
    side.client->async_call<Echo>(
        {text}, options,
        asio::bind_cancellation_slot(made.cancellation.slot(),
                                     [this, &side, &made, text, options, again](std::error_code ec, const Text& reply) {
                                       ++made.ends;
                                       if (!ec && reply.text == text) ++answered_;
                                       if (again > 0) call(side, text, options, again - 1);
                                     }));
  }

  // --- on this thread ---

  /// Connects, sends something that is not a greeting, or nothing, and disconnects.
  void stranger() {
    asio::io_context context{1};
    TcpSocket socket{context.get_executor()};
    std::error_code ec;
    socket.connect({asio::ip::address_v4::loopback(), port_}, ec);
    if (ec) return;
    const std::string garbage(dice_.below(100), 'G');
    asio::write(socket, asio::buffer(garbage), ec);
    if (dice_.percent(50)) socket.set_option(asio::socket_base::linger{true, 0}, ec);
  }

  void end() {
    std::vector<std::function<void()>> last;
    last.emplace_back([this] { at_server([this] { server_.reset(); }); });
    last.emplace_back([this] { at_server([this] { server_side_.kept.clear(); }); });
    for (std::size_t i = 0; i < clients_made_; ++i)
      last.emplace_back([this, i] {
        at_clients([this, i] {
          clients_[i]->connector.reset();
          clients_[i]->client.reset();
        });
      });
    for (std::size_t i = last.size(); i > 1; --i) std::swap(last[i - 1], last[dice_.below(i)]);
    for (const auto& step : last) step();
    wait_for_all();
    // What these steps have released may have started something again.
    at_server([this] {
      server_.reset();
      server_side_.kept.clear();
    });
    wait_for_all();
    if (!joins_) pool_.stop();  // what has not started yet is dropped
    pool_.join();
  }

  Dice dice_;
  ServerSide server_side_;
  std::deque<MadeCall> calls_;  // before the pool, whose handlers refer to them
  std::vector<std::unique_ptr<ClientSide>> clients_;
  IoPool pool_;
  std::unique_ptr<OrderServer> server_;
  std::atomic<std::uint16_t> port_ = 0;
  bool joins_;
  std::size_t clients_made_ = 0;
  std::atomic<int> answered_ = 0;
};

/// Runs `count` orders, in turn on one thread and on two.
void go_through(std::uint64_t first, std::uint64_t count) {
  int answered = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const std::size_t threads = 1 + seed % 2;
    const Watchdog watchdog{seed, threads};
    Order order{seed, threads};
    const std::string wrong = order.run();
    answered += order.answered();
    CAPTURE(seed);
    CHECK(wrong == "");
  }
  CHECK(answered > 0);
}

}  // namespace

TEST_CASE("Rpc: started and stopped in any order, nothing hangs and every call ends once", "[soak]") {
  go_through(0, 200);
}

TEST_CASE("Rpc: 1000 more orders of starts and stops", "[.soak]") { go_through(200, 1000); }
