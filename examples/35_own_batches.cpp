// SPDX-License-Identifier: Apache-2.0
// A session whose batches come from the program's own loop, as by feed_dict: here a measurement a step. The library
// cannot read them again, so a worker that dies ends the job with code 1, and a new start continues from the last cut:
//   tools/run.sh launch --ps 2 --workers 3 --restart -- build/examples/examples/35_own_batches out 2000
#include <distrib/cluster/cluster_flags.hpp>
#include <distrib/core/philox.hpp>
#include <distrib/train.hpp>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

struct Mean {
  using Variables = distrib::VariableList<distrib::Variable<"mean", float, 1>>;
  auto variables() const -> Variables { return {{{4}}}; }
};

// A sensor of this worker. The loop reads it from where the job is.
struct Sensor {
  std::uint64_t number;
  distrib::Step next;

  auto read() -> std::vector<float> {
    distrib::Philox noise{number, next++, 0};
    std::vector<float> reading;
    for (const float level : {1.0F, 2.0F, 3.0F, 4.0F})
      reading.push_back(level + (distrib::uniform01(noise()) - 0.5F) / 8);
    return reading;
  }
};

auto main(int argc, char** argv) -> int try {
  std::vector<std::string> rest;
  const auto flags = distrib::ClusterFlags::parse_known(argc, argv, rest);
  const std::string out = rest.empty() ? "35_own_batches.out" : rest[0];
  const distrib::Step steps = rest.size() < 2 ? 200 : std::stoull(rest[1]);
  if (rest.empty()) std::filesystem::remove_all(out);
  distrib::IoPool pool{1};
  auto session = distrib::session(Mean{})
                     .with_data(distrib::OwnBatches{.batch_size = 1})
                     .with_updater(distrib::Sgd{.learning_rate = 0.05F})
                     .with_hooks(distrib::StopAtStep{steps}, distrib::ShowProgress{stderr},
                                 distrib::SaveCheckpoint{.directory = out, .every_steps = 50})
                     .open(pool, flags);

  Sensor sensor{flags.task_index, session.global_step()};
  while (!session.should_stop()) {
    const std::vector<float> reading = sensor.read();
    session.run([&](const auto& values, auto& gradients, distrib::StepContext) {
      float loss = 0;
      for (std::size_t i = 0; i < reading.size(); ++i) {
        const float error = distrib::get<"mean">(values)(i) - reading[i];
        distrib::get<"mean">(gradients)(i) = error;
        loss += error * error / 2;
      }
      return loss;
    });
  }
  const int code = session.close();

  if (session.is_chief() && session.result().complete) {
    distrib::write_result_json(out + "/summary.json", session.result(), "");
    std::printf("%d steps, a small loss: %s\n", static_cast<int>(session.global_step()),
                session.result().loss < 0.02F ? "yes" : "no");
  }
  return code;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 65;
}
