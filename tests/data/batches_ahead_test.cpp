// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/batches_ahead.hpp>

#include "support/catch.hpp"
#include "support/sanitizers.hpp"
#include "support/temp_directory.hpp"

#include <distrib/data/batch_reader.hpp>
#include <distrib/data/remote_tfrecords.hpp>
#include <distrib/record/index_object.hpp>
#include <distrib/record/record_index.hpp>
#include <distrib/record/record_writer.hpp>

#include "data/ranged_files.hpp"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

using distrib::Error;
using distrib::tfrecords;

namespace {

struct AwayItem {
  std::int64_t id;
  std::span<const std::byte> text;
};

constexpr std::int64_t away_records = 600;
constexpr bool away_sanitized = DISTRIB_TEST_ADDRESS_SANITIZER != 0 || DISTRIB_TEST_THREAD_SANITIZER != 0;

/// Three files with records of different sizes: some are longer than a piece.
auto away_files(distrib::IoPool* pool = nullptr) -> ranged::Files {
  ranged::Files files;
  files.pool = pool;
  files.server->files["a"] = ranged::examples(0, 250, 30);
  files.server->files["b"] = ranged::examples(250, 260, 9000) + ranged::examples(260, 500, 70);
  files.server->files["c"] = ranged::examples(500, away_records, 10);
  return files;
}

auto with_schema(const auto& records) {
  return records.schema(distrib::feature("id", &AwayItem::id), distrib::feature("text", &AwayItem::text));
}

/// Returns a number that stands for all values of some batches.
auto sum_of(const auto& source, std::uint64_t batches) -> std::uint64_t {
  distrib::BatchReader reader{source};
  std::uint64_t sum = 0;
  for (std::uint64_t b = 0; b < batches; ++b) {
    const auto* const batch = reader.next();
    if (batch == nullptr) break;
    for (std::size_t i = 0; i < batch->size(); ++i) {
      sum = sum * 1'000'003 + static_cast<std::uint64_t>((*batch)[i].id);
      for (const std::byte c : (*batch)[i].text) sum = sum * 31 + static_cast<std::uint64_t>(c);
    }
  }
  return sum;
}

/// Writes the files into a directory, for comparison.
auto written(const ranged::Files& files, const support::TempDirectory& to) -> std::vector<std::string> {
  std::vector<std::string> paths;
  for (const auto& [name, bytes] : files.server->files) {
    paths.push_back((to / name).string());
    std::ofstream{paths.back(), std::ios::binary} << bytes;
  }
  return paths;
}

} // namespace

