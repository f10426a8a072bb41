// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/webhdfs_file.hpp>

#include "support/catch.hpp"
#include "support/fake_hdfs.hpp"
#include "support/noise.hpp"

#include <distrib/record/byte_source.hpp>

using namespace std::chrono_literals;
using distrib::Error;
using distrib::http_errc;
using distrib::webhdfs_errc;
using distrib::WebHdfsFile;
using distrib::WebHdfsOptions;
using support::FakeHdfs;
using support::HttpAsked;
using support::HttpSaid;
using support::noise;

static_assert(distrib::ByteSource<WebHdfsFile>);

namespace {

const WebHdfsOptions hasty_hdfs = support::hasty_webhdfs(4, 10'000);

auto read_all(WebHdfsFile file, Error& error, std::size_t piece = 3000) -> std::string {
  std::string all;
  std::vector<std::byte> to(piece);
  while (const std::size_t count = file.read(to, error)) all += distrib::as_text(distrib::ByteView{to}.first(count));
  return all;
}

}  // namespace

TEST_CASE("WebHdfsFile: sizes around the piece size, with and without a pool; no request at the end", "[hadoop]") {
  distrib::IoPool pool{3};
  for (const bool httpfs : {false, true}) {
    FakeHdfs hdfs{httpfs};
    WebHdfsOptions options = hasty_hdfs;
    options.server = httpfs ? distrib::WebHdfsServer::httpfs : distrib::WebHdfsServer::namenode;
    for (const std::size_t size : {0U, 1U, 9'999U, 10'000U, 10'001U, 100'000U}) {
      hdfs.files["/dir/a b"] = noise(size);
      for (distrib::IoPool* with : {static_cast<distrib::IoPool*>(nullptr), &pool}) {
        options.pool = with;
        CAPTURE(httpfs, size);
        Error error;
        CHECK((read_all(WebHdfsFile{hdfs.file("/dir/a b"), options}, error) == hdfs.files["/dir/a b"]));
        CHECK(error.where == "");
      }
    }
    CHECK(hdfs.data_asked().empty() == httpfs);
  }
}

TEST_CASE("WebHdfsFile: survives cut connections and failing data nodes", "[hadoop]") {
  FakeHdfs hdfs;
  hdfs.files["/f"] = noise(200'000);
  std::size_t sent = 0;
  hdfs.instead = [&, n = 0](const HttpAsked&, bool data_node,
                            const HttpSaid& right) mutable -> std::optional<HttpSaid> {
    if (!data_node) return std::nullopt;
    const std::size_t body = right.bytes.find("\r\n\r\n") + 4;
    const std::size_t size = right.bytes.size() - body;
    switch (++n % 5) {
      case 0: sent += size / 3; return HttpSaid{.bytes = right.bytes.substr(0, body + size / 3)};
      // Correct in form, but too short.
      case 1: sent += size / 2; return HttpSaid::answer(200, right.bytes.substr(body, size / 2));
      case 2: return HttpSaid::exception(403, "IOException", "Could not obtain block: blk_1");
      case 3: return HttpSaid{.bytes = ""};
      default: sent += size; return std::nullopt;
    }
  };
  distrib::IoPool pool{2};
  WebHdfsOptions options = hasty_hdfs;
  options.retry.attempts = 8;
  options.retry.progress_bytes = 1;
  options.pool = &pool;
  Error error;
  CHECK((read_all(WebHdfsFile{hdfs.file("/f"), options}, error) == hdfs.files["/f"]));
  CHECK_FALSE(error);
  CHECK(sent == 200'000);  // no byte was sent twice
}

TEST_CASE("WebHdfsFile: reports why a file cannot be read, again at every later read", "[hadoop]") {
  FakeHdfs hdfs;
  hdfs.files["/f"] = noise(20'000);
  hdfs.directories.insert("/d");
  Error error;
  CHECK(read_all(WebHdfsFile{hdfs.file("/none"), hasty_hdfs}, error).empty());
  CHECK(error.code == webhdfs_errc::no_such_file);
  CHECK(read_all(WebHdfsFile{hdfs.file("/d"), hasty_hdfs}, error).empty());
  CHECK(error.code == webhdfs_errc::is_directory);
  CHECK(read_all(WebHdfsFile{"/f", hasty_hdfs}, error).empty());
  CHECK(error.code == webhdfs_errc::bad_url);

  hdfs.instead = [&](const HttpAsked& asked, bool data_node, const HttpSaid&) -> std::optional<HttpSaid> {
    if (!data_node) return std::nullopt;
    if (asked.parameter("offset") == "0") return HttpSaid::redirect(hdfs.url() + asked.target);
    return HttpSaid{.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 10001\r\n\r\n" + std::string(10'001, 'x')};
  };
  CHECK(read_all(WebHdfsFile{hdfs.file("/f"), hasty_hdfs}, error).empty());
  CHECK(error.code == http_errc::redirect_loop);
  CHECK_THAT(error.where, ContainsSubstring(" OPEN /f (to http://127.0.0.1:"));

  hdfs.instead = [&](const HttpAsked& asked, bool data_node, const HttpSaid&) -> std::optional<HttpSaid> {
    if (!data_node || asked.parameter("offset") == "0") return std::nullopt;
    return HttpSaid{.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 10001\r\n\r\n" + std::string(10'001, 'x')};
  };
  WebHdfsFile file{hdfs.file("/f"), hasty_hdfs};
  std::vector<std::byte> to(10'000);
  CHECK(file.read(to, error) == 10'000);
  CHECK(file.read(to, error) == 0);
  CHECK(error.code == webhdfs_errc::bad_answer);
  CHECK(file.read(to, error) == 0);
  CHECK(error.code == webhdfs_errc::bad_answer);
}
