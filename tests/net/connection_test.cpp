// SPDX-License-Identifier: Apache-2.0
#include <distrib/net/connection.hpp>

#include "net/dribble.hpp"
#include "support/catch.hpp"
#include "support/loopback.hpp"
#include "support/noise.hpp"

#include <distrib/core/error.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/net/peer_stream.hpp>
#include <distrib/net/transport.hpp>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using distrib::ByteView;
using distrib::Connection;
using distrib::Instant;
using distrib::TcpSocket;
using support::noise;
using support::now;
using support::run_until;
using support::SocketPair;
using namespace std::chrono_literals;

namespace {

/// A core that records its events and wants what the test sets.
struct Tape {
  explicit Tape(std::size_t space = 4096) : buffer(space) {}

  auto reads() const -> bool { return wants_bytes; }
  auto read_space(std::span<std::byte> lent) -> distrib::ReadSpace {
    CHECK(lent.size() >= distrib::least_read_bytes);
    on_lend(lent);
    return {buffer, {}, is_large};
  }
  void keep() { ++kept; }
  auto ready() const -> bool { return has_more; }
  void bytes_read(std::size_t count, Instant at) {
    CHECK(alive());
    CHECK(count > 0);
    CHECK(count <= buffer.size());
    received += distrib::as_text(std::span{buffer}.first(count));
    ++reads_done;
    last = at;
  }
  auto output() -> std::span<const ByteView> {
    if (writing.empty()) writing.swap(pending);
    views.clear();
    for (const std::string& text : writing) views.push_back(distrib::as_bytes(text));
    return views;
  }
  void written(Instant at) {
    CHECK(losses == 0);
    writing.clear();
    ++writes_done;
    last = at;
  }
  auto wake() const -> std::optional<Instant> { return wake_at; }
  void woken(Instant at) {
    CHECK(alive());
    woken_at.push_back(at);
    if (wake_at && *wake_at <= at) wake_at.reset();
    last = at;
  }
  void lost(const std::error_code& why) {
    CHECK(alive());
    ++losses;
    reason = why;
  }
  auto finished() const -> bool { return is_finished; }
  auto alive() const -> bool { return losses == 0 && !is_finished; }

  std::vector<std::byte> buffer;
  std::vector<std::string> pending;
  std::vector<std::string> writing;
  std::vector<ByteView> views;
  std::optional<Instant> wake_at;
  std::vector<Instant> woken_at;
  std::string received;
  Instant last;
  int reads_done = 0;
  int writes_done = 0;
  int losses = 0;
  std::error_code reason;
  int kept = 0;
  std::function<void(std::span<std::byte>)> on_lend = [](std::span<std::byte>) {};
  bool is_large = false;
  bool wants_bytes = true;
  bool has_more = false;
  bool is_finished = false;
};

struct Owner {
  std::function<void()> activity = [] {};
  int calls = 0;
  Instant last{};
  void on_activity(Instant at) {
    ++calls;
    last = at;
    activity();
  }
};

using TapeConnection = Connection<Tape, Owner>;

/// A connection over one of two connected sockets, and the other socket.
struct Story {
  asio::io_context context{1};
  SocketPair sockets{context};
  Owner owner;
  TcpSocket& peer = sockets.peer;
  std::shared_ptr<TapeConnection> connection = std::make_shared<TapeConnection>(std::move(sockets.socket), owner);
  Tape& core = connection->core();

  void send(std::string_view text) { asio::write(peer, asio::buffer(text)); }
  void until(const std::function<bool()>& done) { run_until(context, done); }
  /// Runs everything that is left to do, and checks that this ends.
  void run() {
    context.restart();
    context.run();
  }
};

/// Reads until the end, a few bytes at a time, while other handlers run.
struct SlowReader {
  TcpSocket& socket;
  std::size_t step;
  std::string text = {};
  std::error_code end = {};
  std::array<char, 65536> part = {};

