// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in any facade.
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/shortest_text.hpp>
#include <distrib/remote/http_date.hpp>
#include <distrib/remote/http_error.hpp>
#include <distrib/remote/http_message.hpp>
#include <distrib/remote/http_options.hpp>
#include <distrib/remote/http_retry.hpp>
#include <distrib/remote/http_url.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace distrib {
inline namespace v0 {

/// The content of a Content-Range header: "bytes FIRST-LAST/SIZE", or "bytes */SIZE".
struct HttpContentRange {
  std::uint64_t first = 0;
  std::uint64_t bytes = 0;
  std::uint64_t size = 0;  ///< Size of the whole file.

  /// Parses the header. Returns nothing if it has another form, or does not say the size.
  [[nodiscard]] static auto parse(std::string_view text) -> std::optional<HttpContentRange> {
    if (!text.starts_with("bytes ")) return std::nullopt;
    text.remove_prefix(6);
    const std::string_view range = detail::cut_before(text, '/');
    const auto size = detail::parse_whole<std::uint64_t>(text);
    if (!size) return std::nullopt;
    if (range == "*") return HttpContentRange{0, 0, *size};
    const std::size_t dash = range.find('-');
    if (dash == std::string_view::npos) return std::nullopt;
    const auto first = detail::parse_whole<std::uint64_t>(range.substr(0, dash));
    const auto last = detail::parse_whole<std::uint64_t>(range.substr(dash + 1));
    if (!first || !last || *last < *first || *last >= *size) return std::nullopt;
    return HttpContentRange{*first, *last - *first + 1, *size};
  }
};

/// Reads a part of a file on an HTTP server, by requests with a Range header. Follows redirects; after a lost
/// connection it continues at the same byte; after the status 429 or 5xx it tries again. A core: it does no I/O,
/// `detail::take_http_steps` does.
///
/// The part must lie inside the file; an empty part is done at once. A core made by `probe` asks for the size of the
/// file instead.
///
/// Threads: one at a time.
class HttpRangeCore {
 public:
  /// `etag`, `size`: of the file, as `probe` found them; an empty ETag: any is accepted; without a size any is.
  HttpRangeCore(HttpUrl url, std::uint64_t first, std::uint64_t bytes, std::string etag = {},
                const HttpRetryOptions& retry = {}, std::optional<std::uint64_t> size = {})
      : origin_{std::move(url)},
        url_{origin_},
        first_{first},
        left_{bytes},
        etag_{std::move(etag)},
        wanted_size_{size},
        retries_{retry} {}

  /// Returns a core that asks for the size and the ETag of the file.
  [[nodiscard]] static auto probe(HttpUrl url, const HttpRetryOptions& retry = {}) -> HttpRangeCore {
    HttpRangeCore core{std::move(url), 0, 1, {}, retry};
    core.probes_ = true;
    return core;
  }

  /// Returns what to do now.
  [[nodiscard]] auto next() -> HttpStep {
    if (error_) return {.kind = HttpStep::Kind::failed};
    if (left_ == 0) return {.kind = HttpStep::Kind::done};
    if (pause_) return {.kind = HttpStep::Kind::wait, .pause = *std::exchange(pause_, std::nullopt)};
    HttpStep step{.kind = HttpStep::Kind::send, .request = {.url = url_}};
    const std::string range = "bytes=" + std::to_string(first_) + '-' + std::to_string(first_ + left_ - 1);
    step.request.headers = {{"Range", range}, {"Accept-Encoding", "identity"}};
    if (!etag_.empty()) step.request.headers.emplace_back("If-Range", etag_);
    where_ = step.request.where();
    got_ = 0;
    return step;
  }

  /// True: the bytes of good answers are passed to the reader while they arrive.
  [[nodiscard]] auto streams() const noexcept -> bool { return true; }

  /// Called when `bytes` bytes of the body of `answer` have arrived. Returns how many of them belong to the part. Fewer
  /// than `bytes`: the rest of the answer is not wanted.
  [[nodiscard]] auto accept(const HttpAnswer& answer, std::uint64_t bytes) -> std::uint64_t {
    if (probes_ || !fits(answer)) return 0;
    const std::uint64_t taken = std::min(bytes, left_);
    first_ += taken;
    left_ -= taken;
    got_ += taken;
    return taken;
  }

  /// Called when the request has ended. `answer`: what arrived of the answer. `lost`: what ended it early, if anything.
  void ended(const HttpAnswer& answer, const Error& lost) {
    if (answer.status != 0 && HttpRedirects::is_redirect(answer.status)) {
      url_ = redirects_.follow(url_, answer, where_, error_);
      return;
    }
    const bool settled = answer.status != 0 && (probes_ ? learn(answer) : left_ == 0);
    if (settled || error_) return;
    const bool busy = answer.status == 429 || answer.status >= 500;
    if (!lost && !busy && !fits(answer)) return;
    if (lost && lost.code != failure::unavailable && lost.code != failure::timeout) {
      error_ = lost;
      return;
    }
    url_ = origin_;
    redirects_.clear();
    pause_ = retries_.failed(got_);
    if (pause_) return;
    if (lost) error_ = lost;
    else error_ = {busy ? http_errc::bad_status : http_errc::short_body, with_status(answer)};
  }

  [[nodiscard]] auto error() const noexcept -> const Error& { return error_; }
  /// Returns the size of the whole file. Only after `probe`.
  [[nodiscard]] auto size() const noexcept -> std::uint64_t { return size_; }
  [[nodiscard]] auto etag() const noexcept -> const std::string& { return etag_; }
  /// Returns when the file was changed, as the server says it; empty if it does not. Only after `probe`.
  [[nodiscard]] auto modified() const noexcept -> const std::string& { return modified_; }
  /// True if `modified` names the content: the answer says that it was made a minute or more later, so that the file cannot
  /// change again within the same second (RFC 9110, 8.8.2.2). Only after `probe`.
  [[nodiscard]] auto is_modified_long_ago() const noexcept -> bool { return is_modified_long_ago_; }

  /// Refuses answers about a file that was changed at another time than `modified` says, for servers without ETags. Empty,
  /// or an answer without that time: any is accepted.
  void expect_modified(std::string modified) { modified_ = std::move(modified); }

 private:
  auto with_status(const HttpAnswer& answer) const -> std::string {
    return where_ + " (status " + std::to_string(answer.status) + ")";
  }
  auto fail(http_errc code, const HttpAnswer& answer) -> bool {
    error_ = {code, with_status(answer)};
    return false;
  }

  /// True if a good answer is the part, from the byte at which to continue. Otherwise sets `error_`.
  auto fits(const HttpAnswer& answer) -> bool {
    if (error_) return false;
    if (got_ != 0) return true;  // it was checked at its beginning
    if (answer.status == 200) return fail(etag_.empty() ? http_errc::no_ranges : http_errc::changed, answer);
    if (answer.status == 416) return fail(http_errc::changed, answer);
    if (answer.status != 206) return fail(http_errc::bad_status, answer);
    const auto range = HttpContentRange::parse(answer.content_range);
    if (!range || range->first != first_ || range->bytes > left_ ||
        answer.content_length.value_or(range->bytes) != range->bytes)
      return fail(http_errc::bad_answer, answer);
    if (!etag_.empty() && !answer.etag.empty() && answer.etag != etag_) return fail(http_errc::changed, answer);
    if (range->size != wanted_size_.value_or(range->size)) return fail(http_errc::changed, answer);
    const std::string_view modified = answer.header("last-modified");
    if (!modified_.empty() && !modified.empty() && modified != modified_) return fail(http_errc::changed, answer);
    return true;
  }

  /// Reads size and ETag from the answer to a probe. Returns false if this answer does not have them, and then sets
  /// `error_`, unless another attempt may help.
  auto learn(const HttpAnswer& answer) -> bool {
    if (answer.status == 429 || answer.status >= 500) return false;
    const auto range = HttpContentRange::parse(answer.content_range);
    if (answer.status == 200) return fail(http_errc::no_ranges, answer);
    if (answer.status != 206 && !(answer.status == 416 && range && range->size == 0))
      return fail(http_errc::bad_status, answer);
    if (!range || range->first != 0) return fail(http_errc::bad_answer, answer);
    size_ = range->size;
    etag_ = answer.etag.starts_with("W/") ? std::string{} : answer.etag;  // a weak ETag must not be used in If-Range
    modified_ = answer.header("last-modified");
    const auto changed = parse_http_date(modified_);
    const auto now = parse_http_date(answer.header("date"));
    is_modified_long_ago_ = changed && now && *now - *changed >= std::chrono::seconds{60};
    left_ = 0;
    return true;
  }

  HttpUrl origin_;
  HttpUrl url_;
  std::uint64_t first_;
  std::uint64_t left_;
  std::string etag_;
  std::string modified_;
  std::optional<std::uint64_t> wanted_size_;
  HttpRetries retries_;
  HttpRedirects redirects_;
  std::optional<std::chrono::milliseconds> pause_;
  std::uint64_t got_ = 0;  // accepted bytes of the current answer
  std::uint64_t size_ = 0;
  std::string where_;
  Error error_;
  bool probes_ = false;
  bool is_modified_long_ago_ = false;
};

}  // namespace v0
}  // namespace distrib
