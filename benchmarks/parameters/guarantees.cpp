// SPDX-License-Identifier: Apache-2.0
// Measures the cost of names, buffers and checksums. The library's `Server` is a task of job "ps" in one process, and
// `--connections` of its `WorkerClient`s run in another; each pulls values, pushes a gradient and begins again. The job
// is asynchronous with one variable, or with one table. This file is compiled to four programs:
//   guarded    the library as it is
//   unnamed    the shard neither checks nor records the names of contributions (unnamed.hpp)
//   unchecked  every CRC-32C of a message is 0, and none is computed (../rpc/unchecked.hpp)
//   unguarded  both
// In all of them step and rank stay in the heads of messages (some 10 bytes). `--budget` is the memory in MiB for what
// a worker keeps to send again, until a cut, in memory, contains it. 0: a worker keeps only its last contribution, and
// no cut is made.
#include <distrib/cluster.hpp>
#include <distrib/core.hpp>
#include <distrib/net.hpp>
#include <distrib/optimizer.hpp>
#include <distrib/ps.hpp>
#include <distrib/ps/job/cut_interval.hpp>
#include <distrib/ps/job/cut_settings.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/protocol/worker_action.hpp>
#include <distrib/ps/store/block_pool.hpp>
#include <distrib/ps/store/key_lists.hpp>
#include <distrib/ps/store/pull_rows.hpp>
#include <distrib/ps/store/table_gradients.hpp>
#include <distrib/ps/worker/worker_client.hpp>
#include <distrib/rpc.hpp>

#include "values.hpp"  // whose names are global

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;

auto budget_bytes(const Options& options) -> std::size_t { return options.budget << 20; }

auto job_of(const Options& options) -> distrib::Job {
  distrib::Job job;
  if (options.keys == 0) {
    const auto elements = static_cast<std::int64_t>(options.bytes / sizeof(float));
    job.variables = {{"values", distrib::DType::float32, {elements}}};
    job.parts = {{0, distrib::Slice::whole({elements}), 0}};
  } else {
    job.tables = {{.name = "rows", .dim = row_floats, .rows = 0, .initializer = distrib::ConstantInitializer{}}};
  }
  job.ranks = static_cast<distrib::Rank>(options.connections);
  job.updater = "sgd " + distrib::Sgd{.learning_rate = learning_rate}.describe();
  job.consistency = distrib::AsynchronousParallel{};
  job.total_steps = std::uint64_t{1} << 60;
  if (options.budget != 0) job.cut_interval = distrib::cut_interval(job, 0, budget_bytes(options));
  return job;
}

auto serve(const Options& options) -> int {
  distrib::IoPool io{2};  // one thread for the shard, one for files
  const std::vector<std::string> workers(options.connections, "127.0.0.1:1");
  distrib::Server server{io, {{"ps", {"127.0.0.1:0"}}, {"worker", workers}}, "ps", 0};
  tell_port(server.port());
  return server.join();
}

/// What a worker pulls, and then pushes a gradient for: all values, or the rows of `keys`.
struct Request {
  std::vector<std::uint64_t> keys;
  distrib::WantedRows wanted;
};

auto requests_of(const Options& options, const distrib::ShardLayout& layout) -> std::vector<Request> {
  if (options.keys == 0) return {{{}, {nullptr, layout.wire_block_bytes()}}};
  std::vector<Request> requests;
  for (std::vector<std::uint64_t>& keys : request_keys(options.keys)) {
    if (requests.size() == request_count) break;
    const distrib::PullRows rows{.keys = {keys}};
    std::vector<std::byte> bytes;
    distrib::append_pull_rows(rows, bytes);
    auto asked = std::make_shared<distrib::AlignedBuffer>(bytes.size());
    std::memcpy(asked->bytes().data(), bytes.data(), bytes.size());
    requests.push_back(
        {std::move(keys), {std::move(asked), layout.wire_block_bytes() + distrib::answer_bytes(layout, rows)}});
  }
  return requests;
}

/// The state that all workers of the process share.
struct Bench {
  explicit Bench(const Options& given) : options{given} {}

