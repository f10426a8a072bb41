// SPDX-License-Identifier: Apache-2.0
#include "expect.hpp"
#include "targets.hpp"

#include <distrib/hadoop/file_split.hpp>
#include <distrib/hadoop/pipes_core.hpp>
#include <distrib/hadoop/raw_bytes.hpp>
#include <distrib/hadoop/typed_bytes.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fuzz {

namespace {

using distrib::hadoop_errc;
using distrib::hadoop::PipesCore;
using distrib::hadoop::PipesEvent;
using distrib::hadoop::PipesMessage;
using distrib::hadoop::WritableReader;

constexpr std::size_t most_bytes = 1000;
constexpr std::size_t most_conf_bytes = 2000;

struct Heard {
  std::vector<std::string> events;
  std::error_code error;
  auto operator==(const Heard&) const -> bool = default;
};

/// Passes the bytes to a core in pieces, and checks that it keeps to the order of the protocol.
auto hear(ByteView bytes, std::size_t piece, std::optional<Bytes> token) -> Heard {
  const bool is_open = !token;
  PipesCore core{{std::move(token), most_bytes, most_conf_bytes}};
  Heard heard;
  bool proven = false;
  bool running = false;
  for (std::size_t at = 0; at < bytes.size() && !core.error(); at += piece) {
    core.receive(bytes.subspan(at, std::min(piece, bytes.size() - at)));
    while (const std::optional<PipesEvent> event = core.next()) {
      expect(proven || event->kind == PipesMessage::authentication_request, "nothing is accepted from an unknown peer");
      proven = true;
      expect(event->first.size() <= most_bytes && event->second.size() <= most_bytes, "nothing is longer than allowed");
      const bool runs = event->kind == PipesMessage::run_map || event->kind == PipesMessage::run_reduce;
      expect(!runs || !running, "a task runs once");
      running = running || runs;
      expect(running || event->kind == PipesMessage::authentication_request || event->kind == PipesMessage::start ||
                 event->kind == PipesMessage::job_conf,
             "no input before the task runs");
      std::string line = std::to_string(static_cast<int>(event->kind));
      line += distrib::as_text(event->first);
      heard.events.push_back(line + "|" + std::string{distrib::as_text(event->second)});
    }
    expect(core.space(1).size() <= 4 * bytes.size() + 4 * piece + 16,
           "memory grows with what arrived, not with what is announced");
  }
  std::size_t conf_bytes = 0;
  for (const auto& [name, value] : core.conf()) conf_bytes += name.size() + value.size();
  expect(conf_bytes <= most_conf_bytes, "settings have a limit");
  expect(is_open || proven || core.outbox().empty(), "an unknown peer gets no answer");
  core.end();
  expect(core.input_ended() || core.error(), "an end that is too early is a failure");
  expect(!core.next(), "there is no event after the end");
  heard.error = core.error().code;
  return heard;
}

void codecs(ByteView input) {
  for (const bool typed : {false, true}) {
    WritableReader reader{input};
    Bytes again;
    while (!reader.error() && reader.used() != input.size()) {
      const ByteView value = typed ? distrib::hadoop::TypedBytes{}.read(reader, most_bytes)
                                   : distrib::hadoop::RawBytes::read(reader, most_bytes);
      if (reader.error()) break;
      if (typed) distrib::hadoop::TypedBytes::append(again, value);
      else distrib::hadoop::RawBytes::append(again, value);
    }
    expect(std::equal(again.begin(), again.end(), input.begin()), "what was read is written in the same way");
  }
  distrib::Error error;
  const auto split = distrib::hadoop::FileSplit::parse(input, error);
  distrib::Error of_path;
  if (!error) static_cast<void>(distrib::hadoop::detail::local_path(split.path, of_path));
  WritableReader reader{input};
  const std::int64_t number = reader.vlong();
  if (reader.error()) return;
  Bytes shortest;
  distrib::hadoop::detail::append_vint(shortest, number);
  WritableReader back{shortest};
  expect(back.vlong() == number && back.used() == shortest.size(), "a number is read back");
  expect(shortest.size() <= reader.used(), "numbers are as short as possible");
}

}  // namespace

void hadoop_pipes(ByteView input) {
  codecs(input);
  if (input.empty()) return;
  const std::size_t piece = 1 + static_cast<std::size_t>(input[0]);
  const ByteView bytes = input.subspan(1);
  const Heard whole = hear(bytes, std::max<std::size_t>(bytes.size(), 1), {});
  expect(hear(bytes, piece, {}) == whole, "the sizes of the pieces make no difference");
  hear(bytes, piece, Bytes(20, std::byte{7}));
}

}  // namespace fuzz
