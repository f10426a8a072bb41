// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "expect.hpp"

#include <distrib/rpc/client_core.hpp>
#include <distrib/rpc/server_core.hpp>

#include "rpc/stream.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

namespace fuzz {

/// Passes all bytes to a core, `piece` at a time, as long as it reads; `take()` takes its events. The lent memory is
/// freed after each read. `most_own()`: most bytes of its own memory that the core may offer for a read.
template <class Core, class Limit, class Take>
void hand(Core& core, distrib::ByteView bytes, std::size_t piece, distrib::Instant now, const Limit& most_own,
          const Take& take) {
  while (!bytes.empty() && core.reads()) {
    const std::unique_ptr<std::byte[]> memory{new std::byte[distrib::least_read_bytes]};
    const std::span lent{memory.get(), distrib::least_read_bytes};
    const distrib::ReadSpace space = core.read_space(lent);
    const bool direct = space.front.data() < lent.data() || space.front.data() >= lent.data() + lent.size();
    expect(!direct || space.front.size() <= most_own(), "no more memory is used than the limits allow");
    const std::size_t count = std::min({piece, space.front.size() + space.back.size(), bytes.size()});
    const std::size_t in_front = std::min(count, space.front.size());
    std::copy_n(bytes.begin(), in_front, space.front.begin());
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(in_front), count - in_front, space.back.begin());
    core.bytes_read(count, now);
    bytes = bytes.subspan(count);
    take();
    core.keep();
  }
}

inline auto most_of(const distrib::FrameLimits& limits) -> std::size_t {
  return std::max<std::size_t>(limits.head_bytes + distrib::frame_checksum_bytes, limits.body_bytes);
}

/// When the ends of a connection begin.
inline constexpr distrib::Instant began{std::chrono::hours{1}};

inline volatile std::uint32_t touched = 0;

/// Reads every byte, so that a sanitizer notices bytes outside any object.
inline void touch(distrib::ByteView bytes) { touched = distrib::crc32c(bytes); }

/// What an end has written; it must be whole frames with valid checksums.
class Written {
 public:
  template <class Core>
  void take_from(Core& core, distrib::Instant now) {
    bytes_ = stream::take_output(core, now);
    for (std::size_t at = 0; at < bytes_.size();) {
      at += stream::give(reader_, distrib::ByteView{bytes_}.subspan(at), bytes_.size());
      for (distrib::Frame frame; reader_.next(frame);) frames.push_back(*frame.header);
      reader_.keep();
    }
    expect(!reader_.error() && !reader_.in_frame(), "what is written are whole frames");
  }

  [[nodiscard]] auto count(std::initializer_list<distrib::FrameKind> kinds) const -> std::size_t {
    return static_cast<std::size_t>(std::ranges::count_if(
        frames, [&](const auto& frame) { return std::ranges::find(kinds, frame.kind) != kinds.end(); }));
  }

  std::vector<distrib::FrameHeader> frames;

 private:
  distrib::FrameReader reader_;
  stream::Bytes bytes_;
};

/// A server's core that must keep its promises, whatever is sent to it. Bodies for method 2 arrive in chunks.
struct WatchedServer {
  WatchedServer(const distrib::RpcServerOptions& how, distrib::Instant at)
      : options{how}, now{at}, core{budget(), at} {}

  [[nodiscard]] auto budget() const -> std::shared_ptr<distrib::ServerBudget> {
    auto made = std::make_shared<distrib::ServerBudget>(options);
    made->takes_chunks = [](std::uint32_t method) { return method == 2; };
    return made;
  }

  void give(distrib::ByteView bytes, std::size_t piece) {
    hand(core, bytes, piece, now, [this] { return greeted ? most_of(options.limits) : 0; }, [this] { take(); });
  }

  /// Takes all events of the core, and checks them.
  void take() {
    for (distrib::ServerEvent event; core.next(now, event);) {
      using Kind = distrib::ServerEvent::Kind;
      expect(greeted == (event.kind != Kind::greeted), "the greeting is the first event, and comes once");
      touch(event.head);
      touch(event.metadata);
      touch(event.body.bytes());
      switch (event.kind) {
        case Kind::greeted:
          greeted = true;
          expect(event.service < options.services, "the service exists");
          break;
        case Kind::request:
          ++requests;
          expect(open.emplace(event.call, false).second, "a call begins once");
          expect(open.size() <= options.max_calls, "no more calls than allowed");
          expect(event.deadline > now, "a request has time left");
          expect(event.body.bytes().size() == event.body_bytes || (event.method == 2 && event.body.empty()),
                 "a body arrives whole, or in chunks if the method takes chunks");
          coming[event.call] = event.body_bytes - event.body.bytes().size();
          break;
        case Kind::chunk:
          expect(open.contains(event.call), "a chunk belongs to an open call");
          expect(!event.body.empty() && event.body.bytes().size() <= coming[event.call],
                 "no more bytes arrive than were announced");
          coming[event.call] -= event.body.bytes().size();
          break;
        case Kind::body_end:
          expect(open.contains(event.call), "the end of a body belongs to an open call");
          expect(coming.at(event.call) == 0, "the whole body has arrived");
          break;
        case Kind::item:
          expect(open.contains(event.call), "an item belongs to an open call");
          core.taken(event.call, event.head.size() + event.body.bytes().size());
          break;
        case Kind::ended: expect(open.contains(event.call), "the end of a stream belongs to an open call"); break;
        case Kind::cancelled:
          ++cancelled;
          expect(open.erase(event.call) == 1, "only an open call is cancelled");
          break;
        case Kind::credit:
          expect(open.contains(event.call) && open[event.call], "credit is reported only after an item was refused");
          open[event.call] = false;
          break;
      }
    }
    distrib::ServerEvent none;
    expect(!core.next(now, none), "after the last event there is no event");
    expect(core.reason() || core.calls() == open.size(), "the open calls are counted");
    expect(!core.finished() || (!core.reads() && !core.ready() && !core.wake()), "a finished core does nothing more");
  }

