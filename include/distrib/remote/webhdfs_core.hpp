// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in the facade.
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/remote/http_error.hpp>
#include <distrib/remote/http_message.hpp>
#include <distrib/remote/http_retry.hpp>
#include <distrib/remote/http_url.hpp>
#include <distrib/remote/webhdfs_answer.hpp>
#include <distrib/remote/webhdfs_error.hpp>
#include <distrib/remote/webhdfs_options.hpp>
#include <distrib/remote/webhdfs_request.hpp>
#include <distrib/remote/webhdfs_url.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// One operation of WebHDFS as a sequence of requests: which name node to ask, to which data node it redirects, and
/// what to do about a lost connection, a short body, a standby name node or an exception. A core: it does no I/O,
/// `detail::take_http_steps` does.
///
/// Threads: one at a time.
class WebHdfsCore {
 public:
  /// Limit for all answers except the data of OPEN: a listing of some hundred thousand files.
  static constexpr std::size_t max_answer_bytes = 64 << 20;

  /// `servers`: the name nodes of a `WebHdfsLocation`, at least one; number `active` is asked first. The name nodes of
  /// `options` are not used. The core copies `options`.
  WebHdfsCore(WebHdfsRequest request, std::vector<HttpUrl> servers, const WebHdfsOptions& options,
              std::size_t active = 0)
      : request_{std::move(request)},
        servers_{std::move(servers)},
        options_{options},
        active_{active % servers_.size()},
        retries_{options.retry},
        done_{request_.op == "OPEN" && request_.bytes == 0} {}

  /// Returns what to do now.
  [[nodiscard]] auto next() -> HttpStep {
    if (error_) return {.kind = HttpStep::Kind::failed};
    if (done_) return {.kind = HttpStep::Kind::done};
    if (pause_) return {.kind = HttpStep::Kind::wait, .pause = *std::exchange(pause_, std::nullopt)};
    HttpStep step{.kind = HttpStep::Kind::send, .request = {.method = request_.method}};
    HttpRequest& sent = step.request;
    sent.max_body_bytes = max_answer_bytes;
    // Gateways that guard against forged requests require this header; its value does not matter.
    sent.headers = {{"X-XSRF-HEADER", "distrib"}, {"Accept-Encoding", "identity"}};
    sent.url = at_data_node_ ? data_node_ : first_url();
    excludes_ = !at_data_node_ && !excluded_.empty();
    const bool at_once = options_.server == WebHdfsServer::httpfs;
    sent_body_ = request_.body && (at_data_node_ || at_once);
    if (sent_body_) sent.body = request_.body;
    where_ = sent.url.origin() + ' ' + request_.op + ' ' + request_.path;
    url_ = sent.url;
    got_ = 0;
    return step;
  }

  /// True if the bytes of good answers are passed to the reader while they arrive: only for OPEN.
  [[nodiscard]] auto streams() const noexcept -> bool { return request_.op == "OPEN"; }

  /// Called when `bytes` bytes of the body of `answer` have arrived. Returns how many of them are wanted. Fewer than
  /// `bytes`: nothing more of this answer is wanted.
  [[nodiscard]] auto accept(const HttpAnswer& answer, std::uint64_t bytes) -> std::uint64_t {
    if (error_) return 0;
    if (got_ == 0 && answer.content_length.value_or(0) > request_.bytes) {
      error_ = {webhdfs_errc::bad_answer, where_ + " (" + std::to_string(*answer.content_length) + " bytes, not " +
                                              std::to_string(request_.bytes) + ")"};
      return 0;
    }
    const std::uint64_t taken = std::min(bytes, request_.bytes);
    request_.first += taken;
    request_.bytes -= taken;
    got_ += taken;
    return taken;
  }

  /// Called when the request has ended. `answer`: what arrived of the answer. `lost`: what ended it early, if anything.
  void ended(const HttpAnswer& answer, const Error& lost) {
    if (error_) return;
    if (lost && !(streams() && answer.good() && request_.bytes == 0)) return lose(lost);
    if (HttpRedirects::is_redirect(answer.status)) {
      data_node_ = redirects_.follow(url_, answer, where_, error_);
      at_data_node_ = true;
      return;
    }
    if (!answer.good()) return refused(answer);
    if (streams()) {
      if (request_.bytes == 0) done_ = true;
      else lose({http_errc::short_body, {}}, " (" + std::to_string(request_.bytes) + " bytes are missing)");
      return;
    }
    if (request_.body && !sent_body_) {
      error_ = {webhdfs_errc::bad_answer,
                where_ + " (the server did not redirect, and made an empty file: is this HttpFS?)"};
      return;
    }
    body_ = answer.body;
    done_ = true;
  }

