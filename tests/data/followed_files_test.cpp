// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/followed_files.hpp>

#include "data/files.hpp"
#include "support/catch.hpp"
#include "support/map_objects.hpp"
#include "support/temp_directory.hpp"

#include <distrib/data/order/error.hpp>
#include <distrib/example/batch.hpp>
#include <distrib/example/example_parser.hpp>
#include <distrib/record/error.hpp>
#include <distrib/stream_log/error.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

using distrib::FollowedFiles;
using std::chrono::milliseconds;

// A directory with files, and the processes that follow it.
struct FollowedDirectory {
  FollowedDirectory() { std::filesystem::create_directory(incoming()); }
  [[nodiscard]] auto incoming() const -> std::filesystem::path { return directory / "incoming"; }
  void add(const std::string& name, std::int64_t first, std::int64_t end,
           distrib::Compression compression = distrib::Compression::none) const {
    files::write_items(incoming() / ("_" + name), first, end, compression);
    std::filesystem::rename(incoming() / ("_" + name), incoming() / name);
  }
  [[nodiscard]] auto options(std::uint64_t batch_size = 4) const -> distrib::FollowedFilesOptions {
    return {.directory = incoming().string(),
            .log = (directory / "log").string(),
            .batch_size = batch_size,
            .look_every = milliseconds{1},
            .believe_after = milliseconds{0}};
  }
  [[nodiscard]] auto process(std::uint64_t batch_size = 4) const -> std::unique_ptr<FollowedFiles> {
    distrib::Error error;
    auto made = std::make_unique<FollowedFiles>(options(batch_size), error);
    CHECK_FALSE(error);
    return made;
  }
  support::TempDirectory directory;
};

// The numbers of the records of a batch; empty if it is not there.
auto followed_numbers(FollowedFiles& files, std::uint64_t batch, distrib::Error& error) -> std::vector<std::int64_t> {
  std::vector<std::int64_t> numbers;
  std::this_thread::sleep_for(milliseconds{2});
  if (!files.is_there(batch, error)) return numbers;
  const auto held = files.wait_for(batch, error);
  if (held == nullptr) return numbers;
  distrib::Batch<files::Item> items;
  std::vector<distrib::ByteView> records;
  for (std::size_t i = 0; i < held->size() && !error; ++i) records.push_back(held->at(i, error));
  if (error) return numbers;
  distrib::parse_examples(files::items, records, items, error);
  for (std::size_t i = 0; i < items.size(); ++i) numbers.push_back(items[i].number);
  return numbers;
}
auto followed_numbers(FollowedFiles& files, std::uint64_t batch) -> std::vector<std::int64_t> {
  distrib::Error error;
  auto numbers = followed_numbers(files, batch, error);
  CHECK_FALSE(error);
  return numbers;
}
auto followed_code(FollowedFiles& files, std::uint64_t batch) -> distrib::Error {
  distrib::Error error;
  CHECK(followed_numbers(files, batch, error).empty());
  return error;
}
using FollowedNumbers = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("followed files: batches have the records in the order of the log, in every process", "[data]") {
  const FollowedDirectory stream;
  const auto first = stream.process();
  CHECK(followed_numbers(*first, 0).empty());
  stream.add("b", 0, 6);
  CHECK(followed_numbers(*first, 0) == FollowedNumbers{0, 1, 2, 3});
  CHECK(followed_numbers(*first, 1).empty());
  stream.add("a", 10, 13, distrib::Compression::gzip);  // its name comes first, but it comes later
  const auto second = stream.process();
  CHECK(followed_numbers(*second, 1) == FollowedNumbers{4, 5, 10, 11});
  CHECK(followed_numbers(*first, 1) == FollowedNumbers{4, 5, 10, 11});
  stream.add("d", 30, 40);
  stream.add("c", 20, 22);
  const auto third = stream.process();
  CHECK(followed_numbers(*third, 3) == FollowedNumbers{31, 32, 33, 34});  // a directory is listed by name
  CHECK(followed_numbers(*third, 2) == FollowedNumbers{12, 20, 21, 30});
  CHECK(followed_numbers(*first, 3) == FollowedNumbers{31, 32, 33, 34});
  CHECK(followed_numbers(*second, 0) == FollowedNumbers{0, 1, 2, 3});
}

