// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/coordinator/function_context.hpp>

#include <distrib/coordinator/error.hpp>
#include <distrib/coordinator/parameter_client.hpp>
#include <distrib/net/instant.hpp>
#include <distrib/tensor/runtime_values.hpp>

#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Remembers which parameter servers could not be reached, for the answer to the coordinator.
DISTRIB_DECL auto note_unreachable(FunctionRun& run, ParameterError failed) -> Error {
  run.unreachable_ps = std::move(failed.unreachable_ps);
  return std::move(failed.error);
}

/// True if `block` has the variables of this list: as many, of the same sizes.
DISTRIB_DECL auto are_like(const VariableBlock& block, const RuntimeVariables& variables) -> bool {
  if (block.size() != variables.infos().size()) return false;
  for (std::size_t i = 0; i < block.size(); ++i)
    if (block.variables().infos()[i].name != variables.infos()[i].name || block.shape(i) != variables.infos()[i].shape)
      return false;
  return true;
}

}  // namespace detail

DISTRIB_DECL auto FunctionContext::variables() const -> const RuntimeVariables& {
  if (run_->parameters == nullptr) throw_error(coordinator_errc::no_parameters, "FunctionContext::variables");
  return run_->parameters->variables();
}

DISTRIB_DECL void FunctionContext::pull(RuntimeValues& to, ErrorRef to_error) {
  detail::ErrorOut error{to_error};
  if (run_->parameters == nullptr) error = {coordinator_errc::no_parameters, "pull"};
  else if (!detail::are_like(to, variables())) error = {coordinator_errc::other_variables, "pull"};
  else
    error = detail::note_unreachable(
        *run_,
        run_->parameters->pull(to, instant_after(std::chrono::steady_clock::now(), run_->ps_within), run_->stopped));
}

DISTRIB_DECL void FunctionContext::pull(RuntimeValues& to) {
  Error error;
  pull(to, error);
  throw_if(error);
}

DISTRIB_DECL void FunctionContext::push(const RuntimeGradients& gradients, ErrorRef to_error) {
  detail::ErrorOut error{to_error};
  if (run_->parameters == nullptr) error = {coordinator_errc::no_parameters, "push"};
  else if (!detail::are_like(gradients, variables())) error = {coordinator_errc::other_variables, "push"};
  else
    error = detail::note_unreachable(
        *run_, run_->parameters->push(gradients, instant_after(std::chrono::steady_clock::now(), run_->ps_within),
                                      run_->stopped));
}

DISTRIB_DECL void FunctionContext::push(const RuntimeGradients& gradients) {
  Error error;
  push(gradients, error);
  throw_if(error);
}

}  // namespace v0
}  // namespace distrib
