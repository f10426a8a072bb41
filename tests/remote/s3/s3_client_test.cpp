// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/s3/s3_client.hpp>

#include "support/catch.hpp"
#include "support/fake_s3.hpp"
#include "support/noise.hpp"

#include <atomic>

using distrib::as_bytes;
using distrib::Error;
using distrib::http_errc;
using distrib::ObjectInfo;
using distrib::s3_errc;
using distrib::S3Client;
using distrib::S3Options;
using support::FakeS3;
using support::HttpAsked;
using support::HttpSaid;
using Kinds = std::vector<std::string>;

static_assert(distrib::ObjectStore<S3Client>);

namespace {

auto text_of(const std::vector<std::byte>& bytes) -> std::string { return std::string{distrib::as_text(bytes)}; }

/// Refuses the first `count` requests whose method is `method` with `said`.
auto first_times(int count, const std::string& method, HttpSaid said) {
  return [=](const HttpAsked& asked) mutable -> std::optional<HttpSaid> {
    if (asked.method != method || count-- <= 0) return std::nullopt;
    return said;
  };
}

/// Performs the first request of this method, and cuts its answer off.
auto lost_once(const std::string& method) {
  return [method, lost = false](const HttpAsked& asked, const HttpSaid&) mutable -> std::optional<HttpSaid> {
    if (asked.method != method || std::exchange(lost, true)) return std::nullopt;
    return HttpSaid{.bytes = ""};
  };
}

}  // namespace

