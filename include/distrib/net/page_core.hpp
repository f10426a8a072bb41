// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/shortest_text.hpp>
#include <distrib/net/drive.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// A page that is shown under one path.
struct Page {
  std::string path;          ///< The path, for example "/metrics".
  std::string content_type;  ///< The media type, for example "text/plain; charset=utf-8".
};

/// The content type of metrics in Prometheus' text exposition format 0.0.4.
inline constexpr std::string_view metrics_content_type = "text/plain; version=0.0.4; charset=utf-8";

/// Answers one HTTP request (RFC 9112) with one of some pages. It is a `DriveCore`.
///
/// A GET of a page's path (anything after a '?' is ignored) gets 200 and the content, another path 404, another method
/// 405. A request that is not HTTP/1, or has a head of more than 4 KiB, gets 400. A peer that ends without a
/// request gets no answer. A body is not read. Then the exchange is done: the connection is not used again.
///
/// When a page is wanted, the core is done for a first time, and `asked()` says which one. The owner then passes its
/// content to `show`, which may take any time to collect, and drives the core once more. The core has no clock: its
/// owner must end it in time.
///
/// Threads: one at a time.
class PageCore {
 public:
  static constexpr std::size_t max_head_bytes = 4096;  ///< Size of the longest head of a request.

  /// `pages`: their paths differ.
  explicit PageCore(std::vector<Page> pages) : pages_{std::move(pages)} {}

  /// Returns the number of the page whose content the peer waits for; empty if it waits for none.
  [[nodiscard]] auto asked() const noexcept -> std::optional<std::size_t> { return asked_; }

  /// Sets the content; call it when a page is asked for.
  void show(std::string_view content) {
    const std::string type = pages_[*asked_].content_type;
    asked_.reset();
    write(good, type, content);
  }

  DISTRIB_DECL auto next(const std::error_code& ec, std::size_t count) -> DriveAction;

 private:
  static constexpr std::string_view good = "200 OK";
  static constexpr std::string_view bad = "400 Bad Request";
  static constexpr std::string_view no_such = "404 Not Found";
  static constexpr std::string_view not_allowed = "405 Method Not Allowed";

  /// Returns the size of the head with the empty line that ends it; 0 if it is not complete. A line may end without a
  /// carriage return.
  DISTRIB_DECL static auto head_end(std::string_view text) -> std::size_t;

  /// Returns the status that a request gets. `page`: becomes the number of the page that it names, if there is one.
  [[nodiscard]] DISTRIB_DECL auto status_of(std::string_view head, std::size_t& page) const -> std::string_view;

  static auto take_line(std::string_view& text) -> std::string_view {
    std::string_view line = detail::cut_before(text, '\n');
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }

  /// True if the line is a field, "Name: value". A line that continues the line before it is not.
  DISTRIB_DECL static auto is_field(std::string_view line) -> bool;
  static auto is_token(std::string_view text) -> bool {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
      return is_visible(c) && std::string_view{"\"(),/:;<=>?@[\\]{}"}.find(c) == std::string_view::npos;
    });
  }
  static auto is_visible(char c) -> bool { return c > ' ' && c <= '~'; }

  DISTRIB_DECL auto answer(std::string_view head) -> DriveAction;
  DISTRIB_DECL auto refuse(std::string_view status) -> DriveAction;

  DISTRIB_DECL void write(std::string_view status, std::string_view type, std::string_view content);

  std::vector<Page> pages_;
  std::array<std::byte, max_head_bytes> head_{};
  std::size_t size_ = 0;
  std::string answer_;
  bool begun_ = false;
  std::optional<std::size_t> asked_;
  bool answered_ = false;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/net/impl/page_core.ipp>
#endif
