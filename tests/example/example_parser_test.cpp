// SPDX-License-Identifier: Apache-2.0
#include <distrib/example/example_parser.hpp>

#include <distrib/example.pb.h>
#include <distrib/example/example_builder.hpp>

#include "example/example_oracle.hpp"
#include "support/catch.hpp"
#include "support/sanitizers.hpp"
#include "support/test_dir.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

using distrib::Batch;
using distrib::ByteView;
using distrib::Error;
using distrib::example_errc;
using distrib::feature;
using distrib::schema;
using distrib::WireWriter;

namespace {

struct Row {
  std::int64_t label = 0;
  float weight = 0;
  std::array<float, 3> dense{};
  std::array<std::int64_t, 2> pair{};
  std::span<const std::byte> image;
  std::span<const float> floats;
  std::span<const std::int64_t> ids;
};

constexpr auto labels = schema<Row>(feature("label", &Row::label));
constexpr auto two_lists = schema<Row>(feature("floats", &Row::floats), feature("ids", &Row::ids));

/// The outcome of parsing one record.
template <class Schema>
struct Parsed {
  Batch<Row> batch;
  Error error;
  Row row;
  Parsed(const Schema& schema, ByteView record) {
    parse_examples(schema, std::span{&record, 1}, batch, error);
    if (!error) row = batch[0];
  }
};

/// Returns the bytes of an Example whose map is what `fill` writes.
auto example(const std::function<void(WireWriter&)>& fill) -> std::vector<std::byte> {
  WireWriter wire;
  wire.message(1, fill);
  return wire.take();
}

/// Writes an entry of the map, whose Feature is what `fill` writes.
void entry(WireWriter& wire, std::string_view key, const std::function<void(WireWriter&)>& fill) {
  wire.message(1, [&](WireWriter& e) {
    e.text(1, key);
    e.message(2, fill);
  });
}

void packed_ids(WireWriter& f, const std::vector<std::int64_t>& values) {
  f.message(3, [&](WireWriter& list) {
    list.message(1, [&](WireWriter& packed) {
      for (const std::int64_t value : values) packed.raw_varint(static_cast<std::uint64_t>(value));
    });
  });
}

auto vector_of(std::span<const std::int64_t> values) -> std::vector<std::int64_t> {
  return {values.begin(), values.end()};
}
auto vector_of(std::span<const float> values) -> std::vector<float> { return {values.begin(), values.end()}; }

/// Returns the payload of each record of the fixture; the checksums are not verified here.
auto fixture_records() -> std::vector<std::string> {
  std::ifstream file{support::test_dir() + "/example/fixtures/example.tfrecord", std::ios::binary};
  const std::string bytes{std::istreambuf_iterator<char>{file}, {}};
  std::vector<std::string> records;
  for (std::size_t at = 0; at < bytes.size(); at += records.back().size() + 16)
    records.push_back(bytes.substr(at + 12, distrib::load_le<std::uint64_t>(distrib::as_bytes(bytes).data() + at)));
  return records;
}

}  // namespace

TEST_CASE("ExampleParser: reads what TensorFlow wrote", "[example]") {
  const auto records = fixture_records();
  REQUIRE(records.size() == 5);

  const auto pictures =
      schema<Row>(feature("image", &Row::image), feature("label", &Row::label), feature("weights", &Row::dense));
  const Parsed first{pictures, distrib::as_bytes(records[0])};
  REQUIRE(!first.error);
  CHECK(first.row.label == 7);
  CHECK(first.row.dense == std::array{0.5F, -1.25F, 3.0F});
  REQUIRE(first.row.image.size() == 256);
  CHECK(first.row.image[255] == std::byte{255});
  const auto* inside = distrib::as_bytes(records[0]).data();
  // a view, not a copy
  CHECK((first.row.image.data() > inside && first.row.image.data() < inside + records[0].size()));

  const Parsed second{two_lists, distrib::as_bytes(records[1])};
  REQUIRE(!second.error);
  CHECK(vector_of(second.row.ids) == std::vector<std::int64_t>{0, 1, -1, INT64_MAX, INT64_MIN});
  CHECK(second.row.floats.empty());  // missing

  const Parsed third{two_lists, distrib::as_bytes(records[2])};
  REQUIRE(!third.error);
  REQUIRE(third.row.floats.size() == 5);
  CHECK(third.row.floats[4] == -0.5F);

  const Parsed unset{schema<Row>(feature("empty_kind", &Row::label)), distrib::as_bytes(records[2])};
  CHECK(unset.error.code == example_errc::missing_feature);
  const Parsed unset_with_default{schema<Row>(feature("empty_kind", &Row::label).otherwise(4)),
                                  distrib::as_bytes(records[2])};
  CHECK(unset_with_default.row.label == 4);
}

