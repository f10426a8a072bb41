// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in any facade.
#pragma once

#include <distrib/remote/http_options.hpp>
#include <distrib/remote/s3/aws_keys.hpp>
#include <distrib/remote/s3/s3_endpoint.hpp>
#include <distrib/remote/s3/s3_options.hpp>
#include <distrib/remote/s3/s3_signature.hpp>

#include <chrono>

namespace distrib {
inline namespace v0 {

/// What an operation needs to know of its store. `S3Core` corrects what the store tells: the region, the clock, and
/// whether it takes checksums. A value.
struct S3Setup {
  S3Endpoint endpoint;
  AwsKeys keys = {};  ///< Without access key and bearer token: anonymous.
  std::chrono::seconds clock_offset{};  ///< The store's clock less this machine's.
  S3Checksums checksums = S3Checksums::automatic;
  bool checksums_work = false;  ///< True: the store has accepted a checksum, so a refusal has another reason.
  NamedTexts headers = {};  ///< `S3Options::headers`.
  bool tokens_without_tls = false;
  HttpRetryOptions retry = {};
};

}  // namespace v0
}  // namespace distrib
