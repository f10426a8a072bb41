// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/s3/s3_files.hpp>

#include "support/catch.hpp"
#include "support/fake_s3.hpp"

#include <distrib/data/remote_tfrecords.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/record/remote_files.hpp>

using distrib::Error;
using distrib::s3;
using distrib::s3_errc;
using support::FakeS3;

static_assert(distrib::RemoteFiles<distrib::S3Files>);

TEST_CASE("s3: patterns, directories, single objects", "[remote][s3]") {
  FakeS3 store;
  for (const char* key :
       {"d/train-1", "d/train-0", "d/test-0", "d/_SUCCESS", "d/.train-9", "d/train-0.crc", "d/sub/train-5", "d/", "e"})
    store.objects[key] = {"x", "\"e\""};
  const auto found = [&](std::vector<std::string> keys) {
    for (std::string& key : keys) key = store.object(key);
    Error error;
    auto urls = s3(keys, store.options()).find(error);
    CHECK_FALSE(error);
    for (std::string& url : urls) url.erase(0, store.object().size());
    return urls;
  };
  using Keys = std::vector<std::string>;
  CHECK(found({"d/train-*"}) == Keys{"d/train-0", "d/train-1"});
  CHECK(found({"d/t??t-[0-9]", "e"}) == Keys{"d/test-0", "e"});
  CHECK(found({"*/*/train-5"}) == Keys{"d/sub/train-5"});
  CHECK(found({"d/"}) == Keys{"d/test-0", "d/train-0", "d/train-1"});
  CHECK(found({""}) == Keys{"e"});
  CHECK(found({"d/none"}) == Keys{"d/none"});  // not asked for
  CHECK(FakeS3::unescape(store.asked().front().target).find("prefix=d/train-") != std::string::npos);

  Error error;
  CHECK(s3(store.object("d/none-*"), store.options()).find(error).empty());
  CHECK(error.code == s3_errc::no_such_object);
  CHECK(s3(std::vector<std::string>{}).find(error).empty());
  CHECK(error.code == s3_errc::bad_url);
  CHECK(s3("s3:/x").find(error).empty());
  CHECK(error.code == s3_errc::bad_url);
  CHECK(s3("s3://b/k").name() == "s3://b/k");
}

TEST_CASE("s3: records in objects are read as those in files, with one session", "[remote][s3]") {
  FakeS3 store;
  store.region = "eu-west-1";
  for (int shard = 0; shard < 3; ++shard) {
    std::string& bytes = store.objects["train-" + std::to_string(shard)].bytes;
    for (int i = 0; i < 100; ++i) {
      const std::string payload = std::to_string(shard * 100 + i);
      bytes += distrib::as_text(distrib::encode_record_header(payload.size()));
      bytes += payload;
      bytes += distrib::as_text(distrib::encode_record_footer(distrib::as_bytes(payload)));
    }
  }
  auto records = distrib::tfrecords(s3(store.object("train-*"), store.options())).stream();
  Error error;
  int count = 0;
  while (const auto record = records.next(error)) {
    CHECK(distrib::as_text(record->bytes) == std::to_string(count));
    ++count;
  }
  CHECK_FALSE(error);
  CHECK(count == 300);
  // the refusal that told the region, a listing, and of each object HEAD and one range
  CHECK(store.asked().size() == 1 + 1 + 3 * 2);
}
