// SPDX-License-Identifier: Apache-2.0
#include <distrib/libtorch/load.hpp>

#include "libtorch/catch.hpp"
#include "libtorch/nets.hpp"
#include "support/temp_directory.hpp"

#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/formats/safetensors_writer.hpp>
#include <distrib/checkpoint/formats/torch_writer.hpp>
#include <distrib/checkpoint/save.hpp>
#include <distrib/libtorch/bound_module.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

using distrib::libtorch_errc;
using support::failure_of;

namespace {

// Saves what a job with this module would save, with a slot and a counter.
void save_module(const torch::nn::Module& module, const std::string& directory) {
  const distrib::detail::ModuleTensors tensors = distrib::detail::tensors_of(module);
  std::vector<torch::Tensor> kept;
  distrib::BundlePart part;
  const auto add = [&](const std::string& name, const torch::Tensor& tensor) {
    kept.push_back(tensor.detach().contiguous());
    const distrib::Shape shape{std::span<const std::int64_t>{tensor.sizes().data(), tensor.sizes().size()}};
    const auto type = tensor.scalar_type() == torch::kInt64 ? distrib::DType::int64 : distrib::DType::float32;
    part.tensors.push_back({name,
                            type,
                            shape,
                            distrib::Slice::whole(shape),
                            {static_cast<const std::byte*>(kept.back().data_ptr()), kept.back().nbytes()}});
  };
  for (const auto& tensor : tensors.parameters) {
    add(tensor.name, tensor.tensor);
    add(tensor.name + "/Momentum", torch::zeros_like(tensor.tensor));
  }
  for (const auto& tensor : tensors.buffers) add(tensor.name, tensor.tensor);
  add("global_step", torch::zeros({}, torch::kInt64));
  distrib::save_checkpoint(directory, "model.ckpt-1", std::vector{part});
}

}  // namespace

TEST_CASE("load: parameters and buffers of a checkpoint, by their names", "[libtorch]") {
  const support::TempDirectory directory;
  torch::manual_seed(1);
  support::NormNet saved;
  saved.train();
  (void)saved.forward(torch::rand({5, 4}));
  save_module(saved, directory.path().string());
  torch::manual_seed(2);
  support::NormNet net;
  const torch::Tensor handle = net.first->weight;
  distrib::load(net, directory / "model.ckpt-1");
  const auto before = distrib::detail::tensors_of(saved), after = distrib::detail::tensors_of(net);
  for (std::size_t i = 0; i < before.parameters.size(); ++i)
    CHECK(before.parameters[i].tensor.equal(after.parameters[i].tensor));
  for (std::size_t i = 0; i < before.buffers.size(); ++i)
    CHECK(before.buffers[i].tensor.equal(after.buffers[i].tensor));
  CHECK(handle.equal(saved.first->weight));
  CHECK(handle.requires_grad());
  CHECK(net.norm->num_batches_tracked.item<std::int64_t>() == 1);
}

TEST_CASE("load: a file of safetensors or PyTorch, into a module inside another one", "[libtorch]") {
  const support::TempDirectory directory;
  torch::manual_seed(1);
  support::NormNet saved;
  const auto list = support::file_tensors_of(saved);
  distrib::save_safetensors(directory / "net.safetensors", list);
  distrib::save_torch_file(directory / "net.pt", list);
  for (const char* const file : {"net.safetensors", "net.pt"}) {
    CAPTURE(file);
    torch::nn::Module whole;
    auto inner = std::make_shared<support::NormNet>();
    whole.register_module("inner", inner);
    CHECK(!inner->first->weight.equal(saved.first->weight));
    distrib::load(*inner, directory / file);
    CHECK(inner->first->weight.equal(saved.first->weight));
    CHECK(inner->norm->running_var.equal(saved.norm->running_var));
    CHECK(failure_of([&] { distrib::load(whole, directory / file); }).code == libtorch_errc::not_in_checkpoint);
  }
}

TEST_CASE("load: what does not fit is refused, and nothing is changed", "[libtorch]") {
  const support::TempDirectory directory;
  const std::string prefix = directory / "model.ckpt-1";
  save_module(support::NormNet{}, directory.path().string());

  support::LineNet other;
  const torch::Tensor before = other.first->weight.detach().clone();
  const auto missing = failure_of([&] { distrib::load(other, prefix); });
  CHECK(missing.code == libtorch_errc::not_in_checkpoint);
  CHECK_THAT(missing.where, ContainsSubstring(prefix + ": 'own'; nearest: "));
  CHECK(other.first->weight.equal(before));

  torch::nn::Module wide;
  wide.register_module("first", torch::nn::Linear(5, 6));
  const auto shape = failure_of([&] { distrib::load(wide, prefix); });
  CHECK(shape.code == libtorch_errc::other_tensor);
  CHECK(shape.where == prefix + ": 'first.weight' is float32 [6,4], in the module it is Float [6, 5]");
  torch::nn::Module fine;
  fine.register_module("first", torch::nn::Linear(4, 6))->to(torch::kFloat64);
  CHECK(failure_of([&] { distrib::load(fine, prefix); }).code == libtorch_errc::other_tensor);

  distrib::Error error;
  distrib::load(other, directory / "model.ckpt-2", error);
  CHECK(error.code == distrib::checkpoint_errc::no_such_checkpoint);
}

TEST_CASE("load: frozen parameters, other buffers and second names need not be in the checkpoint", "[libtorch]") {
  const support::TempDirectory directory;
  save_module(support::LineNet{}, directory.path().string());
  support::LineNet net;
  net.register_parameter("frozen", torch::ones({2}), false);
  net.register_buffer("scale", torch::ones({2}));
  net.register_parameter("tie", net.last->weight);
  const torch::Tensor old = net.last->weight.detach().clone();
  distrib::load(net, directory / "model.ckpt-1");
  CHECK(!net.last->weight.equal(old));
  CHECK(net.named_parameters()["frozen"].equal(torch::ones({2})));
}
