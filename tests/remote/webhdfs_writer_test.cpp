// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/webhdfs_writer.hpp>

#include <distrib/record/sharded_sink_writer.hpp>

#include "support/catch.hpp"
#include "support/fake_hdfs.hpp"

using namespace std::chrono_literals;
using distrib::as_bytes;
using distrib::Error;
using distrib::http_errc;
using distrib::webhdfs_errc;
using distrib::WebHdfsOptions;
using distrib::WebHdfsWriter;
using support::FakeHdfs;
using support::HttpAsked;
using support::HttpSaid;

namespace {

const WebHdfsOptions hasty_writing = support::hasty_webhdfs(6);

}  // namespace

TEST_CASE("WebHdfsWriter: joins the parts; the file appears when it is complete", "[hadoop]") {
  for (const bool httpfs : {false, true}) {
    WebHdfsOptions options = hasty_writing;
    options.server = httpfs ? distrib::WebHdfsServer::httpfs : distrib::WebHdfsServer::namenode;
    for (const std::size_t size : {0U, 1U, 999U, 1'000U, 1'001U, 50'000U}) {
      FakeHdfs hdfs{httpfs};
      hdfs.files["/d/f"] = "old";
      WebHdfsWriter writer{hdfs.file("/d/f"), options, {.part_bytes = 1'000}};
      std::string bytes;
      for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(i * i >> 3);
      CAPTURE(httpfs, size);
      for (std::size_t at = 0; at < size; at += 777) writer.write(as_bytes(std::string_view{bytes}.substr(at, 777)));
      CHECK(writer.bytes() == size);
      CHECK(hdfs.files["/d/f"] == "old");
      for (const auto& [path, content] : hdfs.files) CHECK((path == "/d/f" || path.starts_with("/d/.f.tmp-")));
      writer.close();
      writer.close();
      CHECK((hdfs.files == std::map<std::string, std::string>{{"/d/f", bytes}}));
      Error error;
      writer.write(as_bytes("x"), error);
      CHECK(error.code == webhdfs_errc::closed);
    }
  }
}

TEST_CASE("WebHdfsWriter: a set of files by ShardedSinkWriter", "[hadoop]") {
  FakeHdfs hdfs;
  distrib::ShardedSinkWriter<WebHdfsWriter> writer{
      hdfs.file("/d/train"), 2, {.open = [](const std::string& name, Error& error) {
        WebHdfsWriter sink{name, hasty_writing};
        error = sink.error();
        return sink;
      }}};
  writer.append(as_bytes("one"));
  writer.append(as_bytes("two"));
  CHECK_FALSE(hdfs.files.contains("/d/train-00000-of-00002"));
  writer.close();
  CHECK(hdfs.files.size() == 2);
  CHECK(hdfs.files["/d/train-00000-of-00002"].size() == 3 + 16);
  CHECK(hdfs.files["/d/train-00001-of-00002"].substr(12, 3) == "two");
}

TEST_CASE("WebHdfsWriter: writers of one name have names of their own until they are closed", "[hadoop]") {
  FakeHdfs hdfs;
  WebHdfsWriter one{hdfs.file("/d/f"), hasty_writing, {.part_bytes = 3}};
  WebHdfsWriter two{hdfs.file("/d/f"), hasty_writing, {.part_bytes = 3}};
  one.write(as_bytes("one"));
  two.write(as_bytes("two"));
  REQUIRE(hdfs.files.size() == 2);
  for (const auto& [path, content] : hdfs.files) {
    // Random, as process numbers are equal in two containers.
    CHECK(path.size() == std::string_view{"/d/.f.tmp-"}.size() + 32);
  }
  one.close();
  two.close();
  CHECK((hdfs.files == std::map<std::string, std::string>{{"/d/f", "two"}}));
}

TEST_CASE("WebHdfsWriter: survives lost connections in every operation, before and after it was done", "[hadoop]") {
  FakeHdfs hdfs;
  hdfs.instead = [n = 0](const HttpAsked& asked, bool data_node,
                         const HttpSaid& right) mutable -> std::optional<HttpSaid> {
    if (++n % 7 > 2) return std::nullopt;
    if (asked.parameter("op") == "CREATE" && data_node && n % 5 == 0)
      return HttpSaid::exception(403, "IOException", "no data node");
    return HttpSaid{.bytes = right.bytes.substr(0, n % 2 == 0 ? right.bytes.size() / 2 : 0)};
  };
  WebHdfsOptions options = hasty_writing;
  options.retry.attempts = 20;
  WebHdfsWriter writer{hdfs.file("/f"), options, {.part_bytes = 1'000}};
  const std::string bytes(4'500, 'x');
  writer.write(as_bytes(bytes));
  writer.close();
  hdfs.instead = nullptr;
  CHECK((hdfs.files == std::map<std::string, std::string>{{"/f", bytes}}));
}

TEST_CASE("WebHdfsWriter: removes its files when it is destroyed before close, or fails", "[hadoop]") {
  FakeHdfs hdfs;
  {
    WebHdfsWriter writer{hdfs.file("/f"), hasty_writing, {.part_bytes = 10}};
    writer.write(as_bytes("twenty-five bytes of them"));
    CHECK(hdfs.files.size() == 2);
  }
  CHECK(hdfs.files.empty());
  hdfs.instead = [](const HttpAsked& asked, bool data_node, const HttpSaid&) -> std::optional<HttpSaid> {
    if (!data_node || asked.body != "third") return std::nullopt;
    return HttpSaid::exception(403, "DSQuotaExceededException", "The DiskSpace quota is exceeded");
  };
  {
    WebHdfsWriter writer{hdfs.file("/f"), hasty_writing, {.part_bytes = 5}};
    writer.write(as_bytes("firstothir"));
    Error error;
    writer.write(as_bytes("third"), error);
    CHECK(error.code == webhdfs_errc::no_room);
    CHECK_THAT(error.where, ContainsSubstring("DSQuotaExceededException: The DiskSpace quota is exceeded"));
    writer.close(error);
    CHECK(error.code == webhdfs_errc::no_room);
    CHECK_THROWS_WITH(writer.write({}), ContainsSubstring("a quota is exceeded"));
  }
  hdfs.instead = nullptr;
  CHECK(hdfs.files.empty());
}

TEST_CASE("WebHdfsWriter: replaces an existing file only if allowed", "[hadoop]") {
  FakeHdfs hdfs;
  hdfs.files["/f"] = "old";
  hdfs.directories.insert("/d");
  for (const auto& [path, code] : {std::pair{"/f", webhdfs_errc::exists}, {"/d", webhdfs_errc::is_directory}}) {
    WebHdfsWriter writer{hdfs.file(path), hasty_writing, {.replace = false}};
    writer.write(as_bytes("new"));
    Error error;
    writer.close(error);
    CHECK(error.code == code);
  }
  CHECK(hdfs.files == std::map<std::string, std::string>{{"/f", "old"}});
  Error error;
  WebHdfsWriter{"hdfs://nn/", hasty_writing}.close(error);
  CHECK(error.code == webhdfs_errc::bad_url);
}

TEST_CASE("WebHdfsWriter: moves", "[hadoop]") {
  FakeHdfs hdfs;
  WebHdfsWriter writer{hdfs.file("/f"), hasty_writing, {.part_bytes = 5}};
  writer.write(as_bytes("some bytes"));
  WebHdfsWriter other{std::move(writer)};
  other.close();
  CHECK(hdfs.files["/f"] == "some bytes");
}
