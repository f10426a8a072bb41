// SPDX-License-Identifier: Apache-2.0
#include <distrib/libtorch/torch_modules.hpp>

#include "libtorch/catch.hpp"
#include "libtorch/nets.hpp"
#include "libtorch/points.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <string>

using distrib::libtorch_errc;
using distrib::TorchOptions;
using distrib::detail::TorchModules;
using support::failure_of;

namespace {

// Builds what the function returns, which gets the number of the call.
struct AnyTask {
  using Example = support::Point;
  std::function<std::shared_ptr<torch::nn::Module>(int)> build;
  std::shared_ptr<int> made = std::make_shared<int>(0);
  auto make() const -> std::shared_ptr<torch::nn::Module> { return build((*made)++); }
  auto loss(torch::nn::Module&, const distrib::Batch<Example>&) const -> torch::Tensor { return {}; }
};

auto line_task() -> AnyTask {
  return {[](int) { return std::make_shared<support::LineNet>(); }};
}

struct FrozenNet : torch::nn::Module {
  FrozenNet(float value, bool random) {
    register_parameter("w", torch::rand({2}));
    register_parameter("frozen", random ? torch::rand({2}) : torch::full({2}, value), false);
  }
};

}  // namespace

TEST_CASE("TorchModules: nothing is made before it is needed, then each module is used again", "[libtorch]") {
  const AnyTask task = line_task();
  TorchModules<AnyTask> modules{task, {}};
  CHECK(*task.made == 0);
  CHECK(modules.variables().size() == 4);
  CHECK(modules.variables().size() == 4);
  CHECK(modules.averaged().empty());
  CHECK(*task.made == 1);
  auto one = modules.take(0);
  CHECK(*task.made == 1);
  auto two = modules.take(0);
  CHECK(*task.made == 2);
  modules.give_back(std::move(one));
  one = modules.take(0);
  CHECK(*task.made == 2);
}

TEST_CASE("TorchModules: a seed has modules of its own", "[libtorch]") {
  const AnyTask task = line_task();
  TorchModules<AnyTask> modules{task, {}};
  const auto weight = [](const auto& module) { return module->made->parameters()[1].detach().clone(); };
  auto first = modules.make(5);
  torch::manual_seed(5);
  CHECK(weight(first).equal(support::LineNet{}.first->weight));
  CHECK(weight(modules.make(5)).equal(weight(first)));
  CHECK(!weight(modules.make(6)).equal(weight(first)));
  modules.give_back(std::move(first));
  CHECK(modules.last_seed() == 5);
  CHECK(modules.take(6)->seed == 6);
  CHECK(*task.made == 4);
}

TEST_CASE("TorchModules: make() must return the same module each time", "[libtorch]") {
  CHECK(failure_of([] { (void)TorchModules<AnyTask>{{[](int) { return nullptr; }}, {}}.variables(); }).code ==
        libtorch_errc::no_module);

  TorchModules<AnyTask> other{{[](int call) -> std::shared_ptr<torch::nn::Module> {
                                if (call == 0) return std::make_shared<support::LineNet>();
                                return std::make_shared<support::NormNet>();
                              }},
                              {}};
  (void)other.variables();
  const auto error = failure_of([&] { (void)other.make(0); });
  CHECK(error.code == libtorch_errc::other_module);
  CHECK(error.where == "'own' [3], then 'first.weight' [6,4]");

  TorchModules<AnyTask> frozen{{[](int call) { return std::make_shared<FrozenNet>(static_cast<float>(call), false); }},
                               {}};
  (void)frozen.variables();
  CHECK(failure_of([&] { (void)frozen.make(0); }).where == "frozen parameters or buffers");

  TorchModules<AnyTask> drawn{{[](int) { return std::make_shared<FrozenNet>(0.F, true); }}, {}};
  (void)drawn.variables();
  (void)drawn.make(3);
  CHECK(!failure_of([&] { (void)drawn.make(3); }));
}

TEST_CASE("TorchModules: an exception of make() goes to the caller, and the next call works", "[libtorch]") {
  TorchModules<AnyTask> modules{{[](int call) -> std::shared_ptr<torch::nn::Module> {
                                  if (call == 0) throw std::runtime_error("no backbone.pt");
                                  return std::make_shared<support::LineNet>();
                                }},
                                {}};
  CHECK_THROWS_WITH(modules.variables(), "no backbone.pt");
  CHECK(modules.variables().size() == 4);
}

TEST_CASE("TorchModules: a line about the arithmetic", "[libtorch]") {
  const std::string version = TORCH_VERSION;
  CHECK(TorchModules<AnyTask>{line_task(), {}}.describe() == "libtorch " + version + " threads 1 deterministic");
  CHECK(TorchModules<AnyTask>{line_task(), {.intra_op_threads = 2, .deterministic = false, .autocast_bfloat16 = true}}
            .describe() == "libtorch " + version + " threads 2 autocast bfloat16");
  const auto frozen = [](float value) {
    return TorchModules<AnyTask>{{[value](int) { return std::make_shared<FrozenNet>(value, false); }}, {}}.describe();
  };
  CHECK_THAT(frozen(1), ContainsSubstring(" deterministic constants sha256="));
  CHECK(frozen(1) == frozen(1));
  CHECK(frozen(1) != frozen(2));
}

TEST_CASE("TorchModules: CUDA that is asked for and absent is reported when the module is made", "[libtorch]") {
  if (torch::cuda::is_available()) return;
  TorchModules<AnyTask> modules{line_task(), {.device = torch::Device{torch::kCUDA, 0}}};
  const auto error = failure_of([&] { (void)modules.variables(); });
  CHECK(error.code == libtorch_errc::no_cuda);
  CHECK(error.where == "cuda:0");
}
