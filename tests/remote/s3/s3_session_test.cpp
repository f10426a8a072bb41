// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/s3/s3_session.hpp>

#include "support/catch.hpp"
#include "support/fake_s3.hpp"
#include "support/temp_directory.hpp"

#include <fstream>
#include <thread>

using distrib::Error;
using distrib::HttpClient;
using distrib::S3Location;
using distrib::S3Options;
using distrib::S3Request;
using distrib::S3Session;
using support::FakeS3;
using support::HttpAsked;
using support::HttpSaid;

TEST_CASE("S3Session: what the options leave open comes from the environment, then from the profile", "[remote][s3]") {
  FakeS3 store;
  store.region = "eu-central-1";
  store.objects["k"] = {"12345", "\"e\""};
  const support::TempDirectory directory;
  const std::string config = (directory / "config").string();
  std::ofstream{config} << "[profile work]\nregion = eu-central-1\nendpoint_url = " << store.url()
                        << "\nca_bundle = /none\naws_access_key_id = " << FakeS3::access_key
                        << "\naws_secret_access_key = " << FakeS3::secret_key << '\n';
  S3Options options;
  options.environment = distrib::AwsEnvironment{};
  options.environment->values = {{"AWS_CONFIG_FILE", config}, {"AWS_PROFILE", "work"}, {"https_proxy", "http://p:1"}};
  Error error;
  const S3Location location = S3Location::parse("s3://bucket/k", error);
  const auto session = S3Session::open(location, options, error);
  REQUIRE_FALSE(error);
  CHECK(session->http().authority == "/none");
  CHECK(session->http().proxies.https == "http://p:1");
  HttpClient client{session->http()};
  std::string bytes;
  session->run(
      client, S3Request::get_all("k", 9), [&](distrib::ByteView view) { bytes += distrib::as_text(view); }, error);
  CHECK_FALSE(error);
  CHECK(bytes == "12345");
  CHECK(store.asked().size() == 1);  // the region was right at once

  options.environment->values["AWS_ENDPOINT_URL"] = "http://127.0.0.1:1";  // wins over the profile
  options.retry.attempts = 1;
  const auto other = S3Session::open(location, options, error);
  HttpClient second{other->http()};
  other->run(second, S3Request::head("k"), [](distrib::ByteView) {}, error);
  CHECK(error.code == distrib::http_errc::unreachable);
}

TEST_CASE("S3Session: the file of credentials may name the region; a session of another server is refused",
          "[remote][s3]") {
  FakeS3 store;
  store.region = "eu-central-1";
  store.objects["k"] = {"12345"};
  const support::TempDirectory directory;
  const std::string file = (directory / "credentials").string();
  std::ofstream{file} << "[default]\nregion = eu-central-1\naws_access_key_id = " << FakeS3::access_key
                      << "\naws_secret_access_key = " << FakeS3::secret_key << '\n';
  S3Options options;
  options.environment = distrib::AwsEnvironment{};
  options.environment->values = {{"AWS_SHARED_CREDENTIALS_FILE", file}};
  Error error;
  const auto session = S3Session::open(S3Location::parse(store.object("k"), error), options, error);
  REQUIRE_FALSE(error);
  HttpClient client{session->http()};
  session->run(client, S3Request::head("k"), [](distrib::ByteView) {}, error);
  CHECK_FALSE(error);
  CHECK(store.asked().size() == 1);  // the region was right at once

  options.session = session;
  const auto open = [&](const std::string& url) {
    return S3Session::open(S3Location::parse(url, error), options, error);
  };
  CHECK(open(store.object("other")) == session);
  CHECK(open("s3://bucket/k") == session);
  for (const char* url : {"s3+http://127.0.0.1:1/bucket/k", "s3://tub/k", "gs://bucket/k"}) {
    CHECK(open(url) == nullptr);
    CHECK(error.code == distrib::s3_errc::bad_url);
  }
}

TEST_CASE("S3Session: after a throttle fewer requests are sent at once", "[remote][s3]") {
  FakeS3 store;
  store.objects["k"] = {"12345", "\"e\""};
  store.refuse = [n = 0](const HttpAsked&) mutable -> std::optional<HttpSaid> {
    if (n++ >= 4) return std::nullopt;
    return FakeS3::error(503, "SlowDown");
  };
  Error error;
  const auto session = S3Session::open(S3Location::parse(store.object("k"), error), store.options(9), error);
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      HttpClient client{session->http()};
      Error own;
      for (int j = 0; j < 3; ++j) {
        session->run(client, S3Request::head("k"), [](distrib::ByteView) {}, own);
        if (!own) ++right;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 24);
  CHECK(store.asked().size() == 28);
}

TEST_CASE("S3Session: a reader that is stopped says so", "[remote][s3]") {
  FakeS3 store;
  store.refuse = [](const HttpAsked&) { return FakeS3::error(500, "InternalError"); };
  Error error;
  S3Options options = store.options(1000);
  options.retry.longest_pause = std::chrono::seconds{5};
  options.retry.first_pause = std::chrono::seconds{5};
  const auto session = S3Session::open(S3Location::parse(store.object("k"), error), options, error);
  HttpClient client{session->http()};
  const std::atomic<bool> stop = true;
  session->run(client, S3Request::head("k"), [](distrib::ByteView) {}, error, &stop);
  CHECK(error.code == distrib::http_errc::stopped);
}
