// error: describe\(\) of a model must be: auto describe\(\) const -> std::string
// SPDX-License-Identifier: Apache-2.0
#include "support/least_model.hpp"

struct Model : LeastModel {
#ifdef DISTRIB_COMPILE_FAIL
  auto describe() -> std::string { return "my library 1"; }
#else
  auto describe() const -> std::string { return "my library 1"; }
#endif
};

auto builder = distrib::train(Model{});
