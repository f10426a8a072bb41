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

/// Sends each line back until an empty line or the end; refuses a line longer than 64 bytes.
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
  std::size_t size_ = 0;  // bytes that were read and not answered
  std::size_t line_ = 0;  // bytes of the first line with its newline
};

/// A core with one action, and the result of that action.
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
    CHECK(!end);  // never inside the call
  }
  void send(std::string_view text) { asio::write(sockets.peer, asio::buffer(text)); }
};

}  // namespace

TEST_CASE("async_drive: performs a small protocol", "[net]") {
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

TEST_CASE("async_drive: performs each action", "[net]") {
  DriveStory story;
  std::array<std::byte, 8> space{};
  SECTION("read fills all of the space, in any pieces") {
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
  SECTION("read_some returns what is available") {
    story.send("abc");
    Once core{DriveAction::read_some(space)};
    story.drive(core);
    story.context.run();
    CHECK(core.count == 3);
  }
  SECTION("the end during read: no error, but fewer bytes") {
    story.send("abc");
    story.sockets.peer.close();
    Once core{DriveAction::read(space)};
    story.drive(core);
    story.context.run();
    CHECK(core.count == 3);
    CHECK(!core.ec);
  }
  SECTION("actions without bytes") {
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
  SECTION("done ends the exchange") {
    Once core{DriveAction::done(std::make_error_code(std::errc::bad_message))};
    story.drive(core);
    CHECK(core.calls == 0);
    story.context.run();
    CHECK(story.end == std::make_error_code(std::errc::bad_message));
    CHECK(core.calls == 1);
  }
  SECTION("write of more bytes than the system accepts at once") {
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

TEST_CASE("async_drive: the core gets the error of an action", "[net]") {
  DriveStory story;
  std::array<std::byte, 8> space{};
  const std::string text(50'000'000, 'x');
  Once core{GENERATE(false, true) ? DriveAction::read(space) : DriveAction::write(distrib::as_bytes(text))};
  story.drive(core);
  story.context.poll();
  story.sockets.peer.set_option(asio::socket_base::linger{true, 0});
  SECTION("reset by the peer") {
    story.sockets.peer.close();
    story.context.run();
    CHECK((core.ec == std::errc::connection_reset || core.ec == std::errc::broken_pipe));
    CHECK(core.ec == distrib::failure::io);
  }
  SECTION("closed by this end") {
    story.sockets.socket.close();
    story.context.run();
    CHECK(core.ec == std::errc::operation_canceled);
    CHECK(core.ec == distrib::failure::cancelled);
  }
  CHECK(story.end == core.ec);
}

TEST_CASE("async_drive: terminal cancellation ends the action that runs", "[net]") {
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

/// Reads 8 bytes, and if that fails 2 more, for a polite end.
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

TEST_CASE("async_drive: the core gets a cancellation once, with the bytes read until then", "[net]") {
  DriveStory story;
  Parts core;
  asio::cancellation_signal signal;
  async_drive(story.sockets.socket, core,
              asio::bind_cancellation_slot(signal.slot(), [&](const std::error_code& ec) { story.end = ec; }));
  std::size_t read = 0;
  const auto cancel = [&] { signal.emit(asio::cancellation_type::terminal); };
  SECTION("before its first action") { cancel(); }
  SECTION("in the middle of an action") {
    story.send("abc");
    story.context.poll();
    cancel();
    read = 3;
  }
  SECTION("when a part of an action is done, and its handler waits") {
    story.send("abc");  // read by the handler that runs before the cancellation
    asio::post(story.context, cancel);
    read = 3;
  }
  story.context.poll();
  CHECK(core.told.size() == 2);  // the action after the cancellation is not cancelled
  CHECK(core.told.back().first == std::errc::operation_canceled);
  CHECK(core.told.back().second == read);
  story.send("de");
  story.context.run();
  REQUIRE(story.end);
  CHECK(*story.end == std::errc::operation_canceled);
  REQUIRE(core.told.size() == 3);
  CHECK(core.told[2] == std::pair{std::error_code{}, std::size_t{2}});
}

TEST_CASE("async_drive: works with other completion tokens", "[net]") {
  DriveStory story;
  Once core{DriveAction::done()};
  auto later = async_drive(story.sockets.socket, core, distrib::deferred);
  CHECK(story.context.poll() == 0);
  std::move(later)([&](const std::error_code& ec) { story.end = ec; });
  story.context.restart();
  story.context.run();
  CHECK(story.end);
}
