// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in any facade.
#pragma once

#include <distrib/core/base64.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/md5.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/core/shortest_text.hpp>
#include <distrib/remote/http_error.hpp>
#include <distrib/remote/http_message.hpp>
#include <distrib/remote/http_options.hpp>
#include <distrib/remote/http_range_core.hpp>
#include <distrib/remote/http_retry.hpp>
#include <distrib/remote/http_url.hpp>
#include <distrib/remote/s3/aws_keys.hpp>
#include <distrib/remote/s3/s3_answer.hpp>
#include <distrib/remote/s3/s3_endpoint.hpp>
#include <distrib/remote/s3/s3_error.hpp>
#include <distrib/remote/s3/s3_options.hpp>
#include <distrib/remote/s3/s3_request.hpp>
#include <distrib/remote/s3/s3_signature.hpp>
#include <distrib/remote/s3/s3_time.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

/// One operation on an object store as a sequence of requests: signs each attempt anew, and decides what to do about lost
/// connections, refusals, throttling, a wrong region, clock or token, errors in good answers, and damaged bytes. A core:
/// it does no I/O and reads no clock.
///
/// Threads: one at a time.
class S3Core {
 public:
  /// The core copies the bytes of neither the request nor the setup; the request's bytes must outlive it.
  S3Core(S3Request request, S3Setup setup)
      : request_{std::move(request)}, setup_{std::move(setup)}, retries_{setup_.retry}, next_first_{request_.first} {
    if (request_.kind == S3Request::Kind::get && request_.bytes != S3Request::all && !request_.from_end)
      left_ = request_.bytes;
    done_ = left_ == 0;
  }

  /// Returns what to do now. `now`: this machine's time. After `done`, if `wants_keys()`, fetch new credentials, call
  /// `use` and go on.
  [[nodiscard]] auto next(UnixTime now) -> HttpStep;

  /// True: the store said that the credentials have expired.
  [[nodiscard]] auto wants_keys() const noexcept -> bool { return wants_keys_; }
  /// Goes on with these credentials.
  void use(AwsKeys keys) {
    setup_.keys = std::move(keys);
    wants_keys_ = false;
  }

  /// True if the bytes of good answers are passed to the reader while they arrive: only for get.
  [[nodiscard]] auto streams() const noexcept -> bool { return request_.kind == S3Request::Kind::get; }

  /// Called when `bytes` bytes of the body of `answer` have arrived. Returns how many of them belong to the object; they
  /// follow the bytes accepted before. Fewer than `bytes`: the rest of the answer is not wanted.
  [[nodiscard]] auto accept(const HttpAnswer& answer, std::uint64_t bytes) -> std::uint64_t {
    if (!begins(answer)) return 0;
    const std::uint64_t taken = std::min(bytes, *left_);
    next_first_ += taken;
    *left_ -= taken;
    got_ += taken;
    return taken;
  }

  /// Called when the request has ended. `answer`: what arrived of the answer. `lost`: what ended it early, if anything.
  void ended(const HttpAnswer& answer, const Error& lost);

  /// Returns the failure: request, object and host, and what the store said.
  [[nodiscard]] auto error() const noexcept -> const Error& { return error_; }
  /// Returns the answer after `done`, with its body, except of get.
  [[nodiscard]] auto answer() const noexcept -> const HttpAnswer& { return answer_; }
  /// Returns what is known about the object after `done`: of get and head, and its version after put.
  [[nodiscard]] auto info() const -> ObjectInfo;
  /// For get, once the first bytes were accepted: the number of bytes that are still to come.
  [[nodiscard]] auto left() const noexcept -> std::uint64_t { return left_.value_or(0); }
  /// True if an answer was lost, so that a write may have been done although it failed, or may have been done twice.
  [[nodiscard]] auto maybe_done() const noexcept -> bool { return maybe_done_; }
  /// Returns how often the store asked for fewer requests.
  [[nodiscard]] auto throttled() const noexcept -> std::size_t { return throttled_; }
  /// Returns the setup with what the store has told.
  [[nodiscard]] auto setup() const noexcept -> const S3Setup& { return setup_; }
  /// Returns request, object and host, for errors about the answer.
  [[nodiscard]] auto where() const noexcept -> const std::string& { return where_; }

 private:
  using Kind = S3Request::Kind;

