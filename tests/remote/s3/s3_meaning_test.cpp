// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/s3/s3_meaning.hpp>

#include "support/catch.hpp"

#include <string>

using distrib::HttpAnswer;
using distrib::s3_errc;
using distrib::S3Refusal;
using distrib::S3Request;

namespace {

auto meaning(const S3Request& request, int status, const std::string& body) -> s3_errc {
  HttpAnswer answer{.status = status};
  answer.body = body;
  return distrib::s3_meaning(request, answer, status, S3Refusal::parse(body));
}

auto coded(const std::string& code) -> std::string { return "<Error><Code>" + code + "</Code></Error>"; }

}  // namespace

TEST_CASE("s3_meaning: by code, by status, by kind of request", "[remote][s3]") {
  const S3Request get = S3Request::get("k", 0, 9);
  const S3Request put = S3Request::put("k", {}, 0, "n");
  CHECK(meaning(get, 403, coded("InvalidAccessKeyId")) == s3_errc::denied);
  CHECK(meaning(get, 404, coded("XAdminUserNotFound")) == s3_errc::denied);
  CHECK(meaning(put, 404, coded("NoSuchUpload")) == s3_errc::no_such_upload);
  CHECK(meaning(get, 404, "") == s3_errc::no_such_object);
  CHECK(meaning(S3Request::list("", ""), 404, "") == s3_errc::no_such_bucket);
  CHECK(meaning(get, 412, "") == s3_errc::changed);
  CHECK(meaning(put, 412, "") == s3_errc::condition_failed);
  CHECK(meaning(get, 416, "") == s3_errc::changed);
  CHECK(meaning(put, 413, "") == s3_errc::too_large);
  CHECK(meaning(put, 400, coded("EntityTooLarge")) == s3_errc::too_large);
  CHECK(meaning(put, 501, "") == s3_errc::unsupported);
  CHECK(meaning(get, 503, "<html>") == s3_errc::busy);
  CHECK(meaning(get, 403, "<html>") == s3_errc::bad_answer);
  CHECK(meaning(put, 400, coded("InvalidArgument")) == s3_errc::refused);
}

TEST_CASE("is_worth_repeating: what another attempt may mend", "[remote][s3]") {
  for (const int status : {429, 500, 502, 503, 504}) CHECK(distrib::is_worth_repeating(status, ""));
  for (const int status : {400, 401, 403, 404, 409, 412, 501, 505})
    CHECK_FALSE(distrib::is_worth_repeating(status, ""));
  CHECK(distrib::is_worth_repeating(400, "RequestTimeout"));
  CHECK(distrib::is_worth_repeating(409, "OperationAborted"));
  CHECK(distrib::is_worth_repeating(500, "Unheard"));
  for (const char* code : {"AccessDenied", "NoSuchUpload", "InvalidPart", "PreconditionFailed"})
    CHECK_FALSE(distrib::is_worth_repeating(500, code));  // in an answer with a good status
}
