// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/s3/s3_credentials.hpp>

#include "support/catch.hpp"
#include "support/http_server.hpp"
#include "support/temp_directory.hpp"

#include <atomic>
#include <fstream>
#include <thread>

using namespace std::chrono_literals;
using distrib::AwsCredentialSources;
using distrib::AwsKeys;
using distrib::Error;
using distrib::RefreshTime;
using distrib::S3Credentials;
using distrib::UnixTime;
using support::HttpAsked;
using support::HttpSaid;
using support::HttpServer;

namespace {

/// The answer of a container's server: keys called K1, K2, ... that end in `minutes`.
auto container_keys(int number, int minutes) -> HttpSaid {
  const std::time_t end =
      std::chrono::system_clock::to_time_t(std::chrono::system_clock::now() + std::chrono::minutes{minutes});
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&end));
  return HttpSaid::answer(200, R"({"AccessKeyId":"K)" + std::to_string(number) +
                                   R"(","SecretAccessKey":"S","Token":"T","Expiration":")" + text + "\"}");
}

auto credentials_at(const HttpServer& server, distrib::IoPool* pool = nullptr) -> std::shared_ptr<S3Credentials> {
  AwsCredentialSources sources;
  sources.environment.values = {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", server.url() + "/c"}};
  return std::make_shared<S3Credentials>(sources, std::array<std::string, 2>{}, distrib::HttpOptions{}, pool);
}

}  // namespace

TEST_CASE("refresh_time: 15 minutes before the end, 10 at the latest", "[remote][s3]") {
  constexpr UnixTime now{1'800'000'000s};
  CHECK(distrib::refresh_time(std::nullopt, now) == RefreshTime::not_yet);
  CHECK(distrib::refresh_time(now + 15min + 1s, now) == RefreshTime::not_yet);
  CHECK(distrib::refresh_time(now + 15min, now) == RefreshTime::ahead);
  CHECK(distrib::refresh_time(now + 10min + 1s, now) == RefreshTime::ahead);
  CHECK(distrib::refresh_time(now + 10min, now) == RefreshTime::at_once);
  CHECK(distrib::refresh_time(now - 1s, now) == RefreshTime::at_once);
}

TEST_CASE("S3Credentials: sixteen threads fetch the first credentials once", "[remote][s3]") {
  HttpServer server{[](const HttpAsked&) { return container_keys(1, 60); }};
  const auto credentials = credentials_at(server);
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 16; ++i)
    threads.emplace_back([&] {
      Error error;
      if (credentials->get(error).access_key == "K1" && !error) ++right;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 16);
  CHECK(server.asked().size() == 1);
}

TEST_CASE("S3Credentials: the pool fetches ahead, and nobody waits", "[remote][s3]") {
  std::atomic<int> number = 0;
  HttpServer server{[&](const HttpAsked&) { return container_keys(++number, number == 1 ? 12 : 60); }};
  distrib::IoPool pool{1};
  const auto credentials = credentials_at(server, &pool);
  Error error;
  CHECK(credentials->get(error).access_key == "K1");
  CHECK(credentials->get(error).access_key == "K1");  // fetched a moment ago: not again within a minute
  CHECK(server.asked().size() == 1);
}

TEST_CASE("S3Credentials: what the store calls expired is fetched anew", "[remote][s3]") {
  std::atomic<int> number = 0;
  HttpServer server{[&](const HttpAsked&) {
    if (number == 2) return HttpSaid::answer(403, "");
    return container_keys(++number, 60);
  }};
  const auto credentials = credentials_at(server);
  Error error;
  const AwsKeys first = credentials->get(error);
  const AwsKeys second = credentials->renew(first, error);
  CHECK(second.access_key == "K2");
  CHECK(credentials->renew(first, error).access_key == "K2");  // another thread has done that
  CHECK(server.asked().size() == 2);
  CHECK(credentials->renew(second, error).access_key.empty());
  CHECK(error.code == distrib::s3_errc::bad_credentials);
}

TEST_CASE("S3Credentials: files of profiles are read again at each fetch; commands run", "[remote][s3]") {
  const support::TempDirectory directory;
  const std::string file = (directory / "credentials").string();
  const auto write = [&](const std::string& text) { std::ofstream{file} << text; };
  write("[default]\naws_access_key_id=A\naws_secret_access_key=S\n");
  const auto credentials = std::make_shared<S3Credentials>(AwsCredentialSources{}, std::array<std::string, 2>{file, ""},
                                                           distrib::HttpOptions{}, nullptr);
  Error error;
  const AwsKeys first = credentials->get(error);
  CHECK(first.access_key == "A");
  write("[default]\naws_access_key_id=B\naws_secret_access_key=S\n");
  CHECK(credentials->get(error).access_key == "A");
  CHECK(credentials->renew(first, error).access_key == "B");

  write("[default]\ncredential_process=echo '{\"Version\":1,\"AccessKeyId\":\"P\",\"SecretAccessKey\":\"S\"}'\n");
  const auto process = std::make_shared<S3Credentials>(AwsCredentialSources{}, std::array<std::string, 2>{file, ""},
                                                       distrib::HttpOptions{}, nullptr);
  CHECK(process->get(error).access_key == "P");
  write("[default]\ncredential_process=exit 3\n");
  const auto fails = std::make_shared<S3Credentials>(AwsCredentialSources{}, std::array<std::string, 2>{file, ""},
                                                     distrib::HttpOptions{}, nullptr);
  CHECK(fails->get(error).access_key.empty());
  CHECK(error.code == distrib::s3_errc::bad_credentials);
}

TEST_CASE("S3Credentials: a command has a limit of time and of output", "[remote][s3]") {
  const support::TempDirectory directory;
  const std::string file = (directory / "credentials").string();
  const distrib::HttpOptions quick{.timeout = 300ms};
  const auto failure_of = [&](const std::string& command) {
    std::ofstream{file} << "[default]\ncredential_process=" << command << '\n';
    const auto process =
        std::make_shared<S3Credentials>(AwsCredentialSources{}, std::array<std::string, 2>{file, ""}, quick, nullptr);
    Error error;
    CHECK(process->get(error).access_key.empty());
    CHECK(error.code == distrib::s3_errc::bad_credentials);
    return error.where;
  };
  CHECK_THAT(failure_of("sleep 1000"), ContainsSubstring("did not end in time"));
  CHECK_THAT(failure_of("exec >&-; sleep 1000"), ContainsSubstring("did not end in time"));  // closes its output first
  CHECK_THAT(failure_of("sleep 1000 & sleep 1000"),
             ContainsSubstring("did not end in time"));  // with a child of its own
  CHECK_THAT(failure_of("yes"), ContainsSubstring("gave no credentials"));  // output without end
  CHECK_THAT(failure_of("kill -9 $$"), ContainsSubstring("gave no credentials"));
}
