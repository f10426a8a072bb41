// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/page_core.hpp>

#include <distrib/core/bytes.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto PageCore::next(const std::error_code& ec, std::size_t count) -> DriveAction {
  if (ec || asked_) return DriveAction::done(ec);
  if (!answer_.empty())
    return std::exchange(answered_, true) ? DriveAction::done() : DriveAction::write(as_bytes(answer_));
  size_ += count;
  const std::string_view text = as_text(ByteView{head_}.first(size_));
  const std::size_t end = head_end(text);
  if (end == 0 && std::exchange(begun_, true) && count == 0) return size_ == 0 ? DriveAction::done() : refuse(bad);
  if (end == 0 && size_ == head_.size()) return refuse(bad);
  if (end == 0) return DriveAction::read_some(std::span{head_}.subspan(size_));
  return answer(text.substr(0, end));
}

DISTRIB_DECL auto PageCore::head_end(std::string_view text) -> std::size_t {
  for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
    const std::string_view rest = text.substr(at + 1);
    if (rest.starts_with('\n')) return at + 2;
    if (rest.starts_with("\r\n")) return at + 3;
  }
  return 0;
}

DISTRIB_DECL auto PageCore::status_of(std::string_view head, std::size_t& page) const -> std::string_view {
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
  const std::string_view path = target.substr(0, target.find('?'));
  const auto found = std::find_if(pages_.begin(), pages_.end(), [&](const Page& one) { return one.path == path; });
  if (found == pages_.end()) return no_such;
  page = static_cast<std::size_t>(found - pages_.begin());
  return request.substr(0, method_end) == "GET" ? good : not_allowed;
}

DISTRIB_DECL auto PageCore::is_field(std::string_view line) -> bool {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) return false;
  return std::none_of(line.begin(), line.end(),
                      [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; });
}

DISTRIB_DECL auto PageCore::answer(std::string_view head) -> DriveAction {
  std::size_t page = 0;
  const std::string_view status = status_of(head, page);
  if (status != good) return refuse(status);
  asked_ = page;
  return DriveAction::done();
}

DISTRIB_DECL auto PageCore::refuse(std::string_view status) -> DriveAction {
  write(status, "text/plain", std::string{status} + "\n");
  answered_ = true;
  return DriveAction::write(as_bytes(answer_));
}

DISTRIB_DECL void PageCore::write(std::string_view status, std::string_view type, std::string_view content) {
  answer_ = "HTTP/1.1 ";
  answer_.append(status).append("\r\nContent-Type: ").append(type).append("\r\n");
  if (status == not_allowed) answer_.append("Allow: GET\r\n");
  answer_.append("Content-Length: ").append(std::to_string(content.size()));
  answer_.append("\r\nConnection: close\r\n\r\n").append(content);
}

}  // namespace v0
}  // namespace distrib
