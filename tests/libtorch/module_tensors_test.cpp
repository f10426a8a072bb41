// SPDX-License-Identifier: Apache-2.0
#include <distrib/libtorch/module_tensors.hpp>

#include "libtorch/catch.hpp"
#include "libtorch/nets.hpp"

#include <memory>
#include <string>
#include <vector>

namespace {

// A module in a module, one that is used twice, and a buffer that is not there.
struct NestedNet : torch::nn::Module {
  NestedNet() {
    outer = register_module("outer", std::make_shared<support::LineNet>());
    again = register_module("again", outer);
    own = register_parameter("own", torch::zeros({2}));
    register_buffer("nothing", {});
    scale = register_buffer("scale", torch::ones({1}));
  }
  std::shared_ptr<support::LineNet> outer, again;
  torch::Tensor own, scale;
};

}  // namespace

TEST_CASE("tensors_of: own parameters first, then those of each child, each under each name", "[libtorch]") {
  const NestedNet net;
  const distrib::detail::ModuleTensors tensors = distrib::detail::tensors_of(net);
  std::vector<std::string> names;
  for (const auto& parameter : tensors.parameters) names.push_back(parameter.name);
  CHECK(names == std::vector<std::string>{"own", "outer.own", "outer.first.weight", "outer.first.bias",
                                          "outer.last.weight", "again.own", "again.first.weight", "again.first.bias",
                                          "again.last.weight"});
  CHECK(distrib::detail::is_same_tensor(tensors.parameters[1].tensor, tensors.parameters[5].tensor));
  CHECK(!distrib::detail::is_same_tensor(tensors.parameters[1].tensor, tensors.parameters[0].tensor));
  REQUIRE(tensors.buffers.size() == 1);
  CHECK(tensors.buffers[0].name == "scale");
}