  auto body() const -> std::optional<ByteView> {
    if (request_.body) return request_.body;
    if (!request_.text.empty()) return as_bytes(request_.text);
    return std::nullopt;
  }
  auto prefix() const -> std::string { return setup_.endpoint.scope().header_prefix(); }
  auto sums() const -> S3Checksums {
    return setup_.checksums == S3Checksums::automatic ? S3Checksums::crc32c : setup_.checksums;
  }

  void add_headers(NamedTexts& headers) const;
  void add_conditions(NamedTexts& headers) const;
  void add_sums(NamedTexts& headers) const;
  void add_option_headers(NamedTexts& headers) const;
  auto payload(const HttpRequest& sent) -> std::string;
  auto would_tell_secrets(const HttpRequest& sent) const -> bool;

  static auto with_sorted_query(HttpUrl url) -> HttpUrl;

  auto begins(const HttpAnswer& answer) -> bool;
  void finish(const HttpAnswer& answer);
  void refused(const HttpAnswer& answer, int status);
  auto meaning(const HttpAnswer& answer, int status, const std::optional<S3Refusal>& refusal) const -> s3_errc;
  auto corrects_region(const HttpAnswer& answer, int status, const std::optional<S3Refusal>& refusal,
                       const Error& error) -> bool;
  auto corrects_clock(const HttpAnswer& answer, const std::string& code) -> bool;
  auto is_repeatable(int status, const std::string& code) const -> bool;
  void region_told(const HttpAnswer& answer, const Error& lost);
  void again(const Error& error, bool slow, const HttpAnswer* answer);

  S3Request request_;
  S3Setup setup_;
  HttpRetries retries_;
  HttpRedirects redirects_;
  std::optional<HttpUrl> redirected_;  // the URL to which the store has redirected
  HttpUrl url_;  // of the current request
  HttpAnswer answer_;
  Error error_;
  std::string where_;
  std::string payload_;  // the hash of the body, once it was computed
  std::optional<std::chrono::milliseconds> pause_;
  std::optional<std::uint64_t> left_;  // bytes of get that are missing; empty: not known yet
  std::uint64_t next_first_;  // the first missing byte
  std::uint64_t got_ = 0;  // accepted bytes of the current answer
  UnixTime now_{};
  std::size_t attempts_ = 0;
  std::size_t throttled_ = 0;
  bool fits_ = false;  // the current answer was checked
  bool asks_region_ = false;
  bool region_tried_ = false;
  bool clock_tried_ = false;
  bool keys_tried_ = false;
  bool damage_tried_ = false;
  bool drops_sums_ = false;  // this operation goes without checksums, to see whether that helps
  bool wants_keys_ = false;
  bool maybe_done_ = false;
  bool done_ = false;
};

inline auto S3Core::next(UnixTime now) -> HttpStep {
  if (error_) return {.kind = HttpStep::Kind::failed};
  if (done_ || wants_keys_) return {.kind = HttpStep::Kind::done};
  if (pause_) return {.kind = HttpStep::Kind::wait, .pause = *std::exchange(pause_, std::nullopt)};
  constexpr std::size_t most_listed = 16 << 20;  // 1000 keys of 1024 bytes, encoded, with what is told about them
  HttpStep step{.kind = HttpStep::Kind::send};
  HttpRequest& sent = step.request;
  now_ = now;
  got_ = 0;
  fits_ = false;
  ++attempts_;
  if (asks_region_) {
    sent.method = "HEAD";
    sent.url = setup_.endpoint.url({});
    sign_request(sent, {}, {}, setup_.endpoint.scope(), now);
    return step;
  }
  sent.method = request_.method();
  sent.url = redirected_ ? *redirected_ : setup_.endpoint.url(request_.key, canonical_query(request_.query));
  sent.body = body();
  sent.max_body_bytes = request_.answer_root().starts_with("List") ? most_listed : sent.max_body_bytes;
  url_ = sent.url;
  where_ = sent.method + (setup_.endpoint.gcs ? " gs://" : " s3://") + setup_.endpoint.bucket + '/' + request_.key +
           " at " + url_.origin();
  add_headers(sent.headers);
  if (would_tell_secrets(sent)) {
    error_ = {s3_errc::no_tls, where_};
    return {.kind = HttpStep::Kind::failed};
  }
  sign_request(sent, payload(sent), setup_.keys, setup_.endpoint.scope(), now + setup_.clock_offset);
  sent.headers.emplace_back("Accept-Encoding", "identity");
  return step;
}

