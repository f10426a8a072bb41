// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/base64.hpp>
#include <distrib/core/crc32c.hpp>
#include <distrib/core/hmac.hpp>
#include <distrib/core/md5.hpp>
#include <distrib/remote/http_url.hpp>
#include <distrib/remote/s3/s3_options.hpp>

#include "support/http_server.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace support {

/// A bucket in memory behind an HTTP server that answers as the servers of tests/remote/s3/s3_contract.txt do. It
/// checks signatures by code of its own. With `gcs` it speaks the dialect of Google Cloud Storage. The bucket is in the
/// path.
class FakeS3 {
 public:
  struct Object {
    std::string bytes;
    std::string etag = "\"e\"";
    std::size_t generation = 0;
    std::map<std::string, std::string> told = {};  ///< Headers that are stored with it: metadata, encryption.
  };
  struct Upload {
    std::string key;
    std::map<std::size_t, std::string> parts;
    std::map<std::string, std::string> told;
  };

  static constexpr const char* access_key = "AKIAIOSFODNN7EXAMPLE";
  static constexpr const char* secret_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
  enum class Encoding { none, percent, plus };

  explicit FakeS3(bool gcs = false) : gcs_{gcs}, server_{[this](const HttpAsked& asked) { return answer(asked); }} {}

  std::string bucket = "bucket";
  std::string region = "us-east-1";
  std::string session_token;  ///< The token that requests must have; empty: none.
  std::string bearer;  ///< The token that requests must have instead of a signature.
  std::map<std::string, Object> objects;
  std::map<std::string, Upload> uploads;
  Encoding encoding = Encoding::percent;  ///< How keys of listings are encoded if that is asked for.
  std::size_t page_keys = 1000;
  std::size_t least_part_bytes = 1;
  bool forgets_uploads = true;  ///< A second Complete is NoSuchUpload, as MinIO answers; otherwise 200.
  bool knows_conditions = true;
  std::chrono::seconds clock{0};  ///< The server's clock less the machine's.
  /// Returns an answer to send instead of performing the request; empty: perform it.
  std::function<std::optional<HttpSaid>(const HttpAsked&)> refuse;
  /// Returns an answer to send instead of `right`, after the request was performed; empty: send `right`.
  std::function<std::optional<HttpSaid>(const HttpAsked&, const HttpSaid& right)> instead;
  /// True: the connection ends without an answer, and the request is performed by `land`.
  std::function<bool(const HttpAsked&)> late;

  [[nodiscard]] auto url() const -> std::string { return server_.url(); }
  [[nodiscard]] auto port() const -> std::uint16_t { return server_.port(); }
  /// Returns "s3+http://127.0.0.1:PORT/bucket/KEY".
  [[nodiscard]] auto object(const std::string& key = {}) const -> std::string {
    return gcs_ ? "gs://" + bucket + '/' + key : "s3+" + server_.url() + '/' + bucket + '/' + key;
  }
  [[nodiscard]] auto asked() -> std::vector<HttpAsked> { return server_.asked(); }
  /// Returns the requests so far, each as "PUT" or "POST uploads": its method and the first name of its query.
  [[nodiscard]] auto kinds() -> std::vector<std::string> {
    std::vector<std::string> all;
    for (const HttpAsked& asked : server_.asked()) {
      const std::size_t query = asked.target.find('?');
      all.push_back(asked.method);
      if (query == std::string::npos) continue;
      all.back() += ' ' + asked.target.substr(query + 1, asked.target.find_first_of("=&", query) - query - 1);
    }
    return all;
  }
  [[nodiscard]] auto bytes_of(const std::string& key) -> std::string {
    const std::lock_guard lock{mutex_};
    return objects.contains(key) ? objects[key].bytes : "(none)";
  }
  /// Performs the requests that `late` held back, in their order.
  void land() {
    const std::lock_guard lock{mutex_};
    for (const HttpAsked& asked : std::exchange(held_, {})) perform(asked);
  }

