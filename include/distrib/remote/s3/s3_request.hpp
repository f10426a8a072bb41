// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in any facade.
#pragma once

#include <distrib/core/base64.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/remote/http_url.hpp>
#include <distrib/remote/s3/s3_signature.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace distrib {
inline namespace v0 {

/// A part of an upload that the store has. A value.
struct S3Part {
  std::size_t number = 0;  ///< From 1 on.
  std::string etag;
  std::optional<std::uint32_t> crc = {};  ///< CRC-32C of its bytes, if that was sent with it.
};

/// What a write requires of the object that it replaces. A value.
struct S3Condition {
  bool absent = false;  ///< True: there must be no object.
  std::string version = {};  ///< Not empty: the object must have this version.
};

/// One operation on a bucket, not yet addressed to a server. A value, made by one of its static functions. The caller
/// owns the bytes of an object and must keep them until the operation has ended.
struct S3Request {
  enum class Kind : std::uint8_t {
    get,
    head,
    put,
    remove,
    remove_many,
    copy,
    list,
    uploads,
    create,
    part,
    copy_part,
    complete,
    abort,
  };
  /// Bytes of a whole object: as many as it has.
  static constexpr std::uint64_t all = ~std::uint64_t{0};

  Kind kind = Kind::get;
  std::string key = {};  ///< Empty: the request is about the bucket.
  NamedTexts query = {};
  NamedTexts headers = {};
  std::optional<ByteView> body = {};
  std::string text = {};  ///< A body that the request owns; only if `body` is empty.
  S3Condition condition = {};  ///< For what writes an object; for `get`: the version to read.
  std::string source_version = {};  ///< For copy and copy_part: the version that the source must have; empty: any.
  std::string nonce = {};  ///< For put and create: metadata that says who wrote the object.
  std::optional<std::uint32_t> crc = {};  ///< CRC-32C of the body, or for complete of the whole object.
  std::uint64_t first = 0;  ///< For get: the first byte.
  std::uint64_t bytes = all;  ///< For get: the number of bytes; `all`: up to the end.
  bool from_end = false;  ///< For get: the last `bytes` bytes, or all if the object is shorter.
  std::uint64_t most_bytes = all;  ///< For get: the object must not be longer, if `bytes` is `all`.

  /// Reads `bytes` bytes of an object from `first` on. They must lie inside it. `wanted`: its version; empty: any.
  [[nodiscard]] static auto get(std::string key, std::uint64_t first, std::uint64_t bytes, std::string wanted = {})
      -> S3Request {
    return {.key = std::move(key), .condition = {.version = std::move(wanted)}, .first = first, .bytes = bytes};
  }
  /// Reads a whole object of at most `most_bytes` bytes.
  [[nodiscard]] static auto get_all(std::string key, std::uint64_t most_bytes) -> S3Request {
    return {.key = std::move(key), .most_bytes = most_bytes};
  }
  /// Reads the last `bytes` bytes of an object, or all of it if it is shorter. `bytes` is at least 1.
  [[nodiscard]] static auto get_end(std::string key, std::uint64_t bytes) -> S3Request {
    return {.key = std::move(key), .bytes = bytes, .from_end = true};
  }
  [[nodiscard]] static auto head(std::string key) -> S3Request { return {.kind = Kind::head, .key = std::move(key)}; }
  /// Writes an object. `crc`: CRC-32C of `bytes`. `nonce`: stored with the object, so that after a lost answer the
  /// writer can find out whether its object is there.
  [[nodiscard]] static auto put(std::string key, ByteView bytes, std::uint32_t crc, std::string nonce,
                                S3Condition condition = {}) -> S3Request {
    S3Request request{.kind = Kind::put, .key = std::move(key), .body = bytes};
    request.condition = std::move(condition);
    request.nonce = std::move(nonce);
    request.crc = crc;
    return request;
  }
  [[nodiscard]] static auto remove(std::string key) -> S3Request {
    return {.kind = Kind::remove, .key = std::move(key)};
  }
  /// Deletes up to 1000 objects.
  [[nodiscard]] static auto remove_many(std::span<const std::string> keys) -> S3Request {
    S3Request request{.kind = Kind::remove_many, .query = {{"delete", ""}}};
    request.text = "<Delete><Quiet>true</Quiet>";
    for (const std::string& key : keys) request.text += "<Object><Key>" + xml_escape(key) + "</Key></Object>";
    request.text += "</Delete>";
    return request;
  }
  /// Copies an object of at most 5 GiB inside its bucket. `wanted`: the version of the source; empty: any.
  [[nodiscard]] static auto copy(const std::string& bucket, std::string_view from, std::string to,
                                 const std::string& wanted = {}) -> S3Request {
    return {.kind = Kind::copy, .key = std::move(to), .headers = source(bucket, from), .source_version = wanted};
  }
  /// Lists one page of up to 1000 objects. `delimiter`: keys that contain it after the prefix are told as one prefix.
  [[nodiscard]] static auto list(const std::string& prefix, const std::string& token, const std::string& delimiter = {})
      -> S3Request {
    S3Request request{.kind = Kind::list, .query = {{"list-type", "2"}, {"encoding-type", "url"}, {"prefix", prefix}}};
    if (!token.empty()) request.query.emplace_back("continuation-token", token);
    if (!delimiter.empty()) request.query.emplace_back("delimiter", delimiter);
    return request;
  }
  /// Lists one page of unfinished uploads, after these marks.
  [[nodiscard]] static auto uploads(const std::string& prefix, const std::string& after_key,
                                    const std::string& after_id) -> S3Request {
    S3Request request{.kind = Kind::uploads, .query = {{"uploads", ""}, {"encoding-type", "url"}, {"prefix", prefix}}};
    if (!after_key.empty()) request.query.emplace_back("key-marker", after_key);
    if (!after_id.empty()) request.query.emplace_back("upload-id-marker", after_id);
    return request;
  }
  /// Begins an upload in parts.
  [[nodiscard]] static auto create(std::string key, std::string nonce) -> S3Request {
    S3Request request{.kind = Kind::create, .key = std::move(key), .query = {{"uploads", ""}}};
    request.body = ByteView{};
    request.nonce = std::move(nonce);
    return request;
  }
  /// Sends one part; `crc` is its CRC-32C. A part that was sent before is replaced.
  [[nodiscard]] static auto part(std::string key, const std::string& upload, std::size_t number, ByteView bytes,
                                 std::uint32_t crc) -> S3Request {
    S3Request request{.kind = Kind::part, .key = std::move(key), .query = part_query(upload, number), .body = bytes};
    request.crc = crc;
    return request;
  }
  /// Makes one part of `bytes` bytes of another object of the bucket. `wanted`: as for `copy`.
  [[nodiscard]] static auto copy_part(const std::string& bucket, std::string_view from, std::string to,
                                      const std::string& upload, std::size_t number, std::uint64_t first,
                                      std::uint64_t bytes, const std::string& wanted = {}) -> S3Request {
    S3Request request = copy(bucket, from, std::move(to), wanted);
    request.kind = Kind::copy_part;
    request.query = part_query(upload, number);
    request.headers.emplace_back("copy-source-range",
                                 "bytes=" + std::to_string(first) + '-' + std::to_string(first + bytes - 1));
    return request;
  }
  /// Makes the object visible. `parts`: in the order of their numbers. `crc`: of all bytes; empty: not known.
  [[nodiscard]] static auto complete(std::string key, const std::string& upload, std::span<const S3Part> parts,
                                     std::optional<std::uint32_t> crc) -> S3Request;
  /// Ends an upload without an object.
  [[nodiscard]] static auto abort(std::string key, const std::string& upload) -> S3Request {
    return {.kind = Kind::abort, .key = std::move(key), .query = {{"uploadId", upload}}};
  }

  [[nodiscard]] auto method() const -> std::string {
    switch (kind) {
      case Kind::get:
      case Kind::list:
      case Kind::uploads: return "GET";
      case Kind::head: return "HEAD";
      case Kind::put:
      case Kind::copy:
      case Kind::part:
      case Kind::copy_part: return "PUT";
      case Kind::remove:
      case Kind::abort: return "DELETE";
      case Kind::remove_many:
      case Kind::create:
      case Kind::complete: return "POST";
    }
    return "GET";
  }
  /// True if the request makes an object, so that it says how the object is encrypted and stored.
  [[nodiscard]] auto makes_object() const noexcept -> bool {
    return kind == Kind::put || kind == Kind::copy || kind == Kind::create;
  }
  /// True if the store needs a customer's key for the bytes.
  [[nodiscard]] auto touches_bytes() const noexcept -> bool {
    return makes_object() || kind == Kind::get || kind == Kind::head || kind == Kind::part || kind == Kind::copy_part;
  }
  /// Returns the name of the XML document that is the answer; empty if the answer is none.
  [[nodiscard]] auto answer_root() const -> std::string_view {
    switch (kind) {
      case Kind::list: return "ListBucketResult";
      case Kind::uploads: return "ListMultipartUploadsResult";
      case Kind::create: return "InitiateMultipartUploadResult";
      case Kind::complete: return "CompleteMultipartUploadResult";
      case Kind::copy: return "CopyObjectResult";
      case Kind::copy_part: return "CopyPartResult";
      case Kind::remove_many: return "DeleteResult";
      default: return {};
    }
  }

 private:
  static auto source(const std::string& bucket, std::string_view key) -> NamedTexts {
    return {{"copy-source", '/' + bucket + '/' + percent_encode(key, "/")}};
  }
  static auto part_query(const std::string& upload, std::size_t number) -> NamedTexts {
    return {{"partNumber", std::to_string(number)}, {"uploadId", upload}};
  }
  static auto xml_escape(std::string_view text) -> std::string;
};

/// Returns a CRC-32C as headers contain it: its bytes, the highest first, in base64.
[[nodiscard]] inline auto crc_text(std::uint32_t crc) -> std::string {
  const std::uint32_t big = __builtin_bswap32(crc);
  return detail::base64(detail::bytes_of(big));
}

inline auto S3Request::xml_escape(std::string_view text) -> std::string {
  std::string escaped;
  for (const char c : text) {
    if (c == '&') escaped += "&amp;";
    else if (c == '<') escaped += "&lt;";
    else if (c == '>') escaped += "&gt;";
    else if (c == '"') escaped += "&quot;";
    else if (c == '\r') escaped += "&#13;";
    else escaped += c;
  }
  return escaped;
}

inline auto S3Request::complete(std::string key, const std::string& upload, std::span<const S3Part> parts,
                                std::optional<std::uint32_t> crc) -> S3Request {
  S3Request request{.kind = Kind::complete, .key = std::move(key), .query = {{"uploadId", upload}}};
  request.crc = crc;
  request.text = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (const S3Part& part : parts) {
    request.text +=
        "<Part><PartNumber>" + std::to_string(part.number) + "</PartNumber><ETag>" + xml_escape(part.etag) + "</ETag>";
    if (part.crc) request.text += "<ChecksumCRC32C>" + crc_text(*part.crc) + "</ChecksumCRC32C>";
    request.text += "</Part>";
  }
  request.text += "</CompleteMultipartUpload>";
  return request;
}

}  // namespace v0
}  // namespace distrib
