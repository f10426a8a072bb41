// error: distrib: get<NAME>\(rows\): the task has no Embedding of this NAME
// SPDX-License-Identifier: Apache-2.0
#include <distrib/libtorch/torch_model.hpp>

using Tables = distrib::VariableList<distrib::Embedding<"user", float, 4>>;

auto rows_of_users(const distrib::TorchRows<Tables>& rows) -> torch::Tensor {
#ifdef DISTRIB_COMPILE_FAIL
  return distrib::get<"users">(rows);
#else
  return distrib::get<"user">(rows);
#endif
}