TEST_CASE("ExampleParser: every legal encoding", "[example]") {
  struct Case {
    const char* what;
    std::vector<std::byte> bytes;
    std::vector<std::int64_t> ids;
    std::vector<float> floats;
  };
  const auto one_float = [](WireWriter& f, float x) { f.message(2, [x](WireWriter& list) { list.float32(1, x); }); };
  std::vector<std::byte> split = example([](WireWriter& w) { entry(w, "ids", [](auto& f) { packed_ids(f, {1}); }); });
  const auto rest = example([&](WireWriter& w) { entry(w, "floats", [&](auto& f) { one_float(f, 2); }); });
  split.insert(split.end(), rest.begin(), rest.end());

  const Case cases[] = {
      {"unpacked",
       example([](WireWriter& w) {
         entry(w, "ids", [](WireWriter& f) {
           f.message(3, [](WireWriter& list) {
             list.int64(1, 5);
             list.int64(1, -6);
           });
         });
         entry(w, "floats", [](WireWriter& f) {
           f.message(2, [](WireWriter& list) {
             list.float32(1, 1.5F);
             list.float32(1, 2.5F);
           });
         });
       }),
       {5, -6},
       {1.5F, 2.5F}},
      {"several chunks, packed and not",
       example([](WireWriter& w) {
         entry(w, "ids", [](WireWriter& f) {
           f.message(3, [](WireWriter& list) {
             list.message(1, [](WireWriter& p) { p.raw_varint(1); });
             list.int64(1, 2);
             list.message(1, [](WireWriter&) {});
             list.message(1, [](WireWriter& p) { p.raw_varint(300); });
           });
         });
         entry(w, "floats", [](WireWriter& f) {
           f.message(2, [](WireWriter& list) {
             list.message(1, [](WireWriter& p) { p.raw_number(1.0F); });
             list.float32(1, 2);
           });
         });
       }),
       {1, 2, 300},
       {1, 2}},
      {"value before key",
       example([](WireWriter& w) {
         w.message(1, [](WireWriter& e) {
           e.message(2, [](WireWriter& f) { packed_ids(f, {8}); });
           e.text(1, "ids");
         });
       }),
       {8},
       {}},
      {"of equal keys the last one counts",
       example([&](WireWriter& w) {
         entry(w, "ids", [](WireWriter& f) { packed_ids(f, {1, 2, 3}); });
         entry(w, "floats", [&](WireWriter& f) { one_float(f, 1); });
         entry(w, "ids", [](WireWriter& f) { packed_ids(f, {4}); });
         entry(w, "floats", [](WireWriter&) {});
       }),
       {4},
       {}},
      {"an earlier key of another kind does not matter",
       example([&](WireWriter& w) {
         entry(w, "ids", [&](WireWriter& f) { one_float(f, 1); });
         entry(w, "ids", [](WireWriter& f) { packed_ids(f, {4}); });
       }),
       {4},
       {}},
      {"of several keys in one entry the last one counts",
       example([](WireWriter& w) {
         w.message(1, [](WireWriter& e) {
           e.text(1, "floats");
           e.message(2, [](WireWriter& f) { packed_ids(f, {8}); });
           e.text(1, "ids");
         });
       }),
       {8},
       {}},
      {"several values in one entry are parts of one",
       example([](WireWriter& w) {
         w.message(1, [](WireWriter& e) {
           e.text(1, "ids");
           e.message(2, [](WireWriter& f) { packed_ids(f, {8}); });
           e.message(2, [](WireWriter& f) { packed_ids(f, {9}); });
         });
       }),
       {8, 9},
       {}},
      {"of several kinds in one feature the last one counts",
       example([&](WireWriter& w) {
         entry(w, "ids", [&](WireWriter& f) {
           packed_ids(f, {1});
           one_float(f, 2);
           packed_ids(f, {3});
           packed_ids(f, {4});
         });
       }),
       {3, 4},
       {}},
      {"several Features are parts of one", split, {1}, {2}},
      {"unknown fields everywhere",
       [&] {
         WireWriter w;
         w.int64(9, 1);
         w.message(1, [](WireWriter& features) {
           features.fixed64(7, 1);
           features.message(1, [](WireWriter& e) {
             e.fixed32(4, 1);
             e.text(1, "ids");
             e.int64(1, 3);  // a known field number with another type
             e.message(2, [](WireWriter& f) {
               f.text(12, "x");
               f.int64(3, 1);
               f.message(3, [](WireWriter& list) {
                 list.text(2, "y");
                 list.fixed64(1, 5);
                 list.int64(1, 6);
               });
             });
           });
         });
         return w.take();
       }(),
       {6},
       {}},
      {"nothing at all", {}, {}, {}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    distrib::proto::Example oracle;
    REQUIRE(oracle.ParseFromArray(c.bytes.data(), static_cast<int>(c.bytes.size())));
    const auto& theirs = (*oracle.mutable_features()->mutable_feature())["ids"].int64_list().value();
    CHECK(std::vector<std::int64_t>(theirs.begin(), theirs.end()) == c.ids);

    const Parsed parsed{two_lists, c.bytes};
    CHECK(!parsed.error);
    CHECK(vector_of(parsed.row.ids) == c.ids);
    CHECK(vector_of(parsed.row.floats) == c.floats);
  }
}

TEST_CASE("ExampleParser: the error for a record that does not fit names the feature", "[example]") {
  const auto with = [](const std::function<void(WireWriter&)>& f) {
    return example([&](WireWriter& w) { entry(w, "label", f); });
  };
  const auto two_texts = [](WireWriter& f) {
    f.message(1, [](WireWriter& list) {
      list.text(1, "a");
      list.text(1, "b");
    });
  };
  struct Case {
    std::vector<std::byte> bytes;
    example_errc code;
    std::string where;
  };
  const Case cases[] = {
      {{}, example_errc::missing_feature, "record 0, feature \"label\""},
      {with([](WireWriter&) {}), example_errc::missing_feature, "record 0, feature \"label\""},
      {with(two_texts), example_errc::wrong_kind, "record 0, feature \"label\" holds bytes, not int64s"},
      {with([](WireWriter& f) { packed_ids(f, {}); }), example_errc::wrong_count,
       "record 0, feature \"label\" has 0 values, not 1"},
      {with([](WireWriter& f) { packed_ids(f, {1, 2}); }), example_errc::wrong_count,
       "record 0, feature \"label\" has 2 values, not 1"},
      {with([](WireWriter& f) { f.message(3, [](WireWriter& list) { list.text(1, "\x80"); }); }),
       example_errc::malformed, "record 0"},
      {with([](WireWriter& f) { f.raw_varint(0x1b); }), example_errc::malformed, "record 0"},  // a group without an end
  };
  for (const Case& c : cases) {
    const Parsed parsed{labels, c.bytes};
    CHECK(parsed.error.code == c.code);
    CHECK(parsed.error.where == c.where);
    CHECK(parsed.batch.empty());
  }

  const auto texts = with(two_texts);
  const Parsed image{schema<Row>(feature("label", &Row::image)), texts};
  CHECK(image.error.code == example_errc::wrong_count);
  const auto odd = example([](WireWriter& w) {
    entry(w, "label", [](WireWriter& f) { f.message(2, [](WireWriter& list) { list.text(1, "12345"); }); });
  });
  CHECK(Parsed{schema<Row>(feature("label", &Row::floats)), odd}.error.code == example_errc::malformed);
}

TEST_CASE("ExampleParser: both overloads report the same failure", "[example]") {
  const std::vector<ByteView> records(1);
  Batch<Row> batch;
  std::error_code ec;
  parse_examples(labels, records, batch, ec);
  CHECK(ec == example_errc::missing_feature);
  CHECK_THROWS_WITH(parse_examples(labels, records, batch),
                    ContainsSubstring("record 0, feature \"label\": the feature is required but could not be found"));
  parse_examples(two_lists, records, batch, ec);
  CHECK(!ec);
  CHECK(batch.size() == 1);
}

TEST_CASE("ExampleParser: a missing array gets its default", "[example]") {
  const Parsed parsed{
      schema<Row>(feature("pair", &Row::pair).otherwise({3, 4}), feature("w", &Row::weight).otherwise(1)), ByteView{}};
  CHECK(parsed.row.pair == std::array<std::int64_t, 2>{3, 4});
  CHECK(parsed.row.weight == 1);
}

namespace {

// Fewer seeds and bytes under a sanitizer, which takes ten times as long, and under qemu, which takes a hundred times.
constexpr bool is_slow = DISTRIB_TEST_ADDRESS_SANITIZER || DISTRIB_TEST_THREAD_SANITIZER;
constexpr std::uint64_t oracle_seeds = DISTRIB_TEST_EMULATED ? 300 : is_slow ? 3'000 : 12'000;
constexpr int bytes_apart = DISTRIB_TEST_EMULATED ? 51 : is_slow ? 5 : 1;  // odd: every bit is set and cleared

}  // namespace

TEST_CASE("ExampleParser: agrees with protobuf on every encoding, whole and damaged", "[example]") {
  int fitting = 0;
  for (std::uint64_t seed = 0; seed < oracle_seeds; ++seed) {
    CAPTURE(seed);
    distrib::Philox random{seed, 8, 0};
    std::vector<std::byte> bytes = example_oracle::RandomEncoding{random}.example();
    if (seed % 3 == 0) example_oracle::damage(bytes, random);
    REQUIRE(example_oracle::example_disagreement(bytes) == "");
    std::error_code ec;
    Batch<example_oracle::Row> batch;
    const ByteView record = bytes;
    parse_examples(example_oracle::everything, std::span{&record, 1}, batch, ec);
    fitting += ec ? 0 : 1;
  }
  CHECK(fitting > static_cast<int>(oracle_seeds / 12));
}

TEST_CASE("ExampleParser: agrees with protobuf on a record cut and flipped at every byte", "[example]") {
  distrib::Philox random{4, 8, 0};
  const std::vector<std::byte> whole = example_oracle::RandomEncoding{random}.example();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    CAPTURE(at);
    const std::vector<std::byte> cut{whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(at)};
    REQUIRE(example_oracle::example_disagreement(cut) == "");
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::vector<std::byte> flipped = whole;
      flipped[at] ^= static_cast<std::byte>(1U << bit);
      REQUIRE(example_oracle::example_disagreement(flipped) == "");
    }
  }
}

