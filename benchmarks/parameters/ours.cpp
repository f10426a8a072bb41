// SPDX-License-Identifier: Apache-2.0
// The library's server, a task of job "ps", and a worker that calls the methods of the protocol directly. The job is
// asynchronous and has one rank and one variable on one shard, or one table on `--threads` shards; each shard has a
// thread of the server and a connection. The only cut, in memory, is due at an end that is never reached. Contributions
// have names and count once, answers carry the rank's progress, all bytes have checksums, and every call has a
// deadline. The messages are built before measuring begins.
#include <distrib/cluster.hpp>
#include <distrib/core.hpp>
#include <distrib/net.hpp>
#include <distrib/optimizer.hpp>
#include <distrib/ps.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/job/table_share.hpp>
#include <distrib/ps/store/pull_rows.hpp>
#include <distrib/ps/store/table_gradients.hpp>
#include <distrib/ps/wire/messages.hpp>
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
    job.shards_per_task = static_cast<std::uint32_t>(options.threads);
  }
  job.updater = "sgd " + distrib::Sgd{.learning_rate = learning_rate}.describe();
  job.consistency = distrib::AsynchronousParallel{};
  job.total_steps = std::uint64_t{1} << 60;
  return job;
}

auto serve(const Options& options) -> int {
  distrib::IoPool io{options.threads + 1};  // one thread for each shard, one for files
  distrib::Server server{io, {{"ps", {"127.0.0.1:0"}}, {"worker", {"127.0.0.1:1"}}}, "ps", 0};
  tell_port(server.port());
  return server.join();
}

auto connect(asio::io_context& context, const Options& options, std::uint32_t shard) -> distrib::RpcClient {
  distrib::TcpSocket socket{context};
  socket.connect({asio::ip::address_v4::loopback(), options.port});
  distrib::RpcClientOptions how;
  how.service = shard;
  how.categories = distrib::ps_categories();
  return distrib::RpcClient{std::move(socket), how};
}

/// The part of a request that goes to one shard: the body of its pull and the body of its push.
struct ShardRequest {
  distrib::SharedBuffer pull;
  distrib::SharedBuffer push;
  std::size_t value_bytes;  // size of the values that the pull returns
};

/// A request: one part for each shard.
using Request = std::vector<ShardRequest>;

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

/// A worker's view of a shard.
struct Shard {
  distrib::RpcClient client;
  decltype(client.open<distrib::Join>({})) joined;  // Trap: destroying the stream makes the worker leave the job
  distrib::Step step = 0;
};

/// Keeps `in_flight` requests in flight: when all shards have answered one, the next begins.
class Worker {
 public:
  Worker(asio::io_context& context, const Options& options)
      : options_{options},
        job_{job_of(options)},
        bytes_{options.keys == 0 ? options.bytes : options.keys * row_bytes},
        load_{options},
        context_{context},
        unanswered_(options.in_flight) {}

  void start() {
    asio::co_spawn(context_, prepare(), [](const std::exception_ptr& failure) {
      if (failure) std::rethrow_exception(failure);
    });
  }

 private:
  auto prepare() -> asio::awaitable<void> {
    for (std::uint32_t shard = 0; shard < job_.shards(); ++shard) co_await join(shard);
    co_await make_requests();
    for (const Request& request : requests_) co_await push(request);  // after this the server has all rows
    requests_.resize(std::min(requests_.size(), request_count));
    const std::vector<float> before = co_await values(requests_[0]);
    co_await push(requests_[0]);
    check_applied(before, gradients_, co_await values(requests_[0]));

    load_.start();
    for (std::size_t slot = 0; slot < unanswered_.size(); ++slot) begin(slot);
    co_await shards_[0].joined.async_read(asio::use_awaitable);
    fail("the stream of Join has ended");
  }

  auto join(std::uint32_t shard) -> asio::awaitable<void> {
    distrib::RpcClient client = connect(context_, options_, shard);
    auto stream = client.open<distrib::Join>({0, distrib::to_hex(job_hash(job_)), to_text(job_), {}});
    const auto joined = co_await stream.async_read(asio::use_awaitable);
    if (!joined || joined->kind != distrib::JoinItem::Kind::joined) fail("the server did not accept Join");
    shards_.push_back({std::move(client), std::move(stream), joined->progress.done});
  }

