// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace distrib {
inline namespace v0 {

/// The proxies of a process, in the form of the environment variables https_proxy, http_proxy and no_proxy. Empty: no
/// proxy. A value.
struct HttpProxies {
  std::string https =
      {};  ///< For https URLs: "http://[USER:PASSWORD@]HOST:PORT". The connection is a tunnel (CONNECT).
  std::string http = {};  ///< For http URLs, in the same form. The proxy sees the requests.
  /// Hosts without a proxy, separated by commas or spaces. "example.com" and ".example.com" also stand for all names
  /// that end in ".example.com"; "10.0.0.0/8" stands for IPv4 addresses, "*" for all hosts. A ":PORT" at the end
  /// restricts an entry to this port.
  std::string none = {};
};

/// How long a client waits, which certificates it trusts, and which proxies it uses. Host names are resolved by the
/// operating system, which has its own timeouts. A time of more than 24 days counts as 24 days.
struct HttpOptions {
  std::chrono::milliseconds connect_timeout{10'000};  ///< Limit for opening a connection.
  std::chrono::milliseconds idle_timeout{30'000};  ///< Longest wait for the next byte, in either direction.
  /// Limit for a request and its whole answer. Over TLS with cpp-httplib 0.12 to 0.18: only while a body arrives.
  std::chrono::milliseconds timeout{300'000};
  /// File of PEM certificates of the authorities that sign the certificates of https servers. Empty: those of the
  /// operating system.
  std::string authority = {};
  HttpProxies proxies = {};  ///< Proxies. The environment is not read: the maker of the options may do that.
};

/// How often a request is tried, and the pauses between attempts, which double.
struct HttpRetryOptions {
  std::size_t attempts = 8;  ///< Failed attempts in a row after which the request fails. 0 counts as 1.
  std::chrono::milliseconds first_pause{100};  ///< Pause after the first failed attempt.
  std::chrono::milliseconds longest_pause{5000};  ///< Longest pause.
  /// If at least this many bytes have arrived in an attempt that failed, it counts as the first failed attempt again.
  /// Trap: with 0 every attempt does, so that the request is tried without end.
  std::uint64_t progress_bytes = 1 << 20;
};

}  // namespace v0
}  // namespace distrib
