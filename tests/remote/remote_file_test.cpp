// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/remote_file.hpp>

#include "support/catch.hpp"
#include "support/noise.hpp"

#include <distrib/record/byte_source.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using distrib::Error;
using distrib::IoPool;
using support::noise;

namespace {

/// Files in memory, instead of a server.
struct Shelf {
  std::map<std::string, std::string> files;
  std::atomic<int> opened = 0;
  std::atomic<int> clients = 0;
  std::atomic<int> fetched = 0;
  std::atomic<std::uint64_t> fails_at = UINT64_MAX;  ///< Offset of a piece that fails.
  std::atomic<std::uint64_t> throws_at = UINT64_MAX;  ///< Offset of a piece that throws.
  std::atomic<bool>* gate = nullptr;  ///< All pieces except the first wait until it is open.
};

struct ShelfOptions {
  Shelf* shelf = nullptr;
  std::size_t piece_bytes = 10;
  std::size_t pieces_ahead = 3;
  IoPool* pool = nullptr;
};

struct ShelfFetch {
  using Options = ShelfOptions;
  using Client = Shelf*;

  std::string name;
  std::uint64_t size = 0;

  static auto client(const ShelfOptions& options) -> Shelf* {
    ++options.shelf->clients;
    return options.shelf;
  }
  static auto open(const std::string& name, const ShelfOptions& options, Error& error) -> std::optional<ShelfFetch> {
    ++options.shelf->opened;
    const auto found = options.shelf->files.find(name);
    if (found != options.shelf->files.end()) return ShelfFetch{name, found->second.size()};
    error = {std::make_error_code(std::errc::no_such_file_or_directory), name};
    return std::nullopt;
  }
  void operator()(Shelf* shelf, std::uint64_t first, std::span<std::byte> to, const std::atomic<bool>& dropped,
                  Error& error) const {
    ++shelf->fetched;
    if (shelf->gate != nullptr && first != 0) shelf->gate->wait(false);
    if (dropped) return;
    if (first == shelf->throws_at) throw std::bad_alloc{};
    if (first == shelf->fails_at) error = {std::make_error_code(std::errc::io_error), name};
    else shelf->files.at(name).copy(reinterpret_cast<char*>(to.data()), to.size(), first);
  }
};
using ShelfFile = distrib::RemoteFile<ShelfFetch>;

static_assert(distrib::RemoteFetch<ShelfFetch>);
static_assert(distrib::ByteSource<ShelfFile>);

auto read_all(ShelfFile& file, Error& error, std::size_t at_a_time = 7) -> std::string {
  std::string all;
  std::vector<std::byte> to(at_a_time);
  while (const std::size_t count = file.read(to, error)) all += distrib::as_text(distrib::ByteView{to}.first(count));
  return all;
}

}  // namespace

TEST_CASE("RemoteFile: all bytes in order, for any size, any piece size and any pool", "[net]") {
  for (const std::size_t size : {0U, 1U, 9U, 10U, 11U, 30U, 95U}) {
    Shelf shelf;
    shelf.files["f"] = noise(size);
    IoPool pool{3};
    for (IoPool* with : {static_cast<IoPool*>(nullptr), &pool})
      for (const std::size_t ahead : {0U, 1U, 3U, 100U}) {
        CAPTURE(size, ahead, with != nullptr);
        shelf.opened = shelf.fetched = 0;
        ShelfFile file{"f", {.shelf = &shelf, .pieces_ahead = ahead, .pool = with}};
        CHECK(shelf.opened == 0);
        Error error;
        CHECK(read_all(file, error) == shelf.files["f"]);
        CHECK_FALSE(error);
        CHECK(read_all(file, error).empty());
        CHECK(shelf.opened == 1);
        CHECK(shelf.fetched == static_cast<int>((size + 9) / 10));  // each piece once
      }
  }
}

TEST_CASE("RemoteFile: a missing file is looked for again at the next read", "[net]") {
  Shelf shelf;
  ShelfFile file{"f", {.shelf = &shelf}};
  Error error;
  CHECK(read_all(file, error).empty());
  CHECK(error.code == std::errc::no_such_file_or_directory);
  CHECK(error.where == "f");
  shelf.files["f"] = "here";
  CHECK(read_all(file, error) == "here");
  CHECK_FALSE(error);
}

TEST_CASE("RemoteFile: returns the bytes before a failure; the failure is permanent", "[net]") {
  Shelf shelf;
  shelf.files["f"] = noise(95);
  IoPool pool{2};
  for (IoPool* with : {static_cast<IoPool*>(nullptr), &pool}) {
    shelf.fails_at = 40;
    ShelfFile file{"f", {.shelf = &shelf, .pool = with}};
    Error error;
    CHECK(read_all(file, error) == shelf.files["f"].substr(0, 40));
    CHECK(error.code == std::errc::io_error);
    shelf.fails_at = UINT64_MAX;
    error = {};
    CHECK(read_all(file, error).empty());
    CHECK(error.code == std::errc::io_error);
  }
}

TEST_CASE("RemoteFile: throws again what a fetch threw, and skips no piece", "[net]") {
  Shelf shelf;
  shelf.files["f"] = noise(95);
  IoPool pool{2};
  for (const std::uint64_t at : {0U, 40U})
    for (IoPool* with : {static_cast<IoPool*>(nullptr), &pool}) {
      CAPTURE(at, with != nullptr);
      shelf.throws_at = at;
      ShelfFile file{"f", {.shelf = &shelf, .pool = with}};
      Error error;
      std::string all;
      std::vector<std::byte> to(20);
      const auto read_on = [&] {
        while (const std::size_t count = file.read(to, error))
          all += distrib::as_text(distrib::ByteView{to}.first(count));
      };
      CHECK_THROWS_AS(read_on(), std::bad_alloc);
      CHECK_THROWS_AS(read_on(), std::bad_alloc);
      CHECK(all == shelf.files["f"].substr(0, at));
    }
}

TEST_CASE("RemoteFile: files that are read one after the other share clients and memory", "[net]") {
  Shelf shelf;
  shelf.files["a"] = noise(95);
  shelf.files["b"] = noise(41);
  IoPool pool{3};
  for (IoPool* with : {static_cast<IoPool*>(nullptr), &pool}) {
    shelf.clients = 0;
    const auto idle = std::make_shared<distrib::IdlePieces<ShelfFetch>>();
    for (const char* const name : {"a", "b", "a"}) {
      ShelfFile file{name, {.shelf = &shelf, .pool = with}, idle};
      Error error;
      CHECK(read_all(file, error) == shelf.files[name]);
      CHECK_FALSE(error);
    }
    if (with == nullptr) CHECK(shelf.clients == 1);  // a thread may give its piece back a little later
    CHECK(idle->take({.shelf = &shelf}).bytes.capacity() >= 10);
  }
}

TEST_CASE("RemoteFile: destroyed half-way, waits for no thread", "[net]") {
  Shelf shelf;
  shelf.files["f"] = noise(95);
  std::atomic<bool> gate = false;
  shelf.gate = &gate;
  IoPool pool{2};
  {
    ShelfFile file{"f", {.shelf = &shelf, .pool = &pool}};
    ShelfFile moved{std::move(file)};
    Error error;
    std::vector<std::byte> to(20);
    CHECK(moved.read(to, error) == 10);
  }
  gate = true;
  gate.notify_all();
  pool.join();
  CHECK(shelf.fetched <= 3);
}