  void read() {
    socket.async_read_some(asio::buffer(part.data(), step), [this](const std::error_code& ec, std::size_t count) {
      text.append(part.data(), count);
      end = ec;
      if (!ec) read();
    });
  }
};

}  // namespace

TEST_CASE("Connection: receives bytes that arrive one at a time", "[net]") {
  Story story;
  story.connection->settle();
  const std::string text = "one byte after the other";
  for (std::size_t i = 0; i < text.size(); ++i) {
    story.send(text.substr(i, 1));
    story.until([&] { return story.core.received.size() == i + 1; });
    CHECK(story.core.reads_done == static_cast<int>(i + 1));
    CHECK(story.owner.calls == story.core.reads_done);
    CHECK(story.owner.last == story.core.last);
  }
  CHECK(story.core.received == text);
  CHECK(story.connection->is_open());
  story.connection->close();
  story.run();
}

TEST_CASE("Connection: exchanges requests and answers", "[net]") {
  Story story;
  story.owner.activity = [&] {
    // Answers everything that was read with one write.
    if (story.core.received.empty()) return;
    story.core.pending = {"<", std::exchange(story.core.received, ""), ">"};
  };
  story.connection->settle();
  for (const std::string text : {"first", "second", "third"}) {
    story.send(text);
    std::string answer(text.size() + 2, ' ');
    const int before = story.core.writes_done;
    story.until([&] { return story.core.writes_done == before + 1; });
    asio::read(story.peer, asio::buffer(answer));
    CHECK(answer == "<" + text + ">");
  }
  story.connection->close();
}

TEST_CASE("Connection: reads nothing while the core does not want bytes", "[net]") {
  Story story;
  story.core.wants_bytes = false;
  story.connection->settle();
  story.send("waiting");
  CHECK(story.context.poll() == 0);
  CHECK(story.core.received.empty());
  story.core.wants_bytes = true;
  story.connection->settle();  // needed after a change outside of an event
  story.connection->settle();  // a second call does no harm
  story.until([&] { return story.core.received == "waiting"; });
  story.connection->close();
}