  /// Called when a worker has done a step. Measuring begins when the workers have pushed enough to fill their buffers
  /// twice (`--warm_budget`).
  void completed() {
    if (started) return load.completed();
    pushed_bytes += contribution_bytes;
    if (pushed_bytes < 2 * warm_bytes) return;
    started = true;
    load.start();
  }

  const Options& options;
  distrib::Job job = job_of(options);
  distrib::ShardLayout layout{job, 0};
  std::vector<Request> requests = requests_of(options, layout);
  std::size_t contribution_bytes =
      distrib::ContributionLayout{layout, distrib::KeyLists(job.tables.size(), requests[0].keys)}.size_bytes();
  std::vector<float> gradients = gradient(options.keys == 0 ? options.bytes : options.keys * row_bytes, {});
  std::size_t warm_bytes = (options.warm_budget << 20) * options.connections;
  std::size_t pushed_bytes = 0;
  bool started = false;
  Load load{options};
};

class Worker final : public distrib::WorkerOwner {
 public:
  Worker(asio::io_context& context, Bench& bench, distrib::Rank rank)
      : context_{context}, bench_{bench}, next_{rank * request_count / bench.options.connections} {
    distrib::WorkerClientOptions options;
    options.worker.replay_budget_bytes = budget_bytes(bench.options);
    client_ = std::make_shared<distrib::WorkerClient>(context.get_executor(), bench.job, rank,
                                                      std::vector{distrib::Address{"127.0.0.1", bench.options.port}},
                                                      options, distrib::CutSettings{}, *this);
  }

  /// Starts the worker. If `checked` is not empty, the worker first checks that the server applies its first push (no
  /// other worker may push meanwhile), and then calls `checked`.
  void start(std::function<void()> checked) {
    checked_ = std::move(checked);
    client_->start();
  }

 private:
  void prepare(distrib::Prepare work) override {
    asio::post(context_, [this, work] { client_->prepared(work.step, {request().wanted}); });
  }

  void compute(distrib::Compute work, distrib::Step) override {
    asio::post(context_, [this, work = std::move(work)] {
      if (checked_) check(work.values[0]->as<float>());
      else bench_.completed();
      auto block = contribution();
      if (!checked_) ++next_;
      client_->computed(work.ticket, {std::move(block)}, {request().wanted});
    });
  }

  void saved(distrib::Step) override {}
  void ended(distrib::WorkerEnd end) override { fail(end.why.where + ": " + end.why.code.message()); }

  [[nodiscard]] auto request() const -> const Request& { return bench_.requests[next_ % bench_.requests.size()]; }

  void check(std::span<const float> values) {
    if (before_.empty()) {
      before_.assign(values.begin(), values.end());
      return;
    }
    check_applied(before_, bench_.gradients, values);
    std::exchange(checked_, nullptr)();
  }

  auto contribution() -> distrib::SharedBuffer {
    auto block = pool_.take(bench_.contribution_bytes);
    std::size_t at = 0;
    if (!bench_.job.tables.empty()) {
      const distrib::ContributionLayout places{bench_.layout, {request().keys}};
      places.write_keys(block->bytes());
      at = places.rows_at(0);
    }
    std::memcpy(block->bytes().data() + at, bench_.gradients.data(), bench_.gradients.size() * sizeof(float));
    return block;
  }

  asio::io_context& context_;
  Bench& bench_;
  std::size_t next_;
  distrib::BlockPool pool_;
  std::function<void()> checked_;  // empty: nothing is to be checked, or it was
  std::vector<float> before_;
  std::shared_ptr<distrib::WorkerClient> client_;
};

void load(const Options& options) {
  asio::io_context context{1};
  Bench bench{options};
  std::vector<std::unique_ptr<Worker>> workers;
  for (distrib::Rank rank = 0; rank < bench.job.ranks; ++rank)
    workers.push_back(std::make_unique<Worker>(context, bench, rank));
  workers[0]->start([&] {
    for (std::size_t rank = 1; rank < workers.size(); ++rank) workers[rank]->start({});
  });
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
