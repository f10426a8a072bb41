// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>

#include <algorithm>
#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Reads `name: value` pairs: the part of protobuf's text form that a CheckpointState needs.
class TextFields {
 public:
  explicit TextFields(std::string_view text) : rest_{text} {}

  [[nodiscard]] auto at_end() -> bool {
    skip();
    return rest_.empty();
  }

  /// Reads a name and the colon after it. Returns false if one of them is missing.
  [[nodiscard]] DISTRIB_DECL auto name(std::string& name) -> bool;

  /// Reads a text in double or single quotes; several texts in a row are joined. Returns false if there is none, or it
  /// is not valid.
  [[nodiscard]] DISTRIB_DECL auto text(std::string& value) -> bool;

  /// Reads a number. Returns false if there is none.
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

  // Skips white space, separators between fields, and comments.
  void skip() {
    while (!rest_.empty()) {
      if (rest_.front() == '#') rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
      else if (std::string_view{" \t\r\n,;"}.find(rest_.front()) != std::string_view::npos) rest_.remove_prefix(1);
      else return;
    }
  }

  // Reads what follows a backslash.
  DISTRIB_DECL auto escaped(std::string& value) -> bool;

  std::string_view rest_;
};

/// Returns `text` in double quotes; bytes that are not printable ASCII become a backslash and three octal digits.
DISTRIB_DECL auto quoted(std::string_view text) -> std::string;

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/detail/impl/text_form.ipp>
#endif
