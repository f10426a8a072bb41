// SPDX-License-Identifier: Apache-2.0
// Measures what large clusters cost without one: the CPU time of an event of a simulated job, and the memory of its
// process; and the memory that a worker's model needs, by the number of ranks of the job.
// Prints JSON. usage: simulate_benchmark DIRECTORY run PS WORKERS STEPS | DIRECTORY worker RANKS
#include <distrib/core.hpp>
#include <distrib/data.hpp>
#include <distrib/example.hpp>
#include <distrib/optimizer.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/record.hpp>
#include <distrib/sharding.hpp>
#include <distrib/sim.hpp>
#include <distrib/train.hpp>
#include <distrib/train/contributor.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

/// y = w x of three numbers; its variable may have more elements, which stay as they are.
struct WideLine {
  using Variables = distrib::VariableList<distrib::Variable<"weights", float, 1>>;
  struct Example {
    std::array<float, 3> x{};
    float y = 0;
  };
  std::int64_t elements = 3;

  [[nodiscard]] auto variables() const -> Variables { return {{{elements}}}; }
  auto gradients(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values,
                 distrib::Gradients<Variables>& gradients, distrib::StepContext) const -> float {
    const auto w = distrib::get<"weights">(values);
    auto dw = distrib::get<"weights">(gradients);
    float loss = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto& [x, y] = batch[i];
      const float error = w(0) * x[0] + w(1) * x[1] + w(2) * x[2] - y;
      for (std::size_t j = 0; j < 3; ++j) dw(static_cast<std::int64_t>(j)) += 2 * error * x[j];
      loss += error * error;
    }
    return loss;
  }
};

constexpr auto x = distrib::feature("x", &WideLine::Example::x);
constexpr auto y = distrib::feature("y", &WideLine::Example::y);

void write_lines(const std::string& file) {
  distrib::ExampleWriter example{distrib::schema<WideLine::Example>(x, y)};
  distrib::RecordWriter writer{file};
  for (int i = 0; i < 200; ++i) {
    const auto t = static_cast<float>(i) / 100 - 1;
    writer.append(example.write({{t, t * t, 1 - t}, 2 * t - 3 * t * t + 0.5F * (1 - t)}));
  }
  writer.close();
}

auto use() -> ::rusage {
  ::rusage now{};
  ::getrusage(RUSAGE_SELF, &now);
  return now;
}
auto cpu_seconds() -> double {
  const ::rusage now = use();
  return static_cast<double>(now.ru_utime.tv_sec + now.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(now.ru_utime.tv_usec + now.ru_stime.tv_usec);
}
// Not ru_maxrss: that begins with the memory of the process that has started this one.
auto peak_mib() -> double {
  std::ifstream status{"/proc/self/status"};
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024;
  throw std::runtime_error("/proc/self/status has no VmHWM");
}

auto number_of(const char* text) -> std::uint32_t { return static_cast<std::uint32_t>(std::stoul(text)); }

void simulate(const std::string& file, std::uint32_t ps, std::uint32_t workers, std::uint32_t steps) {
  const auto trainer = distrib::train(WideLine{16 * std::int64_t{ps}})
                           .with_data(distrib::tfrecords(file).schema(x, y).shuffle(1).batch(2))
                           .with_updater(distrib::Momentum{.learning_rate = 0.001F, .momentum = 0.9F})
                           .with_partitioner(distrib::FixedShardsPartitioner{ps})
                           .with_hooks(distrib::StopAtStep{steps})
                           .with_local_mode({.workers = workers});
  distrib::sim::Options options;
  options.seed = 1;
  options.ps = ps;
  options.workers = workers;
  options.faults = distrib::sim::Faults{};
  options.network = distrib::sim::NetworkOptions{.latency = std::chrono::milliseconds{1}};
  options.most_events = 4'000'000'000;
  options.cut_interval = steps;
  const double before = cpu_seconds();
  const distrib::sim::Outcome outcome = distrib::sim::run(trainer, options);
  if (!outcome.wrong.empty()) throw std::runtime_error{outcome.wrong};
  std::printf("{\"events\": %llu, \"event_us\": %.3f, \"mib\": %.1f, \"sha256\": \"%s\"}\n",
              static_cast<unsigned long long>(outcome.events),
              1e6 * (cpu_seconds() - before) / static_cast<double>(outcome.events), peak_mib(),
              outcome.parameters_sha256.c_str());
}

// What one rank of a job with `ranks` ranks and 1 MiB of values needs for its first contribution.
void worker(const std::string& file, std::uint32_t ranks) {
  const WideLine model{std::int64_t{1} << 18};
  const auto source = distrib::tfrecords(file).schema(x, y).shuffle(1).batch(2).open();
  distrib::Job job;
  job.ranks = ranks;
  job.total_steps = 1;
  job.variables = model.variables().infos();
  job.parts = {{0, distrib::Slice::whole(job.variables[0].shape), 0}};
  const auto layouts = distrib::shard_layouts(job);
  const std::vector<distrib::SharedBuffer> values{
      std::make_shared<distrib::AlignedBuffer>(distrib::initial_values(job, layouts[0]))};
  const std::vector gradients{std::make_shared<distrib::AlignedBuffer>(layouts[0].wire_block_bytes())};
  const double before = peak_mib();
  distrib::Contributor<WideLine, std::remove_const_t<decltype(source)>> contribute{model, source, job, layouts};
  contribute(1, 1, values, gradients);
  std::printf("{\"mib\": %.2f}\n", peak_mib() - before);
}

auto measure(int count, char** words) -> int {
  const std::string mode = count > 2 ? words[2] : "";
  if (!(mode == "run" && count == 6) && !(mode == "worker" && count == 4))
    throw std::runtime_error{"usage: simulate_benchmark DIRECTORY run PS WORKERS STEPS | DIRECTORY worker RANKS"};
  const std::string file = std::string{words[1]} + "/line.tfrecord";
  if (!std::filesystem::exists(file)) write_lines(file);
  if (mode == "run") simulate(file, number_of(words[3]), number_of(words[4]), number_of(words[5]));
  else worker(file, number_of(words[3]));
  return 0;
}

}  // namespace

auto main(int count, char** words) -> int {
  try {
    return measure(count, words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
