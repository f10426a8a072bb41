// SPDX-License-Identifier: Apache-2.0
#if __has_include(<openssl/ssl.h>)
#include <distrib/net/tls/tls.hpp>

#include <distrib/net/connection.hpp>

#include "net/tls/tls_ends.hpp"
#include "support/catch.hpp"
#include "support/certificates.hpp"
#include "support/loopback.hpp"
#include "support/noise.hpp"
#include "support/temp_directory.hpp"

#include <asio/local/connect_pair.hpp>
#include <asio/local/stream_protocol.hpp>

#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using distrib::ByteView;
using distrib::ClientRules;
using distrib::Error;
using distrib::net_errc;
using distrib::PeerStream;
using distrib::TcpSocket;
using distrib::Tls;
using distrib::TlsFiles;
using distrib::TlsOptions;
using support::Authority;
using support::CertificateWish;
using support::noise;
using support::run_until;
using tls_ends::any_of;
using tls_ends::here;
using TlsPair = tls_ends::Ends;
using namespace std::chrono_literals;

namespace {

auto tls_failure_of(const TlsFiles& files) -> Error {
  Error error;
  CHECK(Tls::from_files(files, {}, error) == nullptr);
  REQUIRE(error);
  CHECK_THROWS_AS(Tls::from_files(files), std::system_error);
  return error;
}

/// Returns TLS for files that this process itself would not use: it checks them with another authority's eyes.
auto unchecked(const TlsFiles& files, const Authority& fits) -> std::shared_ptr<const Tls> {
  TlsFiles own = files;
  own.authority = fits.file();
  return any_of(own);
}

/// A core that sends what the test sets, and records what it reads.
struct TlsTape {
  [[nodiscard]] auto reads() const -> bool { return wants_bytes && !finished(); }
  auto read_space(std::span<std::byte> lent) -> distrib::ReadSpace {
    buffer.resize(step);
    space = buffer;
    back = lent;
    return {space, lent};
  }
  void bytes_read(std::size_t count, distrib::Instant) {
    CHECK(count > 0);
    const std::size_t front = std::min(count, space.size());
    received += distrib::as_text(space.first(front));
    received += distrib::as_text(back.first(count - front));
  }
  void keep() {}
  [[nodiscard]] auto ready() const -> bool { return false; }
  auto output() -> std::span<const ByteView> {
    if (writing.empty()) writing.swap(pending);
    views.clear();
    for (const std::string& text : writing) views.push_back(distrib::as_bytes(text));
    return views;
  }
  void written(distrib::Instant) { writing.clear(); }
  [[nodiscard]] auto wake() const -> std::optional<distrib::Instant> { return std::nullopt; }
  void woken(distrib::Instant) {}
  void lost(const std::error_code& why) {
    ++losses;
    reason = why;
  }
  [[nodiscard]] auto finished() const -> bool { return is_finished; }

  std::size_t step = 777;
  std::vector<std::byte> buffer;
  std::span<std::byte> space;
  std::span<std::byte> back;
  std::vector<std::string> pending;
  std::vector<std::string> writing;
  std::vector<ByteView> views;
  std::string received;
  int losses = 0;
  std::error_code reason;
  bool wants_bytes = true;
  bool is_finished = false;
};

struct TlsOwner {
  void on_activity(distrib::Instant) {}
};

using TlsTapeConnection = distrib::Connection<TlsTape, TlsOwner>;

struct Talk {
  asio::io_context context{1};
  TlsOwner owner;
  std::shared_ptr<TlsTapeConnection> one;
  std::shared_ptr<TlsTapeConnection> other;

  explicit Talk(const std::shared_ptr<const Tls>& tls = tls_ends::ours()) {
    TlsPair ends{context, tls, tls};
    REQUIRE_FALSE(ends.of_server);
    REQUIRE_FALSE(ends.of_client);
    one = std::make_shared<TlsTapeConnection>(*std::move(ends.server), owner);
    other = std::make_shared<TlsTapeConnection>(*std::move(ends.client), owner);
  }
  void settle() const {
    one->settle();
    other->settle();
  }
};

/// Passes bytes between two sockets, a few at a time.
struct SlowWire {
  TcpSocket from;
  TcpSocket to;
  std::size_t step = 1;
  std::array<char, 64> part = {};

  void run() {
    from.async_read_some(asio::buffer(part.data(), step), [this](const std::error_code& ec, std::size_t count) {
      std::error_code ignored;
      if (ec) return static_cast<void>(to.shutdown(TcpSocket::shutdown_send, ignored));
      asio::write(to, asio::buffer(part.data(), count), ignored);
      run();
    });
  }
};

}  // namespace

