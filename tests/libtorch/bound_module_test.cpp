// SPDX-License-Identifier: Apache-2.0
#include <distrib/libtorch/bound_module.hpp>

#include "libtorch/catch.hpp"
#include "libtorch/nets.hpp"

#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/rnn.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using distrib::DType;
using distrib::libtorch_errc;
using distrib::Shape;
using distrib::TorchBuffer;
using distrib::TorchOptions;
using distrib::detail::BoundModule;
using distrib::detail::tensors_of;
using support::BoundMemory;
using support::failure_of;
using support::LineNet;
using support::NormNet;

namespace {

// A module made of one function that registers what it likes.
struct AnyBoundNet : torch::nn::Module {
  explicit AnyBoundNet(const std::function<void(AnyBoundNet&)>& build) { build(*this); }
  using torch::nn::Module::register_buffer;
  using torch::nn::Module::register_module;
  using torch::nn::Module::register_parameter;
  std::vector<torch::Tensor> kept;
};

auto bound_points() -> torch::Tensor { return torch::arange(20, torch::kFloat32).view({5, 4}).div(10).sin(); }

// One contribution with the loss mean(forward(x)^2).
template <class Net> auto contribute(Net& net, BoundModule& bound, BoundMemory& memory, distrib::Rank rank = 0)
    -> float {
  bound.bind(memory.values, memory.gradients);
  const torch::Tensor loss = net.forward(bound_points()).square().mean();
  loss.backward();
  bound.check_unchanged(tensors_of(net));
  bound.finish(memory.values, memory.gradients, rank);
  return loss.template item<float>();
}

// What LibTorch itself computes for the same parameters.
template <class Net> auto plain_gradients(Net& net) -> std::vector<torch::Tensor> {
  for (auto& parameter : net.parameters()) parameter.mutable_grad().reset();
  net.forward(bound_points()).square().mean().backward();
  std::vector<torch::Tensor> all;
  for (const auto& parameter : net.parameters()) all.push_back(parameter.grad().clone());
  return all;
}

auto equals(const torch::Tensor& tensor, const float* data) -> bool {
  return std::memcmp(tensor.contiguous().data_ptr<float>(), data, static_cast<std::size_t>(tensor.numel()) * 4) == 0;
}

// The failure of a module that `build` makes.
auto refusal(const std::function<void(AnyBoundNet&)>& build, const TorchOptions& options = {}) -> distrib::Error {
  return failure_of([&] {
    const AnyBoundNet net{build};
    const BoundModule bound{tensors_of(net), options};
  });
}

}  // namespace

TEST_CASE("BoundModule: parameters are variables in order of registration, then buffers", "[libtorch]") {
  const NormNet net;
  const BoundModule bound{tensors_of(net), {}};
  REQUIRE(support::names_of(bound.variables()) ==
          std::vector<std::string>{"first.weight", "first.bias", "norm.weight", "norm.bias", "last.weight", "last.bias",
                                   "norm.running_mean", "norm.running_var", "norm.num_batches_tracked"});
  CHECK(bound.parameters() == 6);
  CHECK(bound.constants() == 0);
  CHECK(bound.variables()[0].shape == Shape{6, 4});
  CHECK(bound.variables()[0].initializer.is_custom());
  CHECK(bound.variables()[7].dtype == DType::float32);
  CHECK(bound.variables()[7].initializer.is_custom());
  CHECK(bound.variables()[8].dtype == DType::int64);
  CHECK(bound.variables()[8].shape == Shape{});
  CHECK(!bound.variables()[8].initializer.is_custom());
  CHECK(!bound.is_averaged(5));
  CHECK(bound.is_averaged(6));
  CHECK(!bound.is_averaged(8));
}

TEST_CASE("BoundModule: values and gradients are the job's memory, also at another address", "[libtorch]") {
  torch::manual_seed(1);
  LineNet net;
  const torch::Tensor handle = net.first->weight;
  BoundModule bound{tensors_of(net), {}};
  REQUIRE(support::names_of(bound.variables()) ==
          std::vector<std::string>{"own", "first.weight", "first.bias", "last.weight"});
  BoundMemory one{bound};
  const std::vector<torch::Tensor> expected = plain_gradients(net);
  BoundMemory two{bound};
  for (BoundMemory* memory : {&one, &two}) {
    bound.bind(memory->values, memory->gradients);
    CHECK(handle.data_ptr<float>() == memory->value(1));
    CHECK(handle.grad().data_ptr<float>() == memory->gradient(1));
    CHECK(handle.is_leaf());
    net.forward(bound_points()).square().mean().backward();
    CHECK(handle.grad().data_ptr<float>() == memory->gradient(1));
    bound.check_unchanged(tensors_of(net));
    bound.finish(memory->values, memory->gradients, 0);
    for (std::size_t v = 0; v < 4; ++v) CHECK(equals(expected[v], memory->gradient(v)));
    CHECK(!handle.grad().defined());
  }
}

