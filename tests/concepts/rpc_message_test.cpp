// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/method.hpp>

#include "support/catch.hpp"

namespace {

/// The smallest RpcMessage.
struct LeastRpcMessage {
  void encode(distrib::WireWriter&) const {}
  auto decode(distrib::ByteView) -> bool { return true; }
};
static_assert(distrib::RpcMessage<LeastRpcMessage>);

struct NoEncode {
  auto decode(distrib::ByteView) -> bool { return true; }
};
struct NoDecode {
  void encode(distrib::WireWriter&) const {}
};
struct NoAnswer : LeastRpcMessage {
  void decode(distrib::ByteView) {}
};
struct NoDefault : LeastRpcMessage {
  explicit NoDefault(int) {}
};
static_assert(!distrib::RpcMessage<NoEncode>);
static_assert(!distrib::RpcMessage<NoDecode>);
static_assert(!distrib::RpcMessage<NoAnswer>);
static_assert(!distrib::RpcMessage<NoDefault>);

/// The smallest RpcMethod.
struct LeastRpcMethod : distrib::Method<"least", LeastRpcMessage, LeastRpcMessage> {};
static_assert(distrib::detail::RpcMethod<LeastRpcMethod>);
struct NamelessRpcMessage : LeastRpcMethod {
  static constexpr int name = 7;
};
static_assert(!distrib::detail::RpcMethod<NamelessRpcMessage>);
static_assert(!distrib::detail::RpcMethod<LeastRpcMessage>);

}  // namespace

TEST_CASE("RpcMessage, RpcMethod: accept the smallest models", "[concepts]") { SUCCEED(); }