TEST_CASE("followed files: what is not of the stream is left out", "[data]") {
  const FollowedDirectory stream;
  std::filesystem::create_directory(stream.incoming() / "folder");
  files::write_items(stream.incoming() / "_written", 0, 4);
  files::write_items(stream.incoming() / ".hidden", 0, 4);
  files::write_items(stream.incoming() / "other", 0, 4);
  files::write_items(stream.incoming() / "x-empty", 0, 0);
  distrib::FollowedFilesOptions options = stream.options();
  options.pattern = "x-*";
  distrib::Error error;
  FollowedFiles files{options, error};
  REQUIRE_FALSE(error);
  CHECK(followed_numbers(files, 0).empty());
  CHECK(files.log() == nullptr);
  stream.add("x-1", 4, 8);
  CHECK(followed_numbers(files, 0) == FollowedNumbers{4, 5, 6, 7});
}

TEST_CASE("followed files: a file may be replaced by a longer one that begins with the same records", "[data]") {
  const FollowedDirectory stream;
  const auto first = stream.process();
  stream.add("a", 0, 5);
  CHECK(followed_numbers(*first, 0) == FollowedNumbers{0, 1, 2, 3});
  CHECK(followed_numbers(*first, 1).empty());
  stream.add("a", 0, 9);
  CHECK(followed_numbers(*first, 1) == FollowedNumbers{4, 5, 6, 7});
  const auto second = stream.process();
  CHECK(followed_numbers(*second, 1) == FollowedNumbers{4, 5, 6, 7});
  // By another one: refused by the process that looks, and by the process that reads.
  stream.add("a", 1, 20);
  CHECK(followed_code(*first, 2).code == distrib::stream_errc::source_replaced);
  const auto third = stream.process();
  const distrib::Error error = followed_code(*third, 1);
  CHECK(error.code == distrib::stream_errc::source_replaced);
  CHECK(error.where.starts_with("a: the log has its records"));
}

