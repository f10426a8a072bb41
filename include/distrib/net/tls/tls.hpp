// SPDX-License-Identifier: Apache-2.0
// An optional component: not in any facade; link distrib::tls.
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/shortest_text.hpp>
#include <distrib/net/error.hpp>
#include <distrib/net/tls/detail/openssl.hpp>
#include <distrib/net/tls/detail/tls_files.hpp>
#include <distrib/net/tls/detail/tls_layer.hpp>
#include <distrib/net/tls/detail/tls_names.hpp>
#include <distrib/net/transport.hpp>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// How a `Tls` behaves.
struct TlsOptions {
  /// Whose certificates a server accepts, besides those of `ClientRules::hosts`: names, IP addresses, "*.REST" for
  /// names of one label before REST, or "*" for every certificate of the authority.
  std::vector<std::string> peers = {};
  std::chrono::milliseconds refresh_every{30'000};  ///< How often the files are compared with those in use.
  /// Each end changes its key after so many records of at most 16 KiB. AES-GCM's margin ends at 2^24.5 (RFC 8446, 5.5).
  std::uint64_t records_per_key = std::uint64_t{1} << 23;
};

/// TLS 1.3 for the connections of one end, from its certificate files: `options.transport = Tls::from_files(...)`.
///
/// Each end verifies that the peer's certificate was issued by an authority of its file, is valid now, and may be used
/// for this. A client also verifies that it is for the host that it has called, a server that it is for a host of its
/// `ClientRules`, or for one of `TlsOptions::peers`. The common name is not looked at. A certificate that is revoked is
/// accepted until it expires: use short-lived ones.
///
/// Errors of a peer: see `PeerConnector` and `PeerListenerOptions::refused`.
///
/// Threads: any.
class Tls final : public Transport {
 public:
  /// Reads the files, which blocks, and checks the own certificate: its dates, its key, its chain to the authority, and
  /// that it may be used by clients and by servers.
  ///
  /// Errors (without `to` thrown as `std::system_error`): the system's for a file that cannot be read;
  /// `net_errc::bad_tls_file`, `untrusted`. The place is the path and the reason. The result is then null.
  [[nodiscard]] static auto from_files(TlsFiles files, TlsOptions options, ErrorRef to) -> std::shared_ptr<const Tls> {
    return make({}, std::move(files), std::move(options), to);
  }
  [[nodiscard]] static auto from_files(TlsFiles files, TlsOptions options = {}) -> std::shared_ptr<const Tls> {
    Error error;
    return detail::or_throw(from_files(std::move(files), std::move(options), error), error);
  }

  /// Reads `tls.crt`, `tls.key` and `ca.crt` in this directory, as cert-manager writes them, like `from_files`. If the
  /// directory has a link `..data`, which Kubernetes replaces to change all files at once, they are read behind it.
  [[nodiscard]] static auto from_directory(std::string directory, TlsOptions options, ErrorRef to)
      -> std::shared_ptr<const Tls> {
    return make(std::move(directory), {"tls.crt", "tls.key", "ca.crt"}, std::move(options), to);
  }
  [[nodiscard]] static auto from_directory(std::string directory, TlsOptions options = {})
      -> std::shared_ptr<const Tls> {
    Error error;
    return detail::or_throw(from_directory(std::move(directory), std::move(options), error), error);
  }

  /// Returns the TLS of the job to which this process belongs, as its starter passes it: of the directory that the
  /// environment variable DISTRIB_TLS_DIRECTORY names, with the peers of DISTRIB_TLS_PEERS (separated by commas), if
  /// that is set, and DISTRIB_TLS_REFRESH, in seconds, as `TlsOptions::refresh_every`. Returns null if
  /// DISTRIB_TLS_DIRECTORY is not set, or empty.
  ///
  /// Errors: as `from_directory`; `std::errc::invalid_argument` if DISTRIB_TLS_REFRESH is no whole number from 1 to
  /// 86400.
  ///
  /// Threads: call it before other threads are started.
  [[nodiscard]] static auto of_job(ErrorRef to) -> std::shared_ptr<const Tls> {
    const char* const directory =
        std::getenv("DISTRIB_TLS_DIRECTORY");  // NOLINT(concurrency-mt-unsafe): before threads
    const char* const peers = std::getenv("DISTRIB_TLS_PEERS");  // NOLINT(concurrency-mt-unsafe): the same
    if (directory == nullptr || *directory == '\0') {
      to.set({});
      return nullptr;
    }
    TlsOptions options;
    for (std::string_view rest = peers == nullptr ? "" : peers; !rest.empty();)
      if (const std::string_view peer = detail::cut_before(rest, ','); !peer.empty()) options.peers.emplace_back(peer);
    if (const char* const text = std::getenv("DISTRIB_TLS_REFRESH")) {  // NOLINT(concurrency-mt-unsafe): the same
      const auto seconds = detail::parse_whole<std::uint32_t>(text);
      if (!seconds || *seconds == 0 || *seconds > 86'400) {
        to.set({std::make_error_code(std::errc::invalid_argument),
                std::string{"DISTRIB_TLS_REFRESH="} + text + " (must be a number of seconds from 1 to 86400)"});
        return nullptr;
      }
      options.refresh_every = std::chrono::seconds{*seconds};
    }
    return from_directory(directory, std::move(options), to);
  }
  [[nodiscard]] static auto of_job() -> std::shared_ptr<const Tls> {
    Error error;
    return detail::or_throw(of_job(error), error);
  }

