// SPDX-License-Identifier: Apache-2.0
#include <distrib/net/drive.hpp>

#include "support/catch.hpp"
#include "support/loopback.hpp"

#include <distrib/core/error.hpp>

#include <asio/bind_cancellation_slot.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using distrib::async_drive;
using distrib::DriveAction;
using support::SocketPair;

namespace {

/// Answers each line with itself, until an empty one or the end; a line longer than 64 bytes is refused.
class LineEcho {
 public:
  auto next(const std::error_code& ec, std::size_t count) -> DriveAction {
    if (ec) return DriveAction::done(ec);
    if (state_ == State::reading && count == 0) return DriveAction::done();
    if (state_ == State::reading) size_ += count;
    if (state_ == State::writing) {
      std::copy(bytes_.data() + line_, bytes_.data() + size_, bytes_.data());
      size_ -= line_;
    }
    const std::byte* const end = std::find(bytes_.data(), bytes_.data() + size_, std::byte{'\n'});
    line_ = static_cast<std::size_t>(end - bytes_.data()) + 1;
    if (line_ == 1 && size_ > 0) return DriveAction::done();
    if (line_ <= size_) {
      state_ = State::writing;
      return DriveAction::write(std::span{bytes_}.first(line_));
    }
    if (size_ == bytes_.size()) return DriveAction::done(std::make_error_code(std::errc::message_size));
    state_ = State::reading;
    return DriveAction::read_some(std::span{bytes_}.subspan(size_));
  }

 private:
  enum class State { begun, reading, writing };
  State state_ = State::begun;
  std::array<std::byte, 64> bytes_{};
  std::size_t size_ = 0;  // of what was read and not answered
  std::size_t line_ = 0;  // of the first line, with its end
};

/// One action, and what came of it.
struct Once {
  DriveAction action;
  int calls = 0;
  std::error_code ec = {};
  std::size_t count = 0;
  auto next(const std::error_code& told, std::size_t bytes) -> DriveAction {
    if (++calls == 1) return action;
    ec = told;
    count = bytes;
    return DriveAction::done(told);
  }
};

struct DriveStory {
  asio::io_context context{1};
  SocketPair sockets{context};
  std::optional<std::error_code> end = std::nullopt;

  template <class Core>
  void drive(Core& core) {
    async_drive(sockets.socket, core, [this](const std::error_code& ec) {
      CHECK(!end);
      end = ec;
    });
    CHECK(!end);  // never from within
  }
  void send(std::string_view text) { asio::write(sockets.peer, asio::buffer(text)); }
};

}  // namespace

TEST_CASE("async_drive: a small protocol", "[net]") {
  const struct {
    std::string sent;
    std::string answer;
    std::error_code end;
  } rows[] = {
      {"one\ntwo\n\n", "one\ntwo\n", {}},
      {"", "", {}},
      {"one\nunfinished", "one\n", {}},
      {std::string(63, 'a') + "\n" + std::string(64, 'b'), std::string(63, 'a') + "\n",
       std::make_error_code(std::errc::message_size)},
  };
  const bool at_once = GENERATE(true, false);
  for (const auto& row : rows) {
    CAPTURE(row.sent, at_once);
    DriveStory story;
    LineEcho core;
    if (at_once) {
      story.send(row.sent);
      story.sockets.peer.shutdown(distrib::TcpSocket::shutdown_send);
      story.drive(core);
    } else {
      story.drive(core);
      for (const char c : row.sent) {
        story.context.poll();
        if (!story.end) story.send({&c, 1});
      }
      story.sockets.peer.shutdown(distrib::TcpSocket::shutdown_send);
    }
    story.context.restart();
    story.context.run();
    REQUIRE(story.end);
    CHECK(*story.end == row.end);
    story.sockets.socket.shutdown(distrib::TcpSocket::shutdown_send);
    CHECK(SocketPair::read_all(story.sockets.peer) == row.answer);
  }
}

