// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/s3/s3_sharded_writer.hpp>

#include "support/catch.hpp"
#include "support/fake_s3.hpp"

#include <distrib/data/tfrecords_at.hpp>
#include <distrib/example/example_builder.hpp>

using distrib::Error;
using distrib::S3ShardedWriter;
using support::FakeS3;
using support::HttpAsked;
using support::HttpSaid;

namespace {

struct ShardedItem {
  std::int64_t id;
};

void write_items(S3ShardedWriter& writer, std::int64_t count) {
  for (std::int64_t id = 0; id < count; ++id) {
    distrib::ExampleBuilder example;
    writer.append(example.set("id", id).build());
  }
}

} // namespace

TEST_CASE(
    "S3ShardedWriter: objects appear at close, indexes last; data sets "
    "open without reading",
    "[remote][s3]") {
  for (const bool gcs : {false, true}) {
    FakeS3 store{gcs};
    S3ShardedWriter writer{store.object("d/train"), 3, store.options(), {.index = true}};
    write_items(writer, 100);
    CHECK(store.objects.empty());
    writer.close();
    CHECK(writer.records() == 100);
    std::vector<std::string> keys;
    for (const auto& [key, object] : store.objects) keys.push_back(key);
    CHECK(keys == std::vector<std::string>{"d/.train-00000-of-00003.index", "d/.train-00001-of-00003.index",
                                           "d/.train-00002-of-00003.index", "d/train-00000-of-00003",
                                           "d/train-00001-of-00003", "d/train-00002-of-00003"});
    const auto kinds = store.kinds();
    for (std::size_t i = 0; i < 6; ++i) CHECK(kinds[i] == "PUT");
    CHECK(store.asked()[2].target.find(".train") == std::string::npos); // three objects first
    CHECK(store.asked()[3].target.find(".train") != std::string::npos);

    const std::size_t before = store.asked().size();
    const auto source = distrib::tfrecords_at({store.object("d/train-*")}, {.s3 = store.options()})
                            .schema(distrib::feature("id", &ShardedItem::id))
                            .batch(34)
                            .open();
    CHECK(source.records() == 100);
    const std::vector<HttpAsked> all = store.asked();
    for (std::size_t i = before; i < all.size(); ++i) {  // no object itself
      const bool listed = all[i].target.find("list-type") != std::string::npos;
      CHECK((listed || all[i].method == "HEAD" || all[i].target.find(".train") != std::string::npos));
    }
    distrib::Batch<ShardedItem> batch;
    source.fill(0, batch);
    CHECK(batch[1].id == 3);
  }
}

TEST_CASE("S3ShardedWriter: an index of other bytes counts as none", "[remote][s3]") {
  FakeS3 store;
  S3ShardedWriter writer{store.object("d/train"), 1, store.options(), {.index = true}};
  write_items(writer, 10);
  writer.close();
  S3ShardedWriter again{store.object("d/train"), 1, store.options()}; // without an index: the old one stays
  write_items(again, 20);
  again.close();
  const auto source = distrib::tfrecords_at({store.object("d/train-*")}, {.s3 = store.options()})
                          .schema(distrib::feature("id", &ShardedItem::id))
                          .batch(20)
                          .open();
  CHECK(source.records() == 20);
  distrib::Batch<ShardedItem> batch;
  source.fill(0, batch);
  CHECK(batch[19].id == 19);
}

TEST_CASE("S3ShardedWriter: if one object cannot be written, none is there", "[remote][s3]") {
  FakeS3 store;
  store.refuse = [](const HttpAsked& asked) -> std::optional<HttpSaid> {
    if (asked.method == "PUT" && asked.target.find("00001") != std::string::npos)
      return FakeS3::error(403, "AccessDenied");
    return std::nullopt;
  };
  S3ShardedWriter writer{store.object("d/train"), 3, store.options()};
  write_items(writer, 10);
  Error error;
  writer.close(error);
  CHECK(error.code == distrib::s3_errc::denied);
  CHECK_THAT(error.where, ContainsSubstring("train-00001-of-00003"));
  CHECK(store.objects.empty());
  writer.close(error);
  CHECK(error.code == distrib::s3_errc::denied);
  writer.append({}, error);
  CHECK(error.code == distrib::s3_errc::denied);
  CHECK_THROWS_AS((S3ShardedWriter{store.object("d/train"), 0, store.options()}), std::system_error);
  S3ShardedWriter two{store.object("d/two"), 2, store.options()};
  two.append_to(2, {}, error);
  CHECK(error.code == distrib::record_errc::no_such_shard);
}
