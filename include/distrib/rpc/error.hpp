// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {

/// Why a call or a connection failed.
///
/// These codes end the connection: `not_ours`, `corrupt`, `unsupported_version`, `protocol`, `silent`,
/// `unknown_service`, `unauthorized`, and `too_large` for a frame that was received. `lost` and `not_sent` mean that
/// the connection has ended. `closed` means that, or that one end accepts no more calls. `bad_secret`, `secret_exposed`
/// and `no_secret` report a secret that cannot be used; no connection is involved. All other codes end only one call,
/// and so do `too_large` for a call, answer or item that was not sent, and `protocol` for an answer of another kind
/// than the method has.
enum class rpc_errc {
  /// The received bytes are not a frame of this protocol: another program uses this port. Check address and port.
  not_ours = 1,
  /// A frame does not match its checksum. Look for a faulty network card, or a device on the way that changes data.
  corrupt,
  /// The peer supports none of the protocol versions of this end. Build both ends from the same release.
  unsupported_version,
  /// A frame is larger than its receiver accepts. Raise the receiver's `FrameLimits`, or send less at once.
  too_large,
  /// A frame arrived that is not allowed here. Build both ends from the same release; if they are, report a bug.
  protocol,
  /// The peer sent nothing, or did not finish a frame, within the time limit. Check its machine and the network.
  silent,
  /// The connection ended before the answer arrived; the call may have been carried out. Repeat it if running it twice
  /// does no harm.
  lost,
  /// The connection had ended before the call, or one end accepts no more calls; the call was not carried out. Connect
  /// again.
  closed,
  /// No answer arrived before the deadline; the call may have been carried out. Allow more time, or find out what the
  /// server waits for.
  deadline_passed,
  cancelled,  ///< The caller cancelled the call; it may have been carried out. Nothing to do.
  /// A limit of calls, or of bytes that wait to be written, is reached; the call was not carried out. Wait for answers,
  /// or raise the limit in the options of client and server.
  exhausted,
  /// The server has no such method. Build both ends from the same release, and check the server's address.
  unknown_method,
  /// A request, reply or item cannot be decoded as its method requires. Build both ends from the same release.
  bad_message,
  /// The client asked for a service that the server does not have; for a parameter server, for a shard. Start all tasks
  /// of a job with the same number of shards, or ask for a service below `RpcServerOptions::services`.
  unknown_service,
  not_sent,  ///< The connection ended before the call was sent; it was not carried out. Retry.
  /// Client and server do not have the same shared secret. Give every task of the job the same one, or none.
  unauthorized,
  bad_secret,  ///< A shared secret must have 16 bytes to 4 KiB. Make one: head -c 32 /dev/urandom | base64 > FILE.
  secret_exposed,  ///< All users may read or write the file with the shared secret. Run chmod 600 FILE.
  no_secret,  ///< The environment variable with the shared secret is not set. Set it, or correct its name.
};

namespace detail {

inline constexpr ErrorText rpc_texts[] = {
    {rpc_errc::not_ours, failure::corrupt, "the peer does not speak this protocol: check address and port"},
    {rpc_errc::corrupt, failure::corrupt,
     "a frame does not match its checksum: a network card, or a device on the way, may have changed it; check them"},
    {rpc_errc::unsupported_version, failure::unsupported,
     "the peer supports no protocol version of this end: build both from the same release"},
    {rpc_errc::too_large, failure::exhausted,
     "a frame is larger than its receiver accepts: raise the receiver's limits, or send less at once"},
    {rpc_errc::protocol, failure::corrupt,
     "a frame that is not allowed arrived: build both ends from the same release"},
    {rpc_errc::silent, failure::timeout,
     "the peer sent nothing, or did not finish a frame, in time: check its machine and the network"},
    {rpc_errc::lost, failure::unavailable, "the connection was lost"},
    {rpc_errc::closed, failure::unavailable, "the connection is closed: connect again"},
    {rpc_errc::deadline_passed, failure::timeout,
     "no answer arrived before the deadline: allow more time, or find out what the server waits for"},
    {rpc_errc::cancelled, failure::cancelled, "the call was cancelled"},
    {rpc_errc::exhausted, failure::exhausted,
     "too many calls are in flight, or too many bytes wait to be written: wait for answers, or raise the limit"},
    {rpc_errc::unknown_method, failure::unsupported,
     "the server has no such method: build both ends from the same release"},
    {rpc_errc::bad_message, failure::corrupt, "the message cannot be decoded: build both ends from the same release"},
    {rpc_errc::unknown_service, failure::not_found,
     "the server has no such service: for a shard, start all tasks of the job with the same number of shards; "
     "otherwise ask for a service below RpcServerOptions::services"},
    {rpc_errc::not_sent, failure::unavailable,
     "the connection ended before the call was sent: the call was not carried out, so repeat it"},
    {rpc_errc::unauthorized, failure::mismatch,
     "client and server do not have the same shared secret: give every task of the job the same one, or none"},
    {rpc_errc::bad_secret, failure::invalid_argument,
     "a shared secret must have 16 bytes to 4 KiB; if it is in a file, that must be a regular file"},
    {rpc_errc::secret_exposed, failure::invalid_argument,
     "all users may read or write the file with the shared secret: run chmod 600 on it"},
    {rpc_errc::no_secret, failure::not_found,
     "the environment variable with the shared secret is not set: set it, or correct its name"},
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
