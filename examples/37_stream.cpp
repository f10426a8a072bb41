// SPDX-License-Identifier: Apache-2.0
// Trains from files that are added while the job runs. One program plays every role, and also the writer of the files:
//   tools/run.sh launch --ps 2 --workers 2 --restart -- build/examples/examples/37_stream train in out/log out 100
//   build/examples/examples/37_stream write in 0 10
// Without arguments everything is in this process. With distrib::http, files and log may be in an object store.
#include <distrib/cluster/cluster_flags.hpp>
#include <distrib/data/follow_files.hpp>
#include <distrib/example/example_writer.hpp>
#include <distrib/record/record_writer.hpp>
#include <distrib/train.hpp>
#ifdef DISTRIB_EXAMPLE_HTTP
#include <distrib/remote/s3/s3_stores.hpp>
#endif

#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

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
      const auto [at, wanted] = batch[i];
      const float error = distrib::get<"slope">(values)() * at + distrib::get<"offset">(values)() - wanted;
      distrib::get<"slope">(gradients)() += 2 * error * at * share;
      distrib::get<"offset">(gradients)() += 2 * error * share;
      loss += error * error * share;
    }
    return loss;
  }
};

constexpr auto x = distrib::feature("x", &Line::Example::x);
constexpr auto y = distrib::feature("y", &Line::Example::y);

// Adds file `number`, of 64 records. It has a hidden name until it is whole.
void add_file(const std::string& directory, int number) {
  std::filesystem::create_directories(directory);
  const std::string name = "part-" + std::to_string(10'000 + number);
  distrib::ExampleWriter example{distrib::schema<Line::Example>(x, y)};
  distrib::RecordWriter file{directory + "/_" + name};
  for (int i = 0; i < 64; ++i) {
    const float at = static_cast<float>((i * 29 + number * 7) % 64) / 32 - 1;
    file.append(example.write({at, 2 * at + 1}));
  }
  file.close();
  std::filesystem::rename(directory + "/_" + name, directory + "/" + name);
}

auto stores() -> distrib::OpenObjectStore {
#ifdef DISTRIB_EXAMPLE_HTTP
  return distrib::s3_stores();
#else
  return {};
#endif
}

auto main(int argc, char** argv) -> int try {
  std::vector<std::string> rest;
  const auto flags = distrib::ClusterFlags::parse_known(argc, argv, rest);
  if (rest.size() == 4 && rest[0] == "write") {
    for (int number = std::stoi(rest[2]); number < std::stoi(rest[3]); ++number) add_file(rest[1], number);
    return 0;
  }
  const bool is_alone = rest.size() < 5;
  const std::string out = is_alone ? "37_stream.out" : rest[3];
  const std::string incoming = is_alone ? out + "/in" : rest[1];
  const std::string log = is_alone ? out + "/log" : rest[2];
  if (is_alone) std::filesystem::remove_all(out);
  const std::uint64_t steps = is_alone ? 32 : std::stoull(rest[4]);
  if (incoming.find("://") == std::string::npos) std::filesystem::create_directories(incoming);
  const std::jthread writer{[&] {
    for (int number = 0; is_alone && number < 16; ++number) {
      std::this_thread::sleep_for(std::chrono::milliseconds{10});
      add_file(incoming, number);
    }
  }};
  distrib::IoPool pool{1};
  auto trainer = distrib::train(Line{})
                     .with_data(distrib::FollowFiles{.directory = incoming,
                                                     .log = log,
                                                     .open_store = stores(),
                                                     .look_every = std::chrono::milliseconds{100},
                                                     .believe_after = std::chrono::seconds{1}}
                                    .schema(x, y)
                                    .batch(16))
                     .with_updater(distrib::Sgd{.learning_rate = 0.05F})
                     .with_local_mode({.workers = 2})
                     .with_hooks(distrib::StopAtStep{steps}, distrib::ShowProgress{stderr},
                                 distrib::SaveCheckpoint{.directory = out, .every_steps = 10, .max_to_keep = 0})
                     .build(pool, flags);
  const int code = trainer.run();
  if (const distrib::TrainingResult& result = trainer.result();
      result.complete && !result.parameters_sha256.empty()) {  // not at other workers
    distrib::write_result_json(out + "/summary.json", result, "");
    std::printf("%d steps, loss %.2f\n", static_cast<int>(result.steps), double{result.loss});
  }
  return code;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 65;
}
