// SPDX-License-Identifier: Apache-2.0
#include <distrib/libtorch/script_module.hpp>

#include "libtorch/catch.hpp"
#include "libtorch/model_memory.hpp"
#include "libtorch/nets.hpp"
#include "libtorch/points.hpp"
#include "support/temp_directory.hpp"

#include <distrib/libtorch/torch_model.hpp>
#include <distrib/libtorch/torch_tensor.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

using distrib::torch_tensor;
using support::Point;

namespace {

struct ScriptTask {
  using Example = Point;
  std::string file;
  auto make() const { return torch::jit::load(file); }
  auto loss(torch::jit::Module& net, const distrib::Batch<Point>& batch) const -> torch::Tensor {
    const torch::Tensor predicted = net.forward({torch_tensor(batch.column(&Point::x))}).toTensor();
    return torch::mse_loss(predicted, torch_tensor(batch.column(&Point::y)));
  }
  auto evaluate(torch::jit::Module& net, const distrib::Batch<Point>& batch) const -> distrib::Metrics {
    return {batch.size(), {{"mse", loss(net, batch).item<double>()}, {"training", net.is_training() ? 1.0 : 0.0}}};
  }
};

// The function of `support::LineNet` as TorchScript, with the values of `net` and a buffer.
void save_script(const support::LineNet& net, const std::string& file) {
  torch::jit::Module child{"Child"};
  child.register_parameter("weight", net.first->weight.detach().clone().set_requires_grad(true), false);
  child.register_parameter("bias", net.first->bias.detach().clone().set_requires_grad(true), false);
  child.register_attribute("training", c10::BoolType::get(), true);
  child.define("def forward(self, x):\n  return torch.addmm(self.bias, x, self.weight.t())\n");
  torch::jit::Module module{"Line"};
  module.register_parameter("own", net.own.detach().clone().set_requires_grad(true), false);
  module.register_module("first", child);
  module.register_parameter("last", net.last->weight.detach().clone().set_requires_grad(true), false);
  module.register_buffer("shift", torch::zeros({1}));
  module.register_attribute("training", c10::BoolType::get(), true);
  module.define(
      "def forward(self, x):\n"
      "  h = torch.tanh(self.first.forward(x)) * self.own\n"
      "  return torch.mm(h, self.last.t()).squeeze(1) + self.shift\n");
  module.save(file);
}

}  // namespace

TEST_CASE("ModuleTraits: a module of TorchScript has the variables and gradients of its original", "[libtorch]") {
  const support::TempDirectory directory;
  const std::string file = directory / "line.pt";
  torch::manual_seed(3);
  support::LineNet net;
  save_script(net, file);
  const distrib::TorchModel model{ScriptTask{file}};
  support::ModelMemory memory{model};
  REQUIRE(support::names_of(model.variables().infos()) ==
          std::vector<std::string>{"own", "first.weight", "first.bias", "last"});

  const support::PointBatch data{8};
  const auto loss = torch::mse_loss(net.forward(torch_tensor(data.batch.column(&Point::x))),
                                    torch_tensor(data.batch.column(&Point::y)));
  loss.backward();
  const std::vector<torch::Tensor> expected{net.own.grad(), net.first->weight.grad(), net.first->bias.grad(),
                                            net.last->weight.grad()};
  std::vector<std::vector<float>> first;
  // TorchScript would begin to optimise in the second or third call.
  for (int call = 0; call < 5; ++call) {
    memory.gradients.zero();
    const float got =
        model.gradients(data.batch, std::as_const(memory.values), memory.gradients, support::context_of(1));
    CHECK(got == Approx(loss.item<float>()));
    for (std::size_t v = 0; v < 4; ++v) {
      const auto gradient = memory.gradient(v);
      CHECK(torch::allclose(torch::tensor(gradient), expected[v].flatten(), 1e-5, 1e-7));
      if (call == 0) first.push_back(gradient);
      else CHECK(gradient == first[v]);
    }
  }
  const auto metrics = model.evaluate(data.batch, memory.values);
  CHECK(metrics.find("mse").value_or(-1) == Approx(loss.item<double>()));
  CHECK(metrics.find("training") == 0.0);
}

TEST_CASE("ModuleTraits: a file that is no module is reported", "[libtorch]") {
  const distrib::TorchModel model{ScriptTask{"/nowhere/net.pt"}};
  CHECK(support::failure_of([&] { (void)model.variables(); }).code == distrib::libtorch_errc::refused);
}
