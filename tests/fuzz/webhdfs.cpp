// SPDX-License-Identifier: Apache-2.0
#include "expect.hpp"
#include "targets.hpp"

#include <distrib/remote/http_range_core.hpp>
#include <distrib/remote/webhdfs_answer.hpp>
#include <distrib/remote/webhdfs_core.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

namespace fuzz {

namespace {

using distrib::HttpAnswer;
using distrib::HttpStep;
using distrib::HttpUrl;

void bodies(std::string_view text) {
  std::error_code ec;
  static_cast<void>(distrib::parse_webhdfs_status(text, ec));
  static_cast<void>(distrib::parse_webhdfs_boolean(text, ec));
  const auto list = distrib::parse_webhdfs_list(text, ec);
  expect(!ec || list.empty(), "a listing is complete or empty");
  for (const auto& entry : list) expect(entry.name.find('/') == std::string::npos, "no name of an entry has a slash");
  const auto remote = distrib::RemoteException::parse(text);
  if (!remote) return;
  expect(!remote->exception.empty() && remote->message.size() <= 400, "an exception has a class and a short message");
  for (const char c : remote->message) expect(static_cast<unsigned char>(c) >= ' ', "the message is one line");
}

void urls(std::string_view text) {
  std::error_code ec;
  const HttpUrl url = HttpUrl::parse(text, ec);
  if (!ec) {
    expect(HttpUrl::parse(url.text(), ec) == url && !ec, "a URL that was written is read as the same URL");
    for (const char c : url.text()) expect(c > ' ' && c < '\x7f', "no character of a URL ends a line of a request");
  }
  const HttpUrl to = HttpUrl::parse("https://h:1/a/b?c").resolve(text, ec);
  expect(ec || HttpUrl::parse(to.text()) == to, "what a Location leads to is a URL");
  distrib::Error error;
  const auto location = distrib::WebHdfsLocation::parse(text, {}, error);
  expect(error || (!location.servers.empty() && location.path.starts_with('/')), "a location has a server and a path");
  if (!error) expect(location.url_of(location.path) == text, "the URL of a location's path is the text");
}

/// A server that answers what the input says: status and headers of each answer, and how much of its body arrives.
template <class Core> void talk(Core core, std::string_view input, std::uint64_t bytes) {
  std::uint64_t accepted = 0;
  const auto number = [&input] {
    const unsigned value = input.empty() ? 0 : static_cast<unsigned char>(input.front());
    input.remove_prefix(std::min<std::size_t>(1, input.size()));
    return value;
  };
  for (int steps = 0; steps < 2000; ++steps) {
    const HttpStep step = core.next();
    if (step.kind == HttpStep::Kind::wait) continue;
    if (step.kind == HttpStep::Kind::failed) return expect(static_cast<bool>(core.error()), "a failure has a reason");
    if (step.kind == HttpStep::Kind::done) return expect(accepted == bytes, "all bytes were accepted when it is done");
    for (const char c : step.request.url.text()) expect(c > ' ' && c < '\x7f', "a request is one line");
    constexpr int statuses[] = {0, 200, 201, 206, 307, 401, 403, 404, 416, 429, 500, 503};
    HttpAnswer answer{.status = statuses[number() % std::size(statuses)]};
    if (number() % 2 != 0) answer.content_length = number();
    const std::uint64_t first = number();
    answer.content_range = "bytes " + std::to_string(first) + '-' + std::to_string(first + number()) + "/300";
    const std::size_t line = std::min(input.find('\n'), input.size());
    if (answer.status == 307) answer.location = input.substr(0, line);
    else if (!answer.good()) answer.body = input.substr(0, line);
    input.remove_prefix(std::min(line + 1, input.size()));
    if (answer.good())
      for (unsigned pieces = number() % 4; pieces > 0; --pieces) {
        const std::uint64_t size = number();
        const std::uint64_t taken = core.accept(answer, size);
        expect(taken <= size && (accepted += taken) <= bytes,
               "no more is accepted than arrived, or than was requested");
      }
    core.ended(answer, number() % 3 == 0 ? distrib::Error{distrib::http_errc::ended_early, "h"} : distrib::Error{});
  }
  expect(false, "the exchange ends");
}

}  // namespace

void webhdfs(ByteView input) {
  const std::string_view text = distrib::as_text(input);
  bodies(text);
  urls(text);
  const distrib::HttpRetryOptions retry{.attempts = 5};
  const std::vector<HttpUrl> two{HttpUrl::parse("http://n1:1"), HttpUrl::parse("http://n2:1")};
  talk(distrib::WebHdfsCore{distrib::WebHdfsRequest::open("/f", 0, 300), two, {.retry = retry}}, text, 300);
  talk(distrib::HttpRangeCore{two[0], 0, 300, {}, retry}, text, 300);
}

}  // namespace fuzz
