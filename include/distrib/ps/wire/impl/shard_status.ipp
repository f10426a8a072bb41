// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/wire/shard_status.hpp>

#include <array>
#include <bit>
#include <cstdio>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void ShardStatus::RankStatus::encode(WireWriter& message) const {
  message.varint(1, rank);
  message.varint(2, here ? 1 : 0);
  message.varint(3, last);
  if (process != 0) message.varint(4, process);
  if (looks_on) message.varint(5, 1);
  if (was_last != 0) message.varint(6, was_last);
  if (waited.count() != 0) message.varint(7, static_cast<std::uint64_t>(waited.count()));
}

DISTRIB_DECL auto ShardStatus::RankStatus::decode(ByteView message) -> bool {
  WireReader reader{message};
  while (reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::varint): rank = reader.uint32(); break;
      case wire_tag(2, WireType::varint): here = reader.boolean(); break;
      case wire_tag(3, WireType::varint): last = reader.uint64(); break;
      case wire_tag(4, WireType::varint): process = reader.uint32(); break;
      case wire_tag(5, WireType::varint): looks_on = reader.boolean(); break;
      case wire_tag(6, WireType::varint): was_last = reader.uint64(); break;
      case wire_tag(7, WireType::varint): waited = std::chrono::nanoseconds{reader.int64()}; break;
    }
  return reader.ok() && waited.count() >= 0;
}

DISTRIB_DECL auto ShardStatus::VariableStatus::decode(ByteView message) -> bool {
  WireReader reader{message};
  while (reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::bytes): name = reader.text(); break;
      case wire_tag(2, WireType::varint): bytes = reader.uint64(); break;
    }
  return reader.ok();
}

DISTRIB_DECL auto ShardStatus::ExportedStatus::digest_text() const -> std::string {
  std::array<char, 33> text{};
  std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(digest_first),
                static_cast<unsigned long long>(digest_second));
  return text.data();
}

DISTRIB_DECL void ShardStatus::ExportedStatus::encode(WireWriter& message) const {
  message.varint(1, position);
  message.varint(2, step);
  message.varint(3, taken);
  message.varint(4, left_out);
  message.varint(5, failures);
  message.fixed64(6, digest_first);
  message.fixed64(7, digest_second);
}

DISTRIB_DECL auto ShardStatus::ExportedStatus::decode(ByteView message) -> bool {
  WireReader reader{message};
  while (reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::varint): position = reader.uint64(); break;
      case wire_tag(2, WireType::varint): step = reader.uint64(); break;
      case wire_tag(3, WireType::varint): taken = reader.uint64(); break;
      case wire_tag(4, WireType::varint): left_out = reader.uint64(); break;
      case wire_tag(5, WireType::varint): failures = reader.uint64(); break;
      case wire_tag(6, WireType::fixed64): digest_first = reader.uint64(); break;
      case wire_tag(7, WireType::fixed64): digest_second = reader.uint64(); break;
    }
  return reader.ok();
}

DISTRIB_DECL void ShardStatus::encode(WireWriter& head) const {
  head.varint(1, task);
  head.varint(2, shard);
  head.varint(3, shards);
  head.varint(4, tasks);
  head.varint(5, ranks);
  head.varint(6, static_cast<std::uint64_t>(uptime.count()));
  head.text(7, job_hash);
  head.text(8, consistency);
  head.varint(9, total_steps);
  head.varint(10, open ? 1 : 0);
  head.varint(11, step);
  head.varint(12, newest_cut);
  head.varint(13, contributions);
  head.varint(14, staleness);
  head.varint(15, value_bytes);
  head.varint(16, slot_bytes);
  head.varint(17, variables);
  head.varint(18, pushes);
  head.varint(19, pushed_bytes);
  head.varint(20, pulls);
  head.varint(21, pulled_bytes);
  head.varint(22, parked);
  // A reader of an older version refuses more than `most_listed` ranks in field 23, and skips field 33.
  for (std::size_t i = 0; i < of_ranks.size(); ++i)
    head.message(i < most_listed ? 23 : 33, [&](WireWriter& message) { of_ranks[i].encode(message); });
  for (const ShardStatus::VariableStatus& variable : of_variables)
    head.message(24, [&](WireWriter& message) { variable.encode(message); });
  head.message(25, [&](WireWriter& message) { push_times.encode(message); });
  head.message(26, [&](WireWriter& message) { pull_times.encode(message); });
  head.varint(27, stale);
  head.varint(28, no_values ? 1 : 0);
  head.text(29, arithmetic);
  if (exported) head.message(30, [&](WireWriter& message) { exported->encode(message); });
  if (nonce != 0) head.varint(31, nonce);
  if (rate_factor != 1) head.fixed64(32, std::bit_cast<std::uint64_t>(rate_factor));
  const auto unless_zero = [&head](std::uint32_t field, std::uint64_t value) {
    if (value != 0) head.varint(field, value);
  };
  unless_zero(34, no_room ? 1 : 0);
  unless_zero(35, vacant);
  unless_zero(36, waiting_bytes);
  unless_zero(37, most_waiting_bytes);
  unless_zero(38, static_cast<std::uint64_t>(waits_for.count()));
  unless_zero(39, completions);
  unless_zero(40, static_cast<std::uint64_t>(completion_time.count()));
  unless_zero(41, horizon);
}

