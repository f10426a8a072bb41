// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/tfrecords_at.hpp>

#include "support/catch.hpp"
#include "support/fake_hdfs.hpp"
#include "support/fake_s3.hpp"
#include "support/temp_directory.hpp"

#include <distrib/data/batch_reader.hpp>

#include "data/ranged_files.hpp"

#include <fstream>
#include <mutex>

using distrib::Error;
using distrib::tfrecords_at;
using distrib::UrlOptions;
using support::FakeHdfs;
using support::FakeS3;
using support::HttpAsked;
using support::HttpSaid;

namespace {

struct AnywhereItem {
  std::int64_t id;
  std::span<const std::byte> text;
};

constexpr std::int64_t anywhere_records = 400;

/// Two shards of records, as they lie on a disk, in a bucket, in HDFS and on an HTTP server.
struct Anywhere {
  Anywhere() {
    const std::string shards[] = {ranged::examples(0, 150, 300), ranged::examples(150, anywhere_records, 60)};
    hdfs.directories.insert("/d");
    for (int i = 0; i < 2; ++i) {
      const std::string name = "train-" + std::to_string(i);
      std::ofstream{disk / name, std::ios::binary} << shards[i];
      store.objects["d/" + name] = {shards[i], '"' + name + '"'};
      hdfs.files["/d/" + name] = shards[i];
      web["/" + name] = shards[i];
    }
  }

