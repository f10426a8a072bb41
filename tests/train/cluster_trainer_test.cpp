// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/cluster_trainer.hpp>

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/checkpoint/formats/safetensors_writer.hpp>
#include <distrib/optimizer/adamw.hpp>
#include <distrib/optimizer/momentum.hpp>
#include <distrib/optimizer/moving_average.hpp>
#include <distrib/placement/round_robin.hpp>
#include <distrib/ps/job/plan_parts.hpp>
#include <distrib/ps/server/server.hpp>
#include <distrib/sharding/fixed_shards.hpp>
#include <distrib/train/builder.hpp>
#include <distrib/train/hooks/write_summaries.hpp>
#include <distrib/train/job/assemble.hpp>
#include <distrib/train/job/make_cluster_job.hpp>
#include <distrib/train/parameters_sha256.hpp>

#include "support/catch.hpp"
#include "support/loopback.hpp"
#include "support/temp_directory.hpp"
#include "train/asked_model.hpp"
#include "train/line_job.hpp"
#include "train/loopback_cluster.hpp"
#include "train/own_values_model.hpp"
#include "train/runtime_models.hpp"
#include "train/table_model.hpp"

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using namespace distrib;
using namespace std::chrono_literals;

namespace {

constexpr Step steps = 30;

auto flags_of(const std::string& job, std::uint32_t index, const std::string& ps) -> ClusterFlags {
  ClusterFlags flags;
  flags.job_name = job;
  flags.task_index = index;
  flags.ps_hosts = {ps};
  flags.worker_hosts = {"127.0.0.1:1"};
  return flags;
}

/// Returns an address whose port was free a moment ago.
auto free_address() -> std::string {
  asio::io_context context{1};
  return "127.0.0.1:" + std::to_string(support::Acceptor{context, support::loopback()}.local_endpoint().port());
}

auto local_hash(const support::TempDirectory& data) -> std::string {
  auto trainer = line_job::builder(line_model::write(data.path()), {.workers = 1, .steps = steps}).build();
  CHECK(trainer.run() == 0);
  return trainer.result().parameters_sha256;
}

}  // namespace

TEST_CASE("ClusterMode: the default times and replay budget equal the defaults of a server and of a worker",
          "[train]") {
  const ClusterMode mode;
  const ServerOptions server;
  const WorkerClientOptions worker;
  CHECK(mode.start_within == worker.start_within);
  CHECK(mode.lease == server.shard.lease);
  CHECK(mode.restart_window == server.shard.restart_window);
  CHECK(mode.replay_budget_bytes == worker.worker.replay_budget_bytes);
}

TEST_CASE("ClusterTrainer: a worker and a server end with the same bits as one process", "[train]") {
  const support::TempDirectory data;
  const support::TempDirectory out;
  const std::string directory = out.path().string();
  std::string heard;
  for (const Step first : {Step{0}, steps}) {  // the second time, the job is already done
    IoPool pool{2};
    Server server{pool, {{"ps", {"127.0.0.1:0"}}, {"worker", {"127.0.0.1:1"}}}, "ps", 0};
    heard.clear();
    auto trainer = line_job::builder(line_model::write(data.path()), {.steps = steps})
                       .with_hooks(SaveCheckpoint{.directory = directory, .every_steps = 10}, line_job::Heard{&heard},
                                   WriteSummaries{directory + "/events"})
                       .build(pool, flags_of("worker", 0, "127.0.0.1:" + std::to_string(server.port())));
    CHECK(trainer.run() == 0);
    const TrainingResult& result = trainer.result();
    CHECK(result.parameters_sha256 == local_hash(data));
    CHECK(result.steps == steps);
    CHECK(result.complete);
    CHECK(result.ps == 1);
    CHECK(result.workers == 1);
    CHECK(result.checkpoint == directory + "/model.ckpt-30");
    CAPTURE(heard);
    CHECK(heard.starts_with("start " + std::to_string(first) + "\n"));
    CHECK(heard.ends_with("end 30\n"));
    CHECK((heard.find("saved 30\n") != std::string::npos) == (first == 0));
    CHECK(server.join() == 0);
  }
}

