// SPDX-License-Identifier: Apache-2.0
// The program that users of TensorFlow wrote in 2016, line by line: one program is both parameter server and worker.
//   tools/run.sh launch --ps 1 --workers 2 -- build/examples/examples/12_cluster
// starts it three times, with --job_name --task_index --ps_hosts --worker_hosts. Without flags it does the whole job.
#include <distrib/cluster/cluster_flags.hpp>
#include <distrib/data/tfrecords.hpp>
#include <distrib/example/example_writer.hpp>
#include <distrib/placement/greedy_load_balancing.hpp>
#include <distrib/placement/replica_device_setter.hpp>
#include <distrib/ps/server/server.hpp>
#include <distrib/record/record_writer.hpp>
#include <distrib/train/builder.hpp>

#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>

struct Line {  // y = slope * x + offset
  using Variables = distrib::VariableList<distrib::Variable<"slope", float, 0>, distrib::Variable<"offset", float, 0>>;
  struct Example {
    float x, y;
  };
  auto variables() const -> Variables { return {{{}}, {{}}}; }

  auto gradients(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values,
                 distrib::Gradients<Variables>& gradients, distrib::StepContext) const -> float {
    const float share = 1 / static_cast<float>(batch.size());
    float loss = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto [x, y] = batch[i];
      const float error = distrib::get<"slope">(values)() * x + distrib::get<"offset">(values)() - y;
      distrib::get<"slope">(gradients)() += 2 * error * x * share;
      distrib::get<"offset">(gradients)() += 2 * error * share;
      loss += error * error * share;
    }
    return loss;
  }
};

constexpr auto x = distrib::feature("x", &Line::Example::x);
constexpr auto y = distrib::feature("y", &Line::Example::y);

// Every worker writes the same file; the last one replaces an equal file.
auto data(const std::string& writer) {
  distrib::ExampleWriter example{distrib::schema<Line::Example>(x, y)};
  distrib::RecordWriter file{"12_cluster." + writer};
  for (float at = -1; at < 1; at += 1.0F / 64) file.append(example.write({at, 2 * at + 1}));
  file.close();
  std::filesystem::rename("12_cluster." + writer, "12_cluster.tfrecord");
  return distrib::tfrecords("12_cluster.tfrecord").schema(x, y).shuffle(1).batch(16);
}

auto run(auto trainer) -> int {
  const int code = trainer.run();
  const float loss = trainer.result().loss;  // in a cluster, of this worker's own last batch
  if (std::isnan(loss)) return code;  // this worker did no step: it started when the others had finished
  std::printf("ended with code %d, loss %.3f\n", code, double{loss});
  return code != 0 || loss < 1e-4F ? code : 1;
}

auto main(int argc, char** argv) -> int try {
  distrib::IoPool io{1};
  const auto recipe = distrib::train(Line{})
                          .with_updater(distrib::Sgd{.learning_rate = 0.2F})
                          .with_hooks(distrib::StopAtStep{100})
                          .with_local_mode({.workers = 2});
  const auto train_here = [&] { return run(recipe.with_data(data("local")).build(io)); };

  const auto flags = distrib::ClusterFlags::parse(argc, argv);
  if (flags.local()) return train_here();
  distrib::ClusterSpec cluster{{"ps", flags.ps_hosts}, {"worker", flags.worker_hosts}};
  distrib::Server server{io, cluster, flags.job_name, flags.task_index};
  if (flags.job_name == "ps") return server.join();
  auto device = distrib::replica_device_setter({.worker_device = flags.worker_device(), .cluster = cluster},
                                               distrib::GreedyLoadBalancingStrategy{distrib::byte_size_load});

  const auto here = recipe.with_data(data("worker" + std::to_string(flags.task_index)));
  return run(here.with_placement(device).build(io, flags));
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 65;
}
