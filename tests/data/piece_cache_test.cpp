// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/piece_cache.hpp>

#include "support/catch.hpp"
#include "support/noise.hpp"
#include "support/temp_directory.hpp"

#include <distrib/core/files.hpp>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <optional>
#include <thread>
#include <utility>

using distrib::as_bytes;
using distrib::as_text;
using distrib::Error;
using distrib::PieceCache;
using support::noise;

namespace {

auto piece_bytes_kept(const std::string& directory) -> std::uint64_t {
  std::uint64_t sum = 0;
  std::error_code ec;
  for (const std::string& object : distrib::detail::list_directory(directory, ec)) {
    if (object.starts_with('.')) continue;
    for (const std::string& name : distrib::detail::list_directory(directory + '/' + object, ec)) {
      struct ::stat status{};
      if (::stat((directory + '/' + object + '/' + name).c_str(), &status) == 0)
        sum += static_cast<std::uint64_t>(status.st_size);
    }
  }
  return sum;
}

}  // namespace

TEST_CASE("PieceCache: keeps pieces, verifies them, knows them again", "[data]") {
  const support::TempDirectory temp;
  Error error;
  const std::string object = PieceCache::object_of("s3://b/k", "\"1\"", 1000);
  CHECK(object.size() == 32);
  CHECK(object != PieceCache::object_of("s3://b/k", "\"2\"", 1000));
  CHECK(object != PieceCache::object_of("s3://b/k", "\"1\"", 1001));
  CHECK(object != PieceCache::object_of("s3://b/k\"1\"", "", 1000));
  const std::string bytes = noise(5000);
  {
    PieceCache cache{temp.path().string() + "/made/here", 1 << 20, error};
    REQUIRE_FALSE(error);
    CHECK(cache.load(object, "0", 5000) == nullptr);
    const auto stored = cache.store(object, "0", as_bytes(bytes));
    REQUIRE(stored != nullptr);
    CHECK((as_text(stored->bytes()) == bytes));
  }
  PieceCache cache{temp.path().string() + "/made/here", 1 << 20, error};
  const auto loaded = cache.load(object, "0", 5000);
  REQUIRE(loaded != nullptr);
  CHECK((as_text(loaded->bytes()) == bytes));
  CHECK(cache.load(object, "0", 0) != nullptr);
  CHECK(cache.load(object, "0", 4999) == nullptr);
  CHECK(cache.load(object, "1", 5000) == nullptr);

  const std::string path = temp.path().string() + "/made/here/" + object + "/0";
  std::fstream{path, std::ios::in | std::ios::out | std::ios::binary}.seekp(77) << '!';
  CHECK(cache.load(object, "0", 5000) == nullptr);  // damaged
  CHECK(cache.store(object, "0", as_bytes(bytes)) != nullptr);
  CHECK(cache.load(object, "0", 5000) != nullptr);
  REQUIRE(::truncate(path.c_str(), 9) == 0);
  CHECK(cache.load(object, "0", 0) == nullptr);
}

TEST_CASE("PieceCache: never holds more than its limit, and lets go what was not used for the longest time", "[data]") {
  const support::TempDirectory temp;
  Error error;
  PieceCache cache{temp.path().string(), 10'000, error};
  const std::string bytes = noise(1000);
  for (int i = 0; i < 30; ++i) {
    CHECK(cache.store("o", std::to_string(i), as_bytes(bytes)) != nullptr);
    CHECK(piece_bytes_kept(temp.path().string()) <= 10'000);
    CHECK(cache.load("o", "0", 1000) != nullptr);  // used again and again, so it stays
    std::this_thread::sleep_for(std::chrono::milliseconds{2});  // for file systems with coarse times
  }
  CHECK(cache.load("o", "29", 1000) != nullptr);
  CHECK(cache.load("o", "2", 1000) == nullptr);
  CHECK(cache.store("o", "large", as_bytes(noise(10'001))) == nullptr);
  PieceCache smaller{temp.path().string(), 3000, error};  // what is there is counted, and reduced
  CHECK(piece_bytes_kept(temp.path().string()) <= 3000);
}

TEST_CASE("PieceCache: says why a directory cannot be used", "[data]") {
  const support::TempDirectory temp;
  std::ofstream{temp.path().string() + "/file"} << "x";
  Error error;
  const PieceCache cache{temp.path().string() + "/file", 1000, error};
  CHECK(error.code);
  CHECK_THAT(error.where, ContainsSubstring("cache \""));
}

TEST_CASE("PieceCache: keeps nothing while another process has the lock and is frozen", "[data]") {
  const support::TempDirectory temp;
  const std::string bytes = noise(1000);
  Error error;
  std::optional<distrib::detail::FileLock> frozen{std::in_place, temp.path().string() + "/.lock"};
  PieceCache cache{temp.path().string(), 10'000, error, std::chrono::milliseconds{20}};
  CHECK_FALSE(error);
  CHECK(cache.store("o", "0", as_bytes(bytes)) == nullptr);
  CHECK(cache.load("o", "0", 1000) == nullptr);
  frozen.reset();
  CHECK(cache.store("o", "0", as_bytes(bytes)) != nullptr);
  CHECK(cache.load("o", "0", 1000) != nullptr);
  CHECK(cache.has_room_for(9000));
  CHECK_FALSE(cache.has_room_for(10'000));  // with its trailer it is longer
}

TEST_CASE("PieceCache: several processes and threads share a directory", "[data]") {
  const support::TempDirectory temp;
  const auto work = [&](int who) {
    Error error;
    PieceCache cache{temp.path().string(), 20'000, error};
    for (int i = 0; i < 100; ++i) {
      const std::string name = std::to_string((i * 7 + who) % 40);
      const std::string bytes = noise(900 + static_cast<std::size_t>((i * 7 + who) % 40));
      auto piece = cache.load("o", name, bytes.size());
      if (!piece) piece = cache.store("o", name, as_bytes(bytes));
      if (piece && as_text(piece->bytes()) != bytes) return false;
    }
    return !error;
  };
  std::vector<::pid_t> children;
  for (int who = 0; who < 3; ++who) {
    const ::pid_t child = ::fork();
    if (child == 0) ::_exit(work(who) ? 0 : 1);
    children.push_back(child);
  }
  CHECK(work(3));
  for (const ::pid_t child : children) {
    int status = -1;
    CHECK(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  CHECK(piece_bytes_kept(temp.path().string()) <= 20'000);
}