TEST_CASE("ClusterTrainer: with local steps a cluster ends with the bits of one process, in any parts", "[train]") {
  const support::TempDirectory data;
  const auto dataset = line_model::write(data.path());
  const auto of = [&](std::uint32_t shards, std::int64_t parts) {
    return line_job::builder(dataset, {.workers = 2, .shards = shards, .parts = parts, .steps = 40})
        .with_updater(Momentum{.learning_rate = 0.7F, .momentum = 0.9F, .use_nesterov = true})
        .with_local_steps(4, AdamW{.learning_rate = 0.05F});
  };
  auto local = of(1, 1).build();
  CHECK(local.run() == 0);
  CHECK(local.result().steps == 10);
  for (const std::size_t servers : {1U, 3U}) {
    const TrainingResult result = loopback_cluster::run(of(2, 2), servers, 2);
    CHECK(result.steps == 10);
    CHECK(result.parameters_sha256 == local.result().parameters_sha256);
  }
  // In the other modes each contribution counts, too; their bits depend on the timing.
  for (const Consistency& consistency : {Consistency{AsynchronousParallel{}}, Consistency{StaleSynchronousParallel{2}}})
    CHECK(loopback_cluster::run(of(1, 1).with_consistency(consistency), 1, 2).steps == 10);
}

namespace {

/// Gets SIGTERM at local step 10.
struct StoppedLine : LineModel {
  int* calls;
  auto gradients(const Batch<Example>& batch, const Values<Variables>& values, Gradients<Variables>& gradients,
                 StepContext context) const -> float {
    if (++*calls == 10) std::raise(SIGTERM);
    return LineModel::gradients(batch, values, gradients, context);
  }
};

}  // namespace