TEST_CASE(
    "remote records: the batches of local files, in any order, with any "
    "pool and any cache",
    "[data]") {
  const support::TempDirectory temp;
  distrib::IoPool pool{3};
  const auto local = with_schema(tfrecords(written(away_files(), temp)));
  for (distrib::IoPool* with : {static_cast<distrib::IoPool*>(nullptr), &pool})
    for (const std::uint64_t cache : {0U, 30'000U, 1U << 20}) {
      CAPTURE(cache, with != nullptr);
      const ranged::Files files = away_files(with);
      const std::string kept = (temp / ("cache" + std::to_string(cache))).string();
      const auto away = with_schema(tfrecords(files)).cache(cache == 0 ? "" : kept, cache);
      const auto same = [&](const auto& steps, std::uint64_t batches) {
        const auto here = steps(local).open();
        const auto there = steps(away).open();
        CHECK(here.describe() == there.describe());
        CHECK(sum_of(here, batches) == sum_of(there, batches));
      };
      same([](const auto& data) { return data.batch(7); }, 200);
      same([](const auto& data) { return data.shuffle(3).batch(16); }, 100);
      same([](const auto& data) { return data.shard(3, 1).shuffle(3).repeat(2).batch(16); }, 100);
      same([](const auto& data) { return data.interleave(3, 2).batch(5); }, 100);
      same([](const auto& data) { return data.filter([](const AwayItem& i) { return i.id % 3 == 0; }).batch(5); }, 100);
    }
}

TEST_CASE("remote records: batches in any order of calls, from several threads", "[data]") {
  const support::TempDirectory temp;
  distrib::IoPool pool{2};
  const auto here = with_schema(tfrecords(written(away_files(), temp))).shuffle(5).batch(8).open();
  const auto there = with_schema(tfrecords(away_files(&pool))).shuffle(5).batch(8).open();
  const auto same = [&](std::uint64_t number) {
    distrib::Batch<AwayItem> one, other;
    here.fill(number, one);
    there.fill(number, other);
    for (std::size_t i = 0; i < one.size(); ++i)
      if (one[i].id != other[i].id || !std::ranges::equal(one[i].text, other[i].text)) return false;
    return one.size() == other.size();
  };
  std::mt19937 random{1};
  for (int i = 0; i < 100; ++i) CHECK(same(random() % 300));
  for (const std::uint64_t number : {5U, 5U, 6U, 7U, 8U, 3U, 9U, 1000U, 1001U, 1002U, 0U}) CHECK(same(number));
  there.expect(2, 4, 1);
  there.expect(3, 4, 1);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::uint64_t who = 0; who < 4; ++who) // two of them ask for what was not announced
    threads.emplace_back([&, who] {
      for (std::uint64_t step = 0; step < 60; ++step) wrong += same(step * 4 + who) ? 0 : 1;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE(
    "remote records: few requests for records one behind the other, few "
    "bytes for records far apart",
    "[data]") {
  ranged::Files files;
  files.server->files["f"] = ranged::examples(0, 4000, 100);
  files.piece_bytes = 64 << 10;
  const std::size_t size = files.server->files["f"].size();
  const std::size_t pieces = size / files.piece_bytes + 1;
  const auto source = with_schema(tfrecords(files)).batch(10).open();
  CHECK(files.server->requests() == pieces); // to find the records
  files.server->forget();
  sum_of(source, 400);
  CHECK(files.server->requests() <= pieces + 4); // 10 records of a batch are not a request
  CHECK(files.server->bytes() >= size);
  CHECK(files.server->bytes() <= size + 3 * files.piece_bytes); // some batches of the next pass
  // Each of two workers asks for its own half alone, up to what lies between.
  files.server->forget();
  distrib::BatchReader reader{source, {.index = 1, .count = 2}};
  for (int i = 0; i < 200; ++i) REQUIRE(reader.next() != nullptr);
  CHECK(files.server->bytes() <= size + 3 * files.piece_bytes);
}

TEST_CASE("remote records: memory is bounded, whatever the size of the files", "[data]") {
  distrib::IoPool pool{2};
  const std::size_t piece_bytes = GENERATE(4'096U, 65'536U);  // records far apart, and with small gaps
  ranged::Files files;
  files.pool = &pool;
  files.piece_bytes = piece_bytes;
  files.server->files["f"] = ranged::examples(0, 3000, 200);
  const auto opened = std::make_shared<distrib::RecordFiles>(
      std::vector<std::string>{"f"}, distrib::RecordFilesOptions{}, *std::make_unique<Error>(),
      distrib::RemoteOpening{{}, [&](const std::string& name, Error& error) { return files.ranged(name, error); }});
  distrib::detail::BatchesAhead<distrib::RecordFiles> ahead{opened,
                                                            [&](std::uint64_t batch) {
                                                              std::vector<std::uint64_t> records(16);
                                                              for (std::size_t i = 0; i < 16; ++i)
                                                                records[i] = (batch * 16 + i) * 7919 % opened->size();
                                                              return records;
                                                            },
                                                            [](std::uint64_t) { return distrib::endless; }};
  ahead.expect(0, 1, 1);
  const std::uint64_t most = opened->remote()->most_bytes();
  Error error;
  for (std::uint64_t batch = 0; batch < 500; ++batch) {
    const auto held = ahead.take(batch);
    CHECK(opened->remote()->held_bytes() <= 2 * most);
    for (std::size_t i = 0; i < 16; ++i) CHECK_FALSE(held->at(i, error).empty());
  }
  CHECK_FALSE(error);
}

TEST_CASE("remote records: from the second epoch on the cache has everything", "[data]") {
  const support::TempDirectory temp;
  const ranged::Files files = away_files();
  std::size_t size = 0;
  for (const auto& [name, bytes] : files.server->files) size += bytes.size();
  const auto data = with_schema(tfrecords(files)).shuffle(5).batch(20).cache(temp.path().string(), 1 << 20);
  const auto source = data.open();
  const std::uint64_t epoch = away_records / 20;
  sum_of(source, epoch);
  CHECK(files.server->bytes() == size); // each byte once
  files.server->forget();
  sum_of(source, 3 * epoch);
  const auto again = data.open(); // as another run would
  sum_of(again, epoch);
  CHECK(files.server->requests() == 0);
}

TEST_CASE("remote records: while the cache cannot keep pieces, none is read into memory for a few records", "[data]") {
  const support::TempDirectory temp;
  struct WithIndex : ranged::Files {
    auto find(Error&) const -> std::vector<std::string> { return {"f"}; }
  };
  WithIndex files;
  files.piece_bytes = 1 << 20;
  files.server->files["f"] = ranged::examples(0, 4000, 1000);
  const std::size_t size = files.server->files["f"].size();
  const std::uint64_t right = sum_of(with_schema(tfrecords(written(files, temp))).shuffle(5).batch(20).open(), 10);
  const distrib::RecordIndex index{(temp / "f").string()};
  const auto places = distrib::encode_index_object("\"1\"", index.offsets());
  files.server->files[".f.index"] = std::string{distrib::as_text(places)};
  const auto data = with_schema(tfrecords(files)).shuffle(5).batch(20);
  for (const std::uint64_t limit : {std::uint64_t{2000}, std::uint64_t{1} << 30}) {
    const std::string directory = (temp / ("cache" + std::to_string(limit))).string();
    const auto source = data.cache(directory, limit).open();
    std::filesystem::remove_all(directory);  // as if the disk failed
    files.server->forget();
    CHECK(sum_of(source, 10) == right);
    CHECK(files.server->bytes() < (limit == 2000 ? 2 : 3) * size);  // each batch needs all four pieces
  }
}

TEST_CASE("remote records: after a resume by another number of workers the right batches are fetched ahead", "[data]") {
  ranged::Files files;
  files.server->files["f"] = ranged::examples(0, 4000, 100);
  files.piece_bytes = 64 << 10;
  const auto data = with_schema(tfrecords(files)).batch(10);
  const auto before = data.open();
  distrib::BatchReader alone{before};
  for (int i = 0; i < 7; ++i) REQUIRE(alone.next() != nullptr);
  const auto source = data.open();
  distrib::BatchReader reader{source, {.index = 0, .count = 3}};
  reader.resume(alone.state());
  files.server->forget();
  for (std::int64_t i = 0; i < 40; ++i) {
    const auto* const batch = reader.next();
    REQUIRE(batch != nullptr);
    CHECK((*batch)[0].id == 70 + 30 * i);
  }
  CHECK(files.server->requests() < 20);  // not one for each batch
}

TEST_CASE("remote records: a compressed file is fetched once, and its first piece twice", "[data]") {
  const support::TempDirectory temp;
  distrib::IoPool pool{3};
  ranged::Files files;
  files.pool = &pool;
  const std::string path = (temp / "packed").string();
  {
    distrib::RecordWriter writer{path, {.compression = distrib::Compression::gzip}};
    std::mt19937 random{1};
    for (std::int64_t id = 0; id < 300; ++id) {
      std::string text(300, ' ');
      for (char& c : text) c = static_cast<char>(random());
      distrib::ExampleBuilder example;
      writer.append(example.set("id", id).set("text", text).build());
    }
    writer.close();
  }
  std::ostringstream packed;
  packed << std::ifstream{path, std::ios::binary}.rdbuf();
  files.server->files["f"] = packed.str();
  CHECK(packed.str().size() > 20 * files.piece_bytes);
  CHECK(with_schema(tfrecords(files)).batch(10).open().records() == 300);
  CHECK(files.server->bytes() == packed.str().size() + files.piece_bytes);
}

TEST_CASE("remote records: what fails is named, and may work at the next call", "[data]") {
  const ranged::Files files = away_files();
  const auto source = with_schema(tfrecords(files)).batch(10).open();
  distrib::Batch<AwayItem> batch;
  Error error;
  files.server->fails_at = files.server->files["a"].size() / 2;
  int failures = 0;
  for (std::uint64_t number = 0; number < 60; ++number) {
    source.fill(number, batch, error);
    if (error) ++failures;
    if (error) CHECK_THAT(error.where, ContainsSubstring(": record ") && ContainsSubstring("(GET "));
    if (error) source.fill(number, batch);
    CHECK(batch.size() == 10);
  }
  CHECK(failures >= 1);
  source.fill(60, batch, error); // of the next pass
  CHECK_FALSE(error);

  const auto replaced = with_schema(tfrecords(files)).batch(10).open();
  files.server->version = "\"2\"";
  std::string& bytes = files.server->files["a"];
  std::fill(bytes.begin(), bytes.end(), 'x');
  replaced.fill(0, batch, error);
  CHECK(error.code == std::errc::state_not_recoverable);
  CHECK_THAT(error.where, ContainsSubstring("a: record 0 at offset 0 (replaced)"));
  CHECK(batch.size() == 0);
}

TEST_CASE("remote records: ignore_errors does not pass over a server that does not answer", "[data]") {
  const ranged::Files files = away_files();
  const auto data = with_schema(tfrecords(files)).batch(1);
  const auto whole = data.open();
  files.server->fails_request = files.server->requests();  // the first one after the records were found
  files.server->forget();
  Error error;
  CHECK_FALSE(data.ignore_errors(away_records).open(error));
  CHECK(error.code == std::errc::connection_reset);
  CHECK_THAT(error.where, ContainsSubstring("a: record 0") && ContainsSubstring("(GET a)"));
  const auto again = data.ignore_errors(away_records).open();
  CHECK(again.ignored().empty());
  CHECK(again.records() == whole.records());
}

TEST_CASE("remote records: compressed and damaged files are read into memory", "[data]") {
  ranged::Files files = away_files();
  files.server->files["c"][20] ^= 1;
  Error error;
  CHECK_FALSE(with_schema(tfrecords(files)).batch(10).open(error));
  CHECK_THAT(error.where, ContainsSubstring("c: record 0"));
  const auto source = with_schema(tfrecords(files)).ignore_errors(1).batch(1).open();
  CHECK(source.ignored().size() == 1);
  CHECK(source.records() == away_records - 1);
  CHECK_FALSE(with_schema(tfrecords(files)).ignore_errors(1).batch(1).max_inflated_bytes(100).open(error));
  CHECK(error.code == distrib::data_errc::inflated_too_large);
}

TEST_CASE("remote records: opened by the index beside a file, shuffled by blocks", "[data]") {
  const support::TempDirectory temp;
  ranged::Files files;
  files.piece_bytes = 64 << 10;
  files.server->files["f"] = ranged::examples(0, 4000, 100);
  const std::size_t size = files.server->files["f"].size();
  const auto local = with_schema(tfrecords(written(files, temp)));
  const distrib::RecordIndex index{(temp / "f").string()};
  const auto bytes = distrib::encode_index_object("\"1\"", index.offsets());
  struct WithIndex : ranged::Files {
    auto find(Error&) const -> std::vector<std::string> { return {"f"}; }
  };
  const WithIndex there{files};
  there.server->files[".f.index"] = std::string{distrib::as_text(bytes)};
  const auto by_blocks = [](const auto& data) { return data.shuffle(9, distrib::Blocks{100, 4}).batch(16).open(); };
  const auto source = by_blocks(with_schema(tfrecords(there)));
  CHECK(there.server->requests() == 0);
  CHECK(source.describe() == by_blocks(local).describe());
  CHECK(sum_of(source, 250) == sum_of(by_blocks(local), 250));
  CHECK(there.server->requests() < 200); // not one for each of 4000 records
  CHECK(there.server->bytes() < 3 * size);
}

TEST_CASE("remote records: groups of blocks are fetched as a whole, each once", "[data]") {
  // A group has 4 blocks of 100 records: a little more than half of the memory.
  const std::size_t record = ranged::examples(0, 1, 2000).size();
  const std::size_t group = 400 * record;
  distrib::IoPool pool{2};
  ranged::Files files;
  files.pool = &pool;
  files.pieces_ahead = 4;
  files.piece_bytes = group * 15 / 8 / files.pieces_ahead;
  files.server->files["f"] = ranged::examples(0, 4000, 2000);
  const std::size_t size = files.server->files["f"].size();
  // Also by one of three workers, which reads a third of each group.
  const std::uint64_t step = GENERATE(1U, 3U);
  const auto source = with_schema(tfrecords(files)).shuffle(9, distrib::Blocks{100, 4}).batch(16).open();
  const std::size_t opening = files.server->bytes(), asked = files.server->requests();
  distrib::Batch<AwayItem> batch;
  source.expect(0, step, 1);
  for (std::uint64_t number = 0; number < 4 * 4000 / 16; number += step) source.fill(number, batch);
  // Four epochs of 40 blocks, and the 4 of the group behind them; blocks that are neighbours are one range.
  CHECK(files.server->requests() - asked <= 4 * 40 + 4);
  CHECK(files.server->bytes() - opening < 4 * size * 5 / 4);
}

namespace {

/// A file of equal records that takes no memory, as large as it may be.
struct LargeFiles {
  std::string frame = ranged::examples(0, 1, 64 << 10);
  std::uint64_t count = 0;
  distrib::IoPool* pool = nullptr;

  auto name() const -> std::string { return "large"; }
  auto find(Error&) const -> std::vector<std::string> { return {"large"}; }
  auto open(const std::string&) const -> ranged::WholeFile { return {}; }
  auto ranged(const std::string&, Error& error) const -> std::optional<distrib::RangedFile> {
    error = {};
    distrib::RangedFile file;
    file.bytes = frame.size() * count;
    file.version = "\"large\"";
    file.piece_bytes = 1 << 20;
    file.pieces_ahead = 8;
    file.read = [from = frame](std::uint64_t first, std::span<std::byte> to, const std::atomic<bool>&, Error& failed) {
      failed = {};
      for (std::size_t at = 0; at < to.size();) {
        const auto skipped = static_cast<std::size_t>((first + at) % from.size());
        const std::size_t bytes = std::min(to.size() - at, from.size() - skipped);
        std::memcpy(to.data() + at, from.data() + skipped, bytes);
        at += bytes;
      }
    };
    if (pool != nullptr)
      file.post = [to = pool](std::function<void()> job) { asio::post(to->executor(), std::move(job)); };
    return file;
  }
};

/// Returns the anonymous memory of this process, in bytes.
auto anonymous_bytes() -> std::uint64_t {
  std::ifstream status{"/proc/self/status"};
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssAnon:")) return std::stoull(line.substr(8)) << 10;
  return 0;
}

} // namespace

TEST_CASE("remote records: the memory of the process does not grow with the data", "[data]") {
  const support::TempDirectory temp;
  distrib::IoPool pool{2};
  LargeFiles files;
  files.pool = &pool;
  files.count = away_sanitized ? 200 : 4000; // 260 MB
  for (const bool cached : {false, true}) {
    const std::uint64_t before = anonymous_bytes();
    const auto data = with_schema(tfrecords(files)).shuffle(3).batch(32);
    const auto source = (cached ? data.cache(temp.path().string(), 32 << 20) : data).open();
    CHECK(source.records() == files.count);
    distrib::BatchReader reader{source, pool, 2};
    std::uint64_t most = 0;
    for (int b = 0; b < (cached ? 4 : 100); ++b) {
      REQUIRE(reader.next() != nullptr);
      most = std::max(most, anonymous_bytes());
    }
    if (!away_sanitized && before != 0) CHECK(most < before + (128 << 20));
  }
}

TEST_CASE("remote records: many files are opened at once, and the first that fails is reported", "[data]") {
  distrib::IoPool pool{4};
  ranged::Files files;
  files.pool = &pool;
  for (int i = 0; i < 40; ++i)
    files.server->files["f" + std::to_string(100 + i)] = ranged::examples(i * 10, i * 10 + 10);
  const auto source = with_schema(tfrecords(files)).batch(400).open();
  distrib::Batch<AwayItem> batch;
  source.fill(0, batch);
  for (std::int64_t i = 0; i < 400; ++i) CHECK(batch[static_cast<std::size_t>(i)].id == i);
  for (const char* const damaged : {"f110", "f123"}) files.server->files[damaged][20] ^= 1;
  for (int round = 0; round < 20; ++round) {
    Error error;
    CHECK_FALSE(with_schema(tfrecords(files)).batch(1).open(error));
    CHECK_THAT(error.where, ContainsSubstring("f110: record 0"));
  }

  struct Unreachable : ranged::Files {
    std::shared_ptr<std::atomic<int>> asked = std::make_shared<std::atomic<int>>(0);
    auto ranged(const std::string& name, Error& failed) const -> std::optional<distrib::RangedFile> {
      ++*asked;
      failed = {std::make_error_code(std::errc::timed_out), name};
      return std::nullopt;
    }
  };
  const Unreachable unreachable{files};
  Error error;
  CHECK_FALSE(with_schema(tfrecords(unreachable)).batch(1).open(error));
  CHECK(error.where == "f100");
  CHECK(*unreachable.asked == 1);  // not once more for each of 40 files
}