TEST_CASE("BoundModule: a gradient is added to what the memory has", "[libtorch]") {
  LineNet net;
  BoundModule bound{tensors_of(net), {}};
  BoundMemory memory{bound};
  contribute(net, bound, memory);
  const std::vector<float> once = memory.gradient_list(2);
  contribute(net, bound, memory);
  for (std::size_t i = 0; i < once.size(); ++i) CHECK(memory.gradient(2)[i] == once[i] + once[i]);
}

TEST_CASE("BoundModule: other values, without a change of the module", "[libtorch]") {
  LineNet net;
  BoundModule bound{tensors_of(net), {}};
  BoundMemory memory{bound};
  memory.value(0)[0] = memory.value(0)[1] = memory.value(0)[2] = 0;
  bound.bind(memory.values);
  CHECK(net.forward(bound_points()).abs().max().item<float>() == 0);
  CHECK(net.own.data_ptr<float>() == memory.value(0));
}

TEST_CASE("BoundModule: gradients that are transposed, or sparse, arrive row-major", "[libtorch]") {
  AnyBoundNet net{[](AnyBoundNet& self) {
    self.kept = {
        self.register_parameter("w", torch::zeros({3, 5})),
        self.register_module("words", torch::nn::Embedding(torch::nn::EmbeddingOptions(4, 2).sparse(true)))->weight};
  }};
  BoundModule bound{tensors_of(net), {}};
  BoundMemory memory{bound};
  bound.bind(memory.values, memory.gradients);
  const auto words = torch::embedding(net.kept[1], torch::tensor({3, 1, 3}), -1, false, /*sparse=*/true);
  ((net.kept[0].t() * torch::arange(15, torch::kFloat32).view({5, 3})).sum() + words.sum()).backward();
  bound.finish(memory.values, memory.gradients, 0);
  CHECK(memory.gradient_list(0) == std::vector<float>{0, 3, 6, 9, 12, 1, 4, 7, 10, 13, 2, 5, 8, 11, 14});
  CHECK(memory.gradient_list(1) == std::vector<float>{0, 0, 1, 1, 0, 0, 2, 2});
}

TEST_CASE("BoundModule: a parameter that is registered twice is one variable", "[libtorch]") {
  AnyBoundNet net{[](AnyBoundNet& self) {
    self.kept = {self.register_parameter("a", torch::ones({2, 2}))};
    self.register_parameter("tie", self.kept[0]);
  }};
  BoundModule bound{tensors_of(net), {}};
  REQUIRE(support::names_of(bound.variables()) == std::vector<std::string>{"a"});
  BoundMemory memory{bound};
  bound.bind(memory.values, memory.gradients);
  (net.named_parameters()["a"].sum() + 2 * net.named_parameters()["tie"].sum()).backward();
  bound.check_unchanged(tensors_of(net));
  bound.finish(memory.values, memory.gradients, 0);
  CHECK(memory.gradient_list(0) == std::vector<float>{3, 3, 3, 3});
}

TEST_CASE("BoundModule: a tie by assignment leaves a parameter without a gradient, and is reported", "[libtorch]") {
  LineNet net;
  AnyBoundNet both{[&](AnyBoundNet& self) {
    auto a = self.register_module("a", torch::nn::Linear(4, 4));
    auto b = self.register_module("b", torch::nn::Linear(torch::nn::LinearOptions(4, 4).bias(false)));
    b->weight = a->weight;
    self.kept = {a->weight, a->bias, b->weight};
  }};
  BoundModule bound{tensors_of(both), {}};
  BoundMemory memory{bound};
  bound.bind(memory.values, memory.gradients);
  torch::linear(torch::linear(bound_points(), both.kept[0], both.kept[1]), both.kept[2]).sum().backward();
  const auto error = failure_of([&] { bound.finish(memory.values, memory.gradients, 0); });
  CHECK(error.code == libtorch_errc::no_gradient);
  CHECK(error.where == "parameter 'b.weight'");
}