TEST_CASE("followed files: a file that is gone or shorter is waited for, then named", "[data]") {
  const FollowedDirectory stream;
  stream.add("a", 0, 8);
  CHECK(followed_numbers(*stream.process(), 0) == FollowedNumbers{0, 1, 2, 3});
  std::filesystem::remove(stream.incoming() / "a");
  distrib::FollowedFilesOptions patient = stream.options();
  patient.believe_after = milliseconds{60'000};
  distrib::Error error;
  FollowedFiles waits{patient, error};
  CHECK(followed_numbers(waits, 1).empty());
  CHECK(followed_numbers(waits, 1).empty());
  CHECK(followed_code(*stream.process(), 1).code == distrib::stream_errc::source_gone);
  stream.add("a", 0, 6);
  CHECK(followed_code(*stream.process(), 0).code == distrib::stream_errc::source_gone);
  stream.add("a", 0, 8);
  CHECK(followed_numbers(waits, 1) == FollowedNumbers{4, 5, 6, 7});
}

TEST_CASE("followed files: a damaged file is named before it is logged, and when it is read", "[data]") {
  const FollowedDirectory stream;
  stream.add("a", 0, 8);
  files::damage(stream.incoming() / "a", 40);
  const auto first = stream.process();
  const distrib::Error error = followed_code(*first, 0);
  CHECK(error.code == distrib::failure::corrupt);
  CHECK(error.where.find("incoming/a") != std::string::npos);
  CHECK(first->log() == nullptr);
  stream.add("a", 0, 8);
  const auto second = stream.process();
  CHECK(followed_numbers(*second, 0) == FollowedNumbers{0, 1, 2, 3});
  stream.add("a", 0, 8);
  files::damage(stream.incoming() / "a", 40);
  CHECK(followed_code(*stream.process(), 0).code == distrib::failure::corrupt);
  CHECK(followed_numbers(*second, 1) == FollowedNumbers{4, 5, 6, 7});  // it still has the old file
}

TEST_CASE("followed files: a process that waits gives up if it was told when", "[data]") {
  const FollowedDirectory stream;
  distrib::FollowedFilesOptions options = stream.options();
  options.give_up_after = milliseconds{20};
  distrib::Error error;
  FollowedFiles files{options, error};
  CHECK(files.wait_for(0, error) == nullptr);
  CHECK(error.code == distrib::stream_errc::nothing_new);
  CHECK(error.code == distrib::failure::timeout);
}

TEST_CASE("followed files: items that no restart needs are let go", "[data]") {
  const FollowedDirectory stream;
  for (int i = 0; i < 5; ++i) stream.add("f" + std::to_string(i), 4 * i, 4 * i + 4);
  const auto first = stream.process();
  CHECK(followed_numbers(*first, 4) == FollowedNumbers{16, 17, 18, 19});
  distrib::Error error;
  first->let_go(3, error);
  CHECK_FALSE(error);
  for (int i = 0; i < 3; ++i) std::filesystem::remove(stream.incoming() / ("f" + std::to_string(i)));
  CHECK(first->log()->kept_items().size() == 2);
  CHECK(first->log()->sources() == 5);
  first->let_go(4, error);
  CHECK(first->log()->sources() == 2);  // files that are gone are forgotten, too
  const auto second = stream.process();
  second->continue_after(4, error);
  CHECK_FALSE(error);
  CHECK(followed_numbers(*second, 4) == FollowedNumbers{16, 17, 18, 19});
  CHECK(followed_code(*second, 3).code == distrib::stream_errc::let_go);
  second->continue_after(3, error);
  CHECK(error.code == distrib::stream_errc::let_go);
}

TEST_CASE("followed files: a log that does not fit the job is refused", "[data]") {
  const FollowedDirectory stream;
  distrib::Error error;
  stream.process()->continue_after(1, error);
  CHECK(error.code == distrib::stream_errc::log_behind);
  stream.add("a", 0, 8);
  const auto first = stream.process();
  CHECK(followed_numbers(*first, 0) == FollowedNumbers{0, 1, 2, 3});
  first->continue_after(2, error);
  CHECK_FALSE(error);
  first->continue_after(3, error);
  CHECK(error.code == distrib::stream_errc::log_behind);
  FollowedFiles other{stream.options(5), error};
  CHECK(error.code == distrib::stream_errc::other_batch_size);
  FollowedFiles without{stream.options(0), error};
  CHECK(error.code == distrib::data_errc::bad_batch_size);
  distrib::FollowedFilesOptions options = stream.options();
  options.log.clear();
  FollowedFiles no_log{options, error};
  CHECK(error.code == distrib::stream_errc::no_log);
  options = stream.options();
  options.directory += "-2";
  FollowedFiles nowhere{options, error};
  CHECK(error.code == distrib::data_errc::no_files);
}

namespace {

// A prefix of an object store to which objects are added, and the processes that follow it.
struct FollowedPrefix {
  void add(const std::string& name, std::int64_t first, std::int64_t end,
           distrib::Compression compression = distrib::Compression::none) {
    files::write_items(directory / "file", first, end, compression);
    std::ifstream file{directory / "file", std::ios::binary};
    const std::string bytes{std::istreambuf_iterator<char>{file}, {}};
    const std::lock_guard lock{bucket->mutex};
    bucket->write("in/" + name, distrib::as_bytes(bytes));
  }
  [[nodiscard]] auto options() const -> distrib::FollowedFilesOptions {
    return {.directory = "map://bucket/in",
            .log = "map://bucket/run/log",
            .open_store = support::map_stores(bucket),
            .batch_size = 4,
            .look_every = milliseconds{1},
            .believe_after = milliseconds{0}};
  }
  [[nodiscard]] auto process() const -> std::unique_ptr<FollowedFiles> {
    distrib::Error error;
    auto made = std::make_unique<FollowedFiles>(options(), error);
    CHECK_FALSE(error);
    return made;
  }
  support::TempDirectory directory;
  std::shared_ptr<support::MapObjects> bucket = std::make_shared<support::MapObjects>();
};

}  // namespace

TEST_CASE("followed files: objects of a store are followed as files are", "[data]") {
  FollowedPrefix stream;
  const auto first = stream.process();
  CHECK(followed_numbers(*first, 0).empty());
  stream.add("b", 0, 6);
  stream.add("folder/c", 50, 60);
  stream.add("_hidden", 50, 60);
  CHECK(followed_numbers(*first, 0) == FollowedNumbers{0, 1, 2, 3});
  stream.add("a", 10, 13, distrib::Compression::gzip);
  const auto second = stream.process();
  CHECK(followed_numbers(*second, 1) == FollowedNumbers{4, 5, 10, 11});
  CHECK(followed_numbers(*first, 1) == FollowedNumbers{4, 5, 10, 11});
  CHECK(stream.bucket->count("run/log/log-") == 2);
  const auto log = second->log();
  CHECK(log->end_of("a")->version == std::to_string(stream.bucket->versions["in/a"]));
  // What the log has by its version is not read again to find out whether it has grown.
  const auto third = stream.process();
  const std::size_t before = stream.bucket->asked("range");
  CHECK(followed_numbers(*third, 2).empty());
  CHECK(stream.bucket->asked("range") == before);
  // Files in a store, the log in a directory.
  distrib::FollowedFilesOptions options = stream.options();
  options.log = (stream.directory / "log").string();
  distrib::Error error;
  FollowedFiles mixed{options, error};
  REQUIRE_FALSE(error);
  CHECK(followed_numbers(mixed, 0) == FollowedNumbers{10, 11, 12, 0});
}

TEST_CASE("followed files: an object that was replaced is named with its versions", "[data]") {
  FollowedPrefix stream;
  stream.add("a", 0, 5);
  const std::string logged = std::to_string(stream.bucket->versions["in/a"]);
  const auto first = stream.process();
  CHECK(followed_numbers(*first, 0) == FollowedNumbers{0, 1, 2, 3});
  stream.add("a", 0, 5);  // the same records, another version
  CHECK(followed_numbers(*stream.process(), 0) == FollowedNumbers{0, 1, 2, 3});
  stream.add("a", 0, 9);  // longer
  CHECK(followed_numbers(*first, 1) == FollowedNumbers{4, 5, 6, 7});
  stream.add("a", 1, 10);
  const std::string now = std::to_string(stream.bucket->versions["in/a"]);
  const distrib::Error error = followed_code(*stream.process(), 1);
  CHECK(error.code == distrib::stream_errc::source_replaced);
  CHECK(error.where.ends_with("it has other ones: it was " + logged + ", and is " + now + " now"));
  stream.bucket->objects.erase("in/a");
  CHECK(followed_code(*stream.process(), 1).code == distrib::stream_errc::source_gone);
}

TEST_CASE("followed files: an object that is replaced while it is read is read again", "[data]") {
  FollowedPrefix stream;
  stream.add("a", 0, 8);
  bool is_first = true;
  stream.bucket->fail = [&](const std::string& request) {
    if (!request.starts_with("range") || !is_first) return std::error_code{};
    is_first = false;
    const std::vector<std::byte> bytes = stream.bucket->objects["in/a"];
    stream.bucket->write("in/a", bytes);
    return std::error_code{};
  };
  const auto process = stream.process();
  CHECK(followed_numbers(*process, 0).empty());
  CHECK_FALSE(is_first);
  CHECK(followed_numbers(*process, 0) == FollowedNumbers{0, 1, 2, 3});
  // It may not be read: that ends the job.
  stream.bucket->fail = [](const std::string& request) {
    return request.starts_with("range") ? support::MapObjects::mismatch() : std::error_code{};
  };
  CHECK(followed_code(*stream.process(), 0).code == support::MapObjects::mismatch());
  // The store does not say which of both it was: that is waited for.
  int asked = 0;
  stream.bucket->fail = [&asked](const std::string& request) {
    if (request.starts_with("range")) return support::MapObjects::mismatch();
    return request.starts_with("info") && ++asked % 2 == 0 ? support::MapObjects::away() : std::error_code{};
  };
  CHECK_FALSE(followed_code(*stream.process(), 0));
  CHECK(asked == 2);
}

TEST_CASE("followed files: a store that cannot be followed is refused, one that is away is waited for", "[data]") {
  FollowedPrefix stream;
  distrib::Error error;
  distrib::FollowedFilesOptions options = stream.options();
  options.open_store = {};
  FollowedFiles without{options, error};
  CHECK(error.code == distrib::record_errc::no_object_store);
  stream.add("a", 0, 8);
  stream.bucket->honours_conditions = false;
  const auto careless = stream.process();
  CHECK(followed_code(*careless, 0).code == distrib::stream_errc::no_conditions);
  stream.bucket->honours_conditions = true;
  const auto process = stream.process();
  stream.bucket->fail = [](const std::string&) { return support::MapObjects::away(); };
  CHECK(followed_numbers(*process, 0).empty());
  stream.bucket->fail = {};
  CHECK(followed_numbers(*process, 0) == FollowedNumbers{0, 1, 2, 3});
}
