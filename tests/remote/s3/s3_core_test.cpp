// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/s3/s3_core.hpp>

#include "support/catch.hpp"

#include <distrib/core/crc32c.hpp>

#include <set>

using namespace std::chrono_literals;
using distrib::Error;
using distrib::http_errc;
using distrib::HttpAnswer;
using distrib::HttpRequest;
using distrib::HttpStep;
using distrib::NamedTexts;
using distrib::s3_errc;
using distrib::S3Core;
using distrib::S3Request;
using distrib::S3Setup;
using distrib::UnixTime;

namespace {

constexpr UnixTime noon{1'800'000'000s};  // Fri, 15 Jan 2027 08:00:00 GMT

auto amazon_setup() -> S3Setup {
  Error error;
  S3Setup setup{.endpoint = distrib::S3Endpoint::make({.bucket = "bucket"}, {}, "", "", error)};
  setup.keys = {.access_key = "AKID", .secret_key = "SECRET-KEY"};
  return setup;
}

auto setup_at(const std::string& server) -> S3Setup {
  S3Setup setup = amazon_setup();
  Error error;
  setup.endpoint = distrib::S3Endpoint::make({.bucket = "bucket"}, {}, "", server, error);
  REQUIRE_FALSE(error);
  return setup;
}

auto answer_with(int status, NamedTexts headers = {}, std::string body = {}) -> HttpAnswer {
  HttpAnswer answer{.status = status};
  answer.headers = std::move(headers);
  answer.location = answer.header("location");
  answer.content_range = answer.header("content-range");
  answer.etag = answer.header("etag");
  answer.content_length = distrib::detail::parse_whole<std::uint64_t>(answer.header("content-length"));
  answer.body = std::move(body);
  return answer;
}

auto refusal(int status, const std::string& code, const std::string& more = {}) -> HttpAnswer {
  return answer_with(
      status, {},
      "<Error><Code>" + code + "</Code><Message>SECRET</Message>" + more + "<RequestId>4442</RequestId></Error>");
}

auto value_of(const HttpRequest& request, const std::string& name) -> std::string {
  for (const auto& [found, value] : request.headers)
    if (found == name) return value;
  return "";
}

/// Expects a request to be sent.
auto sent(S3Core& core, UnixTime now = noon) -> HttpRequest {
  const HttpStep step = core.next(now);
  INFO(core.error().where << ": " << core.error().code.message());
  REQUIRE(step.kind == HttpStep::Kind::send);
  return step.request;
}

/// Expects a pause, and returns it.
auto pause_of(S3Core& core) -> std::chrono::milliseconds {
  const HttpStep step = core.next(noon);
  REQUIRE(step.kind == HttpStep::Kind::wait);
  return step.pause;
}

/// Sends one request, which is refused, and returns the failure, which must be final.
auto failure_after(const HttpAnswer& answer, S3Request request = S3Request::get("k", 0, 10)) -> Error {
  S3Core core{std::move(request), amazon_setup()};
  static_cast<void>(sent(core));
  core.ended(answer, {});
  REQUIRE(core.next(noon).kind == HttpStep::Kind::failed);
  CHECK_THAT(core.error().where, !ContainsSubstring("SECRET"));
  return core.error();
}

const Error cut_off{http_errc::ended_early, "h"};

}  // namespace

TEST_CASE("S3Core: a range, and continuing at the missing byte", "[remote][s3]") {
  S3Core core{S3Request::get("dir/k", 100, 50, "\"v1\""), amazon_setup()};
  HttpRequest request = sent(core);
  CHECK(request.method == "GET");
  CHECK(request.url.text() == "https://bucket.s3.us-east-1.amazonaws.com:443/dir/k");
  CHECK(value_of(request, "Range") == "bytes=100-149");
  CHECK(value_of(request, "If-Match") == "\"v1\"");
  CHECK_THAT(value_of(request, "Authorization"),
             ContainsSubstring("SignedHeaders=host;if-match;range;x-amz-content-sha256;x-amz-date,"));
  const auto part = [](const std::string& range, const std::string& length) {
    return answer_with(206, {{"content-range", range}, {"content-length", length}, {"etag", "\"v1\""}});
  };
  CHECK(core.accept(part("bytes 100-149/1000", "50"), 20) == 20);
  core.ended(part("bytes 100-149/1000", "50"), cut_off);
  CHECK(pause_of(core) >= 50ms);
  request = sent(core);
  CHECK(value_of(request, "Range") == "bytes=120-149");
  CHECK(core.accept(part("bytes 120-149/1000", "30"), 40) == 30);  // more than was asked for is not taken
  core.ended(part("bytes 120-149/1000", "30"), {});
  CHECK(core.next(noon).kind == HttpStep::Kind::done);
  CHECK(core.info().bytes == 1000);
  CHECK(core.info().version == "\"v1\"");
}

TEST_CASE("S3Core: answers to a range that do not fit are never used", "[remote][s3]") {
  const NamedTexts right{{"content-range", "bytes 0-9/100"}, {"content-length", "10"}, {"etag", "\"v\""}};
  struct Row {
    HttpAnswer answer;
    s3_errc code;
  };
  const Row rows[] = {
      {answer_with(200, {{"content-length", "100"}}), s3_errc::bad_answer},
      {answer_with(206, {{"content-length", "10"}}), s3_errc::bad_answer},
      {answer_with(206, {{"content-range", "bytes 1-10/100"}}), s3_errc::bad_answer},
      {answer_with(206, {{"content-range", "bytes 0-10/100"}}), s3_errc::bad_answer},
      {answer_with(206, {{"content-range", "bytes 0-9/100"}, {"content-length", "11"}}), s3_errc::bad_answer},
      {answer_with(206, {{"content-range", "bytes 0-9/100"}, {"etag", "\"w\""}}), s3_errc::changed},
  };
  for (const Row& row : rows) {
    S3Core core{S3Request::get("k", 0, 10, "\"v\""), amazon_setup()};
    static_cast<void>(sent(core));
    CHECK(core.accept(row.answer, 10) == 0);
    core.ended(row.answer, {});
    CHECK(core.error().code == row.code);
  }
  S3Core core{S3Request::get("k", 0, 10, "\"v\""), amazon_setup()};
  static_cast<void>(sent(core));
  CHECK(core.accept(answer_with(206, right), 10) == 10);
  S3Core nothing{S3Request::get("k", 5, 0), amazon_setup()};
  CHECK(nothing.next(noon).kind == HttpStep::Kind::done);  // no request for no bytes
}

TEST_CASE("S3Core: a whole object, its bound, and its end", "[remote][s3]") {
  S3Core core{S3Request::get_all("k", 100), amazon_setup()};
  CHECK(value_of(sent(core), "Range").empty());
  CHECK(core.accept(answer_with(200, {{"content-length", "80"}, {"etag", "\"v\""}}), 30) == 30);
  CHECK(core.left() == 50);
  core.ended(answer_with(200, {{"content-length", "80"}, {"etag", "\"v\""}}), cut_off);
  static_cast<void>(pause_of(core));
  const HttpRequest again = sent(core);
  CHECK(value_of(again, "Range") == "bytes=30-79");
  CHECK(value_of(again, "If-Match") == "\"v\"");

  S3Core large{S3Request::get_all("k", 100), amazon_setup()};
  static_cast<void>(sent(large));
  CHECK(large.accept(answer_with(200, {{"content-length", "101"}}), 1) == 0);
  CHECK(large.error().code == s3_errc::too_large);
  S3Core chunked{S3Request::get_all("k", 100), amazon_setup()};
  static_cast<void>(sent(chunked));
  CHECK(chunked.accept(answer_with(200), 1) == 0);
  CHECK(chunked.error().code == s3_errc::bad_answer);  // without a length a cut body would look whole
  S3Core empty{S3Request::get_all("k", 100), amazon_setup()};
  static_cast<void>(sent(empty));
  empty.ended(answer_with(200, {{"content-length", "0"}}), {});
  CHECK(empty.next(noon).kind == HttpStep::Kind::done);

  S3Core end{S3Request::get_end("k", 64), amazon_setup()};
  CHECK(value_of(sent(end), "Range") == "bytes=-64");
  CHECK(end.accept(answer_with(206, {{"content-range", "bytes 936-999/1000"}, {"content-length", "64"}}), 64) == 64);
  CHECK(end.info().bytes == 1000);
  S3Core lying{S3Request::get_end("k", 64), amazon_setup()};
  static_cast<void>(sent(lying));
  CHECK(lying.accept(answer_with(206, {{"content-range", "bytes 0-63/1000"}}), 64) == 0);
  CHECK(lying.error().code == s3_errc::bad_answer);
}

TEST_CASE("S3Core: what is tried again, and for how long", "[remote][s3]") {
  const HttpAnswer rows[] = {answer_with(500),
                             answer_with(502, {}, "<html>"),
                             answer_with(504),
                             refusal(400, "RequestTimeout"),
                             refusal(500, "InternalError"),
                             refusal(409, "ConditionalRequestConflict"),
                             refusal(409, "OperationAborted")};
  for (const HttpAnswer& answer : rows) {
    INFO(answer.status << ' ' << answer.body);
    S3Core core{S3Request::put("k", distrib::as_bytes("x"), 0, "n"), amazon_setup()};
    for (int attempt = 1; attempt < 8; ++attempt) {
      static_cast<void>(sent(core));
      core.ended(answer, {});
      const auto pause = pause_of(core);
      const auto whole = std::min<std::chrono::milliseconds>(100ms * (1 << (attempt - 1)), 5s);
      CHECK(pause >= whole / 2);
      CHECK(pause < whole);
    }
    static_cast<void>(sent(core));
    core.ended(answer, {});
    CHECK(core.next(noon).kind == HttpStep::Kind::failed);
    CHECK(core.error().code == s3_errc::busy);
    CHECK(core.throttled() == 0);
  }
  S3Core lost{S3Request::head("k"), amazon_setup()};
  for (int attempt = 1; attempt < 8; ++attempt) {
    static_cast<void>(sent(lost));
    lost.ended({}, {http_errc::timed_out, "GET http://h by proxy p:1"});
    static_cast<void>(pause_of(lost));
  }
  static_cast<void>(sent(lost));
  lost.ended({}, {http_errc::timed_out, "GET http://h by proxy p:1"});
  CHECK(lost.next(noon).kind == HttpStep::Kind::failed);
  CHECK(lost.error().code == http_errc::timed_out);
  CHECK(lost.error().where == "HEAD s3://bucket/k at https://bucket.s3.us-east-1.amazonaws.com:443 by proxy p:1");
  CHECK(lost.maybe_done());
  S3Core tls{S3Request::head("k"), amazon_setup()};
  static_cast<void>(sent(tls));
  tls.ended({}, {http_errc::no_tls, "h"});
  CHECK(tls.error().code == http_errc::no_tls);
}

TEST_CASE("S3Core: pauses of different keys differ", "[remote][s3]") {
  const auto pause_for = [](const std::string& key) {
    S3Core core{S3Request::head(key), amazon_setup()};
    static_cast<void>(sent(core));
    core.ended(answer_with(500), {});
    return pause_of(core);
  };
  CHECK(pause_for("a") == pause_for("a"));
  std::set<std::chrono::milliseconds> pauses;
  for (int i = 0; i < 50; ++i) pauses.insert(pause_for("part-" + std::to_string(i)));
  CHECK(pauses.size() > 15);
}

TEST_CASE("S3Core: throttling waits longer, and Retry-After wins", "[remote][s3]") {
  S3Core core{S3Request::get("k", 0, 10), amazon_setup()};
  static_cast<void>(sent(core));
  core.ended(refusal(503, "SlowDown"), {});
  CHECK(pause_of(core) >= 200ms);
  CHECK(core.throttled() == 1);
  static_cast<void>(sent(core));
  core.ended(answer_with(429, {{"retry-after", "7"}}), {});
  CHECK(pause_of(core) == 7s);
  static_cast<void>(sent(core));
  core.ended(answer_with(503, {{"retry-after", "86400"}}), {});
  CHECK(pause_of(core) == 60s);
  CHECK(core.throttled() == 3);
}

TEST_CASE("S3Core: refusals that are final", "[remote][s3]") {
  struct Row {
    HttpAnswer answer;
    s3_errc code;
    const char* told;
  };
  const Row rows[] = {
      {refusal(403, "AccessDenied"), s3_errc::denied, "(403 AccessDenied, request 4442), or it does not exist"},
      {refusal(403, "SignatureDoesNotMatch"), s3_errc::denied, "403 SignatureDoesNotMatch"},
      {refusal(404, "XAdminUserNotFound"), s3_errc::denied, "404 XAdminUserNotFound"},
      {answer_with(403), s3_errc::denied, "(403)"},
      {answer_with(401), s3_errc::denied, "(401)"},
      {refusal(404, "NoSuchBucket"), s3_errc::no_such_bucket, "NoSuchBucket"},
      {refusal(404, "NoSuchKey"), s3_errc::no_such_object, "s3://bucket/k"},
      {answer_with(404), s3_errc::no_such_object, "(404)"},
      {refusal(412, "PreconditionFailed"), s3_errc::changed, "412"},
      {refusal(416, "InvalidRange"), s3_errc::changed, "416"},
      {refusal(501, "NotImplemented"), s3_errc::unsupported, "501"},
      {refusal(403, "InvalidObjectState"), s3_errc::denied, "InvalidObjectState"},
      {refusal(400, "KeyTooLongError"), s3_errc::refused, "KeyTooLongError"},
      {answer_with(404, {}, "<html>proxy</html>"), s3_errc::bad_answer, "(404)"},
      {answer_with(403, {}, "Forbidden by proxy"), s3_errc::bad_answer, "(403)"},
  };
  for (const Row& row : rows) {
    INFO(row.told);
    const Error error = failure_after(row.answer);
    CHECK(error.code == row.code);
    CHECK_THAT(error.where, ContainsSubstring(row.told));
    CHECK_THAT(error.where, ContainsSubstring("GET s3://bucket/k at https://bucket.s3.us-east-1.amazonaws.com:443"));
  }
  CHECK(failure_after(refusal(412, "PreconditionFailed"), S3Request::put("k", {}, 0, "n")).code ==
        s3_errc::condition_failed);
  CHECK(failure_after(refusal(404, "NoSuchUpload"), S3Request::part("k", "u", 1, {}, 0)).code ==
        s3_errc::no_such_upload);
  CHECK(failure_after(answer_with(404), S3Request::list("", "")).code == s3_errc::no_such_bucket);
  CHECK_THAT(failure_after(answer_with(403, {{"x-amz-request-id", "77"}})).where, ContainsSubstring("request 77"));
}

TEST_CASE("S3Core: an error in a good answer", "[remote][s3]") {
  const std::vector<distrib::S3Part> parts{{1, "e", {}}};
  S3Core core{S3Request::complete("k", "u", parts, 1), amazon_setup()};
  static_cast<void>(sent(core));
  core.ended(refusal(200, "InternalError"), {});
  CHECK(pause_of(core) >= 50ms);
  static_cast<void>(sent(core));
  core.ended(answer_with(200, {}, "  <CompleteMultipartUploadResult><ETag>e</ETag></CompleteMultipartUploadResult>"),
             {});
  CHECK(core.next(noon).kind == HttpStep::Kind::done);

  CHECK(failure_after(refusal(200, "AccessDenied"), S3Request::copy("bucket", "a", "b")).code == s3_errc::denied);
  CHECK(failure_after(answer_with(200, {}, "<html>login</html>"), S3Request::list("", "")).code == s3_errc::bad_answer);
  CHECK(failure_after(answer_with(200), S3Request::create("k", "n")).code == s3_errc::bad_answer);
}

TEST_CASE("S3Core: the region is found by header, body, or a question; signed anew once", "[remote][s3]") {
  const auto first_answers = {
      answer_with(301, {{"x-amz-bucket-region", "eu-west-1"}}),
      answer_with(400, {{"x-amz-bucket-region", "eu-west-1"}}),  // to HEAD, without a body
      refusal(400, "AuthorizationHeaderMalformed", "<Region>eu-west-1</Region>"),
  };
  for (const HttpAnswer& answer : first_answers) {
    S3Core core{S3Request::head("k"), amazon_setup()};
    static_cast<void>(sent(core));
    core.ended(answer, {});
    const HttpRequest again = sent(core);
    CHECK(again.url.host == "bucket.s3.eu-west-1.amazonaws.com");
    CHECK_THAT(value_of(again, "Authorization"), ContainsSubstring("/eu-west-1/s3/"));
    CHECK(core.setup().endpoint.region == "eu-west-1");
    core.ended(answer, {});
    if (answer.status == 400 && answer.body.empty()) {  // it is the right region now, so there is another reason
      CHECK(sent(core).method == "GET");
      core.ended(refusal(400, "InvalidRequest"), {});
      CHECK(core.error().code == s3_errc::refused);
      continue;
    }
    REQUIRE(core.next(noon).kind == HttpStep::Kind::failed);
    CHECK(core.error().code == s3_errc::wrong_region);
  }
  S3Core asks{S3Request::list("", ""), amazon_setup()};
  static_cast<void>(sent(asks));
  asks.ended(refusal(301, "PermanentRedirect"), {});
  const HttpRequest question = sent(asks);
  CHECK(question.method == "HEAD");
  CHECK(question.url.target == "/");
  CHECK(value_of(question, "Authorization").empty());
  asks.ended(answer_with(403, {{"x-amz-bucket-region", "eu-west-1"}}), {});
  CHECK(sent(asks).url.host == "bucket.s3.eu-west-1.amazonaws.com");
  S3Core none{S3Request::list("", ""), amazon_setup()};
  static_cast<void>(sent(none));
  none.ended(refusal(301, "PermanentRedirect"), {});
  static_cast<void>(sent(none));
  none.ended(answer_with(403), {});
  CHECK(none.error().code == s3_errc::wrong_region);
  S3Core lost{S3Request::list("", ""), amazon_setup()};
  static_cast<void>(sent(lost));
  lost.ended(refusal(301, "PermanentRedirect"), {});
  for (int attempt = 1; attempt < 8; ++attempt) {
    CHECK(sent(lost).method == "HEAD");
    if (attempt % 2 == 0) lost.ended(answer_with(503), {});
    else lost.ended({}, cut_off);
    static_cast<void>(pause_of(lost));
  }
  CHECK(sent(lost).method == "HEAD");
  lost.ended({}, cut_off);
  CHECK(lost.error().code == s3_errc::wrong_region);
}

TEST_CASE("S3Core: a refused HEAD says no reason: a GET of one byte is asked for it, once", "[remote][s3]") {
  const auto asked_why = [](S3Core& core, const HttpAnswer& refused) {
    CHECK(sent(core).method == "HEAD");
    core.ended(refused, {});
    const HttpRequest why = sent(core);
    CHECK(why.method == "GET");
    CHECK(value_of(why, "Range") == "bytes=0-0");
  };
  S3Core expired{S3Request::head("k"), amazon_setup()};
  asked_why(expired, answer_with(400));
  expired.ended(refusal(400, "ExpiredToken"), {});
  REQUIRE(expired.wants_keys());
  expired.use({.access_key = "NEW", .secret_key = "S"});
  CHECK(sent(expired).method == "HEAD");
  expired.ended(answer_with(400), {});
  CHECK(expired.error().code == s3_errc::refused);  // not asked again

  S3Core skewed{S3Request::head("k"), amazon_setup()};
  asked_why(skewed, answer_with(403));
  HttpAnswer told = refusal(403, "RequestTimeTooSkewed");
  told.headers = {{"date", "Fri, 15 Jan 2027 10:00:00 GMT"}};
  skewed.ended(told, {});
  CHECK(value_of(sent(skewed), "x-amz-date") == "20270115T100000Z");

  S3Core denied{S3Request::head("k"), amazon_setup()};
  asked_why(denied, answer_with(403));
  denied.ended(refusal(403, "InvalidAccessKeyId"), {});
  CHECK(denied.error().code == s3_errc::denied);
  CHECK_THAT(denied.error().where, ContainsSubstring("HEAD s3://bucket/k") && ContainsSubstring("InvalidAccessKeyId"));

  for (const HttpAnswer& silent : {answer_with(206), answer_with(403), answer_with(403, {}, "<html>no</html>")}) {
    S3Core core{S3Request::head("k"), amazon_setup()};
    asked_why(core, answer_with(403));
    core.ended(silent, {});
    CHECK(core.error().code == s3_errc::denied);
  }
  S3Core lost{S3Request::head("k"), amazon_setup()};
  asked_why(lost, answer_with(403));
  lost.ended({}, cut_off);
  CHECK(lost.error().code == s3_errc::denied);
}

TEST_CASE("S3Core: a HEAD without length or version is no answer of a store", "[remote][s3]") {
  for (const NamedTexts& headers :
       {NamedTexts{{"etag", "\"v\""}}, NamedTexts{{"content-length", "5"}}, NamedTexts{{"content-type", "text/html"}}})
    CHECK(failure_after(answer_with(200, headers), S3Request::head("k")).code == s3_errc::bad_answer);
  S3Core core{S3Request::head("k"), amazon_setup()};
  static_cast<void>(sent(core));
  core.ended(answer_with(200, {{"etag", "\"v\""}, {"content-length", "5"}}), {});
  CHECK(core.next(noon).kind == HttpStep::Kind::done);
  CHECK(core.info().bytes == 5);
}

TEST_CASE("S3Core: the end of an empty object is empty", "[remote][s3]") {
  S3Core core{S3Request::get_end("k", 64), amazon_setup()};
  static_cast<void>(sent(core));
  core.ended(answer_with(416, {{"content-range", "bytes */0"}, {"content-length", "150"}}, "<Error></Error>"), {});
  CHECK(core.next(noon).kind == HttpStep::Kind::done);
  CHECK(core.info().bytes == 0);
  CHECK(failure_after(answer_with(416, {{"content-range", "bytes */7"}}), S3Request::get_end("k", 64)).code ==
        s3_errc::bad_answer);
}

TEST_CASE("S3Core: after any 5xx a write may have been done", "[remote][s3]") {
  for (const int status : {500, 502, 503, 504}) {
    S3Core core{S3Request::put("k", distrib::as_bytes("x"), 0, "n"), amazon_setup()};
    static_cast<void>(sent(core));
    CHECK_FALSE(core.maybe_done());
    core.ended(answer_with(status), {});
    CHECK(core.maybe_done());
  }
}

TEST_CASE("S3Core: redirects get a signature of their own, and stay at the site", "[remote][s3]") {
  S3Core core{S3Request::list("p", "t"), amazon_setup()};
  static_cast<void>(sent(core));
  core.ended(answer_with(307, {{"location", "https://bucket.s3-eu-west-1.amazonaws.com/?prefix=p&list-type=2"}}), {});
  const HttpRequest again = sent(core);
  CHECK(again.url.text() == "https://bucket.s3-eu-west-1.amazonaws.com:443/?list-type=2&prefix=p");
  CHECK(value_of(again, "Host") == "bucket.s3-eu-west-1.amazonaws.com");
  CHECK_FALSE(value_of(again, "Authorization").empty());
  core.ended(answer_with(307, {{"location", "https://evil.com/"}}), {});
  CHECK(core.error().code == http_errc::bad_redirect);
  S3Core ec2{S3Request::list("p", "t"), amazon_setup()};
  static_cast<void>(sent(ec2));
  ec2.ended(answer_with(307, {{"location", "https://ec2-203-0-113-25.compute-1.amazonaws.com/"}}), {});
  CHECK(ec2.error().code == http_errc::bad_redirect);  // anybody's machine
  S3Core to_tls{S3Request::head("k"), setup_at("http://127.0.0.1:9000")};
  static_cast<void>(sent(to_tls));
  to_tls.ended(answer_with(301, {{"location", "https://127.0.0.1:9001/bucket/k"}}), {});
  CHECK(sent(to_tls).url.text() == "https://127.0.0.1:9001/bucket/k");  // no region is meant
  S3Core down{S3Request::head("k"), amazon_setup()};
  static_cast<void>(sent(down));
  down.ended(answer_with(307, {{"location", "http://bucket.s3.us-east-1.amazonaws.com/k"}}), {});
  CHECK(down.error().code == http_errc::bad_redirect);
  S3Core loop{S3Request::head("k"), setup_at("http://127.0.0.1:1")};
  for (int i = 0; i < 6; ++i) {
    static_cast<void>(sent(loop));
    loop.ended(answer_with(307, {{"location", "/bucket/k" + std::to_string(i)}}), {});
  }
  CHECK(loop.error().code == http_errc::redirect_loop);
}

TEST_CASE("S3Core: a clock that differs is corrected once", "[remote][s3]") {
  HttpAnswer skewed = refusal(403, "RequestTimeTooSkewed");
  skewed.headers = {{"date", "Fri, 15 Jan 2027 10:00:00 GMT"}};
  S3Core core{S3Request::head("k"), amazon_setup()};
  CHECK(value_of(sent(core), "x-amz-date") == "20270115T080000Z");
  core.ended(skewed, {});
  CHECK(value_of(sent(core, noon + 1s), "x-amz-date") == "20270115T100001Z");
  CHECK(core.setup().clock_offset == 2h);
  core.ended(skewed, {});
  CHECK(core.error().code == s3_errc::clock_skewed);
  S3Core undated{S3Request::head("k"), amazon_setup()};
  static_cast<void>(sent(undated));
  undated.ended(refusal(403, "RequestTimeTooSkewed"), {});
  CHECK(undated.error().code == s3_errc::clock_skewed);
}

TEST_CASE("S3Core: expired credentials are fetched anew once", "[remote][s3]") {
  for (const char* code : {"ExpiredToken", "ExpiredTokenException"}) {
    S3Core core{S3Request::head("k"), amazon_setup()};
    static_cast<void>(sent(core));
    core.ended(refusal(400, code), {});
    CHECK(core.next(noon).kind == HttpStep::Kind::done);
    REQUIRE(core.wants_keys());
    core.use({.access_key = "NEW", .secret_key = "S", .session_token = "T"});
    const HttpRequest again = sent(core);
    CHECK_THAT(value_of(again, "Authorization"), ContainsSubstring("Credential=NEW/"));
    CHECK(value_of(again, "x-amz-security-token") == "T");
    core.ended(refusal(400, code), {});
    CHECK(core.error().code == s3_errc::expired);
  }
  S3Setup google = amazon_setup();
  Error error;
  google.endpoint = distrib::S3Endpoint::make({.gcs = true, .bucket = "bucket"}, {}, "", "", error);
  google.keys = {.bearer = "OLD"};
  S3Core bearer{S3Request::get_all("k", 9), google};
  static_cast<void>(sent(bearer));
  bearer.ended(answer_with(401), {});
  REQUIRE(bearer.wants_keys());
  bearer.use({.bearer = "NEW"});
  CHECK(value_of(sent(bearer), "Authorization") == "Bearer NEW");
  bearer.ended(answer_with(401), {});
  CHECK(bearer.error().code == s3_errc::expired);
}

TEST_CASE("S3Core: damaged bytes are sent once more", "[remote][s3]") {
  for (const char* code : {"BadDigest", "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch"}) {
    S3Core core{S3Request::put("k", distrib::as_bytes("x"), 0, "n"), amazon_setup()};
    static_cast<void>(sent(core));
    core.ended(refusal(400, code), {});
    static_cast<void>(sent(core));
    core.ended(refusal(400, code), {});
    CHECK(core.error().code == s3_errc::damaged);
  }
}

TEST_CASE("S3Core: checksums, and a store that does not know them", "[remote][s3]") {
  const std::string bytes = "123456789";
  const auto put = [&] {
    return S3Request::put("k", distrib::as_bytes(bytes), distrib::crc32c(distrib::as_bytes(bytes)), "n");
  };
  S3Core core{put(), amazon_setup()};
  HttpRequest request = sent(core);
  CHECK(value_of(request, "x-amz-checksum-crc32c") == "4waSgw==");
  CHECK(value_of(request, "x-amz-content-sha256") == "UNSIGNED-PAYLOAD");
  CHECK(value_of(request, "x-amz-meta-distrib-nonce") == "n");
  core.ended(refusal(501, "NotImplemented"), {});
  request = sent(core);
  CHECK(value_of(request, "x-amz-checksum-crc32c").empty());
  core.ended(answer_with(200, {{"etag", "\"v\""}}), {});
  CHECK(core.next(noon).kind == HttpStep::Kind::done);
  CHECK(core.setup().checksums == distrib::S3Checksums::none);
  CHECK(core.info().version == "\"v\"");
  CHECK(core.info().bytes == 9);

  S3Core good{put(), amazon_setup()};
  static_cast<void>(sent(good));
  good.ended(answer_with(200), {});
  CHECK(good.setup().checksums_work);
  S3Core later{put(), good.setup()};
  static_cast<void>(sent(later));
  later.ended(refusal(400, "InvalidRequest"), {});
  CHECK(later.error().code == s3_errc::refused);  // it takes checksums, so the reason is another one

  S3Setup md5 = setup_at("http://10.1.1.1:9000");
  md5.checksums = distrib::S3Checksums::md5;
  S3Core plain{put(), md5};
  request = sent(plain);
  CHECK(value_of(request, "Content-MD5") == "JfnnlDI7RTiF9RgfG2JNCw==");
  CHECK(value_of(request, "x-amz-content-sha256") == distrib::to_hex(distrib::sha256(distrib::as_bytes(bytes))));
  CHECK_THAT(value_of(request, "Authorization"), ContainsSubstring("content-md5;host"));
  S3Setup none = amazon_setup();
  none.checksums = distrib::S3Checksums::none;
  S3Core bare{put(), none};
  CHECK(value_of(sent(bare), "x-amz-checksum-crc32c").empty());
  S3Core create{S3Request::create("k", "n"), amazon_setup()};
  request = sent(create);
  CHECK(value_of(request, "x-amz-checksum-algorithm") == "CRC32C");
  CHECK(value_of(request, "x-amz-checksum-type") == "FULL_OBJECT");
}

TEST_CASE("S3Core: conditions, and Google's headers", "[remote][s3]") {
  const auto put = [](distrib::S3Condition condition) {
    return S3Request::put("k", distrib::as_bytes("123456789"), 0xE3069283U, "n", std::move(condition));
  };
  S3Core absent{put({.absent = true}), amazon_setup()};
  CHECK(value_of(sent(absent), "If-None-Match") == "*");
  S3Core replace{put({.version = "\"v\""}), amazon_setup()};
  CHECK(value_of(sent(replace), "If-Match") == "\"v\"");

  S3Setup google = amazon_setup();
  Error error;
  google.endpoint = distrib::S3Endpoint::make({.gcs = true, .bucket = "bucket"}, {}, "", "", error);
  S3Core create{put({.absent = true}), google};
  HttpRequest request = sent(create);
  CHECK(value_of(request, "x-goog-if-generation-match") == "0");
  CHECK(value_of(request, "x-goog-hash") == "crc32c=4waSgw==");
  CHECK(value_of(request, "x-goog-meta-distrib-nonce") == "n");
  CHECK_THAT(value_of(request, "Authorization"), ContainsSubstring("GOOG4-HMAC-SHA256 Credential=AKID/20270115/auto/"));
  for (const auto& [name, value] : request.headers) CHECK_FALSE(name.starts_with("x-amz-"));  // must not be mixed
  create.ended(answer_with(200, {{"x-goog-generation", "17"}, {"etag", "\"e\""}}), {});
  CHECK(create.info().version == "17");
  S3Core other{put({.version = "17"}), google};
  CHECK(value_of(sent(other), "x-goog-if-generation-match") == "17");
}

TEST_CASE("S3Core: secrets do not go over plain HTTP to other machines", "[remote][s3]") {
  const auto code_at = [](const std::string& server, const auto& change) {
    S3Setup setup = setup_at(server);
    change(setup);
    S3Core core{S3Request::get("k", 0, 1), setup};
    static_cast<void>(core.next(noon));
    return core.error().code;
  };
  const auto token = [](S3Setup& setup) { setup.keys.session_token = "T"; };
  const auto key = [](S3Setup& setup) { setup.headers = {{"x-amz-server-side-encryption-customer-key", "K"}}; };
  const auto allowed = [&](S3Setup& setup) {
    token(setup);
    setup.tokens_without_tls = true;
  };
  CHECK(code_at("http://minio:9000", token) == s3_errc::no_tls);
  CHECK(code_at("http://minio:9000", key) == s3_errc::no_tls);
  CHECK(code_at("http://127.evil.example:9000", token) == s3_errc::no_tls);
  CHECK(code_at("http://localhost.evil.example:9000", token) == s3_errc::no_tls);
  CHECK(code_at("http://minio:9000", [](S3Setup& setup) { setup.keys = {.bearer = "B"}; }) == s3_errc::no_tls);
  CHECK_FALSE(code_at("https://minio:9000", token));
  CHECK_FALSE(code_at("http://127.0.0.1:9000", token));
  CHECK_FALSE(code_at("http://[::1]:9000", token));
  CHECK_FALSE(code_at("http://minio:9000", allowed));
  CHECK_FALSE(code_at("http://minio:9000", [](S3Setup&) {}));  // a signature tells no secret
}
