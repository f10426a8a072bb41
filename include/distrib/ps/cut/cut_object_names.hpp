// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/job/step.hpp>

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {

// The names of the objects of a job in an object store. All begin with the directory of the job. Numbers have a fixed
// width, so names sort as their numbers do. No object is ever written under a name that another process uses.

/// The claim of a process to a shard. The process with the largest claim has the shard. A value.
struct ObjectClaim {
  std::uint32_t epoch = 0;  ///< One more than the largest epoch that the process found; 0: no claim.
  std::uint64_t nonce = 0;  ///< Random, so that two processes never have the same claim.

  [[nodiscard]] auto operator<=>(const ObjectClaim&) const = default;
};

/// The name of a cut: "cuts/STEP/SHARD-of-SHARDS.EPOCH-NONCE.N", where SHARD is "00003", or "00003-r1" if the second
/// replica of the shard has saved it. Ordered by step, shard, claim, number and replica. A value.
///
/// A cut that has only what has changed since cut N - 1 of its process is a link, "cuts/STEP/....N-ROOT": the cuts ROOT
/// to N of this process are its chain, and ROOT is whole. So names alone say which cuts stand on which.
struct CutKey {
  Step step = 0;
  std::uint32_t shard = 0;
  std::uint32_t shards = 1;
  ObjectClaim claim;
  std::uint32_t number = 0;  ///< Counts the cuts of one process, so that it uses no name twice.
  std::uint32_t replica = 0;  ///< Of the shard. Each replica has claims and cuts of its own.
  std::uint32_t links = 0;  ///< In its chain, with itself; 0: it is whole.

  [[nodiscard]] auto is_whole() const noexcept -> bool { return links == 0; }
  /// The number of the whole cut under it.
  [[nodiscard]] auto root() const noexcept -> std::uint32_t { return number - links; }
  [[nodiscard]] auto operator<=>(const CutKey&) const = default;
};

/// The name of a log of the ranks: "ranks/SHARD-of-SHARDS.EPOCH-NONCE.N". Of one shard that of the largest claim and number
/// counts. A value.
struct RankLogKey {
  std::uint32_t shard = 0;
  std::uint32_t shards = 1;
  ObjectClaim claim;
  std::uint32_t number = 0;  ///< Counts the logs that one process has written.

  [[nodiscard]] auto operator<=>(const RankLogKey&) const = default;
};

/// The name of a checkpoint: "model.ckpt-STEP.HASH.index", where HASH is `checkpoint_hash` of its content. A value.
struct CheckpointKey {
  Step step = 0;
  std::uint64_t hash = 0;

  [[nodiscard]] auto operator<=>(const CheckpointKey&) const = default;
};

/// Writes and reads the names of the objects below one directory.
///
/// Threads: const members from any thread.
class CutObjectNames {
 public:
  /// `directory`: without a bucket, "a/b"; slashes at its end are dropped. Empty: the whole bucket.
  DISTRIB_DECL explicit CutObjectNames(std::string directory);

  /// `replica`: of the shard, at most 9.
  [[nodiscard]] DISTRIB_DECL auto claim(std::uint32_t shard, const ObjectClaim& claim, std::uint32_t replica = 0) const
      -> std::string;
  /// The base of a process says with which cut it began: see `ObjectCutsCore`. Replicas have none.
  [[nodiscard]] DISTRIB_DECL auto base(std::uint32_t shard, const ObjectClaim& claim) const -> std::string;
  [[nodiscard]] DISTRIB_DECL auto cut(const CutKey& key) const -> std::string;
  [[nodiscard]] DISTRIB_DECL auto checkpoint(const CheckpointKey& key) const -> std::string;
  [[nodiscard]] DISTRIB_DECL auto rank_log(const RankLogKey& key) const -> std::string;
  /// An empty object: the checkpoint of this step is preserved.
  [[nodiscard]] DISTRIB_DECL auto preserved(Step step) const -> std::string;

  /// What all claims begin with.
  [[nodiscard]] DISTRIB_DECL auto claims(std::uint32_t shard, std::uint32_t replica = 0) const -> std::string;
  [[nodiscard]] DISTRIB_DECL auto bases(std::uint32_t shard) const -> std::string;
  [[nodiscard]] auto cuts() const -> std::string { return root_ + "cuts/"; }
  [[nodiscard]] DISTRIB_DECL auto cuts_of(Step step) const -> std::string;
  [[nodiscard]] auto rank_logs() const -> std::string { return root_ + "ranks/"; }
  /// What the claims to all shards and all cuts begin with, so that one list has both.
  [[nodiscard]] auto claims_and_cuts() const -> std::string { return root_ + "c"; }
  [[nodiscard]] auto checkpoints() const -> std::string { return root_ + "model.ckpt-"; }
  [[nodiscard]] auto all_preserved() const -> std::string { return root_ + "keep/"; }

  // Each returns nothing for any other name: `claim_of(claim(s, c), s) == c`.
  [[nodiscard]] DISTRIB_DECL auto claim_of(std::string_view name, std::uint32_t shard, std::uint32_t replica = 0) const
      -> std::optional<ObjectClaim>;
  [[nodiscard]] DISTRIB_DECL auto base_of(std::string_view name, std::uint32_t shard) const
      -> std::optional<ObjectClaim>;
  [[nodiscard]] DISTRIB_DECL auto cut_of(std::string_view name) const -> std::optional<CutKey>;
  [[nodiscard]] DISTRIB_DECL auto checkpoint_of(std::string_view name) const -> std::optional<CheckpointKey>;
  [[nodiscard]] DISTRIB_DECL auto rank_log_of(std::string_view name) const -> std::optional<RankLogKey>;
  [[nodiscard]] DISTRIB_DECL auto preserved_of(std::string_view name) const -> std::optional<Step>;

 private:
  std::string root_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/cut/impl/cut_object_names.ipp>
#endif
