// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in any facade.
#pragma once

#include <distrib/core/shortest_text.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// A kind of token, as `XmlReader::next` returns it.
enum class XmlToken : std::uint8_t {
  begin,  ///< The beginning of an element; `name()` is its name.
  end,  ///< The end of the element that began last and has not ended.
  text,  ///< Characters between tags; `text()` returns them.
  done,  ///< The end of the document, which was one complete element.
  error,  ///< The text is not XML, or uses what is not read here. All later calls of `next` return it too.
};

/// Reads an XML document token by token: what object stores answer, and no more. Names are without namespace prefix;
/// attributes, comments and processing instructions are skipped. Document types are refused, and so are all entities
/// but
/// the five of XML and numbers: nothing expands, so memory is bounded by the text. At most 16 levels of nesting.
///
/// A view: the text must outlive the reader. Never throws except `std::bad_alloc`.
///
/// Threads: one at a time.
class XmlReader {
 public:
  static constexpr std::size_t max_depth = 16;

  explicit XmlReader(std::string_view text) noexcept : rest_{text} {
    if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);
  }

  /// Goes to the next token and returns it.
  auto next() -> XmlToken {
    if (token_ == XmlToken::error || token_ == XmlToken::done) return token_;
    if (ends_) {  // the second half of <name/>
      ends_ = false;
      --depth_;
      return token_ = XmlToken::end;
    }
    return token_ = read();
  }

  /// Returns the name of the element at which the last `begin` or `end` was found.
  [[nodiscard]] auto name() const noexcept -> std::string_view { return name_; }
  /// Returns the characters of the last `text`, with entities replaced.
  [[nodiscard]] auto text() const noexcept -> const std::string& { return text_; }
  /// Returns the result of the last `next`.
  [[nodiscard]] auto token() const noexcept -> XmlToken { return token_; }

  /// After `begin`: reads to the end of that element, and returns its text without the text of elements in it.
  auto element_text() -> std::string {
    std::string all;
    const std::size_t outside = depth_ - 1;
    while (next() != XmlToken::error && token_ != XmlToken::done) {
      if (token_ == XmlToken::text && depth_ == outside + 1) all += text_;
      if (token_ == XmlToken::end && depth_ == outside) break;
    }
    return all;
  }

  /// After `begin`: goes to the end of that element.
  void skip() { static_cast<void>(element_text()); }

  /// After `begin`: calls `child(name)` at the beginning of each element in this element. `child` must read that
  /// element or skip it. Returns false if the text is not XML.
  template <class F> auto for_each_child(F child) -> bool {
    while (next() != XmlToken::end) {
      if (token_ == XmlToken::error || token_ == XmlToken::done) return false;
      if (token_ != XmlToken::begin) continue;
      child(std::string_view{name_});
      if (token_ == XmlToken::error) return false;
    }
    return true;
  }

 private:
  static auto is_blank(char c) noexcept -> bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

  auto read() -> XmlToken {
    while (true) {
      if (rest_.empty()) return depth_ == 0 && seen_root_ ? XmlToken::done : XmlToken::error;
      if (rest_.front() != '<' || rest_.starts_with("<![CDATA[")) {
        if (!read_text()) return XmlToken::error;
        if (depth_ != 0 && !text_.empty()) return XmlToken::text;
        if (text_.find_first_not_of(" \t\r\n") != std::string::npos) return XmlToken::error;
        continue;
      }
      if (rest_.starts_with("<?")) {
        if (!skip_to("?>")) return XmlToken::error;
      } else if (rest_.starts_with("<!--")) {
        if (!skip_to("-->")) return XmlToken::error;
      } else if (rest_.starts_with("</")) {
        return read_end();
      } else {
        return read_begin();  // <!DOCTYPE fails there: "!" begins no name
      }
    }
  }

  auto skip_to(std::string_view end) -> bool {
    const std::size_t at = rest_.find(end);
    if (at == std::string_view::npos) return false;
    rest_.remove_prefix(at + end.size());
    return true;
  }

  /// Reads text up to the next tag, or one CDATA section.
  auto read_text() -> bool {
    text_.clear();
    if (rest_.starts_with("<![CDATA[")) {
      const std::size_t end = rest_.find("]]>");
      if (end == std::string_view::npos || depth_ == 0) return false;
      text_ = rest_.substr(9, end - 9);
      rest_.remove_prefix(end + 3);
      return true;
    }
    std::string_view plain = rest_.substr(0, rest_.find('<'));
    rest_.remove_prefix(plain.size());
    while (!plain.empty()) {
      const std::size_t amp = plain.find('&');
      text_ += plain.substr(0, amp);
      if (amp == std::string_view::npos) break;
      plain.remove_prefix(amp + 1);
      const std::size_t end = plain.find(';');
      if (end == std::string_view::npos || !append_entity(plain.substr(0, end))) return false;
      plain.remove_prefix(end + 1);
    }
    return true;
  }

  auto append_entity(std::string_view entity) -> bool {
    if (entity == "amp") text_ += '&';
    else if (entity == "lt") text_ += '<';
    else if (entity == "gt") text_ += '>';
    else if (entity == "quot") text_ += '"';
    else if (entity == "apos") text_ += '\'';
    else if (entity.starts_with("#x"))
      return append_character(detail::parse_whole<std::uint32_t>(entity.substr(2), 16));
    else if (entity.starts_with('#')) return append_character(detail::parse_whole<std::uint32_t>(entity.substr(1)));
    else return false;
    return true;
  }

  auto append_character(std::optional<std::uint32_t> code) -> bool {
    if (!code || *code == 0 || *code > 0x10FFFF || (*code >= 0xD800 && *code < 0xE000)) return false;
    const std::uint32_t c = *code;
    const auto add = [this](std::uint32_t byte) { text_ += static_cast<char>(byte); };
    if (c < 0x80) {
      add(c);
    } else if (c < 0x800) {
      add(0xC0 | c >> 6);
      add(0x80 | (c & 63));
    } else if (c < 0x10000) {
      add(0xE0 | c >> 12);
      add(0x80 | (c >> 6 & 63));
      add(0x80 | (c & 63));
    } else {
      add(0xF0 | c >> 18);
      add(0x80 | (c >> 12 & 63));
      add(0x80 | (c >> 6 & 63));
      add(0x80 | (c & 63));
    }
    return true;
  }

  /// Reads a name and removes its namespace prefix.
  auto read_name() -> bool {
    std::size_t end = 0;
    while (end < rest_.size() && !is_blank(rest_[end]) && rest_[end] != '>' && rest_[end] != '/' && rest_[end] != '=')
      ++end;
    name_ = rest_.substr(0, end);
    rest_.remove_prefix(end);
    if (const std::size_t colon = name_.rfind(':'); colon != std::string_view::npos) name_.remove_prefix(colon + 1);
    return !name_.empty() && name_.find_first_of("!?<&\"'") == std::string_view::npos;
  }

  auto read_begin() -> XmlToken {
    rest_.remove_prefix(1);
    if (!read_name() || depth_ == max_depth || (depth_ == 0 && seen_root_)) return XmlToken::error;
    while (true) {
      while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
      if (rest_.starts_with('>')) {
        rest_.remove_prefix(1);
        break;
      }
      if (rest_.starts_with("/>")) {
        rest_.remove_prefix(2);
        ends_ = true;
        break;
      }
      if (!skip_attribute()) return XmlToken::error;
    }
    names_[depth_++] = name_;
    seen_root_ = true;
    return XmlToken::begin;
  }

  auto skip_attribute() -> bool {
    const std::size_t equals = rest_.find('=');
    if (equals == 0 || equals == std::string_view::npos) return false;
    if (rest_.substr(0, equals).find_first_of("<>/&\"'") != std::string_view::npos) return false;
    rest_.remove_prefix(equals + 1);
    while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
    if (!rest_.starts_with('"') && !rest_.starts_with('\'')) return false;
    const std::size_t end = rest_.find(rest_.front(), 1);
    if (end == std::string_view::npos) return false;
    rest_.remove_prefix(end + 1);
    return true;
  }

  auto read_end() -> XmlToken {
    rest_.remove_prefix(2);
    if (!read_name() || depth_ == 0 || names_[depth_ - 1] != name_) return XmlToken::error;
    while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
    if (!rest_.starts_with('>')) return XmlToken::error;
    rest_.remove_prefix(1);
    --depth_;
    return XmlToken::end;
  }

  std::string_view rest_;
  std::string_view name_;
  std::string_view names_[max_depth] = {};
  std::string text_;
  std::size_t depth_ = 0;
  XmlToken token_ = XmlToken::end;
  bool seen_root_ = false;
  bool ends_ = false;
};

}  // namespace v0
}  // namespace distrib
