// SPDX-License-Identifier: Apache-2.0
// A task of job "ps", as it is, and a worker that speaks the protocol's methods. The job is asynchronous with one
// variable, one shard and one rank; its cut is one, in memory, at an end that never comes. Contributions are named,
// counted once and answered with the rank's progress, all bytes have checksums, every call has a deadline.
#include <distrib/cluster.hpp>
#include <distrib/core.hpp>
#include <distrib/net.hpp>
#include <distrib/optimizer.hpp>
#include <distrib/ps.hpp>
#include <distrib/rpc.hpp>

#include "values.hpp"  // whose names are global

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using distrib::Pull;
using distrib::Push;

auto job_of(const Options& options) -> distrib::Job {
  const auto elements = static_cast<std::int64_t>(options.bytes / sizeof(float));
  distrib::Job job;
  job.variables = {{"values", distrib::DType::float32, {elements}}};
  job.parts = {{0, distrib::Slice::whole({elements}), 0}};
  job.updater = "sgd " + distrib::Sgd{.learning_rate = learning_rate}.describe();
  job.consistency = distrib::AsynchronousParallel{}.describe();
  job.total_steps = std::uint64_t{1} << 60;
  return job;
}

auto serve() -> int {
  distrib::IoPool io{2};  // as the examples have: calls, and files
  distrib::Server server{io, {{"ps", {"127.0.0.1:0"}}, {"worker", {"127.0.0.1:1"}}}, "ps", 0};
  tell_port(server.port());
  return server.join();
}

auto connect(asio::io_context& context, const Options& options) -> distrib::RpcClient {
  distrib::TcpSocket socket{context};
  socket.connect({asio::ip::address_v4::loopback(), options.port});
  distrib::RpcClientOptions how;
  how.service = 0;
  how.categories = distrib::ps_categories();
  return distrib::RpcClient{std::move(socket), how};
}

/// Keeps requests in flight: whenever one ends, the next begins.
class Worker {
 public:
  Worker(asio::io_context& context, const Options& options)
      : options_{options}, load_{options}, client_{connect(context, options)}, halves_(options.in_flight) {}

  void start() {
    asio::co_spawn(client_.get_executor(), prepare(), [](const std::exception_ptr& failure) {
      if (failure) std::rethrow_exception(failure);
    });
  }

 private:
  auto prepare() -> asio::awaitable<void> {
    const distrib::Job job = job_of(options_);
    auto stream = client_.open<distrib::Join>({0, distrib::to_hex(job_hash(job)), to_text(job), {}});
    const auto joined = co_await stream.async_read(asio::use_awaitable);
    if (!joined || joined->kind != distrib::JoinItem::Kind::joined) fail("not joined");
    step_ = joined->progress.done;

    const distrib::SharedBuffer before = co_await values();
    const auto made = gradient(options_.bytes, before->as<float>());
    auto block = std::make_shared<distrib::AlignedBuffer>(options_.bytes);
    std::ranges::copy(made, block->as<float>().begin());
    gradient_ = std::move(block);
    co_await client_.async_call<Push>(next_push(), 10s, asio::use_awaitable);
    check_applied(before->as<float>(), made, (co_await values())->as<float>());

    load_.start();
    for (std::size_t slot = 0; slot < halves_.size(); ++slot) begin(slot);
    co_await stream.async_read(asio::use_awaitable);  // whoever lets go of the stream has left
    fail("the stream of Join has ended");
  }

  auto values() -> asio::awaitable<distrib::SharedBuffer> {
    const auto reply = co_await client_.async_call<Pull>({step_}, 10s, asio::use_awaitable);
    co_return reply.body;
  }

  auto next_push() -> distrib::PushRequest { return {++step_, 0, 0, gradient_}; }

  void begin(std::size_t slot) {
    if (options_.method != "pull") push(slot);
    if (options_.method != "push") pull(slot);
  }

  void push(std::size_t slot) {
    ++halves_[slot];
    client_.async_call<Push>(next_push(), 10s,
                             [this, slot, step = step_](std::error_code ec, const distrib::PushReply& reply) {
                               if (ec) fail(ec.message());
                               if (reply.progress.done < step) fail("a push was not counted");
                               ended(slot);
                             });
  }

  void pull(std::size_t slot) {
    ++halves_[slot];
    client_.async_call<Pull>({step_}, 10s, [this, slot](std::error_code ec, const distrib::PullReply& reply) {
      if (ec) fail(ec.message());
      if (reply.body->size() != options_.bytes) fail("values of another size");
      ended(slot);
    });
  }

  void ended(std::size_t slot) {
    if (--halves_[slot] != 0) return;
    load_.completed();
    begin(slot);
  }

  const Options& options_;
  Load load_;
  distrib::RpcClient client_;
  std::vector<int> halves_;  // of a request: calls in flight
  distrib::SharedBuffer gradient_;
  distrib::Step step_ = 0;
};

void load(const Options& options) {
  asio::io_context context{1};
  Worker worker{context, options};
  worker.start();
  context.run();
}

}  // namespace

auto main(int argc, char** argv) -> int try {
  const Options options{argc, argv};
  if (options.role == "serve") return serve();
  load(options);
} catch (const std::exception& error) {
  fail(error.what());
}
