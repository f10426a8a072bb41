// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/webhdfs.hpp>

#include "support/catch.hpp"
#include "support/fake_hdfs.hpp"

#include <distrib/data/remote_tfrecords.hpp>
#include <distrib/example/example_builder.hpp>
#include <distrib/record/remote_files.hpp>
#include <distrib/record/zlib.hpp>
#include <distrib/remote/webhdfs_writer.hpp>

using namespace std::chrono_literals;
using distrib::Error;
using distrib::record_errc;
using distrib::webhdfs;
using distrib::webhdfs_errc;
using distrib::WebHdfsOptions;
using support::FakeHdfs;
using support::HttpAsked;
using support::HttpSaid;

static_assert(distrib::RemoteFiles<distrib::WebHdfsFiles>);

namespace {

const WebHdfsOptions hasty_source = support::hasty_webhdfs(3, 1'000);

struct NumberRow {
  std::int64_t number;
};

auto frame(std::string_view payload) -> std::string {
  std::string bytes{distrib::as_text(distrib::encode_record_header(payload.size()))};
  bytes += payload;
  return bytes.append(distrib::as_text(distrib::encode_record_footer(distrib::as_bytes(payload))));
}

auto numbers(std::int64_t first, std::int64_t end) -> std::string {
  std::string file;
  for (; first < end; ++first) {
    distrib::ExampleBuilder example;
    example.set("number", first);
    file += frame(distrib::as_text(example.build()));
  }
  return file;
}

auto names(const FakeHdfs& hdfs, const distrib::WebHdfsFiles& files) -> std::vector<std::string> {
  Error error;
  std::vector<std::string> found = files.find(error);
  CHECK_FALSE(error);
  for (std::string& name : found) {
    CHECK(name.starts_with(hdfs.file("")));
    name.erase(0, hdfs.file("").size());
  }
  return found;
}

}  // namespace

TEST_CASE("webhdfs: files, directories and patterns", "[hadoop]") {
  FakeHdfs hdfs;
  for (const char* path :
       {"/d/part-2", "/d/part-1", "/d/_SUCCESS", "/d/.part-1.crc", "/d/part-1.crc", "/d/x", "/d/s/y", "/e"})
    hdfs.files[path] = "";
  hdfs.directories = {"/", "/d", "/d/s", "/empty"};
  using Names = std::vector<std::string>;
  CHECK(names(hdfs, webhdfs(hdfs.file("/e"), hasty_source)) == Names{"/e"});
  CHECK(names(hdfs, webhdfs(hdfs.file("/d"), hasty_source)) == Names{"/d/part-1", "/d/part-2", "/d/x"});
  CHECK(names(hdfs, webhdfs(hdfs.file("/d/part-*"), hasty_source)) == Names{"/d/part-1", "/d/part-2"});
  CHECK(names(hdfs, webhdfs(hdfs.file("/d/part-[2-9]"), hasty_source)) == Names{"/d/part-2"});
  CHECK(names(hdfs, webhdfs({hdfs.file("/e"), hdfs.file("/d/?")}, hasty_source)) == Names{"/e", "/d/x"});
  for (const char* path : {"/none", "/d/none-*", "/none/*", "/empty"}) {
    Error error;
    CHECK(webhdfs(hdfs.file(path), hasty_source).find(error).empty());
    CAPTURE(path);
    CHECK(error.code == webhdfs_errc::no_such_file);
    CHECK_THAT(error.where, ContainsSubstring(path));
  }
}

TEST_CASE("webhdfs: the user and password of a URL are in no message", "[hadoop]") {
  FakeHdfs hdfs;
  hdfs.directories = {"/", "/d"};
  distrib::WebHdfsOptions options = hasty_source;
  options.namenodes = {hdfs.url()};  // used instead of what stands in the URL
  const auto files = webhdfs("hdfs://me:SECRET@nn/d/part-?", options);
  CHECK(files.name() == "hdfs://nn/d/part-?");
  for (const char* path : {"/d/part-?", "/none/*"}) {
    Error error;
    CHECK(webhdfs("hdfs://me:SECRET@nn" + std::string{path}, options).find(error).empty());
    CHECK(error.code == webhdfs_errc::no_such_file);
    CHECK_THAT(error.where, ContainsSubstring("hdfs://nn" + std::string{path}) && !ContainsSubstring("SECRET"));
  }
  Error error;
  distrib::WebHdfsFile directory{"hdfs://me:SECRET@nn/d", options};
  CHECK(directory.read({}, error) == 0);
  CHECK(error.where == "hdfs://nn/d");
  CHECK(distrib::WebHdfsWriter{"hdfs://me:SECRET@nn/", options}.error().where == "hdfs://nn/");
}

TEST_CASE("tfrecords: reads files in HDFS as a stream and as a data set", "[hadoop]") {
  FakeHdfs hdfs;
  hdfs.directories.insert("/d");
  hdfs.files["/d/part-0"] = numbers(0, 300);
  hdfs.files["/d/part-1"] = numbers(300, 400);
  hdfs.files["/d/_SUCCESS"] = "";
  distrib::IoPool pool{2};
  WebHdfsOptions options = hasty_source;
  options.pool = &pool;
  const auto source = distrib::tfrecords(webhdfs(hdfs.file("/d"), options));

  Error error;
  auto stream = source.stream();
  std::int64_t count = 0;
  while (const auto record = stream.next(error)) count += record->bytes.empty() ? 0 : 1;
  CHECK_FALSE(error);
  CHECK(count == 400);

  const auto data = source.schema(distrib::feature("number", &NumberRow::number)).shuffle(7).batch(50).open();
  CHECK(data.records() == 400);
  std::vector<bool> seen(400);
  distrib::Batch<NumberRow> batch;
  for (std::uint64_t i = 0; i < 8; ++i) {
    data.fill(i, batch, error);
    CHECK_FALSE(error);
    for (const std::int64_t number : batch.column(&NumberRow::number)) seen[static_cast<std::size_t>(number)] = true;
  }
  CHECK(std::count(seen.begin(), seen.end(), true) == 400);
}

TEST_CASE("tfrecords: failures in HDFS name the file, the record and the server", "[hadoop]") {
  FakeHdfs hdfs;
  hdfs.files["/f"] = frame(std::string(600, 'a')) + frame(std::string(600, 'b')) + frame(std::string(600, 'c'));
  const auto failure_of = [&] {
    auto stream = distrib::tfrecords(webhdfs(hdfs.file("/f"), hasty_source)).stream();
    Error error;
    while (stream.next(error)) {
    }
    return error;
  };
  hdfs.files["/f"][700] = 'X';
  Error error = failure_of();
  CHECK(error.code == record_errc::corrupt_payload);
  CHECK(error.where == hdfs.file("/f") + ": record 1 at offset 616");
  hdfs.files["/f"][700] = 'b';
  hdfs.instead = [](const HttpAsked& asked, bool data_node, const HttpSaid&) -> std::optional<HttpSaid> {
    if (data_node && asked.parameter("offset") != "0")
      return HttpSaid::exception(403, "IOException", "Could not obtain block");
    return std::nullopt;
  };
  error = failure_of();
  CHECK(error.code == webhdfs_errc::refused);
  CHECK_THAT(error.where, ContainsSubstring(hdfs.file("/f") + ": record 1 at offset 616 (http://127.0.0.1:"));
  CHECK_THAT(error.where, ContainsSubstring(" OPEN /f (IOException: Could not obtain block))"));
  const auto data =
      distrib::tfrecords(webhdfs(hdfs.file("/f"), hasty_source)).schema(distrib::feature("n", &NumberRow::number));
  CHECK_THROWS_WITH(data.batch(1).open(), ContainsSubstring("Could not obtain block"));
}

TEST_CASE("RecordReader: reads a gzip file from HDFS that WebHdfsWriter wrote", "[hadoop]") {
  FakeHdfs hdfs;
  const std::string plain = frame("one") + frame("two");
  distrib::Deflater deflater{distrib::Compression::gzip};
  std::vector<std::byte> gzip(1000);
  distrib::ByteView in = distrib::as_bytes(plain);
  gzip.resize(deflater.deflate(in, gzip, distrib::DeflateOptions::Flush::finish));
  distrib::WebHdfsWriter writer{hdfs.file("/f.gz"), hasty_source};
  writer.write(gzip);
  writer.close();
  std::vector<std::string> records;
  for (const distrib::Record& record :
       distrib::RecordReader{distrib::WebHdfsFile{hdfs.file("/f.gz"), hasty_source}, hdfs.file("/f.gz")})
    records.emplace_back(distrib::as_text(record.bytes));
  CHECK(records == std::vector<std::string>{"one", "two"});
}