TEST_CASE("BoundModule: an unused parameter has the gradient 0, if that is allowed", "[libtorch]") {
  for (const bool allowed : {false, true}) {
    LineNet net;
    BoundModule bound{tensors_of(net), {.allow_unused = allowed}};
    BoundMemory memory{bound};
    bound.bind(memory.values, memory.gradients);
    (net.own.sum() + net.first(bound_points()).sum()).backward();
    const auto error = failure_of([&] { bound.finish(memory.values, memory.gradients, 0); });
    CHECK(error.code == (allowed ? std::error_code{} : libtorch_errc::no_gradient));
    CHECK(error.where == (allowed ? "" : "parameter 'last.weight'"));
    CHECK(memory.gradient_list(3) == std::vector<float>{0, 0, 0});
  }
}

TEST_CASE("BoundModule: a gradient of 0 that arrives is a gradient", "[libtorch]") {
  LineNet net;
  BoundModule bound{tensors_of(net), {}};
  BoundMemory memory{bound};
  bound.bind(memory.values, memory.gradients);
  (net.forward(bound_points()).sum() * 0).backward();
  CHECK(!failure_of([&] { bound.finish(memory.values, memory.gradients, 0); }));
}

TEST_CASE("BoundModule: what loss() must not do is reported with the tensor's name", "[libtorch]") {
  const auto after = [](const std::function<void(LineNet&)>& misuse) {
    LineNet net;
    BoundModule bound{tensors_of(net), {}};
    BoundMemory memory{bound};
    return failure_of([&] {
      bound.bind(memory.values, memory.gradients);
      misuse(net);
      bound.check_before_backward();
      net.forward(bound_points()).sum().backward();
      bound.check_unchanged(tensors_of(net));
      bound.finish(memory.values, memory.gradients, 0);
    });
  };
  CHECK(!after([](LineNet&) {}));
  const auto clamped = after([](LineNet& net) {
    const torch::NoGradGuard no_grad;
    net.first->weight.clamp_(-0.1, 0.1);
  });
  CHECK(clamped.code == libtorch_errc::changed_parameter);
  CHECK(clamped.where == "parameter 'first.weight'");
  const auto late = after([](LineNet& net) { net.register_parameter("late", torch::zeros({1})); });
  CHECK(late.code == libtorch_errc::late_tensor);
  CHECK(late.where == "parameter 'late'");
  const auto late_buffer = after([](LineNet& net) { net.register_buffer("mask", torch::zeros({1})); });
  CHECK(late_buffer.code == libtorch_errc::late_tensor);
  CHECK(late_buffer.where == "buffer 'mask'");
  const auto replaced = after([](LineNet& net) { net.own.mutable_grad().reset(); });
  CHECK(replaced.code == libtorch_errc::lost_gradient);
  CHECK(replaced.where == "parameter 'own'");
  const auto exchanged = after([](LineNet& net) { net.replace_module("last", torch::nn::Linear(3, 1)); });
  CHECK(exchanged.code == libtorch_errc::late_tensor);
}

TEST_CASE("BoundModule: modules that cannot be trained are refused by the name of the tensor", "[libtorch]") {
  const auto one = [](const torch::Tensor& tensor) {
    return [tensor](AnyBoundNet& self) { self.register_parameter("w", tensor); };
  };
  CHECK(refusal([](AnyBoundNet&) {}).code == libtorch_errc::no_parameters);

  const auto wide = refusal(one(torch::zeros({2}, torch::kFloat64)));
  CHECK(wide.code == libtorch_errc::not_float32);
  CHECK(wide.where == "parameter 'w' is Double");
  CHECK(refusal(one(torch::zeros({2}, torch::kHalf))).where == "parameter 'w' is Half");

  const auto computed = refusal([](AnyBoundNet& self) {
    self.kept = {torch::ones({2}, torch::requires_grad())};
    self.register_parameter("w", self.kept[0] * 2);
  });
  CHECK(computed.code == libtorch_errc::not_a_leaf);

  const auto last = refusal(one(torch::zeros({2, 3, 4, 5}).contiguous(torch::MemoryFormat::ChannelsLast)));
  CHECK(last.code == libtorch_errc::not_contiguous);
  CHECK(last.where == "parameter 'w'");
  CHECK(refusal(one(torch::zeros({3, 5}).t())).code == libtorch_errc::not_contiguous);

  const auto shared = refusal([](AnyBoundNet& self) {
    const auto flat = torch::zeros({6});
    self.register_parameter("w", flat.narrow(0, 0, 3));
    self.register_parameter("v", flat.narrow(0, 3, 3));
  });
  CHECK(shared.code == libtorch_errc::shared_storage);
  CHECK(shared.where == "parameter 'v' and parameter 'w'");

  CHECK(refusal(one(torch::zeros({1, 1, 1, 1, 1, 1, 1, 1, 2}))).code == libtorch_errc::too_many_axes);
}

