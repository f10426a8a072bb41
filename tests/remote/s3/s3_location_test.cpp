// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/s3/s3_location.hpp>

#include "support/catch.hpp"

using distrib::S3Location;

TEST_CASE("S3Location: buckets, keys and servers", "[remote][s3]") {
  distrib::Error error;
  auto location = S3Location::parse("s3://bucket/a b/%2F?x#y", error);
  CHECK_FALSE(error);
  CHECK(location.bucket == "bucket");
  CHECK(location.key == "a b/%2F?x#y");
  CHECK_FALSE(location.gcs);
  CHECK(location.url_of("k") == "s3://bucket/k");
  location = S3Location::parse("gs://b", error);
  CHECK_FALSE(error);
  CHECK(location.gcs);
  CHECK(location.key.empty());
  CHECK(location.url_of("k") == "gs://b/k");
  location = S3Location::parse("s3+http://127.0.0.1:9000/my_bucket/k//x", error);
  CHECK_FALSE(error);
  CHECK(location.endpoint == "http://127.0.0.1:9000");
  CHECK(location.bucket == "my_bucket");
  CHECK(location.key == "k//x");
  CHECK(location.url_of("y") == "s3+http://127.0.0.1:9000/my_bucket/y");
  location = S3Location::parse("s3+https://[::1]/b/", error);
  CHECK_FALSE(error);
  CHECK(location.endpoint == "https://[::1]:443");
  CHECK(distrib::is_s3_url("s3://b"));
  CHECK_FALSE(distrib::is_s3_url("/s3://b"));
}

TEST_CASE("S3Location: refuses other texts, without their secrets", "[remote][s3]") {
  for (const std::string url : {"", "s3:/b/k", "http://b/k", "s3://", "s3:///k", "s3://b?SECRET", "s3://me:SECRET@b/k",
                                "s3://../k", "s3://ü/k", "s3+http://h:9000", "s3+http://h:9000/",
                                "s3+http://me:SECRET@h/b/k", "s3+http://h:0/b/k", "s3://b@SECRET.com"}) {
    distrib::Error error;
    CHECK(S3Location::parse(url, error).bucket.empty());
    INFO(url << ": " << error.where);
    CHECK(error.code == distrib::s3_errc::bad_url);
    if (url.find('@') < url.find("SECRET")) continue;
    CHECK_THAT(error.where, !ContainsSubstring("SECRET"));
  }
  distrib::Error error;
  static_cast<void>(S3Location::parse("s3://b/" + std::string(1024, 'k'), error));
  CHECK_FALSE(error);
  static_cast<void>(S3Location::parse("s3://b/" + std::string(1025, 'k'), error));
  CHECK(error);
  static_cast<void>(S3Location::parse(std::string{"s3://b/k\0x", 10}, error));
  CHECK(error);
}