  auto options() -> UrlOptions {
    UrlOptions made;
    made.s3 = store.options();
    made.s3.piece_bytes = made.http.piece_bytes = 8'000;
    made.http.http = {.idle_timeout = std::chrono::seconds{5}, .timeout = std::chrono::seconds{20}};
    made.http.retry = {.first_pause = std::chrono::milliseconds{1}, .longest_pause = std::chrono::milliseconds{2}};
    made.webhdfs = support::hasty_webhdfs(4, 8'000);
    made.webhdfs.http = made.s3.http = made.http.http;
    made.pool = &pool;
    return made;
  }
  auto in_store() const -> std::vector<std::string> { return {store.object("d/train-*")}; }
  auto in_hdfs() const -> std::vector<std::string> { return {hdfs.file("/d/train-*")}; }
  auto on_disk() const -> std::vector<std::string> { return {(disk / "train-*").string()}; }
  auto on_web() const -> std::vector<std::string> {
    return {server.url() + "/train-0?sig=SECRET", server.url() + "/train-1"};
  }

  /// Changes what the HTTP server says, also while it is asked: what was read ahead may still be on its way.
  void change(const std::string& new_tag, const std::string& more = {}) {
    const std::lock_guard lock{mutex};
    tag = new_tag;
    web["/train-0"] += more;
  }

  auto answer(const HttpAsked& asked) -> HttpSaid {
    const std::lock_guard lock{mutex};
    const auto found = web.find(asked.path());
    if (found == web.end()) return HttpSaid::answer(404, "");
    const std::string& bytes = found->second;
    const std::size_t at = asked.headers.find("Range: bytes=") + 13;
    const std::size_t first = std::stoul(asked.headers.substr(at));
    const std::size_t last =
        std::min(std::stoul(asked.headers.substr(asked.headers.find('-', at) + 1)), bytes.size() - 1);
    return HttpSaid::answer(206, bytes.substr(first, last - first + 1),
                            "Content-Range: bytes " + std::to_string(first) + '-' + std::to_string(last) + '/' +
                                std::to_string(bytes.size()) + "\r\n" + tag);
  }

  support::TempDirectory disk;
  FakeS3 store;
  FakeHdfs hdfs;
  std::mutex mutex;  // for `web` and `tag`
  std::map<std::string, std::string> web;
  std::string tag = "ETag: \"1\"\r\n";
  support::HttpServer server{[this](const HttpAsked& asked) { return answer(asked); }};
  distrib::IoPool pool{4};
};

auto anywhere_data(const std::vector<std::string>& names, const UrlOptions& options) {
  return tfrecords_at(names, options)
      .schema(distrib::feature("id", &AnywhereItem::id), distrib::feature("text", &AnywhereItem::text));
}

/// Returns the SHA-256 of the values of some batches.
auto hash_of(const auto& source, std::uint64_t batches) -> std::string {
  distrib::BatchReader reader{source};
  distrib::Sha256 hash;
  for (std::uint64_t b = 0; b < batches; ++b) {
    const auto* const batch = reader.next();
    for (std::size_t i = 0; batch != nullptr && i < batch->size(); ++i) {
      const std::int64_t id = (*batch)[i].id;
      hash.update(std::as_bytes(std::span{&id, 1}));
      hash.update((*batch)[i].text);
    }
  }
  return distrib::to_hex(hash.finish());
}

}  // namespace

TEST_CASE("tfrecords_at: the same bits from a disk, S3, HDFS and HTTP, with a cache and without", "[data]") {
  Anywhere at;
  const auto shuffled = [](const auto& data) { return data.shuffle(11).batch(16); };
  const std::string expected = hash_of(shuffled(anywhere_data(at.on_disk(), at.options())).open(), 60);
  const std::string described = shuffled(anywhere_data(at.on_disk(), at.options())).open().describe();
  for (const auto& names : {at.in_store(), at.in_hdfs(), at.on_web()})
    for (const bool cached : {false, true}) {
      CAPTURE(names, cached);
      auto data = anywhere_data(names, at.options());
      if (cached) data = data.cache((at.disk / "cache").string(), 1 << 20);
      const auto source = shuffled(data).open();
      CHECK(source.describe() == described);
      CHECK(hash_of(source, 60) == expected);
    }
  // Mixed: a shard here, a shard there.
  const std::vector<std::string> mixed{(at.disk / "train-0").string(), at.store.object("d/train-1")};
  CHECK(hash_of(shuffled(anywhere_data(mixed, at.options())).open(), 60) == expected);
}

TEST_CASE("tfrecords_at: records one after the other, from anywhere", "[data]") {
  Anywhere at;
  for (const auto& names : {at.on_disk(), at.in_store(), at.in_hdfs(), at.on_web()}) {
    CAPTURE(names);
    auto stream = tfrecords_at(names, at.options()).stream();
    Error error;
    std::int64_t count = 0;
    while (stream.next(error)) ++count;
    CHECK_FALSE(error);
    CHECK(count == anywhere_records);
  }
}

TEST_CASE("tfrecords_at: the same bits when answers are cut, refused and lost", "[data]") {
  Anywhere at;
  const std::string expected = hash_of(anywhere_data(at.on_disk(), at.options()).shuffle(11).batch(16).open(), 60);
  UrlOptions patient = at.options();
  patient.s3.retry.attempts = patient.webhdfs.retry.attempts = 30;
  std::atomic<int> count = 0;
  at.store.instead = [&](const HttpAsked& asked, const HttpSaid& right) -> std::optional<HttpSaid> {
    if (asked.method == "HEAD") return std::nullopt;
    switch (++count % 7) {
      case 2: return FakeS3::error(503, "SlowDown");
      case 4: return HttpSaid{.bytes = right.bytes.substr(0, right.bytes.size() / 2)};
      case 6: return HttpSaid{};
      default: return std::nullopt;
    }
  };
  CHECK(hash_of(anywhere_data(at.in_store(), patient).shuffle(11).batch(16).open(), 60) == expected);
  at.hdfs.instead = [&](const HttpAsked&, bool data_node, const HttpSaid& right) -> std::optional<HttpSaid> {
    if (data_node && ++count % 5 == 3) return HttpSaid{.bytes = right.bytes.substr(0, right.bytes.size() / 2)};
    return std::nullopt;
  };
  CHECK(hash_of(anywhere_data(at.in_hdfs(), patient).shuffle(11).batch(16).open(), 60) == expected);
}

TEST_CASE("tfrecords_at: a file that is replaced while it is read is named, without secrets", "[data]") {
  Anywhere at;
  Error error;
  distrib::Batch<AnywhereItem> batch;
  const auto stored = anywhere_data(at.in_store(), at.options()).batch(16).open();
  at.store.objects["d/train-0"].etag = "\"other\"";
  stored.fill(0, batch, error);
  CHECK(error.code == distrib::s3_errc::changed);
  CHECK_THAT(error.where, ContainsSubstring("bucket/d/train-0: record 0"));

  const auto web = anywhere_data(at.on_web(), at.options()).batch(16).open();
  at.change("ETag: \"2\"\r\n");
  web.fill(0, batch, error);
  CHECK(error.code == distrib::http_errc::changed);
  CHECK_THAT(error.where, ContainsSubstring("/train-0: record 0") && !ContainsSubstring("SECRET"));
  at.change("Last-Modified: Fri, 24 May 2013 00:00:00 GMT\r\n");
  const auto dated = anywhere_data(at.on_web(), at.options()).batch(16).open();
  at.change("Last-Modified: Fri, 24 May 2013 00:00:01 GMT\r\n");
  dated.fill(0, batch, error);
  CHECK(error.code == distrib::http_errc::changed);
  at.change("");
  const auto sized = anywhere_data(at.on_web(), at.options()).batch(16).open();
  at.change("", "more");
  sized.fill(0, batch, error);
  CHECK(error.code == distrib::http_errc::changed);

  const auto away = anywhere_data(at.in_hdfs(), at.options()).batch(16).open();
  at.hdfs.files["/d/train-0"] = "short";
  away.fill(0, batch, error);
  CHECK(error.code == distrib::webhdfs_errc::changed);
}

TEST_CASE("tfrecords_at: says what cannot be found", "[data]") {
  Anywhere at;
  Error error;
  const auto failure = [&](const std::vector<std::string>& names) {
    CHECK_FALSE(anywhere_data(names, at.options()).batch(1).open(error));
    return error.code;
  };
  CHECK(failure({at.store.object("none-*")}) == distrib::s3_errc::no_such_object);
  CHECK(failure({at.store.object("none")}) == distrib::s3_errc::no_such_object);
  CHECK(failure({at.hdfs.file("/none")}) == distrib::webhdfs_errc::no_such_file);
  CHECK(failure({at.server.url() + "/none?sig=SECRET"}) == distrib::http_errc::bad_status);
  CHECK_THAT(error.where, !ContainsSubstring("SECRET"));
  CHECK(failure({(at.disk / "none").string()}) == distrib::data_errc::no_files);
  CHECK(failure({}) == distrib::data_errc::no_files);
  CHECK(failure({"ftp://host/file"}) == distrib::data_errc::is_url);
  CHECK_FALSE(distrib::tfrecords("s3://bucket/train-*?sig=x")
                  .schema(distrib::feature("id", &AnywhereItem::id))
                  .batch(1)
                  .open(error));
  CHECK(error.code == distrib::data_errc::is_url);
  CHECK(error.where == "\"s3://bucket/train-*\"");
}
