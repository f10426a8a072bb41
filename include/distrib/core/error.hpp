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

/// The kind of a failure, the same for all rooms. Compare an error code with it to decide what to do:
/// `if (ec == failure::corrupt) ...`. Every value of a `<room>_errc` maps to one of these.
enum class failure {
  /// The caller's input is wrong. Correct the call, the flag or the file that the message names.
  invalid_argument = 1,
  not_found,  ///< The named thing does not exist. Check the name or the path in the message.
  corrupt,  ///< Stored or received bytes are damaged. Restore the file, or use the one before it.
  mismatch,  ///< Two processes or files do not match. The message names the first difference.
  /// The input is valid, but this build or version cannot handle it. The message says what it can handle.
  unsupported,
  exhausted,  ///< A limit or a budget was reached. Raise the limit that the message names.
  unavailable,  ///< The other end did not answer. Try again.
  timeout,  ///< A deadline passed. The message says which task did not answer.
  cancelled,  ///< The caller asked to stop.
  io,  ///< The operating system reported an error. The message contains its reason.
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

  // Codes of the operating system match too: a missing file is `not_found`, a cancelled operation `cancelled`, every
  // other code `io`.
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

/// One row of a room's error table: the value of the enum, the shared condition that it maps to, and its message.
struct ErrorText {
  template <class Code>
  constexpr ErrorText(Code code, failure belongs_to, const char* words) noexcept
      : value{static_cast<int>(code)}, condition{belongs_to}, text{words} {}

  int value;
  failure condition;
  const char* text;
};

/// The error category of one room. Reads messages and conditions from the room's table, which must outlive it.
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

/// Returns the category "distrib.failure" of the shared conditions.
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
/// A function that takes an `ErrorRef` fills it; its other overload throws it as a `ThrownError`.
struct Error {
  std::error_code code;  ///< What went wrong; empty: nothing.
  std::string where;  ///< The file, record, flag or task, as text; may be empty.

  /// True if this is a failure.
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(code); }
};

/// The exception of this library: a `std::system_error` whose text is "where: message of the code", and which carries
/// the `Error` itself. Catch `std::system_error`: that also covers what Asio and the standard library throw, and
/// `error_of` returns the `Error` of each of them.
class ThrownError : public std::system_error {
 public:
  /// Makes the exception for this failure. Copies its place.
  explicit ThrownError(const Error& error) : std::system_error{error.code, error.where}, where_{error.where} {}

  /// Returns the failure and its place.
  [[nodiscard]] auto error() const -> Error { return {code(), where_.what()}; }

 private:
  // Not a std::string: an exception must be copyable without throwing, and a runtime_error is.
  std::runtime_error where_;
};

/// Throws a `ThrownError` with this code and place.
[[noreturn]] inline void throw_error(const std::error_code& code, std::string_view where) {
  throw ThrownError{{code, std::string{where}}};
}

/// Returns the failure in `thrown`. A `std::system_error` that is no `ThrownError` stores no place; then the place is
/// its text without ": " and the code's message at the end.
[[nodiscard]] DISTRIB_DECL auto error_of(const std::system_error& thrown) -> Error;

/// Throws a `ThrownError` if `error` is a failure; otherwise does nothing.
inline void throw_if(const Error& error) {
  if (error) throw ThrownError{error};
}

/// Where a function reports a failure: the caller's `Error`, or only its `std::error_code` if the place does not matter
/// to the caller. Success clears it. A value, valid during the call.
///
/// A function that knows the place of its failures has two overloads: one throws, the other takes an `ErrorRef`. A
/// function that can report only a code takes a `std::error_code&` instead.
class ErrorRef {
 public:
  /// Refers to the variable that is to receive the failure. It must outlive the call that takes the `ErrorRef`.
  ErrorRef(Error& error) noexcept : error_{&error} {}  // NOLINT: implicit on purpose
  ErrorRef(std::error_code& code) noexcept : code_{&code} {}  // NOLINT: the same

  /// Reports `error`. An empty one reports success.
  void set(Error&& error) const noexcept {
    if (code_ != nullptr) *code_ = error.code;
    else *error_ = std::move(error);
  }

 private:
  Error* error_ = nullptr;
  std::error_code* code_ = nullptr;
};

namespace detail {

/// The `Error` that a function with an `ErrorRef` parameter works on. The destructor passes it to the caller, also when
/// an exception leaves the function. Not earlier: the function's arguments may refer to text in the caller's own
/// `Error`.
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

/// For the overload that throws: returns `value`, or throws if the call that made `value` has filled `error`.
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