TEST_CASE("Tls: invalid files are refused with their path", "[net][tls]") {
  const Authority authority{"ours"};
  const TlsFiles good = authority.issue("good", here);
  const TlsFiles other = authority.issue("other", here);
  const std::string missing = authority.path("missing.pem");
  const std::string garbage = authority.path("garbage.pem");
  std::ofstream{garbage} << "-----BEGIN CERTIFICATE-----\nnothing\n";
  const std::string half = authority.path("half.pem");
  std::filesystem::copy_file(good.certificate, half);
  std::filesystem::resize_file(half, std::filesystem::file_size(half) / 2);
  const std::string huge = authority.path("huge.pem");
  std::ofstream{huge} << "";
  std::filesystem::resize_file(huge, 2U << 20);

  const auto with = [&good](auto member, const std::string& path) {
    TlsFiles files = good;
    files.*member = path;
    return files;
  };
  for (const auto member : {&TlsFiles::certificate, &TlsFiles::key, &TlsFiles::authority}) {
    const Error absent = tls_failure_of(with(member, missing));
    CHECK(absent.code == distrib::failure::not_found);
    CHECK(absent.where == missing);
    for (const std::string& bad : {garbage, half, huge, authority.path("")}) {
      const Error error = tls_failure_of(with(member, bad));
      CHECK(error.code == net_errc::bad_tls_file);
      CHECK_THAT(error.where, ContainsSubstring(bad + " ("));
    }
  }
  CHECK_THAT(tls_failure_of(with(&TlsFiles::key, "")).where, ContainsSubstring("is missing"));
  CHECK_THAT(tls_failure_of(with(&TlsFiles::key, other.key)).where, ContainsSubstring("it is not the key of"));
  CHECK_NOTHROW(Tls::from_files({{}, {}, authority.file()}));  // a client that has no certificate
  CHECK_NOTHROW(Tls::from_files({}));  // one that trusts the authorities of the system
}

TEST_CASE("Tls: a key with a passphrase is refused, and the terminal is not asked for it", "[net][tls]") {
  const Authority authority{"ours"};
  const TlsFiles files = authority.issue("locked", here);
  const support::Key key{::EVP_EC_gen("P-256")};
  std::FILE* const file = std::fopen(files.key.c_str(), "w");
  REQUIRE(file != nullptr);
  std::string phrase = "phrase";
  REQUIRE(::PEM_write_PrivateKey(file, key.get(), ::EVP_aes_128_cbc(), reinterpret_cast<unsigned char*>(phrase.data()),
                                 static_cast<int>(phrase.size()), nullptr, nullptr) == 1);
  REQUIRE(std::fclose(file) == 0);
  CHECK(tls_failure_of(files).code == net_errc::bad_tls_file);
}

TEST_CASE("Tls: the own certificate is checked when the files are read", "[net][tls]") {
  const Authority ours{"ours"};
  const Authority theirs{"theirs"};
  TlsFiles stranger = theirs.issue("stranger", here);
  stranger.authority = ours.file();
  const struct {
    TlsFiles files;
    const char* says;
  } rows[] = {
      {ours.issue("old", CertificateWish{here, -3, -1}), "expired"},
      {ours.issue("early", CertificateWish{here, 1, 2}), "not yet valid"},
      {ours.issue("no_client", CertificateWish{here, -2, 1, "serverAuth"}), "lacks clientAuth"},
      {ours.issue("no_server", CertificateWish{here, -2, 1, "clientAuth"}), "lacks serverAuth"},
      {stranger, "issuer certificate"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.says);
    const Error error = tls_failure_of(row.files);
    CHECK(error.code == net_errc::untrusted);
    CHECK_THAT(error.where, ContainsSubstring(row.files.certificate + " (") && ContainsSubstring(row.says));
  }
  CHECK_NOTHROW(Tls::from_files(ours.issue("any_use", CertificateWish{here, -2, 1, ""})));
}

TEST_CASE("Tls: a key that OpenSSL finds too weak is refused when the files are read", "[net][tls]") {
  CertificateWish wish{here};
  wish.rsa_bits = 512;
  const Authority authority{"ours"};
  const TlsFiles files = authority.issue("weak", wish);
  const Error error = tls_failure_of(files);
  CHECK(error.code == net_errc::bad_tls_file);
  CHECK_THAT(error.where, ContainsSubstring(files.certificate + " (") && ContainsSubstring("too small"));
}

TEST_CASE("Tls: a task checks that others accept its names", "[net][tls]") {
  const Authority ours{"ours"};
  const auto tls = Tls::from_files(ours.issue("ps", "DNS:ps0.example,DNS:*.workers.example,IP:10.0.0.1"));
  const struct {
    const char* own;
    std::vector<std::string> hosts;
    const char* says;
  } rows[] = {
      {"ps0.example", {"ps0.example"}, nullptr},
      {"PS0.example.", {"ps0.example"}, nullptr},
      {"10.0.0.1", {"10.0.0.1"}, nullptr},
      {"", {"w7.workers.example"}, nullptr},
      {"ps1.example", {"ps0.example"}, "must be for ps1.example"},
      {"10.0.0.2", {"10.0.0.1"}, "must be for 10.0.0.2"},
      {"", {"a.b.workers.example"}, "must be for a.b.workers.example"},
      {"", {"workers.example"}, "must be for workers.example"},
      {"", {}, "none is"},
      {"", {"a", "b", "c", "d", "e"}, "a or b or c or one of 2 more"},
  };
  for (const auto& row : rows) {
    Error error;
    tls->check(row.own, ClientRules{row.hosts}, error);
    CAPTURE(row.own, row.hosts);
    CHECK(static_cast<bool>(error) == (row.says != nullptr));
    if (row.says == nullptr) continue;
    CHECK(error.code == net_errc::untrusted);
    CHECK_THAT(error.where, ContainsSubstring(row.says) && ContainsSubstring("*.workers.example"));
  }
  Error error;
  Tls::from_files({{}, {}, ours.file()})->check("", {}, error);
  CHECK(error.code == net_errc::untrusted);
}

