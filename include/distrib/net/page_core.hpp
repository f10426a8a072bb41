// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/shortest_text.hpp>
#include <distrib/net/drive.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

/// A page that is shown under one path.
struct Page {
  std::string path;          ///< The path, for example "/metrics".
  std::string content_type;  ///< The media type, for example "text/plain; charset=utf-8".
};

/// Answers one HTTP request (RFC 9112) with one page. It is a `DriveCore`.
///
/// A GET of the page's path (anything after a '?' is ignored) gets 200 and the content, another path 404, another
/// method 405. A request that is not HTTP/1, or has a head of more than 4 KiB, gets 400. A peer that ends without a
/// request gets no answer. A body is not read. Then the exchange is done: the connection is not used again.
///
/// When the page is wanted, the core is done for a first time, with `is_asked()` true. The owner then passes the
/// content to `show`, which may take any time to collect, and drives the core once more. The core has no clock: its
/// owner must end it in time.
///
/// Threads: one at a time.
class PageCore {
 public:
  static constexpr std::size_t max_head_bytes = 4096;  ///< Size of the longest head of a request.

  explicit PageCore(Page page) : page_{std::move(page)} {}

  /// True if the peer waits for the content of the page.
  [[nodiscard]] auto is_asked() const noexcept -> bool { return is_asked_; }

  /// Sets the content; call it when `is_asked()`.
  void show(std::string_view content) {
    is_asked_ = false;
    write(good, content);
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

  [[nodiscard]] DISTRIB_DECL auto status_of(std::string_view head) const -> std::string_view;

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

  DISTRIB_DECL auto answer(std::string_view status) -> DriveAction;

  DISTRIB_DECL void write(std::string_view status, std::string_view content);

  Page page_;
  std::array<std::byte, max_head_bytes> head_{};
  std::size_t size_ = 0;
  std::string answer_;
  bool begun_ = false;
  bool is_asked_ = false;
  bool answered_ = false;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/net/impl/page_core.ipp>
#endif
