// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/error.hpp>
#include <distrib/net/tls/detail/openssl.hpp>
#include <distrib/net/tls/detail/tls_names.hpp>
#include <distrib/net/transport.hpp>

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// TLS 1.3 straight on a socket. OpenSSL reads from the socket, up to 64 KiB at once; what it writes is gathered and
/// leaves in sends of about 32 KiB.
///
/// Encrypted bytes cannot be taken back. If the socket does not accept all of them, the layer keeps them, and counts
/// one byte less than it has taken; it skips that byte in the next `write`.
///
/// A peer may send records without data, such as KeyUpdates, without end. One `read` takes at most 64 KiB more from the
/// socket than its caller has space for, so that other connections of the thread are served. If the answers to them
/// pile up, the connection fails.
///
/// Memory: about 30 KiB in OpenSSL, while records are read 64 KiB more; what the socket did not accept, at most 64 KiB.
class TlsLayer final : public SecureLayer {
 public:
  /// Returns the reason why the certificate of the peer, whose chain is valid, is not accepted; empty: it is.
  using Judge = std::function<std::string(::X509* certificate)>;

  struct Settings {
    bool is_client = false;
    bool needs_certificate = true;  // of the peer
    std::uint64_t records_per_key = 0;  // then the sender changes its key
    Judge judge;
  };

  /// Throws `std::bad_alloc` if OpenSSL has no memory for the connection.
  TlsLayer(::SSL_CTX* context, Settings settings) : settings_{std::move(settings)}, ssl_{::SSL_new(context)} {
    if (ssl_ == nullptr) throw std::bad_alloc{};
    ::BIO* const bio = ::BIO_new(bio_method());
    if (bio == nullptr) throw std::bad_alloc{};
    ::BIO_set_data(bio, this);
    ::BIO_set_init(bio, 1);
    ::SSL_set_bio(ssl_.get(), bio, bio);
    ::SSL_set_ex_data(ssl_.get(), 0, this);
    int mode = SSL_VERIFY_PEER;
    if (settings_.needs_certificate) mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    ::SSL_set_verify(ssl_.get(), mode, &TlsLayer::verify);
    if (settings_.is_client) ::SSL_set_connect_state(ssl_.get());
    else ::SSL_set_accept_state(ssl_.get());
  }
  TlsLayer(const TlsLayer&) = delete;
  auto operator=(const TlsLayer&) -> TlsLayer& = delete;

  [[nodiscard]] auto handshake(int socket, Error& error) -> Wait override {
    const Use use{*this, socket};
    may_read_ = std::numeric_limits<std::size_t>::max();  // OpenSSL limits a handshake
    error = {};
    std::error_code ec = send_kept();
    int done = 0;
    int why = SSL_ERROR_NONE;
    if (!ec) {
      ::ERR_clear_error();
      done = ::SSL_do_handshake(ssl_.get());
      why = done == 1 ? SSL_ERROR_NONE : ::SSL_get_error(ssl_.get(), done);
      if (why != SSL_ERROR_NONE && why != SSL_ERROR_WANT_READ) error = failure_of(why);
      ec = send_kept();  // also the alert of a handshake that has failed
    }
    if (error) return Wait::none;
    is_open_ |= done == 1;
    if (ec == asio::error::would_block) return Wait::write;
    if (ec) {
      error = {ec == std::errc::connection_reset || ec == std::errc::broken_pipe
                   ? make_error_code(net_errc::broken_handshake)
                   : ec,
               {}};
      return Wait::none;
    }
    return done == 1 ? Wait::none : Wait::read;
  }

  [[nodiscard]] auto read(int socket, std::span<std::byte> front, std::span<std::byte> back, std::error_code& ec)
      -> std::size_t override {
    const Use use{*this, socket};
    ec = failure_;
    if (ec) return 0;
    waits_ = false;
    may_read_ = front.size() + back.size() + most_ahead_bytes;
    const std::size_t count = read_into(front, 0);
    const std::size_t total = count == front.size() && !is_drained(count) ? count + read_into(back, count) : count;
    if (!kept_.empty() && !failure_) {  // OpenSSL has answered to something
      const std::error_code sent = send_kept();
      if (sent && sent != asio::error::would_block && total == 0) failure_ = sent;
    }
    if (total == 0) ec = failure_ ? failure_ : std::error_code{asio::error::would_block};
    return total;
  }

