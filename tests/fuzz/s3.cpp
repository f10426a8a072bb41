// SPDX-License-Identifier: Apache-2.0
#include "expect.hpp"
#include "targets.hpp"

#include <distrib/remote/s3/aws_answer.hpp>
#include <distrib/remote/s3/aws_credentials_core.hpp>
#include <distrib/remote/s3/aws_profile.hpp>
#include <distrib/remote/s3/s3_answer.hpp>
#include <distrib/remote/s3/s3_core.hpp>
#include <distrib/remote/s3/s3_location.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace fuzz {

namespace {

using distrib::HttpAnswer;
using distrib::HttpStep;
using distrib::S3Core;
using distrib::S3Request;

constexpr distrib::UnixTime s3_now{std::chrono::seconds{1'800'000'000}};

void expect_one_line(const distrib::HttpRequest& request) {
  for (const char c : request.url.text()) expect(c > ' ' && c < '\x7f', "a request is one line");
  for (const auto& [name, value] : request.headers)
    expect(name.find_first_of("\r\n:") == std::string::npos && value.find_first_of("\r\n") == std::string::npos,
           "a header is one line");
}

void s3_bodies(std::string_view text) {
  distrib::XmlReader reader{text};
  std::size_t depth = 0;
  std::size_t bytes = 0;
  for (std::size_t tokens = 0; reader.next() != distrib::XmlToken::done; ++tokens) {
    expect(tokens <= 2 * text.size() + 2, "a document has no more tokens than bytes");
    if (reader.token() == distrib::XmlToken::error) break;
    if (reader.token() == distrib::XmlToken::begin) ++depth;
    if (reader.token() == distrib::XmlToken::end) expect(depth-- != 0, "no element ends that did not begin");
    if (reader.token() == distrib::XmlToken::text) bytes += reader.text().size();
    expect(depth <= distrib::XmlReader::max_depth && bytes <= text.size(), "nothing expands");
  }
  if (reader.token() == distrib::XmlToken::done) expect(depth == 0, "all elements have ended");

  std::error_code ec;
  for (const bool google : {false, true}) {
    const auto page = distrib::parse_s3_list(text, google, ec);
    expect(!ec || (page.objects.empty() && page.next.empty()), "a page is complete or empty");
    for (const auto& info : page.objects) expect(!info.key.empty(), "an object has a key");
  }
  const auto uploads = distrib::parse_s3_uploads(text, ec);
  for (const auto& upload : uploads.uploads) expect(!upload.key.empty() && !upload.id.empty(), "an upload has an id");
  static_cast<void>(distrib::parse_s3_upload_id(text, ec));
  static_cast<void>(distrib::parse_s3_completed(text, ec));
  static_cast<void>(distrib::parse_s3_copied(text, ec));
  static_cast<void>(distrib::parse_s3_deleted(text, ec));
  if (const auto refusal = distrib::S3Refusal::parse(text))
    for (const char c : refusal->code + refusal->region + refusal->request_id)
      expect(c > ' ' && c < '\x7f', "what is quoted is printable");
}

void s3_texts(std::string_view text) {
  distrib::Error error;
  const auto location = distrib::S3Location::parse(text, error);
  expect(error || location.url_of(location.key).ends_with(location.key), "a URL ends in its key");
  const auto expect_url = [](const std::string& url) {
    for (const char c : url) expect(c > ' ' && c < '\x7f', "a URL is one word");
  };
  if (!error) {
    const auto endpoint = distrib::S3Endpoint::make(location, {}, "", "", error);
    expect_url(endpoint.url(location.key).text());
  }
  const auto time = distrib::parse_iso_time(text);
  if (time) expect(distrib::signature_time(*time).size() == 16, "a time that was read can be signed");
  static_cast<void>(distrib::parse_http_date(text));
  static_cast<void>(distrib::percent_decode(text));
  distrib::HttpUrl url{.host = "h"};
  const auto proxy = distrib::HttpProxy::of(url, {.http = std::string{text}, .none = std::string{text}}, error);
  expect(!proxy || !proxy->host.empty(), "a proxy has a host");
}

void expect_keys(const std::optional<distrib::AwsKeys>& keys) {
  if (!keys) return;
  expect(!keys->access_key.empty() || !keys->bearer.empty(), "credentials have a key or a token");
  for (const std::string& value : {keys->access_key, keys->session_token.text(), keys->bearer.text()})
    expect(value.find_first_of("\r\n") == std::string::npos, "credentials do not end the line of a header");
}

void s3_profiles(std::string_view text) {
  expect_keys(distrib::keys_of_json(text, "Token"));
  expect_keys(distrib::keys_of_google_json(text, s3_now));
  expect_keys(distrib::keys_of_xml(text, "AssumeRoleResponse"));
  for (const char c : distrib::sts_error_code(text)) expect(c > ' ' && c < '\x7f', "what is quoted is printable");
  distrib::AwsCredentialSources sources;
  sources.profiles.add_config(text);
  sources.profiles.add_credentials(text);
  distrib::AwsCredentialsCore core{std::move(sources)};
  using Kind = distrib::AwsCredentialStep::Kind;
  for (int steps = 0; steps < 100; ++steps) {
    const auto step = core.next(s3_now);
    switch (step.kind) {
      case Kind::done: return expect(!core.keys().access_key.empty(), "credentials have a key");
      case Kind::failed: return expect(static_cast<bool>(core.error()), "a failure has a reason");
      case Kind::wait: break;
      case Kind::read:
      case Kind::run: core.has_read(std::string{text}, {}); break;
      case Kind::send: {
        HttpAnswer answer{.status = 200};
        answer.body = text;
        core.answered(answer, {});
        break;
      }
    }
  }
  expect(false, "looking for credentials ends");
}

/// A store that answers what the input says: status and headers of each answer, and how much of its body arrives.
void s3_talk(S3Request request, std::string_view input, std::uint64_t bytes) {
  distrib::Error error;
  distrib::S3Setup setup{.endpoint = distrib::S3Endpoint::make({.bucket = "bucket"}, {}, "", "", error)};
  setup.keys = {.access_key = "A", .secret_key = "S"};
  setup.retry = {.attempts = 5};
  S3Core core{std::move(request), std::move(setup)};
  std::uint64_t accepted = 0;
  const auto number = [&input] {
    const unsigned value = input.empty() ? 0 : static_cast<unsigned char>(input.front());
    input.remove_prefix(std::min<std::size_t>(1, input.size()));
    return value;
  };
  const auto line = [&input] {
    const std::size_t end = std::min(input.find('\n'), input.size());
    std::string text{input.substr(0, end)};
    input.remove_prefix(std::min(end + 1, input.size()));
    return text;
  };
  for (int steps = 0; steps < 2000; ++steps) {
    const HttpStep step = core.next(s3_now);
    if (step.kind == HttpStep::Kind::wait) continue;
    if (step.kind == HttpStep::Kind::failed) return expect(static_cast<bool>(core.error()), "a failure has a reason");
    if (step.kind == HttpStep::Kind::done) {
      if (!core.wants_keys()) return expect(!core.streams() || accepted == bytes, "all bytes were accepted");
      core.use({.access_key = "B", .secret_key = "S"});
      continue;
    }
    expect_one_line(step.request);
    constexpr int statuses[] = {0, 200, 206, 301, 307, 400, 403, 404, 409, 412, 416, 429, 500, 501, 503};
    HttpAnswer answer{.status = statuses[number() % std::size(statuses)]};
    if (number() % 2 != 0) answer.content_length = number();
    const std::uint64_t first = number();
    answer.content_range = "bytes " + std::to_string(first) + '-' + std::to_string(first + number()) + "/300";
    answer.etag = number() % 2 != 0 ? "\"e\"" : "";
    constexpr const char* names[] = {"x-amz-bucket-region", "retry-after", "date", "x-amz-request-id", "location"};
    answer.headers = {{names[number() % std::size(names)], line()}};
    answer.location = answer.header("location");
    if (!answer.good() || !core.streams()) answer.body = line();
    if (answer.good() && core.streams())
      for (unsigned pieces = number() % 4; pieces > 0; --pieces) {
        const std::uint64_t size = number();
        const std::uint64_t taken = core.accept(answer, size);
        expect(taken <= size && (accepted += taken) <= bytes,
               "no more is accepted than arrived, or than was requested");
      }
    core.ended(answer, number() % 3 == 0 ? distrib::Error{distrib::http_errc::ended_early, "h"} : distrib::Error{});
    for (const char c : core.error().where) expect(c >= ' ', "the place of an error is one line");
  }
  expect(false, "the exchange ends");
}

}  // namespace

void s3(ByteView input) {
  const std::string_view text = distrib::as_text(input);
  s3_bodies(text);
  s3_texts(text);
  s3_profiles(text);
  s3_talk(S3Request::get("k", 0, 300, "\"e\""), text, 300);
  s3_talk(S3Request::head("k"), text, 0);
  s3_talk(S3Request::list("p", ""), text, 0);
  s3_talk(S3Request::put("k", input, 0, "n", {.absent = true}), text, 0);
  const std::vector<distrib::S3Part> parts{{1, "e", {}}};
  s3_talk(S3Request::complete("k", "u", parts, 1), text, 0);
}

}  // namespace fuzz
