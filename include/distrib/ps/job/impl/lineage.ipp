// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/lineage.hpp>

#include <distrib/core/bytes.hpp>
#include <distrib/core/shortest_text.hpp>

#include <algorithm>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto settings_hash(std::string_view job_text, std::string_view arithmetic) -> Sha256Digest {
  Sha256 hash;
  for (const std::string_view line : detail::lines_of(job_text, false)) {
    if (line.starts_with("total_steps ") || line.starts_with("cut_interval ")) continue;
    hash.update(as_bytes(line));
    hash.update(as_bytes("\n"));
  }
  if (!arithmetic.empty()) {
    hash.update(as_bytes("arithmetic "));
    hash.update(as_bytes(arithmetic));
    hash.update(as_bytes("\n"));
  }
  return hash.finish();
}

DISTRIB_DECL auto Lineage::until(Step step) const -> Lineage {
  Lineage earlier;
  for (const Entry& entry : entries_)
    if (entry.since < step) earlier.entries_.push_back(entry);
  return earlier;
}

DISTRIB_DECL auto Lineage::continued(Step step, const Sha256Digest& settings) const -> Lineage {
  Lineage next = until(step);
  if (next.empty() || next.entries_.back().settings != settings) next.entries_.push_back({step, settings});
  return next;
}

DISTRIB_DECL auto Lineage::digest() const -> std::uint64_t {
  const Sha256Digest hash = sha256(as_bytes(to_text(*this)));
  return std::max<std::uint64_t>(1, load_le<std::uint64_t>(hash.data()));
}

DISTRIB_DECL auto to_text(const Lineage& lineage) -> std::string {
  std::string text;
  for (const Lineage::Entry& entry : lineage.entries())
    text.append(std::to_string(entry.since)).append(" ").append(to_hex(entry.settings)).append("\n");
  return text;
}

DISTRIB_DECL auto parse_lineage(std::string_view text) -> std::optional<Lineage> {
  Lineage lineage;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = detail::cut_before(rest, '\n');
    const auto since = detail::parse_shortest<Step>(detail::cut_before(line, ' '));
    const auto settings = parse_sha256(line);
    const bool ascends = since && (lineage.empty() ? *since == 0 : *since > lineage.entries_.back().since);
    if (!ascends || !settings) return std::nullopt;
    lineage.entries_.push_back({*since, *settings});
  }
  if (to_text(lineage) != text) return std::nullopt;
  return lineage;
}

}  // namespace v0
}  // namespace distrib
