// SPDX-License-Identifier: Apache-2.0
// A place of a stream that tests fill: sources have numbered records, which are the text of their numbers.
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/data/stream_place.hpp>
#include <distrib/stream_log/seen_source.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace numbered_place {

/// What all processes see.
struct Sources {
  std::map<std::string, std::vector<std::string>> records;  ///< Of each source.
  distrib::Error failure;  ///< Of all calls; empty: none.
};

inline auto sum_before(const std::vector<std::string>& records, std::uint64_t count) -> distrib::StreamSum {
  distrib::StreamSum sum{1, count};
  for (std::uint64_t i = 0; i < count; ++i)
    for (const char c : records[i]) sum.high = sum.high * 31 + static_cast<unsigned char>(c);
  return sum;
}

class Records final : public distrib::StreamRecords {
 public:
  explicit Records(std::vector<std::string> records) : records_{std::move(records)} {}
  [[nodiscard]] auto at(std::uint64_t record, distrib::Error&) const -> distrib::ByteView override {
    return distrib::as_bytes(records_[record]);
  }
  [[nodiscard]] auto where(std::uint64_t record) const -> std::string override {
    return "record " + std::to_string(record);
  }

 private:
  std::vector<std::string> records_;
};

/// A `StreamPlace` over `Sources`.
class Place final : public distrib::StreamPlace {
 public:
  explicit Place(std::shared_ptr<Sources> there) : there_{std::move(there)} {}

  [[nodiscard]] auto name() const -> std::string override { return "numbers"; }
  [[nodiscard]] auto kind() const -> std::string override { return "numbered place"; }
  void check(distrib::Error& error) override { error = {}; }
  [[nodiscard]] auto look(distrib::StreamLog& next, std::uint64_t batch, distrib::Error& error)
      -> std::vector<distrib::StreamProposal> override {
    std::vector<distrib::StreamProposal> proposals;
    error = there_->failure;
    for (const auto& entry : there_->records) {
      if (error || next.covers(batch + 1)) break;
      const std::vector<std::string>& all = entry.second;
      auto step = distrib::look_at_source(next, {entry.first, 0, all.size()},
                                          [&all](std::uint64_t n) { return sum_before(all, n); });
      if (!step.proposal) continue;
      append_proposal(next, *step.proposal);
      proposals.emplace_back(*std::move(step.proposal));
    }
    return proposals;
  }
  [[nodiscard]] auto hold(const distrib::StreamRange& range, std::uint64_t first, distrib::Error& error)
      -> std::shared_ptr<const distrib::StreamRecords> override {
    error = there_->failure;
    if (error) return nullptr;
    const auto found = there_->records.find(range.source);
    if (found == there_->records.end()) {
      error = distrib::check_source(range, first, nullptr, std::nullopt);
      return nullptr;
    }
    return std::make_shared<Records>(found->second);
  }
  [[nodiscard]] auto sources(distrib::Error& error) -> std::optional<std::vector<std::string>> override {
    error = there_->failure;
    std::vector<std::string> names;
    for (const auto& entry : there_->records) names.push_back(entry.first);
    return names;
  }

 private:
  std::shared_ptr<Sources> there_;
};

}  // namespace numbered_place
