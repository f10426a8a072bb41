// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/s3/aws_profile.hpp>

#include "support/catch.hpp"

TEST_CASE("AwsProfiles: sections, comments, what is left out, and which file wins", "[remote][s3]") {
  distrib::AwsProfiles profiles;
  profiles.add_config(
      "# a comment\n[default]\nregion = eu-west-1\n[profile work]\r\nregion=us-west-2 # here\nsource_profile = base\n"
      "aws_access_key_id = OLD\ns3 =\n  max_concurrent_requests = 20\n[sso-session s]\nregion = x\n[nameless\nregion = "
      "y\n"
      "[work]\nregion = z\n");
  profiles.add_credentials(
      "[default]\naws_access_key_id = A\naws_secret_access_key = s/=+ec\n[work]\n"
      "aws_access_key_id=NEW\n[empty]\n=\nname\n");
  CHECK(profiles.get("default", "region") == "eu-west-1");
  CHECK(profiles.get("default", "aws_secret_access_key") == "s/=+ec");
  CHECK(profiles.get("work", "region") == "us-west-2");
  CHECK(profiles.get("work", "source_profile") == "base");
  CHECK(profiles.get("work", "aws_access_key_id") == "NEW");
  CHECK(profiles.get("work", "max_concurrent_requests").empty());
  CHECK(profiles.find("empty") != nullptr);
  CHECK(profiles.find("s") == nullptr);
  CHECK(profiles.get("none", "region").empty());
}

TEST_CASE("AwsProfiles: any text is taken", "[remote][s3]") {
  for (const char* text :
       {"", "[", "[]", "]", "[a", "=", "[a]\n=x", "[profile ]\nx=1", "[profile", "\n\n[a]\n \t\r\n"}) {
    distrib::AwsProfiles profiles;
    profiles.add_config(text);
    profiles.add_credentials(text);
    CHECK(profiles.get("a", "b").empty());
  }
}
