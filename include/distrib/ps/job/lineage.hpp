// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/step.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Returns the SHA-256 of the settings of a job: of all lines of its description except the number of steps and the
/// number of steps between cuts, which change no value; and, if it is not empty, of a line "arithmetic ...".
[[nodiscard]] DISTRIB_DECL auto settings_hash(std::string_view job_text, std::string_view arithmetic = {})
    -> Sha256Digest;
/// Returns the hash of the settings of a job, and of its arithmetic: that of `to_text(job)` and `job.arithmetic`.
[[nodiscard]] inline auto settings_hash(const Job& job) -> Sha256Digest {
  return settings_hash(to_text(job), job.arithmetic);
}

/// The settings that made a state. A job that is started again may have other settings; these hold from the step at
/// which it continues. Two states of one step are the same only if their lineages are equal. A value.
class Lineage {
 public:
  /// The settings of all steps after `since`, up to the next entry.
  struct Entry {
    Step since = 0;
    Sha256Digest settings{};

    [[nodiscard]] auto operator==(const Entry&) const -> bool = default;
  };

  /// The lineage of the initial values, which no settings have made.
  Lineage() = default;

  /// Returns the entries in ascending order of steps.
  [[nodiscard]] auto entries() const noexcept -> const std::vector<Entry>& { return entries_; }
  /// True for the lineage of the initial values.
  [[nodiscard]] auto empty() const noexcept -> bool { return entries_.empty(); }

  /// Returns the lineage of the state at an earlier `step` of the same history.
  [[nodiscard]] DISTRIB_DECL auto until(Step step) const -> Lineage;

  /// Returns the lineage of the states that follow when a job with these settings continues from `step` of this
  /// history. Drops the settings of later steps; adds an entry unless the state of `step` was made by the same
  /// settings.
  [[nodiscard]] DISTRIB_DECL auto continued(Step step, const Sha256Digest& settings) const -> Lineage;

  /// Returns the first 8 bytes of the SHA-256 of its text, little endian; 1 instead of 0. Lineages are compared by this
  /// number.
  [[nodiscard]] DISTRIB_DECL auto digest() const -> std::uint64_t;

  [[nodiscard]] auto operator==(const Lineage&) const -> bool = default;

 private:
  friend auto parse_lineage(std::string_view text) -> std::optional<Lineage>;

  std::vector<Entry> entries_;
};

/// Returns one line for each entry: the step, a space, the settings in hexadecimal digits. Stored with a cut, see
/// `CutTensors`.
[[nodiscard]] DISTRIB_DECL auto to_text(const Lineage& lineage) -> std::string;

/// Returns the lineage whose `to_text` is `text`; empty for any other text.
[[nodiscard]] DISTRIB_DECL auto parse_lineage(std::string_view text) -> std::optional<Lineage>;

/// A durable cut of a shard, and the settings that made it.
struct DurableCut {
  Step step = 0;
  Lineage lineage;

  [[nodiscard]] auto operator==(const DurableCut&) const -> bool = default;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/job/impl/lineage.ipp>
#endif
