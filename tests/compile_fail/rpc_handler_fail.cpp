// error: distrib: on<M>\(handler\): the handler must take \(M::Request\), or \(M::Request, call\)
// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/router.hpp>
#include <distrib/rpc/server_core.hpp>
#include <distrib/rpc/server_event.hpp>

#include <string>

struct Echo : distrib::Method<"test.Echo", std::string, std::string> {};

#ifdef DISTRIB_COMPILE_FAIL
using Text = int;
#else
using Text = std::string;
#endif

void likeliest_mistake(distrib::ServerCore* connection, const distrib::ServerEvent& event) {
  distrib::Router router{distrib::on<Echo>([](Text text) { return text; })};
  router.dispatch(connection, event);
}
