// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http.
#pragma once

#include <distrib/net/io_pool.hpp>
#include <distrib/remote/http_options.hpp>
#include <distrib/remote/s3/aws_environment.hpp>
#include <distrib/remote/s3/aws_keys.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

class S3Session;

/// Which checksum is sent with what is written.
enum class S3Checksums : std::uint8_t {
  automatic,  ///< `crc32c`, and `none` if the store refuses that at the first write.
  crc32c,  ///< CRC-32C: x-amz-checksum-crc32c, for GCS x-goog-hash.
  md5,  ///< Content-MD5: for stores that know nothing else.
  none,  ///< None: TLS, or the signature over plain HTTP, still protects the bytes on the way.
};

/// How an object store is accessed. Empty fields are taken from the environment, then from the profile's files, as
/// other clients do.
struct S3Options {
  /// Region of the bucket. Empty: AWS_REGION, AWS_DEFAULT_REGION, the profile's; else it is found by itself.
  std::string region = {};
  /// URL of the server, for stores that are not Amazon's: "https://ACCOUNT.r2.cloudflarestorage.com",
  /// "http://minio:9000". Empty: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the profile's; else Amazon's or Google's.
  std::string endpoint = {};
  /// True: the bucket is in the path. Empty: in the path for servers of `endpoint`, for GCS, and if the bucket's name
  /// cannot be in a host name with TLS; otherwise in the host name.
  std::optional<bool> path_style = {};
  bool dual_stack = false;  ///< Amazon's names of hosts that also have IPv6 addresses. Or AWS_USE_DUALSTACK_ENDPOINT.
  bool fips = false;  ///< Amazon's hosts for FIPS 140. Or AWS_USE_FIPS_ENDPOINT.
  std::optional<AwsKeys> keys = {};  ///< Credentials. Empty: they are looked for, see the guide.
  bool anonymous = false;  ///< No credentials: for public buckets.
  std::string profile = {};  ///< The section of the files of credentials. Empty: AWS_PROFILE, else "default".
  /// Further headers. Those about encryption, storage class, tags and access are sent with requests that make objects;
  /// a customer's key (x-amz-server-side-encryption-customer-*) also when they are read; x-amz-request-payer,
  /// x-amz-expected-bucket-owner and all others with every request.
  std::vector<std::pair<std::string, std::string>> headers = {};
  S3Checksums checksums = S3Checksums::automatic;  ///< Checksums of what is written.
  /// True: session tokens, bearer tokens, customers' keys, and what a server of roles is asked for and answers may go
  /// over plain HTTP to other machines. Trap: who sees them may use them.
  bool tokens_without_tls = false;
  HttpOptions http = {};  ///< Timeouts and certificates; empty fields of proxies and authority: from the environment.
  HttpRetryOptions retry = {};  ///< How often a request is tried.
  std::size_t piece_bytes = 8 << 20;  ///< Bytes that one request of a reader asks for.
  std::size_t pieces_ahead = 16;  ///< Pieces fetched at once with a pool. Memory: this many times `piece_bytes`.
  /// Bytes of a part of an object that is written; at least 5 MiB, and at most 10,000 parts an object.
  std::size_t part_bytes = 16 << 20;
  std::size_t parts_ahead = 4;  ///< Parts sent at once with a pool. Memory: this many times `part_bytes`.
  /// Threads that fetch and send. Each request makes one of them wait for the network, so use a pool only for this. It
  /// must outlive everything made with these options. Null: the caller's thread does everything.
  IoPool* pool = nullptr;
  std::optional<AwsEnvironment> environment = {};  ///< Empty: the variables of this process.
  /// Shares credentials, region and pace with other readers and writers of the same bucket: `S3Client::session`. Then
  /// the fields above about server, credentials and requests are not used. Empty: a session of its own.
  std::shared_ptr<S3Session> session = {};
};

}  // namespace v0
}  // namespace distrib
