// SPDX-License-Identifier: Apache-2.0
#include "expect.hpp"
#include "made_frames.hpp"
#include "targets.hpp"
#include "watched_ends.hpp"

#include <distrib/rpc/remote_error.hpp>

#include <chrono>
#include <string>

namespace fuzz {

namespace {

using distrib::FrameKind;
using namespace std::chrono_literals;

constexpr distrib::FrameLimits both_limits{30'000, 30'000};  // for the server and for the client

/// One of few ids, so that calls meet.
auto call_id(Script& script) -> std::uint64_t {
  const std::uint64_t slot = script.below(6);
  return script.below(4) << 32 | slot;
}

auto body(Script& script) -> distrib::SharedBuffer {
  const auto size = script.below(4);
  return size == 0 ? nullptr : stream::body(size == 1 ? script.number(1) : size == 2 ? 4097 : 9000);
}

auto u32(std::uint64_t number) -> std::string {
  std::array<std::byte, 4> bytes;
  distrib::store_le(bytes.data(), static_cast<std::uint32_t>(number));
  return std::string{distrib::as_text(bytes)};
}

auto request(Script& script, std::uint64_t call) -> Bytes {
  std::string head;
  const auto shape = script.below(8);
  const std::string_view metadata = distrib::as_text(script.bytes());
  const std::string_view rest = distrib::as_text(script.bytes());
  if (shape == 0) {
    head = rest;  // any bytes
  } else {
    head = u32(shape == 1 ? script.number(4) : shape == 2 ? script.number(1) : 0xffffffff);
    head += u32(shape == 3 ? script.number(4) : metadata.size());
    head += std::string{metadata} + std::string{rest};
  }
  if (shape == 4) head += std::string(17'000, 'h');
  const std::uint32_t method = 1 + (call & 1);  // bodies of method 2 are taken in chunks
  return stream::frame({FrameKind::request, 0, method, 0, call, 0}, head, body(script));
}

/// Returns any frame, with valid checksums.
auto some_frame(Script& script, std::uint64_t call) -> Bytes {
  const auto kind = static_cast<FrameKind>(1 + script.below(11));
  const auto head = script.bytes();
  const auto flags = static_cast<std::uint16_t>(script.number(1));
  return stream::frame({kind, flags, 0, 0, call, 0}, distrib::as_text(head), body(script));
}

void to_server(Script& script) {
  distrib::RpcServerOptions options;
  options.max_calls = 4;
  options.owed_bytes = 10'000;
  options.limits = both_limits;
  WatchedServer server{options, began};
  distrib::ClientCore friendly{{}, began};
  server.give(stream::take_output(friendly, began), 1000);
  expect(server.greeted, "a valid greeting is accepted");

  std::size_t requests = 0;  // number of requests that were sent
  bool intact = true;  // true if exactly these arrived
  Bytes batch;
  std::size_t piece = 1 << 20;
  const auto send = [&](const Bytes& bytes) { batch.insert(batch.end(), bytes.begin(), bytes.end()); };
  const auto deliver = [&] {
    for (int rounds = 0; rounds < 1000 && !batch.empty() && !server.core.finished(); ++rounds) {
      std::size_t sent = 0;
      while (sent < batch.size() && server.core.reads()) {
        const std::size_t count = std::min(piece, batch.size() - sent);
        server.give(ByteView{batch}.subspan(sent, count), count);  // one read, unless there is too little room
        sent += count;
      }
      batch.erase(batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(sent));
      if (!server.core.reads()) server.pump();
    }
    if (server.core.finished()) batch.clear();
    expect(batch.empty(), "the bytes of a peer that reads are accepted");
  };
  while (!script.ended()) {
    const std::uint64_t call = server.some_call(script.below(4));
    const auto known_or_not = [&] { return script.below(2) == 0 ? call : call_id(script); };
    switch (script.below(14)) {
      case 0:
      case 1:
      case 2:
        send(request(script, call_id(script)));
        ++requests;
        break;
      case 3: send(stream::frame({FrameKind::cancel, 0, 0, 0, known_or_not(), 0})); break;
      case 4: {
        const std::uint64_t number = script.number(4);
        send(stream::frame({FrameKind::credit, 0, 0, 0, known_or_not(), 0}, u32(number)));
        break;
      }
      case 5: {
        const Bytes frame = some_frame(script, call_id(script));
        intact = intact && frame[5] != std::byte{static_cast<std::uint8_t>(FrameKind::request)};
        send(frame);
        break;
      }
      case 6: {  // the bytes as they are
        intact = false;
        const ByteView raw = script.bytes();
        send({raw.begin(), raw.end()});
        break;
      }
      case 7: deliver(); break;
      case 8: piece = 1 + script.number(2); break;
      case 9: {
        server.open.erase(call);
        const auto head = script.bytes();
        server.core.reply(call, head, distrib::FrameBody{body(script)});
        break;
      }
      case 10:
        server.open.erase(call);
        server.core.fail(call, distrib::rpc_errc::exhausted, distrib::as_text(script.bytes()));
        break;
      case 11:
        for (auto items = script.below(100); items > 0; --items)
          if (!server.core.item(call, {}, distrib::FrameBody{body(script)}) && server.open.contains(call))
            server.open[call] = true;
        break;
      case 12:
        server.open.erase(call);
        server.core.end_stream(call);
        break;
      default:
        if (script.below(4) == 0) server.core.drain(server.now + std::chrono::milliseconds{script.number(2)});
        server.now += std::chrono::milliseconds{script.number(2)};
        server.core.woken(server.now);
    }
    if (server.core.reason()) server.open.clear();  // the core reports no more events of these calls
    server.take();
    server.core.keep();
  }
  deliver();
  server.pump();
  if (server.core.reason()) return;
  if (intact && !server.core.finished()) {
    const std::size_t ends = server.written.count({FrameKind::reply, FrameKind::error, FrameKind::end});
    expect(requests == ends + server.cancelled + server.open.size(), "every request ends once");
  }
  server.core.lost({});
  server.take();
  expect(server.core.finished(), "a lost connection is finished");
}

auto error_head(Script& script) -> std::string {
  distrib::WireWriter head;
  const auto shape = script.below(5);
  if (shape == 0) return std::string{distrib::as_text(script.bytes())};
  head.text(1, shape == 1 ? "distrib.rpc" : shape == 2 ? distrib::as_text(script.bytes()) : "generic");
  head.int64(2, shape == 3 ? static_cast<std::int64_t>(script.number(8)) : static_cast<std::int64_t>(script.number(1)));
  head.varint(3, script.number(1));
  head.text(4, distrib::as_text(script.bytes()));
  return std::string{distrib::as_text(head.view())};
}

void to_client(Script& script) {
  static const std::error_category* const categories[] = {&std::generic_category()};
  distrib::RpcClientOptions options;
  options.limits = both_limits;
  options.max_calls = 5;
  options.categories = categories;
  WatchedClient client{options, began};
  distrib::RpcServerOptions few;
  few.max_calls = 4;
  distrib::ServerCore friendly{few, began};
  const Bytes hello = stream::take_output(client.core, began);
  stream::give(friendly, hello, hello.size(), began);
  for (distrib::ServerEvent event; friendly.next(began, event);) {
  }
  Bytes batch = stream::take_output(friendly, began);
  std::size_t piece = 1 << 20;
  const auto send = [&](const Bytes& bytes) { batch.insert(batch.end(), bytes.begin(), bytes.end()); };
  while (!script.ended()) {
    const auto which = script.below(8);
    const std::uint64_t call = which < 6 ? client.some_call(which) : call_id(script);
    switch (script.below(12)) {
      case 0:
      case 1: {
        std::optional<distrib::Instant> deadline;
        if (script.below(2) == 0) deadline = client.now + std::chrono::milliseconds{script.number(2)};
        const auto head = script.bytes();
        client.call(head, distrib::FrameBody{body(script)}, deadline);
        break;
      }
      case 2: client.core.cancel(call); break;
      case 3: {
        const auto head = script.bytes();
        send(stream::frame({FrameKind::reply, 0, 0, 0, call, 0}, distrib::as_text(head), body(script)));
        break;
      }
      case 4: send(stream::frame({FrameKind::error, 0, 0, 0, call, 0}, error_head(script))); break;
      case 5:
        for (auto items = 1 + script.below(100); items > 0; --items)
          send(stream::frame({FrameKind::item, 0, 0, 0, call, 0}, "i"));
        break;
      case 6: send(stream::frame({FrameKind::end, 0, 0, 0, call, 0})); break;
      case 7: send(some_frame(script, call)); break;
      case 8:
        client.give(batch, piece);
        batch.clear();
        break;
      case 9: piece = 1 + script.number(2); break;
      case 10: client.pump(); break;
      default:
        if (script.below(8) == 0) client.core.close();
        client.now += std::chrono::milliseconds{script.number(2)};
        client.core.woken(client.now);
    }
    client.take();
    client.core.keep();
  }
  client.give(batch, piece);
  client.pump();
  client.lose();
}

}  // namespace

void rpc_head(ByteView input) {
  Script script{input};
  if ((script.number(1) & 1) == 0) to_server(script);
  else to_client(script);
}

}  // namespace fuzz
