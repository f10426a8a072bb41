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

/// What is shown under one path.
struct Page {
  std::string path;          ///< "/metrics".
  std::string content_type;  ///< "text/plain; charset=utf-8".
};

/// Answers one HTTP request (RFC 9112) with one page: a `DriveCore`. GET of the page's path, whatever follows a '?', is
/// 200 and its content; another path 404, another method 405; what is no request of HTTP/1, or has a head of more than 4
/// KiB, 400. Then it is done: no connection is kept. A body is not read. Who ends without a request gets no answer.
///
/// When the page is asked for it is done a first time, and `is_asked()`: then it wants the content by `show`, which may
/// take long to gather, and to be driven once more. No clock: whoever drives it ends it in time. Threads: one at a time.
class PageCore {
 public:
  static constexpr std::size_t max_head_bytes = 4096;

  explicit PageCore(Page page) : page_{std::move(page)} {}

  /// Whether somebody waits for the content.
  [[nodiscard]] auto is_asked() const noexcept -> bool { return is_asked_; }

  /// The content, once it is asked for.
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

  /// Bytes of the head with the empty line that ends it; 0: it is not whole. A line may end without its carriage return.
  DISTRIB_DECL static auto head_end(std::string_view text) -> std::size_t;

  [[nodiscard]] DISTRIB_DECL auto status_of(std::string_view head) const -> std::string_view;

  static auto take_line(std::string_view& text) -> std::string_view {
    std::string_view line = detail::cut_before(text, '\n');
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }

  /// "Name: value"; a line that goes on with the one before is none.
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