  [[nodiscard]] auto write(int socket, std::span<const ByteView> pieces, std::error_code& ec) -> std::size_t override {
    const Use use{*this, socket};
    if ((ec = send_kept())) return 0;
    std::size_t taken = std::exchange(owes_byte_, false) ? 1 : 0;
    std::size_t skip = taken;
    for (std::size_t at = 0; at < pieces.size();) {
      if (skip >= pieces[at].size()) {
        skip -= pieces[at++].size();
        continue;
      }
      const ByteView next = next_record(pieces.subspan(at), skip);
      if ((ec = encrypt(next))) return taken;
      taken += next.size();
      skip += next.size();
      if (kept_.size() < together_bytes) continue;
      if ((ec = send_kept())) break;
    }
    if (!ec) ec = send_kept();
    if (ec != asio::error::would_block) return taken;
    owes_byte_ = true;
    return taken - 1;  // at least 1: the bytes that are kept are of this call
  }

  [[nodiscard]] auto holds_bytes() const noexcept -> bool override {
    return failure_ || (!waits_ && ::SSL_has_pending(ssl_.get()) == 1);
  }

  void end(int socket, std::error_code& ec) override {
    const Use use{*this, socket};
    ::ERR_clear_error();
    if (!std::exchange(has_ended_, true)) ::SSL_shutdown(ssl_.get());
    ec = send_kept();
  }

  [[nodiscard]] auto binding() const -> ChannelBinding override {
    static constexpr std::string_view label = "EXPORTER-Channel-Binding";
    ChannelBinding bytes{};
    if (::SSL_export_keying_material(ssl_.get(), reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(),
                                     label.data(), label.size(), nullptr, 0, 0) != 1)
      throw_error(net_errc::no_tls, "TLS exports no bytes for this connection");
    return bytes;
  }

 private:
  static constexpr std::size_t record_bytes = std::size_t{16} << 10;
  static constexpr std::size_t together_bytes = std::size_t{32} << 10;
  static constexpr std::size_t most_kept_bytes = std::size_t{64} << 10;
  static constexpr std::size_t most_ahead_bytes = std::size_t{64} << 10;

  /// The socket, and a memory of the thread for what OpenSSL writes, for one call.
  struct Use {
    Use(TlsLayer& of, int socket) : layer{of} {
      layer.socket_ = socket;
      if (layer.kept_.empty()) layer.kept_.swap(idle());
    }
    Use(const Use&) = delete;
    auto operator=(const Use&) -> Use& = delete;
    ~Use() {
      if (!layer.kept_.empty()) return;
      layer.kept_.swap(idle());
      layer.kept_ = std::vector<std::byte>{};  // if both had memory, one is enough
    }
    static auto idle() -> std::vector<std::byte>& {
      static thread_local std::vector<std::byte> memory;
      return memory;
    }
    TlsLayer& layer;
  };

  // --- records ---

  /// Returns the bytes of the next record: a part of the first piece if that fills a record, otherwise several pieces,
  /// copied together. `skip`: bytes of the first piece to leave out.
  static auto next_record(std::span<const ByteView> pieces, std::size_t skip) -> ByteView {
    const ByteView first = pieces[0].subspan(skip);
    if (first.size() >= record_bytes || pieces.size() == 1) return first.first(std::min(first.size(), record_bytes));
    static thread_local std::array<std::byte, record_bytes> record;
    std::size_t size = 0;
    for (const ByteView& piece : pieces) {
      const ByteView part = size == 0 ? first : piece;
      const std::size_t count = std::min(part.size(), record_bytes - size);
      if (count != 0) std::memcpy(record.data() + size, part.data(), count);
      size += count;
      if (size == record_bytes) break;
    }
    return ByteView{record}.first(size);
  }