DISTRIB_DECL auto ShardStatus::decode(ByteView head) -> bool {
  bool good = true;
  WireReader reader{head};
  while (good && reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::varint): task = reader.uint32(); break;
      case wire_tag(2, WireType::varint): shard = reader.uint32(); break;
      case wire_tag(3, WireType::varint): shards = reader.uint32(); break;
      case wire_tag(4, WireType::varint): tasks = reader.uint32(); break;
      case wire_tag(5, WireType::varint): ranks = reader.uint32(); break;
      case wire_tag(6, WireType::varint):
        good = reader.int64() >= 0;
        uptime = std::chrono::milliseconds{reader.int64()};
        break;
      case wire_tag(7, WireType::bytes): job_hash = reader.text(); break;
      case wire_tag(8, WireType::bytes): consistency = reader.text(); break;
      case wire_tag(9, WireType::varint): total_steps = reader.uint64(); break;
      case wire_tag(10, WireType::varint): open = reader.boolean(); break;
      case wire_tag(11, WireType::varint): step = reader.uint64(); break;
      case wire_tag(12, WireType::varint): newest_cut = reader.uint64(); break;
      case wire_tag(13, WireType::varint): contributions = reader.uint64(); break;
      case wire_tag(14, WireType::varint): staleness = reader.uint64(); break;
      case wire_tag(15, WireType::varint): value_bytes = reader.uint64(); break;
      case wire_tag(16, WireType::varint): slot_bytes = reader.uint64(); break;
      case wire_tag(17, WireType::varint): variables = reader.uint64(); break;
      case wire_tag(18, WireType::varint): pushes = reader.uint64(); break;
      case wire_tag(19, WireType::varint): pushed_bytes = reader.uint64(); break;
      case wire_tag(20, WireType::varint): pulls = reader.uint64(); break;
      case wire_tag(21, WireType::varint): pulled_bytes = reader.uint64(); break;
      case wire_tag(22, WireType::varint): parked = reader.uint64(); break;
      case wire_tag(23, WireType::bytes): good = take(reader.bytes(), of_ranks); break;
      case wire_tag(24, WireType::bytes): good = take(reader.bytes(), of_variables); break;
      case wire_tag(25, WireType::bytes): good = push_times.decode(reader.bytes()); break;
      case wire_tag(26, WireType::bytes): good = pull_times.decode(reader.bytes()); break;
      case wire_tag(27, WireType::varint): stale = reader.uint64(); break;
      case wire_tag(28, WireType::varint): no_values = reader.boolean(); break;
      case wire_tag(29, WireType::bytes): arithmetic = reader.text(); break;
      case wire_tag(30, WireType::bytes):
        exported = ExportedStatus{};
        good = exported->decode(reader.bytes());
        break;
      case wire_tag(31, WireType::varint): nonce = reader.uint64(); break;
      case wire_tag(32, WireType::fixed64): rate_factor = std::bit_cast<double>(reader.uint64()); break;
      case wire_tag(33, WireType::bytes): good = take(reader.bytes(), of_ranks, most_ranks_listed); break;
      case wire_tag(34, WireType::varint): no_room = reader.boolean(); break;
      case wire_tag(35, WireType::varint): vacant = reader.uint64(); break;
      case wire_tag(36, WireType::varint): waiting_bytes = reader.uint64(); break;
      case wire_tag(37, WireType::varint): most_waiting_bytes = reader.uint64(); break;
      case wire_tag(38, WireType::varint): waits_for = std::chrono::nanoseconds{reader.int64()}; break;
      case wire_tag(39, WireType::varint): completions = reader.uint64(); break;
      case wire_tag(40, WireType::varint): completion_time = std::chrono::nanoseconds{reader.int64()}; break;
      case wire_tag(41, WireType::varint): horizon = reader.uint64(); break;
    }
  return good && reader.ok() && waits_for.count() >= 0 && completion_time.count() >= 0;
}

}  // namespace v0
}  // namespace distrib
