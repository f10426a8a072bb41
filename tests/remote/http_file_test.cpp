// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/http_file.hpp>

#include "support/catch.hpp"
#include "support/http_server.hpp"
#include "support/noise.hpp"

#include <distrib/data/record_files.hpp>
#include <distrib/data/remote_tfrecords.hpp>
#include <distrib/record/any_byte_source.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/record/remote_files.hpp>

#include <map>

using namespace std::chrono_literals;
using distrib::Error;
using distrib::http_errc;
using distrib::HttpFile;
using distrib::HttpFiles;
using support::HttpAsked;
using support::HttpSaid;
using support::HttpServer;
using support::noise;

static_assert(distrib::ByteSource<HttpFile>);
static_assert(distrib::RemoteFiles<HttpFiles>);

namespace {

/// The answer of a server that supports ranges, for the file `bytes`.
auto part_of(const std::string& bytes, const HttpAsked& asked, const std::string& etag = "\"v1\"") -> HttpSaid {
  const std::string name = "Range: bytes=";
  const std::size_t at = asked.headers.find(name);
  if (at == std::string::npos) return HttpSaid::answer(200, bytes);
  std::size_t used = 0;
  const std::string range = asked.headers.substr(at + name.size());
  const std::size_t first = std::stoul(range, &used);
  const std::size_t last = std::min(std::stoul(range.substr(used + 1)), bytes.empty() ? 0 : bytes.size() - 1);
  if (first >= bytes.size())
    return HttpSaid::answer(416, "", "Content-Range: bytes */" + std::to_string(bytes.size()) + "\r\n");
  const auto has = [&asked](const std::string& text) { return asked.headers.find(text) != std::string::npos; };
  if (has("If-Range") && !has("If-Range: " + etag)) return HttpSaid::answer(200, bytes);
  return HttpSaid::answer(206, bytes.substr(first, last - first + 1),
                          "Content-Range: bytes " + std::to_string(first) + '-' + std::to_string(last) + '/' +
                              std::to_string(bytes.size()) + "\r\nETag: " + etag + "\r\n");
}

auto read_all(HttpFile& file, Error& error, std::size_t piece = 1000) -> std::string {
  std::string all;
  std::vector<std::byte> to(piece);
  while (const std::size_t count = file.read(to, error)) all += distrib::as_text(distrib::ByteView{to}.first(count));
  return all;
}

const distrib::HttpReadOptions hasty_http{.http = {.idle_timeout = 500ms, .timeout = 3s},
                                          .retry = {.attempts = 4, .first_pause = 1ms, .longest_pause = 2ms},
                                          .piece_bytes = 10'000};

}  // namespace

TEST_CASE("HttpFile: the whole file in pieces, without a pool and with one", "[net]") {
  const std::string bytes = noise(123'456);
  HttpServer server{[&](const HttpAsked& asked) { return part_of(bytes, asked); }};
  distrib::IoPool pool{3};
  for (distrib::IoPool* with : {static_cast<distrib::IoPool*>(nullptr), &pool}) {
    distrib::HttpReadOptions options = hasty_http;
    options.pool = with;
    HttpFile file{server.url() + "/f", options};
    Error error;
    CHECK((read_all(file, error) == bytes));
    CHECK_FALSE(error);
    CHECK(file.read({}, error) == 0);
  }
  CHECK(server.asked().size() == 2 * (1 + 13));
}

TEST_CASE("HttpFile: sizes around multiples of the piece size", "[net]") {
  distrib::IoPool pool{2};
  for (const std::size_t size : {0U, 1U, 9'999U, 10'000U, 10'001U, 40'000U, 50'001U}) {
    const std::string bytes = noise(size);
    HttpServer server{[&](const HttpAsked& asked) { return part_of(bytes, asked); }};
    distrib::HttpReadOptions options = hasty_http;
    options.pool = &pool;
    HttpFile file{server.url() + "/f", options};
    Error error;
    CAPTURE(size);
    CHECK((read_all(file, error, 7'777) == bytes));
    CHECK_FALSE(error);
  }
}

TEST_CASE("HttpFile: continues at the same byte after a lost connection", "[net]") {
  const std::string bytes = noise(100'000);
  std::size_t asked_bytes = 0;
  HttpServer server{[&, n = 0](const HttpAsked& asked) mutable {
    HttpSaid said = part_of(bytes, asked);
    const std::size_t body = said.bytes.find("\r\n\r\n") + 4;
    asked_bytes += said.bytes.size() - body;
    if (++n % 3 == 0) said = {.bytes = said.bytes.substr(0, body + (said.bytes.size() - body) / 2)};
    if (n % 7 == 0) said = {.bytes = ""};
    return said;
  }};
  distrib::IoPool pool{2};
  distrib::HttpReadOptions options = hasty_http;
  options.retry = {.attempts = 8, .first_pause = std::chrono::milliseconds{1}, .progress_bytes = 1};
  options.pool = &pool;
  HttpFile file{server.url() + "/f", options};
  Error error;
  CHECK((read_all(file, error) == bytes));
  CHECK_FALSE(error);
  CHECK(asked_bytes < 160'000);  // bytes that had arrived were not requested again
}

TEST_CASE("HttpFile: notices that the file was replaced", "[net]") {
  const std::string bytes = noise(100'000);
  HttpServer server{
      [&, n = 0](const HttpAsked& asked) mutable { return part_of(bytes, asked, ++n < 4 ? "\"v1\"" : "\"v2\""); }};
  HttpFile file{server.url() + "/f?key=secret", hasty_http};
  Error error;
  CHECK(read_all(file, error).size() == 20'000);
  CHECK(error.code == http_errc::changed);
  CHECK_THAT(error.where, ContainsSubstring(server.url() + "/f (status 200)"));
  CHECK(file.read({}, error) == 0);  // reports the same failure again
  CHECK(error.code == http_errc::changed);
}

TEST_CASE("HttpFile: reports why a file cannot be read", "[net]") {
  const std::map<std::string, std::pair<HttpSaid, http_errc>> rows{
      {"/whole", {HttpSaid::answer(200, "whole"), http_errc::no_ranges}},
      {"/none", {HttpSaid::answer(404, "no"), http_errc::bad_status}},
      {"/busy", {HttpSaid::answer(503, "no"), http_errc::bad_status}},
      {"/loop", {HttpSaid::redirect("/loop"), http_errc::redirect_loop}},
      {"/out", {HttpSaid::redirect("file:///etc/passwd"), http_errc::bad_redirect}},
      {"/cut", {{.bytes = "HTTP/1.1 206"}, http_errc::ended_early}},
  };
  HttpServer server{[&](const HttpAsked& asked) { return rows.at(asked.path()).first; }};
  for (const auto& [path, expected] : rows) {
    CAPTURE(path);
    HttpFile file{server.url() + path, hasty_http};
    Error error;
    CHECK(read_all(file, error).empty());
    CHECK(error.code == expected.second);
    CHECK_THAT(error.where, ContainsSubstring("GET " + server.url() + path));
  }
  for (const char* url : {"gopher://x/a?sig=SECRET", "http://me:SECRET@x/a"}) {
    HttpFile file{url, hasty_http};
    Error error;
    CHECK(read_all(file, error).empty());
    CHECK(error.code == http_errc::bad_url);
    CHECK_THAT(error.where, ContainsSubstring("://x/a") && !ContainsSubstring("SECRET"));
  }
}

TEST_CASE("tfrecords: failures behind HTTP servers name a URL without its query", "[net]") {
  HttpServer server{[](const HttpAsked& asked) {
    if (asked.path() == "/none") return HttpSaid::answer(404, "no");
    return HttpSaid{.bytes = "HTTP/1.1 206 X\r\nContent-Range: bytes 0-19/20\r\nContent-Length: 20\r\n\r\n" +
                             std::string(20, 'x')};
  }};
  for (const std::string path : {"/damaged", "/none"}) {
    CAPTURE(path);
    const auto files = distrib::http_files({server.url() + path + "?sig=SECRET"}, hasty_http);
    CHECK(files.name() == server.url() + path);
    Error error;
    auto stream = distrib::tfrecords(files).stream();
    CHECK(!stream.next(error));
    CHECK(error);
    CHECK_THAT(error.where, ContainsSubstring(server.url() + path + ": record 0") && !ContainsSubstring("SECRET"));
    error = {};
    const distrib::RemoteOpening opening{
        [&](const std::string& name) { return distrib::AnyByteSource{files.open(name)}; }};
    distrib::RecordFiles{files.find(error), {}, error, opening};
    CHECK(error);
    CHECK_THAT(error.where, ContainsSubstring(server.url() + path + ": record 0") && !ContainsSubstring("SECRET"));
  }
}

TEST_CASE("HttpFile: refuses an answer whose Content-Length does not match the range", "[net]") {
  HttpServer server{[&](const HttpAsked&) {
    return HttpSaid{.bytes = "HTTP/1.1 206 X\r\nContent-Range: bytes 0-0/50\r\nContent-Length: 1000000\r\n\r\nx"};
  }};
  HttpFile file{server.url() + "/f", hasty_http};
  Error error;
  CHECK(read_all(file, error).empty());
  CHECK(error.code == http_errc::bad_answer);
}

TEST_CASE("HttpFile: destroyed half-way, waits for no thread", "[net]") {
  const std::string bytes = noise(100'000);
  distrib::IoPool pool{2};
  HttpServer server{[&](const HttpAsked& asked) {
    HttpSaid said = part_of(bytes, asked);
    if (asked.headers.find("bytes=0-") == std::string::npos) said = {.bytes = "", .hang = true};
    return said;
  }};
  distrib::HttpReadOptions options = hasty_http;
  options.pool = &pool;
  HttpFile file{server.url() + "/f", options};
  std::vector<std::byte> to(10);
  Error error;
  CHECK(file.read(to, error) == 10);
}

TEST_CASE("tfrecords: reads files from an HTTP server", "[net]") {
  std::string file;
  for (int i = 0; i < 1000; ++i) {
    const std::string payload = "record " + std::to_string(i);
    file += distrib::as_text(distrib::encode_record_header(payload.size()));
    file += payload;
    file += distrib::as_text(distrib::encode_record_footer(distrib::as_bytes(payload)));
  }
  HttpServer server{[&](const HttpAsked& asked) {
    return asked.path() == "/gone" ? HttpSaid::answer(404, "") : part_of(file, asked);
  }};
  auto records =
      distrib::tfrecords(distrib::http_files({server.url() + "/a", server.url() + "/b"}, hasty_http)).stream();
  Error error;
  int count = 0;
  while (const auto record = records.next(error))
    CHECK(distrib::as_text(record->bytes) == "record " + std::to_string(count++ % 1000));
  CHECK_FALSE(error);
  CHECK(count == 2000);

  auto gone = distrib::tfrecords(distrib::http_files({server.url() + "/gone"}, hasty_http)).stream();
  CHECK_FALSE(gone.next(error));
  CHECK(error.code == http_errc::bad_status);
  CHECK(error.where == server.url() + "/gone: record 0 at offset 0 (GET " + server.url() + "/gone (status 404))");
}
