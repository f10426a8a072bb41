// SPDX-License-Identifier: Apache-2.0
#if __has_include(<openssl/ssl.h>)
#include <distrib/net/tls/tls.hpp>

#include <distrib/net/connection.hpp>

#include "support/catch.hpp"
#include "support/certificates.hpp"
#include "support/loopback.hpp"
#include "support/noise.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
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
using distrib::Error;
using distrib::net_errc;
using distrib::TcpSocket;
using distrib::TlsContext;
using distrib::TlsFiles;
using distrib::TlsSide;
using distrib::TlsStream;
using support::noise;
using support::run_until;
using namespace std::chrono_literals;

namespace {

const std::string here = "DNS:localhost,IP:127.0.0.1";

auto made_by(const support::Authority& authority, TlsFiles files) -> TlsFiles {
  files.authority = authority.file();
  return files;
}

auto trusting(const support::Authority& authority) -> TlsFiles { return {{}, {}, authority.file()}; }

/// Both ends of a handshake, and the error of each.
struct Ends {
  Ends(asio::io_context& context, const TlsContext& server_context, const TlsContext& client_context,
       const std::string& host = "localhost") {
    support::SocketPair pair{context};
    server.emplace(server_context.stream(std::move(pair.socket)));
    client.emplace(client_context.stream(std::move(pair.peer), host));
    int open = 2;
    server->async_handshake(asio::ssl::stream_base::server, [&](const std::error_code& ec) {
      --open;
      if (ec) of_server = distrib::detail::tls_error(ec, *server, "server's peer");
      if (ec) server->lowest_layer().close();
    });
    client->async_handshake(asio::ssl::stream_base::client, [&](const std::error_code& ec) {
      --open;
      if (ec) of_client = distrib::detail::tls_error(ec, *client, "client's peer");
      if (ec) client->lowest_layer().close();
    });
    run_until(context, [&] { return open == 0; });
  }

