// SPDX-License-Identifier: Apache-2.0
// Modules of TorchScript. Not part of libtorch.hpp, because it includes LibTorch's TorchScript, which takes long to
// compile.
#pragma once

#include <distrib/libtorch/detail/module_traits.hpp>
#include <distrib/libtorch/module_tensors.hpp>
#include <distrib/libtorch/torch.hpp>

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Returns the tensors of a module of TorchScript and of the modules in it.
[[nodiscard]] inline auto tensors_of(const torch::jit::Module& module) -> ModuleTensors {
  ModuleTensors tensors;
  for (const auto& parameter : module.named_parameters())
    tensors.parameters.push_back({parameter.name, parameter.value});
  for (const auto& buffer : module.named_buffers()) tensors.buffers.push_back({buffer.name, buffer.value});
  return tensors;
}

/// For a task whose `make()` returns `torch::jit::load(...)`.
template <> struct ModuleTraits<torch::jit::Module> {
  using Module = torch::jit::Module;

  /// While it exists, TorchScript does not optimise on this thread: after some calls it would replace operators by
  /// others that give other bits, so a process that was started again would compute other contributions.
  struct Scope {
    torch::jit::GraphOptimizerEnabledGuard optimizer{false};
  };

  static auto is_empty(const Module&) -> bool { return false; }
  static auto module(Module& made) -> Module& { return made; }
  static auto tensors(Module& made) -> ModuleTensors { return tensors_of(made); }
  static void train(Module& made, bool on) { made.train(on); }
  static void move(Module& made, torch::Device device) { made.to(device); }
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
