// SPDX-License-Identifier: Apache-2.0
#include "expect.hpp"
#include "targets.hpp"

#include <distrib/stream_log/stream_file.hpp>
#include <distrib/stream_log/stream_item.hpp>
#include <distrib/stream_log/stream_log.hpp>

#include <cstdint>
#include <system_error>

namespace fuzz {

namespace {

/// Asks all that a log answers; nothing may fail, whatever the numbers are.
void ask_stream_log(const distrib::StreamLog& log) {
  for (const std::uint64_t step : {log.kept_step(), log.kept_step() + 1, log.horizon(), std::uint64_t{UINT64_MAX}}) {
    if (step < log.kept_step()) continue;
    const auto ranks = log.ranks_of(step);
    if (!ranks.empty()) (void)log.pieces_of(log.batch_of(step, ranks.front()));
    expect(log.agrees(step, log.label_of(step)) == (step <= log.horizon()), "a log agrees with its own labels");
    distrib::StreamLog copy = log;
    copy.let_go(step);
    expect(copy.items() == log.items() && copy.records() == log.records(), "nothing but old items goes");
    std::error_code code;
    expect(distrib::StreamLog::parse(copy.to_bytes(), code) == copy, "a log that was written is read as it was");
  }
  (void)log.last_step();
}

}  // namespace

void stream_log(ByteView input) {
  if (input.empty()) return;
  const ByteView rest = input.subspan(1);
  std::error_code code;
  if (input[0] == std::byte{'i'}) {
    const auto item = distrib::parse_stream_item(rest, code);
    expect(item.has_value() != static_cast<bool>(code), "taken or refused");
    if (!item) return;
    Bytes bytes;
    distrib::append_stream_item(*item, bytes);
    expect(distrib::parse_stream_item(bytes, code) == item, "an item that was written is read as it was");
  } else if (input[0] == std::byte{'l'}) {
    const auto log = distrib::StreamLog::parse(rest, code);
    expect(log.has_value() != static_cast<bool>(code), "taken or refused");
    if (log) ask_stream_log(*log);
  } else {
    const auto file = distrib::parse_stream_file(rest, code);
    expect(file.has_value() != static_cast<bool>(code), "taken or refused");
    if (file) expect(distrib::parse_stream_file(to_bytes(*file), code).has_value(), "a file that was written is read");
  }
}

}  // namespace fuzz