  std::optional<TlsStream> server;
  std::optional<TlsStream> client;
  Error of_server;
  Error of_client;
};

auto failure_of(TlsSide side, const TlsFiles& files) -> Error {
  Error error;
  const TlsContext context{side, files, error};
  REQUIRE(error);
  CHECK_THROWS_AS(TlsContext(side, files), std::system_error);
  return error;
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

using TlsTapeConnection = distrib::Connection<TlsTape, TlsOwner, TlsStream>;

struct Talk {
  asio::io_context context{1};
  support::Authority authority{"ours"};
  TlsOwner owner;
  std::shared_ptr<TlsTapeConnection> one;
  std::shared_ptr<TlsTapeConnection> other;

  Talk() {
    Ends ends{context, TlsContext{TlsSide::server, authority.issue("server", here)},
              TlsContext{TlsSide::client, trusting(authority)}};
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

}  // namespace

TEST_CASE("TlsContext: invalid files are refused with their path", "[net][tls]") {
  const support::Authority authority{"ours"};
  const TlsFiles good = authority.issue("good", here);
  const TlsFiles other = authority.issue("other", here);
  const std::string missing = authority.path("missing.pem");
  const std::string garbage = authority.path("garbage.pem");
  std::ofstream{garbage} << "-----BEGIN CERTIFICATE-----\nnothing\n";

  CHECK(failure_of(TlsSide::server, {missing, good.key, {}}).code == distrib::failure::not_found);
  CHECK(failure_of(TlsSide::server, {missing, good.key, {}}).where == missing);
  CHECK(failure_of(TlsSide::server, {good.certificate, missing, {}}).where == missing);
  CHECK(failure_of(TlsSide::client, {{}, {}, missing}).where == missing);
  for (const Error& error :
       {failure_of(TlsSide::server, {garbage, good.key, {}}),
        failure_of(TlsSide::server, {good.certificate, garbage, {}}), failure_of(TlsSide::client, {{}, {}, garbage})}) {
    CHECK(error.code == net_errc::bad_tls_file);
    CHECK_THAT(error.where, ContainsSubstring(garbage + " ("));
  }
  CHECK(failure_of(TlsSide::server, {}).code == net_errc::bad_tls_file);
  CHECK(failure_of(TlsSide::server, {good.certificate, {}, {}}).code == net_errc::bad_tls_file);
  CHECK(failure_of(TlsSide::server, {good.certificate, other.key, {}}).code == net_errc::bad_tls_file);
  CHECK_NOTHROW(TlsContext(TlsSide::client, {}));  // uses the authorities of the system
}

TEST_CASE("TlsContext: a key with a passphrase is refused, and the terminal is not asked for it", "[net][tls]") {
  const support::Authority authority{"ours"};
  TlsFiles files = authority.issue("locked", here);
  const support::Key key{::EVP_EC_gen("P-256")};
  std::FILE* const file = std::fopen(files.key.c_str(), "w");
  REQUIRE(file != nullptr);
  std::string phrase = "phrase";
  REQUIRE(::PEM_write_PrivateKey(file, key.get(), ::EVP_aes_128_cbc(), reinterpret_cast<unsigned char*>(phrase.data()),
                                 static_cast<int>(phrase.size()), nullptr, nullptr) == 1);
  REQUIRE(std::fclose(file) == 0);
  CHECK(failure_of(TlsSide::server, files).code == net_errc::bad_tls_file);
}

TEST_CASE("TlsContext: which certificates are trusted", "[net][tls]") {
  asio::io_context context{1};
  const support::Authority ours{"ours"};
  const support::Authority theirs{"theirs"};
  const TlsContext server{TlsSide::server, ours.issue("server", here)};
  const TlsContext strict{TlsSide::server, made_by(ours, ours.issue("server2", here))};
  const TlsContext client{TlsSide::client, trusting(ours)};

  for (const char* host : {"localhost", "127.0.0.1", ""}) {
    const Ends ends{context, server, client, host};
    CHECK_FALSE(ends.of_server);
    CHECK_FALSE(ends.of_client);
  }
  struct Row {
    TlsContext server;
    TlsContext client;
    const char* host;
    const char* client_says;
    const char* server_says;
  };
  const Row rows[] = {
      {server, TlsContext{TlsSide::client, trusting(theirs)}, "localhost", "issuer certificate", "unknown ca"},
      {server, TlsContext{TlsSide::client, {}}, "localhost", "issuer certificate", "unknown ca"},
      {server, client, "ps0.example", "hostname mismatch", "bad certificate"},
      {server, client, "127.0.0.2", "IP address mismatch", "bad certificate"},
      {server, client, "::1", "IP address mismatch", "bad certificate"},
      {TlsContext{TlsSide::server, ours.issue("old", here, -1)}, client, "localhost", "expired", "expired"},
      {strict, client, "localhost", nullptr, "did not return a certificate"},
      {strict, TlsContext{TlsSide::client, made_by(ours, theirs.issue("stranger", here))}, "localhost", nullptr,
       "issuer certificate"},
  };
  for (const Row& row : rows) {
    const Ends ends{context, row.server, row.client, row.host};
    CAPTURE(row.host, row.server_says);
    CHECK(ends.of_server.code == net_errc::untrusted);
    CHECK_THAT(ends.of_server.where, ContainsSubstring("server's peer (") && ContainsSubstring(row.server_says));
    if (row.client_says == nullptr) continue;  // this client gets the error when it reads first
    CHECK(ends.of_client.code == net_errc::untrusted);
    CHECK_THAT(ends.of_client.where, ContainsSubstring("client's peer (") && ContainsSubstring(row.client_says));
  }
  const Ends mutual{context, strict, TlsContext{TlsSide::client, made_by(ours, ours.issue("worker", here))}};
  CHECK_FALSE(mutual.of_server);
  CHECK_FALSE(mutual.of_client);
}

TEST_CASE("TlsContext: refuses versions before TLS 1.2", "[net][tls]") {
  asio::io_context context{1};
  const support::Authority ours{"ours"};
  const TlsContext server{TlsSide::server, ours.issue("server", here)};
  const TlsContext client{TlsSide::client, trusting(ours)};
  for (const int version : {TLS1_2_VERSION, TLS1_1_VERSION}) {
    support::SocketPair pair{context};
    TlsStream one = server.stream(std::move(pair.socket));
    TlsStream other = client.stream(std::move(pair.peer), "localhost");
    ::SSL_set_min_proto_version(other.native_handle(), version);
    ::SSL_set_max_proto_version(other.native_handle(), version);
    ::SSL_set_security_level(other.native_handle(), 0);
    int open = 2;
    std::error_code result;
    one.async_handshake(asio::ssl::stream_base::server, [&](const std::error_code& ec) {
      result = ec;
      one.lowest_layer().close();
      --open;
    });
    other.async_handshake(asio::ssl::stream_base::client, [&](const std::error_code&) { --open; });
    run_until(context, [&] { return open == 0; });
    CHECK(static_cast<bool>(result) == (version == TLS1_1_VERSION));
  }
}

TEST_CASE("TlsContext: after reload new connections use the new files; a failed reload changes nothing", "[net][tls]") {
  asio::io_context context{1};
  const support::Authority ours{"ours"};
  const support::Authority theirs{"theirs"};
  TlsContext server{TlsSide::server, ours.issue("server", here)};
  const TlsContext copy = server;
  const TlsContext client{TlsSide::client, trusting(ours)};
  Ends before{context, server, client};
  CHECK_FALSE(before.of_client);

  const TlsFiles other = theirs.issue("server", here);
  constexpr auto over = std::filesystem::copy_options::overwrite_existing;
  std::filesystem::copy_file(other.certificate, ours.path("server.pem"), over);
  Error error;
  server.reload(error);  // the certificate is new, its key is not
  CHECK(error.code == net_errc::bad_tls_file);
  CHECK_FALSE(Ends{context, copy, client}.of_client);

  std::filesystem::copy_file(other.key, ours.path("server.key"), over);
  server.reload();
  CHECK(Ends{context, copy, client}.of_client.code == net_errc::untrusted);
  CHECK_FALSE(Ends{context, copy, TlsContext{TlsSide::client, trusting(theirs)}}.of_client);

  // An earlier connection continues.
  asio::write(*before.server, asio::buffer("still", 5));
  char text[5];
  asio::read(*before.client, asio::buffer(text));
  CHECK(std::string(text, 5) == "still");
}

TEST_CASE("TlsContext: one thread reloads while another makes connections", "[net][tls]") {
  const support::Authority ours{"ours"};
  TlsContext tls{TlsSide::server, ours.issue("server", here)};
  std::thread loader{[tls]() mutable {
    for (int i = 0; i < 30; ++i) tls.reload();
  }};
  asio::io_context context{1};
  for (int i = 0; i < 30; ++i) CHECK(tls.stream(TcpSocket{context.get_executor()}).native_handle() != nullptr);
  loader.join();
}

TEST_CASE("Connection: over TLS, bytes in both directions, in many sizes", "[net][tls]") {
  Talk talk;
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
  talk.one->settle();  // a read is under way when the end is sent; it cannot be decrypted any more
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
  CHECK(talk.other->core().reason == asio::ssl::error::stream_truncated);
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

TEST_CASE("TlsContext: a wildcard stands for a whole part of a name, not for a piece of a part", "[net][tls]") {
  asio::io_context context{1};
  const support::Authority ours{"ours"};
  const TlsContext client{TlsSide::client, trusting(ours)};
  struct Row {
    const char* names;
    bool trusted;
  };
  for (const Row& row : {Row{"DNS:*.example.test", true}, Row{"DNS:w*.example.test", false},
                         Row{"DNS:*r.example.test", false}, Row{"DNS:worker.example.test", true}}) {
    CAPTURE(row.names);
    const TlsContext server{TlsSide::server, ours.issue("server", row.names)};
    const Ends ends{context, server, client, "worker.example.test"};
    CHECK(ends.of_client.code == (row.trusted ? std::error_code{} : make_error_code(net_errc::untrusted)));
  }
}

TEST_CASE("TlsContext: both ends set TLS 1.2 as the least version, independently of the system's default",
          "[net][tls]") {
  asio::io_context context{1};
  const support::Authority ours{"ours"};
  const TlsContext server{TlsSide::server, ours.issue("server", here)};
  const TlsContext client{TlsSide::client, trusting(ours)};
  for (const TlsContext& side : {server, client}) {
    TlsStream stream = side.stream(TcpSocket{context.get_executor()}, "localhost");
    CHECK(::SSL_ctrl(stream.native_handle(), SSL_CTRL_GET_MIN_PROTO_VERSION, 0, nullptr) == TLS1_2_VERSION);
  }
}
#endif
