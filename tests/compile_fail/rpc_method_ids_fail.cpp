// error: distrib: the names of two methods of a router have the same id
// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/router.hpp>

struct First : distrib::Method<"test.Method16612", distrib::Empty, distrib::Empty> {};
#ifdef DISTRIB_COMPILE_FAIL
struct Second : distrib::Method<"test.Method514020", distrib::Empty, distrib::Empty> {};
#else
struct Second : distrib::Method<"test.Method514021", distrib::Empty, distrib::Empty> {};
#endif

void likeliest_mistake() {
  const auto nothing = [](distrib::Empty, auto) {};
  distrib::Router router{distrib::on<First>(nothing), distrib::on<Second>(nothing)};
  static_cast<void>(router);
}