inline void S3Core::add_headers(NamedTexts& headers) const {
  if (request_.kind == Kind::get) {
    if (request_.from_end && !left_) {
      headers.emplace_back("Range", "bytes=-" + std::to_string(request_.bytes));
    } else if (left_) {
      headers.emplace_back("Range",
                           "bytes=" + std::to_string(next_first_) + '-' + std::to_string(next_first_ + *left_ - 1));
    }
  }
  for (const auto& [name, value] : request_.headers) headers.emplace_back(prefix() + name, value);
  if (!request_.nonce.empty()) headers.emplace_back(prefix() + "meta-distrib-nonce", request_.nonce);
  add_conditions(headers);
  add_sums(headers);
  add_option_headers(headers);
}

inline void S3Core::add_conditions(NamedTexts& headers) const {
  const S3Condition& condition = request_.condition;
  if (setup_.endpoint.gcs) {
    if (condition.absent) headers.emplace_back("x-goog-if-generation-match", "0");
    else if (!condition.version.empty()) headers.emplace_back("x-goog-if-generation-match", condition.version);
    return;
  }
  if (condition.absent) headers.emplace_back("If-None-Match", "*");
  else if (!condition.version.empty()) headers.emplace_back("If-Match", condition.version);
}

inline void S3Core::add_sums(NamedTexts& headers) const {
  if (request_.kind == Kind::remove_many) {  // required there
    headers.emplace_back("Content-MD5", detail::base64(md5(as_bytes(request_.text))));
    return;
  }
  if (drops_sums_ || sums() == S3Checksums::none) return;
  const bool of_body = request_.kind == Kind::put || request_.kind == Kind::part;
  if (sums() == S3Checksums::md5) {
    if (of_body) headers.emplace_back("Content-MD5", detail::base64(md5(*request_.body)));
    return;
  }
  if (setup_.endpoint.gcs) {
    if (of_body && request_.crc) headers.emplace_back("x-goog-hash", "crc32c=" + crc_text(*request_.crc));
    return;
  }
  if (request_.kind == Kind::create) headers.emplace_back("x-amz-checksum-algorithm", "CRC32C");
  if (request_.kind == Kind::create || (request_.kind == Kind::complete && request_.crc))
    headers.emplace_back("x-amz-checksum-type", "FULL_OBJECT");
  if (request_.crc && (of_body || request_.kind == Kind::complete))
    headers.emplace_back("x-amz-checksum-crc32c", crc_text(*request_.crc));
}

inline void S3Core::add_option_headers(NamedTexts& headers) const {
  for (const auto& [name, value] : setup_.headers) {
    const std::string lower = detail::lower_case(name);
    const bool extension = lower.starts_with("x-amz-") || lower.starts_with("x-goog-");
    const bool customer = lower.find("-customer-") != std::string::npos || lower.starts_with("x-goog-encryption-key") ||
                          lower == "x-goog-encryption-algorithm";
    const bool always = !extension || lower == "x-amz-request-payer" || lower == "x-amz-expected-bucket-owner" ||
                        lower == "x-goog-user-project";
    if (always || (customer ? request_.touches_bytes() : request_.makes_object())) headers.emplace_back(name, value);
  }
}

inline auto S3Core::payload(const HttpRequest& sent) -> std::string {
  const ByteView bytes = sent.body.value_or(ByteView{});
  if (sent.url.tls && !bytes.empty()) return std::string{unsigned_payload};
  if (payload_.empty()) payload_ = to_hex(sha256(bytes));
  return payload_;
}

inline auto S3Core::would_tell_secrets(const HttpRequest& sent) const -> bool {
  const std::string& host = sent.url.host;
  if (sent.url.tls || setup_.tokens_without_tls || host == "localhost" || host == "::1" || host.starts_with("127."))
    return false;
  if (!setup_.keys.session_token.empty() || !setup_.keys.bearer.empty()) return true;
  for (const auto& [name, value] : sent.headers) {
    const std::string lower = detail::lower_case(name);
    if (lower.ends_with("-customer-key") || lower == "x-goog-encryption-key") return true;
  }
  return false;
}

