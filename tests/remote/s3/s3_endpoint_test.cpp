// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/s3/s3_endpoint.hpp>

#include "support/catch.hpp"

using distrib::Error;
using distrib::S3Endpoint;
using distrib::S3Location;
using distrib::S3Options;

namespace {

auto url_at(const std::string& url, const S3Options& options, const std::string& region = {},
            const std::string& endpoint = {}, const std::string& query = {}) -> std::string {
  Error error;
  const S3Location location = S3Location::parse(url, error);
  REQUIRE_FALSE(error);
  const S3Endpoint made = S3Endpoint::make(location, options, region, endpoint, error);
  return error ? error.where : made.url(location.key, query).text();
}

}  // namespace

TEST_CASE("S3Endpoint: Amazon's hosts", "[remote][s3]") {
  CHECK(url_at("s3://bucket/a b+ü", {}) == "https://bucket.s3.us-east-1.amazonaws.com:443/a%20b%2B%C3%BC");
  CHECK(url_at("s3://bucket/k", {}, "eu-west-1") == "https://bucket.s3.eu-west-1.amazonaws.com:443/k");
  CHECK(url_at("s3://bucket/k", {}, "cn-north-1") == "https://bucket.s3.cn-north-1.amazonaws.com.cn:443/k");
  CHECK(url_at("s3://bucket/k", {.dual_stack = true}) == "https://bucket.s3.dualstack.us-east-1.amazonaws.com:443/k");
  CHECK(url_at("s3://bucket/k", {.fips = true}, "us-gov-west-1") ==
        "https://bucket.s3-fips.us-gov-west-1.amazonaws.com:443/k");
  CHECK(url_at("s3://bucket/k", {.dual_stack = true, .fips = true}) ==
        "https://bucket.s3-fips.dualstack.us-east-1.amazonaws.com:443/k");
  CHECK(url_at("s3://bucket", {}, {}, {}, "list-type=2") ==
        "https://bucket.s3.us-east-1.amazonaws.com:443/?list-type=2");
  // a certificate for *.s3.amazonaws.com does not cover two names in front
  CHECK(url_at("s3://my.bucket/k", {}) == "https://s3.us-east-1.amazonaws.com:443/my.bucket/k");
  CHECK(url_at("s3://My_Bucket/k", {}) == "https://s3.us-east-1.amazonaws.com:443/My_Bucket/k");
  CHECK(url_at("s3://bucket/k", {.path_style = true}) == "https://s3.us-east-1.amazonaws.com:443/bucket/k");
}

TEST_CASE("S3Endpoint: other servers, and Google's", "[remote][s3]") {
  CHECK(url_at("s3://bucket/k", {}, {}, "http://minio:9000/") == "http://minio:9000/bucket/k");
  CHECK(url_at("s3://bucket/k", {}, {}, "https://gateway/store/") == "https://gateway:443/store/bucket/k");
  CHECK(url_at("s3://bucket/k", {.path_style = false}, {}, "http://minio:9000") == "http://bucket.minio:9000/k");
  CHECK(url_at("s3://my.bucket/k", {.path_style = false}, {}, "http://minio:9000") == "http://my.bucket.minio:9000/k");
  CHECK(url_at("s3+http://h:1/bucket/k", {}, {}, "http://minio:9000") == "http://h:1/bucket/k");
  CHECK(url_at("s3://bucket", {}, {}, "http://minio:9000", "uploads=") == "http://minio:9000/bucket?uploads=");
  CHECK(url_at("gs://bucket/k", {}) == "https://storage.googleapis.com:443/bucket/k");
  CHECK(url_at("gs://bucket/k", {}, {}, "http://127.0.0.1:1") == "http://127.0.0.1:1/bucket/k");
  CHECK_THAT(url_at("s3://b/k", {}, {}, "minio:9000"), ContainsSubstring("endpoint \"minio:9000\""));
  CHECK_THAT(url_at("s3://b/k", {}, {}, "http://h/?key=SECRET"), !ContainsSubstring("SECRET"));
  CHECK_THAT(url_at("s3://bucket/k", {}, "evil.com/"), ContainsSubstring("region \"evil.com/\""));
}

TEST_CASE("S3Endpoint: what requests are signed for, and where a signature may go", "[remote][s3]") {
  Error error;
  const auto amazon = S3Endpoint::make({.bucket = "bucket"}, {}, "eu-west-1", "", error);
  CHECK(amazon.scope().text("20130524T") == "20130524/eu-west-1/s3/aws4_request");
  const auto google = S3Endpoint::make({.gcs = true, .bucket = "bucket"}, {}, "", "", error);
  CHECK(google.scope().text("20130524T") == "20130524/auto/storage/goog4_request");
  CHECK(S3Endpoint::is_same_site("a.s3.us-east-1.amazonaws.com", "a.s3.eu-west-1.amazonaws.com"));
  CHECK(S3Endpoint::is_same_site("minio", "minio"));
  CHECK_FALSE(S3Endpoint::is_same_site("a.s3.us-east-1.amazonaws.com", "evil-amazonaws.com"));
  CHECK_FALSE(S3Endpoint::is_same_site("minio", "other"));
  const std::string here = "a.s3.us-east-1.amazonaws.com";
  for (const char* host :
       {"s3.amazonaws.com", "a.s3-eu-west-1.amazonaws.com", "a.b.s3.dualstack.eu-west-1.amazonaws.com",
        "s3-fips.us-gov-west-1.amazonaws.com", "a.s3.cn-north-1.amazonaws.com.cn"})
    CHECK(S3Endpoint::is_same_site(here, host));
  for (const char* host : {"ec2-203-0-113-25.compute-1.amazonaws.com", "s3-1.us-east-1.elb.amazonaws.com",
                           "x.execute-api.us-east-1.amazonaws.com", "amazonaws.com", "s3.evil.com", ".amazonaws.com"})
    CHECK_FALSE(S3Endpoint::is_same_site(here, host));
}