  auto encrypt(ByteView bytes) -> std::error_code {
    ::ERR_clear_error();
    if (++records_ > settings_.records_per_key) {
      records_ = 1;
      ::SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED);
    }
    std::size_t count = 0;
    const int done = ::SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &count);
    if (done == 1 && count == bytes.size()) return {};
    return failure_ ? failure_ : failure_of(::SSL_get_error(ssl_.get(), done)).code;
  }

  /// True if a further read would only ask the system for bytes that have not arrived.
  [[nodiscard]] auto is_drained(std::size_t count) const noexcept -> bool {
    return count != 0 && !more_arrived_ && ::SSL_has_pending(ssl_.get()) != 1;
  }

  /// Reads until `to` is full or nothing more has arrived. `before`: the number of bytes that this call has read
  /// before.
  auto read_into(std::span<std::byte> to, std::size_t before) -> std::size_t {
    std::size_t total = 0;
    while (total < to.size() && !is_drained(before + total)) {
      ::ERR_clear_error();
      std::size_t count = 0;
      const int done = ::SSL_read_ex(ssl_.get(), to.data() + total, to.size() - total, &count);
      if (done == 1) {
        total += count;
        continue;
      }
      const int why = ::SSL_get_error(ssl_.get(), done);
      if (why == SSL_ERROR_WANT_READ) waits_ = true;
      else if (why == SSL_ERROR_ZERO_RETURN) failure_ = asio::error::eof;
      else failure_ = failure_of(why).code;
      break;
    }
    return total;
  }

  /// Sends what is kept. Returns `would_block` if a part of it is left.
  auto send_kept() -> std::error_code {
    std::size_t sent = 0;
    std::error_code ec;
    while (sent != kept_.size() && !ec) {
      const ::ssize_t count = ::send(socket_, kept_.data() + sent, kept_.size() - sent, MSG_NOSIGNAL);
      if (count >= 0) sent += static_cast<std::size_t>(count);
      else if (errno == EAGAIN || errno == EWOULDBLOCK) ec = asio::error::would_block;
      else if (errno != EINTR) ec = {errno, std::system_category()};
    }
    if (sent == kept_.size()) kept_.clear();
    else kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(sent));
    return ec;
  }

  // --- failures ---

  auto failure_of(int why) -> Error {
    if (why == SSL_ERROR_SYSCALL && system_error_) {
      const bool left = system_error_ == std::errc::connection_reset || system_error_ == std::errc::broken_pipe;
      if (left && !is_open_) return {net_errc::broken_handshake, {}};
      return {system_error_, {}};
    }
    const unsigned long code = ::ERR_peek_last_error();
    const int reason = ERR_GET_REASON(code);
    const std::string text = take_openssl_error();
    if (reason == SSL_R_UNEXPECTED_EOF_WHILE_READING || (why == SSL_ERROR_SYSCALL && code == 0))
      return {is_open_ ? net_errc::truncated : net_errc::broken_handshake, {}};
    switch (reason) {
      case SSL_R_CERTIFICATE_VERIFY_FAILED: return {net_errc::untrusted, verdict_};
      case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE: return {net_errc::untrusted, "the peer shows no certificate"};
      case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
      case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
      case SSL_R_SSLV3_ALERT_NO_CERTIFICATE:
      case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
      case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
      case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
      case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
      case SSL_R_TLSV1_ALERT_ACCESS_DENIED: return {net_errc::own_certificate_refused, text};
      case SSL_R_SSLV3_ALERT_UNEXPECTED_MESSAGE: return {net_errc::no_tls, "the peer speaks no TLS"};
      case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
      case SSL_R_UNSUPPORTED_PROTOCOL: return {net_errc::no_tls, "one end speaks no TLS 1.3"};
      default: return {is_open_ ? net_errc::truncated : net_errc::no_tls, text};
    }
  }

  /// Called by OpenSSL for each certificate of the peer's chain.
  static auto verify(int valid, ::X509_STORE_CTX* context) -> int try {
    auto* const ssl =
        static_cast<::SSL*>(::X509_STORE_CTX_get_ex_data(context, ::SSL_get_ex_data_X509_STORE_CTX_idx()));
    auto& self = *static_cast<TlsLayer*>(::SSL_get_ex_data(ssl, 0));
    ::X509* const certificate = ::X509_STORE_CTX_get0_cert(context);
    if (valid != 1) {
      self.verdict_ = ::X509_verify_cert_error_string(::X509_STORE_CTX_get_error(context));
    } else if (::X509_STORE_CTX_get_error_depth(context) == 0) {
      self.verdict_ = self.settings_.judge(certificate);
      if (!self.verdict_.empty()) ::X509_STORE_CTX_set_error(context, X509_V_ERR_HOSTNAME_MISMATCH);
    }
    if (self.verdict_.empty()) return 1;
    self.verdict_ += "; the certificate is for " + text_of_names(certificate);
    return 0;
  } catch (const std::bad_alloc&) {
    return 0;
  }

  // --- what OpenSSL calls to read and write ---

  static auto bio_method() -> const ::BIO_METHOD* {
    static const std::unique_ptr<::BIO_METHOD, OpensslFree<::BIO_meth_free>> method{make_bio_method()};
    return method.get();
  }
  static auto make_bio_method() -> ::BIO_METHOD* {
    ::BIO_METHOD* const made = ::BIO_meth_new(::BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "distrib");
    if (made == nullptr) throw std::bad_alloc{};
    ::BIO_meth_set_read(made, &TlsLayer::bio_read);
    ::BIO_meth_set_write(made, &TlsLayer::bio_write);
    ::BIO_meth_set_ctrl(made, [](::BIO*, int what, long, void*) -> long { return what == BIO_CTRL_FLUSH ? 1 : 0; });
    return made;
  }
  static auto bio_read(::BIO* bio, char* to, int size) -> int {
    auto& self = *static_cast<TlsLayer*>(::BIO_get_data(bio));
    ::BIO_clear_retry_flags(bio);
    if (self.may_read_ == 0) {
      ::BIO_set_retry_read(bio);
      return -1;
    }
    const std::size_t most = std::min(self.may_read_, static_cast<std::size_t>(size));
    ::ssize_t count = 0;
    do {
      count = ::recv(self.socket_, to, most, 0);
    } while (count < 0 && errno == EINTR);
    self.more_arrived_ = count == static_cast<::ssize_t>(most);
    if (count >= 0) {
      self.may_read_ -= static_cast<std::size_t>(count);
      return static_cast<int>(count);
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) ::BIO_set_retry_read(bio);
    else self.system_error_ = {errno, std::system_category()};
    return -1;
  }
  static auto bio_write(::BIO* bio, const char* from, int size) -> int try {
    auto& self = *static_cast<TlsLayer*>(::BIO_get_data(bio));
    ::BIO_clear_retry_flags(bio);
    if (self.is_open_ && self.kept_.size() + static_cast<std::size_t>(size) > most_kept_bytes) return -1;
    const auto* const bytes = reinterpret_cast<const std::byte*>(from);
    self.kept_.insert(self.kept_.end(), bytes, bytes + size);
    return size;
  } catch (const std::bad_alloc&) {
    return -1;
  }

  Settings settings_;
  Ssl ssl_;
  int socket_ = -1;
  std::vector<std::byte> kept_;  // written by OpenSSL, not yet by the system
  std::uint64_t records_ = 0;  // sent with the present key
  std::string verdict_;  // why the certificate of the peer is not accepted
  std::error_code system_error_;  // of the socket
  std::error_code failure_;  // what every further `read` returns
  std::size_t may_read_ = 0;  // bytes that this call may still take from the socket
  bool is_open_ = false;  // the handshake is over
  bool owes_byte_ = false;  // a byte was taken and not counted yet
  bool waits_ = false;  // the last read needs more bytes than OpenSSL has
  bool more_arrived_ = false;  // the last bytes from the socket filled the memory
  bool has_ended_ = false;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