TEST_CASE("BoundModule: frozen parameters and other buffers are constants of any type", "[libtorch]") {
  const auto build = [](float value) {
    return [value](AnyBoundNet& self) {
      self.kept = {self.register_parameter("w", torch::ones({2})),
                   self.register_parameter("frozen", torch::full({2}, value, torch::kFloat64), false),
                   self.register_buffer("scale", torch::ones({2}, torch::kHalf))};
    };
  };
  AnyBoundNet net{build(2)};
  BoundModule bound{tensors_of(net), {}};
  CHECK(support::names_of(bound.variables()) == std::vector<std::string>{"w"});
  CHECK(bound.constants() == 2);
  const auto sha = bound.constants_sha256();
  const AnyBoundNet same{build(2)}, other{build(3)};
  CHECK(BoundModule{tensors_of(same), {}}.constants_sha256() == sha);
  CHECK(BoundModule{tensors_of(other), {}}.constants_sha256() != sha);

  BoundMemory memory{bound};
  for (const auto& [at, where] : {std::pair{1, "frozen parameter 'frozen'"}, std::pair{2, "buffer 'scale'"}}) {
    bound.bind(memory.values, memory.gradients);
    (net.kept[0] * net.kept[1]).sum().backward();
    CHECK(!failure_of([&] { bound.check_unchanged(tensors_of(net)); }));
    const torch::NoGradGuard no_grad;
    net.kept[static_cast<std::size_t>(at)].mul_(2);
    const auto error = failure_of([&] { bound.check_unchanged(tensors_of(net)); });
    CHECK(error.code == libtorch_errc::changed_constant);
    CHECK(error.where == where);
    bound = BoundModule{tensors_of(net), {}};
  }
}

TEST_CASE("BoundModule: rules of buffers by name, the longest counts", "[libtorch]") {
  const auto build = [](AnyBoundNet& self) {
    self.register_parameter("w", torch::ones({2}));
    self.register_buffer("a_scale", torch::ones({2}));
    self.register_buffer("a_seen", torch::zeros({}, torch::kInt64));
    self.register_buffer("running_mean", torch::zeros({2}));
  };
  const AnyBoundNet net{build};
  const auto names = [&](const TorchOptions& options) {
    return support::names_of(BoundModule{tensors_of(net), options}.variables());
  };
  CHECK(names({}) == std::vector<std::string>{"w", "running_mean"});
  CHECK(names({.buffers = {{"running_mean", TorchBuffer::constant}}}) == std::vector<std::string>{"w"});
  CHECK(names({.buffers = {{"a_", TorchBuffer::average}, {"a_seen", TorchBuffer::count}}}) ==
        std::vector<std::string>{"w", "a_scale", "a_seen", "running_mean"});

  const auto missing = refusal(build, {.buffers = {{"b_", TorchBuffer::average}}});
  CHECK(missing.code == libtorch_errc::bad_buffer);
  CHECK(missing.where == "'b_'; the module has the buffers a_scale, a_seen, running_mean");
  CHECK(refusal(build, {.buffers = {{"", TorchBuffer::average}}}).code == libtorch_errc::bad_buffer);
  const auto unfit = refusal(build, {.buffers = {{"a_seen", TorchBuffer::average}}});
  CHECK(unfit.code == libtorch_errc::bad_buffer);
  CHECK(unfit.where == "buffer 'a_seen' is Long");
  CHECK(refusal(build, {.buffers = {{"a_scale", TorchBuffer::count}}}).where == "buffer 'a_scale' is Float");
}

