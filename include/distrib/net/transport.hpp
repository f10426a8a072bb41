// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Bytes that both ends of one secure connection know, and that no other connection has (RFC 9266). All zeros: the
/// connection is plain.
using ChannelBinding = std::array<std::byte, 32>;

/// What one end of a connection does to its bytes above the socket: encryption. It knows neither threads nor time: its
/// owner waits for the socket.
///
/// `socket` is the file descriptor of the connected, non-blocking socket, the same in all calls.
///
/// Threads: one at a time; a layer may move to another thread between two calls.
class SecureLayer {
 public:
  /// What a handshake waits for.
  enum class Wait { none, read, write };

  virtual ~SecureLayer() = default;

  /// Continues the handshake as far as the socket allows. Returns what to wait for before the next call; `none`: the
  /// handshake is over, or has failed with `error`. What the peer must be told about a failure has been sent.
  [[nodiscard]] virtual auto handshake(int socket, Error& error) -> Wait = 0;

  /// Reads bytes that have arrived into `front`, then `back`, without waiting, and returns their number. Sets `ec` if
  /// there are none: to `asio::error::would_block`; to `asio::error::eof` at the peer's end; to `net_errc::truncated`
  /// if the connection ended before that; to the reason that the peer gave.
  [[nodiscard]] virtual auto read(int socket, std::span<std::byte> front, std::span<std::byte> back,
                                  std::error_code& ec) -> std::size_t = 0;

  /// Writes the pieces, in order, as far as the socket accepts them, and returns the number of bytes. Sets `ec` if not
  /// all bytes were written; the number counts also if that is `asio::error::would_block`. The next call must begin
  /// with the bytes that were not counted, unchanged.
  [[nodiscard]] virtual auto write(int socket, std::span<const ByteView> pieces, std::error_code& ec)
      -> std::size_t = 0;

  /// True if `read` has a result although nothing more arrives at the socket.
  [[nodiscard]] virtual auto holds_bytes() const noexcept -> bool = 0;

  /// Tells the peer that no bytes follow. Sets `ec` to `asio::error::would_block` if the socket does not accept that
  /// yet: then wait and call it again.
  virtual void end(int socket, std::error_code& ec) = 0;

  /// Returns the bytes that identify this connection. Only after the handshake.
  [[nodiscard]] virtual auto binding() const -> ChannelBinding = 0;
};

/// Which clients a server accepts.
struct ClientRules {
  /// The certificate of a client must be for one of these hosts, or for a name that the transport itself allows.
  std::vector<std::string> hosts;
  bool needs_certificate = true;  ///< False: clients may have no certificate.
};

/// Makes the secure layers of one end's connections. A null pointer to a transport means plain connections.
///
/// Threads: any.
class Transport {
 public:
  virtual ~Transport() = default;

  /// Returns the layer of a connection that this process has made. The certificate of the server must be for `host`, a
  /// name or an IP address.
  [[nodiscard]] virtual auto connect_layer(const std::string& host) const -> std::unique_ptr<SecureLayer> = 0;

  /// Returns the layer of a connection that this process has accepted.
  [[nodiscard]] virtual auto accept_layer(std::shared_ptr<const ClientRules> rules) const
      -> std::unique_ptr<SecureLayer> = 0;

  /// Checks that others can accept the certificate of this task: that it is for `own_host`, if that is not empty, and
  /// that a server with these rules accepts it.
  ///
  /// Errors: `net_errc::untrusted`; the place says what is missing.
  virtual void check(const std::string& own_host, const ClientRules& rules, Error& error) const = 0;

  /// Reads the files again if they have changed, or were refused the last time; new connections use them. Blocks for
  /// that. Files that `check` would refuse are not used; `own_host` empty, `rules` null: that part is not checked.
  ///
  /// Errors: the new files cannot be used; the earlier ones stay in use. The same files are reported once.
  virtual void refresh(const std::string& own_host, const ClientRules* rules, Error& error) const = 0;

  /// Returns how often `refresh` should be called, see `TransportRefresh`.
  [[nodiscard]] virtual auto refresh_every() const noexcept -> std::chrono::milliseconds = 0;

  /// Returns the path of a key file that other users may read; empty: there is none.
  [[nodiscard]] virtual auto exposed() const -> std::string = 0;

  /// Returns when the certificate of this end expires.
  [[nodiscard]] virtual auto expires() const -> std::chrono::system_clock::time_point = 0;
};

namespace detail {

/// Fails if the starter of this process wants TLS between the tasks (DISTRIB_TLS_DIRECTORY is set) and the program
/// gives
/// no transport: a connection must not be plain by mistake.
///
/// Errors: `net_errc::no_tls`.
DISTRIB_DECL void check_transport_of_job(const std::shared_ptr<const Transport>& transport, Error& error);

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/net/impl/transport.ipp>
#endif
