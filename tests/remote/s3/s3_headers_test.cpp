// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/s3/s3_headers.hpp>

#include "support/catch.hpp"

#include <string>

using distrib::Error;
using distrib::NamedTexts;
using distrib::S3Checksums;
using distrib::S3Request;
using distrib::S3Setup;

namespace {

auto setup_with(NamedTexts headers, bool gcs = false) -> S3Setup {
  Error error;
  S3Setup setup{.endpoint = distrib::S3Endpoint::make({.gcs = gcs, .bucket = "bucket"}, {}, "", "", error)};
  setup.headers = std::move(headers);
  return setup;
}

auto value_of(const NamedTexts& headers, const std::string& name) -> std::string {
  for (const auto& [found, value] : headers)
    if (found == name) return value;
  return "";
}

}  // namespace

TEST_CASE("s3_headers: headers of the options go where they belong", "[remote][s3]") {
  const S3Setup setup = setup_with({{"x-amz-server-side-encryption", "aws:kms"},
                                    {"X-Amz-Server-Side-Encryption-Customer-Key", "c"},
                                    {"x-amz-request-payer", "requester"},
                                    {"x-amz-storage-class", "STANDARD_IA"}});
  const auto names = [&](const S3Request& request) {
    const NamedTexts made = distrib::s3_headers(request, setup, setup.checksums);
    return std::string{value_of(made, "x-amz-server-side-encryption").empty() ? "-" : "e"} +
           (value_of(made, "X-Amz-Server-Side-Encryption-Customer-Key").empty() ? "-" : "c") +
           (value_of(made, "x-amz-request-payer").empty() ? "-" : "p") +
           (value_of(made, "x-amz-storage-class").empty() ? "-" : "s");
  };
  CHECK(names(S3Request::put("k", {}, 0, "")) == "ecps");
  CHECK(names(S3Request::create("k", "")) == "ecps");
  CHECK(names(S3Request::copy("bucket", "a", "b")) == "ecps");
  CHECK(names(S3Request::get("k", 0, 1)) == "-cp-");
  CHECK(names(S3Request::head("k")) == "-cp-");
  CHECK(names(S3Request::part("k", "u", 1, {}, 0)) == "-cp-");
  CHECK(names(S3Request::list("", "")) == "--p-");
  CHECK(names(S3Request::remove("k")) == "--p-");
}

TEST_CASE("s3_headers: conditions on what is replaced, and on the source of a copy", "[remote][s3]") {
  const auto put = [](distrib::S3Condition condition) { return S3Request::put("k", {}, 0, "n", std::move(condition)); };
  const S3Setup amazon = setup_with({});
  const S3Setup google = setup_with({}, true);
  CHECK(value_of(distrib::s3_headers(put({.absent = true}), amazon, S3Checksums::none), "If-None-Match") == "*");
  CHECK(value_of(distrib::s3_headers(put({.version = "v"}), amazon, S3Checksums::none), "If-Match") == "v");
  CHECK(value_of(distrib::s3_headers(put({.absent = true}), google, S3Checksums::none), "x-goog-if-generation-match") ==
        "0");
  CHECK(value_of(distrib::s3_headers(put({.version = "7"}), google, S3Checksums::none), "x-goog-if-generation-match") ==
        "7");
  const S3Request copy = S3Request::copy("bucket", "a b", "c", "v");
  CHECK(distrib::s3_headers(copy, amazon, S3Checksums::none) ==
        NamedTexts{{"x-amz-copy-source", "/bucket/a%20b"}, {"x-amz-copy-source-if-match", "v"}});
  CHECK(distrib::s3_headers(copy, google, S3Checksums::none) ==
        NamedTexts{{"x-goog-copy-source", "/bucket/a%20b"}, {"x-goog-copy-source-if-generation-match", "v"}});
}