TEST_CASE("Connection: writes many and large pieces to a slow reader", "[net]") {
  Story story;
  SlowReader reader{story.peer, 10'007};
  std::string all;
  for (unsigned i = 0; i < 300; ++i) {
    story.core.pending.push_back(i % 7 == 0 ? std::string{} : noise(i % 5 == 0 ? 100'000 : i, i));
    all += story.core.pending.back();
  }
  reader.read();
  story.connection->settle();
  story.until([&] { return story.core.writes_done == 1; });

  story.core.pending = {"", "", ""};  // three empty pieces count as written too
  story.connection->settle();
  story.until([&] { return story.core.writes_done == 2; });

  story.core.pending = {"the end"};
  story.connection->settle();
  story.until([&] { return story.core.writes_done == 3; });
  all += "the end";
  story.connection->close();
  story.until([&] { return static_cast<bool>(reader.end); });
  CHECK(reader.end == asio::error::eof);
  CHECK((reader.text == all));
  CHECK(story.core.losses == 0);
}

TEST_CASE("Connection: reads and writes at the same time", "[net]") {
  asio::io_context context{1};
  SocketPair sockets{context};
  Owner owners[2];
  const auto a = std::make_shared<TapeConnection>(std::move(sockets.socket), owners[0], 100'000u);
  const auto b = std::make_shared<TapeConnection>(std::move(sockets.peer), owners[1]);
  const std::string to_b = noise(3'000'000, 1);
  const std::string to_a = noise(3'000'000, 2);
  a->core().pending = {to_b};
  b->core().pending = {to_a};
  a->settle();
  b->settle();
  run_until(context,
            [&] { return a->core().received.size() == to_a.size() && b->core().received.size() == to_b.size(); });
  CHECK((a->core().received == to_a));
  CHECK((b->core().received == to_b));
  a->close();
  run_until(context, [&] { return !b->is_open(); });
  CHECK(b->core().losses == 1);
}

TEST_CASE("Connection: the peer closes the connection, or one direction", "[net]") {
  Story story;
  story.connection->settle();
  const std::weak_ptr<TapeConnection> alive = story.connection;
  std::size_t seen = 0;
  story.owner.activity = [&] { seen = story.core.received.size(); };
  story.send("last words");
  SECTION("the connection") { story.peer.close(); }
  SECTION("one direction") { story.peer.shutdown(TcpSocket::shutdown_send); }
  story.core.wake_at = now() + 1h;  // the timer ends with the connection
  story.connection->settle();
  story.run();
  CHECK(story.core.received == "last words");
  CHECK(seen == 10);
  CHECK(story.core.losses == 1);
  CHECK(!story.core.reason);
  CHECK(story.owner.calls == 2);
  CHECK(!story.connection->is_open());
  story.connection->settle();  // no effect
  story.connection.reset();
  CHECK(alive.expired());
}

TEST_CASE("Connection: the peer resets", "[net]") {
  Story story;
  story.core.pending = {std::string(20'000'000, 'x')};  // more than the system accepts
  story.connection->settle();
  story.context.poll();
  story.peer.set_option(asio::socket_base::linger{true, 0});
  story.peer.close();
  story.run();
  CHECK(story.core.losses == 1);
  CHECK((story.core.reason == std::errc::connection_reset || story.core.reason == std::errc::broken_pipe));
  CHECK(story.core.reason == distrib::failure::io);
  CHECK(story.core.writes_done == 0);
  CHECK(story.owner.calls == 1);
}

TEST_CASE("Connection: when a write fails, the bytes that have arrived are read first", "[net]") {
  Story story;
  story.send("refused: another model");
  story.peer.set_option(asio::socket_base::linger{true, 0});
  story.peer.close();  // makes the first write fail
  story.core.pending = {"a contribution"};
  SECTION("at once") {
    story.connection->settle();
    story.run();
    CHECK(story.core.received == "refused: another model");
  }
  SECTION("in small pieces") {
    story.core.buffer.resize(1);
    story.connection->settle();
    story.run();
    CHECK(story.core.received == "refused: another model");
    CHECK(story.core.reads_done == 22);
  }
  SECTION("only while the core wants bytes") {
    story.core.buffer.resize(7);
    story.owner.activity = [&] { story.core.wants_bytes = false; };
    story.connection->settle();
    story.run();
    CHECK(story.core.received == "refused");
  }
  SECTION("the core wants no bytes") {
    story.core.wants_bytes = false;
    story.connection->settle();
    story.run();
  }
  CHECK(story.core.losses == 1);
  CHECK(story.core.reason);
  CHECK(story.core.writes_done == 0);
  CHECK(!story.connection->is_open());
}

TEST_CASE("Connection: the timer follows what wake of the core returns", "[net]") {
  Story story;
  Tape& core = story.core;
  SECTION("a time in the past") {
    core.wake_at = now() - 1h;
    story.connection->settle();
    story.until([&] { return !core.woken_at.empty(); });
    CHECK(story.owner.calls == 1);
    CHECK(story.owner.last == core.woken_at[0]);
  }
  SECTION("an earlier time") {
    core.wake_at = now() + 1h;
    story.connection->settle();
    story.context.poll();
    const Instant at = now() + 2ms;
    core.wake_at = at;
    story.connection->settle();
    story.until([&] { return !core.woken_at.empty(); });
    CHECK(core.woken_at[0] >= at);
  }
  SECTION("a later time: not woken before it") {
    core.wake_at = now() + 1ms;
    story.connection->settle();
    const Instant at = now() + 20ms;
    core.wake_at = at;
    story.connection->settle();
    story.until([&] { return !core.woken_at.empty(); });
    CHECK(core.woken_at[0] >= at);
  }
  SECTION("no time any more") {
    core.wake_at = now() + 1ms;
    story.connection->settle();
    core.wake_at.reset();
    story.peer.close();
    story.run();
    CHECK(core.woken_at.empty());
  }
  SECTION("an earlier time, when the later one is due as well") {
    core.wake_at = now() - 1h;
    story.connection->settle();
    core.wake_at = now() - 2h;
    story.connection->settle();
    story.until([&] { return !core.woken_at.empty(); });
    core.wake_at = now() + 5ms;
    story.connection->settle();
    story.until([&] { return core.woken_at.size() == 2; });
  }
  SECTION("many times one after another") {
    core.wake_at = now();
    story.owner.activity = [&] {
      if (core.woken_at.size() < 4) core.wake_at = core.woken_at.back() + 1ms;
    };
    story.connection->settle();
    story.until([&] { return core.woken_at.size() == 4; });
    for (std::size_t i = 1; i < 4; ++i) CHECK(core.woken_at[i] >= core.woken_at[i - 1] + 1ms);
  }
  story.connection->close();
  story.run();
}

TEST_CASE("Connection: a finished core's output is written to the end", "[net]") {
  Story story;
  SlowReader reader{story.peer, 65'536};
  const std::string text = noise(5'000'000, 7);
  story.core.pending = {text};
  story.owner.activity = [&] {
    if (story.core.writes_done == 1 && !story.core.is_finished) {
      story.core.pending = {"good", "bye"};
      story.core.is_finished = true;
    }
  };
  SECTION("the peer only reads") {}
  SECTION("the peer still sends: a reset would destroy output under way") {
    story.core.wants_bytes = false;
    story.send(noise(50'000, 3));
  }
  reader.read();
  story.connection->settle();
  story.until([&] { return static_cast<bool>(reader.end); });
  CHECK(reader.end == asio::error::eof);
  CHECK((reader.text == text + "goodbye"));
  CHECK(story.connection->is_open());  // it stays open until the peer has closed too
  story.peer.close();
  story.run();
  CHECK(!story.connection->is_open());
  CHECK(story.core.losses == 0);
  CHECK(story.core.writes_done == 2);
}

TEST_CASE("Connection: a peer that has closed its direction gets the rest of the output", "[net]") {
  Story story;
  story.peer.shutdown(TcpSocket::shutdown_send);
  story.core.pending = {"the ", "rest"};
  story.core.is_finished = true;
  story.connection->settle();
  story.run();
  CHECK(!story.connection->is_open());
  CHECK(SocketPair::read_all(story.peer) == "the rest");
  CHECK(story.core.losses == 0);
}

TEST_CASE("Connection: the core is finished, and the peer is gone before the last output", "[net]") {
  Story story;
  story.peer.set_option(asio::socket_base::linger{true, 0});
  story.peer.close();
  story.core.pending = {"bye"};
  story.core.is_finished = true;
  story.connection->settle();
  CHECK(!story.connection->is_open());
  story.run();
  CHECK(story.core.losses == 0);
  CHECK(story.core.writes_done == 0);
  CHECK(story.owner.calls == 0);
}

TEST_CASE("Connection: the core is finished from the beginning", "[net]") {
  Story story;
  story.core.is_finished = true;
  story.connection->settle();
  CHECK(SocketPair::read_all(story.peer).empty());
  story.peer.close();
  story.run();
  CHECK(!story.connection->is_open());
  CHECK(story.owner.calls == 0);
}

TEST_CASE("Connection: a peer can delay the end only for the linger time", "[net]") {
  Story story;
  story.connection->set_linger(1ms);
  SECTION("the peer does not close") { story.core.pending = {"bye"}; }
  SECTION("the peer does not read") { story.core.pending = {std::string(50'000'000, 'x')}; }
  SECTION("the timer was set before") {
    story.core.wake_at = now() + 1ms;
    story.connection->settle();
    story.context.poll();
  }
  SECTION("the peer resets") {
    story.core.pending = {std::string(50'000'000, 'x')};
    story.connection->settle();
    story.peer.set_option(asio::socket_base::linger{true, 0});
    story.peer.close();
    story.connection->set_linger(1h);
  }
  story.core.is_finished = true;
  story.connection->settle();
  story.run();
  CHECK(!story.connection->is_open());
  CHECK(story.core.losses == 0);
}

TEST_CASE("Connection: the owner detaches or closes inside on_activity, and is destroyed there", "[net]") {
  asio::io_context context{1};
  SocketPair sockets{context};
  auto owner = std::make_unique<Owner>();
  auto connection = std::make_shared<TapeConnection>(std::move(sockets.socket), *owner);
  const std::weak_ptr<TapeConnection> alive = connection;
  connection->core().wake_at = now();
  connection->settle();
  asio::write(sockets.peer, asio::buffer("hello", 5));

  SECTION("detached: it continues until it is finished") {
    Tape& core = connection->core();
    owner->activity = [&] {
      core.pending = {"goodbye"};
      core.is_finished = true;
      connection->detach();
      connection.reset();
      const auto last = std::move(owner->activity);  // keeps this function alive until its end
      owner.reset();
    };
    run_until(context, [&] { return owner == nullptr; });
    REQUIRE(!alive.expired());
    sockets.peer.shutdown(TcpSocket::shutdown_send);
    context.restart();
    context.run();
    CHECK(SocketPair::read_all(sockets.peer) == "goodbye");
  }
  SECTION("closed by its owner") {
    owner->activity = [&] {
      connection->close();
      connection.reset();
      const auto last = std::move(owner->activity);
      owner.reset();
    };
    context.restart();
    context.run();
  }
  SECTION("closed when it was lost") {
    owner->activity = [&] {
      if (connection->core().losses == 0) return;
      connection->close();
      connection.reset();
      const auto last = std::move(owner->activity);
      owner.reset();
    };
    sockets.peer.close();
    context.restart();
    context.run();
  }
  SECTION("detached with handlers queued, then lost") {
    connection->core().pending = {"x"};
    connection->settle();
    connection->detach();
    owner.reset();
    sockets.peer.shutdown(TcpSocket::shutdown_send);
    context.restart();
    context.run();
    CHECK(connection->core().received == "hello");
    CHECK(connection->core().losses == 1);
    connection.reset();
  }
  SECTION("closed with handlers queued") {
    connection->core().pending = {"x"};
    connection->settle();
    connection->close();
    owner.reset();
    context.restart();
    context.run();
    CHECK(connection->core().received.empty());
    CHECK(connection->core().woken_at.empty());
    CHECK(connection->core().losses == 0);
    connection.reset();
  }
  CHECK(owner == nullptr);
  CHECK(alive.expired());
}

TEST_CASE("Connection: the owner may call settle inside on_activity", "[net]") {
  Story story;
  story.owner.activity = [&] {
    if (story.core.writes_done == 0) story.core.pending = {"now"};
    story.connection->settle();
    story.connection->settle();
  };
  story.connection->settle();
  story.send("?");
  story.until([&] { return story.core.writes_done == 1; });
  story.connection->close();
  story.run();
  CHECK(SocketPair::read_all(story.peer) == "now");
}

TEST_CASE("Connection: an exception of the owner leaves run", "[net]") {
  Story story;
  story.connection->settle();
  story.owner.activity = [] { throw std::runtime_error{"the owner's own"}; };
  story.send("!");
  CHECK_THROWS_WITH(story.context.run(), Equals("the owner's own"));
  CHECK(story.core.kept == 1);  // the lent memory is free again
  story.owner.activity = [] {};
  story.until([&] { return story.owner.calls == 2; });  // it continues, and offers the events again
  story.send("?");
  story.until([&] { return story.core.received == "!?"; });
  story.connection->close();
}

TEST_CASE("Connection: runs over a secure layer", "[net]") {
  asio::io_context context{1};
  SocketPair sockets{context};
  Owner owner;
  distrib::PeerStream stream{std::move(sockets.socket), std::make_unique<support::Dribble>(), now()};
  CHECK(stream.is_secure());
  const auto connection = std::make_shared<TapeConnection>(std::move(stream), owner);
  connection->core().pending = {"abcdefgh", "i", "", "jkl"};
  connection->settle();
  run_until(context, [&] { return connection->core().writes_done == 1; });
  asio::write(sockets.peer, asio::buffer("hello", 5));
  run_until(context, [&] { return connection->core().received == "hello"; });
  CHECK(connection->core().reads_done == 5);
  connection->core().is_finished = true;
  connection->settle();
  run_until(context, [&] { return sockets.peer.available() == 13; });
  asio::write(sockets.peer, asio::buffer("dropped", 7));
  context.restart();
  context.poll();
  CHECK(SocketPair::read_all(sockets.peer) == "abcdefghijkl!");
  sockets.peer.close();
  context.restart();
  context.run();
  CHECK(!connection->is_open());
  CHECK(connection->core().received == "hello");
}

TEST_CASE("Connection: two connections on two threads", "[net]") {
  constexpr std::size_t rounds = 200;
  distrib::IoPool pool{2};
  SocketPair sockets{pool.executor(0), pool.executor(1)};
  Owner owners[2];
  const auto a = std::make_shared<TapeConnection>(std::move(sockets.socket), owners[0]);
  const auto b = std::make_shared<TapeConnection>(std::move(sockets.peer), owners[1]);
  owners[0].activity = [&] { a->core().is_finished = a->core().received.size() == rounds; };
  owners[1].activity = [&] {
    if (!b->core().received.empty()) b->core().pending.push_back(std::exchange(b->core().received, ""));
  };
  a->core().pending.assign(rounds, ".");
  b->core().buffer.resize(1);
  asio::post(pool.executor(0), [&] { a->settle(); });
  asio::post(pool.executor(1), [&] { b->settle(); });
  pool.join();
  CHECK(a->core().received.size() == rounds);
  CHECK(a->core().losses == 0);
  CHECK(b->core().losses == 1);
  CHECK(!b->core().reason);
}

TEST_CASE("Connection: settle_soon writes the output of several handlers at once", "[net]") {
  Story story;
  story.connection->settle();
  int writes = 0;
  for (const char* text : {"a", "b", "c"})
    asio::post(story.context, [&story, &writes, text] {
      story.core.pending.emplace_back(text);
      story.connection->settle_soon();
      CHECK(story.connection->settles_soon());
      writes = story.core.writes_done;
    });
  story.until([&] { return story.core.writes_done > 0; });
  CHECK(writes == 0);
  CHECK(story.core.writes_done == 1);
  CHECK_FALSE(story.connection->settles_soon());
  char received[3];
  asio::read(story.peer, asio::buffer(received));
  CHECK(std::string(received, 3) == "abc");
  story.connection->close();
  story.connection->settle_soon();  // closed: no effect
  CHECK_FALSE(story.connection->settles_soon());
}

namespace {

/// Twenty thousand bytes have arrived; they are read a thousand at a time, and each read has an answer.
struct LargeStory : Story {
  LargeStory() {
    core.buffer.resize(1000);
    core.is_large = true;
    owner.activity = [this] { core.pending.emplace_back("x"); };
    send(std::string(20'000, '-'));
    while (connection->lowest_layer().available() < 20'000) std::this_thread::yield();
  }
};

}  // namespace

TEST_CASE("Connection: several reads of large data cause one write", "[net]") {
  for (const bool is_large : {false, true}) {
    LargeStory story;
    story.core.is_large = is_large;
    story.connection->settle();
    story.until([&] { return story.core.reads_done == 20; });
    CHECK(story.core.writes_done == (is_large ? 2 : 20));  // after 16 and after 4 reads
    CHECK(story.owner.calls == 20);
    CHECK(story.core.kept == 20);
    story.connection->close();
  }
}

TEST_CASE("Connection: reads on while the data is large, and writes before it reads small data again", "[net]") {
  LargeStory story;
  story.core.is_large = false;
  story.owner.activity = [&] {
    story.core.pending.emplace_back("x");
    story.core.is_large = story.core.reads_done < 5;
  };
  story.connection->settle();
  story.until([&] { return story.core.reads_done == 20; });
  CHECK(story.core.writes_done == 1 + 15);  // the first read began large data, the fifth ended it
  story.connection->close();
}

TEST_CASE("Connection: closed between reads of large data", "[net]") {
  LargeStory story;
  story.owner.activity = [&] {
    if (story.core.reads_done == 2) story.connection->close();
  };
  story.connection->settle();
  story.run();
  CHECK(story.core.reads_done == 2);
  CHECK(story.core.losses == 0);
}

TEST_CASE("Connection: an exception of the owner between reads of large data leaves run", "[net]") {
  LargeStory story;
  story.owner.activity = [&] {
    if (story.owner.calls == 2) throw std::runtime_error("not now");
  };
  story.connection->settle();
  CHECK_THROWS_WITH(story.context.run(), "not now");
  CHECK(story.core.reads_done == 2);
  story.until([&] { return story.core.reads_done == 20; });
  CHECK(story.core.received == std::string(20'000, '-'));
  CHECK(story.owner.calls == 21);  // one more call, for the events that it had not taken
  story.connection->close();
}

/// Lets `things` events occur at once, each with one byte of output. Returns how many bytes the peer has when the last
/// event is taken.
auto come_early(Story& story, int things) -> std::size_t {
  std::size_t early = 0;
  story.owner.activity = [&] {
    if (story.core.received.size() < 2) return;
    story.core.received.clear();
    for (int i = 0; i < things; ++i) {
      story.core.pending.push_back("x");
      story.connection->taken_one();
    }
    early = story.peer.available();
  };
  story.send("go");
  const auto wanted = static_cast<std::size_t>(things);
  story.until([&] { return story.core.received.empty() && story.peer.available() == wanted; });
  std::string all(wanted, ' ');
  asio::read(story.peer, asio::buffer(all));
  return early;
}

TEST_CASE("Connection: alone on its thread, it writes after each 64 events of many", "[net]") {
  Story story;
  story.connection->settle();
  (void)come_early(story, 1);  // before this, no connection was at work on this thread
  CHECK(come_early(story, 63) == 0);
  CHECK(come_early(story, 64) == 64);
  CHECK(come_early(story, 200) == 192);
}

TEST_CASE("Connection: if others are at work on its thread, it writes once after many events", "[net]") {
  Story story;
  Story other;
  story.connection->settle();
  other.connection->settle();
  (void)come_early(other, 1);
  for (int i = 0; i < 3; ++i) {
    CHECK(come_early(story, 200) == 0);
    CHECK(come_early(other, 200) == 0);
  }
}

TEST_CASE("Connection: the owner is called when the core is ready, although nothing was read", "[net]") {
  Story story;
  story.owner.activity = [&] { story.core.has_more = false; };
  story.core.has_more = true;
  story.connection->settle();
  CHECK(story.owner.calls == 0);  // never inside settle
  story.until([&] { return story.owner.calls == 1; });
  story.connection->detach();
  story.core.has_more = true;  // there is no owner to call
  story.connection->settle();
  story.context.restart();
  CHECK(story.context.poll() == 0);
  story.connection->close();
}

TEST_CASE("Connection: lent memory is returned after each event, and a nested run has its own memory", "[net]") {
  Story outer;
  Story inner;
  std::span<std::byte> lent;
  outer.connection->settle();
  inner.connection->settle();
  outer.core.on_lend = [&](std::span<std::byte> bytes) { lent = bytes; };
  inner.core.on_lend = [&](std::span<std::byte> bytes) { CHECK(bytes.data() != lent.data()); };
  outer.owner.activity = [&] {
    CHECK(outer.core.kept == outer.core.reads_done - 1);
    inner.send("in");
    inner.until([&] { return inner.core.received == "in"; });
  };
  outer.send("out");
  outer.until([&] { return outer.core.received == "out"; });
  CHECK(inner.core.reads_done == 1);
  CHECK(outer.core.kept >= 1);
  outer.connection->close();
  inner.connection->close();
}
