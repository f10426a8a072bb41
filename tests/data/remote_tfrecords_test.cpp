// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/remote_tfrecords.hpp>

#include "support/catch.hpp"

#include <distrib/data/order/error.hpp>
#include <distrib/example/example_builder.hpp>
#include <distrib/record/frame.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

using distrib::data_errc;
using distrib::Error;
using distrib::tfrecords;

namespace {

struct RemoteItem {
  std::int64_t id;
};

struct Bytes {
  std::string bytes;
  Error end = {};
  std::size_t at = 0;
  auto read(std::span<std::byte> to, Error& error) -> std::size_t {
    const std::size_t count = std::min(to.size(), bytes.size() - at);
    std::memcpy(to.data(), bytes.data() + at, count);
    at += count;
    if (count == 0) error = end;
    return count;
  }
};

/// Files in memory; `finds` counts the calls of `find`.
struct Held {
  std::map<std::string, std::string> files;
  std::shared_ptr<int> finds = std::make_shared<int>(0);
  auto name() const -> std::string { return "held"; }
  auto find(Error& error) const -> std::vector<std::string> {
    ++*finds;
    std::vector<std::string> names;
    for (const auto& [name, bytes] : files) names.push_back(name);
    error = names.empty() ? Error{std::make_error_code(std::errc::no_such_file_or_directory), "held"} : Error{};
    return names;
  }
  auto open(const std::string& name) const -> Bytes {
    if (name == "gone") return {{}, {std::make_error_code(std::errc::connection_reset), "GET gone"}};
    return {files.at(name)};
  }
};

auto ids(std::int64_t first, std::int64_t end) -> std::string {
  std::string file;
  for (; first < end; ++first) {
    distrib::ExampleBuilder example;
    const distrib::ByteView payload = example.set("id", first).build();
    file += distrib::as_text(distrib::encode_record_header(payload.size()));
    file += distrib::as_text(payload);
    file += distrib::as_text(distrib::encode_record_footer(payload));
  }
  return file;
}

auto all_of(const auto& source) -> std::vector<std::int64_t> {
  std::vector<std::int64_t> found;
  distrib::Batch<RemoteItem> batch;
  for (std::uint64_t i = 0; i < source.records() / source.batch_size(); ++i) {
    source.fill(i, batch);
    for (const std::int64_t id : batch.column(&RemoteItem::id)) found.push_back(id);
  }
  return found;
}

}  // namespace

TEST_CASE("tfrecords of RemoteFiles: a data set that supports every order", "[data]") {
  const Held held{{{"a", ids(0, 60)}, {"b", ids(60, 100)}}};
  const auto data = tfrecords(held).schema(distrib::feature("id", &RemoteItem::id));
  CHECK(*held.finds == 0);  // nothing is read before open()
  std::vector<std::int64_t> expected(100);
  for (std::size_t i = 0; i < 100; ++i) expected[i] = static_cast<std::int64_t>(i);
  CHECK(all_of(data.batch(10).open()) == expected);
  auto shuffled = all_of(data.shuffle(7).batch(10).open());
  CHECK(shuffled == all_of(data.shuffle(7).batch(10).open()));
  CHECK(shuffled != expected);
  std::sort(shuffled.begin(), shuffled.end());
  CHECK(shuffled == expected);
  CHECK(all_of(data.shard(2, 1).batch(5).open()).size() == 50);
  const auto schema = distrib::schema<RemoteItem>(distrib::feature("id", &RemoteItem::id));
  CHECK(all_of(tfrecords(held).schema(schema).batch(10).open()) == expected);
}

TEST_CASE("tfrecords of RemoteFiles: open reports what cannot be opened", "[data]") {
  const auto failure_of = [](const Held& held, std::uint64_t memory = 1 << 20) {
    Error error;
    const auto data =
        tfrecords(held).schema(distrib::feature("id", &RemoteItem::id)).max_inflated_bytes(memory).batch(1);
    CHECK_FALSE(data.open(error));
    return error;
  };
  CHECK(failure_of({}).where == "held");
  CHECK(failure_of({{{"gone", ""}}}).where == "gone: record 0 at offset 0 (GET gone)");
  CHECK(failure_of({{{"a", ids(0, 100)}}}, 100).code == data_errc::inflated_too_large);
  std::string damaged = ids(0, 3);
  damaged[14] ^= 1;
  CHECK(failure_of({{{"a", damaged}}}).where == "a: record 0 at offset 0");
}

TEST_CASE("tfrecords of RemoteFiles: messages name a URL without its secrets", "[data]") {
  const std::string url = "https://me:SECRET@h/a?sig=SECRET";
  std::string damaged = ids(0, 3);
  damaged[14] ^= 1;
  const auto failure_of = [&](const std::string& bytes, std::uint64_t memory = 1 << 20) {
    const Held held{{{url, bytes}}};
    Error error;
    const auto data =
        tfrecords(held).schema(distrib::feature("id", &RemoteItem::id)).max_inflated_bytes(memory).batch(1);
    CHECK_FALSE(data.open(error));
    return error;
  };
  CHECK(failure_of(damaged).where == "https://h/a: record 0 at offset 0");
  CHECK(failure_of(ids(0, 100), 100).where == "https://h/a");
  CHECK(failure_of("").code == data_errc::no_records);

  Error error;
  auto stream = tfrecords(Held{{{url, damaged}}}).stream();
  CHECK_FALSE(stream.next(error));
  CHECK(error.where == "https://h/a: record 0 at offset 0");

  // What is reported later: a record that cannot be parsed, and a range that was left out.
  const auto wrong = tfrecords(Held{{{url, ids(0, 2)}}}).schema(distrib::feature("other", &RemoteItem::id)).batch(1);
  const auto source = wrong.open();
  distrib::Batch<RemoteItem> batch;
  error = {};
  source.fill(0, batch, error);
  CHECK_THAT(error.where, ContainsSubstring("https://h/a: record 0") && !ContainsSubstring("SECRET"));
  const auto forgiving = tfrecords(Held{{{url, damaged}}}).schema(distrib::feature("id", &RemoteItem::id));
  const auto rest = forgiving.ignore_errors(1).batch(1).open();
  REQUIRE(rest.ignored().size() == 1);
  CHECK(rest.ignored()[0].where == "https://h/a: record 0 at offset 0");
}

TEST_CASE("tfrecords of RemoteFiles: a stream, read again in each epoch", "[data]") {
  const Held held{{{"a", ids(0, 3)}, {"b", ids(3, 5)}}};
  auto stream = tfrecords(held).stream().repeat(2);
  Error error;
  int count = 0;
  while (stream.next(error)) ++count;
  CHECK_FALSE(error);
  CHECK(count == 10);
  CHECK(*held.finds == 1);
  auto interleaved = tfrecords(held).stream(2, 1);
  std::vector<std::uint64_t> numbers;
  while (const auto record = interleaved.next(error)) numbers.push_back(record->number);
  CHECK(numbers == std::vector<std::uint64_t>{0, 0, 1, 1, 2});
}