  [[nodiscard]] auto connect_layer(const std::string& host) const -> std::unique_ptr<SecureLayer> override {
    detail::TlsLayer::Settings settings;
    settings.is_client = true;
    settings.records_per_key = options_.records_per_key;
    settings.judge = [host](::X509* certificate) {
      return detail::is_certificate_for(certificate, host) ? std::string{} : "the server must be " + host;
    };
    return std::make_unique<detail::TlsLayer>(loaded()->context.get(), std::move(settings));
  }

  [[nodiscard]] auto accept_layer(std::shared_ptr<const ClientRules> rules) const
      -> std::unique_ptr<SecureLayer> override {
    detail::TlsLayer::Settings settings;
    settings.needs_certificate = rules->needs_certificate;
    settings.records_per_key = options_.records_per_key;
    settings.judge = [rules, peers = options_.peers](::X509* certificate) {
      const bool accepted = !rules->needs_certificate || detail::accepts_client(certificate, *rules, peers);
      return accepted ? std::string{} : "the client must be " + wanted(*rules, peers);
    };
    return std::make_unique<detail::TlsLayer>(loaded()->context.get(), std::move(settings));
  }

  void check(const std::string& own_host, const ClientRules& rules, Error& error) const override {
    error = {};
    check_names(*loaded(), own_host, &rules, error);
  }

  void refresh(const std::string& own_host, const ClientRules* rules, Error& error) const override {
    error = {};
    const detail::TlsStamps found = reader_.stamps();
    bool is_known = false;
    {
      const std::lock_guard lock{mutex_};
      is_known = found == seen_;
      if (is_known && !is_refused_) return;
    }
    std::shared_ptr<const Loaded> made = load(error);
    if (!error && (!own_host.empty() || rules != nullptr)) check_names(*made, own_host, rules, error);
    const std::lock_guard lock{mutex_};
    seen_ = found;
    is_refused_ = static_cast<bool>(error);
    if (!is_refused_) loaded_ = std::move(made);
    if (is_known) error = {};  // a failure is reported once for these files
  }

  [[nodiscard]] auto refresh_every() const noexcept -> std::chrono::milliseconds override {
    return options_.refresh_every;
  }
  [[nodiscard]] auto exposed() const -> std::string override { return loaded()->exposed; }
  [[nodiscard]] auto expires() const -> std::chrono::system_clock::time_point override { return loaded()->expires; }

 private:
  /// The contents of one version of the files.
  struct Loaded {
    detail::SslContext context;
    detail::X509Certificate certificate;
    std::string exposed;
    std::chrono::system_clock::time_point expires = std::chrono::system_clock::time_point::max();
  };

  Tls(std::string directory, TlsFiles files, TlsOptions options)
      : reader_{std::move(directory), std::move(files)}, options_{std::move(options)} {}

  static auto make(std::string directory, TlsFiles files, TlsOptions options, ErrorRef to)
      -> std::shared_ptr<const Tls> {
    detail::ErrorOut error{to};
    std::shared_ptr<Tls> made{new Tls{std::move(directory), std::move(files), std::move(options)}};
    made->seen_ = made->reader_.stamps();
    made->loaded_ = made->load(error);
    return error ? nullptr : made;
  }

  [[nodiscard]] auto loaded() const -> std::shared_ptr<const Loaded> {
    const std::lock_guard lock{mutex_};
    return loaded_;
  }

