// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/s3/s3_writer.hpp>

#include "support/catch.hpp"
#include "support/fake_s3.hpp"
#include "support/noise.hpp"

#include <algorithm>
#include <chrono>

using distrib::as_bytes;
using distrib::Error;
using distrib::s3_errc;
using distrib::S3Options;
using distrib::S3Writer;
using support::FakeS3;
using support::HttpAsked;
using support::HttpSaid;
using Kinds = std::vector<std::string>;

namespace {

constexpr std::size_t part_size = 5 << 20;

auto options_of(const FakeS3& store, distrib::IoPool* pool = nullptr) -> S3Options {
  S3Options options = store.options();
  options.part_bytes = part_size;
  options.pool = pool;
  options.http.timeout = options.http.idle_timeout = std::chrono::minutes{2};  // megabytes, also under a sanitizer
  return options;
}

/// Writes `bytes` in uneven portions.
void write_all(S3Writer& writer, const std::string& bytes, Error& error) {
  for (std::size_t at = 0; at < bytes.size() && !error; at += 1'234'567)
    writer.write(as_bytes(bytes).subspan(at, std::min<std::size_t>(1'234'567, bytes.size() - at)), error);
}

}  // namespace

TEST_CASE("S3Writer: a short object is one request", "[remote][s3]") {
  FakeS3 store;
  for (const std::string bytes : {"", "12345"}) {
    S3Writer writer{store.object("k"), options_of(store)};
    Error error;
    writer.write(as_bytes(bytes), error);
    CHECK(writer.bytes() == bytes.size());
    writer.close(error);
    CHECK_FALSE(error);
    CHECK(store.bytes_of("k") == bytes);
    CHECK(writer.version() == store.objects["k"].etag);
    writer.close(error);
    CHECK_FALSE(error);
    writer.write(as_bytes("x"), error);
    CHECK(error.code == s3_errc::closed);
  }
  CHECK(store.kinds() == Kinds{"PUT", "PUT"});
}

TEST_CASE("S3Writer: parts, without a pool and with one; visible when whole", "[remote][s3]") {
  distrib::IoPool pool{2};
  const std::string bytes = support::noise(3 * part_size + 1000);
  for (const bool gcs : {false, true})
    for (distrib::IoPool* with : {static_cast<distrib::IoPool*>(nullptr), &pool}) {
      FakeS3 store{gcs};
      store.least_part_bytes = part_size;
      S3Writer writer{store.object("dir/k"), options_of(store, with)};
      Error error;
      write_all(writer, bytes, error);
      CHECK_FALSE(error);
      CHECK(store.bytes_of("dir/k") == "(none)");
      writer.close(error);
      CHECK_FALSE(error);
      CHECK((store.bytes_of("dir/k") == bytes));
      CHECK(writer.bytes() == bytes.size());
      CHECK(store.asked().size() == 1 + 4 + 1);
      CHECK(store.uploads.empty());
      const HttpAsked complete = store.asked().back();
      CHECK(FakeS3::header(complete, "x-amz-checksum-type") == (gcs ? "" : "FULL_OBJECT"));
    }
}

TEST_CASE("S3Writer: an object of exactly whole parts, and parts whose answers are lost", "[remote][s3]") {
  FakeS3 store;
  store.instead = [n = 0](const HttpAsked& asked, const HttpSaid&) mutable -> std::optional<HttpSaid> {
    if (asked.method != "PUT" || n++ % 2 != 0) return std::nullopt;
    return HttpSaid{.bytes = ""};
  };
  const std::string bytes = support::noise(2 * part_size);
  S3Writer writer{store.object("k"), options_of(store)};
  Error error;
  write_all(writer, bytes, error);
  writer.close(error);
  CHECK_FALSE(error);
  CHECK((store.bytes_of("k") == bytes));
  CHECK(store.kinds() ==
        Kinds{"POST uploads", "PUT partNumber", "PUT partNumber", "PUT partNumber", "PUT partNumber", "POST uploadId"});
}

TEST_CASE("S3Writer: Complete whose answer is lost, or has an error", "[remote][s3]") {
  const std::string bytes = support::noise(part_size);
  for (const bool forgets : {true, false}) {
    FakeS3 store;
    store.forgets_uploads = forgets;
    store.instead = [lost = false](const HttpAsked& asked, const HttpSaid&) mutable -> std::optional<HttpSaid> {
      if (asked.method != "POST" || asked.target.ends_with("uploads=") || std::exchange(lost, true))
        return std::nullopt;
      return HttpSaid{.bytes = ""};
    };
    S3Writer writer{store.object("k"), options_of(store)};
    Error error;
    write_all(writer, bytes, error);
    writer.close(error);
    CHECK_FALSE(error);
    CHECK((store.bytes_of("k") == bytes));
    CHECK(writer.version() == store.objects["k"].etag);
    CHECK(store.kinds().back() == (forgets ? "HEAD" : "POST uploadId"));
  }
  FakeS3 store;
  store.refuse = [n = 0](const HttpAsked& asked) mutable -> std::optional<HttpSaid> {
    if (asked.method != "POST" || asked.target.ends_with("uploads=") || n++ != 0) return std::nullopt;
    return FakeS3::error(200, "InternalError");
  };
  S3Writer writer{store.object("k"), options_of(store)};
  Error error;
  write_all(writer, bytes, error);
  writer.close(error);
  CHECK_FALSE(error);
  CHECK((store.bytes_of("k") == bytes));

  // another process ends the upload and writes the object: that is not taken for the own one
  FakeS3 other;
  S3Writer aborted{other.object("k"), options_of(other)};
  write_all(aborted, bytes, error);
  other.uploads.clear();
  other.objects["k"] = {bytes, "\"e\""};
  aborted.close(error);
  CHECK(error.code == s3_errc::no_such_upload);
}

TEST_CASE("S3Writer: the first failure sticks, and the upload is aborted", "[remote][s3]") {
  FakeS3 store;
  distrib::IoPool pool{2};
  store.refuse = [](const HttpAsked& asked) -> std::optional<HttpSaid> {
    if (asked.parameter("partNumber") != "2") return std::nullopt;
    return FakeS3::error(403, "AccessDenied");
  };
  Error error;
  {
    S3Writer writer{store.object("k"), options_of(store, &pool)};
    write_all(writer, support::noise(2 * part_size + 5), error);
    writer.close(error);
    CHECK(error.code == s3_errc::denied);
    CHECK_THAT(error.where, ContainsSubstring("PUT s3://bucket/k") && !ContainsSubstring("uploadId"));
    writer.write(as_bytes("x"), error);
    CHECK(error.code == s3_errc::denied);
    CHECK_THROWS_WITH(writer.close(), ContainsSubstring("AccessDenied"));
  }
  CHECK(store.uploads.empty());
  CHECK(store.kinds().back() == "DELETE uploadId");
  CHECK(store.bytes_of("k") == "(none)");

  store.refuse = nullptr;
  {
    S3Writer dropped{store.object("k"), options_of(store)};
    write_all(dropped, support::noise(part_size), error = {});
    CHECK(store.uploads.size() == 1);
  }
  CHECK(store.uploads.empty());
  CHECK(store.bytes_of("k") == "(none)");
}

TEST_CASE("S3Writer: wrong URLs are reported by every call", "[remote][s3]") {
  for (const char* url : {"s3://bucket", "s3://bucket/", "http://h/k"}) {
    S3Writer writer{url};
    Error error;
    writer.write(as_bytes("x"), error);
    CHECK(error.code == s3_errc::bad_url);
    writer.close(error);
    CHECK(error.code == s3_errc::bad_url);
  }
}
