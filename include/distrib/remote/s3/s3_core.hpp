// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in any facade.
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
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
#include <distrib/remote/s3/s3_headers.hpp>
#include <distrib/remote/s3/s3_meaning.hpp>
#include <distrib/remote/s3/s3_options.hpp>
#include <distrib/remote/s3/s3_request.hpp>
#include <distrib/remote/s3/s3_setup.hpp>
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

/// One operation on an object store as a sequence of requests: signs each attempt anew, and decides what to do about
/// lost connections, refusals, throttling, a wrong region, clock or token, errors in good answers, and damaged bytes. A
/// core: it does no I/O and reads no clock.
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

  /// Called when `bytes` bytes of the body of `answer` have arrived. Returns how many of them belong to the object;
  /// they follow the bytes accepted before. Fewer than `bytes`: the rest of the answer is not wanted.
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

  auto range() const -> std::string;
  auto payload(const HttpRequest& sent) -> std::string;

  static auto with_sorted_query(HttpUrl url) -> HttpUrl;

  auto begins(const HttpAnswer& answer) -> bool;
  void finish(const HttpAnswer& answer);
  void refused(const HttpAnswer& answer, int status);
  auto corrects_region(const HttpAnswer& answer, int status, const std::optional<S3Refusal>& refusal,
                       const Error& error) -> bool;
  auto corrects_clock(const HttpAnswer& answer, const std::string& code) -> bool;
  void region_told(const HttpAnswer& answer, const Error& lost);
  void reason_told(const HttpAnswer& answer, const Error& lost);
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
  Error reason_;  // the refusal of a HEAD, until the store has said why
  bool asks_region_ = false;
  bool asks_reason_ = false;
  bool reason_tried_ = false;
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
  sent.method = asks_reason_ ? "GET" : request_.method();
  sent.url = redirected_ ? *redirected_ : setup_.endpoint.url(request_.key, canonical_query(request_.query));
  sent.body = body();
  sent.max_body_bytes = request_.answer_root().starts_with("List") ? most_listed : sent.max_body_bytes;
  url_ = sent.url;
  where_ = request_.method() + (setup_.endpoint.gcs ? " gs://" : " s3://") + setup_.endpoint.bucket + '/' +
           request_.key + " at " + url_.origin();
  sent.headers = s3_headers(request_, setup_, drops_sums_ ? S3Checksums::none : setup_.checksums);
  if (std::string bytes = range(); !bytes.empty()) sent.headers.emplace_back("Range", std::move(bytes));
  if (would_tell_secrets(sent, setup_)) {
    error_ = {s3_errc::no_tls, where_};
    return {.kind = HttpStep::Kind::failed};
  }
  sign_request(sent, payload(sent), setup_.keys, setup_.endpoint.scope(), now + setup_.clock_offset);
  sent.headers.emplace_back("Accept-Encoding", "identity");
  return step;
}

inline auto S3Core::range() const -> std::string {
  if (asks_reason_) return "bytes=0-0";
  if (request_.kind != Kind::get) return {};
  if (left_) return "bytes=" + std::to_string(next_first_) + '-' + std::to_string(next_first_ + *left_ - 1);
  return request_.from_end ? "bytes=-" + std::to_string(request_.bytes) : std::string{};
}

