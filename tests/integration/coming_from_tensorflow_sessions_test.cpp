// SPDX-License-Identifier: Apache-2.0
// The code about sessions in docs/coming-from-tensorflow.md.
#include <distrib/ps/server/server.hpp>
#include <distrib/summary/event_reader.hpp>
#include <distrib/train.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/line_job.hpp"

#include <chrono>
#include <cmath>
#include <string>
#include <system_error>

namespace coming_from_tensorflow_sessions {

template <class Data> auto sessions(const Data& data) {
  return distrib::session(LineModel{})
      .with_data(data.shuffle(3).batch(10))
      .with_updater(distrib::Momentum{.learning_rate = 0.1F, .momentum = 0.5F})
      .with_hooks(distrib::StopAtStep{40})
      .with_seed(11);
}

const auto step = [](const auto& batch, const auto& values, auto& gradients, distrib::StepContext context) {
  return LineModel{}.gradients(batch, values, gradients, context);
};

auto hash_of_trainer(const auto& data) -> std::string {
  auto trainer = line_job::builder(data, {.workers = 1}).build();
  CHECK(trainer.run() == 0);
  return trainer.result().parameters_sha256;
}

}  // namespace coming_from_tensorflow_sessions

TEST_CASE("Coming from TensorFlow: P046 a session, P048 recovery, P049 a limit of waiting", "[integration]") {
  using namespace coming_from_tensorflow_sessions;
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  const auto recipe = sessions(data);
  distrib::IoPool pool{2};
  distrib::ClusterFlags flags;
  flags.job_name = "worker";
  flags.worker_hosts = {"127.0.0.1:1"};
  flags.ps_hosts = {"127.0.0.1:1"};
  const auto late = [&] { static_cast<void>(recipe.open(pool, flags, {.max_wait = std::chrono::milliseconds{200}})); };
  CHECK_THROWS_AS(late(), std::system_error);
  CHECK_THROWS_WITH(late(), ContainsSubstring("the session was not ready in time"));

  distrib::Server server{pool, {{"ps", {"127.0.0.1:0"}}, {"worker", flags.worker_hosts}}, "ps", 0};
  flags.ps_hosts = {"127.0.0.1:" + std::to_string(server.port())};
  {
    auto patient = recipe.open(pool, flags, {.max_wait = std::chrono::seconds{600}});
    patient.run(step);
  }  // as if the process had died
  auto session = recipe.open(pool, flags);
  while (!session.should_stop()) session.run(step);
  CHECK(session.close() == 0);
  CHECK(session.result().parameters_sha256 == hash_of_trainer(data));
  CHECK(server.join() == 0);
}

TEST_CASE("Coming from TensorFlow: P047 what is written, P051 scaffold, P052 a stop, P053 one process",
          "[integration]") {
  using namespace coming_from_tensorflow_sessions;
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  const std::string out = (directory.path() / "out").string(), events = (directory.path() / "events").string();
  int begun = 0;
  const auto recipe = sessions(data).with_hooks(distrib::SaveCheckpoint{.directory = out, .every_steps = 20},
                                                distrib::WriteSummaries{events, 100},
                                                distrib::StepCounter{{.output_dir = events, .every_n_steps = 100}});
  auto stopped = recipe.open({
      .ready = [](const auto& values) -> std::string {
        return std::isfinite(distrib::get<"bias">(values)()) ? "" : "bias";
      },
      .local_init = [&](const auto& values,
                        distrib::StepContext) { begun += distrib::get<"bias">(values)() == 0 ? 1 : 100; },
  });
  auto& session = stopped;
  while (!session.should_stop())
    session.run([&](const auto& batch, const auto& values, auto& gradients, distrib::StepContext context) {
      if (context.step == 5) session.request_stop("enough");
      return step(batch, values, gradients, context);
    });
  CHECK(session.close() == 0);
  CHECK(session.global_step() == 5);
  CHECK(begun == 1);

  auto single = recipe.open();
  CHECK(single.is_chief());
  CHECK(single.global_step() == 5);
  while (!single.should_stop()) single.run(step);
  CHECK(single.close() == 0);
  CHECK(single.result().parameters_sha256 == hash_of_trainer(data));
  CHECK(single.result().checkpoint == out + "/model.ckpt-40");
  CHECK_FALSE(distrib::read_scalars(events).empty());
}