inline auto S3Core::begins(const HttpAnswer& answer) -> bool {
  if (error_) return false;
  if (fits_) return true;
  const std::string status = " (status " + std::to_string(answer.status) + ")";
  const auto fail = [&](s3_errc code, const std::string& why) {
    error_ = {code, where_ + why};
    return false;
  };
  const auto range = HttpContentRange::parse(answer.content_range);
  const std::string_view found = setup_.endpoint.gcs ? answer.header("x-goog-generation") : answer.etag;
  std::string& wanted = request_.condition.version;
  if (!wanted.empty() && !found.empty() && found != wanted) return fail(s3_errc::changed, status);
  if (left_) {
    const bool whole = answer.status == 200 && next_first_ == 0 && answer.content_length == *left_;
    const bool part = answer.status == 206 && range && range->first == next_first_ && range->bytes <= *left_ &&
                      answer.content_length.value_or(range->bytes) == range->bytes;
    if (!whole && !part) return fail(s3_errc::bad_answer, status);
  } else if (request_.from_end) {
    const bool part = answer.status == 206 && range && range->bytes <= request_.bytes &&
                      range->first + range->bytes == range->size &&
                      answer.content_length.value_or(range->bytes) == range->bytes;
    const bool whole = answer.status == 200 && answer.content_length && *answer.content_length <= request_.bytes;
    if (!part && !whole) return fail(s3_errc::bad_answer, status);
    next_first_ = request_.first = part ? range->first : 0;
    left_ = part ? range->bytes : *answer.content_length;
  } else {
    if (answer.status != 200 || !answer.content_length) return fail(s3_errc::bad_answer, status);
    if (*answer.content_length > request_.most_bytes)
      return fail(s3_errc::too_large, " (" + std::to_string(*answer.content_length) + " bytes, at most " +
                                          std::to_string(request_.most_bytes) + ")");
    left_ = *answer.content_length;
  }
  if (wanted.empty()) wanted = found;  // what comes after a lost connection must be of the same object
  answer_ = {.status = answer.status, .content_length = answer.content_length, .content_range = answer.content_range};
  answer_.etag = answer.etag;
  answer_.headers = answer.headers;
  return fits_ = true;
}

inline void S3Core::ended(const HttpAnswer& answer, const Error& lost) {
  if (error_) return;
  if (asks_region_) return region_told(answer, lost);
  const bool whole = streams() && answer.good() && left_ == 0;
  if (lost && !whole) {
    const bool worth_it = lost.code == failure::unavailable || lost.code == failure::timeout;
    maybe_done_ = maybe_done_ || lost.code != http_errc::unreachable;
    const std::size_t proxy = lost.where.find(" by proxy ");
    Error error{lost.code, where_ + (proxy == std::string::npos ? std::string{} : lost.where.substr(proxy))};
    if (worth_it) again(error, false, nullptr);
    else error_ = std::move(error);
    return;
  }
  if (answer.good()) return finish(answer);
  refused(answer, answer.status);
}

inline void S3Core::finish(const HttpAnswer& answer) {
  if (streams()) {
    if (!begins(answer)) return;
    if (*left_ == 0) done_ = true;
    else again({http_errc::short_body, where_ + " (" + std::to_string(*left_) + " bytes are missing)"}, false, nullptr);
    return;
  }
  if (const std::string_view root = request_.answer_root(); !root.empty()) {
    const std::string found = detail::xml_root(answer.body);
    if (found == "Error" && S3Refusal::parse(answer.body)) return refused(answer, 500);
    if (found != root) {
      error_ = {s3_errc::bad_answer, where_ + " (status " + std::to_string(answer.status) + ")"};
      return;
    }
  }
  const bool summed = !drops_sums_ && request_.crc && sums() == S3Checksums::crc32c;
  if (summed) setup_.checksums_work = true;
  if (drops_sums_) setup_.checksums = S3Checksums::none;
  answer_ = answer;
  done_ = true;
}

