// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
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

  template <class = void> auto next(const std::error_code& ec, std::size_t count) -> DriveAction {
    if (ec || is_asked_) return DriveAction::done(ec);
    if (!answer_.empty())
      return std::exchange(answered_, true) ? DriveAction::done() : DriveAction::write(as_bytes(answer_));
    size_ += count;
    const std::string_view text = as_text(ByteView{head_}.first(size_));
    const std::size_t end = head_end(text);
    if (end == 0 && std::exchange(begun_, true) && count == 0) return size_ == 0 ? DriveAction::done() : answer(bad);
    if (end == 0 && size_ == head_.size()) return answer(bad);
    if (end == 0) return DriveAction::read_some(std::span{head_}.subspan(size_));
    return answer(status_of(text.substr(0, end)));
  }

 private:
  static constexpr std::string_view good = "200 OK";
  static constexpr std::string_view bad = "400 Bad Request";
  static constexpr std::string_view no_such = "404 Not Found";
  static constexpr std::string_view not_allowed = "405 Method Not Allowed";

  /// Bytes of the head with the empty line that ends it; 0: it is not whole. A line may end without its carriage return.
  static auto head_end(std::string_view text) -> std::size_t {
    for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
      const std::string_view rest = text.substr(at + 1);
      if (rest.starts_with('\n')) return at + 2;
      if (rest.starts_with("\r\n")) return at + 3;
    }
    return 0;
  }

  [[nodiscard]] auto status_of(std::string_view head) const -> std::string_view {
    const std::string_view request = take_line(head);
    const std::size_t method_end = request.find(' ');
    if (method_end == std::string_view::npos || !is_token(request.substr(0, method_end))) return bad;
    const std::string_view rest = request.substr(method_end + 1);
    const std::size_t target_end = rest.find(' ');
    if (target_end == std::string_view::npos) return bad;
    const std::string_view target = rest.substr(0, target_end);
    if (!target.starts_with('/') || !std::all_of(target.begin(), target.end(), is_visible)) return bad;
    const std::string_view version = rest.substr(target_end + 1);
    if (version != "HTTP/1.1" && version != "HTTP/1.0") return bad;
    for (std::string_view field = take_line(head); !field.empty(); field = take_line(head))
      if (!is_field(field)) return bad;
    if (target.substr(0, target.find('?')) != page_.path) return no_such;
    return request.substr(0, method_end) == "GET" ? good : not_allowed;
  }

  static auto take_line(std::string_view& text) -> std::string_view {
    std::string_view line = detail::cut_before(text, '\n');
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }

  /// "Name: value"; a line that goes on with the one before is none.
  static auto is_field(std::string_view line) -> bool {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) return false;
    return std::none_of(line.begin(), line.end(),
                        [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; });
  }
  static auto is_token(std::string_view text) -> bool {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
      return is_visible(c) && std::string_view{"\"(),/:;<=>?@[\\]{}"}.find(c) == std::string_view::npos;
    });
  }
  static auto is_visible(char c) -> bool { return c > ' ' && c <= '~'; }

  auto answer(std::string_view status) -> DriveAction {
    if ((is_asked_ = status == good)) return DriveAction::done();
    write(status, std::string{status} + "\n");
    answered_ = true;
    return DriveAction::write(as_bytes(answer_));
  }

  void write(std::string_view status, std::string_view content) {
    answer_ = "HTTP/1.1 ";
    answer_.append(status).append("\r\nContent-Type: ");
    answer_.append(status == good ? std::string_view{page_.content_type} : "text/plain").append("\r\n");
    if (status == not_allowed) answer_.append("Allow: GET\r\n");
    answer_.append("Content-Length: ").append(std::to_string(content.size()));
    answer_.append("\r\nConnection: close\r\n\r\n").append(content);
  }

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
