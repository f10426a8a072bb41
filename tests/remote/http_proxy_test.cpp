// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/http_proxy.hpp>

#include "support/catch.hpp"

using distrib::Error;
using distrib::HttpProxies;
using distrib::HttpProxy;
using distrib::HttpUrl;

TEST_CASE("HttpProxy: the scheme of the URL chooses the proxy", "[net]") {
  const HttpProxies proxies{.https = "http://me:p%40ss%2@proxy.corp:3128/", .http = "other"};
  Error error;
  const auto secure = HttpProxy::of(HttpUrl::parse("https://s3.amazonaws.com/b"), proxies, error);
  REQUIRE(secure);
  CHECK(secure->host == "proxy.corp");
  CHECK(secure->port == 3128);
  CHECK(secure->user == "me");
  CHECK(secure->password == "p@ss%2");
  const auto plain = HttpProxy::of(HttpUrl::parse("http://s3.amazonaws.com/b"), proxies, error);
  REQUIRE(plain);
  CHECK(plain->host == "other");
  CHECK(plain->port == 80);
  CHECK(plain->user.empty());
  CHECK_FALSE(HttpProxy::of(HttpUrl::parse("http://h"), {}, error));
  CHECK_FALSE(error);
}

TEST_CASE("HttpProxy: hosts without a proxy", "[net]") {
  const auto direct = [](const std::string& host, const std::string& none) {
    Error error;
    return !HttpProxy::of(HttpUrl::parse("http://" + host), {.http = "http://p:1", .none = none}, error) && !error;
  };
  CHECK(direct("minio.local", "other, minio.local"));
  CHECK(direct("MinIO.local", "minio.LOCAL"));
  CHECK(direct("a.b.example.com", ".example.com"));
  CHECK(direct("a.b.example.com", "example.com"));
  CHECK(direct("example.com", ".example.com"));
  CHECK(direct("anything", "*"));
  CHECK(direct("h:9000", "h:9000"));
  CHECK(direct("10.3.2.1", "10.0.0.0/8"));
  CHECK(direct("10.3.2.1", "0.0.0.0/0"));
  CHECK(direct("127.0.0.1", "localhost,127.0.0.1"));
  CHECK(direct("[::1]:9000", "::1"));
  CHECK(direct("[::1]:9000", "[::1]"));
  CHECK_FALSE(direct("badexample.com", "example.com"));
  CHECK_FALSE(direct("h:9001", "h:9000"));
  CHECK_FALSE(direct("11.3.2.1", "10.0.0.0/8"));
  CHECK_FALSE(direct("10.3.2.1", "10.0.0.0/33"));
  CHECK_FALSE(direct("10.3.2.1", "10.0.0.0/"));
  CHECK_FALSE(direct("h", ", ,."));
}

TEST_CASE("HttpProxy: a URL that is no proxy's is refused without its password", "[net]") {
  for (const char* url : {"https://me:SECRET@p:1", "socks5://SECRET:1", "http://me:SECRET@:1", "me:SECRET@p:99999"}) {
    Error error;
    CHECK_FALSE(HttpProxy::of(HttpUrl::parse("https://h"), {.https = url}, error));
    CHECK(error.code == distrib::http_errc::bad_url);
    CHECK_THAT(error.where, ContainsSubstring("proxy for https") && !ContainsSubstring("SECRET"));
  }
}

TEST_CASE("is_this_machine: addresses, not names that begin like them", "[net]") {
  for (const char* host : {"localhost", "127.0.0.1", "127.255.255.254", "::1"})
    CHECK(distrib::detail::is_this_machine(host));
  for (const char* host : {"127.evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "128.0.0.1", ""})
    CHECK_FALSE(distrib::detail::is_this_machine(host));
}

TEST_CASE("percent_decode: the inverse of percent_encode", "[net]") {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  CHECK(distrib::percent_decode(distrib::percent_encode(all)) == all);
  CHECK(distrib::percent_decode("%4") == "%4");
  CHECK(distrib::percent_decode("%zz%%41") == "%zz%A");
}
