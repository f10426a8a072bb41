// SPDX-License-Identifier: Apache-2.0
#include <distrib/net/error.hpp>

#include "support/catch.hpp"

using distrib::failure;
using distrib::net_errc;

TEST_CASE("net_errc: each code has a text and a shared condition", "[net]") {
  const struct {
    net_errc value;
    failure kind;
  } rows[] = {
      {net_errc::bad_address, failure::invalid_argument},
      {net_errc::address_in_use, failure::unavailable},
      {net_errc::not_local, failure::invalid_argument},
      {net_errc::unresolved, failure::unavailable},
      {net_errc::refused, failure::unavailable},
      {net_errc::unreachable, failure::unavailable},
      {net_errc::timed_out, failure::timeout},
      {net_errc::bad_tls_file, failure::invalid_argument},
      {net_errc::untrusted, failure::mismatch},
      {net_errc::no_tls, failure::mismatch},
      {net_errc::own_certificate_refused, failure::mismatch},
      {net_errc::broken_handshake, failure::unavailable},
      {net_errc::truncated, failure::unavailable},
  };
  for (const auto& row : rows) {
    const std::error_code ec = row.value;
    CAPTURE(ec.message());
    CHECK(ec == row.kind);
    CHECK(ec.category().name() == std::string{"distrib.net"});
    CHECK(ec.message() != "unknown error");
    CHECK(distrib::detail::is_tls_refusal(ec) == (row.kind == failure::mismatch));
  }
  CHECK(distrib::detail::net_category().message(99) == "unknown error");
}