TEST_CASE("ExampleParser: agrees with protobuf on short entries with any byte at any position", "[example]") {
  const std::array<std::int64_t, 2> pair{5, 300};
  std::vector<std::vector<std::byte>> records;
  const auto add = [&](std::string_view name, auto value) {
    distrib::ExampleBuilder builder;
    const ByteView alone = builder.set(name, value).build();
    records.emplace_back(alone.begin(), alone.end());
    const ByteView followed = builder.set("not asked for", 1.0F).build();
    records.emplace_back(followed.begin(), followed.end());
  };
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g"}) {
    add(name, std::int64_t{70'000});
    add(name, 1.5F);
  }
  add("d", std::span<const std::int64_t>{pair});
  add("e", distrib::as_bytes(std::string_view{"xy"}));
  for (const std::vector<std::byte>& record : records)
    for (std::size_t at = 0; at < std::min<std::size_t>(record.size(), 24); ++at)  // what follows only has to exist
      for (int value = 0; value < 256; value += bytes_apart) {
        CAPTURE(at, value);
        std::vector<std::byte> changed = record;
        changed[at] = static_cast<std::byte>(value);
        REQUIRE(example_oracle::example_disagreement(changed) == "");
      }
}

TEST_CASE("ExampleParser: distinguishes names of every length", "[example]") {
  struct Names {
    std::int64_t a = 0, b = 0, c = 0, d = 0, e = 0, f = 0;
  };
  constexpr auto names = schema<Names>(feature("1234567", &Names::a), feature("12345678", &Names::b),
                                       feature("x12345678", &Names::c), feature("y12345678", &Names::d),
                                       feature("_______x12345678", &Names::e), feature("________x12345678", &Names::f));
  const std::array<std::string_view, 12> written{
      "1234567",           "12345678",          "x12345678",
      "y12345678",         "_______x12345678",  "________x12345678",
      "z12345678",         "2345678",           "_______y12345678",
      "________y12345678", "_-______x12345678", "another name, and one that is longer than the others"};
  for (std::size_t first = 0; first < written.size(); ++first) {
    const auto record = example([&](WireWriter& map) {
      for (std::size_t i = 0; i < written.size(); ++i) {
        const std::size_t n = (first + i) % written.size();
        entry(map, written[n], [&](WireWriter& f) { packed_ids(f, {static_cast<std::int64_t>(n * 100 + 1)}); });
      }
    });
    const ByteView view = record;
    Batch<Names> batch;
    parse_examples(names, std::span{&view, 1}, batch);
    CHECK(batch.column(&Names::a)[0] == 1);
    CHECK(batch.column(&Names::b)[0] == 101);
    CHECK(batch.column(&Names::c)[0] == 201);
    CHECK(batch.column(&Names::d)[0] == 301);
    CHECK(batch.column(&Names::e)[0] == 401);
    CHECK(batch.column(&Names::f)[0] == 501);
  }
}

TEST_CASE("ExampleParser: accepts names that are not UTF-8", "[example]") {
  struct Odd {
    std::int64_t k = 0;
    std::int64_t verlust = 0;
  };
  distrib::ExampleBuilder builder;
  const ByteView record =
      builder.set("verl\xfcst", 1).set("k", 7).set("words\xe2\x82", "long enough to be no number").build();
  Batch<Odd> batch;
  parse_examples(schema<Odd>(feature("k", &Odd::k)), std::span{&record, 1}, batch);
  CHECK(batch[0].k == 7);
  parse_examples(schema<Odd>(feature("k", &Odd::k), feature("verl\xfcst", &Odd::verlust)), std::span{&record, 1},
                 batch);
  CHECK(batch[0].verlust == 1);
}