TEST_CASE("BoundModule: the mean of two ranks' running statistics, and rank 0 counts", "[libtorch]") {
  NormNet net;
  BoundModule bound{tensors_of(net), {}};
  BoundMemory memory{bound};
  memory.value(6)[0] = 4;
  reinterpret_cast<std::int64_t*>(memory.values.data(8))[0] = 7;
  std::vector<float> after[2], sent[2];
  for (const distrib::Rank rank : {0U, 1U}) {
    memory.gradients.zero();
    bound.bind(memory.values, memory.gradients);
    CHECK(net.norm->running_mean[0].item<float>() == 4);
    CHECK(net.norm->num_batches_tracked.item<std::int64_t>() == 7);
    net.forward(bound_points() + static_cast<float>(rank)).sum().backward();
    const float* const now = net.norm->running_mean.data_ptr<float>();
    after[rank] = {now, now + 6};
    CHECK(now != memory.value(6));
    bound.finish(memory.values, memory.gradients, rank);
    sent[rank] = memory.gradient_list(6);
    CHECK(*reinterpret_cast<const std::int64_t*>(memory.gradients.data(8)) == (rank == 0 ? 1 : 0));
  }
  CHECK(after[0] != after[1]);
  for (std::size_t i = 0; i < 6; ++i) {
    const float stepped = memory.value(6)[i] - (sent[0][i] + sent[1][i]) / 2;  // Sgd{1.0} of the mean
    CHECK(stepped == Approx((after[0][i] + after[1][i]) / 2).margin(1e-6));
  }
}

TEST_CASE("BoundModule: handles that a module keeps elsewhere follow", "[libtorch]") {
  struct Recurrent : torch::nn::Module {
    Recurrent() { lstm = register_module("lstm", torch::nn::LSTM(4, 3)); }
    auto forward(const torch::Tensor& x) -> torch::Tensor { return std::get<0>(lstm(x.unsqueeze(1))); }
    torch::nn::LSTM lstm{nullptr};
  };
  torch::manual_seed(3);
  Recurrent net;
  const std::vector<torch::Tensor> expected = plain_gradients(net);
  BoundModule bound{tensors_of(net), {}};
  BoundMemory memory{bound};
  contribute(net, bound, memory);
  for (std::size_t v = 0; v < 4; ++v) CHECK(equals(expected[v], memory.gradient(v)));
  for (std::size_t i = 0; i < 48; ++i) memory.value(0)[i] = 0;
  BoundMemory same{bound};
  contribute(net, bound, memory);
  CHECK(!equals(expected[1], memory.gradient(1)));
}

TEST_CASE("BoundModule: copies in one piece give the same bits", "[libtorch]") {
  std::vector<std::vector<float>> sent[2];
  std::int64_t counted[2] = {};
  for (const bool flat : {false, true}) {
    torch::manual_seed(5);
    NormNet net;
    net.drop->eval();
    BoundModule bound{tensors_of(net), {}, flat ? BoundModule::Copy::always : BoundModule::Copy::if_needed};
    BoundMemory memory{bound};
    for (int step = 0; step < 3; ++step) {
      memory.gradients.zero();
      contribute(net, bound, memory);
      for (std::size_t v = 0; v < 8; ++v) {
        sent[flat].push_back(memory.gradient_list(v));
        for (std::size_t i = 0; i < memory.values.size_bytes(v) / sizeof(float); ++i)
          memory.value(v)[i] -= (v < 6 ? 0.1F : 1.0F) * memory.gradient(v)[i];
      }
      counted[flat] += *reinterpret_cast<const std::int64_t*>(memory.gradients.data(8));
      std::memcpy(memory.values.data(8), &counted[flat], sizeof(std::int64_t));
    }
    bound.bind(memory.values);
    net.eval();
    CHECK(net.norm->num_batches_tracked.item<std::int64_t>() == 3);
  }
  CHECK(sent[0] == sent[1]);
  CHECK(counted[0] == 3);
  CHECK(counted[1] == 3);
}

TEST_CASE("BoundModule: copies in one piece notice what is wrong, too", "[libtorch]") {
  LineNet net;
  BoundModule bound{tensors_of(net), {}, BoundModule::Copy::always};
  BoundMemory memory{bound};
  bound.bind(memory.values, memory.gradients);
  net.own.sum().backward();
  const auto error = failure_of([&] { bound.finish(memory.values, memory.gradients, 0); });
  CHECK(error.code == libtorch_errc::no_gradient);
  CHECK(error.where == "parameter 'first.weight'");
  bound.bind(memory.values, memory.gradients);
  {
    const torch::NoGradGuard no_grad;
    net.own.mul_(2);
  }
  CHECK(failure_of([&] { bound.check_unchanged(tensors_of(net)); }).where == "parameter 'own'");
}
