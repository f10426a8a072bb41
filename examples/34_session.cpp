// SPDX-License-Identifier: Apache-2.0
// The loop belongs to the program, as with TensorFlow's MonitoredTrainingSession. One program plays every role:
//   tools/run.sh launch --ps 2 --workers 3 --restart -- build/examples/examples/34_session out 2000
// Without flags everything is in this process. `out` gets the checkpoints and a summary.
#include <distrib/cluster/cluster_flags.hpp>
#include <distrib/data/tfrecords.hpp>
#include <distrib/example/example_writer.hpp>
#include <distrib/record/record_writer.hpp>
#include <distrib/train.hpp>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

struct Line {  // y = slope * x + offset. There is no gradients(): that is the loop's part.
  using Variables = distrib::VariableList<distrib::Variable<"slope", float, 0>, distrib::Variable<"offset", float, 0>>;
  struct Example {
    float x, y;
  };
  auto variables() const -> Variables { return {{{}}, {{}}}; }
};

constexpr auto x = distrib::feature("x", &Line::Example::x);
constexpr auto y = distrib::feature("y", &Line::Example::y);

// Every process writes the same file; the last one replaces an equal file.
auto data(const std::string& directory, const std::string& writer) {
  std::filesystem::create_directories(directory);
  const std::string own = directory + "/line." + writer, shared = directory + "/line.tfrecord";
  distrib::ExampleWriter example{distrib::schema<Line::Example>(x, y)};
  distrib::RecordWriter file{own};
  for (float at = -1; at < 1; at += 1.0F / 64) file.append(example.write({at, 2 * at + 1}));
  file.close();
  std::filesystem::rename(own, shared);
  return distrib::tfrecords(shared).schema(x, y).shuffle(1).batch(16);
}

auto main(int argc, char** argv) -> int try {
  std::vector<std::string> rest;
  const auto flags = distrib::ClusterFlags::parse_known(argc, argv, rest);
  const std::string out = rest.empty() ? "34_session.out" : rest[0];
  const distrib::Step steps = rest.size() < 2 ? 100 : std::stoull(rest[1]);
  if (rest.empty()) std::filesystem::remove_all(out);
  distrib::IoPool pool{1};
  auto session = distrib::session(Line{})
                     .with_data(data(out, flags.job_name + std::to_string(flags.task_index)))
                     .with_updater(distrib::Sgd{.learning_rate = 0.2F})
                     .with_hooks(distrib::StopAtStep{steps}, distrib::ShowProgress{stderr},
                                 distrib::SaveCheckpoint{.directory = out, .every_steps = 50})
                     .open(pool, flags);

  while (!session.should_stop())
    session.run([](const auto& batch, const auto& values, auto& gradients, distrib::StepContext) {
      const float share = 1 / static_cast<float>(batch.size());
      float loss = 0;
      for (std::size_t i = 0; i < batch.size(); ++i) {
        const auto [at, wanted] = batch[i];
        const float error = distrib::get<"slope">(values)() * at + distrib::get<"offset">(values)() - wanted;
        distrib::get<"slope">(gradients)() += 2 * error * at * share;
        distrib::get<"offset">(gradients)() += 2 * error * share;
        loss += error * error * share;
      }
      return loss;
    });
  const int code = session.close();

  const distrib::TrainingResult& result = session.result();
  if (session.is_chief() && result.complete) {
    distrib::write_result_json(out + "/summary.json", result, "");
    std::printf("%d steps, loss %.3f\n", static_cast<int>(result.steps), double{result.loss});
  }
  return code;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 65;
}
