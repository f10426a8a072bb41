// SPDX-License-Identifier: Apache-2.0
// A peer that does not use the protocol, or announces more than is allowed, is disconnected at once and costs no
// memory.
#include <distrib/rpc/client_core.hpp>
#include <distrib/rpc/server_core.hpp>

#include "rpc/stream.hpp"
#include "support/catch.hpp"
#include "support/counted_memory.hpp"

#include <chrono>
#include <string>
#include <vector>

using distrib::FrameKind;
using distrib::rpc_errc;
using stream::Bytes;
using namespace std::chrono_literals;

namespace {

const distrib::Instant now{1h};

auto garbage() -> Bytes { return Bytes(4096, std::byte{'G'}); }

/// Returns a header with a right checksum, and nothing after it.
auto announces(FrameKind kind, std::uint32_t head, std::uint32_t body) -> Bytes {
  const auto header = distrib::encode_frame_header({kind, 0, 0, head, 0, body});
  return {header.begin(), header.end()};
}

/// Returns how many bytes the core allocates while it receives these bytes in pieces, until it reads no more.
template <class Core, class Event>
auto costs(Core& core, Event event, const Bytes& bytes, std::size_t piece) -> std::size_t {
  std::vector<std::byte> lent(distrib::least_read_bytes);
  const std::size_t before = support::allocated;
  for (std::size_t at = 0; at < bytes.size() && core.reads();) {
    const auto space = core.read_space(lent).front;
    const std::size_t count = std::min({piece, space.size(), bytes.size() - at});
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), count, space.begin());
    core.bytes_read(count, now);
    at += count;
    while (core.next(now, event)) {
    }
    core.keep();
  }
  return support::allocated - before;
}

auto greet(distrib::ServerCore& server) -> void {
  distrib::ClientCore client{distrib::RpcClientOptions{}, now};
  static_cast<void>(costs(server, distrib::ServerEvent{}, stream::take_output(client, now), 4096));
  stream::take_output(server, now);
}

constexpr std::size_t a_few_bytes = 1024;  // an answer with the reason, and what is kept between two reads

}  // namespace

TEST_CASE("Rpc stranger: memory is counted", "[simulation]") {
  const std::size_t before = support::allocated;
  const distrib::AlignedBuffer buffer(5'000);
  const std::vector<char> other(3'000);
  if (DISTRIB_TEST_COUNTS_MEMORY) CHECK(support::allocated - before >= 8'000);
}

TEST_CASE("Rpc stranger: bytes of another protocol end a server's connection at once and cost no memory",
          "[simulation]") {
  for (const std::size_t piece : {1U, 31U, 4096U}) {
    CAPTURE(piece);
    distrib::ServerCore unknown{distrib::RpcServerOptions{}, now};
    CHECK(costs(unknown, distrib::ServerEvent{}, garbage(), piece) < a_few_bytes);
    CHECK(unknown.finished());
    CHECK(unknown.reason() == rpc_errc::not_ours);
    CHECK(unknown.output().empty());

    distrib::ServerCore known{distrib::RpcServerOptions{}, now};
    greet(known);
    CHECK(costs(known, distrib::ServerEvent{}, garbage(), piece) < a_few_bytes);
    CHECK(known.finished());
  }
}

TEST_CASE("Rpc stranger: a header that announces 4 GiB ends a server's connection before memory is allocated",
          "[simulation]") {
  for (const auto& bytes : {announces(FrameKind::request, 0xffffffff, 0), announces(FrameKind::request, 8, 0xffffffff),
                            announces(FrameKind::request, 8, (256U << 20) + 1)}) {
    distrib::ServerCore unknown{distrib::RpcServerOptions{}, now};
    CHECK(costs(unknown, distrib::ServerEvent{}, bytes, 7) < a_few_bytes);
    CHECK(unknown.reason() == rpc_errc::too_large);

    distrib::ServerCore known{distrib::RpcServerOptions{}, now};
    greet(known);
    CHECK(costs(known, distrib::ServerEvent{}, bytes, 7) < a_few_bytes);
    CHECK(known.reason() == rpc_errc::too_large);
    CHECK_FALSE(known.output().empty());  // the client gets the reason
  }
  // Before the greeting even a size that is allowed afterwards is too large.
  distrib::ServerCore unknown{distrib::RpcServerOptions{}, now};
  CHECK(costs(unknown, distrib::ServerEvent{}, announces(FrameKind::greeting, 5'000, 0), 32) < a_few_bytes);
  CHECK(unknown.reason() == rpc_errc::too_large);
}

TEST_CASE("Rpc stranger: a client that reached another program gives up at once, and its calls fail", "[simulation]") {
  for (const auto& [bytes, why] : {std::pair{garbage(), rpc_errc::not_ours},
                                   std::pair{announces(FrameKind::reply, 0xffffffff, 0), rpc_errc::too_large},
                                   std::pair{announces(FrameKind::greeting, 0, 1), rpc_errc::too_large}}) {
    distrib::ClientCore client{distrib::RpcClientOptions{}, now};
    static_cast<void>(client.call(1, {}, nullptr, {}, now));
    stream::take_output(client, now);
    CHECK(costs(client, distrib::ClientEvent{}, bytes, 100) < a_few_bytes);
    CHECK(client.finished());
    CHECK(client.calls() == 0);
    CHECK(client.reason().code == why);
  }
}

TEST_CASE("Rpc stranger: half a frame costs the bytes that arrived, or, if it is large, its body", "[simulation]") {
  distrib::ServerCore server{distrib::RpcServerOptions{}, now};
  greet(server);
  auto half = stream::frame({FrameKind::request, 0, 1, 0, std::uint64_t{1} << 32, 0}, std::string(1'000, 'h'));
  half.resize(500);
  CHECK(costs(server, distrib::ServerEvent{}, half, 500) <= 500);
  CHECK_FALSE(server.finished());
}
