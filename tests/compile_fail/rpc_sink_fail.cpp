// error: distrib: on_chunks<M>\(handler\): the handler must return a sink
// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/router.hpp>
#include <distrib/rpc/server_session.hpp>

#include <cstddef>
#include <string>

struct Store : distrib::Method<"test.Store", std::string, distrib::Empty> {};

struct Sink {
#ifdef DISTRIB_COMPILE_FAIL
  void chunk(distrib::ByteView);  // a sink also needs `end`
#else
  void chunk(distrib::ByteView) {}
  void end() {}
#endif
};

void likeliest_mistake(const distrib::ServerConnection& connection, const distrib::ServerEvent& event) {
  distrib::Router router{distrib::on_chunks<Store>([](const std::string&, auto, std::size_t) { return Sink{}; })};
  router.dispatch(connection, event);
}
