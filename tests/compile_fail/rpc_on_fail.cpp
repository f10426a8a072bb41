// error: distrib: on<M>\(handler\): M must be a method
// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/router.hpp>

struct Request {
  void encode(distrib::WireWriter&) const {}
#ifndef DISTRIB_COMPILE_FAIL
  auto decode(distrib::ByteView) -> bool { return true; }
#endif
};

struct Ask {
  using Request = ::Request;
  using Reply = distrib::Empty;
  static constexpr std::string_view name = "test.Ask";
  static constexpr std::uint32_t id = 1;
  static constexpr bool streams_requests = false;
  static constexpr bool streams_replies = false;
};

void likeliest_mistake() {
  distrib::Router router{distrib::on<Ask>([](Request, auto) {})};
  static_cast<void>(router);
}
