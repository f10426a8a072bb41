// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in any facade.
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/remote/http_error.hpp>
#include <distrib/remote/http_message.hpp>
#include <distrib/remote/http_options.hpp>
#include <distrib/remote/http_url.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Counts attempts and computes the pauses between them. Reads no clock.
///
/// Threads: one at a time.
class HttpRetries {
 public:
  explicit HttpRetries(const HttpRetryOptions& options = {}) : options_{options} {}

  /// Called when an attempt has failed after `bytes` bytes had arrived. Returns the pause before the next attempt;
  /// nothing: that was the last attempt.
  [[nodiscard]] auto failed(std::uint64_t bytes = 0) -> std::optional<std::chrono::milliseconds> {
    if (bytes >= options_.progress_bytes) failed_ = 0;
    if (++failed_ >= options_.attempts) return std::nullopt;
    auto pause = options_.first_pause;
    for (std::size_t i = 1; i < failed_ && pause < options_.longest_pause; ++i)
      pause = pause <= options_.longest_pause / 2 ? 2 * pause : options_.longest_pause;
    return std::min(pause, options_.longest_pause);
  }

 private:
  HttpRetryOptions options_;
  std::size_t failed_ = 0;
};

/// The redirects of one request: at most five, none twice, and none from https to http.
///
/// Threads: one at a time.
class HttpRedirects {
 public:
  static constexpr std::size_t most = 5;

  [[nodiscard]] static auto is_redirect(int status) noexcept -> bool {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
  }

  /// Returns the URL to which `answer`, the answer to a request for `from`, redirects.
  ///
  /// Errors: sets `error` to `http_errc::bad_redirect` or `redirect_loop`, with `where` as its place.
  auto follow(const HttpUrl& from, const HttpAnswer& answer, const std::string& where, Error& error) -> HttpUrl {
    std::error_code ec;
    HttpUrl to = from.resolve(answer.location, ec);
    if (ec || (from.tls && !to.tls)) {
      error = {http_errc::bad_redirect, where};
      return {};
    }
    visited_.push_back(from.text());
    if (visited_.size() > most || std::find(visited_.begin(), visited_.end(), to.text()) != visited_.end())
      error = {http_errc::redirect_loop, where + " (to " + to.where() + ")"};
    return to;
  }

  /// Forgets the redirects, for another request.
  void clear() noexcept { visited_.clear(); }

 private:
  std::vector<std::string> visited_;
};

}  // namespace v0
}  // namespace distrib
