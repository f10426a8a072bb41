// SPDX-License-Identifier: Apache-2.0
// A task of job "ps", as it is, and a worker that speaks the protocol's methods. The job is asynchronous with one
// variable or table, one shard and one rank; its cut is one, in memory, at an end that never comes. Contributions are
// named, counted once and answered with the rank's progress, all bytes have checksums, every call has a deadline.
// Messages are made before.
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
  distrib::Job job;
  if (options.keys == 0) {
    const auto elements = static_cast<std::int64_t>(options.bytes / sizeof(float));
    job.variables = {{"values", distrib::DType::float32, {elements}}};
    job.parts = {{0, distrib::Slice::whole({elements}), 0}};
  } else {
    job.tables = {{.name = "rows",
                   .dim = row_floats,
                   .rows = options.numbered ? table_rows : 0,
                   .initializer = distrib::ConstantInitializer{}}};
  }
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

/// What the keys of a request are as bodies: of its pull, and of a push of these gradients.
struct Request {
  distrib::SharedBuffer pull;
  distrib::SharedBuffer push;
};

auto shared(std::span<const std::byte> bytes) -> distrib::SharedBuffer {
  auto made = std::make_shared<distrib::AlignedBuffer>(bytes.size());
  std::ranges::copy(bytes, made->bytes().begin());
  return made;
}

auto pull_of(const std::vector<std::uint64_t>& keys) -> distrib::SharedBuffer {
  std::vector<std::byte> bytes;
  distrib::append_pull_rows({.keys = {keys}}, bytes);
  return shared(bytes);
}

auto push_of(const distrib::ShardLayout& shard, const std::vector<std::uint64_t>& keys,
             std::span<const float> gradients) -> distrib::SharedBuffer {
  const distrib::ContributionLayout layout{shard, {keys}};
  auto made = std::make_shared<distrib::AlignedBuffer>(layout.size_bytes());
  layout.write_keys(made->bytes());
  std::ranges::copy(std::as_bytes(gradients), made->bytes().begin() + static_cast<std::ptrdiff_t>(layout.rows_at(0)));
  return made;
}

/// Keeps requests in flight: whenever one ends, the next begins.
class Worker {
 public:
  Worker(asio::io_context& context, const Options& options)
      : options_{options},
        bytes_{options.keys == 0 ? options.bytes : options.keys * row_bytes},
        load_{options},
        client_{connect(context, options)},
        halves_(options.in_flight) {}

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

    std::vector<std::vector<std::uint64_t>> keys;
    if (options_.keys != 0) keys = request_keys(options_.keys, options_.numbered);
    requests_.resize(std::max<std::size_t>(1, keys.size()));
    for (std::size_t i = 0; i < keys.size(); ++i) requests_[i].pull = pull_of(keys[i]);
    const auto made = gradient(bytes_, (co_await values())->as<float>());
    const distrib::ShardLayout layout{job, 0};
    for (std::size_t i = 0; i < keys.size(); ++i) requests_[i].push = push_of(layout, keys[i], made);
    if (keys.empty()) requests_[0].push = shared(std::as_bytes(std::span{made}));
    for (const Request& request : requests_) co_await push(request);  // the server has all rows now
    requests_.resize(std::min(requests_.size(), request_count));
    const distrib::SharedBuffer before = co_await values();
    co_await push(requests_[0]);
    check_applied(before->as<float>(), made, (co_await values())->as<float>());

    load_.start();
    for (std::size_t slot = 0; slot < halves_.size(); ++slot) begin(slot);
    co_await stream.async_read(asio::use_awaitable);  // whoever lets go of the stream has left
    fail("the stream of Join has ended");
  }

  auto push(const Request& request) -> asio::awaitable<void> {
    const distrib::PushRequest push = push_request(request);
    co_await client_.async_call<Push>(push, 10s, asio::use_awaitable);
  }

  auto values() -> asio::awaitable<distrib::SharedBuffer> {
    const distrib::PullRequest request{step_, requests_[0].pull};  // g++ 12 would destroy a nameless one twice
    const auto reply = co_await client_.async_call<Pull>(request, 10s, asio::use_awaitable);
    co_return reply.body;
  }

  auto push_request(const Request& request) -> distrib::PushRequest { return {++step_, 0, 0, request.push}; }

  void begin(std::size_t slot) {
    next_ = (next_ + 1) % requests_.size();
    if (options_.method != "pull") begin_push(slot);
    if (options_.method != "push") begin_pull(slot);
  }

  void begin_push(std::size_t slot) {
    ++halves_[slot];
    const distrib::PushRequest request = push_request(requests_[next_]);
    client_.async_call<Push>(request, 10s,
                             [this, slot, step = request.step](std::error_code ec, const distrib::PushReply& reply) {
                               if (ec) fail(ec.message());
                               if (reply.progress.done < step) fail("a push was not counted");
                               ended(slot);
                             });
  }

  void begin_pull(std::size_t slot) {
    ++halves_[slot];
    client_.async_call<Pull>({step_, requests_[next_].pull}, 10s,
                             [this, slot](std::error_code ec, const distrib::PullReply& reply) {
                               if (ec) fail(ec.message());
                               if (reply.body->size() != bytes_) fail("values of another size");
                               ended(slot);
                             });
  }

  void ended(std::size_t slot) {
    if (--halves_[slot] != 0) return;
    load_.completed();
    begin(slot);
  }

  const Options& options_;
  std::size_t bytes_;  // of the values that a request is about
  Load load_;
  distrib::RpcClient client_;
  std::vector<int> halves_;  // of a request: calls in flight
  std::vector<Request> requests_;
  std::size_t next_ = 0;
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
