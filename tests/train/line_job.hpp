// SPDX-License-Identifier: Apache-2.0
// Jobs that train the line model, a hook that stops them, and a hook that writes down the events.
#pragma once

#include <distrib/optimizer/momentum.hpp>
#include <distrib/train/builder.hpp>

#include "train/line_model.hpp"

#include <csignal>
#include <cstdint>
#include <string>
#include <utility>

namespace line_job {

struct Setup {
  std::uint32_t workers = 3, shards = 1;
  std::int64_t parts = 1;
  distrib::Step steps = 40;
};

template <class Data, class M = LineModel>
auto builder(const Data& data, const Setup& setup = {}, M model = {}) {
  return distrib::train(std::move(model))
      .with_data(data.shuffle(3).batch(10))
      .with_partitioner(distrib::FixedShardsPartitioner{setup.parts})
      .with_updater(distrib::Momentum{.learning_rate = 0.1F, .momentum = 0.5F})
      .with_hooks(distrib::StopAtStep{setup.steps})
      .with_seed(11)
      .with_local_mode({.workers = setup.workers, .shards = setup.shards});
}

struct StopAfter {
  distrib::Step step;
  void on_step(const distrib::StepDone& event) const {
    if (event.step == step) std::raise(SIGTERM);  // caught by run(), like Ctrl-C
  }
};

struct Heard {
  std::string* what;
  void on_start(const distrib::JobStart& event) const { *what += "start " + std::to_string(event.first_step) + "\n"; }
  void on_saved(const distrib::CheckpointSaved& event) const { *what += "saved " + std::to_string(event.step) + "\n"; }
  void on_evaluated(const distrib::Evaluated& event) const {
    *what += "evaluated " + std::to_string(event.step) + "\n";
  }
  void on_event(const distrib::Event& event) const { *what += event.text + "\n"; }
  void on_end(const distrib::JobEnd& event) const { *what += "end " + std::to_string(event.result.steps) + "\n"; }
};

}  // namespace line_job
