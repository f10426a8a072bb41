// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/rpc/error.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The attempts at one call. One that may have been carried out outweighs those after it that were not: what the caller
/// hears must not say then that nothing was.
class CallAttempts {
 public:
  /// One more; returns which it is.
  auto begun() noexcept -> unsigned { return ++count_; }
  [[nodiscard]] auto count() const noexcept -> unsigned { return count_; }

  /// What the caller hears if there is none after one that ended like this.
  [[nodiscard]] auto ended(const std::error_code& code) noexcept -> std::error_code {
    if (!perhaps_ && (code == rpc_errc::lost || code == rpc_errc::silent)) perhaps_ = code;
    const bool says_no = code == rpc_errc::not_sent || code == rpc_errc::closed || code == rpc_errc::exhausted ||
                         code == rpc_errc::unknown_method;
    return says_no && perhaps_ ? perhaps_ : code;
  }

  /// The same, where the next one was not even begun, for this reason.
  [[nodiscard]] auto given_up(const std::error_code& code) const noexcept -> std::error_code {
    const bool says_nothing = code == rpc_errc::deadline_passed || code == rpc_errc::cancelled;
    return !says_nothing && perhaps_ ? perhaps_ : code;
  }

 private:
  unsigned count_ = 0;
  std::error_code perhaps_;  // how the first one ended that may have been carried out
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