  /// Returns the failure, with host, operation and path, and with Hadoop's exception if there was one.
  [[nodiscard]] auto error() const noexcept -> const Error& { return error_; }
  /// Returns the body of the answer after `done`. Not for OPEN.
  [[nodiscard]] auto body() const noexcept -> const std::string& { return body_; }
  /// Returns the number of the name node that the next operation should ask first: the one that answered, or the one
  /// after those that did not.
  [[nodiscard]] auto active() const noexcept -> std::size_t { return active_; }
  /// True if an answer was lost, so that the operation may have been done although it failed, or may have been done
  /// twice.
  [[nodiscard]] auto maybe_done() const noexcept -> bool { return maybe_done_; }
  /// Returns server, operation and path of the last request, for errors about its answer.
  [[nodiscard]] auto where() const noexcept -> const std::string& { return where_; }

 private:
  auto first_url() const -> HttpUrl {
    std::vector<std::pair<std::string, std::string>> more;
    if (streams()) {
      more.emplace_back("offset", std::to_string(request_.first));
      more.emplace_back("length", std::to_string(request_.bytes));
    }
    if (request_.body && options_.server == WebHdfsServer::httpfs) more.emplace_back("data", "true");
    if (!excluded_.empty()) more.emplace_back("excludedatanodes", excluded_);
    HttpUrl url = servers_[active_];
    url.target = request_.target(url, options_, more);
    return url;
  }

  /// After a lost connection or a timeout: tries again, without this data node or with the next name node.
  void lose(const Error& lost, const std::string& how = {}) {
    const bool worth_it = lost.code == failure::unavailable || lost.code == failure::timeout;
    maybe_done_ = maybe_done_ || lost.code != http_errc::unreachable;
    if (at_data_node_) exclude(data_node_.host);
    else next_server();
    again(worth_it, {lost.code, where_ + how});
  }

  /// Handles an answer in which Hadoop, or a gateway before it, refuses the request.
  void refused(const HttpAnswer& answer) {
    const auto remote = RemoteException::parse(answer.body);
    const std::string why = remote ? remote->text() : "status " + std::to_string(answer.status);
    webhdfs_errc code = remote ? detail::webhdfs_meaning(remote->exception) : webhdfs_errc::bad_answer;
    if (answer.status == 401 && code != webhdfs_errc::denied) code = webhdfs_errc::unauthenticated;
    if (!remote && answer.status == 403) code = webhdfs_errc::denied;
    const bool busy = answer.status == 429 || answer.status == 502 || answer.status == 503 || answer.status == 504 ||
                      (!remote && answer.status == 500);
    if (busy && !remote) code = webhdfs_errc::not_ready;
    const Error error{code, where_ + " (" + why + ")"};
    const bool elsewhere =
        code == webhdfs_errc::refused || code == webhdfs_errc::unauthenticated || code == webhdfs_errc::not_ready;
    const bool of_data_node = at_data_node_ && elsewhere;
    const bool none_left = excludes_ && code == webhdfs_errc::refused;  // all data nodes are excluded
    if (none_left) excluded_.clear();
    if (code == webhdfs_errc::standby) next_server();
    if (of_data_node) exclude(data_node_.host);
    again(code == webhdfs_errc::standby || code == webhdfs_errc::not_ready || of_data_node || none_left || busy, error);
  }

  /// Begins again at the name node after a pause. Fails with `error` if that is not `worth_it` or there are no attempts
  /// left.
  void again(bool worth_it, const Error& error) {
    at_data_node_ = false;
    redirects_.clear();
    if (worth_it) pause_ = retries_.failed(got_);
    if (!worth_it || !pause_) error_ = error;
    if (pause_ && standby_lap_ != 0) pause_ = std::chrono::milliseconds{};
  }

  /// Goes to the next name node. In the first round through all of them there is no pause.
  void next_server() {
    active_ = (active_ + 1) % servers_.size();
    standby_lap_ = standby_lap_ + 1 < servers_.size() ? standby_lap_ + 1 : 0;
  }

  void exclude(const std::string& host) {
    standby_lap_ = 0;
    if ((',' + excluded_ + ',').find(',' + host + ',') == std::string::npos)
      (excluded_ += excluded_.empty() ? "" : ",") += host;
  }

  WebHdfsRequest request_;
  std::vector<HttpUrl> servers_;
  WebHdfsOptions options_;
  std::size_t active_;
  HttpRetries retries_;
  HttpRedirects redirects_;
  HttpUrl url_;  // of the current request
  HttpUrl data_node_;  // target of the last redirect
  std::string excluded_;
  std::string where_;
  std::string body_;
  Error error_;
  std::optional<std::chrono::milliseconds> pause_;
  std::uint64_t got_ = 0;  // accepted bytes of the current answer
  std::size_t standby_lap_ = 0;  // name nodes that were skipped in a row
  bool at_data_node_ = false;
  bool excludes_ = false;  // the current request excludes data nodes
  bool sent_body_ = false;
  bool maybe_done_ = false;
  bool done_;
};

}  // namespace v0
}  // namespace distrib
