// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/webhdfs_request.hpp>

#include "support/catch.hpp"

using distrib::HttpUrl;
using distrib::WebHdfsOptions;
using distrib::WebHdfsRequest;

TEST_CASE("WebHdfsRequest: methods and targets", "[hadoop]") {
  const HttpUrl server = HttpUrl::parse("http://nn:9870");
  const std::string sources[] = {"/t/a.1", "/t/a.2"};
  const struct {
    WebHdfsRequest request;
    const char* method;
    const char* target;
  } rows[] = {
      {WebHdfsRequest::open("/a b/é+", 5, 7), "GET", "/webhdfs/v1/a%20b/%C3%A9+?op=OPEN"},
      {WebHdfsRequest::open("/table/day=3/part-0", 0, 1), "GET", "/webhdfs/v1/table/day=3/part-0?op=OPEN"},
      {WebHdfsRequest::list("/user/x@y/k=a,b:c&d!$'(*)"), "GET", "/webhdfs/v1/user/x@y/k=a,b:c&d!$'(*)?op=LISTSTATUS"},
      {WebHdfsRequest::status("/a;b%3D/[c]#d\\"), "GET", "/webhdfs/v1/a%3Bb%253D/%5Bc%5D%23d%5C?op=GETFILESTATUS"},
      {WebHdfsRequest::rename("/t/day=3/_tmp", "/t/day=3/part-0", true), "PUT",
       "/webhdfs/v1/t/day=3/_tmp?op=RENAME&destination=/t/day%3D3/part-0&renameoptions=OVERWRITE"},
      {WebHdfsRequest::status("/"), "GET", "/webhdfs/v1/?op=GETFILESTATUS"},
      {WebHdfsRequest::list("/x?y"), "GET", "/webhdfs/v1/x%3Fy?op=LISTSTATUS"},
      {WebHdfsRequest::make_directories("/d"), "PUT", "/webhdfs/v1/d?op=MKDIRS"},
      {WebHdfsRequest::remove("/d", true), "DELETE", "/webhdfs/v1/d?op=DELETE&recursive=true"},
      {WebHdfsRequest::create("/f", {}), "PUT", "/webhdfs/v1/f?op=CREATE&overwrite=true"},
      {WebHdfsRequest::rename("/f", "/g&h", true), "PUT",
       "/webhdfs/v1/f?op=RENAME&destination=/g%26h&renameoptions=OVERWRITE"},
      {WebHdfsRequest::rename("/f", "/g", false), "PUT", "/webhdfs/v1/f?op=RENAME&destination=/g&renameoptions=NONE"},
      {WebHdfsRequest::concat("/t/a", sources), "POST", "/webhdfs/v1/t/a?op=CONCAT&sources=/t/a.1,/t/a.2"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.target);
    CHECK(row.request.method == row.method);
    CHECK(row.request.target(server, {}) == row.target);
  }
}

TEST_CASE("WebHdfsRequest: user, token and doas", "[hadoop]") {
  const HttpUrl server = HttpUrl::parse("https://knox/gateway/x/");
  const WebHdfsRequest request = WebHdfsRequest::status("/f");
  const std::string base = "/gateway/x/webhdfs/v1/f?op=GETFILESTATUS";
  CHECK(request.target(server, {.user = "me & you"}) == base + "&user.name=me%20%26%20you");
  CHECK(request.target(server, {.user = "me", .token = "abc_-1"}) == base + "&delegation=abc_-1");
  CHECK(request.target(server, {.user = "me", .act_as = "her"}) == base + "&user.name=me&doas=her");
  const std::pair<std::string, std::string> more[] = {{"offset", "7"}};
  CHECK(request.target(server, {.user = "me"}, more) == base + "&offset=7&user.name=me");
}