TEST_CASE("async_drive: each action", "[net]") {
  DriveStory story;
  std::array<std::byte, 8> space{};
  SECTION("all of the space, however it comes") {
    Once core{DriveAction::read(space)};
    story.drive(core);
    for (const char* part : {"abc", "def", "ghi"}) {
      story.context.poll();
      CHECK(core.calls == 1);
      story.send(part);
    }
    story.context.run();
    CHECK(core.count == 8);
    CHECK(distrib::as_text(space) == "abcdefgh");
  }
  SECTION("some") {
    story.send("abc");
    Once core{DriveAction::read_some(space)};
    story.drive(core);
    story.context.run();
    CHECK(core.count == 3);
  }
  SECTION("the end instead of all: no error, but less") {
    story.send("abc");
    story.sockets.peer.close();
    Once core{DriveAction::read(space)};
    story.drive(core);
    story.context.run();
    CHECK(core.count == 3);
    CHECK(!core.ec);
  }
  SECTION("nothing at all") {
    for (const DriveAction& action : {DriveAction::read({}), DriveAction::read_some({}), DriveAction::write({})}) {
      story.context.restart();
      story.end.reset();
      Once core{action};
      story.drive(core);
      story.context.run();
      CHECK(core.calls == 2);
      CHECK(story.end);
    }
  }
  SECTION("done") {
    Once core{DriveAction::done(std::make_error_code(std::errc::bad_message))};
    story.drive(core);
    CHECK(core.calls == 0);
    story.context.run();
    CHECK(story.end == std::make_error_code(std::errc::bad_message));
    CHECK(core.calls == 1);
  }
  SECTION("more bytes than the system takes at once") {
    const std::string text(8'000'000, 'x');
    Once core{DriveAction::write(distrib::as_bytes(text))};
    story.drive(core);
    story.context.poll();
    CHECK(core.calls == 1);
    std::string got(text.size(), ' ');
    for (std::size_t at = 0; at < got.size(); story.context.poll())
      at += story.sockets.peer.read_some(asio::buffer(got.data() + at, std::min<std::size_t>(got.size() - at, 65'536)));
    story.context.run();
    CHECK((got == text));
    CHECK(core.count == text.size());
  }
  REQUIRE(story.end);
}

TEST_CASE("async_drive: what breaks is told to the core", "[net]") {
  DriveStory story;
  std::array<std::byte, 8> space{};
  const std::string text(50'000'000, 'x');
  Once core{GENERATE(false, true) ? DriveAction::read(space) : DriveAction::write(distrib::as_bytes(text))};
  story.drive(core);
  story.context.poll();
  story.sockets.peer.set_option(asio::socket_base::linger{true, 0});
  SECTION("reset") {
    story.sockets.peer.close();
    story.context.run();
    CHECK((core.ec == std::errc::connection_reset || core.ec == std::errc::broken_pipe));
    CHECK(core.ec == distrib::failure::io);
  }
  SECTION("closed here") {
    story.sockets.socket.close();
    story.context.run();
    CHECK(core.ec == std::errc::operation_canceled);
    CHECK(core.ec == distrib::failure::cancelled);
  }
  CHECK(story.end == core.ec);
}

TEST_CASE("async_drive: terminal cancellation", "[net]") {
  DriveStory story;
  std::array<std::byte, 8> space{};
  Once core{DriveAction::read(space)};
  asio::cancellation_signal signal;
  async_drive(story.sockets.socket, core,
              asio::bind_cancellation_slot(signal.slot(), [&](const std::error_code& ec) { story.end = ec; }));
  story.context.poll();
  signal.emit(asio::cancellation_type::terminal);
  story.context.run();
  REQUIRE(story.end);
  CHECK(*story.end == std::errc::operation_canceled);
  CHECK(core.calls == 2);
}

namespace {

/// Reads 8 bytes, and when that failed 2 more, to part politely.
struct Parts {
  std::array<std::byte, 8> space{};
  std::vector<std::pair<std::error_code, std::size_t>> told = {};
  auto next(const std::error_code& ec, std::size_t count) -> DriveAction {
    told.emplace_back(ec, count);
    if (told.size() == 1) return DriveAction::read(space);
    if (told.size() == 2 && ec) return DriveAction::read(std::span{space}.first(2));
    return DriveAction::done(told[1].first);
  }
};

}  // namespace

TEST_CASE("async_drive: cancelled whenever, the core hears of it once, and of what was read until then", "[net]") {
  DriveStory story;
  Parts core;
  asio::cancellation_signal signal;
  async_drive(story.sockets.socket, core,
              asio::bind_cancellation_slot(signal.slot(), [&](const std::error_code& ec) { story.end = ec; }));
  std::size_t read = 0;
  const auto cancel = [&] { signal.emit(asio::cancellation_type::terminal); };
  SECTION("before its first action") { cancel(); }
  SECTION("in the middle of one") {
    story.send("abc");
    story.context.poll();
    cancel();
    read = 3;
  }
  SECTION("when a part of one has come, and its handler waits") {
    story.send("abc");  // read at once, by the handler before the one that cancels
    asio::post(story.context, cancel);
    read = 3;
  }
  story.context.poll();
  CHECK(core.told.size() == 2);  // it is not cut short in what it does then
  CHECK(core.told.back().first == std::errc::operation_canceled);
  CHECK(core.told.back().second == read);
  story.send("de");
  story.context.run();
  REQUIRE(story.end);
  CHECK(*story.end == std::errc::operation_canceled);
  REQUIRE(core.told.size() == 3);
  CHECK(core.told[2] == std::pair{std::error_code{}, std::size_t{2}});
}

TEST_CASE("async_drive: other tokens", "[net]") {
  DriveStory story;
  Once core{DriveAction::done()};
  auto later = async_drive(story.sockets.socket, core, distrib::deferred);
  CHECK(story.context.poll() == 0);
  std::move(later)([&](const std::error_code& ec) { story.end = ec; });
  story.context.restart();
  story.context.run();
  CHECK(story.end);
}
