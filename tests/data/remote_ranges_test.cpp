// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/remote_ranges.hpp>

#include "support/catch.hpp"
#include "support/noise.hpp"
#include "support/temp_directory.hpp"

#include <distrib/net/io_pool.hpp>
#include <distrib/record/error.hpp>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <vector>

#include "data/ranged_files.hpp"

using distrib::as_text;
using distrib::Error;
using distrib::FileExtent;
using distrib::PieceCache;
using distrib::detail::RemoteBytes;
using distrib::detail::RemoteReads;

namespace {

auto all_bytes(RemoteBytes source, Error& error) -> std::string {
  std::string all;
  std::vector<std::byte> to(777);
  while (const std::size_t count = source.read(to, error)) all += as_text(distrib::ByteView{to}.first(count));
  return all;
}

}  // namespace

TEST_CASE("RemoteBytes: a file from its beginning to its end, with any pool and any cache", "[data]") {
  const support::TempDirectory temp;
  distrib::IoPool pool{3};
  for (const std::size_t size : {0U, 1U, 4096U, 4097U, 50'000U})
    for (distrib::IoPool* with : {static_cast<distrib::IoPool*>(nullptr), &pool})
      for (const bool cached : {false, true}) {
        CAPTURE(size, cached, with != nullptr);
        ranged::Files files;
        files.pool = with;
        files.server->version = with != nullptr ? "\"p\"" : "\"n\"";
        files.server->files["f"] = support::noise(size);
        Error error;
        for (int pass = 0; pass < 2; ++pass) {
          std::shared_ptr<PieceCache> cache;
          if (cached) cache = std::make_shared<PieceCache>(temp.path().string(), 1 << 20, error);
          RemoteReads reads{cache};
          const std::size_t file = reads.add(*files.ranged("f", error), "f");
          CHECK((all_bytes(RemoteBytes{reads, file}, error) == files.server->files["f"]));
          CHECK_FALSE(error);
        }
        CHECK(files.server->requests() == (size + 4095) / 4096 * (cached ? 1 : 2));  // each piece once
      }
}

TEST_CASE("RemoteReads: memory of ranges is counted, mapped pieces are not", "[data]") {
  const support::TempDirectory temp;
  ranged::Files files;
  files.server->files["f"] = support::noise(50'000);
  Error error;
  for (const bool cached : {false, true}) {
    RemoteReads reads{cached ? std::make_shared<PieceCache>(temp.path().string(), 1 << 20, error) : nullptr};
    const std::size_t file = reads.add(*files.ranged("f", error), "f");
    CHECK(reads.most_bytes() == 4 * 4096);
    auto range = reads.piece(file, 2);
    CHECK(reads.held_bytes() == 4096);
    CHECK((as_text(range->bytes(error)) == files.server->files["f"].substr(8192, 4096)));
    CHECK(range->is_mapped() == cached);
    CHECK(reads.held_bytes() == (cached ? 0 : 4096));
    CHECK((reads.piece(file, 2) == range) == cached);
    range.reset();
    CHECK(reads.held_bytes() == 0);
  }
}

TEST_CASE("RemoteReads: a piece that could not be fetched is asked for again", "[data]") {
  const support::TempDirectory temp;
  ranged::Files files;
  files.server->files["f"] = support::noise(10'000);
  files.server->fails_at = 5000;
  Error error;
  RemoteReads reads{std::make_shared<PieceCache>(temp.path().string(), 1 << 20, error)};
  const std::size_t file = reads.add(*files.ranged("f", error), "f");
  const auto failed = reads.piece(file, 1);
  CHECK(failed->bytes(error).empty());
  CHECK(error.code == std::errc::connection_reset);
  error = {};
  CHECK(reads.piece(file, 1)->bytes(error).size() == 4096);
  CHECK_FALSE(error);
}

TEST_CASE("unsigned_url: what signs a URL is no part of a file's name in the cache, all else is", "[data]") {
  using distrib::detail::unsigned_url;
  CHECK(unsigned_url("s3://b/k") == "s3://b/k");
  CHECK(unsigned_url("https://u:secret@h/get?file=a&X-Amz-Date=1&part=2&X-Amz-Signature=3") ==
        "https://h/get?file=a&part=2");
  CHECK(unsigned_url("https://h/get?X-Goog-Date=1") == unsigned_url("https://h/get?X-Goog-Date=2"));
  const support::TempDirectory temp;
  ranged::Files files;
  files.server->files = {{"https://h/get?file=a", support::noise(5000, 1)},
                         {"https://h/get?file=b", support::noise(5000, 2)}};
  Error error;
  RemoteReads reads{std::make_shared<PieceCache>(temp.path().string(), 1 << 20, error)};
  for (const auto& [name, bytes] : files.server->files)  // with the same ETag and the same size
    CHECK((all_bytes(RemoteBytes{reads, reads.add(*files.ranged(name, error), name)}, error) == bytes));
}

TEST_CASE("index_remote: where records begin; damage and compression", "[data]") {
  ranged::Files files;
  auto& held = files.server->files;
  held["f"] = ranged::examples(0, 300, 50);
  held["none"] = "";
  held["damaged"] = held["f"];
  held["damaged"][5000] ^= 1;
  held["short"] = held["f"].substr(0, 5000);
  held["header"] = held["f"] + std::string(5, '\0');
  held["packed"] = "\x1f\x8b\x08" + std::string(100, 'x');
  RemoteReads reads{nullptr};
  const auto index = [&](const std::string& name, Error& error) {
    return distrib::detail::index_remote(reads, reads.add(*files.ranged(name, error), name), name, error);
  };
  Error error;
  const auto offsets = index("f", error);
  CHECK_FALSE(error);
  REQUIRE(offsets.size() == 301);
  CHECK(offsets.front() == 0);
  CHECK(offsets.back() == held["f"].size());
  CHECK(index("none", error) == std::vector<std::uint64_t>{0});
  CHECK(index("damaged", error).empty());
  CHECK(error.code == distrib::failure::corrupt);
  CHECK_THAT(error.where, ContainsSubstring("damaged: record "));
  CHECK(index("short", error).empty());
  CHECK(error.code == distrib::record_errc::truncated_payload);
  CHECK(index("header", error).empty());
  CHECK(error.code == distrib::record_errc::truncated_header);
  CHECK(index("packed", error).empty());
  CHECK(error.code == distrib::record_errc::compressed);
  files.server->fails_at = 9000;
  CHECK(index("f", error).empty());
  CHECK_THAT(error.where, ContainsSubstring("(GET f)"));
}

TEST_CASE("index_remote: the cache keeps it, for this content alone", "[data]") {
  const support::TempDirectory temp;
  ranged::Files files;
  files.server->files["f"] = ranged::examples(0, 300, 50);
  Error error;
  std::vector<std::uint64_t> first;
  const auto index = [&] {
    RemoteReads reads{std::make_shared<PieceCache>(temp.path().string(), 8000, error)};  // no room for all pieces
    return distrib::detail::index_remote(reads, reads.add(*files.ranged("f", error), "f"), "f", error);
  };
  const auto offsets = index();
  REQUIRE(offsets.size() == 301);
  files.server->forget();
  CHECK(index() == offsets);
  CHECK(files.server->requests() == 0);
  files.server->version = "\"2\"";
  CHECK(index() == offsets);
  CHECK(files.server->requests() > 0);
  for (const char* const unknown : {"", ""}) {  // not recognised later
    files.server->version = unknown;
    files.server->forget();
    CHECK(index() == offsets);
    CHECK(files.server->requests() > 0);
  }
}

TEST_CASE("share_out: every number once, with helpers and without; throws what a call threw", "[data]") {
  distrib::IoPool pool{3};
  for (const bool helped : {false, true})
    for (const std::size_t count : {0U, 1U, 2U, 100U}) {
      std::function<void(std::function<void()>)> post;
      if (helped) post = [&](std::function<void()> job) { asio::post(pool.executor(), std::move(job)); };
      std::vector<std::atomic<int>> calls(count);
      distrib::detail::share_out(post, 3, count, [&](std::size_t i) { ++calls[i]; });
      for (const auto& each : calls) CHECK(each == 1);
      if (count == 0) continue;
      const auto fails = [&](std::size_t i) {
        if (i == count / 2) throw std::runtime_error{"this one"};
      };
      CHECK_THROWS_WITH(distrib::detail::share_out(post, 3, count, fails), "this one");
    }
}