  auto make_requests() -> asio::awaitable<void> {
    if (options_.keys == 0) {
      requests_.push_back({{nullptr, nullptr, bytes_}});
      gradients_ = gradient(bytes_, co_await values(requests_[0]));
      requests_[0][0].push = shared(std::as_bytes(std::span{gradients_}));
      co_return;
    }
    const distrib::TableSharding sharding{job_.tables[0], job_.shards()};
    std::vector<distrib::ShardLayout> layouts;
    for (std::uint32_t shard = 0; shard < job_.shards(); ++shard) layouts.emplace_back(job_, shard);
    for (const std::vector<std::uint64_t>& keys : request_keys(options_.keys, options_.numbered)) {
      std::vector<std::vector<std::uint64_t>> dealt(job_.shards());
      for (const std::uint64_t key : keys) dealt[sharding.shard(key)].push_back(key);
      Request& request = requests_.emplace_back();
      for (const auto& of_shard : dealt) request.push_back({pull_of(of_shard), nullptr, of_shard.size() * row_bytes});
      if (gradients_.empty()) gradients_ = gradient(bytes_, co_await values(request));
      std::span<const float> rows{gradients_};
      for (std::size_t shard = 0; shard < dealt.size(); ++shard) {
        const std::size_t floats = dealt[shard].size() * row_floats;
        request[shard].push = push_of(layouts[shard], dealt[shard], rows.first(floats));
        rows = rows.subspan(floats);
      }
    }
  }

  auto push(const Request& request) -> asio::awaitable<void> {
    for (std::size_t i = 0; i < shards_.size(); ++i) {
      const distrib::PushRequest push = push_request(shards_[i], request[i]);
      co_await shards_[i].client.async_call<Push>(push, 10s, asio::use_awaitable);
    }
  }

  auto values(const Request& request) -> asio::awaitable<std::vector<float>> {
    std::vector<float> values;
    for (std::size_t i = 0; i < shards_.size(); ++i) {
      const distrib::PullRequest pull{shards_[i].step, request[i].pull};  // g++ 12 would destroy a temporary twice
      const auto reply = co_await shards_[i].client.async_call<Pull>(pull, 10s, asio::use_awaitable);
      const auto of_shard = reply.body->as<float>();
      values.insert(values.end(), of_shard.begin(), of_shard.end());
    }
    co_return values;
  }

  static auto push_request(Shard& shard, const ShardRequest& request) -> distrib::PushRequest {
    return {++shard.step, 0, 0, request.push};
  }

  void begin(std::size_t slot) {
    next_ = (next_ + 1) % requests_.size();
    for (std::size_t i = 0; i < shards_.size(); ++i) {
      if (options_.method != "pull") begin_push(slot, shards_[i], requests_[next_][i]);
      if (options_.method != "push") begin_pull(slot, shards_[i], requests_[next_][i]);
    }
  }

  void begin_push(std::size_t slot, Shard& shard, const ShardRequest& asked) {
    ++unanswered_[slot];
    const distrib::PushRequest request = push_request(shard, asked);
    shard.client.async_call<Push>(
        request, 10s, [this, slot, step = request.step](std::error_code ec, const distrib::PushReply& reply) {
          if (ec) fail(ec.message());
          if (reply.progress.done < step) fail("a push was not counted");
          ended(slot);
        });
  }

  void begin_pull(std::size_t slot, Shard& shard, const ShardRequest& asked) {
    ++unanswered_[slot];
    shard.client.async_call<Pull>(
        {shard.step, asked.pull}, 10s,
        [this, slot, size = asked.value_bytes](std::error_code ec, const distrib::PullReply& reply) {
          if (ec) fail(ec.message());
          if (reply.body->size() != size) fail("the values have the wrong size");
          ended(slot);
        });
  }

  void ended(std::size_t slot) {
    if (--unanswered_[slot] != 0) return;
    load_.completed();
    begin(slot);
  }

  const Options& options_;
  distrib::Job job_;
  std::size_t bytes_;  // size of the values of a request
  Load load_;
  asio::io_context& context_;
  std::vector<Shard> shards_;
  std::vector<int> unanswered_;  // for each request in flight, how many of its calls are not answered yet
  std::vector<Request> requests_;
  std::vector<float> gradients_;  // of one request, in the order of the shards
  std::size_t next_ = 0;
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
  if (options.role == "serve") return serve(options);
  load(options);
} catch (const std::exception& error) {
  fail(error.what());
}
