// SPDX-License-Identifier: Apache-2.0
#include <distrib/net/address.hpp>
#include <distrib/net/error.hpp>

#include "support/catch.hpp"

using distrib::Address;
using distrib::net_errc;

TEST_CASE("Address: parse reads what to_string writes", "[net]") {
  const struct {
    const char* text;
    Address address;
  } rows[] = {
      {"ps0:2222", {"ps0", 2222}},
      {"ps-0.job.svc.cluster.local:1", {"ps-0.job.svc.cluster.local", 1}},
      {"10.0.0.1:65535", {"10.0.0.1", 65535}},
      {"[::1]:2222", {"::1", 2222}},
      {"[fe80::1%eth0]:2222", {"fe80::1%eth0", 2222}},
      {":2222", {"", 2222}},
      {":0", {"", 0}},
  };
  for (const auto& row : rows) {
    CAPTURE(row.text);
    CHECK(Address::parse(row.text) == row.address);
    CHECK(row.address.to_string() == row.text);
  }
  CHECK(Address::parse("h:0080").to_string() == "h:80");
}

TEST_CASE("Address: parse refuses texts that are not an address", "[net]") {
  const std::string longest(Address::max_host_bytes, 'h');
  CHECK(Address::parse(longest + ":1").host == longest);
  const std::string texts[] = {
      "",         "ps0",      "ps0:",          "ps0:port", "ps0:-1",     "ps0:+1",      "ps0:65536", "ps0:1 ",
      "ps0:0x10", " ps0:1",   "ps 0:1",        "::1:2222", "[::1]",      "[::1:2222",   "::1]:2222", "[]:1",
      "[ps0]:1",  "[[::1]:1", "http://a:1",    "a/b:1",    "ps0:1:2222", "ps0:1,ps1:1", "[::1]]:1",  "\xc3\xa4:1",
      "ps0\n:1",  ":",        longest + "h:1",
  };
  for (const std::string& text : texts) {
    CAPTURE(text);
    std::error_code ec;
    CHECK(Address::parse(text, ec) == Address{});
    CHECK(ec == net_errc::bad_address);
    CHECK_THROWS_WITH(Address::parse(text), ContainsSubstring("write HOST:PORT"));
  }
  CHECK_THROWS_WITH(Address::parse("ps0"), ContainsSubstring("'ps0'"));
}
