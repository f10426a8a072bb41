// SPDX-License-Identifier: Apache-2.0
// The only header that includes OpenSSL, through Asio's streams. An optional component: not in any facade; link
// distrib::tls.
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/file_descriptor.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/error.hpp>

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <asio/ssl/context.hpp>
#include <asio/ssl/error.hpp>
#include <asio/ssl/stream.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

/// The paths of the certificate files, in PEM.
struct TlsFiles {
  /// The certificate of this end, followed by the certificates that lead to its authority. A server must have one.
  std::string certificate;
  /// The private key of the certificate, without a passphrase.
  std::string key;
  /// The certificates of the authorities that sign the certificates of the peers, in one file. Empty: a client uses the
  /// authorities of the system; a server accepts all clients. A server with an authority accepts only clients with a
  /// certificate of that authority.
  std::string authority;
};

/// The end of a connection.
enum class TlsSide { client, server };

/// A TCP connection with TLS: an `asio::ssl::stream` that also keeps its context alive.
///
/// Memory: about 70 KiB in OpenSSL and Asio.
///
/// Threads: one at a time.
class TlsStream : public asio::ssl::stream<TcpSocket> {
 public:
  /// Uses `socket`, which must be connected, and keeps `context`, which must not be null. Does not do the handshake.
  /// Throws `std::system_error` if OpenSSL has no memory for the connection.
  TlsStream(TcpSocket socket, std::shared_ptr<asio::ssl::context> context)
      : asio::ssl::stream<TcpSocket>{std::move(socket), *context}, context_{std::move(context)} {}

  /// Tells the peer that nothing follows. Unlike `async_shutdown`, it does not wait for the peer's end. Afterwards only
  /// `next_layer()` can be read. Completes with `void(std::error_code)`.
  template <class Handler> void async_end(Handler handler) {
    ::SSL_set_shutdown(native_handle(), ::SSL_get_shutdown(native_handle()) | SSL_RECEIVED_SHUTDOWN);
    async_shutdown(std::move(handler));
  }

 private:
  std::shared_ptr<asio::ssl::context> context_;
};

/// Makes streams with TLS 1.2 or 1.3 from the certificates of one end. A client verifies the server's certificate, and
/// that the certificate is for the host that the client has called. A server verifies the certificates of its clients
/// if it has an authority.
///
/// A value: copies share the certificates, also after a `reload`.
///
/// Threads: any.
class TlsContext {
 public:
  /// Reads the files, which blocks. Throws `std::system_error`: the system's error, with the path, for a file that
  /// cannot be read; `net_errc::bad_tls_file`, with the path, for a file that does not hold what its member of
  /// `TlsFiles` says, for a certificate without its key, and for a key of another certificate; `bad_tls_file` also for
  /// a server without a certificate, and for a client without an authority if those of the system cannot be read.
  TlsContext(TlsSide side, TlsFiles files) : TlsContext{side, std::move(files), Unread{}} { reload(); }
  /// This overload sets `to` instead of throwing; success clears it. After a failure the context exists, but `stream`
  /// throws `net_errc::bad_tls_file` until a `reload` has succeeded.
  TlsContext(TlsSide side, TlsFiles files, ErrorRef to) : TlsContext{side, std::move(files), Unread{}} { reload(to); }

  /// Reads the files again, for the connections that are made from now on. Existing connections are not affected.
  ///
  /// Errors: as the constructor; then the earlier certificates stay in use.
  void reload() {
    Error error;
    reload(error);
    throw_if(error);
  }
  /// This overload sets `to` instead of throwing.
  void reload(ErrorRef to) {
    detail::ErrorOut error{to};
    auto loaded = load(error);
    if (error) return;
    const std::lock_guard lock{state_->mutex};
    state_->context = std::move(loaded);
  }

  /// Returns the end of the connection for which this context was made.
  [[nodiscard]] auto side() const noexcept -> TlsSide { return state_->side; }

  /// Returns a stream over a connected socket; the handshake must follow. `host`: the name or IP address that the
  /// client has called; empty: localhost. A server does not use it.
  ///
  /// Throws `net_errc::bad_tls_file` if the files were never read successfully, and `bad_address` for a `host` that
  /// cannot be verified.
  [[nodiscard]] auto stream(TcpSocket socket, const std::string& host = {}) const -> TlsStream {
    std::unique_lock lock{state_->mutex};
    auto context = state_->context;
    lock.unlock();
    if (context == nullptr) throw_error(net_errc::bad_tls_file, "a TLS context whose files could not be read");
    TlsStream stream{std::move(socket), std::move(context)};
    if (side() == TlsSide::client) expect(stream.native_handle(), host.empty() ? "localhost" : host);
    return stream;
  }

 private:
  struct Unread {};
  struct State {
    const TlsSide side;
    const TlsFiles files;
    std::mutex mutex;
    std::shared_ptr<asio::ssl::context> context;
  };

