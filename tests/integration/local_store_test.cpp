// SPDX-License-Identifier: Apache-2.0
// A job in one process whose checkpoints are in an object store: the bits of a directory, whatever ends the process, and
// in turns with a cluster of parameter servers.
#include <distrib/ps/cut/object_checkpoints.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/train/builder.hpp>

#include "support/catch.hpp"
#include "support/map_objects.hpp"
#include "support/temp_directory.hpp"
#include "train/line_job.hpp"
#include "train/table_model.hpp"

#include <atomic>
#include <csignal>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>

namespace {

const distrib::SaveCheckpoint in_bucket{.directory = "map://bucket/run", .every_steps = 8};

/// Leaves the job as a killed process does: nothing is saved after it.
struct LeftAt {
  distrib::Step step;
  void on_step(const distrib::StepDone& event) const {
    if (event.step == step) throw std::runtime_error{"killed"};
  }
};

struct ToldEvents {
  std::string* what;
  void on_event(const distrib::Event& event) const { *what += event.text + '\n'; }
};

/// Asks the job to stop when it waits for its store, like Ctrl-C.
struct ImpatientUser {
  void on_event(const distrib::Event& event) const {
    if (event.kind == distrib::Event::Kind::waiting) std::raise(SIGTERM);
  }
};

}  // namespace

TEST_CASE("A local job in an object store: the bits of a directory, also after it was left in the middle",
          "[integration]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  distrib::IoPool pool{2};
  for (const bool synchronous : {true, false})
    for (const std::uint32_t shards : {1U, 2U}) {
      CAPTURE(synchronous, shards);
      const auto bucket = std::make_shared<support::MapObjects>();
      const auto with = [&](auto hook) {
        const auto consistency = synchronous ? distrib::Consistency{distrib::BulkSynchronousParallel{}}
                                             : distrib::Consistency{distrib::AsynchronousParallel{}};
        return line_job::builder(data, {.workers = synchronous ? 3U : 1U, .shards = shards, .parts = 2})
            .with_consistency(consistency)
            .with_hooks(hook);
      };
      const distrib::SaveCheckpoint on_disk{
          .directory = (directory / ("out" + std::to_string(shards) + std::to_string(synchronous))).string(),
          .every_steps = 8};
      auto expected = with(on_disk).build();
      CHECK(expected.run() == 0);

      auto calm = with(in_bucket).with_object_stores(support::map_stores(bucket)).build();
      CHECK(calm.run() == 0);
      CHECK(calm.result().parameters_sha256 == expected.result().parameters_sha256);
      CHECK(calm.result().checkpoint == "map://bucket/run/model.ckpt-40");
      bucket->objects.clear();

      const auto in_store = with(in_bucket).with_object_stores(support::map_stores(bucket));
      for (const distrib::Step at : {5U, 13U, 27U}) {
        auto left = in_store.with_hooks(LeftAt{at}).build(pool);
        CHECK_THROWS_WITH(left.run(), "killed");
      }
      auto stopped = in_store.with_hooks(line_job::StopAfter{34}).build();
      CHECK(stopped.run() == 1);
      auto last = in_store.build(pool);
      CHECK(last.run() == 0);
      CHECK(last.result().parameters_sha256 == expected.result().parameters_sha256);
      auto again = in_store.build();
      CHECK(again.run() == 0);
      CHECK(again.result().parameters_sha256 == expected.result().parameters_sha256);
      CHECK(again.result().checkpoint == "map://bucket/run/model.ckpt-40");
    }
}

TEST_CASE("A local job with tables in an object store goes on with another number of shards", "[integration]") {
  const support::TempDirectory directory;
  const auto data = table_model::write(directory.path());
  const auto bucket = std::make_shared<support::MapObjects>();
  const auto with = [&](std::uint32_t shards) {
    return distrib::train(TableModel{})
        .with_data(data.shuffle(3).batch(10))
        .with_updater(distrib::Adagrad{.learning_rate = 0.5F})
        .with_local_mode({.workers = 2, .shards = shards})
        .with_object_stores(support::map_stores(bucket))
        .with_hooks(distrib::StopAtStep{30});
  };
  auto expected = with(1).build();
  CHECK(expected.run() == 0);
  for (const std::uint32_t shards : {2U, 1U, 3U}) {
    auto stopped = with(shards).with_hooks(in_bucket, LeftAt{20 - shards}).build();
    CHECK_THROWS_WITH(stopped.run(), "killed");
  }
  auto last = with(2).with_hooks(in_bucket).build();
  CHECK(last.run() == 0);
  CHECK(last.result().parameters_sha256 == expected.result().parameters_sha256);
}

TEST_CASE("A local job waits while its store is away; asked to stop, it does not wait any more", "[integration]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  const auto bucket = std::make_shared<support::MapObjects>();
  std::atomic<int> away = 0;
  bucket->fail = [&](const std::string& request) {
    return request.starts_with("put run/cuts/") && away-- > 0 ? support::MapObjects::away() : std::error_code{};
  };
  std::string told;
  const auto job =
      line_job::builder(data).with_object_stores(support::map_stores(bucket)).with_hooks(in_bucket, ToldEvents{&told});
  away = 2;
  auto waits = job.build();
  CHECK(waits.run() == 0);
  CHECK_THAT(told, ContainsSubstring("the object store of the cuts does not answer, waiting: put run/cuts/"));
  CHECK(bucket->count("run/model.ckpt-") == 5);

  bucket->objects.clear();
  away = 1'000'000;
  distrib::IoPool pool{2};
  for (distrib::IoPool* const threads : {static_cast<distrib::IoPool*>(nullptr), &pool}) {
    const auto impatient = job.with_hooks(ImpatientUser{});
    auto stopped = threads != nullptr ? impatient.build(*threads) : impatient.build();
    try {
      static_cast<void>(stopped.run());
      FAIL("it was saved");
    } catch (const std::system_error& error) {
      CHECK(error.code() == support::MapObjects::away());
    }
  }
}

TEST_CASE("A local job in an object store counts num_steps from the cut that it continues from", "[integration]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  const auto bucket = std::make_shared<support::MapObjects>();
  const auto job = distrib::train(LineModel{})
                       .with_data(data.shuffle(3).batch(10))
                       .with_seed(11)
                       .with_object_stores(support::map_stores(bucket))
                       .with_hooks(distrib::StopAtStep{.num_steps = 7}, in_bucket);
  for (const distrib::Step end : {7U, 14U, 21U}) {
    auto trainer = job.build();
    CHECK(trainer.run() == 0);
    CHECK(trainer.result().steps == end);
  }
}

TEST_CASE("A local job with a URL that nothing opens is refused by a sentence that names the component",
          "[integration]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  auto trainer = line_job::builder(data).with_hooks(in_bucket).build();
  CHECK_THROWS_WITH(trainer.run(), ContainsSubstring("map://bucket/run: ") && ContainsSubstring("distrib::http"));
}