TEST_CASE("Tls: which servers a client accepts", "[net][tls]") {
  asio::io_context context{1};
  const Authority ours{"ours"};
  const Authority theirs{"theirs"};
  const auto client = tls_ends::any_of(ours.issue("client", here));
  const auto serves = [&](const std::string& names) { return any_of(ours.issue("server", names)); };
  const struct {
    const char* names;
    const char* host;
    bool accepted;
  } rows[] = {
      {"DNS:ps0.example", "ps0.example", true},
      {"DNS:ps0.example", "ps0.example.", true},
      {"DNS:ps0.example", "ps1.example", false},
      {"DNS:*.example.test", "ps0.example.test", true},
      {"DNS:*.example.test", "a.ps0.example.test", false},
      {"DNS:*.*.example.test", "a.ps0.example.test", false},
      {"DNS:*.test", "example.test", false},  // as good as all names
      {"DNS:p*.example", "ps0.example", false},
      {"IP:127.0.0.1", "127.0.0.1", true},
      {"IP:::1", "::1", true},
      {"DNS:127.0.0.1", "127.0.0.1", false},
      {"IP:127.0.0.1", "localhost", false},
      {"", "task", false},  // the common name
  };
  for (const auto& row : rows) {
    CAPTURE(row.names, row.host);
    const TlsPair ends{context, serves(row.names), client, row.host};
    CHECK(static_cast<bool>(ends.of_client) == !row.accepted);
    if (row.accepted) continue;
    CHECK(ends.of_client.code == net_errc::untrusted);
    CHECK_THAT(ends.of_client.where, ContainsSubstring("client's peer (") && ContainsSubstring(row.host));
    CHECK(ends.of_server.code == net_errc::own_certificate_refused);
  }
  const TlsPair foreign{context, unchecked(theirs.issue("server", here), theirs), client};
  CHECK(foreign.of_client.code == net_errc::untrusted);
  CHECK_THAT(foreign.of_client.where, ContainsSubstring("issuer certificate") && ContainsSubstring("localhost"));
}

TEST_CASE("Tls: which clients a server accepts", "[net][tls]") {
  asio::io_context context{1};
  const Authority ours{"ours"};
  const Authority theirs{"theirs"};
  const TlsFiles files = ours.issue("server", here);
  const struct {
    std::string names;
    std::vector<std::string> hosts;
    std::vector<std::string> peers;
    bool accepted;
  } rows[] = {
      {"DNS:w0.example", {"ps0.example", "w0.example"}, {}, true},
      {"DNS:*.example.test", {"w0.example.test"}, {}, true},
      {"DNS:*.*.example.test", {"a.w0.example.test"}, {}, false},
      {"DNS:w9.example", {"w0.example"}, {}, false},
      {"DNS:w9.example", {}, {}, false},
      {"DNS:admin.example", {"w0.example"}, {"admin.example"}, true},
      {"DNS:admin.example", {"w0.example"}, {"*.example"}, true},
      {"DNS:a.admin.example", {"w0.example"}, {"*.example"}, false},
      {"DNS:*.example", {}, {"*.example"}, true},
      {"DNS:.example", {}, {"*.example"}, false},
      {"IP:10.1.2.3", {"10.1.2.3"}, {}, true},
      {"IP:10.1.2.3", {}, {"*.2.3"}, false},
      {"DNS:anything", {}, {"*"}, true},
      {"", {}, {"*"}, true},
  };
  for (const auto& row : rows) {
    CAPTURE(row.names, row.hosts, row.peers);
    TlsOptions options;
    options.peers = row.peers;
    const TlsPair ends{context, Tls::from_files(files, options), any_of(ours.issue("client", row.names)), "localhost",
                       ClientRules{row.hosts}};
    CHECK(static_cast<bool>(ends.of_server) == !row.accepted);
    if (row.accepted) continue;
    CHECK(ends.of_server.code == net_errc::untrusted);
    CHECK_THAT(ends.of_server.where, ContainsSubstring("server's peer (the client must be") &&
                                         ContainsSubstring(row.names.substr(row.names.find(':') + 1)));
    CHECK(ends.of_client.code == net_errc::own_certificate_refused);
  }
  SECTION("an authority of others, and no certificate") {
    const auto server = any_of(files);
    TlsFiles stranger = theirs.issue("stranger", here);
    const TlsPair foreign{context, server, unchecked(stranger, theirs), "localhost"};
    // This client does not accept the server, so it never shows its certificate.
    CHECK(foreign.of_client.code == net_errc::untrusted);
    const TlsPair none{context, server, Tls::from_files({{}, {}, ours.file()})};
    CHECK(none.of_server.code == net_errc::untrusted);
    CHECK_THAT(none.of_server.where, ContainsSubstring("shows no certificate"));
    CHECK(none.of_client.code == net_errc::own_certificate_refused);
    ClientRules open;
    open.needs_certificate = false;
    const TlsPair page{context, server, Tls::from_files({{}, {}, ours.file()}), "localhost", open};
    CHECK_FALSE(page.of_server);
  }
}

