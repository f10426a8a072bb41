// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/s3/aws_answer.hpp>

#include "support/catch.hpp"

#include <string>

using namespace std::chrono_literals;
using distrib::UnixTime;

TEST_CASE("keys_of_json: what servers of credentials and commands say", "[remote][s3]") {
  const auto keys = distrib::keys_of_json(
      R"({"Code":"Success","Nested":{"AccessKeyId":"no"},"AccessKeyId":"A","SecretAccessKey":"S","Token":"T",)"
      R"("Expiration":"2027-01-15T09:00:00Z"})",
      "Token");
  REQUIRE(keys);
  CHECK(keys->access_key == "A");
  CHECK(keys->secret_key.text() == "S");
  CHECK(keys->session_token.text() == "T");
  CHECK(keys->expires == UnixTime{1'800'003'600s});
  for (const char* text : {"", "[]", R"({"AccessKeyId":"A"})", R"({"AccessKeyId":"A","SecretAccessKey":"S")",
                           R"({"AccessKeyId":"A","SecretAccessKey":"S","Expiration":"soon"})",
                           R"({"AccessKeyId":"A\r","SecretAccessKey":"S"})"})
    CHECK_FALSE(distrib::keys_of_json(text, "Token"));
}

TEST_CASE("keys_of_google_json: a token and when it ends", "[remote][s3]") {
  constexpr UnixTime now{1'800'000'000s};
  const auto keys = distrib::keys_of_google_json(R"({"access_token":"T","expires_in":60})", now);
  REQUIRE(keys);
  CHECK(keys->bearer.text() == "T");
  CHECK(keys->expires == now + 60s);
  CHECK(distrib::keys_of_google_json(R"({"access_token":"T","expires_in":-1})", now)->expires == now);
  for (const char* text : {"", "{}", R"({"access_token":"T\n"})", R"({"access_token":7})", R"({"access_token":"T")"})
    CHECK_FALSE(distrib::keys_of_google_json(text, now));  // the last was cut: whether the token ends is not known
}

TEST_CASE("keys_of_xml: what STS says", "[remote][s3]") {
  const std::string credentials =
      "<Credentials><AccessKeyId>A</AccessKeyId><SecretAccessKey>S</SecretAccessKey><SessionToken>T</SessionToken>"
      "<Expiration>2027-01-15T09:00:00Z</Expiration></Credentials>";
  const auto answer = [](const std::string& text) {
    return "<R><AssumeRoleResult>" + text + "</AssumeRoleResult></R>";
  };
  const auto keys = distrib::keys_of_xml(answer(credentials), "R");
  REQUIRE(keys);
  CHECK(keys->session_token.text() == "T");
  CHECK_FALSE(distrib::keys_of_xml(answer(credentials), "Other"));
  CHECK_FALSE(distrib::keys_of_xml(answer(""), "R"));
  CHECK_FALSE(distrib::keys_of_xml(answer(credentials).substr(0, 150), "R"));
  CHECK(distrib::sts_error_code("<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>") ==
        "AccessDenied");
  CHECK(distrib::sts_error_code("<html>").empty());
}
