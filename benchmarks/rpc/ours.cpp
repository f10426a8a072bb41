// SPDX-License-Identifier: Apache-2.0
// The library's RpcServer and RpcClient with everything that they do: checksums, limits, and a deadline for every call.
#include "methods.hpp"

#include <distrib/core/bytes.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/rpc.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;

/// Returns the first `size` bytes of the block, in a buffer that each thread makes once for each size.
auto live_block(std::uint32_t size) -> const distrib::SharedBuffer& {
  static thread_local std::map<std::uint32_t, distrib::SharedBuffer> blocks;
  distrib::SharedBuffer& made = blocks[size];
  if (made == nullptr) {
    auto buffer = std::make_shared<distrib::AlignedBuffer>(size);
    std::memcpy(buffer->data(), block().data(), size);
    made = std::move(buffer);
  }
  return made;
}

auto wanted_size(const Small& pull) -> std::uint32_t {
  return std::min(distrib::load_le<std::uint32_t>(pull.bytes.data()), static_cast<std::uint32_t>(block_bytes));
}

/// Adds the floats of a push to an array, as a parameter server does. Does nothing if `counts` is false.
class Sum {
 public:
  explicit Sum(bool counts) : counts_{counts} {}

  void add(distrib::ByteView bytes) {
    if (!counts_) return;
    static thread_local std::vector<float> floats(block_bytes / sizeof(float));
    float* const to = floats.data() + at_;
    const std::size_t count = bytes.size() / sizeof(float);
    for (std::size_t i = 0; i < count; ++i) to[i] += distrib::load_le<float>(bytes.data() + i * sizeof(float));
    at_ += count;
  }

 private:
  bool counts_;
  std::size_t at_ = 0;
};

template <class Call>
struct Chunks {
  void chunk(distrib::ByteView bytes) { sum.add(bytes); }
  void end() { call.reply(small()); }
  Call call;
  Sum sum;
};

auto push(const Options& options) {
  return distrib::on<Push>([counts = options.apply != 0](const Bulk& request, const auto& call) {
    Sum{counts}.add(request.body->bytes());
    call.reply(small());
  });
}

auto push_in_chunks(const Options& options) {
  return distrib::on_chunks<Push>(
      [counts = options.apply != 0](Bulk, auto call, std::size_t) { return Chunks{call, Sum{counts}}; });
}

auto router(auto push) {
  return distrib::Router{
      distrib::on<Echo>([](const Small& request, const auto& call) { call.reply(request); }),
      distrib::on<Echo256>([](const Sized<256>& request, const auto& call) { call.reply(request); }),
      push,
      distrib::on<Pull>([](Small request, auto call) { call.reply({live_block(wanted_size(request))}); }),
      distrib::on<Make>([](Small request, auto call) {
        auto fresh = std::make_shared<distrib::AlignedBuffer>(wanted_size(request));
        call.reply({std::move(fresh)});
      }),
      distrib::on<Hang>([](Small, auto) {}),
      distrib::on<Sleep>([](Small request, auto call) {
        const auto timer = std::make_shared<asio::steady_timer>(call.connection()->get_executor(), 300ms);
        timer->async_wait([timer, call, request](std::error_code) { call.reply(request); });
      })};
}

template <distrib::CallObserver Observes>
void serve_with(auto router, const Options& options, Observes& observer) {
  asio::io_context context{1};
  distrib::RpcServerOptions how;
  how.max_calls = static_cast<std::uint32_t>(options.max_calls);
  how.owed_bytes = std::size_t{32} << 20;
  how.silent_after = 600s;
  how.frame_within = 1s;
  how.transport = transport_of(options.tls);
  asio::signal_set end{context, SIGTERM};
  const distrib::Address address{"127.0.0.1", 0};
  map_counters(options);
  block();
  if (options.threads == 1) {
    distrib::RpcServer server{context.get_executor(), address, router, how, observer};
    end.async_wait([&](std::error_code, int) { server.drain(2s); });
    tell_port(server.port());
    context.run();
  } else {
    distrib::IoPool pool{options.threads};
    std::vector<std::remove_const_t<Observes>> observers(options.threads);
    distrib::RpcPoolServer server{pool, address, [&](std::size_t) { return router; }, how,
                                  [&](std::size_t thread) -> Observes& { return observers[thread]; }};
    end.async_wait([&](std::error_code, int) {});
    tell_port(server.port());
    context.run();
  }
}

void serve(const Options& options, auto& observer) {
  if (options.chunks != 0) serve_with(router(push_in_chunks(options)), options, observer);
  else serve_with(router(push(options)), options, observer);
}

/// Keeps `in_flight` calls in flight on each connection: whenever a call ends, the next begins (role load only).
template <class Method, class Client>
class Loop {
 public:
  Loop(const Options& options, std::vector<Client>& clients)
      : load_{options}, reply_size_{reply_size(options)}, goes_on_{options.role == "load"} {
    const auto bytes = request_bytes(options);
    if constexpr (requires { request_.body; }) {
      request_.body = live_block(options.bytes);
    } else {
      if (bytes.size() != request_.bytes.size()) fail("no method has requests of this size: see methods.hpp");
      std::memcpy(request_.bytes.data(), bytes.data(), bytes.size());
    }
    if (goes_on_) load_.start();
    for (Client& client : clients)
      for (std::size_t i = 0; i < options.in_flight; ++i) call(client);
  }

 private:
  void call(Client& client) {
    const auto ended = [this, &client](std::error_code ec, const typename Method::Reply& reply) {
      if (ec) fail(ec.message());
      if (size_of(reply) != reply_size_) fail("a reply has the wrong size");
      load_.completed();
      if (goes_on_) call(client);
    };
    client.template async_call<Method>(request_, 10s, ended);
  }

  static auto size_of(const auto& reply) -> std::size_t { return reply.bytes.size(); }
  static auto size_of(const Bulk& reply) -> std::size_t { return reply.body->size(); }

  Load load_;
  std::size_t reply_size_;
  bool goes_on_;
  typename Method::Request request_;
};

template <distrib::CallObserver Observes>
void load(const Options& options, Observes& observer) {
  using Client = distrib::BasicRpcClient<Observes>;
  asio::io_context context{1};
  std::vector<Client> clients;
  clients.reserve(options.connections);
  for (std::size_t i = 0; i < options.connections; ++i) {
    clients.push_back(connect(context, options, observer));
    context.poll();
  }
  if (options.role == "idle" && !options.used) {
    context.run_for(500ms);
    tell_connected(clients.size());
    context.run();
    return;
  }
  std::optional<Loop<Echo, Client>> echoes;
  std::optional<Loop<Echo256, Client>> large_echoes;
  std::optional<Loop<Push, Client>> pushes;
  std::optional<Loop<Pull, Client>> pulls;
  std::optional<Loop<Make, Client>> makes;
  if (options.method == "push") pushes.emplace(options, clients);
  else if (options.method == "pull") pulls.emplace(options, clients);
  else if (options.method == "make") makes.emplace(options, clients);
  else if (options.bytes == small_bytes) echoes.emplace(options, clients);
  else large_echoes.emplace(options, clients);
  if (options.role == "idle") {
    context.run_for(1s);
    tell_connected(clients.size());
  }
  context.run();
}

void run(const Options& options, auto& observer) {
  options.role == "serve" ? serve(options, observer) : load(options, observer);
}

}  // namespace

auto main(int argc, char** argv) -> int {
  const Options options{argc, argv};
  Metrics metrics;
  options.metrics ? run(options, metrics) : run(options, distrib::detail::no_call_observer);
}
