// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/method.hpp>

#include "support/catch.hpp"

namespace {

/// The least that is an RpcMessage.
struct Archetype {
  void encode(distrib::WireWriter&) const {}
  auto decode(distrib::ByteView) -> bool { return true; }
};
static_assert(distrib::RpcMessage<Archetype>);

struct NoEncode {
  auto decode(distrib::ByteView) -> bool { return true; }
};
struct NoDecode {
  void encode(distrib::WireWriter&) const {}
};
struct NoAnswer : Archetype {
  void decode(distrib::ByteView) {}
};
struct NoDefault : Archetype {
  explicit NoDefault(int) {}
};
static_assert(!distrib::RpcMessage<NoEncode>);
static_assert(!distrib::RpcMessage<NoDecode>);
static_assert(!distrib::RpcMessage<NoAnswer>);
static_assert(!distrib::RpcMessage<NoDefault>);

/// The least that is an RpcMethod.
struct Least : distrib::Method<"least", Archetype, Archetype> {};
static_assert(distrib::RpcMethod<Least>);
struct NoName : Least {
  static constexpr int name = 7;
};
static_assert(!distrib::RpcMethod<NoName>);
static_assert(!distrib::RpcMethod<Archetype>);

}  // namespace

TEST_CASE("RpcMessage and RpcMethod: the least models do", "[concepts]") { SUCCEED(); }