inline void S3Core::refused(const HttpAnswer& answer, int status) {
  const std::optional<S3Refusal> refusal = S3Refusal::parse(answer.body);
  const std::string code = refusal ? refusal->code : std::string{};
  std::string id = refusal ? refusal->request_id : std::string{};
  if (id.empty()) id = detail::quotable(answer.header("x-amz-request-id"));
  std::string why = std::to_string(answer.status);
  if (!code.empty()) why += ' ' + code;
  if (!id.empty()) why += ", request " + id;
  Error error{meaning(answer, status, refusal), where_ + " (" + why + ")"};
  if (error.code == s3_errc::denied && (request_.kind == Kind::get || request_.kind == Kind::head) && status == 403)
    error.where += ", or it does not exist and the credentials may not list the bucket";

  if (HttpRedirects::is_redirect(status) && status != 301 && !answer.location.empty()) {
    const HttpUrl to = redirects_.follow(url_, answer, where_, error_);
    if (error_) return;
    if (S3Endpoint::is_same_site(url_.host, to.host)) redirected_ = with_sorted_query(to);
    else error_ = {http_errc::bad_redirect, where_ + " (to " + to.origin() + ")"};
    return;
  }
  if (corrects_region(answer, status, refusal, error) || corrects_clock(answer, code)) return;
  if (code == "ExpiredToken" || code == "ExpiredTokenException" || code == "TokenRefreshRequired") {
    wants_keys_ = !std::exchange(keys_tried_, true);
    if (!wants_keys_) error_ = {s3_errc::expired, error.where};
    return;
  }
  if (code == "BadDigest" || code == "XAmzContentSHA256Mismatch" || code == "XAmzContentChecksumMismatch") {
    if (std::exchange(damage_tried_, true)) error_ = {s3_errc::damaged, error.where};
    return;
  }
  if (is_repeatable(status, code)) {
    const bool slow = status == 429 || status == 503 || code == "SlowDown";
    if (slow) ++throttled_;
    // An error of the server may come after the write was done.
    maybe_done_ = maybe_done_ || (status >= 500 && !slow);
    return again(error, slow, &answer);
  }
  const bool may_drop_sums = setup_.checksums == S3Checksums::automatic && !setup_.checksums_work && !drops_sums_ &&
                             (request_.crc || request_.kind == Kind::create) && (status == 400 || status == 501);
  if (may_drop_sums) drops_sums_ = true;
  else error_ = std::move(error);
}

/// Returns the URL with its query in the order in which queries are signed.
inline auto S3Core::with_sorted_query(HttpUrl url) -> HttpUrl {
  const std::size_t question = url.target.find('?');
  if (question == std::string::npos) return url;
  std::string_view rest = std::string_view{url.target}.substr(question + 1);
  std::vector<std::string> parameters;
  while (!rest.empty()) parameters.emplace_back(detail::cut_before(rest, '&'));
  std::sort(parameters.begin(), parameters.end());
  std::string target = url.target.substr(0, question);
  char separator = '?';
  for (const std::string& parameter : parameters) target += std::exchange(separator, '&') + parameter;
  url.target = std::move(target);
  return url;
}

inline auto S3Core::meaning(const HttpAnswer& answer, int status, const std::optional<S3Refusal>& refusal) const
    -> s3_errc {
  const std::string code = refusal ? refusal->code : std::string{};
  const auto is_one_of = [&code](auto... names) { return ((code == names) || ...); };
  if (is_one_of("AccessDenied", "AllAccessDisabled", "AccountProblem", "InvalidAccessKeyId", "SignatureDoesNotMatch",
                "InvalidToken", "InvalidSecurity", "NotSignedUp", "XAdminUserNotFound", "InvalidPayer"))
    return s3_errc::denied;
  if (code == "NoSuchBucket") return s3_errc::no_such_bucket;
  if (code == "NoSuchUpload") return s3_errc::no_such_upload;
  if (is_one_of("EntityTooLarge", "MaxMessageLengthExceeded")) return s3_errc::too_large;
  if (is_one_of("NotImplemented", "MethodNotAllowed")) return s3_errc::unsupported;
  if (status == 412) return request_.kind == Kind::get ? s3_errc::changed : s3_errc::condition_failed;
  if (status == 416 && request_.kind == Kind::get) return s3_errc::changed;
  const bool strange = !refusal && !answer.body.empty() && detail::xml_root(answer.body) != "Error";
  if (strange && status < 500) return s3_errc::bad_answer;
  if (status == 401 || status == 403) return s3_errc::denied;
  if (status == 404) return request_.key.empty() ? s3_errc::no_such_bucket : s3_errc::no_such_object;
  if (status == 413) return s3_errc::too_large;
  if (status == 405 || status == 501) return s3_errc::unsupported;
  if (is_repeatable(status, code)) return s3_errc::busy;
  return s3_errc::refused;
}