  /// Options for this server, whose retries are quick.
  [[nodiscard]] auto options(std::size_t attempts = 4) const -> distrib::S3Options {
    using namespace std::chrono_literals;
    distrib::S3Options made{.endpoint = gcs_ ? server_.url() : std::string{}};
    if (bearer.empty()) made.keys = distrib::AwsKeys{.access_key = access_key, .secret_key = secret_key};
    if (!session_token.empty()) made.keys->session_token = session_token;
    made.http = {.idle_timeout = 2s, .timeout = 5s};
    made.retry = {.attempts = attempts, .first_pause = 1ms, .longest_pause = 2ms};
    made.environment = distrib::AwsEnvironment{};
    return made;
  }

  static auto header(const HttpAsked& asked, const std::string& name) -> std::string {
    for (const auto& [found, value] : header_lines(asked))
      if (found == name) return value;
    return "";
  }
  static auto unescape(const std::string& text) -> std::string {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '%') plain += text[i];
      else plain += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16)), i += 2;
    }
    return plain;
  }
  static auto error(int status, const std::string& code, const std::string& more = {}, const std::string& headers = {})
      -> HttpSaid {
    return HttpSaid::answer(status,
                            "<?xml version=\"1.0\"?><Error><Code>" + code + "</Code><Message>SECRET text</Message>" +
                                more + "<RequestId>R4442</RequestId></Error>",
                            headers);
  }

 private:
  static auto escape(const std::string& text, Encoding how) -> std::string {
    std::string escaped;
    for (const char c : text) {
      char code[4];
      std::snprintf(code, sizeof code, "%%%02X", static_cast<unsigned>(static_cast<unsigned char>(c)));
      if (std::isalnum(static_cast<unsigned char>(c)) || std::string{"-._~/*"}.find(c) != std::string::npos)
        escaped += c;
      else if (c == ' ' && how == Encoding::plus) escaped += '+';
      else escaped += code;
    }
    return escaped;
  }
  static auto xml(const std::string& text) -> std::string {
    std::string escaped;
    for (const char c : text) escaped += c == '&' ? "&amp;" : c == '<' ? "&lt;" : std::string(1, c);
    return escaped;
  }
  static auto header_lines(const HttpAsked& asked) -> std::vector<std::pair<std::string, std::string>> {
    std::vector<std::pair<std::string, std::string>> lines;
    std::istringstream text{asked.headers};
    for (std::string line; std::getline(text, line) && line.size() > 1;) {
      std::string name = line.substr(0, line.find(':'));
      for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      std::string value = line.substr(line.find(':') + 1);
      value.erase(0, value.find_first_not_of(' '));
      value.erase(value.find_last_not_of(" \r") + 1);
      lines.emplace_back(name, value);
    }
    return lines;
  }
  static auto has(const HttpAsked& asked, const std::string& name) -> bool {
    return ("&" + asked.target.substr(std::min(asked.target.find('?') + 1, asked.target.size())) + "&")
               .find("&" + name + "=") != std::string::npos;
  }
  static auto with_headers(int status, const std::string& headers, const std::string& body = {}) -> HttpSaid {
    return HttpSaid::answer(status, body, headers);
  }

  auto answer(const HttpAsked& asked) -> HttpSaid {
    const std::lock_guard lock{mutex_};
    if (refuse)
      if (const auto other = refuse(asked)) return *other;
    if (late && late(asked)) {
      held_.push_back(asked);
      return {.bytes = ""};
    }
    HttpSaid said = perform(asked);
    if (asked.method == "HEAD") said.bytes.resize(said.bytes.find("\r\n\r\n") + 4);
    if (instead)
      if (const auto other = instead(asked, said)) return *other;
    return said;
  }

  auto perform(const HttpAsked& asked) -> HttpSaid {
    if (const auto refused = check(asked)) return *refused;
    const std::string path = unescape(asked.path());
    if (path != "/" + bucket && !path.starts_with("/" + bucket + "/")) return error(404, "NoSuchBucket");
    const std::string key = path.substr(std::min(bucket.size() + 2, path.size()));
    if (key.empty()) {
      if (has(asked, "list-type")) return list(asked);
      if (has(asked, "uploads")) return list_uploads(asked);
      if (has(asked, "delete")) return remove_many(asked);
      return HttpSaid::answer(200, "", "x-amz-bucket-region: " + region + "\r\n");
    }
    if (asked.method == "POST" && has(asked, "uploads")) return create(asked, key);
    if (has(asked, "uploadId")) return in_upload(asked, key);
    if (asked.method == "PUT" && !header(asked, prefix() + "copy-source").empty()) return copy(asked, key);
    if (asked.method == "PUT") return put(asked, key);
    if (asked.method == "DELETE") {
      objects.erase(key);
      return {.bytes = "HTTP/1.1 204 No Content\r\n\r\n", .close = false};
    }
    return get(asked, key);
  }

  // --- who asks ---

  auto prefix() const -> std::string { return gcs_ ? "x-goog-" : "x-amz-"; }

  auto check(const HttpAsked& asked) -> std::optional<HttpSaid> {
    const std::string authorization = header(asked, "authorization");
    if (!bearer.empty()) {
      if (authorization == "Bearer " + bearer) return std::nullopt;
      return error(401, "AuthenticationRequired");
    }
    if (authorization.empty()) return error(403, "AccessDenied", "", "x-amz-bucket-region: " + region + "\r\n");
    const auto field = [&](const std::string& name) {
      const std::size_t at = authorization.find(name + "=");
      const std::size_t from = at + name.size() + 1;
      return at == std::string::npos ? "" : authorization.substr(from, authorization.find(',', from) - from);
    };
    const std::string credential = field("Credential");
    std::vector<std::string> scope;
    std::istringstream parts{credential};
    for (std::string part; std::getline(parts, part, '/');) scope.push_back(part);
    if (scope.size() != 5 || scope[0] != access_key) return error(403, "InvalidAccessKeyId");
    if (!gcs_ && scope[2] != region)
      return error(400, "AuthorizationHeaderMalformed", "<Region>" + region + "</Region>");
    const std::string token = header(asked, prefix() + "security-token");
    if (token != session_token) return error(400, token == "OLD" ? "ExpiredToken" : "InvalidToken");
    const std::string time = header(asked, prefix() + "date");
    const std::string now = text_of(std::chrono::system_clock::now() + clock);
    if (minutes_of(time) > minutes_of(now) + 15 || minutes_of(now) > minutes_of(time) + 15)
      return error(403, "RequestTimeTooSkewed", "",
                   "Date: " + http_date(std::chrono::system_clock::now() + clock) + "\r\n");
    if (field("Signature") != signature(asked, scope, time, field("SignedHeaders")))
      return error(403, "SignatureDoesNotMatch");
    for (const auto& [name, value] : header_lines(asked))  // all that the signature must protect
      if ((name.starts_with(prefix()) || name == "host" || name == "range" || name.starts_with("if-")) &&
          (";" + field("SignedHeaders") + ";").find(";" + name + ";") == std::string::npos)
        return error(403, "AccessDenied");
    const std::string payload = header(asked, prefix() + "content-sha256");
    if (payload != "UNSIGNED-PAYLOAD" && payload != distrib::to_hex(distrib::sha256(distrib::as_bytes(asked.body))))
      return error(400, "XAmzContentSHA256Mismatch");
    const std::string crc = gcs_ ? header(asked, "x-goog-hash") : header(asked, "x-amz-checksum-crc32c");
    if (!crc.empty() && !has(asked, "uploads") && asked.method == "PUT" &&
        crc != (gcs_ ? "crc32c=" : "") + crc_of(asked.body))
      return error(400, "BadDigest");
    const std::string md5 = header(asked, "content-md5");
    if (!md5.empty() && md5 != distrib::detail::base64(distrib::md5(distrib::as_bytes(asked.body))))
      return error(400, "BadDigest");
    return std::nullopt;
  }

  static auto crc_of(const std::string& bytes) -> std::string {
    const std::uint32_t crc = distrib::crc32c(distrib::as_bytes(bytes));
    std::string big;
    for (int shift = 24; shift >= 0; shift -= 8) big += static_cast<char>(crc >> shift);
    return distrib::detail::base64(distrib::as_bytes(big));
  }

  // A parameter of a query as it is signed, however the client has encoded it.
  static auto canonical(std::string parameter) -> std::string {
    std::ranges::replace(parameter, '+', ' ');
    const std::size_t end = std::min(parameter.find('='), parameter.size());
    const std::string value = parameter.substr(std::min(end + 1, parameter.size()));
    return distrib::percent_encode(unescape(parameter.substr(0, end))) + "=" + distrib::percent_encode(unescape(value));
  }

  auto signature(const HttpAsked& asked, const std::vector<std::string>& scope, const std::string& time,
                 const std::string& names) const -> std::string {
    const std::size_t query = asked.target.find('?');
    std::vector<std::string> parameters;
    std::istringstream list{query == std::string::npos ? "" : asked.target.substr(query + 1)};
    for (std::string parameter; std::getline(list, parameter, '&');) parameters.push_back(canonical(parameter));
    std::sort(parameters.begin(), parameters.end());
    std::string text = asked.method + "\n" + asked.path() + "\n";
    for (std::size_t i = 0; i < parameters.size(); ++i) text += (i == 0 ? "" : "&") + parameters[i];
    text += "\n";
    std::istringstream signed_names{names};
    for (std::string name; std::getline(signed_names, name, ';');) text += name + ":" + header(asked, name) + "\n";
    text += "\n" + names + "\n" + header(asked, prefix() + "content-sha256");
    const std::string start = gcs_ ? "GOOG4" : "AWS4";
    const std::string to_sign = start + "-HMAC-SHA256\n" + time + "\n" + scope[1] + "/" + scope[2] + "/" + scope[3] +
                                "/" + scope[4] + "\n" + distrib::to_hex(distrib::sha256(distrib::as_bytes(text)));
    const std::string first = start + secret_key;
    distrib::Sha256Digest key = distrib::hmac_sha256(distrib::as_bytes(first), distrib::as_bytes(scope[1]));
    for (int i = 2; i < 5; ++i) key = distrib::hmac_sha256(key, distrib::as_bytes(scope[static_cast<std::size_t>(i)]));
    return distrib::to_hex(distrib::hmac_sha256(key, distrib::as_bytes(to_sign)));
  }

  static auto text_of(std::chrono::system_clock::time_point at) -> std::string {
    const std::time_t seconds = std::chrono::system_clock::to_time_t(at);
    char text[32];
    std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", std::gmtime(&seconds));
    return text;
  }
  static auto http_date(std::chrono::system_clock::time_point at) -> std::string {
    const std::time_t seconds = std::chrono::system_clock::to_time_t(at);
    char text[40];
    std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", std::gmtime(&seconds));
    return text;
  }
  static auto minutes_of(const std::string& text) -> long {
    std::tm parsed{};
    return ::strptime(text.c_str(), "%Y%m%dT%H%M%SZ", &parsed) == nullptr ? 0 : ::timegm(&parsed) / 60;
  }

  // --- objects ---

  static auto md5_of(const std::string& bytes) -> std::string {
    return distrib::to_hex(distrib::md5(distrib::as_bytes(bytes)));
  }

  auto told_by(const HttpAsked& asked) -> std::map<std::string, std::string> {
    std::map<std::string, std::string> told;
    for (const auto& [name, value] : header_lines(asked))
      if (name.starts_with(prefix() + "meta-") || name.find("server-side-encryption") != std::string::npos ||
          name.ends_with("storage-class"))
        told[name] = value;
    return told;
  }

  auto condition_fails(const HttpAsked& asked, const std::string& key) -> std::optional<HttpSaid> {
    const auto found = objects.find(key);
    const bool there = found != objects.end();
    const std::string match = header(asked, "if-match");
    const std::string generation = header(asked, "x-goog-if-generation-match");
    if (!knows_conditions) return std::nullopt;
    if (header(asked, "if-none-match") == "*" && there) return error(412, "PreconditionFailed");
    if (!match.empty() && !there) return error(404, "NoSuchKey");
    if (!match.empty() && found->second.etag != match) return error(412, "PreconditionFailed");
    const std::string present = std::to_string(there ? found->second.generation : 0);
    if (!generation.empty() && generation != present) return error(412, "PreconditionFailed");
    return std::nullopt;
  }

  auto store(const std::string& key, std::string bytes, std::string etag, std::map<std::string, std::string> told)
      -> HttpSaid {
    objects[key] = {std::move(bytes), std::move(etag), ++generation_, std::move(told)};
    return with_headers(200, "ETag: " + objects[key].etag + "\r\nx-goog-generation: " + std::to_string(generation_) +
                                 "\r\nx-amz-version-id: v" + std::to_string(generation_) + "\r\n");
  }

  auto put(const HttpAsked& asked, const std::string& key) -> HttpSaid {
    if (const auto fails = condition_fails(asked, key)) return *fails;
    return store(key, asked.body, '"' + md5_of(asked.body) + '"', told_by(asked));
  }

  auto get(const HttpAsked& asked, const std::string& key) -> HttpSaid {
    if (!objects.contains(key)) return error(404, "NoSuchKey");
    if (const auto fails = condition_fails(asked, key)) return *fails;
    const Object& found = objects[key];
    std::string headers = "ETag: " + found.etag + "\r\nLast-Modified: Fri, 24 May 2013 00:00:00 GMT\r\n" +
                          "x-goog-generation: " + std::to_string(found.generation) + "\r\n";
    for (const auto& [name, value] : found.told) headers += name + ": " + value + "\r\n";
    const std::string range = header(asked, "range");
    if (range.empty()) return with_headers(200, headers, found.bytes);
    const std::size_t dash = range.find('-');
    const std::size_t size = found.bytes.size();
    std::size_t first = dash == 6 ? 0 : std::stoul(range.substr(6));
    std::size_t last = dash + 1 == range.size() ? size : std::stoul(range.substr(dash + 1));
    if (dash == 6) {
      first = last < size ? size - last : 0;
      last = size - 1;
    }
    if (first >= size) return error(416, "InvalidRange");
    last = std::min(last, size - 1);
    headers +=
        "Content-Range: bytes " + std::to_string(first) + '-' + std::to_string(last) + '/' + std::to_string(size);
    return with_headers(206, headers + "\r\n", found.bytes.substr(first, last - first + 1));
  }

  auto source_of(const HttpAsked& asked) const -> std::string {
    return unescape(header(asked, prefix() + "copy-source")).substr(bucket.size() + 2);
  }

  auto source_fails(const HttpAsked& asked, const std::string& from) -> std::optional<HttpSaid> {
    if (!objects.contains(from)) return error(404, "NoSuchKey");
    const Object& source = objects[from];
    const std::string wanted =
        header(asked, gcs_ ? "x-goog-copy-source-if-generation-match" : "x-amz-copy-source-if-match");
    if (!wanted.empty() && wanted != (gcs_ ? std::to_string(source.generation) : source.etag))
      return error(412, "PreconditionFailed");
    return std::nullopt;
  }

  auto copy(const HttpAsked& asked, const std::string& key) -> HttpSaid {
    const std::string from = source_of(asked);
    if (const auto fails = source_fails(asked, from)) return *fails;
    const Object source = objects[from];
    store(key, source.bytes, source.etag, source.told);
    return HttpSaid::answer(200, "<CopyObjectResult><ETag>" + source.etag + "</ETag></CopyObjectResult>");
  }

  auto remove_many(const HttpAsked& asked) -> HttpSaid {
    if (header(asked, "content-md5").empty()) return error(400, "InvalidRequest");
    for (std::size_t at = 0; (at = asked.body.find("<Key>", at)) != std::string::npos; ++at)
      objects.erase(asked.body.substr(at + 5, asked.body.find("</Key>", at) - at - 5));
    return HttpSaid::answer(200, "<DeleteResult></DeleteResult>");
  }

  // --- uploads ---

  auto create(const HttpAsked& asked, const std::string& key) -> HttpSaid {
    const std::string id = "upload/" + std::to_string(++generation_);
    uploads[id] = {key, {}, told_by(asked)};
    return HttpSaid::answer(
        200, "<InitiateMultipartUploadResult><UploadId>" + id + "</UploadId></InitiateMultipartUploadResult>");
  }

  auto in_upload(const HttpAsked& asked, const std::string& key) -> HttpSaid {
    const std::string id = unescape(asked.parameter("uploadId"));
    const auto found = uploads.find(id);
    if (found == uploads.end() && asked.method == "POST" && !forgets_uploads && completed_.contains(id))
      return completed(objects[key].etag);
    if (found == uploads.end() || found->second.key != key) return error(404, "NoSuchUpload");
    if (asked.method == "DELETE") {
      uploads.erase(found);
      return {.bytes = "HTTP/1.1 204 No Content\r\n\r\n", .close = false};
    }
    if (asked.method == "PUT") {
      const std::size_t number = std::stoul(asked.parameter("partNumber"));
      if (number < 1 || number > 10'000) return error(400, "InvalidArgument");
      if (!header(asked, prefix() + "copy-source").empty()) return copy_part(asked, found->second.parts[number]);
      found->second.parts[number] = asked.body;
      return with_headers(200, "ETag: \"" + md5_of(asked.body) + "\"\r\n");
    }
    return complete(asked, key, id);
  }

  auto copy_part(const HttpAsked& asked, std::string& part) -> HttpSaid {
    const std::string from = source_of(asked);
    if (const auto fails = source_fails(asked, from)) return *fails;
    const std::string range = header(asked, prefix() + "copy-source-range");
    const std::size_t dash = range.find('-');
    const std::size_t first = std::stoul(range.substr(6));
    const std::size_t last = std::stoul(range.substr(dash + 1));
    if (last >= objects[from].bytes.size()) return error(416, "InvalidRange");
    part = objects[from].bytes.substr(first, last - first + 1);
    return HttpSaid::answer(200, "<CopyPartResult><ETag>&quot;" + md5_of(part) + "&quot;</ETag></CopyPartResult>");
  }

  static auto completed(const std::string& etag) -> HttpSaid {
    return HttpSaid::answer(200,
                            "<CompleteMultipartUploadResult><ETag>" + etag + "</ETag></CompleteMultipartUploadResult>");
  }

  auto complete(const HttpAsked& asked, const std::string& key, const std::string& id) -> HttpSaid {
    Upload& upload = uploads[id];
    std::string bytes;
    std::string sums;
    std::size_t last = 0;
    std::size_t count = 0;
    for (std::size_t at = 0; (at = asked.body.find("<PartNumber>", at)) != std::string::npos; ++at, ++count) {
      const std::size_t number = std::stoul(asked.body.substr(at + 12));
      const std::size_t tag = asked.body.find("<ETag>", at) + 6;
      std::string etag = asked.body.substr(tag, asked.body.find("</ETag>", tag) - tag);
      for (std::size_t quote = 0; (quote = etag.find("&quot;")) != std::string::npos;) etag.replace(quote, 6, "");
      if (number <= last) return error(400, "InvalidPartOrder");
      last = number;
      if (!upload.parts.contains(number) || md5_of(upload.parts[number]) != etag) return error(400, "InvalidPart");
      if (asked.body.find("<PartNumber>", at + 1) != std::string::npos &&
          upload.parts[number].size() < least_part_bytes)
        return error(400, "EntityTooSmall");
      bytes += upload.parts[number];
      sums += md5_of(upload.parts[number]);
    }
    if (count == 0) return error(400, "MalformedXML");
    const std::string crc = header(asked, "x-amz-checksum-crc32c");
    if (!crc.empty() && crc != crc_of(bytes)) return error(400, "BadDigest");
    const std::string etag = '"' + md5_of(sums) + '-' + std::to_string(count) + '"';
    store(key, std::move(bytes), etag, upload.told);
    uploads.erase(id);
    completed_.insert(id);
    return completed(etag);
  }

  // --- listings ---

  auto list(const HttpAsked& asked) -> HttpSaid {
    const std::string wanted = unescape(asked.parameter("prefix"));
    const std::string delimiter = unescape(asked.parameter("delimiter"));
    const std::string token = unescape(asked.parameter("continuation-token"));
    const bool url = asked.parameter("encoding-type") == "url" && encoding != Encoding::none;
    const auto shown = [&](const std::string& key) { return url ? escape(key, encoding) : xml(key); };
    std::string body = "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
    if (url) body += "<EncodingType>url</EncodingType>";
    std::size_t count = 0;
    std::set<std::string> prefixes;
    std::string last;
    for (auto at = objects.upper_bound(token.empty() ? "" : token.substr(6)); at != objects.end(); ++at) {
      if (!at->first.starts_with(wanted)) continue;
      const std::size_t cut = delimiter.empty() ? std::string::npos : at->first.find(delimiter, wanted.size());
      if (cut != std::string::npos && prefixes.contains(at->first.substr(0, cut + delimiter.size()))) {
        last = at->first;
        continue;
      }
      if (count == page_keys) {
        body += "<IsTruncated>true</IsTruncated><NextContinuationToken>token=" + xml(last) + "</NextContinuationToken>";
        return HttpSaid::answer(200, body + "</ListBucketResult>");
      }
      ++count;
      last = at->first;
      if (cut != std::string::npos) {
        prefixes.insert(at->first.substr(0, cut + delimiter.size()));
        body += "<CommonPrefixes><Prefix>" + shown(at->first.substr(0, cut + delimiter.size())) +
                "</Prefix></CommonPrefixes>";
        continue;
      }
      body += "<Contents><Key>" + shown(at->first) +
              "</Key><LastModified>2013-05-24T00:00:00.000Z</LastModified><ETag>" + at->second.etag +
              "</ETag><Generation>" + std::to_string(at->second.generation) + "</Generation><Size>" +
              std::to_string(at->second.bytes.size()) + "</Size></Contents>";
    }
    return HttpSaid::answer(200, body + "<IsTruncated>false</IsTruncated></ListBucketResult>");
  }

  auto list_uploads(const HttpAsked& asked) -> HttpSaid {
    std::string body = "<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>";
    for (const auto& [id, upload] : uploads)
      if (upload.key.starts_with(unescape(asked.parameter("prefix"))))
        body += "<Upload><Key>" + xml(upload.key) + "</Key><UploadId>" + id + "</UploadId></Upload>";
    return HttpSaid::answer(200, body + "</ListMultipartUploadsResult>");
  }

  bool gcs_;
  std::recursive_mutex mutex_;
  std::size_t generation_ = 0;
  std::set<std::string> completed_;
  std::vector<HttpAsked> held_;
  HttpServer server_;
};

}  // namespace support
