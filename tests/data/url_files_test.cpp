// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/url_files.hpp>

#include "support/catch.hpp"
#include "support/fake_hdfs.hpp"
#include "support/fake_s3.hpp"

using distrib::Error;
using distrib::files_at;
using distrib::is_remote_url;

static_assert(distrib::RangedFiles<distrib::UrlFiles>);
static_assert(distrib::RangedFiles<distrib::S3Files>);
static_assert(distrib::RangedFiles<distrib::HttpFiles>);
static_assert(distrib::RangedFiles<distrib::WebHdfsFiles>);

TEST_CASE("is_remote_url: by the scheme", "[remote]") {
  for (const char* const url : {"s3://b/k", "gs://b/k", "s3+http://h/b/k", "s3+https://h/b/k", "http://h/p",
                                "https://h/p", "hdfs://h/p", "webhdfs://h/p", "swebhdfs://h/p"})
    CHECK(is_remote_url(url));
  for (const char* const path : {"", "/p", "s3", "s3:/b", "ftp://h/p", "file:///p"}) CHECK_FALSE(is_remote_url(path));
}

TEST_CASE("files_at: each URL by its scheme, in their order", "[remote]") {
  support::FakeS3 store;
  store.objects["b"] = {"in the store", "\"1\""};
  store.objects["a"] = {"a", "\"1\""};
  support::FakeHdfs hdfs;
  hdfs.files["/f"] = "in HDFS";
  const distrib::UrlOptions options{.s3 = store.options(), .webhdfs = support::hasty_webhdfs(2)};
  const std::vector<std::string> urls{hdfs.file("/f"), store.object("[ab]"), "http://h/p?q"};
  const auto files = files_at(urls, options);
  CHECK(files.name() == urls[0]);
  Error error;
  const auto found = files.find(error);
  CHECK_FALSE(error);
  CHECK(found == std::vector<std::string>{urls[0], store.object("a"), store.object("b"), urls[2]});
  std::vector<std::byte> to(100);
  auto source = files.open(store.object("b"));
  CHECK(source.read(to, error) == 12);
  for (const auto& [url, text] : std::map<std::string, std::string>{{urls[0], "HDFS"}, {store.object("b"), "store"}}) {
    const auto ranged = files.ranged(url, error);
    REQUIRE(ranged);
    std::vector<std::byte> part(text.size());
    const std::atomic<bool> dropped = false;
    ranged->read(ranged->bytes - text.size(), part, dropped, error);
    CHECK_FALSE(error);
    CHECK(distrib::as_text(part) == text);
  }
  CHECK(files_at({"ftp://h/p"}).find(error).empty());
  CHECK(error.code == distrib::http_errc::bad_url);
  CHECK(files_at({}).find(error).empty());
  CHECK(error.code == distrib::http_errc::bad_url);
}
