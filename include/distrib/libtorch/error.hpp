// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {

// clang-format off: one line per error, however long
/// Why a module of LibTorch cannot be trained, or a step of it has failed.
enum class libtorch_errc {
  no_module = 1,      ///< `make()` of the task returned no module. Return `std::make_shared<Net>()`, or a module that is not empty.
  no_parameters,      ///< The module has no parameter that is trained. Register parameters, and do not freeze all of them.
  not_float32,        ///< A parameter has another element type. Call `module->to(torch::kFloat32)` in `make()`.
  not_a_leaf,         ///< A parameter was computed from other tensors. Register the tensors that it is computed from, and compute it in `forward()`.
  not_contiguous,     ///< The memory of a parameter is not row-major, for example in the format channels_last. Call `.contiguous()` before registering it.
  shared_storage,     ///< Two parameters are different tensors in one piece of memory. Register one tensor under both names, or clone one of them.
  too_many_axes,      ///< A parameter, or a buffer that is followed, has more than 8 axes. Join some of them.
  bad_buffer,         ///< `TorchOptions::buffers` names no buffer, or the type of a buffer does not fit its rule. `average` needs float32, `count` int64.
  other_module,       ///< Another call of `make()` returned a module with other parameters or buffers. `make()` must build the same module every time.
  late_tensor,        ///< `forward()` registered or replaced a parameter or a buffer. Register all of them in the constructor.
  no_gradient,        ///< `backward()` reached a parameter that is trained on no way. Use it in `forward()`, freeze it, or set `TorchOptions::allow_unused`. A tied weight must be registered as the same tensor: `register_parameter("tie", a->weight)`.
  lost_gradient,      ///< `loss()` changed or replaced the gradient of a parameter. Leave `zero_grad()` and `backward()` out: both are done for each contribution.
  changed_parameter,  ///< `forward()` or `evaluate()` changed a parameter in place. Compute a new tensor instead: other ranks read the same memory.
  changed_constant,   ///< `forward()` or `evaluate()` changed a buffer that is not followed, or a frozen parameter. Let `TorchOptions::buffers` say that the buffer is averaged or counted.
  changed_column,     ///< `loss()` or `evaluate()` changed a column of the batch, or rows of a table, in place. Compute a new tensor: `.div(255)` instead of `.div_(255)`.
  kept_column,        ///< `loss()` or `evaluate()` kept a column of the batch, or rows of a table, whose memory is used again. Keep a `.clone()`.
  not_a_scalar,       ///< `loss()` returned a tensor with another number of elements than 1. Take its `.mean()`.
  no_graph,           ///< The loss depends on no parameter. Compute it from what `forward()` returns, without `detach()`, `item()` and NoGradGuard.
  drew_random,        ///< The module drew random numbers, although `TorchOptions::draws_random` is false. Leave that option out.
  no_cuda,            ///< `TorchOptions::device` is a CUDA device, but this LibTorch has no CUDA, or finds no such GPU. Use `torch::kCPU`, or link a LibTorch with CUDA.
  other_settings,     ///< Another model in this process has other `intra_op_threads` or another `deterministic`, which hold for the whole process. Give all models the same.
  bad_column,         ///< A column of the batch does not have the shape that was asked for. Correct the shape, or the records.
  not_in_checkpoint,  ///< `load`: a parameter of the module is not in the checkpoint. It is of a job with another module: the message has the nearest names.
  other_tensor,       ///< `load`: a tensor of the checkpoint has another type or shape than in the module. Build the module with the sizes that the job had.
  refused,            ///< LibTorch refused an operation, for the reason in the text. Correct the module or `loss()`.
};
// clang-format on

