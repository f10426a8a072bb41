// SPDX-License-Identifier: Apache-2.0
// A plain loop of LibTorch, with batches of its own, made a training on a cluster: the loop stays what it is, but that
// parameters come from the session and gradients go to it instead of to an optimizer.
//
//     tools/run.sh launch --ps 2 --workers 3 --restart -- build/examples/examples/torch_session
#include <distrib/cluster/cluster_flags.hpp>
#include <distrib/libtorch.hpp>
#include <distrib/optimizer/adam.hpp>
#include <distrib/train.hpp>

#include <torch/nn/modules/linear.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

struct Net : torch::nn::Module {  // y = sin x
  auto forward(const torch::Tensor& x) -> torch::Tensor { return out(torch::tanh(in(x))); }

  torch::nn::Linear in{register_module("in", torch::nn::Linear(1, 32))};
  torch::nn::Linear out{register_module("out", torch::nn::Linear(32, 1))};
};

// The parameters of the module as the variables of a job, with the values that the module was made with.
struct ParametersOf {
  using Variables = distrib::RuntimeVariables;
  std::shared_ptr<Net> net;

  auto variables() const -> Variables {
    std::vector<distrib::VariableInfo> all;
    for (const auto& parameter : net->named_parameters())
      all.push_back(distrib::runtime_variable(parameter.key(), parameter.value().sizes().vec(), distrib::DType::float32,
                                              distrib::CustomInitializer{}));
    return Variables{std::move(all)};
  }
  void initial_values(distrib::InitialValues<Variables>& values, std::uint64_t) const {
    for (std::size_t i = 0; const auto& parameter : net->parameters()) {
      std::memcpy(values.data(i), parameter.data_ptr(), values.size_bytes(i));
      ++i;
    }
  }
};

auto main(int argc, char** argv) -> int try {
  const auto flags = distrib::ClusterFlags::parse(argc, argv);
  torch::manual_seed(1);  // every worker makes the same module
  auto net = std::make_shared<Net>();
  distrib::IoPool pool{1};
  auto session = distrib::session(ParametersOf{net})
                     .with_data(distrib::OwnBatches{.batch_size = 64})
                     .with_updater(distrib::Adam{.learning_rate = 0.01F})
                     .with_hooks(distrib::StopAtStep{600}, distrib::ShowProgress{stderr})
                     .open(pool, flags);

  torch::manual_seed(2 + flags.task_index);  // and draws batches of its own
  std::vector<torch::Tensor> parameters = net->parameters();
  while (!session.should_stop()) {
    const auto x = torch::rand({64, 1}) * 6 - 3;
    session.run([&](const auto& values, auto& gradients, distrib::StepContext) {
      for (std::size_t i = 0; i < parameters.size(); ++i)
        std::memcpy(parameters[i].data_ptr(), values.data(i), values.size_bytes(i));
      net->zero_grad();
      const auto loss = torch::mse_loss(net->forward(x), torch::sin(x));
      loss.backward();
      for (std::size_t i = 0; i < parameters.size(); ++i)
        std::memcpy(gradients.data(i), parameters[i].grad().data_ptr(), gradients.size_bytes(i));
      return loss.item<float>();
    });
  }
  const int code = session.close();
  if (session.is_chief() && code == 0) std::printf("loss %.2f\n", double{session.result().loss});
  return code;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 65;
}