TEST_CASE("Tls: a peer that speaks TLS 1.2, another protocol, or nothing", "[net][tls]") {
  asio::io_context context{1};
  support::SocketPair pair{context};
  std::optional<Error> heard;
  const auto accepting = std::make_shared<distrib::detail::PeerHandshake>(std::move(pair.socket), "peer");
  const auto begin = [&](std::chrono::milliseconds within) {
    accepting->accept(tls_ends::ours(), std::make_shared<const ClientRules>(), {"DSTB", "TLS only"},
                      support::now() + within, [&](const Error& error, const std::optional<PeerStream>& stream) {
                        CHECK_FALSE(stream);
                        heard = error;
                      });
  };
  SECTION("TLS 1.2") {
    begin(60s);
    const distrib::detail::SslContext old{::SSL_CTX_new(::TLS_client_method())};
    ::SSL_CTX_set_max_proto_version(old.get(), TLS1_2_VERSION);
    distrib::detail::TlsLayer::Settings settings;
    settings.is_client = true;
    settings.records_per_key = 9;
    settings.judge = [](::X509*) { return std::string{}; };
    distrib::detail::TlsLayer client{old.get(), settings};
    pair.peer.non_blocking(true);
    Error of_client;
    while (!heard || !of_client) {
      if (!of_client) static_cast<void>(client.handshake(pair.peer.native_handle(), of_client));
      context.restart();
      context.poll();
    }
    CHECK(heard->code == net_errc::no_tls);
    CHECK_THAT(heard->where, ContainsSubstring("TLS 1.3"));
    CHECK(of_client.code == net_errc::no_tls);
  }
  SECTION("garbage that begins like TLS") {
    begin(60s);
    asio::write(pair.peer, asio::buffer(std::string("\x16\x03\x01\x02\x00", 5) + noise(512, 3)));
    run_until(context, [&] { return heard.has_value(); });
    CHECK(heard->code == net_errc::no_tls);
  }
  SECTION("plain, of this protocol") {
    begin(60s);
    asio::write(pair.peer, asio::buffer(std::string(40, 'x').replace(0, 4, "DSTB")));
    run_until(context, [&] { return heard.has_value(); });
    CHECK(heard->code == net_errc::no_tls);
    CHECK_THAT(heard->where, ContainsSubstring("peer (a client that does not use TLS"));
    CHECK(support::SocketPair::read_all(pair.peer) == "TLS only");
  }
  SECTION("plain, of another protocol") {
    begin(60s);
    asio::write(pair.peer, asio::buffer("GET / HTTP/1.1\r\n\r\n", 18));
    run_until(context, [&] { return heard.has_value(); });
    CHECK(heard->code == net_errc::no_tls);
    CHECK(support::SocketPair::read_all(pair.peer).empty());
  }
  SECTION("nothing: not worth a report") {
    begin(60s);
    pair.peer.close();
    run_until(context, [&] { return heard.has_value(); });
    CHECK_FALSE(*heard);
  }
  SECTION("silence") {
    begin(10ms);
    run_until(context, [&] { return heard.has_value(); });
    CHECK_FALSE(*heard);
  }
  SECTION("half of a handshake, then silence, or the end") {
    const bool leaves = GENERATE(true, false);
    begin(leaves ? 60'000ms : 10ms);
    asio::write(pair.peer, asio::buffer(std::string("\x16\x03\x01\x02\x00\x01", 6)));
    if (leaves) pair.peer.close();
    run_until(context, [&] { return heard.has_value(); });
    CHECK(heard->code == (leaves ? net_errc::broken_handshake : net_errc::timed_out));
  }
}

TEST_CASE("Tls: new files are used by new connections; files that are refused change nothing", "[net][tls]") {
  asio::io_context context{1};
  const Authority ours{"ours"};
  const Authority theirs{"theirs"};
  const support::TempDirectory directory;
  const std::string path = (directory / "tls").string();
  ours.issue_in(path, CertificateWish{here});
  const auto tls = Tls::from_directory(path, TlsOptions{{"*"}, 30s, 1000});
  const auto of_ours = any_of(ours.issue("client", here));
  const auto of_theirs = any_of(theirs.issue("client", here));
  TlsPair before{context, tls, of_ours};
  REQUIRE_FALSE(before.of_server);
  const auto expires = tls->expires();
  CHECK(expires > std::chrono::system_clock::now() + 23h);

  Error error;
  const auto refresh = [&] { tls->refresh({}, nullptr, error); };
  refresh();
  CHECK_FALSE(error);
  std::filesystem::copy_file(theirs.issue("other", here).certificate, path + "/tls.crt",
                             std::filesystem::copy_options::overwrite_existing);
  refresh();
  CHECK(error.code == net_errc::bad_tls_file);  // its key is not there yet
  CHECK_THAT(error.where, ContainsSubstring("it is not the key of"));
  refresh();
  CHECK_FALSE(error);  // reported once
  CHECK_FALSE(TlsPair(context, tls, of_ours).of_server);
  std::filesystem::resize_file(path + "/tls.key", 10);
  refresh();
  CHECK(error.code == net_errc::bad_tls_file);
  CHECK(tls->expires() == expires);

  theirs.issue_in(path, {here, -2, 5});
  refresh();
  CHECK_FALSE(error);
  CHECK(TlsPair(context, tls, of_ours).of_client.code == net_errc::untrusted);
  CHECK_FALSE(TlsPair(context, tls, of_theirs).of_server);
  CHECK(tls->expires() > expires);

  // An earlier connection continues.
  std::error_code ec;
  const ByteView text = distrib::as_bytes("still");
  CHECK(before.server->write_some(distrib::detail::WritePieces{std::span{&text, 1}, 0}, ec) == 5);
  std::array<std::byte, 9> read{};
  CHECK(before.client->read_some(distrib::ReadSpace{read}, ec) == 5);
  CHECK(distrib::as_text(std::span{read}.first(5)) == "still");
}

TEST_CASE("Tls: new files are not used if the names of the certificate do not fit", "[net][tls]") {
  const Authority ours{"ours"};
  const support::TempDirectory directory;
  const std::string path = directory.path().string();
  ours.issue_in(path, {"DNS:ps0.example"});
  const auto tls = Tls::from_directory(path);
  const auto expires = tls->expires();
  const ClientRules rules{{"ps0.example", "w0.example"}};
  Error error;
  ours.issue_in(path, {"DNS:ps7.example", -2, 5});
  tls->refresh("ps0.example", nullptr, error);
  CHECK(error.code == net_errc::untrusted);
  CHECK_THAT(error.where, ContainsSubstring("ps7.example") && ContainsSubstring("must be for ps0.example"));
  tls->refresh("ps0.example", nullptr, error);
  CHECK_FALSE(error);  // reported once
  ours.issue_in(path, {"DNS:ps8.example", -2, 5});
  tls->refresh({}, &rules, error);
  CHECK(error.code == net_errc::untrusted);
  CHECK_THAT(error.where, ContainsSubstring("must be for ps0.example or w0.example"));
  CHECK(tls->expires() == expires);
  tls->check("ps0.example", rules, error);
  CHECK_FALSE(error);
  ours.issue_in(path, {"DNS:ps0.example", -2, 5});
  tls->refresh("ps0.example", &rules, error);
  CHECK_FALSE(error);
  CHECK(tls->expires() > expires);
}

TEST_CASE("Tls: files that were refused are used when the reason has passed", "[net][tls]") {
  const Authority ours{"ours"};
  const support::TempDirectory directory;
  const std::string path = directory.path().string();
  ours.issue_in(path, {here});
  const auto tls = Tls::from_directory(path);
  const auto expires = tls->expires();
  CertificateWish early{here, 0, 5};  // as from an issuer whose clock is ahead
  early.from_seconds = 2;
  ours.issue_in(path, early);
  Error error;
  tls->refresh({}, nullptr, error);
  CHECK(error.code == net_errc::untrusted);
  CHECK_THAT(error.where, ContainsSubstring("not yet valid"));
  const auto until = support::now() + 60s;
  while (tls->expires() == expires && support::now() < until) {
    tls->refresh({}, nullptr, error);
    CHECK_FALSE(error);
  }
  CHECK(tls->expires() > expires);
}

TEST_CASE("Tls: files behind the link that Kubernetes replaces", "[net][tls]") {
  asio::io_context context{1};
  const Authority ours{"ours"};
  const Authority theirs{"theirs"};
  const support::TempDirectory directory;
  const std::string path = (directory / "volume").string();
  ours.issue_in(path + "/..1", {here});
  theirs.issue_in(path + "/..2", {here});
  std::filesystem::create_directory_symlink("..1", path + "/..data");
  for (const char* name : {"tls.crt", "tls.key", "ca.crt"})
    std::filesystem::create_symlink(std::string{"..data/"} + name, path + "/" + name);
  const auto tls = Tls::from_directory(path, TlsOptions{{"*"}, 30s, 1000});
  const auto client = any_of(theirs.issue("client", here));
  CHECK(TlsPair(context, tls, client).of_client.code == net_errc::untrusted);
  std::filesystem::create_directory_symlink("..2", path + "/..new");
  std::filesystem::rename(path + "/..new", path + "/..data");
  std::filesystem::remove_all(path + "/..1");
  Error error;
  tls->refresh({}, nullptr, error);
  CHECK_FALSE(error);
  CHECK_FALSE(TlsPair(context, tls, client).of_server);
}

TEST_CASE("Tls: a zero byte in a name of a certificate ends no comparison", "[net][tls]") {
  const support::Certificate certificate{::X509_new()};
  ::GENERAL_NAMES* const names = sk_GENERAL_NAME_new_null();
  ::ASN1_IA5STRING* const text = ::ASN1_IA5STRING_new();
  const std::string name{"w0.job.example\0.other.example", 29};
  REQUIRE(::ASN1_STRING_set(text, name.data(), static_cast<int>(name.size())) == 1);
  ::GENERAL_NAME* const one = ::GENERAL_NAME_new();
  ::GENERAL_NAME_set0_value(one, GEN_DNS, text);
  sk_GENERAL_NAME_push(names, one);
  REQUIRE(::X509_add1_ext_i2d(certificate.get(), NID_subject_alt_name, names, 0, 0) == 1);
  ::GENERAL_NAMES_free(names);
  REQUIRE(distrib::detail::names_of(certificate.get()).size() == 1);
  CHECK(distrib::detail::names_of(certificate.get())[0].text == name);
  CHECK_FALSE(distrib::detail::matches_pattern(certificate.get(), "*.job.example"));
  CHECK_FALSE(distrib::detail::matches_pattern(certificate.get(), "w0.job.example"));
}

TEST_CASE("Tls: a key file that other users may read is told", "[net][tls]") {
  const Authority ours{"ours"};
  const TlsFiles files = ours.issue("task", here);
  CHECK(any_of(files)->exposed().empty());
  std::filesystem::permissions(files.key, std::filesystem::perms{0644});
  CHECK(any_of(files)->exposed() == files.key);
}

TEST_CASE("Tls: one thread refreshes while another makes connections", "[net][tls]") {
  const Authority ours{"ours"};
  const TlsFiles files = ours.issue("task", here);
  const auto tls = any_of(files);
  std::thread loader{[&] {
    for (int i = 0; i < 10; ++i) {
      static_cast<void>(ours.issue("task", here));
      Error error;
      tls->refresh({}, nullptr, error);
    }
  }};
  for (int i = 0; i < 30; ++i) CHECK(tls->connect_layer("localhost") != nullptr);
  loader.join();
}

TEST_CASE("Tls: of the job", "[net][tls]") {
  const Authority ours{"ours"};
  const support::TempDirectory directory;
  const std::string path = directory.path().string();
  ::unsetenv("DISTRIB_TLS_DIRECTORY");
  CHECK(Tls::of_job() == nullptr);
  ::setenv("DISTRIB_TLS_DIRECTORY", "", 1);
  CHECK(Tls::of_job() == nullptr);
  ::setenv("DISTRIB_TLS_DIRECTORY", path.c_str(), 1);
  Error error;
  CHECK(Tls::of_job(error) == nullptr);
  CHECK(error.code == distrib::failure::not_found);
  CHECK(error.where == path + "/tls.crt");
  ours.issue_in(path, {"DNS:admin.example"});
  ::setenv("DISTRIB_TLS_PEERS", "other.example,,admin.example", 1);
  const auto tls = Tls::of_job();
  REQUIRE(tls != nullptr);
  tls->check("admin.example", {}, error);
  CHECK_FALSE(error);
  CHECK(tls->refresh_every() == 30s);
  ::setenv("DISTRIB_TLS_REFRESH", "7", 1);
  CHECK(Tls::of_job()->refresh_every() == 7s);
  for (const char* const bad : {"", "0", "-1", "1.5", "86401", "5s"}) {
    ::setenv("DISTRIB_TLS_REFRESH", bad, 1);
    CHECK(Tls::of_job(error) == nullptr);
    CHECK(error.code == std::errc::invalid_argument);
    CHECK_THAT(error.where, ContainsSubstring(std::string{"DISTRIB_TLS_REFRESH="} + bad + " ("));
  }
  ::unsetenv("DISTRIB_TLS_REFRESH");
  ::unsetenv("DISTRIB_TLS_PEERS");
  Tls::of_job()->check("admin.example", {}, error);
  CHECK(error.code == net_errc::untrusted);
  ::unsetenv("DISTRIB_TLS_DIRECTORY");
}

TEST_CASE("Tls: each connection has bytes of its own, the same at both ends", "[net][tls]") {
  asio::io_context context{1};
  const TlsPair first{context, tls_ends::ours(), tls_ends::ours()};
  const TlsPair second{context, tls_ends::ours(), tls_ends::ours()};
  CHECK(first.server->binding() == first.client->binding());
  CHECK(first.server->binding() != second.server->binding());
  CHECK(first.server->binding() != distrib::ChannelBinding{});
}

TEST_CASE("Connection: over TLS, bytes in both directions, in many sizes, with new keys at any record", "[net][tls]") {
  TlsOptions options;
  options.peers = {"*"};
  options.records_per_key = GENERATE(1U, 2U, 3U, 1U << 23);
  Talk talk{Tls::from_files(tls_ends::authority().issue("keys", here), options)};
  std::string first;
  std::string second;
  for (const std::size_t size : {1U, 2U, 776U, 777U, 778U, 16383U, 16384U, 16385U, 65536U, 1000003U}) {
    talk.one->core().pending.push_back(noise(size, 1));
    talk.one->core().pending.emplace_back();
    first += talk.one->core().pending[talk.one->core().pending.size() - 2];
    talk.other->core().pending.push_back(noise(size, 2));
    second += talk.other->core().pending.back();
  }
  for (int i = 0; i < 200; ++i) {  // more pieces than the system accepts at once
    talk.one->core().pending.push_back(noise(9, 3));
    first += talk.one->core().pending.back();
  }
  talk.settle();
  run_until(talk.context, [&] {
    return talk.one->core().received.size() >= second.size() && talk.other->core().received.size() >= first.size();
  });
  CHECK((talk.one->core().received == second));
  CHECK((talk.other->core().received == first));
}

namespace {

/// A client that is OpenSSL alone, over memory, so that a test decides what the socket of the layer gets and when.
struct BareClient {
  BareClient() {
    const TlsFiles files = tls_ends::authority().issue("bare", here);
    REQUIRE(::SSL_CTX_use_certificate_file(context.get(), files.certificate.c_str(), SSL_FILETYPE_PEM) == 1);
    REQUIRE(::SSL_CTX_use_PrivateKey_file(context.get(), files.key.c_str(), SSL_FILETYPE_PEM) == 1);
    ssl.reset(::SSL_new(context.get()));
    ::SSL_set_bio(ssl.get(), arrives, leaves);
    ::SSL_set_connect_state(ssl.get());
    // Not TCP: these sockets take 100 KB before the other end reads any of it.
    asio::local::connect_pair(near, far);
    near.non_blocking(true);
    far.non_blocking(true);
  }

  void send() {
    char* bytes = nullptr;
    const long count = BIO_get_mem_data(leaves, &bytes);
    if (count > 0) REQUIRE(::send(far.native_handle(), bytes, static_cast<std::size_t>(count), 0) == count);
    static_cast<void>(BIO_reset(leaves));
  }
  /// Completes the handshake of both ends.
  void handshake(distrib::SecureLayer& layer) {
    Error error;
    for (bool is_open = false; !is_open;) {
      const bool is_done = ::SSL_do_handshake(ssl.get()) == 1;
      send();
      is_open = layer.handshake(near.native_handle(), error) == distrib::SecureLayer::Wait::none;
      REQUIRE_FALSE(error);
      std::array<char, 8192> part{};
      const ::ssize_t count = is_done ? 0 : ::recv(far.native_handle(), part.data(), part.size(), 0);
      if (count > 0) REQUIRE(::BIO_write(arrives, part.data(), static_cast<int>(count)) == count);
    }
  }
  /// Sends records that ask for nothing but a new key, or also for the new key of the other end.
  void update_keys(int times, int how) {
    for (int i = 0; i < times; ++i) {
      ::SSL_key_update(ssl.get(), how);
      REQUIRE(::SSL_do_handshake(ssl.get()) == 1);
    }
    send();
  }
  asio::io_context io{1};
  distrib::detail::SslContext context{::SSL_CTX_new(::TLS_client_method())};
  ::BIO* arrives = ::BIO_new(::BIO_s_mem());
  ::BIO* leaves = ::BIO_new(::BIO_s_mem());
  distrib::detail::Ssl ssl;
  asio::local::stream_protocol::socket near{io};
  asio::local::stream_protocol::socket far{io};
};

}  // namespace

TEST_CASE("TlsLayer: a peer that sends records without data lets other connections have their turn", "[net][tls]") {
  BareClient client;
  const auto layer = tls_ends::ours()->accept_layer(std::make_shared<const ClientRules>());
  client.handshake(*layer);
  std::array<std::byte, 100> space{};
  std::error_code ec;
  const auto read = [&] { return layer->read(client.near.native_handle(), space, {}, ec); };
  client.update_keys(4'000, SSL_KEY_UPDATE_NOT_REQUESTED);
  CHECK(client.near.available() > 100'000);
  CHECK(read() == 0);
  CHECK(ec == asio::error::would_block);
  CHECK(client.near.available() > 30'000);
  CHECK_FALSE(layer->holds_bytes());
  while (client.near.available() != 0) CHECK(read() == 0);
  REQUIRE(::SSL_write(client.ssl.get(), "data", 4) == 4);
  client.send();
  CHECK(read() == 4);
  CHECK(distrib::as_text(std::span{space}.first(4)) == "data");
}

TEST_CASE("TlsLayer: a peer that asks for answers and reads none is disconnected", "[net][tls]") {
  BareClient client;
  const auto layer = tls_ends::ours()->accept_layer(std::make_shared<const ClientRules>());
  client.handshake(*layer);
  std::array<std::byte, 100> space{};
  std::error_code ec = asio::error::would_block;
  int rounds = 0;
  for (; ec == asio::error::would_block && rounds < 10'000; ++rounds) {
    client.update_keys(100, SSL_KEY_UPDATE_REQUESTED);
    CHECK(layer->read(client.near.native_handle(), space, {}, ec) == 0);
  }
  CHECK(ec == net_errc::truncated);
  CHECK(layer->holds_bytes());  // the failure
  CHECK(rounds > 10);
}

TEST_CASE("Connection: over TLS, the bytes arrive one at a time", "[net][tls]") {
  asio::io_context context{1};
  support::SocketPair left{context};
  support::SocketPair right{context};
  const std::size_t step = GENERATE(1U, 3U);
  support::SocketPair far{context};
  const auto copy = [](TcpSocket& of) {
    return TcpSocket{of.get_executor(), asio::ip::tcp::v4(), ::dup(of.native_handle())};
  };
  SlowWire there{copy(left.peer), copy(right.peer), step};
  SlowWire back{copy(right.peer), copy(left.peer), step};
  there.run();
  back.run();
  far.socket = std::move(left.socket);
  far.peer = std::move(right.socket);
  TlsPair ends{context, std::move(far), tls_ends::ours(), tls_ends::ours(), "localhost", {}};
  REQUIRE_FALSE(ends.of_server);
  REQUIRE_FALSE(ends.of_client);
  TlsOwner owner;
  const auto one = std::make_shared<TlsTapeConnection>(*std::move(ends.server), owner);
  const auto other = std::make_shared<TlsTapeConnection>(*std::move(ends.client), owner);
  const std::string text = noise(20'000, 4);
  one->core().pending = {text};
  other->core().pending = {text};
  one->settle();
  other->settle();
  run_until(context,
            [&] { return one->core().received.size() == text.size() && other->core().received.size() == text.size(); });
  CHECK((one->core().received == text));
  CHECK((other->core().received == text));
  one->close();
  other->close();
}

TEST_CASE("Connection: over TLS, the peer gets the end, and the output under way arrives", "[net][tls]") {
  Talk talk;
  if (GENERATE(true, false)) talk.settle();  // a read is under way
  const std::string last = noise(3'000'000, 5);
  talk.one->core().pending = {last};
  talk.one->core().is_finished = true;
  talk.other->core().pending = {noise(2'000'000, 6)};  // the other end drops these, and does not reset the connection
  talk.settle();
  run_until(talk.context, [&] { return talk.other->core().losses == 1; });
  CHECK((talk.other->core().received == last));
  CHECK_FALSE(talk.other->core().reason);  // no reason: the peer has sent its end
  run_until(talk.context, [&] { return !talk.one->is_open(); });
  talk.context.restart();
  talk.context.run();  // nothing is left to do
}

TEST_CASE("Connection: over TLS, a finished end waits until the peer has read everything", "[net][tls]") {
  Talk talk;
  talk.one->settle();  // a read is under way when the end is sent
  const std::string last = noise(100'000, 9);
  talk.one->core().pending = {last};
  talk.one->core().is_finished = true;
  talk.one->settle();
  talk.other->core().wants_bytes = false;
  for (int i = 0; i < 3; ++i) {
    talk.context.restart();
    while (talk.context.poll() != 0) continue;  // in the first round the end is sent
    CHECK(talk.one->is_open());
    talk.other->core().pending = {"not done yet"};
    talk.other->settle();
  }
  talk.other->core().wants_bytes = true;
  talk.other->settle();
  run_until(talk.context, [&] { return talk.other->core().losses == 1; });
  CHECK((talk.other->core().received == last));
  CHECK_FALSE(talk.other->core().reason);
  run_until(talk.context, [&] { return !talk.one->is_open(); });
}

TEST_CASE("Connection: over TLS, both ends finish at the same time", "[net][tls]") {
  Talk talk;
  for (const auto& end : {talk.one, talk.other}) {
    end->core().pending = {noise(100'000, 7)};
    end->core().is_finished = true;
  }
  talk.settle();
  talk.context.restart();
  talk.context.run();
  CHECK_FALSE(talk.one->is_open());
  CHECK_FALSE(talk.other->is_open());
}

TEST_CASE("Connection: over TLS, an end without a close_notify is an error", "[net][tls]") {
  Talk talk;
  talk.settle();
  talk.one->close();
  run_until(talk.context, [&] { return talk.other->core().losses == 1; });
  CHECK(talk.other->core().reason == net_errc::truncated);
}

TEST_CASE("Connection: over TLS, closed by the peer during a long write", "[net][tls]") {
  Talk talk;
  talk.one->core().pending = {noise(20'000'000, 8)};
  talk.settle();
  run_until(talk.context, [&] { return talk.other->core().received.size() > 100'000; });
  talk.other->close();
  run_until(talk.context, [&] { return talk.one->core().losses == 1; });
  CHECK(talk.one->core().reason);
  talk.context.restart();
  talk.context.run();
}

TEST_CASE("Connection: over TLS, a peer can delay the end only for the linger time", "[net][tls]") {
  Talk talk;
  talk.one->set_linger(20ms);
  talk.one->core().is_finished = true;
  if (GENERATE(true, false)) {
    talk.one->core().is_finished = false;
    talk.one->settle();
    talk.one->core().is_finished = true;
  }
  talk.one->settle();  // `other` never reads or closes
  int handlers = 0;
  run_until(talk.context, [&] { return ++handlers == 100 || !talk.one->is_open(); });
  CHECK(handlers < 100);  // it waits without polling
}

TEST_CASE("Connection: over TLS, released to another thread with what was read ahead", "[net][tls]") {
  asio::io_context context{1};
  asio::io_context other_context{1};
  TlsPair ends{context, tls_ends::ours(), tls_ends::ours()};
  TlsOwner owner;
  const auto client = std::make_shared<TlsTapeConnection>(*std::move(ends.client), owner);
  auto accepted = std::make_shared<TlsTapeConnection>(*std::move(ends.server), owner);
  const std::string text = noise(3'000'000, 11);
  client->core().pending = {text};
  client->settle();
  accepted->settle();
  run_until(context, [&] { return !accepted->core().received.empty(); });
  auto [stream, core] = accepted->release(other_context.get_executor());
  accepted.reset();
  const auto moved = std::make_shared<TlsTapeConnection>(std::move(stream), owner, std::move(core));
  std::thread thread{[&] {
    moved->settle();
    run_until(other_context, [&] { return moved->core().received.size() == text.size(); });
    moved->core().pending = {"all of it"};
    moved->settle();
    moved->close();
  }};
  run_until(context, [&] { return client->core().losses == 1; });
  thread.join();
  CHECK((moved->core().received == text));
  CHECK(client->core().received == "all of it");
  client->close();
}
#endif
