// error: distrib: Method<name, Request, Reply>: Request or Reply cannot be sent
// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/method.hpp>

struct Operation {
  char what;
  double left;
};
#ifndef DISTRIB_COMPILE_FAIL
template <>
struct distrib::RpcCodec<Operation> : distrib::PlainCodec<Operation> {};
#endif

struct Calculate : distrib::Method<"test.Calculate", Operation, double> {};
