// error: distrib: FunctionList<F>: a parameter of F cannot be sent
// SPDX-License-Identifier: Apache-2.0
#include <distrib/coordinator/cluster_coordinator.hpp>

struct Batch {
  char kind;
  double weight;
};
#ifndef DISTRIB_COMPILE_FAIL
template <>
struct distrib::RpcCodec<Batch> : distrib::PlainCodec<Batch> {};
#endif

struct Train {
  static constexpr std::string_view name = "train";
  void operator()(distrib::FunctionContext&, Batch) const {}
};
constexpr auto size = sizeof(distrib::FunctionList<Train>);
