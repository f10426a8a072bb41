// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>

#include <algorithm>
#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Reads `name: value` pairs, as much of protobuf's text form as a CheckpointState can hold.
class TextFields {
 public:
  explicit TextFields(std::string_view text) : rest_{text} {}

  [[nodiscard]] auto at_end() -> bool {
    skip();
    return rest_.empty();
  }

  [[nodiscard]] DISTRIB_DECL auto name(std::string& name) -> bool;

  /// One text, or several that follow each other, in double or single quotes.
  [[nodiscard]] DISTRIB_DECL auto text(std::string& value) -> bool;

  [[nodiscard]] DISTRIB_DECL auto number(double& value) -> bool;

 private:
  static auto is_word(char c) -> bool {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }

  auto take() -> char {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  // White space, separators between fields, and comments.
  void skip() {
    while (!rest_.empty()) {
      if (rest_.front() == '#') rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
      else if (std::string_view{" \t\r\n,;"}.find(rest_.front()) != std::string_view::npos) rest_.remove_prefix(1);
      else return;
    }
  }

  DISTRIB_DECL auto escaped(std::string& value) -> bool;

  std::string_view rest_;
};

/// `text` in double quotes; what is not printable ASCII in three octal digits.
DISTRIB_DECL auto quoted(std::string_view text) -> std::string;

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/detail/impl/text_form.ipp>
#endif