  /// Lets the peer read everything that is written.
  void pump() {
    for (int rounds = 0; rounds < 1000; ++rounds) {
      written.take_from(core, now);
      if (!core.ready()) return;
      take();
      core.keep();
    }
    expect(false, "writing comes to an end");
  }

  /// Returns the n-th of the open calls; 0 if there is none.
  [[nodiscard]] auto some_call(std::size_t n) const -> std::uint64_t {
    if (open.empty()) return 0;
    return std::next(open.begin(), static_cast<std::ptrdiff_t>(n % open.size()))->first;
  }

  distrib::RpcServerOptions options;
  distrib::Instant now;
  distrib::ServerCore core;
  std::map<std::uint64_t, bool> open;  // for each open call: true if an item was refused
  std::map<std::uint64_t, std::size_t> coming;  // bytes of bodies that have still to arrive in chunks
  std::size_t requests = 0;
  std::size_t cancelled = 0;
  bool greeted = false;
  Written written;
};

/// A client's core that must keep its promises, whatever is sent to it. Calls of odd slots get their replies in chunks.
struct WatchedClient {
  WatchedClient(const distrib::RpcClientOptions& how, distrib::Instant at) : options{how}, now{at}, core{how, at} {}

  void call(distrib::ByteView head, const distrib::FrameBody& body, std::optional<distrib::Instant> deadline) {
    const std::uint64_t id = core.call(1, head, body, deadline, now);
    for (const std::uint64_t other : open)
      expect(static_cast<std::uint32_t>(other) != static_cast<std::uint32_t>(id), "a slot has one call");
    expect(id != 0 && open.insert(id).second, "a call has an id of its own");
    ever.insert(id);
    if ((id & 1) != 0) core.take_in_chunks(id);
  }

  void give(distrib::ByteView bytes, std::size_t piece) {
    hand(core, bytes, piece, now, [this] { return greeted ? most_of(options.limits) : 0; }, [this] { take(); });
  }

  void take() {
    for (distrib::ClientEvent event; core.next(now, event);) {
      using Kind = distrib::ClientEvent::Kind;
      touch(event.head);
      touch(event.body.bytes());
      expect((event.kind == Kind::failed) == static_cast<bool>(event.error),
             "a failed call has an error, any other event has none");
      if (event.kind == Kind::greeted) {
        expect(!std::exchange(greeted, true), "greeted once");
        continue;
      }
      expect(greeted || event.kind == Kind::failed, "no answer before the greeting");
      expect(open.contains(event.call), "there is no event of a call that is over");
      if (event.kind == Kind::item) core.taken(event.call);
      if (event.kind == Kind::begun)
        expect((event.call & 1) != 0 && begun.insert(event.call).second,
               "a reply begins once, if it is taken in chunks");
      if (event.kind == Kind::chunk) expect(begun.contains(event.call), "a chunk belongs to a reply that has begun");
      if (event.kind == Kind::reply)
        expect(event.body.empty() || !begun.contains(event.call), "after chunks there is no body");
      if (event.ends_call()) open.erase(event.call);
    }
    distrib::ClientEvent none;
    expect(!core.next(now, none), "after the last event there is no event");
    expect(core.calls() == open.size(), "the open calls are counted");
    expect(!core.finished() || (open.empty() && !core.reads() && !core.wake()), "a finished core does nothing more");
  }

  void pump() {
    written.take_from(core, now);
    for (const distrib::FrameHeader& frame : written.frames)
      if (frame.kind == distrib::FrameKind::request || frame.kind == distrib::FrameKind::cancel)
        expect(ever.contains(frame.call), "frames name only calls that were made");
  }

  /// Loses the connection, and checks that everything ends.
  void lose() {
    const bool was_over = static_cast<bool>(core.reason());
    core.lost(std::make_error_code(std::errc::connection_reset));
    take();
    expect(open.empty() && core.finished(), "a lost connection ends every call");
    expect(was_over || core.reason().code == distrib::rpc_errc::lost, "the reason is reported");
    call({}, nullptr, {});
    take();
    expect(open.empty(), "a call on a lost connection ends");
  }

  [[nodiscard]] auto some_call(std::size_t n) const -> std::uint64_t {
    if (open.empty()) return 0;
    return *std::next(open.begin(), static_cast<std::ptrdiff_t>(n % open.size()));
  }

  distrib::RpcClientOptions options;
  distrib::Instant now;
  distrib::ClientCore core;
  std::set<std::uint64_t> open;
  std::set<std::uint64_t> ever;
  std::set<std::uint64_t> begun;  // calls whose reply has begun in chunks
  bool greeted = false;
  Written written;
};

}  // namespace fuzz
