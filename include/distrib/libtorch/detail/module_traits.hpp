// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/libtorch/module_tensors.hpp>
#include <distrib/libtorch/torch.hpp>

#include <concepts>

namespace distrib {
inline namespace v0 {
namespace detail {

/// How what `make()` of a task returned is used. This one is for pointers to modules: a `std::shared_ptr`, or a holder
/// that TORCH_MODULE makes. `script_module.hpp` has another.
template <class Made> struct ModuleTraits {};

template <class Made>
  requires requires(Made& made) {
    { *made } -> std::convertible_to<torch::nn::Module&>;
  }
struct ModuleTraits<Made> {
  /// What a task's functions get besides `Made` itself.
  using Module = std::remove_reference_t<decltype(*std::declval<Made&>())>;

  /// While it exists, the module is used on this thread.
  struct Scope {};

  static auto is_empty(const Made& made) -> bool {
    if constexpr (requires { made.is_empty(); }) return made.is_empty();
    else return made == nullptr;
  }
  static auto module(Made& made) -> Module& { return *made; }
  static auto tensors(Made& made) -> ModuleTensors { return tensors_of(*made); }
  static void train(Made& made, bool on) { made->train(on); }
  static void move(Made& made, torch::Device device) { made->to(device); }
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