TEST_CASE("S3Client: writes, reads, copies and removes objects", "[remote][s3]") {
  FakeS3 store;
  S3Client client{store.object(), store.options()};
  Error error;
  const std::string version = client.put("dir/a b", as_bytes("0123456789"), error);
  CHECK_FALSE(error);
  const ObjectInfo info = client.info("dir/a b", error);
  CHECK(info.bytes == 10);
  CHECK(info.version == version);
  CHECK(info.modified_seconds == 1'369'353'600);
  CHECK(text_of(client.get("dir/a b", 10, error)) == "0123456789");
  std::array<std::byte, 3> middle{};
  client.get_range("dir/a b", 4, middle, version, error);
  CHECK_FALSE(error);
  CHECK(distrib::as_text(middle) == "456");
  ObjectInfo end;
  CHECK(text_of(client.get_end("dir/a b", 4, end, error)) == "6789");
  CHECK(end.bytes == 10);
  CHECK(text_of(client.get_end("dir/a b", 99, end, error)) == "0123456789");
  client.copy("dir/a b", "copy", error);
  CHECK_FALSE(error);
  CHECK(store.bytes_of("copy") == "0123456789");
  client.remove("dir/a b", error);
  CHECK_FALSE(error);
  client.remove("dir/a b", error);
  CHECK_FALSE(error);  // there is none any more
  static_cast<void>(client.info("dir/a b", error));
  CHECK(error.code == s3_errc::no_such_object);
  CHECK(client.get("copy", 9, error).empty());
  CHECK(error.code == s3_errc::too_large);
  client.put("empty", {}, error);
  CHECK_FALSE(error);
  CHECK(client.get("empty", 0, error).empty());
  CHECK_FALSE(error);
  CHECK(client.get_end("empty", 4, end, error).empty());
  CHECK_FALSE(error);
  CHECK(end.bytes == 0);
  CHECK_THROWS_WITH(client.info("none"), ContainsSubstring("HEAD s3://bucket/none at " + store.url()));
}

TEST_CASE("S3Client: keys of all kinds", "[remote][s3]") {
  for (const auto encoding : {FakeS3::Encoding::none, FakeS3::Encoding::percent, FakeS3::Encoding::plus}) {
    FakeS3 store;
    store.encoding = encoding;
    S3Client client{store.object(), store.options()};
    Error error;
    std::vector<std::string> keys{
        "a b+c",        "x=y&z?w#v%25", "\xc3\xbc/\xe6\x97\xa5\xe6\x9c\xac", "tilde~star*(par)'q!",
        "two//slashes", "dot/../x",     "com,ma;semi:colon@at$<&>\""};
    for (const std::string& key : keys) {
      client.put(key, as_bytes(key), error);
      CHECK_FALSE(error);
      CHECK(text_of(client.get(key, 100, error)) == key);
    }
    std::sort(keys.begin(), keys.end());
    std::vector<std::string> listed;
    for (const ObjectInfo& info : client.list("", error)) listed.push_back(info.key);
    CHECK_FALSE(error);
    CHECK(listed == keys);
  }
}

TEST_CASE("S3Client: listings in pages, and directories", "[remote][s3]") {
  FakeS3 store;
  store.page_keys = 10;
  for (int i = 100; i < 125; ++i)
    store.objects["p/" + std::to_string(i % 5) + '/' + std::to_string(i)] = {"x", "\"e\""};
  store.objects["q"] = {"xy", "\"f\""};
  S3Client client{store.object(), store.options()};
  Error error;
  CHECK(client.list("p/", error).size() == 25);
  CHECK(store.asked().size() == 3);
  CHECK(client.list_first("p/", error).size() == 10);
  CHECK(store.asked().size() == 4);
  CHECK(client.list("", error).size() == 26);
  CHECK(client.list("q", error) == std::vector<ObjectInfo>{{"q", 2, "\"f\"", 1'369'353'600}});
  CHECK(client.list("none", error).empty());
  CHECK_FALSE(error);
  CHECK(client.list_prefixes("p/", "/", error) == std::vector<std::string>{"p/0/", "p/1/", "p/2/", "p/3/", "p/4/"});
}

TEST_CASE("S3Client: 100,000 keys are listed by 100 requests", "[remote][s3]") {
  FakeS3 store;
  for (int i = 0; i < 100'000; ++i) store.objects["train-" + std::to_string(1'000'000 + i)] = {"", "\"e\""};
  S3Client client{store.object(), store.options()};
  Error error;
  const auto all = client.list("train-", error);
  CHECK_FALSE(error);
  CHECK(all.size() == 100'000);
  CHECK(store.asked().size() == 100);
}

TEST_CASE("S3Client: a listing that does not end is refused", "[remote][s3]") {
  const std::string object = "<Contents><Key>K</Key><Size>1</Size></Contents>";
  const auto page = [](const std::string& body, const std::string& token) {
    return HttpSaid::answer(200, "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>" + token +
                                     "</NextContinuationToken>" + body + "</ListBucketResult>");
  };
  for (int row = 0; row < 3; ++row) {
    FakeS3 store;
    store.refuse = [&, n = 0](const HttpAsked&) mutable -> std::optional<HttpSaid> {
      ++n;
      if (row == 0) return page("<Contents><Key>" + std::to_string(1000 + n) + "</Key><Size>1</Size></Contents>", "t");
      if (row == 1) return page(object, std::to_string(n));
      return page("", std::to_string(n));
    };
    S3Client client{store.object(), store.options()};
    Error error;
    CHECK(client.list("", error).size() < 3);
    CHECK(error.code == s3_errc::bad_answer);
    CHECK(store.asked().size() <= (row == 2 ? 100 : 3));
  }
}

TEST_CASE("S3Client: a page of a listing may be empty and not the last", "[remote][s3]") {
  FakeS3 store;
  store.objects["k"] = {"x", "\"e\""};
  store.refuse = first_times(3, "GET",
                             HttpSaid::answer(200,
                                              "<ListBucketResult><IsTruncated>true</IsTruncated>"
                                              "<NextContinuationToken>token=a</NextContinuationToken>"
                                              "</ListBucketResult>"));
  store.refuse = [refuse = store.refuse, n = 0](const HttpAsked& asked) mutable -> std::optional<HttpSaid> {
    auto said = refuse(asked);
    if (said) said->bytes.replace(said->bytes.find("token=a") + 6, 1, std::to_string(n++));
    return said;
  };
  S3Client client{store.object(), store.options()};
  Error error;
  CHECK(client.list("", error).size() == 1);
  CHECK_FALSE(error);
  CHECK(store.asked().size() == 4);
}

TEST_CASE("S3Client: a listing without end that goes forward has a limit", "[remote][s3]") {
  FakeS3 store;
  store.refuse = [n = 0](const HttpAsked&) mutable -> std::optional<HttpSaid> {
    const std::string number = std::to_string(1'000'000 + n++);
    return HttpSaid::answer(200, "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>" + number +
                                     "</NextContinuationToken><Contents><Key>" + number +
                                     "</Key><Size>1</Size></Contents></ListBucketResult>");
  };
  S3Client client{store.object(), store.options()};
  Error error;
  static_cast<void>(client.list("", error));
  CHECK(error.code == s3_errc::too_large);
}

TEST_CASE("S3Client: conditions", "[remote][s3]") {
  for (const bool gcs : {false, true}) {
    FakeS3 store{gcs};
    S3Client client{store.object(), store.options()};
    Error error;
    const std::string first = client.put_if_absent("k", as_bytes("1"), error);
    CHECK_FALSE(error);
    client.put_if_absent("k", as_bytes("2"), error);
    CHECK(error.code == s3_errc::condition_failed);
    const std::string second = client.replace_if_version("k", as_bytes("3"), first, error);
    CHECK_FALSE(error);
    CHECK(second != first);
    client.replace_if_version("k", as_bytes("4"), first, error);
    CHECK(error.code == s3_errc::condition_failed);
    CHECK(store.bytes_of("k") == "3");
    CHECK(client.list("", error).front().version == second);
    CHECK(client.info("k", error).version == second);
    std::array<std::byte, 1> to{};
    client.get_range("k", 0, to, first, error);
    CHECK(error.code == s3_errc::changed);
    client.replace_if_version("none", as_bytes("5"), first, error);
    CHECK((error.code == s3_errc::no_such_object || error.code == s3_errc::condition_failed));
  }
}

TEST_CASE("S3Client: a conditional write whose answer was lost is found again", "[remote][s3]") {
  for (const bool gcs : {false, true}) {
    FakeS3 store{gcs};
    store.instead = lost_once("PUT");
    S3Client client{store.object(), store.options()};
    Error error;
    const std::string version = client.put_if_absent("k", as_bytes("own"), error);
    CHECK_FALSE(error);
    CHECK(store.kinds() == Kinds{"PUT", "PUT", "HEAD"});
    store.instead = lost_once("PUT");
    const std::string next = client.replace_if_version("k", as_bytes("newer"), version, error);
    CHECK_FALSE(error);
    CHECK(client.info("k", error).version == next);
    CHECK(store.bytes_of("k") == "newer");

    // another writer's object is not taken for the own one
    store.objects.clear();
    store.instead = nullptr;
    store.refuse = [&, n = 0](const HttpAsked& asked) mutable -> std::optional<HttpSaid> {
      if (asked.method != "PUT" || n++ != 0) return std::nullopt;
      store.objects["k"] = {"owm", "\"other\"", 7, {}};
      return HttpSaid{.bytes = ""};
    };
    client.put_if_absent("k", as_bytes("own"), error);
    CHECK(error.code == s3_errc::condition_failed);
    CHECK(store.bytes_of("k") == "owm");
  }
}

TEST_CASE("S3Client: a conditional write to which a proxy answers 503 is found again", "[remote][s3]") {
  FakeS3 store;
  store.instead = [n = 0](const HttpAsked& asked, const HttpSaid&) mutable -> std::optional<HttpSaid> {
    if (asked.method != "PUT" || n++ != 0) return std::nullopt;
    return HttpSaid::answer(503, "upstream connect error or disconnect/reset before headers");
  };
  S3Client client{store.object(), store.options()};
  Error error;
  client.put_if_absent("k", as_bytes("own"), error);
  CHECK_FALSE(error);
  CHECK(store.kinds() == Kinds{"PUT", "PUT", "HEAD"});
}

TEST_CASE("S3Client: copies in parts, of one version of the source", "[remote][s3]") {
  for (const bool gcs : {false, true}) {
    FakeS3 store{gcs};
    const std::string bytes = support::noise(10'500);
    store.objects["from"] = {bytes, "\"e\""};
    S3Client client{store.object(), store.options()};
    Error error;
    client.copy("from", "to", error, 4'000);
    CHECK_FALSE(error);
    CHECK((store.bytes_of("to") == bytes));
    CHECK(store.kinds() ==
          Kinds{"HEAD", "POST uploads", "PUT partNumber", "PUT partNumber", "PUT partNumber", "POST uploadId"});
    CHECK(store.uploads.empty());

    // Complete whose answer is lost
    store.instead = [n = 0](const HttpAsked& asked, const HttpSaid&) mutable -> std::optional<HttpSaid> {
      if (asked.method != "POST" || asked.target.find("uploadId") == std::string::npos || n++ != 0) return std::nullopt;
      return HttpSaid{.bytes = ""};
    };
    client.copy("from", "again", error, 4'000);
    CHECK_FALSE(error);
    CHECK((store.bytes_of("again") == bytes));

    // a source that is replaced between two parts, and one that is replaced before a copy by one request
    for (const std::uint64_t part : {4'000U, 99'000U}) {
      store.instead = [&, n = 0](const HttpAsked& asked, const HttpSaid&) mutable -> std::optional<HttpSaid> {
        if (asked.method == (part == 4'000U ? "PUT" : "HEAD") && n++ == 0)
          store.objects["from"] = {support::noise(10'500, 2), "\"other\"", 99, {}};
        return std::nullopt;
      };
      store.objects["from"] = {bytes, "\"e\""};
      client.copy("from", "mixed", error, part);
      CHECK(error.code == s3_errc::changed);
      CHECK(store.bytes_of("mixed") == "(none)");
      CHECK(store.uploads.empty());
    }
  }
}

TEST_CASE("S3Client: a write that lands late changes nothing", "[remote][s3]") {
  FakeS3 store;
  store.late = [n = 0](const HttpAsked& asked) mutable { return asked.method == "PUT" && n++ == 0; };
  S3Client client{store.object(), store.options()};
  Error error;
  client.put_if_absent("k", as_bytes("first"), error);
  CHECK_FALSE(error);
  CHECK(store.kinds() == Kinds{"PUT", "PUT"});
  client.put("k", as_bytes("second"), error);
  store.land();  // the first attempt of the first write: there is an object by now
  CHECK(store.bytes_of("k") == "second");
}

TEST_CASE("S3Client: each row of the table of answers, with its requests", "[remote][s3]") {
  struct Row {
    const char* name;
    HttpSaid said;
    int times;
    Kinds kinds;
    std::error_code code;
  };
  const Row rows[] = {
      {"lost", {.bytes = ""}, 2, {"GET", "GET", "GET"}, {}},
      {"cut in the headers", {.bytes = "HTTP/1.1 200 OK\r\nContent-Le"}, 1, {"GET", "GET"}, {}},
      {"500", FakeS3::error(500, "InternalError"), 2, {"GET", "GET", "GET"}, {}},
      {"502 of a proxy", HttpSaid::answer(502, "<html>bad gateway</html>"), 1, {"GET", "GET"}, {}},
      {"503", FakeS3::error(503, "SlowDown"), 1, {"GET", "GET"}, {}},
      {"429", HttpSaid::answer(429, "", "Retry-After: 0\r\n"), 1, {"GET", "GET"}, {}},
      {"409", FakeS3::error(409, "OperationAborted"), 1, {"GET", "GET"}, {}},
      {"400 timeout", FakeS3::error(400, "RequestTimeout"), 1, {"GET", "GET"}, {}},
      {"always 500", FakeS3::error(500, "InternalError"), 9, {"GET", "GET", "GET", "GET"}, s3_errc::busy},
      {"always lost", {.bytes = ""}, 9, {"GET", "GET", "GET", "GET"}, http_errc::ended_early},
      {"403", FakeS3::error(403, "AccessDenied"), 1, {"GET"}, s3_errc::denied},
      {"404", FakeS3::error(404, "NoSuchKey"), 1, {"GET"}, s3_errc::no_such_object},
      {"bucket", FakeS3::error(404, "NoSuchBucket"), 1, {"GET"}, s3_errc::no_such_bucket},
      {"html", HttpSaid::answer(404, "<html><body>not found</body></html>"), 1, {"GET"}, s3_errc::bad_answer},
      {"no length", HttpSaid::chunked(200, "12345"), 1, {"GET"}, s3_errc::bad_answer},
      {"another site", HttpSaid::redirect("http://evil.example/bucket/k"), 1, {"GET"}, http_errc::bad_redirect},
      {"loop", HttpSaid::redirect("/bucket/k"), 9, {"GET"}, http_errc::redirect_loop},
      {"no region told", FakeS3::error(301, "PermanentRedirect"), 9, {"GET", "HEAD"}, s3_errc::wrong_region},
      {"region told",
       FakeS3::error(301, "PermanentRedirect", "", "x-amz-bucket-region: us-east-1\r\n"),
       1,
       {"GET"},
       s3_errc::wrong_region},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    FakeS3 store;
    store.objects["k"] = {"12345", "\"e\""};
    store.refuse = first_times(row.times, "GET", row.said);
    S3Client client{store.object(), store.options()};
    Error error;
    const std::string got = text_of(client.get("k", 100, error));
    CHECK(error.code == row.code);
    CHECK(store.kinds() == row.kinds);
    CHECK(got == (row.code ? "" : "12345"));
    CHECK_THAT(error.where, !ContainsSubstring("SECRET"));
    if (row.code) CHECK_THAT(error.where, ContainsSubstring("GET s3://bucket/k at " + store.url()));
  }
}

TEST_CASE("S3Client: bodies that end early go on at the missing byte", "[remote][s3]") {
  FakeS3 store;
  const std::string bytes = support::noise(300'000);
  store.objects["k"] = {bytes, "\"e\""};
  std::size_t sent = 0;
  store.instead = [&, n = 0](const HttpAsked&, const HttpSaid& right) mutable -> std::optional<HttpSaid> {
    const std::size_t body = right.bytes.find("\r\n\r\n") + 4;
    const std::size_t part = ++n < 4 ? (right.bytes.size() - body) / 2 : right.bytes.size() - body;
    sent += part;
    return HttpSaid{.bytes = right.bytes.substr(0, body + part)};
  };
  S3Options options = store.options();
  options.retry.progress_bytes = 1;
  S3Client client{store.object(), options};
  Error error;
  CHECK((text_of(client.get("k", 300'000, error)) == bytes));
  CHECK_FALSE(error);
  CHECK(sent == bytes.size());  // nothing twice
  CHECK(store.asked().size() == 4);
  CHECK(FakeS3::header(store.asked()[1], "range") == "bytes=150000-299999");
  CHECK(FakeS3::header(store.asked()[1], "if-match") == "\"e\"");
}

TEST_CASE("S3Client: an object that is replaced while it is read is named", "[remote][s3]") {
  FakeS3 store;
  store.objects["k"] = {std::string(100'000, 'x'), "\"e\""};
  store.instead = [&, n = 0](const HttpAsked&, const HttpSaid& right) mutable -> std::optional<HttpSaid> {
    if (n++ != 0) return std::nullopt;
    store.objects["k"] = {std::string(100'000, 'y'), "\"f\""};
    return HttpSaid{.bytes = right.bytes.substr(0, 50'000)};
  };
  S3Client client{store.object(), store.options()};
  Error error;
  CHECK(client.get("k", 100'000, error).empty());
  CHECK(error.code == s3_errc::changed);
  CHECK_THAT(error.where, ContainsSubstring("s3://bucket/k") && ContainsSubstring("412"));
}

TEST_CASE("S3Client: region, clock, and expired tokens are corrected and remembered", "[remote][s3]") {
  FakeS3 store;
  store.region = "eu-west-1";
  store.objects["k"] = {"12345", "\"e\""};
  S3Client client{store.object(), store.options()};
  Error error;
  CHECK(text_of(client.get("k", 9, error)) == "12345");
  CHECK(text_of(client.get("k", 9, error)) == "12345");
  CHECK(store.asked().size() == 3);  // the region was asked for once
  S3Client heads{store.object(), store.options()};
  CHECK(heads.info("k", error).bytes == 5);  // the refusal of a HEAD does not say the region: a GET is asked why
  CHECK_FALSE(error);
  CHECK(store.kinds() == Kinds{"GET", "GET", "GET", "HEAD", "GET", "HEAD"});

  FakeS3 skewed;
  skewed.clock = std::chrono::hours{5};
  skewed.objects["k"] = {"12345", "\"e\""};
  S3Client late{skewed.object(), skewed.options()};
  CHECK(text_of(late.get("k", 9, error)) == "12345");
  CHECK(text_of(late.get("k", 9, error)) == "12345");
  CHECK(skewed.asked().size() == 3);
  S3Client late_head{skewed.object(), skewed.options()};
  CHECK(late_head.info("k", error).bytes == 5);
  CHECK_FALSE(error);

  FakeS3 tokens;
  tokens.session_token = "NEW";
  tokens.objects["k"] = {"12345", "\"e\""};
  std::atomic<int> fetched = 0;
  support::HttpServer container{[&](const HttpAsked&) {
    return HttpSaid::answer(200, std::string{R"({"AccessKeyId":")"} + FakeS3::access_key + R"(","SecretAccessKey":")" +
                                     FakeS3::secret_key + R"(","Token":")" + (fetched++ == 0 ? "OLD" : "NEW") + "\"}");
  }};
  S3Options options = tokens.options();
  options.keys.reset();
  options.environment->values = {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", container.url() + "/creds"}};
  S3Client renewed{tokens.object(), options};
  CHECK(text_of(renewed.get("k", 9, error)) == "12345");
  CHECK_FALSE(error);
  CHECK(fetched == 2);
  CHECK(text_of(renewed.get("k", 9, error)) == "12345");
  CHECK(fetched == 2);
  fetched = 0;
  S3Client renewed_head{tokens.object(), options};
  CHECK(renewed_head.info("k", error).bytes == 5);
  CHECK_FALSE(error);
  CHECK(fetched == 2);
  tokens.session_token = "NEWEST";
  CHECK(renewed.get("k", 9, error).empty());
  CHECK(error.code == s3_errc::denied);  // InvalidToken: not expired
}

TEST_CASE("S3Client: a wrong secret is one request, and is not told", "[remote][s3]") {
  FakeS3 store;
  store.objects["k"] = {"12345", "\"e\""};
  S3Options options = store.options();
  options.keys = distrib::AwsKeys{.access_key = FakeS3::access_key, .secret_key = "WRONG/SECRET"};
  S3Client client{store.object(), options};
  Error error;
  CHECK(client.get("k", 9, error).empty());
  CHECK(error.code == s3_errc::denied);
  CHECK(error.where == "GET s3://bucket/k at " + store.url() +
                           " (403 SignatureDoesNotMatch, request R4442), or it does "
                           "not exist and the credentials may not list the bucket");
  CHECK(store.asked().size() == 1);
  static_cast<void>(client.info("k", error));
  CHECK(error.where == "HEAD s3://bucket/k at " + store.url() +
                           " (403 SignatureDoesNotMatch, request R4442), or it does "
                           "not exist and the credentials may not list the bucket");
  CHECK(store.asked().size() == 3);
  options.keys.reset();
  options.environment->values = {{"AWS_EC2_METADATA_DISABLED", "true"}};
  S3Client none{store.object(), options};
  CHECK(none.get("k", 9, error).empty());
  CHECK(error.code == s3_errc::no_credentials);
  CHECK(store.asked().size() == 3);
}

TEST_CASE("S3Client: errors in answers with a good status", "[remote][s3]") {
  FakeS3 store;
  store.objects["a"] = {"12345", "\"e\""};
  store.refuse = [n = 0](const HttpAsked& asked) mutable -> std::optional<HttpSaid> {
    if (asked.method != "PUT" || n++ != 0) return std::nullopt;
    return FakeS3::error(200, "InternalError");
  };
  S3Client client{store.object(), store.options()};
  Error error;
  client.copy("a", "b", error);
  CHECK_FALSE(error);
  CHECK(store.kinds() == Kinds{"HEAD", "PUT", "PUT"});
  store.refuse = [](const HttpAsked& asked) -> std::optional<HttpSaid> {
    if (asked.method != "PUT") return std::nullopt;
    return FakeS3::error(200, "AccessDenied");
  };
  client.copy("a", "c", error);
  CHECK(error.code == s3_errc::denied);
  store.refuse = [](const HttpAsked&) { return HttpSaid::answer(200, "<html>please log in</html>"); };
  CHECK(client.list("", error).empty());
  CHECK(error.code == s3_errc::bad_answer);
}

TEST_CASE("S3Client: bytes that were damaged on the way, and stores without checksums", "[remote][s3]") {
  FakeS3 store;
  store.refuse = first_times(1, "PUT", FakeS3::error(400, "BadDigest"));
  S3Client client{store.object(), store.options()};
  Error error;
  client.put("k", as_bytes("12345"), error);
  CHECK_FALSE(error);
  CHECK(store.kinds() == Kinds{"PUT", "PUT"});
  store.refuse = first_times(9, "PUT", FakeS3::error(400, "XAmzContentChecksumMismatch"));
  client.put("k", as_bytes("12345"), error);
  CHECK(error.code == s3_errc::damaged);
  CHECK(store.asked().size() == 4);

  FakeS3 old;
  old.refuse = [](const HttpAsked& asked) -> std::optional<HttpSaid> {
    if (FakeS3::header(asked, "x-amz-checksum-crc32c").empty()) return std::nullopt;
    return FakeS3::error(501, "NotImplemented");
  };
  S3Client plain{old.object(), old.options()};
  plain.put("k", as_bytes("1"), error);
  CHECK_FALSE(error);
  plain.put("k", as_bytes("2"), error);
  CHECK_FALSE(error);
  CHECK(old.asked().size() == 3);  // the second write does not try again
  S3Options strict = old.options();
  strict.checksums = distrib::S3Checksums::crc32c;
  S3Client{old.object(), strict}.put("k", as_bytes("3"), error);
  CHECK(error.code == s3_errc::unsupported);
}

TEST_CASE("S3Client: removes many, and lists and ends uploads", "[remote][s3]") {
  FakeS3 store;
  std::vector<std::string> keys;
  for (int i = 0; i < 2500; ++i) {
    keys.push_back("k" + std::to_string(i));
    store.objects[keys.back()] = {"", "\"e\""};
  }
  store.uploads["upload/1"] = {"k/x", {}, {}};
  store.uploads["upload/2"] = {"other", {}, {}};
  S3Client client{store.object(), store.options()};
  Error error;
  client.remove_all(keys, error);
  CHECK_FALSE(error);
  CHECK(store.objects.empty());
  CHECK(store.asked().size() == 3);
  const auto uploads = client.uploads("k/", error);
  CHECK(uploads == std::vector<distrib::ObjectUpload>{{"k/x", "upload/1"}});
  client.abort(uploads.front(), error);
  CHECK_FALSE(error);
  client.abort(uploads.front(), error);
  CHECK_FALSE(error);  // it is gone already
  CHECK(store.uploads.size() == 1);
  store.refuse = [](const HttpAsked&) {
    return HttpSaid::answer(200, "<DeleteResult><Error><Key>k1</Key><Code>AccessDenied</Code></Error></DeleteResult>");
  };
  client.remove_all(keys, error);
  CHECK(error.code == s3_errc::refused);
  CHECK_THAT(error.where, ContainsSubstring("k1 (AccessDenied)"));
}

TEST_CASE("S3Client: Google's dialect, with HMAC keys and with the metadata server's token", "[remote][s3]") {
  FakeS3 store{true};
  S3Client client{"gs://bucket", store.options()};
  Error error;
  const std::string version = client.put("k", as_bytes("12345"), error);
  CHECK_FALSE(error);
  CHECK(version == "1");
  CHECK(text_of(client.get("k", 9, error)) == "12345");
  const std::vector<std::string> keys{"k", "none"};
  client.remove_all(keys, error);
  CHECK_FALSE(error);
  for (const HttpAsked& asked : store.asked()) CHECK_THAT(asked.headers, !ContainsSubstring("x-amz-"));

  FakeS3 token{true};
  token.bearer = "ya29.x";
  support::HttpServer metadata{[](const HttpAsked& asked) {
    CHECK(FakeS3::header(asked, "metadata-flavor") == "Google");
    return HttpSaid::answer(200, R"({"access_token":"ya29.x","expires_in":3599,"token_type":"Bearer"})");
  }};
  S3Options options = token.options();
  options.environment->values = {{"GCE_METADATA_HOST", metadata.url().substr(7)}};
  S3Client bearer{"gs://bucket", options};
  bearer.put("k", as_bytes("1"), error);
  CHECK_FALSE(error);
  CHECK(text_of(bearer.get("k", 9, error)) == "1");
  CHECK(metadata.asked().size() == 1);
}

TEST_CASE("S3Client: a bearer token that has ended is fetched anew", "[remote][s3]") {
  FakeS3 store{true};
  store.bearer = "second";
  store.objects["k"] = {"12345"};
  support::HttpServer metadata{[n = 0](const HttpAsked&) mutable {
    return HttpSaid::answer(200, std::string{R"({"access_token":")"} + (n++ == 0 ? "first" : "second") + "\"}");
  }};
  S3Options options = store.options();
  options.environment->values = {{"GCE_METADATA_HOST", metadata.url().substr(7)}};
  S3Client client{"gs://bucket", options};
  Error error;
  CHECK(text_of(client.get("k", 9, error)) == "12345");
  CHECK_FALSE(error);
  store.bearer = "third";
  CHECK(client.get("k", 9, error).empty());
  CHECK(error.code == s3_errc::expired);
}

TEST_CASE("S3Client: headers of the options are signed and stored", "[remote][s3]") {
  FakeS3 store;
  S3Options options = store.options();
  options.headers = {{"x-amz-server-side-encryption", "aws:kms"}, {"x-amz-request-payer", "requester"}};
  S3Client client{store.object(), options};
  Error error;
  client.put("k", as_bytes("1"), error);
  CHECK_FALSE(error);
  CHECK(store.objects["k"].told["x-amz-server-side-encryption"] == "aws:kms");
  static_cast<void>(client.get("k", 9, error));
  CHECK_FALSE(error);
  CHECK(FakeS3::header(store.asked().back(), "x-amz-request-payer") == "requester");
  CHECK(FakeS3::header(store.asked().back(), "x-amz-server-side-encryption").empty());
}

TEST_CASE("S3Client: wrong URLs and options", "[remote][s3]") {
  CHECK_THROWS_WITH(S3Client{"s3:/x"}, ContainsSubstring("s3:/x"));
  S3Options options;
  options.environment = distrib::AwsEnvironment{};
  options.endpoint = "minio:9000";
  CHECK_THROWS_WITH((S3Client{"s3://b", options}), ContainsSubstring("minio:9000"));
  FakeS3 store;
  S3Client one{store.object(), store.options()};
  options.session = one.session();
  CHECK_THROWS_WITH((S3Client{"s3://other", options}), ContainsSubstring("bucket bucket"));
  S3Client two{"s3://bucket", options};
  Error error;
  two.put("k", as_bytes("1"), error);
  CHECK_FALSE(error);
}
