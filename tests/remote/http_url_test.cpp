// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/http_url.hpp>

#include "support/catch.hpp"

using distrib::http_errc;
using distrib::HttpUrl;

TEST_CASE("HttpUrl: parses the parts of a URL", "[net]") {
  const struct {
    const char* text;
    HttpUrl url;
  } rows[] = {
      {"http://nn1:9870/webhdfs/v1/a%20b?op=OPEN", {false, "nn1", 9870, "/webhdfs/v1/a%20b?op=OPEN"}},
      {"HTTP://h", {false, "h", 80, "/"}},
      {"https://h.example.org/x#part", {true, "h.example.org", 443, "/x"}},
      {"http://h:8080?x=1", {false, "h", 8080, "/?x=1"}},
      {"https://[::1]:9871/", {true, "::1", 9871, "/"}},
      {"http://h:/x", {false, "h", 80, "/x"}},
  };
  for (const auto& row : rows) {
    CAPTURE(row.text);
    CHECK(HttpUrl::parse(row.text) == row.url);
  }
  CHECK(HttpUrl::parse("http://[::1]/a?token=secret").text() == "http://[::1]:80/a?token=secret");
  CHECK(HttpUrl::parse("http://h/a?token=secret").where() == "http://h:80/a");
}

TEST_CASE("HttpUrl: refuses texts that are not a URL", "[net]") {
  const std::string texts[] = {
      "",
      "h",
      "ftp://h/",
      "http://",
      "http:///x",
      "http://u:p@h/",
      "http://h:0/",
      "http://h:65536/",
      "http://h:x/",
      "http://h\r\nX: y/",
      "http://h/a b",
      "http://h/\xc3\xa4",
      "http://[h]/",
      "http://[::1/",
      "http://[::1]x/",
      "http://h,i/",
      "http://h/" + std::string(HttpUrl::max_bytes, 'a'),
  };
  for (const std::string& text : texts) {
    CAPTURE(text);
    std::error_code ec;
    CHECK(HttpUrl::parse(text, ec) == HttpUrl{});
    CHECK(ec == http_errc::bad_url);
    CHECK_THROWS_AS(HttpUrl::parse(text), std::system_error);
  }
}

TEST_CASE("HttpUrl: what is refused is named without its secrets", "[net]") {
  for (const char* text : {"http://me:SECRET@h/a?sig=SECRET", "http://h:x/a?sig=SECRET", "http://me:SECRET/1@h/a",
                           "h/a?sig=SECRET", "me:SECRET@h/a"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH(HttpUrl::parse(text), !ContainsSubstring("SECRET") && ContainsSubstring("/a\""));
  }
}

TEST_CASE("HttpUrl: resolves a Location", "[net]") {
  const HttpUrl base = HttpUrl::parse("https://h:1/a/b?x=1");
  const struct {
    const char* location;
    const char* to;
  } rows[] = {
      {"http://dn:9864/f?op=OPEN&x=%2F", "http://dn:9864/f?op=OPEN&x=%2F"},
      {"//other/x", "https://other:443/x"},
      {"/c?y", "https://h:1/c?y"},
      {"c", "https://h:1/a/c"},
      {"?z=2", "https://h:1/a/b?z=2"},
      {"c?u=http://k", "https://h:1/a/c?u=http://k"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.location);
    std::error_code ec;
    CHECK(base.resolve(row.location, ec).text() == row.to);
    CHECK_FALSE(ec);
  }
  for (const char* location : {"", "file:///etc/passwd", "javascript:x", "http://a b/"}) {
    CAPTURE(location);
    std::error_code ec;
    CHECK(base.resolve(location, ec) == HttpUrl{});
    CHECK(ec == http_errc::bad_url);
  }
}

TEST_CASE("percent_encode: escapes everything except what a URL may contain", "[net]") {
  CHECK(distrib::percent_encode("/a b/\xc3\xa9+x&y", "/") == "/a%20b/%C3%A9%2Bx%26y");
  CHECK(distrib::percent_encode("a-b._~9%") == "a-b._~9%25");
}
