// error: lookup_index<NAME>: this NAME is a Variable; only an Embedding has an index
// SPDX-License-Identifier: Apache-2.0
#include <distrib/tensor/values.hpp>

using Variables = distrib::VariableList<distrib::Variable<"w", float, 1>, distrib::Embedding<"user", float, 4>>;

#ifdef DISTRIB_COMPILE_FAIL
constexpr distrib::FixedString name{"w"};
#else
constexpr distrib::FixedString name{"user"};
#endif

auto index_of(const distrib::Values<Variables>& values) { return distrib::lookup_index<name>(values); }
