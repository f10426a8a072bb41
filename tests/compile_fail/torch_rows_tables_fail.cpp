// error: distrib: the Tables of a task must be a VariableList of Embeddings, and of nothing else
// SPDX-License-Identifier: Apache-2.0
#include <distrib/libtorch/torch_model.hpp>

#ifdef DISTRIB_COMPILE_FAIL
using Tables = distrib::RuntimeVariables;
#else
using Tables = distrib::VariableList<distrib::Embedding<"user", float, 4>>;
#endif

auto rows_of_users(const distrib::TorchRows<Tables>& rows) -> torch::Tensor { return distrib::get<"user">(rows); }