inline auto S3Core::payload(const HttpRequest& sent) -> std::string {
  const ByteView bytes = sent.body.value_or(ByteView{});
  if (sent.url.tls && !bytes.empty()) return std::string{unsigned_payload};
  if (payload_.empty()) payload_ = to_hex(sha256(bytes));
  return payload_;
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
  if (asks_reason_) return reason_told(answer, lost);
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
  answer_ = answer;
  // Without these, a reader would take the object for an empty one, or could not notice that it was replaced.
  if (request_.kind == Kind::head && (!answer.content_length || info().version.empty())) {
    error_ = {s3_errc::bad_answer, where_ + " (status " + std::to_string(answer.status) + ", no length or no version)"};
    return;
  }
  const bool summed =
      !drops_sums_ && request_.crc && setup_.checksums != S3Checksums::md5 && setup_.checksums != S3Checksums::none;
  if (summed) setup_.checksums_work = true;
  if (drops_sums_) setup_.checksums = S3Checksums::none;
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
  Error error{s3_meaning(request_, answer, status, refusal), where_ + " (" + why + ")"};
  if (error.code == s3_errc::denied && (request_.kind == Kind::get || request_.kind == Kind::head) && status == 403)
    error.where += ", or it does not exist and the credentials may not list the bucket";
  if (error.code == s3_errc::no_such_object && request_.kind == Kind::head && code.empty())
    error.where += ", or its bucket does not exist";

  // Amazon's 301 names a region; other servers redirect with it, as from http to https.
  const bool names_region = refusal || !answer.header("x-amz-bucket-region").empty();
  if (HttpRedirects::is_redirect(status) && !answer.location.empty() && (status != 301 || !names_region)) {
    const HttpUrl to = redirects_.follow(url_, answer, where_, error_);
    if (error_) return;
    if (S3Endpoint::is_same_site(url_.host, to.host)) redirected_ = with_sorted_query(to);
    else error_ = {http_errc::bad_redirect, where_ + " (to " + to.origin() + ")"};
    return;
  }
  if (corrects_region(answer, status, refusal, error) || corrects_clock(answer, code)) return;
  if (request_.from_end && !left_ && status == 416) {  // there is no last byte in an empty object
    const auto range = HttpContentRange::parse(answer.content_range);
    if (range && range->size != 0) {
      error_ = {s3_errc::bad_answer, error.where};
      return;
    }
    left_ = 0;
    answer_ = {.status = status, .content_length = 0, .etag = answer.etag, .headers = answer.headers};
    done_ = true;
    return;
  }
  const bool ended = code == "ExpiredToken" || code == "ExpiredTokenException" || code == "TokenRefreshRequired";
  if (ended || (status == 401 && !setup_.keys.bearer.empty())) {
    wants_keys_ = !std::exchange(keys_tried_, true);
    if (!wants_keys_) error_ = {s3_errc::expired, error.where};
    return;
  }
  // A HEAD has no body that says why it is refused: a GET of one byte is refused for the same reason, and says it.
  const bool unexplained = status == 400 || status == 401 || status == 403;
  if (request_.kind == Kind::head && unexplained && code.empty() && !std::exchange(reason_tried_, true)) {
    asks_reason_ = true;
    reason_ = std::move(error);
    return;
  }
  if (code == "BadDigest" || code == "XAmzContentSHA256Mismatch" || code == "XAmzContentChecksumMismatch") {
    if (std::exchange(damage_tried_, true)) error_ = {s3_errc::damaged, error.where};
    return;
  }
  if (is_worth_repeating(status, code)) {
    const bool slow = status == 429 || status == 503 || code == "SlowDown";
    if (slow) ++throttled_;
    // An error of the server may come after the write was done, also "503" of a proxy between.
    maybe_done_ = maybe_done_ || status >= 500;
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
  const bool unavailable = lost.code == failure::unavailable || lost.code == failure::timeout;
  if (unavailable || is_worth_repeating(answer.status, {}))
    return again({s3_errc::wrong_region, where_}, false, &answer);
  asks_region_ = false;
  const std::string region = detail::quotable(answer.header("x-amz-bucket-region"));
  if (answer.status == 404 && !lost) error_ = {s3_errc::no_such_bucket, where_};
  else if (lost || region.empty() || region == setup_.endpoint.region) error_ = {s3_errc::wrong_region, where_};
  else setup_.endpoint.region = region;
}

/// Handles the answer to the GET that asks why a HEAD was refused.
inline void S3Core::reason_told(const HttpAnswer& answer, const Error& lost) {
  asks_reason_ = false;
  if (lost || answer.good() || !S3Refusal::parse(answer.body)) error_ = std::move(reason_);
  else refused(answer, answer.status);
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
