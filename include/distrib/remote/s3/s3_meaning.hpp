// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in any facade.
#pragma once

#include <distrib/remote/http_message.hpp>
#include <distrib/remote/s3/s3_answer.hpp>
#include <distrib/remote/s3/s3_error.hpp>
#include <distrib/remote/s3/s3_request.hpp>

#include <optional>
#include <string>

namespace distrib {
inline namespace v0 {

/// True if another attempt may succeed. `code`: the store's, may be empty. `status` is 500 for an error in an answer
/// with a good status.
[[nodiscard]] inline auto is_worth_repeating(int status, const std::string& code) -> bool {
  if (code == "SlowDown" || code == "RequestTimeout" || code == "InternalError" || code == "ServiceUnavailable" ||
      code == "ConditionalRequestConflict" || code == "OperationAborted")
    return true;
  // A good status with an error in the body counts as 500, unless the error says that it is final.
  if (status == 500 && !code.empty())
    return code != "AccessDenied" && code != "NoSuchUpload" && code != "NoSuchKey" && code != "InvalidPart" &&
           code != "InvalidPartOrder" && code != "EntityTooSmall" && code != "PreconditionFailed";
  return status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
}

/// Returns what a refusal means for `request`. `refusal`: the error in the answer's body, if there is one.
[[nodiscard]] inline auto s3_meaning(const S3Request& request, const HttpAnswer& answer, int status,
                                     const std::optional<S3Refusal>& refusal) -> s3_errc {
  using Kind = S3Request::Kind;
  const std::string code = refusal ? refusal->code : std::string{};
  const auto is_one_of = [&code](auto... names) { return ((code == names) || ...); };
  if (is_one_of("AccessDenied", "AllAccessDisabled", "AccountProblem", "InvalidAccessKeyId", "SignatureDoesNotMatch",
                "InvalidToken", "InvalidSecurity", "NotSignedUp", "XAdminUserNotFound", "InvalidPayer"))
    return s3_errc::denied;
  if (code == "NoSuchBucket") return s3_errc::no_such_bucket;
  if (code == "NoSuchUpload") return s3_errc::no_such_upload;
  if (is_one_of("EntityTooLarge", "MaxMessageLengthExceeded")) return s3_errc::too_large;
  if (is_one_of("NotImplemented", "MethodNotAllowed")) return s3_errc::unsupported;
  if (status == 412) return request.kind == Kind::get ? s3_errc::changed : s3_errc::condition_failed;
  if (status == 416 && request.kind == Kind::get) return s3_errc::changed;
  const bool strange = !refusal && !answer.body.empty() && detail::xml_root(answer.body) != "Error";
  if (strange && status < 500) return s3_errc::bad_answer;
  if (status == 401 || status == 403) return s3_errc::denied;
  if (status == 404) return request.key.empty() ? s3_errc::no_such_bucket : s3_errc::no_such_object;
  if (status == 413) return s3_errc::too_large;
  if (status == 405 || status == 501) return s3_errc::unsupported;
  if (is_worth_repeating(status, code)) return s3_errc::busy;
  return s3_errc::refused;
}

}  // namespace v0
}  // namespace distrib
