// SPDX-License-Identifier: Apache-2.0
// Access control: a server that shows a certificate, and requires one and a shared secret; a client that has both, and
// two clients that do not. The program makes its files and removes them again; a real job has its own.
#include <distrib/net/tls/tls.hpp>
#include <distrib/rpc.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

namespace {

using namespace std::chrono_literals;

struct Echo : distrib::Method<"example.Echo", std::string, std::string> {};

constexpr const char* make_files =
    "set -e; umask 077; head -c 32 /dev/urandom | base64 >secret; openssl req -x509 -newkey ec "
    "-pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout tls.key -out tls.crt -days 1 -subj /CN=localhost "
    "-addext subjectAltName=DNS:localhost,IP:127.0.0.1 2>/dev/null; cp tls.crt ca.crt";

/// Makes one call, and prints its result.
void call(asio::io_context& context, const distrib::Address& server, const distrib::RpcClientOptions& known,
          const char* who) {
  distrib::RpcClientPoolOptions options;
  options.client = known;
  options.fail_fast = true;  // a client that is refused now would be refused later, too
  distrib::RpcClientPool client{context.get_executor(), server, options};
  bool done = false;
  client.async_call<Echo>("hello", 5s, [&](std::error_code ec, const std::string& reply) {
    std::printf("%s: %s\n", who, ec ? ec.message().c_str() : reply.c_str());
    done = true;
  });
  while (!done) context.run_one();
}

}  // namespace

auto main() -> int try {
  std::string directory = (std::filesystem::temp_directory_path() / "distrib-XXXXXX").string();
  if (::mkdtemp(directory.data()) == nullptr) return 1;
  if (std::system(("cd '" + directory + "' && { " + make_files + "; }").c_str()) != 0) return 1;

  asio::io_context context{1};
  distrib::RpcServerOptions options;
  options.secret = distrib::SharedSecret::from_file(directory + "/secret");
  distrib::TlsOptions who;
  who.peers = {"localhost"};  // clients whose certificate is for this name
  options.transport = distrib::Tls::from_directory(directory, who);
  distrib::RpcServer server{context.get_executor(),
                            {"127.0.0.1", 0},
                            distrib::Router{distrib::on<Echo>([](std::string text) { return text; })},
                            options};

  const distrib::Address address{"127.0.0.1", server.port()};
  distrib::RpcClientOptions known;
  known.secret = options.secret;
  known.transport = options.transport;
  call(context, address, known, "with secret and certificate");
  known.secret = {};
  call(context, address, known, "without the secret");
  known.transport = distrib::Tls::from_files({{}, {}, directory + "/ca.crt"});
  call(context, address, known, "without the certificate");
  std::filesystem::remove_all(directory);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
