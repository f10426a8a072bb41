// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/webhdfs_client.hpp>

#include "support/catch.hpp"
#include "support/fake_hdfs.hpp"

using namespace std::chrono_literals;
using distrib::Error;
using distrib::http_errc;
using distrib::webhdfs_errc;
using distrib::WebHdfsClient;
using distrib::WebHdfsOptions;
using distrib::WebHdfsServer;
using distrib::WebHdfsStatus;
using support::FakeHdfs;
using support::HttpAsked;
using support::HttpSaid;

namespace {

const WebHdfsOptions hasty_client = support::hasty_webhdfs(4);

auto hasty_httpfs() -> WebHdfsOptions {
  WebHdfsOptions options = hasty_client;
  options.server = WebHdfsServer::httpfs;
  return options;
}

}  // namespace

TEST_CASE("WebHdfsClient: status, list, directories, delete", "[hadoop]") {
  FakeHdfs hdfs;
  hdfs.files = {{"/d/b é", "12345"}, {"/d/a", ""}, {"/d/c/x", "y"}};
  hdfs.directories = {"/", "/d", "/d/c"};
  WebHdfsClient client{hdfs.file("/d"), hasty_client};
  CHECK(client.location().path == "/d");
  CHECK(client.status("/d/b é").bytes == 5);
  CHECK(client.status("/d").type == WebHdfsStatus::Type::directory);
  const auto list = client.list("/d");
  REQUIRE(list.size() == 3);
  CHECK(list[0].name == "a");
  CHECK(list[1].name == "b é");
  CHECK(list[2].name == "c");
  CHECK(client.list("/d/a")[0].name.empty());
  client.make_directories("/e/f");
  CHECK(hdfs.directories.count("/e/f") == 1);
  CHECK(client.remove("/d/a"));
  CHECK_FALSE(client.remove("/d/a"));
  CHECK(hdfs.files.count("/d/a") == 0);
  CHECK(hdfs.asked()[0].parameter("user.name") == "me");

  Error error;
  static_cast<void>(client.status("/none", error));
  CHECK(error.code == webhdfs_errc::no_such_file);
  CHECK(error.where == hdfs.url() + " GETFILESTATUS /none (FileNotFoundException: File does not exist: /none)");
  CHECK_THROWS_WITH(client.list("/none"), ContainsSubstring("LISTSTATUS /none"));
}

TEST_CASE("WebHdfsClient: rename replaces only if allowed, and never moves into a directory", "[hadoop]") {
  for (const bool httpfs : {false, true}) {
    FakeHdfs hdfs{httpfs};
    hdfs.files = {{"/a", "new"}, {"/b", "old"}};
    hdfs.directories.insert("/d");
    WebHdfsClient client{hdfs.file("/"), httpfs ? hasty_httpfs() : hasty_client};
    Error error;
    client.rename("/a", "/b", false, error);
    CHECK(error.code == webhdfs_errc::exists);
    CHECK(hdfs.files["/b"] == "old");
    client.rename("/a", "/d", true, error);
    CHECK(error.code == webhdfs_errc::is_directory);
    client.rename("/a", "/b", true, error);
    CHECK_FALSE(error);
    CHECK(hdfs.files["/b"] == "new");
    client.rename("/a", "/c", true, error);
    CHECK(error.code == webhdfs_errc::no_such_file);
    client.rename("/b", "/c", false, error);
    CHECK_FALSE(error);
    CHECK(hdfs.files == std::map<std::string, std::string>{{"/c", "new"}});
  }
}

TEST_CASE("WebHdfsClient: a rename that was done is a success, even if its answer was lost", "[hadoop]") {
  FakeHdfs hdfs;
  hdfs.files = {{"/a", "new"}, {"/b", "old"}};
  bool first = true;
  hdfs.instead = [&](const HttpAsked& asked, bool, const HttpSaid&) -> std::optional<HttpSaid> {
    if (asked.parameter("op") != "RENAME" || !std::exchange(first, false)) return std::nullopt;
    return HttpSaid{.bytes = ""};
  };
  WebHdfsClient client{hdfs.file("/"), hasty_client};
  Error error;
  client.rename("/a", "/b", true, error);
  CHECK_FALSE(error);
  CHECK(hdfs.files["/b"] == "new");
}

TEST_CASE("WebHdfsClient: skips a standby name node, and asks the active one first from then on", "[hadoop]") {
  FakeHdfs active;
  active.files = {{"/f", "x"}};
  support::HttpServer standby{[](const HttpAsked&) {
    return HttpSaid::exception(403, "StandbyException", "Operation category READ is not supported in state standby");
  }};
  WebHdfsOptions options = hasty_client;
  options.namenodes = {standby.url(), active.url()};
  WebHdfsClient client{"hdfs://service/f", options};
  for (int i = 0; i < 5; ++i) CHECK(client.status("/f").bytes == 1);
  CHECK(standby.asked().size() == 1);

  options.namenodes = {standby.url(), standby.url()};
  WebHdfsClient none{"hdfs://service/f", options};
  Error error;
  static_cast<void>(none.status("/f", error));
  CHECK(error.code == webhdfs_errc::standby);
  CHECK_THAT(error.where, ContainsSubstring(standby.url() + " GETFILESTATUS /f (StandbyException: Operation category"));
}

TEST_CASE("WebHdfsClient: sends the token, and shows it in no error", "[hadoop]") {
  FakeHdfs hdfs;
  WebHdfsOptions options = hasty_client;
  options.token = "HgADdG9rZW4";
  WebHdfsClient client{hdfs.file("/f"), options};
  Error error;
  static_cast<void>(client.status("/f", error));
  CHECK(error.code == webhdfs_errc::no_such_file);
  CHECK_THAT(error.where, !ContainsSubstring("HgAD"));
  CHECK(hdfs.asked()[0].parameter("delegation") == "HgADdG9rZW4");
  CHECK(hdfs.asked()[0].parameter("user.name").empty());
}

TEST_CASE("WebHdfsClient: refuses servers that do not speak WebHDFS", "[hadoop]") {
  const std::pair<HttpSaid, std::error_code> rows[] = {
      {HttpSaid::answer(200, "<html>It works</html>"), webhdfs_errc::bad_answer},
      {HttpSaid::answer(404, "<html>404</html>"), webhdfs_errc::bad_answer},
      {HttpSaid::answer(401, "", "WWW-Authenticate: Negotiate\r\n"), webhdfs_errc::unauthenticated},
      {{.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"FileStatus\":{\"length\":"},
       http_errc::ended_early},
      {{.bytes = "", .hang = true}, http_errc::timed_out},
  };
  for (const auto& [said, code] : rows) {
    support::HttpServer server{[&](const HttpAsked&) { return said; }};
    CAPTURE(said.bytes);
    WebHdfsOptions options = hasty_client;
    options.namenodes = {server.url()};
    options.retry.attempts = 2;
    WebHdfsClient client{"hdfs:///f", options};
    Error error;
    static_cast<void>(client.status("/f", error));
    CHECK(error.code == code);
    CHECK_THAT(error.where, ContainsSubstring(server.url()));
  }
}
