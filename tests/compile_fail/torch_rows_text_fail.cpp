// error: distrib: get\(rows, name\): the names of a task's tables are checked by the compiler: write
// get<"name">\(rows\) SPDX-License-Identifier: Apache-2.0
#include <distrib/libtorch/torch_model.hpp>

using Tables = distrib::VariableList<distrib::Embedding<"user", float, 4>>;

auto rows_of_users(const distrib::TorchRows<Tables>& rows) -> torch::Tensor {
#ifdef DISTRIB_COMPILE_FAIL
  return distrib::get(rows, "user");
#else
  return distrib::get<"user">(rows);
#endif
}
