// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/remote_error.hpp>

#include <distrib/rpc/error.hpp>

#include "support/catch.hpp"

using distrib::Error;
using distrib::rpc_errc;
using distrib::WireWriter;

namespace {

auto carried(const std::error_code& code, std::string_view where, distrib::ErrorCategories categories = {}) -> Error {
  WireWriter head;
  distrib::encode_error(head, code, where);
  return distrib::decode_error(head.view(), categories);
}

}  // namespace

TEST_CASE("remote errors: known categories keep the code", "[rpc]") {
  const Error error = carried(rpc_errc::unknown_method, "Push");
  CHECK(error.code == rpc_errc::unknown_method);
  CHECK(error.where == "Push");
  const std::error_category* const known[] = {&std::generic_category()};
  CHECK(carried(std::make_error_code(std::errc::no_space_on_device), "/data", known).code ==
        std::errc::no_space_on_device);
}

TEST_CASE("remote errors: codes of unknown categories keep their condition", "[rpc]") {
  const Error error = carried(std::make_error_code(std::errc::no_space_on_device), "/data");
  CHECK(error.code.category() == distrib::remote_category());
  CHECK(error.code == distrib::failure::io);
  CHECK(error.code.message() == "input or output failed (at the peer)");
  CHECK(error.where == "/data (generic 28)");
}

TEST_CASE("remote errors: a head that cannot be decoded becomes bad_message", "[rpc]") {
  CHECK(distrib::decode_error(distrib::as_bytes("\x0a"), {}).code == rpc_errc::bad_message);
  CHECK(distrib::decode_error({}, {}).code == rpc_errc::bad_message);
}
