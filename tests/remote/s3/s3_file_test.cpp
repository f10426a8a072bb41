// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/s3/s3_file.hpp>

#include "support/catch.hpp"
#include "support/fake_s3.hpp"
#include "support/noise.hpp"

#include <distrib/record/byte_source.hpp>

using distrib::Error;
using distrib::s3_errc;
using distrib::S3File;
using distrib::S3Options;
using support::FakeS3;
using support::HttpAsked;
using support::HttpSaid;

static_assert(distrib::ByteSource<S3File>);

namespace {

auto read_object(S3File& file, Error& error) -> std::string {
  std::string all;
  std::vector<std::byte> to(7'777);
  while (const std::size_t count = file.read(to, error)) all += distrib::as_text(distrib::ByteView{to}.first(count));
  return all;
}

}  // namespace

TEST_CASE("S3File: an object in pieces, without a pool and with one", "[remote][s3]") {
  FakeS3 store;
  distrib::IoPool pool{3};
  for (const std::size_t size : {0U, 1U, 10'000U, 123'456U}) {
    store.objects["k"] = {support::noise(size), "\"e\""};
    for (distrib::IoPool* with : {static_cast<distrib::IoPool*>(nullptr), &pool}) {
      S3Options options = store.options();
      options.piece_bytes = 10'000;
      options.pool = with;
      S3File file{store.object("k"), options};
      Error error;
      CHECK((read_object(file, error) == store.objects["k"].bytes));
      CHECK_FALSE(error);
    }
  }
  CHECK(store.asked().size() == 2 * (4 + 0 + 1 + 1 + 13));  // HEAD, then a request a piece
}

TEST_CASE("S3File: an object that changes while it is read, cut bodies, lying ranges", "[remote][s3]") {
  FakeS3 store;
  store.objects["k"] = {support::noise(100'000), "\"e\""};
  S3Options options = store.options();
  options.piece_bytes = 10'000;
  Error error;
  S3File changed{store.object("k"), options};
  store.instead = [&, n = 0](const HttpAsked&, const HttpSaid&) mutable -> std::optional<HttpSaid> {
    if (++n == 4) store.objects["k"].etag = "\"f\"";
    return std::nullopt;
  };
  CHECK(read_object(changed, error).size() == 30'000);
  CHECK(error.code == s3_errc::changed);
  CHECK_THAT(error.where, ContainsSubstring("s3://bucket/k"));

  options.retry.progress_bytes = 1;
  S3File cut{store.object("k"), options};
  store.instead = [n = 0](const HttpAsked& asked, const HttpSaid& right) mutable -> std::optional<HttpSaid> {
    if (asked.method == "HEAD" || ++n % 2 == 0) return std::nullopt;
    return HttpSaid{.bytes = right.bytes.substr(0, right.bytes.size() - 3'000)};
  };
  CHECK((read_object(cut, error) == store.objects["k"].bytes));
  CHECK_FALSE(error);

  S3File lying{store.object("k"), options};
  store.instead = [](const HttpAsked& asked, const HttpSaid&) -> std::optional<HttpSaid> {
    if (asked.method == "HEAD") return std::nullopt;
    return HttpSaid::answer(206, std::string(10'000, 'x'), "Content-Range: bytes 10000-19999/100000\r\n");
  };
  CHECK(read_object(lying, error).empty());
  CHECK(error.code == s3_errc::bad_answer);
}

TEST_CASE("S3File: reports what cannot be opened", "[remote][s3]") {
  FakeS3 store;
  Error error;
  S3File none{store.object("none"), store.options()};
  CHECK(read_object(none, error).empty());
  CHECK(error.code == s3_errc::no_such_object);
  S3File wrong{"s3:/bucket/k", store.options()};
  CHECK(read_object(wrong, error).empty());
  CHECK(error.code == s3_errc::bad_url);
}
