// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

/// What kind of failure an error of any room is. Compare an error code with it to decide what to do:
/// `if (ec == failure::corrupt) ...`. Every `<room>_errc` maps to one of these.
enum class failure {
  invalid_argument = 1,  ///< The caller's input is wrong. Mend the call, the flag or the file that was named.
  not_found,             ///< What was named does not exist. Check the name or the path in the message.
  corrupt,               ///< Stored or received bytes are damaged. Restore the file, or use the one before it.
  mismatch,              ///< Two parties or files disagree. The message names the first difference.
  unsupported,           ///< Valid, but this build or version cannot do it. The message says what can.
  exhausted,             ///< A limit or a budget was reached. Raise the limit that the message names.
  unavailable,           ///< Nobody answered. Worth a retry.
  timeout,               ///< A deadline passed. The message says who was waited for.
  cancelled,             ///< The caller asked to stop.
  io,                    ///< The operating system refused. The message carries its reason.
};

namespace detail {

struct FailureCategory final : std::error_category {
  auto name() const noexcept -> const char* override { return "distrib.failure"; }
  auto message(int value) const -> std::string override {
    switch (static_cast<failure>(value)) {
      case failure::invalid_argument: return "invalid argument";
      case failure::not_found: return "not found";
      case failure::corrupt: return "corrupt";
      case failure::mismatch: return "mismatch";
      case failure::unsupported: return "unsupported";
      case failure::exhausted: return "limit reached";
      case failure::unavailable: return "unavailable";
      case failure::timeout: return "deadline passed";
      case failure::cancelled: return "cancelled";
      case failure::io: return "input or output failed";
    }
    return "unknown failure";
  }

  // What the operating system says belongs here too: a missing file is `not_found`, an operation that was taken back
  // `cancelled`, everything else `io`.
  auto equivalent(const std::error_code& code, int condition) const noexcept -> bool override {
    if (std::error_category::equivalent(code, condition)) return true;
    const bool is_systems = code.category() == std::generic_category() || code.category() == std::system_category();
    if (!code || !is_systems) return false;
    failure what = failure::io;
    if (code == std::errc::no_such_file_or_directory) what = failure::not_found;
    if (code == std::errc::operation_canceled) what = failure::cancelled;
    return static_cast<failure>(condition) == what;
  }
};

/// One row of a room's error table: the enum's value, the shared condition it belongs to, what went wrong in words.
struct ErrorText {
  template <class Code>
  constexpr ErrorText(Code code, failure belongs_to, const char* words) noexcept
      : value{static_cast<int>(code)}, condition{belongs_to}, text{words} {}

  int value;
  failure condition;
  const char* text;
};

/// The category of one room, read from its table.
class TableCategory final : public std::error_category {
 public:
  template <std::size_t N>
  constexpr TableCategory(const char* name, const ErrorText (&table)[N]) noexcept
      : name_{name}, begin_{table}, end_{table + N} {}

  auto name() const noexcept -> const char* override { return name_; }

  auto message(int value) const -> std::string override {
    for (const ErrorText* row = begin_; row != end_; ++row)
      if (row->value == value) return row->text;
    return "unknown error";
  }

  auto default_error_condition(int value) const noexcept -> std::error_condition override;

 private:
  const char* name_;
  const ErrorText* begin_;
  const ErrorText* end_;
};

}  // namespace detail

/// Category "distrib.failure", of the shared conditions.
[[nodiscard]] inline auto failure_category() noexcept -> const std::error_category& {
  static const detail::FailureCategory category;
  return category;
}

[[nodiscard]] inline auto make_error_condition(failure value) noexcept -> std::error_condition {
  return {static_cast<int>(value), failure_category()};
}

inline auto detail::TableCategory::default_error_condition(int value) const noexcept -> std::error_condition {
  for (const ErrorText* row = begin_; row != end_; ++row)
    if (row->value == value) return make_error_condition(row->condition);
  return {value, *this};
}

/// A failure and the place where it happened (file, offset, record, flag, task). Empty code: no failure.
///
/// Functions that do the work fill one; the throwing face turns it into a `ThrownError`.
struct Error {
  std::error_code code;
  std::string where;

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(code); }
};

/// What this library throws: a `std::system_error` whose text is "where: message of the code", and which carries the
/// `Error` itself.
class ThrownError : public std::system_error {
 public:
  explicit ThrownError(const Error& error) : std::system_error{error.code, error.where}, where_{error.where} {}

  /// The failure and its place.
  [[nodiscard]] auto error() const -> Error { return {code(), where_.what()}; }

 private:
  std::runtime_error where_;  // a text whose copies do not throw, as copies of an exception must not
};

/// Throws a `ThrownError`.
[[noreturn]] inline void throw_error(const std::error_code& code, std::string_view where) {
  throw ThrownError{{code, std::string{where}}};
}

/// The failure that was thrown. A `std::system_error` that is no `ThrownError` has no place of its own: its text without
/// the reason at the end is taken for the place.
[[nodiscard]] DISTRIB_DECL auto error_of(const std::system_error& thrown) -> Error;

/// Throws when `error` holds a failure.
inline void throw_if(const Error& error) {
  if (error) throw ThrownError{error};
}

/// Where a function reports a failure: the caller's `Error`, or the caller's `std::error_code` where the place does not
/// matter. Success clears it. A value, valid during the call.
///
/// A function that knows the place of its failures has two faces: one throws, the other takes an `ErrorRef`. A function
/// that has only a code to report takes a `std::error_code&` instead.
class ErrorRef {
 public:
  ErrorRef(Error& error) noexcept : error_{&error} {}  // NOLINT: implicit on purpose
  ErrorRef(std::error_code& code) noexcept : code_{&code} {}  // NOLINT: the same

  /// Reports `error`; an empty one is success.
  void set(Error&& error) const noexcept {
    if (code_ != nullptr) *code_ = error.code;
    else *error_ = std::move(error);
  }

 private:
  Error* error_ = nullptr;
  std::error_code* code_ = nullptr;
};

namespace detail {

/// The `Error` of a function that takes an `ErrorRef`. The caller gets it when the function returns, also by an
/// exception, and not before: arguments may lie in the `Error` that the caller passed.
class ErrorOut : public Error {
 public:
  explicit ErrorOut(ErrorRef to) noexcept : to_{to} {}
  ErrorOut(const ErrorOut&) = delete;
  auto operator=(const ErrorOut&) -> ErrorOut& = delete;
  using Error::operator=;
  ~ErrorOut() { to_.set(std::move(*this)); }

 private:
  ErrorRef to_;
};

/// What the throwing face returns: `value`, unless making it has filled `error`.
template <class T> [[nodiscard]] auto or_throw(T value, const Error& error) -> T {
  throw_if(error);
  return value;
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib

template <> struct std::is_error_condition_enum<distrib::failure> : std::true_type {};

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/core/impl/error.ipp>
#endif
