// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {

/// Why a call or a connection failed. All but `not_ours`..`protocol` and `unauthorized` leave the connection as it is.
enum class rpc_errc {
  not_ours = 1,         ///< What arrived is no frame of ours: another program speaks there. Check address and port.
  corrupt,              ///< A frame does not match its checksum. Look for a broken network card or middlebox.
  unsupported_version,  ///< The peer speaks no version of the protocol that we speak. Build both of one release.
  too_large,            ///< A frame is longer than the limit of this end. Raise `FrameLimits`, or send less at once.
  protocol,  ///< A frame came that has no place there. Build both ends of one release; report it otherwise.
  silent,  ///< The peer was not heard of for its time limit. Look whether its machine and network live.
  lost,  ///< The connection ended before the answer came; the call may have been carried out. Retry.
  closed,  ///< The call was made on a connection that had ended, or the peer takes no more. Connect anew.
  deadline_passed,  ///< No answer came in time. Retry with more time, or look at what the peer is waiting for.
  cancelled,  ///< The caller took the call back.
  exhausted,  ///< As many calls as allowed are in flight. Wait for answers, or raise the options' limit.
  unknown_method,  ///< The peer has no such method. Build both of one release; check which server was asked.
  bad_message,  ///< A request or reply does not decode as its method says. Build both ends of one release.
  unknown_service,  ///< The greeting asked for a service that the server has not. Check the number of shards.
  not_sent,  ///< The connection ended before the call was sent: it was not carried out. Retry.
  unauthorized,  ///< The ends have not the same shared secret. Give all tasks of the job the same, or none.
  bad_secret,  ///< A shared secret has 16 bytes to 4 KiB. Make one: head -c 32 /dev/urandom | base64 > FILE.
  secret_exposed,  ///< Everybody may read or write the file with the shared secret. Run chmod 600 FILE.
  no_secret,  ///< The environment variable of the shared secret is not set. Set it, or check its name.
};

namespace detail {

inline constexpr ErrorText rpc_texts[] = {
    {rpc_errc::not_ours, failure::corrupt, "the peer does not speak this protocol"},
    {rpc_errc::corrupt, failure::corrupt, "a frame does not match its checksum"},
    {rpc_errc::unsupported_version, failure::unsupported, "the peer speaks another version"},
    {rpc_errc::too_large, failure::exhausted, "a frame is larger than the limit"},
    {rpc_errc::protocol, failure::corrupt, "a frame came that has no place there"},
    {rpc_errc::silent, failure::timeout, "the peer was not heard of for too long"},
    {rpc_errc::lost, failure::unavailable, "the connection was lost"},
    {rpc_errc::closed, failure::unavailable, "the connection is closed"},
    {rpc_errc::deadline_passed, failure::timeout, "no answer came before the deadline"},
    {rpc_errc::cancelled, failure::cancelled, "the call was cancelled"},
    {rpc_errc::exhausted, failure::exhausted, "too many calls are in flight"},
    {rpc_errc::unknown_method, failure::unsupported, "the server has no such method"},
    {rpc_errc::bad_message, failure::corrupt, "the message does not decode"},
    {rpc_errc::unknown_service, failure::not_found, "the server has no such service"},
    {rpc_errc::not_sent, failure::unavailable, "the connection ended before the call was sent"},
    {rpc_errc::unauthorized, failure::mismatch, "the ends have not the same shared secret"},
    {rpc_errc::bad_secret, failure::invalid_argument,
     "a shared secret must have 16 bytes to 4 KiB, in a regular file if in any"},
    {rpc_errc::secret_exposed, failure::invalid_argument,
     "everybody may read or write the shared secret; run chmod 600"},
    {rpc_errc::no_secret, failure::not_found, "no environment variable with the shared secret"},
};

/// Category "distrib.rpc".
[[nodiscard]] inline auto rpc_category() noexcept -> const std::error_category& {
  static const TableCategory category{"distrib.rpc", rpc_texts};
  return category;
}

}  // namespace detail

[[nodiscard]] inline auto make_error_code(rpc_errc value) noexcept -> std::error_code {
  return {static_cast<int>(value), detail::rpc_category()};
}

}  // namespace v0
}  // namespace distrib

template <> struct std::is_error_code_enum<distrib::rpc_errc> : std::true_type {};
