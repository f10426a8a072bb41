// SPDX-License-Identifier: Apache-2.0
// Clients that send half of something, reset, stop reading or send garbage, for any time: a server keeps neither memory
// nor a descriptor of them, and answers another client all the time.
#include <distrib/net/io_pool.hpp>
#include <distrib/rpc/client_core.hpp>
#include <distrib/rpc/router.hpp>
#include <distrib/rpc/rpc_client.hpp>
#include <distrib/rpc/rpc_server.hpp>
#include <distrib/sim/dice.hpp>

#include "rpc/messages.hpp"
#include "rpc/stream.hpp"
#include "support/catch.hpp"
#include "support/loopback.hpp"

#include <asio/use_future.hpp>

#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using distrib::sim::Dice;
using messages::Echo;
using messages::Store;
using messages::Text;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

/// Returns the resident memory, without memory that was freed and that malloc keeps for later.
auto resident_bytes() -> std::size_t {
  ::malloc_trim(0);
  std::ifstream file{"/proc/self/statm"};
  std::size_t all = 0;
  std::size_t resident = 0;
  file >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

auto descriptors() -> std::size_t {
  const std::filesystem::directory_iterator files{"/proc/self/fd"};
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

struct ResetAnswer {
  void operator()(const Text& request, const auto& call) const {
    if (request.text == "never") return;
    if (request.text == "much") return call.reply({std::string(256 << 10, 'm')});
    call.reply(request);
  }
};
struct Keep {
  void operator()(const messages::Bulk&, const auto& call) const { call.reply({}); }
};
using ResetRouter = decltype(distrib::Router{distrib::on<Echo>(ResetAnswer{}), distrib::on<Store>(Keep{})});
using ResetServer = distrib::RpcServer<ResetRouter>;

/// Makes the bytes that a client would send: a greeting and calls.
class Said {
 public:
  void call(const std::string& text) {
    distrib::WireWriter head;
    Text{text}.encode(head);
    static_cast<void>(core_.call(Echo::id, head.view(), nullptr, {}, now_));
  }
  void store(std::size_t bytes) {
    static_cast<void>(core_.call(Store::id, {}, distrib::FrameBody{stream::body(bytes)}, {}, now_));
  }
  auto bytes() -> stream::Bytes { return stream::take_output(core_, now_); }

 private:
  Clock::time_point now_ = Clock::now();
  distrib::ClientCore core_{{}, now_};
};

/// The server, a neighbour (a client whose calls must be answered), and peers that behave badly.
class Reset {
 public:
  Reset() {
    std::promise<void> started;
    asio::post(pool_.executor(0), [&] {
      server_ = std::make_unique<ResetServer>(pool_.executor(0), distrib::Address{"127.0.0.1", 0},
                                              ResetRouter{distrib::on<Echo>(ResetAnswer{}), distrib::on<Store>(Keep{})},
                                              options());
      distrib::TcpSocket socket{pool_.executor(0)};
      socket.connect({asio::ip::address_v4::loopback(), server_->port()});
      neighbour_.emplace(std::move(socket));
      started.set_value();
    });
    started.get_future().get();
    port_ = server_->port();
    ask_neighbour();
    // The bytes of the peers are made once.
    Said small;
    for (int i = 0; i < 20; ++i) small.call(i % 5 == 0 ? "never" : "x");
    small_ = small.bytes();
    Said large;
    large.store(1 << 20);
    large_ = large.bytes();
    Said much;
    for (int i = 0; i < 64; ++i) much.call("much");
    much_ = much.bytes();
    // With its first socket a context opens descriptors of its own.
    distrib::TcpSocket{context_}.open(asio::ip::tcp::v4());
    idle_descriptors_ = descriptors();
  }
  Reset(const Reset&) = delete;
  ~Reset() {
    std::promise<void> stopped;
    asio::post(pool_.executor(0), [&] {
      neighbour_.reset();
      server_.reset();
      stopped.set_value();
    });
    stopped.get_future().get();
    pool_.join();
  }

  /// Connects one more peer, which behaves badly and disconnects, or stays for a while.
  void peer(Dice& dice) {
    distrib::TcpSocket socket{context_};
    socket.connect({asio::ip::address_v4::loopback(), port_});
    socket.non_blocking(true);
    switch (dice.below(8)) {
      case 0: break;  // sends nothing
      case 1: say(socket, stream::Bytes(1 + dice.below(5'000), std::byte{'G'})); break;  // like another program
      case 2: say(socket, small_, 1 + dice.below(small_.size())); break;  // stops anywhere
      case 3: say(socket, large_, 1 + dice.below(large_.size())); break;
      case 4: say(socket, much_); break;  // does not read the answers
      case 5: {  // sends damaged bytes
        stream::Bytes bytes = small_;
        bytes[dice.below(bytes.size())] ^= std::byte{1};
        say(socket, bytes);
        break;
      }
      case 6: {  // announces a request of the largest allowed size
        Said said;
        auto bytes = said.bytes();
        const auto header = distrib::encode_frame_header({distrib::FrameKind::request, 0, 1, 8, 1, 16 << 20});
        bytes.insert(bytes.end(), header.begin(), header.end());
        say(socket, bytes);
        break;
      }
      default:
        for (std::size_t at = 0; at < 100; ++at) say(socket, {small_[at]});  // byte by byte
    }
    staying_.push_back(std::move(socket));
    if (staying_.size() > 20) {
      std::swap(staying_[dice.below(staying_.size())], staying_.back());
      leave(dice.percent(1));
    }
  }

  /// Disconnects all peers, and waits until the server has noticed that, for at most 20 s. Returns the number of open
  /// descriptors.
  auto all_leave() -> std::size_t {
    while (!staying_.empty()) leave(false);
    const auto deadline = Clock::now() + 20s;
    while ((connections() != 1 || descriptors() > idle_descriptors_) && Clock::now() < deadline) ask_neighbour();
    return descriptors();
  }
  [[nodiscard]] auto idle_descriptors() const -> std::size_t { return idle_descriptors_; }

  void ask_neighbour() {
    std::promise<std::error_code> answer;
    auto answered = answer.get_future();
    asio::post(pool_.executor(0), [&] {
      neighbour_->async_call<Echo>({"neighbour"}, 20s, [&](std::error_code ec, const Text&) { answer.set_value(ec); });
    });
    REQUIRE(answered.get() == std::error_code{});
  }

 private:
  static auto options() -> distrib::RpcServerOptions {
    distrib::RpcServerOptions some;
    some.owed_bytes = 1 << 20;
    some.limits.body_bytes = 16 << 20;
    return some;
  }

  auto connections() -> std::size_t {
    std::promise<std::size_t> count;
    auto counted = count.get_future();
    asio::post(pool_.executor(0), [&] { count.set_value(server_->connections()); });
    return counted.get();
  }

  /// Sends as much as the system accepts.
  static void say(distrib::TcpSocket& socket, const stream::Bytes& bytes, std::optional<std::size_t> count = {}) {
    std::error_code ec;
    socket.write_some(asio::buffer(bytes.data(), count.value_or(bytes.size())), ec);
  }

  /// Disconnects a peer by a reset. `properly`: closes it instead; then the system keeps the port for a minute, so this
  /// is rare.
  void leave(bool properly) {
    std::error_code ignored;
    staying_.back().set_option(asio::socket_base::linger{!properly, 0}, ignored);
    staying_.pop_back();
  }

  distrib::IoPool pool_{1};
  std::unique_ptr<ResetServer> server_;
  std::optional<distrib::RpcClient> neighbour_;
  asio::io_context context_{1};
  std::vector<distrib::TcpSocket> staying_;
  std::uint16_t port_ = 0;
  std::size_t idle_descriptors_ = 0;
  stream::Bytes small_;
  stream::Bytes large_;
  stream::Bytes much_;
};

}  // namespace

TEST_CASE("Rpc: peers that reset in the middle leave no descriptor behind", "[soak]") {
  Reset reset;
  Dice dice{1};
  for (int i = 0; i < 500; ++i) {
    reset.peer(dice);
    if (i % 16 == 0) reset.ask_neighbour();
  }
  CHECK(reset.all_leave() == reset.idle_descriptors());
}

// Runs for DISTRIB_SOAK_SECONDS; 60 if that is not set.
TEST_CASE("Rpc: a storm of resets leaves neither memory nor descriptors behind", "[.soak]") {
  constexpr std::size_t most_growth = 4 << 20;  // of resident memory, after the first tenth of the time
  const char* const told = std::getenv("DISTRIB_SOAK_SECONDS");
  const std::chrono::seconds time{told == nullptr ? 60 : std::max(1, std::atoi(told))};
  const auto began = Clock::now();
  Reset reset;
  Dice dice{static_cast<std::uint64_t>(time.count())};
  std::size_t memory = 0;  // resident memory after the warm-up
  std::uint64_t peers = 0;
  auto tell_at = began + 5s;
  const auto state = [&](const char* when) {
    std::printf("%4lld s  %8llu peers  %6.1f MiB resident  %zu descriptors  %s\n",
                static_cast<long long>(std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - began).count()),
                static_cast<unsigned long long>(peers), static_cast<double>(resident_bytes()) / (1 << 20),
                descriptors(), when);
    std::fflush(stdout);
  };
  while (Clock::now() < began + time) {
    for (int i = 0; i < 16; ++i, ++peers) reset.peer(dice);
    reset.ask_neighbour();
    if (memory == 0 && Clock::now() >= began + time / 10) {
      CHECK(reset.all_leave() == reset.idle_descriptors());
      memory = resident_bytes();
      state("warm");
    }
    if (Clock::now() >= tell_at) {
      state("");
      tell_at += 5s;
    }
  }
  const std::size_t left = reset.all_leave();
  state("after all peers have left");
  CHECK(left == reset.idle_descriptors());
  CHECK(resident_bytes() <= memory + most_growth);
}