  [[nodiscard]] auto load(Error& error) const -> std::shared_ptr<const Loaded> {
    detail::TlsKeys keys = reader_.read(error);
    if (!error && keys.certificate) check_own(keys, error);
    if (error) return nullptr;
    auto made = std::make_shared<Loaded>();
    made->context.reset(::SSL_CTX_new(::TLS_method()));
    ::SSL_CTX* const context = made->context.get();
    if (context == nullptr) throw std::bad_alloc{};
    ::SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    // Connections are few and long, so there are no session tickets and no cache for the next connection.
    ::SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    ::SSL_CTX_set_num_tickets(context, 0);
    ::SSL_CTX_set_mode(context,
                       SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_NO_AUTO_CHAIN);
    ::SSL_CTX_set_read_ahead(context, 1);
    ::SSL_CTX_set_default_read_buffer_len(context, std::size_t{64} << 10);
    ::SSL_CTX_set1_cert_store(context, keys.authorities.get());
    if (keys.certificate) {
      // OpenSSL refuses keys and signatures that are weaker than its security level.
      bool is_accepted = ::SSL_CTX_use_certificate(context, keys.certificate.get()) == 1;
      for (const detail::X509Certificate& one : keys.chain)
        is_accepted = is_accepted && ::SSL_CTX_add1_chain_cert(context, one.get()) == 1;
      if (!is_accepted || ::SSL_CTX_use_PrivateKey(context, keys.key.get()) != 1)
        error = {net_errc::bad_tls_file, reader_.path(is_accepted ? 1 : 0) + " (" + detail::take_openssl_error() + ")"};
      std::tm until{};
      if (::ASN1_TIME_to_tm(::X509_get0_notAfter(keys.certificate.get()), &until) == 1)
        made->expires = std::chrono::system_clock::from_time_t(::timegm(&until));
    }
    made->exposed = keys.exposed;
    made->certificate = std::move(keys.certificate);
    ::ERR_clear_error();
    return made;
  }

  /// Checks the names of the own certificate. `rules`: null if no server is asked.
  void check_names(const Loaded& files, const std::string& own_host, const ClientRules* rules, Error& error) const {
    ::X509* const own = files.certificate.get();
    if (own == nullptr) {
      error = {net_errc::untrusted, "a task needs a certificate"};
    } else if (!own_host.empty() && !detail::is_certificate_for(own, own_host)) {
      error = {net_errc::untrusted,
               reader_.path(0) + " (it is for " + detail::text_of_names(own) + ", and must be for " + own_host + ")"};
    } else if (rules != nullptr && !detail::accepts_client(own, *rules, options_.peers)) {
      error = {net_errc::untrusted, reader_.path(0) + " (it is for " + detail::text_of_names(own) +
                                        ", and must be for " + wanted(*rules, options_.peers) + ")"};
    }
  }

  /// Checks that peers with the same authority accept the certificate: in both directions.
  void check_own(const detail::TlsKeys& keys, Error& error) const {
    STACK_OF(X509)* const chain = sk_X509_new_null();
    for (const detail::X509Certificate& one : keys.chain) sk_X509_push(chain, one.get());
    for (const char* use : {"ssl_server", "ssl_client"}) {
      const std::unique_ptr<::X509_STORE_CTX, detail::OpensslFree<::X509_STORE_CTX_free>> context{
          ::X509_STORE_CTX_new()};
      ::X509_STORE_CTX_init(context.get(), keys.authorities.get(), keys.certificate.get(), chain);
      ::X509_STORE_CTX_set_default(context.get(), use);
      if (error || ::X509_verify_cert(context.get()) == 1) continue;
      const int why = ::X509_STORE_CTX_get_error(context.get());
      std::string text = ::X509_verify_cert_error_string(why);
      if (why == X509_V_ERR_INVALID_PURPOSE)
        text += std::string{": it needs the extended key usages serverAuth and clientAuth, and lacks "} +
                (std::string_view{use} == "ssl_server" ? "serverAuth" : "clientAuth");
      error = {net_errc::untrusted, reader_.path(0) + " (" + text + ")"};
    }
    sk_X509_free(chain);
  }

  /// Returns which clients are accepted, for messages.
  static auto wanted(const ClientRules& rules, const std::vector<std::string>& peers) -> std::string {
    constexpr std::size_t most = 3;
    std::string text;
    std::size_t count = 0;
    for (const auto* const list : {&rules.hosts, &peers})
      for (const std::string& one : *list)
        if (count++ < most) text.append(text.empty() ? "" : " or ").append(one);
    if (count > most) text += " or one of " + std::to_string(count - most) + " more";
    return text.empty() ? "allowed by a name: none is" : text;
  }

  const detail::TlsFileReader reader_;
  const TlsOptions options_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Loaded> loaded_;
  mutable detail::TlsStamps seen_{};  // the files that were read, or refused, last
  mutable bool is_refused_ = false;  // those files: they are read again, because the reason may pass
};

}  // namespace v0
}  // namespace distrib
