// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/webhdfs_url.hpp>

#include "support/catch.hpp"

using distrib::Error;
using distrib::webhdfs_errc;
using distrib::WebHdfsLocation;
using distrib::WebHdfsOptions;

namespace {

auto parse(const std::string& url, const WebHdfsOptions& options = {}) -> WebHdfsLocation {
  Error error;
  auto location = WebHdfsLocation::parse(url, options, error);
  CHECK_FALSE(error);
  return location;
}

}  // namespace

TEST_CASE("WebHdfsLocation: the server and the path of each form of URL", "[hadoop]") {
  const struct {
    const char* url;
    const char* server;
    const char* path;
  } rows[] = {
      {"hdfs://nn:8020/data/part-0", "http://nn:9870/", "/data/part-0"},  // the port is that of Hadoop's own protocol
      {"hdfs://nn/", "http://nn:9870/", "/"},
      {"webhdfs://nn/a b/%41", "http://nn:9870/", "/a b/%41"},
      {"webhdfs://nn:14000/x", "http://nn:14000/", "/x"},
      {"swebhdfs://nn/x", "https://nn:9871/", "/x"},
      {"swebhdfs://nn:50470/x?y#z", "https://nn:50470/", "/x?y#z"},
      {"hdfs://[::1]/x", "http://[::1]:9870/", "/x"},
      {"hdfs://[::1]:8020/x", "http://[::1]:9870/", "/x"},
      {"webhdfs://[::1]:1/x", "http://[::1]:1/", "/x"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.url);
    const WebHdfsLocation location = parse(row.url);
    REQUIRE(location.servers.size() == 1);
    CHECK(location.servers[0].text() == row.server);
    CHECK(location.path == row.path);
    CHECK(location.url_of(location.path) == row.url);
  }
}

TEST_CASE("WebHdfsLocation: name nodes in the options replace the host of the URL", "[hadoop]") {
  const WebHdfsOptions options{.namenodes = {"http://nn1:9870", "https://knox/gateway/default/"}};
  for (const char* url : {"hdfs://service/x", "hdfs:///x", "webhdfs://other:1/x"}) {
    const WebHdfsLocation location = parse(url, options);
    REQUIRE(location.servers.size() == 2);
    CHECK(location.servers[0].text() == "http://nn1:9870/");
    CHECK(location.servers[1].text() == "https://knox:443/gateway/default/");
    CHECK(location.path == "/x");
  }
}

TEST_CASE("WebHdfsLocation: refuses texts that are not a URL of HDFS", "[hadoop]") {
  const std::string urls[] = {"",           "/x",          "http://nn/x",
                              "hdfs:/x",    "hdfs://nn",   "hdfs:///x",
                              "webhdfs://", "HDFS://nn/x", std::string{"hdfs://nn/a\0b", 13}};
  for (const std::string& url : urls) {
    CAPTURE(url);
    Error error;
    const WebHdfsLocation location = WebHdfsLocation::parse(url, {}, error);
    CHECK(location.servers.empty());
    CHECK(error.code == webhdfs_errc::bad_url);
  }
  Error error;
  static_cast<void>(WebHdfsLocation::parse("hdfs://nn/x", {.namenodes = {"nn1:9870"}}, error));
  CHECK(error.code == distrib::http_errc::bad_url);
  CHECK(error.where == "name node \"nn1:9870\" of hdfs://nn/x");
  static_cast<void>(WebHdfsLocation::parse("webhdfs://me:SECRET@nn/x", {}, error));
  CHECK(error.code == distrib::http_errc::bad_url);
  CHECK(error.where == "name node \"http://nn\" of webhdfs://nn/x");
  static_cast<void>(WebHdfsLocation::parse("hdfs://nn/x", {.namenodes = {"http://me:SECRET@nn1?t=SECRET"}}, error));
  CHECK(error.where == "name node \"http://nn1\" of hdfs://nn/x");
  static_cast<void>(WebHdfsLocation::parse("http://me:SECRET@nn/x?t=SECRET", {}, error));
  CHECK(error.where == "\"http://nn/x\"");
}

TEST_CASE("is_webhdfs_url: depends on the scheme", "[hadoop]") {
  for (const char* text : {"hdfs://x/y", "webhdfs://x/y", "swebhdfs://x/y", "hdfs:///y"})
    CHECK(distrib::is_webhdfs_url(text));
  for (const char* text : {"", "hdfs", "/hdfs://x", "http://x/y", "file:///x"})
    CHECK_FALSE(distrib::is_webhdfs_url(text));
}
