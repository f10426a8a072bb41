// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/ps/cut/cut_object.hpp>
#include <distrib/ps/wire/ask_shard.hpp>
#include <distrib/record/any_object_store.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// How the shards of a ps task reach object stores, and who they are for other processes that claim them. A value.
///
/// The functions are called on the thread of files, and may block.
struct ObjectAccess {
  OpenObjectStore open = {};  ///< Empty: no directory may be a URL.
  ClaimOwner owner = {};
  std::uint64_t nonce = 0;  ///< Random, another one for each process; 0: none.
  /// Returns true if the process that has this nonce answers at the address of `owner`. Empty: never.
  std::function<bool(const ClaimOwner& owner, std::uint64_t nonce)> answers = {};
  /// Waits for this time, or until the task is to end; then returns false. Empty: returns false.
  std::function<bool(std::chrono::milliseconds time)> pause = {};
  /// Receives a sentence for the observer: the store does not answer, or something failed that may be done later.
  std::function<void(const std::string& text)> tell = {};
};

/// True if a request to a store may succeed later: it did not answer, or is overloaded.
[[nodiscard]] inline auto may_pass(const std::error_code& code) noexcept -> bool {
  return code == failure::unavailable || code == failure::timeout;
}

/// Returns what claims of this process say. `address`: where it answers; empty: nowhere.
[[nodiscard]] DISTRIB_DECL auto this_process(std::string task, std::string address) -> ClaimOwner;

/// True if the process of a claim answers at its address, and is the one with this nonce. Blocks, see `AskOptions`.
///
/// Threads: any.
[[nodiscard]] DISTRIB_DECL auto still_answers(const ClaimOwner& owner, std::uint64_t nonce, const AskOptions& how)
    -> bool;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/cut/impl/object_access.ipp>
#endif
