// SPDX-License-Identifier: Apache-2.0
// The same networks trained by distrib, in one process with one worker, or as a task of `distrib launch`. usage: train
// NET RECORDS STEPS OUT. Writes OUT/summary.json.
#include "fashion_mnist/fashion_example.hpp"
#include "nets.hpp"

#include <distrib/cluster/launched_task.hpp>
#include <distrib/data/tfrecords.hpp>
#include <distrib/libtorch.hpp>
#include <distrib/optimizer/momentum.hpp>
#include <distrib/train.hpp>

#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace {

template <class Net> struct Task {
  using Example = FashionExample;
  auto make() const { return std::make_shared<Net>(); }
  auto loss(Net& net, const distrib::Batch<Example>& batch) const -> torch::Tensor {
    return torch::cross_entropy_loss(net.forward(Fashion::images(batch)),
                                     distrib::torch_tensor(batch.column(&Example::label)));
  }
};

}  // namespace

int main(int argc, char** argv) try {
  std::vector<std::string> rest;
  const auto task = distrib::LaunchedTask::find(argc, argv, rest);
  if (rest.size() != 4) throw std::invalid_argument("usage: train NET RECORDS STEPS OUT");
  const std::string& out = rest[3];
  return with_net(rest[0], [&]<class Net>() {
    distrib::IoPool pool{2};
    const auto data = distrib::tfrecords(rest[1] + "/train-*").schema(image_feature, label_feature);
    auto trainer = distrib::train(distrib::TorchModel{Task<Net>{}})
                       .with_data(data.shuffle(1).batch(64))
                       .with_updater(distrib::Momentum{.learning_rate = 0.05F, .momentum = 0.9F})
                       .with_hooks(distrib::StopAtStep{std::stoull(rest[2])})
                       .with_seed(1)
                       .build(pool, task.flags);
    const int code = trainer.run();
    if ((task.flags.local() || task.flags.is_chief()) && trainer.result().steps != 0)
      distrib::write_result_json(out + "/summary.json", trainer.result(), "");
    return task.exit_code(code);
  });
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 65;
}