namespace detail {
inline constexpr ErrorText libtorch_texts[] = {
    {libtorch_errc::no_module, failure::invalid_argument,
     "make() returned no module: return a module that is not empty, std::make_shared<Net>()"},
    {libtorch_errc::no_parameters, failure::invalid_argument, "the module has no parameter that is trained"},
    {libtorch_errc::not_float32, failure::unsupported,
     "distrib trains float32: call module->to(torch::kFloat32) in make()"},
    {libtorch_errc::not_a_leaf, failure::unsupported,
     "the parameter is computed from other tensors: register those, and compute it in forward()"},
    {libtorch_errc::not_contiguous, failure::unsupported,
     "the parameter is not row-major (channels_last?): call .contiguous() before registering it"},
    {libtorch_errc::shared_storage, failure::unsupported,
     "the parameters are different tensors in the same memory: register one tensor under both names, or clone one"},
    {libtorch_errc::too_many_axes, failure::unsupported, "a variable has at most 8 axes"},
    {libtorch_errc::bad_buffer, failure::invalid_argument,
     "TorchOptions::buffers: give the name of a buffer or the beginning of one; average is for float32, count for "
     "int64"},
    {libtorch_errc::other_module, failure::mismatch, "make() did not build the same module as before"},
    {libtorch_errc::late_tensor, failure::invalid_argument,
     "forward() registered or replaced it: register all parameters and buffers in the constructor"},
    {libtorch_errc::no_gradient, failure::invalid_argument,
     "no gradient came to the parameter: use it in forward(), freeze it, or set TorchOptions::allow_unused"},
    {libtorch_errc::lost_gradient, failure::invalid_argument,
     "loss() changed the gradient of the parameter: leave zero_grad() and backward() out"},
    {libtorch_errc::changed_parameter, failure::invalid_argument,
     "the parameter was changed in place: compute a new tensor instead"},
    {libtorch_errc::changed_constant, failure::invalid_argument,
     "it was changed, but is no running statistic: let TorchOptions::buffers name it, as {{\"scale\", "
     "TorchBuffer::average}}"},
    {libtorch_errc::changed_column, failure::invalid_argument,
     "a column of the batch, or rows of a table, were changed in place: compute a new tensor, .div(255) instead of "
     ".div_(255)"},
    {libtorch_errc::kept_column, failure::invalid_argument,
     "a column of the batch, or rows of a table, were kept, whose memory is used again: keep a .clone()"},
    {libtorch_errc::not_a_scalar, failure::invalid_argument, "loss() must return a scalar: take .mean()"},
    {libtorch_errc::no_graph, failure::invalid_argument, "the loss depends on no parameter"},
    {libtorch_errc::drew_random, failure::invalid_argument,
     "the module drew random numbers, although TorchOptions::draws_random is false"},
    {libtorch_errc::no_cuda, failure::unsupported,
     "no CUDA: torch::cuda::is_available() is false, or there is no such GPU; use device = torch::kCPU"},
    {libtorch_errc::other_settings, failure::invalid_argument,
     "another model of this process has other intra_op_threads or another deterministic: give all models the same"},
    {libtorch_errc::bad_column, failure::invalid_argument,
     "the column of the batch does not have this shape: correct the shape, or the records"},
    {libtorch_errc::not_in_checkpoint, failure::not_found, "the checkpoint does not have this parameter of the module"},
    {libtorch_errc::other_tensor, failure::mismatch, "the tensor of the checkpoint is not that of the module"},
    {libtorch_errc::refused, failure::invalid_argument, "LibTorch refused an operation of the module or of the task"},
};

/// Category "distrib.libtorch".
[[nodiscard]] inline auto libtorch_category() noexcept -> const std::error_category& {
  static const TableCategory category{"distrib.libtorch", libtorch_texts};
  return category;
}

}  // namespace detail

[[nodiscard]] inline auto make_error_code(libtorch_errc value) noexcept -> std::error_code {
  return {static_cast<int>(value), detail::libtorch_category()};
}

}  // namespace v0
}  // namespace distrib

template <> struct std::is_error_code_enum<distrib::libtorch_errc> : std::true_type {};
