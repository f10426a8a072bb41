// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/rpc/error.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The attempts at one call. If an attempt may have been carried out and a later attempt was not, the call fails with
/// the code of the earlier attempt: otherwise the caller would believe that the call was not carried out at all.
class CallAttempts {
 public:
  /// Counts an attempt that begins; returns its number, from 1.
  auto begun() noexcept -> unsigned { return ++count_; }
  /// Returns the number of attempts.
  [[nodiscard]] auto count() const noexcept -> unsigned { return count_; }

  /// Counts the end of an attempt. Returns the code for the caller if no further attempt follows.
  [[nodiscard]] auto ended(const std::error_code& code) noexcept -> std::error_code {
    if (!perhaps_ && (code == rpc_errc::lost || code == rpc_errc::silent)) perhaps_ = code;
    const bool says_no = code == rpc_errc::not_sent || code == rpc_errc::closed || code == rpc_errc::exhausted ||
                         code == rpc_errc::unknown_method;
    return says_no && perhaps_ ? perhaps_ : code;
  }

  /// Returns the code for the caller if the next attempt was not begun, for the reason `code`.
  [[nodiscard]] auto given_up(const std::error_code& code) const noexcept -> std::error_code {
    const bool says_nothing = code == rpc_errc::deadline_passed || code == rpc_errc::cancelled;
    return !says_nothing && perhaps_ ? perhaps_ : code;
  }

 private:
  unsigned count_ = 0;
  std::error_code perhaps_;  // the code of the first attempt that may have been carried out
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
