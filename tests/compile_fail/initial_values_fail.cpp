// error: get<NAME>: this NAME is an Embedding, whose rows get their initial values from its initializer
// SPDX-License-Identifier: Apache-2.0
#include <distrib/tensor/initial_values.hpp>

using Variables = distrib::VariableList<distrib::Variable<"w", float, 1>, distrib::Embedding<"user", float, 4>>;

#ifdef DISTRIB_COMPILE_FAIL
constexpr distrib::FixedString name{"user"};
#else
constexpr distrib::FixedString name{"w"};
#endif

void start(distrib::InitialValues<Variables>& values) { static_cast<void>(distrib::get<name>(values)); }