inline auto S3Core::is_repeatable(int status, const std::string& code) const -> bool {
  if (code == "SlowDown" || code == "RequestTimeout" || code == "InternalError" || code == "ServiceUnavailable" ||
      code == "ConditionalRequestConflict" || code == "OperationAborted")
    return true;
  // A good status with an error in the body counts as 500, unless the error says that it is final.
  if (status == 500 && !code.empty())
    return code != "AccessDenied" && code != "NoSuchUpload" && code != "NoSuchKey" && code != "InvalidPart" &&
           code != "InvalidPartOrder" && code != "EntityTooSmall" && code != "PreconditionFailed";
  return status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
}

/// True if the refusal says that the bucket is in another region, and there is something to do about it; or `error_` is
/// set.
inline auto S3Core::corrects_region(const HttpAnswer& answer, int status, const std::optional<S3Refusal>& refusal,
                                    const Error& error) -> bool {
  const std::string code = refusal ? refusal->code : std::string{};
  std::string region = detail::quotable(answer.header("x-amz-bucket-region"));
  const bool elsewhere = !region.empty() && region != setup_.endpoint.region;
  const bool wrong = status == 301 || code == "PermanentRedirect" || code == "AuthorizationHeaderMalformed" ||
                     code == "IllegalLocationConstraintException" || (code.empty() && status == 400 && elsewhere);
  if (!wrong || setup_.endpoint.gcs) return false;
  if (region.empty() && refusal) region = refusal->region;
  if (std::exchange(region_tried_, true) || region == setup_.endpoint.region) {
    error_ = {s3_errc::wrong_region, error.where};
  } else if (region.empty()) {
    asks_region_ = true;
  } else {
    setup_.endpoint.region = region;
    redirected_.reset();
  }
  return true;
}

inline void S3Core::region_told(const HttpAnswer& answer, const Error& lost) {
  asks_region_ = false;
  const std::string region = detail::quotable(answer.header("x-amz-bucket-region"));
  if (answer.status == 404 && !lost) error_ = {s3_errc::no_such_bucket, where_};
  else if (lost || region.empty() || region == setup_.endpoint.region) error_ = {s3_errc::wrong_region, where_};
  else setup_.endpoint.region = region;
}

inline auto S3Core::corrects_clock(const HttpAnswer& answer, const std::string& code) -> bool {
  if (code != "RequestTimeTooSkewed") return false;
  const auto date = parse_http_date(answer.header("date"));
  if (!date || std::exchange(clock_tried_, true)) {
    error_ = {s3_errc::clock_skewed, where_};
    return true;
  }
  setup_.clock_offset = *date - now_;
  return true;
}

/// Begins again after a pause. Fails with `error` if there are no attempts left.
inline void S3Core::again(const Error& error, bool slow, const HttpAnswer* answer) {
  redirected_.reset();
  redirects_.clear();
  pause_ = retries_.failed(got_);
  if (!pause_) {
    error_ = error;
    return;
  }
  if (slow) *pause_ *= 4;
  // A factor in [0.5, 1) that depends on the key and the attempt: clients that failed together do not return together.
  std::uint64_t mixed = 0xCBF2'9CE4'8422'2325;
  for (const char c : request_.key) mixed = (mixed ^ static_cast<unsigned char>(c)) * 0x0000'0100'0000'01B3;
  mixed = (mixed ^ attempts_) * 0x9E37'79B9'7F4A'7C15;
  *pause_ = *pause_ / 2 + *pause_ / 2 * static_cast<int>(mixed >> 56) / 256;
  if (answer == nullptr) return;
  constexpr std::chrono::seconds longest{60};
  const auto seconds = detail::parse_whole<std::uint32_t>(answer->header("retry-after"));
  if (seconds) pause_ = std::min<std::chrono::milliseconds>(std::chrono::seconds{*seconds}, longest);
}

inline auto S3Core::info() const -> ObjectInfo {
  ObjectInfo info{.key = request_.key, .bytes = answer_.content_length.value_or(0)};
  if (request_.kind == Kind::put) info.bytes = request_.body->size();
  if (const auto range = HttpContentRange::parse(answer_.content_range)) info.bytes = range->size;
  info.version = setup_.endpoint.gcs ? std::string{answer_.header("x-goog-generation")} : answer_.etag;
  if (const auto time = parse_http_date(answer_.header("last-modified")))
    info.modified_seconds = time->time_since_epoch().count();
  return info;
}

}  // namespace v0
}  // namespace distrib
