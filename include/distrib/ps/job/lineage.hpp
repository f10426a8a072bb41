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

/// SHA-256 of the settings of a job: of all lines of its description but those that change no value, which are the number
/// of steps and the steps between two cuts.
[[nodiscard]] DISTRIB_DECL auto settings_hash(std::string_view job_text) -> Sha256Digest;

/// By which settings a state was made. A job that is started again may have other settings: then those hold from the step
/// on where it goes on. Two states of one step are the same only when their lineages are. A value.
class Lineage {
 public:
  /// From the step after `since` on these settings.
  struct Entry {
    Step since = 0;
    Sha256Digest settings{};

    [[nodiscard]] auto operator==(const Entry&) const -> bool = default;
  };

  /// Of the initial values, which no settings have made.
  Lineage() = default;

  /// Steps ascend.
  [[nodiscard]] auto entries() const noexcept -> const std::vector<Entry>& { return entries_; }
  [[nodiscard]] auto empty() const noexcept -> bool { return entries_.empty(); }

  /// Of the state at an earlier `step` of the same history.
  [[nodiscard]] DISTRIB_DECL auto until(Step step) const -> Lineage;

  /// Of what follows when a job with these settings goes on from `step`, whose lineage this is.
  [[nodiscard]] DISTRIB_DECL auto continued(Step step, const Sha256Digest& settings) const -> Lineage;

  /// The first 8 bytes of the SHA-256 of its text, little-endian; never 0. By this number lineages are compared.
  [[nodiscard]] DISTRIB_DECL auto digest() const -> std::uint64_t;

  [[nodiscard]] auto operator==(const Lineage&) const -> bool = default;

 private:
  friend auto parse_lineage(std::string_view text) -> std::optional<Lineage>;

  std::vector<Entry> entries_;
};

/// A line each: the step, a blank, the settings in hexadecimal digits. Stored with a cut, see `CutTensors`.
[[nodiscard]] DISTRIB_DECL auto to_text(const Lineage& lineage) -> std::string;

/// The lineage that `to_text` shows as `text`; empty for every other text.
[[nodiscard]] DISTRIB_DECL auto parse_lineage(std::string_view text) -> std::optional<Lineage>;

/// A cut that a shard has, and by which settings it was made.
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