TEST_CASE("ClusterTrainer: a worker that is asked to stop does not finish its round of local steps", "[train]") {
  const support::TempDirectory data;
  IoPool pool{2};
  const Server server{pool, {{"ps", {"127.0.0.1:0"}}, {"worker", {"127.0.0.1:1"}}}, "ps", 0};
  int calls = 0;
  StoppedLine model;
  model.calls = &calls;
  auto trainer = line_job::builder(line_model::write(data.path()), {.workers = 1, .steps = 60'000}, model)
                     .with_local_steps(60'000, Sgd{.learning_rate = 0.01F})
                     .build(pool, flags_of("worker", 0, "127.0.0.1:" + std::to_string(server.port())));
  CHECK(trainer.run() == 1);
  CHECK(calls < 60'000);
  CHECK(trainer.result().steps == 0);
}

TEST_CASE("ClusterTrainer: a chief without workers is the only rank, like a single worker", "[train]") {
  const support::TempDirectory data;
  const auto builder = line_job::builder(line_model::write(data.path()), {.steps = steps});
  ClusterFlags flags = flags_of("ps", 0, free_address());
  flags.chief_hosts = std::exchange(flags.worker_hosts, {});
  IoPool pool{2};
  auto ps = builder.build(pool, flags);
  std::promise<int> code;
  std::thread server{[&] { code.set_value(ps.run()); }};
  flags.job_name = "chief";
  auto chief = builder.build(pool, flags);
  CHECK(chief.run() == 0);
  server.join();
  CHECK(code.get_future().get() == 0);
  CHECK(chief.result().complete);
  CHECK(chief.result().workers == 1);
  CHECK(chief.result().parameters_sha256 == local_hash(data));
}

TEST_CASE("ClusterTrainer: the longest times mean for ever", "[train]") {
  constexpr auto for_ever = std::chrono::milliseconds::max();
  const support::TempDirectory data;
  const auto builder =
      line_job::builder(line_model::write(data.path()), {.steps = steps})
          .with_cluster_mode({.start_within = for_ever, .lease = for_ever, .restart_window = for_ever});
  const std::string address = free_address();
  IoPool pool{2};
  auto ps = builder.build(pool, flags_of("ps", 0, address));
  auto code = std::async(std::launch::async, [&] { return ps.run(); });
  auto worker = builder.build(pool, flags_of("worker", 0, address));
  CHECK(worker.run() == 0);
  CHECK(code.get() == 0);
  CHECK(worker.result().parameters_sha256 == local_hash(data));
}

TEST_CASE("ClusterTrainer: a chief with a worker is rank 0, and the worker is rank 1", "[train]") {
  const support::TempDirectory data;
  const auto builder = line_job::builder(line_model::write(data.path()), {.workers = 2, .steps = steps});
  ClusterFlags flags = flags_of("ps", 0, free_address());
  flags.chief_hosts = {"127.0.0.1:1"};
  IoPool pool{2};
  const auto run = [&](const char* job) {
    flags.job_name = job;
    return std::async(std::launch::async, [&, of = flags] {
      auto trainer = builder.build(pool, of);
      const int code = trainer.run();
      return std::pair{code, trainer.result()};
    });
  };
  auto ps = run("ps");
  auto worker = run("worker");
  const auto [code, result] = run("chief").get();
  CHECK(code == 0);
  CHECK(ps.get().first == 0);
  CHECK(worker.get().first == 0);
  auto local = line_job::builder(line_model::write(data.path()), {.workers = 2, .steps = steps}).build();
  CHECK(local.run() == 0);
  CHECK(result.workers == 2);
  CHECK(result.parameters_sha256 == local.result().parameters_sha256);
}

TEST_CASE("ClusterTrainer: a worker without the job's secret, or with another one, is refused", "[train]") {
  const support::TempDirectory data;
  const auto secret = SharedSecret::from_bytes(as_bytes("sixteen bytes and some more"));
  const auto dataset = line_model::write(data.path());
  const auto builder = [&](SharedSecret known) {
    return line_job::builder(dataset, {.steps = steps}).with_cluster_mode({.start_within = 20s, .secret = known});
  };
  IoPool pool{2};
  const std::string address = free_address();
  auto trainer = builder(secret).build(pool, flags_of("ps", 0, address));
  std::promise<int> code;
  std::thread server{[&] { code.set_value(trainer.run()); }};
  for (const auto& unknown : {SharedSecret{}, SharedSecret::from_bytes(as_bytes("another one of many bytes"))}) {
    auto stranger = builder(unknown).build(pool, flags_of("worker", 0, address));
    std::error_code ec;
    try {
      static_cast<void>(stranger.run());
    } catch (const std::system_error& error) {
      ec = error.code();
    }
    CHECK(ec == rpc_errc::unauthorized);
  }
  auto worker = builder(secret).build(pool, flags_of("worker", 0, address));
  CHECK(worker.run() == 0);
  server.join();
  CHECK(code.get_future().get() == 0);
  CHECK(worker.result().parameters_sha256 == local_hash(data));
}

TEST_CASE("ClusterTrainer: a chief that starts after all others have ended reads the result from the checkpoint",
          "[train]") {
  const support::TempDirectory data;
  const support::TempDirectory out;
  const std::string directory = out.path().string();
  std::string heard;
  const auto dataset = line_model::write(data.path());
  const auto builder =
      line_job::builder(dataset, {.steps = steps})
          .with_hooks(SaveCheckpoint{.directory = directory, .every_steps = 10}, line_job::Heard{&heard},
                      Evaluate{dataset.batch(10), 1000}, WriteSummaries{directory + "/events"})
          .with_cluster_mode({.start_within = 50ms});
  IoPool pool{2};
  {
    Server server{pool, {{"ps", {"127.0.0.1:0"}}, {"worker", {"127.0.0.1:1"}}}, "ps", 0};
    CHECK(builder.build(pool, flags_of("worker", 0, "127.0.0.1:" + std::to_string(server.port()))).run() == 0);
    CHECK(server.join() == 0);
  }
  heard.clear();
  auto late = builder.build(pool, flags_of("worker", 0, "127.0.0.1:9"));
  CHECK(late.run() == 0);
  CHECK(late.result().parameters_sha256 == local_hash(data));
  CHECK(late.result().complete);
  CHECK(late.result().checkpoint == directory + "/model.ckpt-30");
  CAPTURE(heard);
  CHECK(heard.ends_with("start 30\nevaluated 30\nend 30\n"));
}

TEST_CASE("ClusterTrainer: a parameter server finds the updater of the user's program", "[train]") {
  const support::TempDirectory data;
  IoPool pool{2};
  const std::string address = free_address();
  const auto dataset = line_model::write(data.path());
  auto trainer = line_job::builder(dataset, {.steps = steps}).build(pool, flags_of("ps", 0, address));
  std::promise<int> code;
  std::thread server{[&] { code.set_value(trainer.run()); }};

  const auto source = dataset.shuffle(3).batch(10).open();
  Job job;
  job.seed = 11;
  job.variables = LineModel{}.variables().infos();
  job.parts = plan_parts(job.variables, FixedShardsPartitioner{1}, RoundRobinStrategy{}, 1, 1);
  job.updater = "momentum " + Momentum{.learning_rate = 0.1F, .momentum = 0.5F}.describe();
  job.consistency = BulkSynchronousParallel{};
  job.data = source.describe();
  job.total_steps = steps;
  job.cut_interval = 10;
  const std::vector<ShardLayout> layouts = shard_layouts(job);
  const LineModel model;
  Contributor<LineModel, std::remove_const_t<decltype(source)>> contributor{model, source, job, layouts};
  ClusterJobCallbacks callbacks;
  callbacks.contribute = [&](Step step, auto values, auto gradients) {
    return contributor(0, step, values, gradients);
  };
  callbacks.prepare = [](Step) { return std::vector<WantedRows>{}; };
  callbacks.started = [](Step) {};
  callbacks.step_done = [](Step, float, const std::vector<SharedBuffer>&) {};
  callbacks.saved = [](Step) {};
  callbacks.told = [](const Event&) {};
  WorkerClientOptions options;
  options.worker.wants_result = true;
  const auto worker = make_cluster_job(job, 0, {Address::parse(address)}, options, {}, std::move(callbacks));
  while (worker->next()) worker->make();
  const WorkerEnd end = worker->end();
  server.join();
  CHECK(end.code == 0);
  CHECK(code.get_future().get() == 0);
  Values<LineModel::Variables> values{RuntimeVariables{job.variables}};
  assemble(layouts, end.result, values);
  CHECK(parameters_sha256(job, values) == local_hash(data));
}

namespace {

/// A model that cannot be measured.
struct Blind : LineModel {
  auto evaluate(const Batch<Example>&, const Values<Variables>&) const -> Metrics {
    throw std::runtime_error("nothing to be seen");
  }
};

}  // namespace

TEST_CASE("ClusterTrainer: an exception from the evaluation ends the job and is thrown by run()", "[train]") {
  const support::TempDirectory data;
  IoPool pool{1};
  Server server{pool, {{"ps", {"127.0.0.1:0"}}, {"worker", {"127.0.0.1:1"}}}, "ps", 0};
  const auto dataset = line_model::write(data.path());
  auto trainer = train(Blind{})
                     .with_data(dataset.shuffle(3).batch(10))
                     .with_hooks(StopAtStep{1'000'000}, Evaluate{dataset.batch(10), 5})
                     .build(pool, flags_of("worker", 0, "127.0.0.1:" + std::to_string(server.port())));
  CHECK_THROWS_WITH(trainer.run(), "nothing to be seen");
}

TEST_CASE("ClusterTrainer: with_check_numerics: a gradient that is not finite ends the job", "[train]") {
  const support::TempDirectory data;
  IoPool pool{2};
  const std::string address = free_address();
  const auto builder = train(DivergingModel{})
                           .with_data(line_model::write(data.path()).shuffle(3).batch(10))
                           .with_hooks(StopAtStep{steps})
                           .with_check_numerics();
  std::promise<std::string> told;
  auto ps = builder.build(pool, flags_of("ps", 0, address));
  std::thread server{[&] {
    try {
      told.set_value(std::to_string(ps.run()));
    } catch (const std::system_error& error) {
      told.set_value(error.what());
    }
  }};
  auto worker = builder.build(pool, flags_of("worker", 0, address));
  CHECK_THROWS_WITH(worker.run(),
                    ContainsSubstring("shard 0: step 3 of rank 0, bias: ") && ContainsSubstring("not finite"));
  server.join();
  CHECK_THAT(told.get_future().get(), ContainsSubstring("step 3 of rank 0, bias: "));
}

TEST_CASE("ClusterTrainer: without a job name the job is one process", "[train]") {
  const support::TempDirectory data;
  IoPool pool{1};
  auto trainer =
      line_job::builder(line_model::write(data.path()), {.workers = 1, .steps = steps}).build(pool, ClusterFlags{});
  CHECK(trainer.run() == 0);
  CHECK(trainer.result().ps == 0);
  CHECK(trainer.result().parameters_sha256 == local_hash(data));
}

TEST_CASE("ClusterTrainer: no server can be reached", "[train]") {
  const support::TempDirectory data;
  IoPool pool{1};
  std::string heard;
  const auto builder = line_job::builder(line_model::write(data.path()), {.steps = steps})
                           .with_hooks(line_job::Heard{&heard})
                           .with_cluster_mode({.start_within = 50ms});
  auto trainer = builder.build(pool, flags_of("worker", 0, "no-such-host.invalid:9"));
  CHECK(trainer.run() == 1);
  CHECK(heard.find("/job:ps/task:0 at no-such-host.invalid:9") != std::string::npos);
}

TEST_CASE("ClusterTrainer: a model whose variables are known at run time ends with the bits of one process",
          "[train]") {
  const support::TempDirectory data;
  const auto dataset = table_model::write(data.path());
  auto local = table_model::builder(dataset, 2, 1, 24).build();
  CHECK(local.run() == 0);
  const TrainingResult result =
      loopback_cluster::run(table_model::builder(dataset, 2, 1, 24, RuntimeTableModel{}), 2, 2);
  CHECK(result.parameters_sha256 == local.result().parameters_sha256);
  CHECK(*result.metrics.find("squared_error") == *local.result().metrics.find("squared_error"));
}

TEST_CASE("ClusterTrainer: averages of checkpoints are measured as in one process; a late chief measures the last one",
          "[train]") {
  const support::TempDirectory data;
  const auto dataset = table_model::write(data.path());
  using All = std::vector<std::pair<Step, Metrics>>;
  const auto builder = [&](const std::filesystem::path& out, std::size_t max_to_keep, All& all) {
    return train(TableModel{.min_count = 2})
        .with_data(dataset.shuffle(3).batch(10))
        .with_updater(Adagrad{.learning_rate = 0.5F})
        .with_updater("items", Sgd{.learning_rate = 0.5F})
        .with_seed(11)
        .with_local_mode({.workers = 2})
        .with_moving_average({.decay = 0.75F, .warm_up = true})
        .with_cluster_mode({.start_within = 20s})
        .with_hooks(
            StopAtStep{steps}, SaveCheckpoint{.directory = out.string(), .every_steps = 1, .max_to_keep = max_to_keep},
            Evaluate{.data = dataset.batch(64), .every_steps = 1, .averages = true}, table_model::Evaluations{&all});
  };
  All expected;
  auto local = builder(data / "local", 1, expected).build();
  CHECK(local.run() == 0);
  REQUIRE(expected.size() == steps);
  for (const std::size_t max_to_keep : {std::size_t{0}, std::size_t{1}}) {  // 1: some are removed before they are read
    const support::TempDirectory out;
    All all;
    const TrainingResult result = loopback_cluster::run(builder(out.path(), max_to_keep, all), 2, 2);
    CHECK(result.parameters_sha256 == local.result().parameters_sha256);
    CHECK(result.metrics == expected.back().second);
    REQUIRE_FALSE(all.empty());
    CHECK(all.back().first == steps);
    for (const auto& [step, metrics] : all) CHECK(metrics == expected[step - 1].second);

    all.clear();
    IoPool pool{1};
    ClusterFlags flags = flags_of("worker", 0, "127.0.0.1:9");
    flags.ps_hosts.emplace_back("127.0.0.1:10");
    flags.worker_hosts.emplace_back("127.0.0.1:2");
    auto late = builder(out.path(), max_to_keep, all).with_cluster_mode({.start_within = 50ms}).build(pool, flags);
    CHECK(late.run() == 0);
    REQUIRE(all.size() == 1);
    CHECK(all[0] == std::pair{steps, expected.back().second});
  }
  IoPool pool{1};
  CHECK_THROWS_WITH(train(LineModel{})
                        .with_data(line_model::write(data.path()).batch(10))
                        .with_moving_average({})
                        .with_hooks(StopAtStep{steps}, Evaluate{line_model::write(data.path()).batch(10), 0, true})
                        .build(pool, flags_of("worker", 0, "127.0.0.1:9")),
                    ContainsSubstring("SaveCheckpoint: there are no averages to measure"));
}

TEST_CASE(
    "ClusterTrainer: with an initial checkpoint that lacks some, the model's own values and those of the checkpoint",
    "[train]") {
  const support::TempDirectory data;
  const auto dataset = line_model::write(data.path());
  const float bias = 7;
  save_safetensors(data / "bias.safetensors",
                   std::vector<NamedTensor>{{"bias", DType::float32, {}, std::as_bytes(std::span{&bias, 1})}});
  const auto builder = [&](const std::string& out, std::uint32_t shards) {
    return train(OwnValuesModel{})
        .with_data(dataset.shuffle(3).batch(10))
        .with_updater(Momentum{.learning_rate = 0.1F, .momentum = 0.5F})
        .with_moving_average({.decay = 0.5F})  // begins as the values
        .with_partitioner(FixedShardsPartitioner{2})
        .with_local_mode({.workers = 2, .shards = shards})
        .with_initial_checkpoint(data / "bias.safetensors", {.allow_missing = true})
        .with_hooks(StopAtStep{2}, SaveCheckpoint{.directory = data / out, .every_steps = 1});
  };
  // By hand, from the weights 0.25, -0.75 and the bias 7: the gradient of the first step.
  auto local = builder("local", 1).build();
  CHECK(local.run() == 0);
  const auto source = dataset.shuffle(3).batch(10).open();
  std::array<double, 3> mean{};
  for (std::uint64_t i = 0; i < 2; ++i) {
    Batch<LineModel::Example> batch;
    source.fill(i, batch);
    for (std::size_t k = 0; k < batch.size(); ++k) {
      const LineModel::Example one = batch[k];
      const double error = 0.25 * double{one.x[0]} - 0.75 * double{one.x[1]} + 7 - double{one.y};
      for (std::size_t j = 0; j < 2; ++j) mean[j] += 2 * error * double{one.x[j]} / 20;
      mean[2] += 2 * error / 20;
    }
  }
  const auto saved = BundleReader::open(data / "local/model.ckpt-1");
  const auto read = [&](const std::string& name, const Shape& shape) {
    std::vector<float> values(static_cast<std::size_t>(shape.elements()));
    saved.read(name, Slice::whole(shape), std::as_writable_bytes(std::span{values}));
    return values;
  };
  CHECK(read("weights", {2})[0] == Approx(0.25 - 0.1 * mean[0]));
  CHECK(read("weights", {2})[1] == Approx(-0.75 - 0.1 * mean[1]));
  CHECK(read("bias", {})[0] == Approx(7 - 0.1 * mean[2]));
  CHECK(read("bias/ExponentialMovingAverage", {})[0] == Approx(7 - 0.05 * mean[2]));
  CHECK(read("weights/ExponentialMovingAverage", {2})[0] == Approx(0.25 - 0.05 * mean[0]));
  const TrainingResult result = loopback_cluster::run(builder("cluster", 2), 2, 2);
  CHECK(result.parameters_sha256 == local.result().parameters_sha256);
}

namespace {

template <class Data>
auto asked_builder(const Data& data, const AskedModel& model, std::uint32_t workers = 1) {
  return line_job::builder(data, {.workers = workers, .steps = steps}, model);
}

/// Keeps its promise when the training starts.
struct Started {
  std::shared_ptr<std::promise<void>> promise = std::make_shared<std::promise<void>>();
  void on_start(const JobStart&) const { promise->set_value(); }
};

/// Runs a trainer on a thread of its own. Returns its exit code, or the text of its exception.
template <class Trainer> auto run_beside(Trainer& trainer) -> std::future<std::string> {
  return std::async(std::launch::async, [&trainer]() -> std::string {
    try {
      return std::to_string(trainer.run());
    } catch (const std::exception& error) {
      return error.what();
    }
  });
}

}  // namespace

TEST_CASE("ClusterTrainer: a parameter server never asks the model", "[train]") {
  const support::TempDirectory data;
  const auto dataset = line_model::write(data.path());
  const AskedModel of_ps, of_worker, of_local;
  IoPool pool{2};
  const std::string address = free_address();
  auto ps = asked_builder(dataset, of_ps)
                .with_updater("nothing begins with this", Sgd{})  // only roles that compute can see that
                .build(pool, flags_of("ps", 0, address));
  auto served = run_beside(ps);
  auto worker = asked_builder(dataset, of_worker).build(pool, flags_of("worker", 0, address));
  CHECK(worker.run() == 0);
  CHECK(served.get() == "0");
  CHECK(of_ps.asked->sum() == 0);
  CHECK(of_worker.asked->variables == 1);
  CHECK(of_worker.asked->updaters == 1);
  CHECK(of_worker.asked->arithmetic == 1);
  CHECK(of_worker.asked->initial_values == 1);

  auto local = asked_builder(dataset, of_local).build(pool, ClusterFlags{});
  CHECK(local.run() == 0);
  CHECK(local.result().parameters_sha256 == worker.result().parameters_sha256);
  CHECK(of_local.asked->sum() == 4);
  CHECK_THROWS_WITH(asked_builder(dataset, of_local)
                        .with_updater("nothing begins with this", Sgd{})
                        .build(pool, flags_of("worker", 0, address)),
                    ContainsSubstring("'nothing begins with this'; the job has "));
}

namespace {

/// An updater that the library does not know.
struct Halving {
  static constexpr std::string_view name = "halving";
  static auto slots() -> std::array<Slot, 0> { return {}; }
  static auto describe() -> std::string { return "share=0.5"; }
  static auto parse(std::string_view text) -> std::optional<Halving> {
    return text == describe() ? std::optional{Halving{}} : std::nullopt;
  }
  void apply(UpdateStep, std::span<const float> gradient, std::span<const float> from, std::span<float> to,
             std::span<const std::span<float>>) const {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = from[i] * 0.5F - gradient[i] * 0.125F;
  }
  auto operator==(const Halving&) const -> bool = default;
};

}  // namespace

TEST_CASE("ClusterTrainer: a parameter server asks the model for an updater that nothing else has", "[train]") {
  const support::TempDirectory data;
  const auto dataset = line_model::write(data.path());
  AskedModel of_ps, of_worker;
  of_ps.brings = of_worker.brings = {{"bias", Halving{}}};
  IoPool pool{2};
  const std::string address = free_address();
  auto ps = asked_builder(dataset, of_ps).build(pool, flags_of("ps", 0, address));
  auto served = run_beside(ps);
  auto worker = asked_builder(dataset, of_worker).build(pool, flags_of("worker", 0, address));
  CHECK(worker.run() == 0);
  CHECK(served.get() == "0");
  CHECK(of_ps.asked->updaters == 1);
  CHECK(of_ps.asked->sum() == 1);
}

TEST_CASE("ClusterTrainer: a worker that computes with another arithmetic is refused in a synchronous job", "[train]") {
  const support::TempDirectory data;
  const auto dataset = line_model::write(data.path());
  AskedModel ours, other, silent;
  ours.arithmetic = "torch 1 threads 1";
  other.arithmetic = "torch 2 threads 1";
  IoPool pool{2};
  const std::string address = free_address();
  const auto builder = [&](const AskedModel& model) {
    return asked_builder(dataset, model, 2).with_cluster_mode({.start_within = 20s});
  };
  ClusterFlags first = flags_of("worker", 0, address);
  first.worker_hosts = {"127.0.0.1:1", "127.0.0.1:1"};
  ClusterFlags second = first, server = first;
  second.task_index = 1;
  server.job_name = "ps";
  auto ps = builder(ours).build(pool, server);
  auto served = run_beside(ps);
  const Started started;
  auto chief = builder(ours).with_hooks(started).build(pool, first);
  auto led = run_beside(chief);
  started.promise->get_future().wait();  // the chief has brought the job before the others come
  const std::pair<AskedModel, std::string> strangers[] = {{other, "'torch 2 threads 1'"},
                                                          {silent, "nothing (its model has no describe(), "}};
  for (const auto& [model, says] : strangers) {
    auto stranger = builder(model).build(pool, second);
    CHECK_THROWS_WITH(stranger.run(), ContainsSubstring("rank 1 says that it computes with " + says) &&
                                          ContainsSubstring("with 'torch 1 threads 1': all workers of a synchronous"));
  }
  auto worker = builder(ours).build(pool, second);
  CHECK(worker.run() == 0);
  CHECK(led.get() == "0");
  CHECK(served.get() == "0");
  auto local = asked_builder(dataset, silent, 2).build();
  CHECK(local.run() == 0);
  CHECK(chief.result().parameters_sha256 == local.result().parameters_sha256);
}

TEST_CASE("ClusterTrainer: an asynchronous job reports a worker that computes with another arithmetic", "[train]") {
  const support::TempDirectory data;
  const auto dataset = line_model::write(data.path());
  AskedModel ours, other;
  ours.arithmetic = "torch 1 threads 1";
  other.arithmetic = "torch 2 threads 1";
  IoPool pool{2};
  const std::string address = free_address();
  const auto builder = [&](const AskedModel& model) {
    return asked_builder(dataset, model, 2).with_consistency(AsynchronousParallel{});
  };
  ClusterFlags first = flags_of("worker", 0, address);
  first.worker_hosts = {"127.0.0.1:1", "127.0.0.1:1"};
  ClusterFlags second = first, server = first;
  second.task_index = 1;
  server.job_name = "ps";
  std::string heard;
  auto ps = builder(ours).with_hooks(line_job::Heard{&heard}).build(pool, server);
  auto served = run_beside(ps);
  auto chief = builder(ours).build(pool, first);
  auto led = run_beside(chief);
  auto worker = builder(other).build(pool, second);
  CHECK(worker.run() == 0);
  CHECK(led.get() == "0");
  CHECK(served.get() == "0");
  CAPTURE(heard);
  CHECK(heard.find(" says that it computes with 'torch ") != std::string::npos);
  CHECK(heard.find("'torch 1 threads 1'") != std::string::npos);
  CHECK(heard.find("'torch 2 threads 1'") != std::string::npos);
}