  TlsContext(TlsSide side, TlsFiles files, Unread) : state_{std::make_shared<State>(side, std::move(files))} {}

  [[nodiscard]] auto load(Error& error) const -> std::shared_ptr<asio::ssl::context> {
    const auto& [certificate, key, authority] = state_->files;
    const bool server = state_->side == TlsSide::server;
    auto context =
        std::make_shared<asio::ssl::context>(server ? asio::ssl::context::tls_server : asio::ssl::context::tls_client);
    ::SSL_CTX* const native = context->native_handle();
    ::SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
    // Connections are few and long, so there are no session tickets and no cache for the next connection. If the server
    // sends nothing after the handshake, a client can also leave without a reset.
    ::SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
    ::SSL_CTX_set_options(native, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    ::SSL_CTX_set_num_tickets(native, 0);
    ::SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);
    // Without this callback OpenSSL would ask for a passphrase at the terminal.
    context->set_password_callback([](std::size_t, asio::ssl::context::password_purpose) { return std::string{}; });

    error = {};
    if (server && certificate.empty()) error = {net_errc::bad_tls_file, "a TLS server needs a certificate"};
    const auto read = [&](const std::string& path, auto what) {
      if (error || path.empty()) return;
      std::error_code ec;
      const detail::FileDescriptor readable{path, O_RDONLY | O_NONBLOCK, ec};
      if (ec) {
        error = {ec, path};
        return;
      }
      what(ec);
      if (ec) error = {net_errc::bad_tls_file, path + " (" + ec.message() + ")"};
    };
    read(certificate, [&](std::error_code& ec) { context->use_certificate_chain_file(certificate, ec); });
    read(key, [&](std::error_code& ec) { context->use_private_key_file(key, asio::ssl::context::pem, ec); });
    read(authority, [&](std::error_code& ec) { context->load_verify_file(authority, ec); });
    if (!error && !certificate.empty() && ::SSL_CTX_check_private_key(native) != 1)
      error = {net_errc::bad_tls_file, key.empty() ? certificate + " (its private key is missing)" : key};
    std::error_code ec;
    if (!server && authority.empty()) context->set_default_verify_paths(ec);
    if (!error && ec) error = {net_errc::bad_tls_file, "the authorities of the system (" + ec.message() + ")"};
    if (!server || !authority.empty())
      context->set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert);
    ::ERR_clear_error();
    return context;
  }

  /// Does the same as SSL_set_tlsext_host_name, which is a macro with a cast.
  static auto set_server_name(::SSL* ssl, const std::string& host) noexcept -> int {
    return static_cast<int>(::SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                                       const_cast<char*>(host.c_str())));  // OpenSSL copies it
  }

  /// Sets the host for which the server's certificate must be valid. Throws if it cannot be set: otherwise the host
  /// would not be verified.
  static void expect(::SSL* ssl, const std::string& host) {
    ::X509_VERIFY_PARAM* const expected = ::SSL_get0_param(ssl);
    ::X509_VERIFY_PARAM_set_hostflags(expected, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    std::error_code ec;
    const auto address = asio::ip::make_address(host, ec);
    int done = 0;
    if (ec) {
      done = ::SSL_set1_host(ssl, host.c_str());
      if (done == 1) done = set_server_name(ssl, host);
    } else if (address.is_v4()) {
      const auto bytes = address.to_v4().to_bytes();
      done = ::X509_VERIFY_PARAM_set1_ip(expected, bytes.data(), bytes.size());
    } else {
      const auto bytes = address.to_v6().to_bytes();
      done = ::X509_VERIFY_PARAM_set1_ip(expected, bytes.data(), bytes.size());
    }
    if (done != 1) throw_error(net_errc::bad_address, host);
  }

  std::shared_ptr<State> state_;
};

namespace detail {

/// Returns the error of a failed handshake. `peer`: the place of the error.
inline auto tls_error(const std::error_code& ec, TlsStream& stream, const std::string& peer) -> Error {
  if (ec.category() != asio::error::get_ssl_category()) {
    // The peer ended the connection: a program with another protocol does that when it has read our first bytes.
    const bool left = ec == asio::error::eof || ec.category() == asio::ssl::error::get_stream_category() ||
                      ec == std::errc::connection_reset || ec == std::errc::broken_pipe;
    return left ? Error{net_errc::no_tls, peer + " (the peer ended the connection)"} : Error{without_asio(ec), peer};
  }
  const auto code = static_cast<unsigned long>(static_cast<unsigned>(ec.value()));
  switch (ERR_GET_REASON(code)) {
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
      return {net_errc::untrusted,
              peer + " (" + ::X509_verify_cert_error_string(::SSL_get_verify_result(stream.native_handle())) + ")"};
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_NO_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED: return {net_errc::untrusted, peer + " (" + ec.message() + ")"};
    default: return {net_errc::no_tls, peer + " (" + ec.message() + ")"};
  }
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib
