// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/stream_log/stream_item.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Names the life of a log: each start of the shard that keeps it gives it a new one. A value.
struct StreamLogId {
  std::uint64_t number = 0;  ///< Grows from life to life.
  std::uint64_t random = 0;  ///< Distinguishes two lives of one number.

  [[nodiscard]] auto operator<=>(const StreamLogId&) const = default;
};

/// The first items of a log, by their number and sum: what a contribution, values or a cut rest on. A value.
struct StreamLabel {
  std::uint64_t items = 0;  ///< Number of items.
  StreamSum sum;  ///< Their sum.

  [[nodiscard]] auto operator==(const StreamLabel&) const -> bool = default;
};

/// Records of one range, of a batch.
struct StreamPiece {
  const StreamRange* range = nullptr;  ///< In the log; valid until the log changes.
  std::uint64_t first = 0;  ///< Number of the first record in its source.
  std::uint64_t end = 0;  ///< Number of the first record behind the piece.
};

/// How far a log reaches. Of two logs of one life, the later one is greater. Of two lives, the later one.
struct StreamExtent {
  StreamLogId id;  ///< The life.
  std::uint64_t items = 0;  ///< Number of items.
  std::uint64_t horizon = 0;  ///< Up to this step, nothing can change any more.
  std::uint64_t kept_step = 0;  ///< What only earlier steps need was let go.

  [[nodiscard]] auto operator<=>(const StreamExtent&) const = default;
};

/// Which records make which batch, and which ranks make which step: a list of items that only grows.
///
/// Records are numbered in the order of the log, and batch b has the records from b * batch_size on. The batches of
/// step t follow those of step t - 1, one for each rank, in the order of the ranks. Steps begin with 1, batches with 0.
///
/// Items that only steps up to `kept_step()` need are dropped by `let_go`. Functions of a step may be called for steps
/// from `kept_step()` on; for earlier ones they return values without meaning. Numbers that do not fit into 64 bits
/// are taken as the largest one.
///
/// A value. Memory: the items, and an entry for each source that the log has ever had.
class StreamLog {
 public:
  /// A log without records, in which these ranks make all steps. `batch_size` records make a batch; at least 1.
  DISTRIB_DECL StreamLog(std::uint64_t batch_size, std::vector<std::uint32_t> ranks);

  /// The life.
  [[nodiscard]] auto id() const noexcept -> StreamLogId { return id_; }
  /// Begins another life.
  void set_id(StreamLogId id) noexcept { id_ = id; }
  /// Number of records of a batch.
  [[nodiscard]] auto batch_size() const noexcept -> std::uint64_t { return batch_size_; }
  /// No item that is taken from now on changes a step up to this one.
  [[nodiscard]] auto horizon() const noexcept -> std::uint64_t { return horizon_; }
  /// Raises the horizon; it never falls.
  void raise_horizon(std::uint64_t step) noexcept { horizon_ = horizon_ < step ? step : horizon_; }
  /// Number of items, with those that were let go.
  [[nodiscard]] auto items() const noexcept -> std::uint64_t { return first_item_ + items_.size(); }
  /// The items that are kept; the first one has the number `first_item()`.
  [[nodiscard]] auto kept_items() const noexcept -> std::span<const StreamItem> { return items_; }
  /// Number of the first item that is kept.
  [[nodiscard]] auto first_item() const noexcept -> std::uint64_t { return first_item_; }
  /// Number of records in all items.
  [[nodiscard]] auto records() const noexcept -> std::uint64_t {
    return records_behind_.empty() ? first_record_ : records_behind_.back();
  }
  /// True if nothing follows any more.
  [[nodiscard]] auto is_closed() const noexcept -> bool { return is_closed_; }
  /// How far the log reaches.
  [[nodiscard]] auto extent() const noexcept -> StreamExtent { return {id_, items(), horizon_, kept_step_}; }
  /// The end of a source; nullptr if the log never had records of it. Valid until the log changes.
  [[nodiscard]] DISTRIB_DECL auto end_of(std::string_view source) const -> const SourceEnd*;
  /// Number of sources that the log has ever had.
  [[nodiscard]] auto sources() const noexcept -> std::size_t { return ends_.size(); }

  /// Appends an item, which must be valid. Does not compare it with what the log has: `StreamShardCore` does.
  DISTRIB_DECL void append(StreamItem item);

  /// The ranks of a step, in ascending order. Valid until the log changes.
  [[nodiscard]] DISTRIB_DECL auto ranks_of(std::uint64_t step) const noexcept -> std::span<const std::uint32_t>;
  /// True if this rank makes a contribution to the step.
  [[nodiscard]] DISTRIB_DECL auto is_rank_of(std::uint64_t step, std::uint32_t rank) const noexcept -> bool;
  /// True if the rank makes contributions to steps after this one, as far as the log says.
  [[nodiscard]] DISTRIB_DECL auto is_rank_after(std::uint64_t step, std::uint32_t rank) const noexcept -> bool;
  /// Number of the batch of a rank, which must be one of the step's.
  [[nodiscard]] DISTRIB_DECL auto batch_of(std::uint64_t step, std::uint32_t rank) const noexcept -> std::uint64_t;
  /// Number of records that the steps up to this one use.
  [[nodiscard]] DISTRIB_DECL auto records_for(std::uint64_t step) const noexcept -> std::uint64_t;
  /// True if the log has the records of all ranks of the step.
  [[nodiscard]] auto covers(std::uint64_t step) const noexcept -> bool { return records_for(step) <= records(); }
  /// The last step for which the log has records, if it is closed.
  [[nodiscard]] DISTRIB_DECL auto last_step() const noexcept -> std::optional<std::uint64_t>;
  /// The items that the steps up to this one rest on: its records and its ranks. The log must cover the step.
  [[nodiscard]] DISTRIB_DECL auto label_of(std::uint64_t step) const noexcept -> StreamLabel;
  /// True if this log makes the steps up to `step` of the same records as the log that the label is of: it begins with
  /// its items, and no ranks that follow are of a step up to `step`, or can be. False if some of the items were let go.
  /// An empty label: true.
  [[nodiscard]] DISTRIB_DECL auto agrees(std::uint64_t step, const std::optional<StreamLabel>& label) const noexcept
      -> bool;
  /// The label with so many items, which the log must have; see `agrees`.
  [[nodiscard]] DISTRIB_DECL auto label_with(std::uint64_t count) const noexcept -> std::optional<StreamLabel>;

  /// The records of a batch, in order; empty if the log does not have all of them, or not any more.
  [[nodiscard]] DISTRIB_DECL auto pieces_of(std::uint64_t batch) const -> std::vector<StreamPiece>;

  /// Drops what only steps up to this one need. Does nothing if the log does not cover the step, or let go of more.
  DISTRIB_DECL void let_go(std::uint64_t step);
  /// Forgets the ends of sources that no kept item names and for which `is_gone` returns true. Such a source would be
  /// taken for a new one if it came again.
  DISTRIB_DECL void forget_sources(const std::function<bool(const std::string& source)>& is_gone);
  /// The step that `let_go` was called with; 0 at first.
  [[nodiscard]] auto kept_step() const noexcept -> std::uint64_t { return kept_step_; }
  /// True if the steps after this one can still be made.
  [[nodiscard]] auto reaches(std::uint64_t step) const noexcept -> bool { return step >= kept_step_; }

  /// Returns the bytes of the log: a protobuf message.
  [[nodiscard]] DISTRIB_DECL auto to_bytes() const -> std::vector<std::byte>;
  /// Reads the bytes of a log. Memory: a few times the bytes. On failure returns nothing, and `code` is `bad_log` or
  /// `newer_version`.
  [[nodiscard]] static DISTRIB_DECL auto parse(ByteView bytes, std::error_code& code) -> std::optional<StreamLog>;

  /// True if both have the same items, and let go of the same ones.
  [[nodiscard]] auto operator==(const StreamLog&) const -> bool = default;

 private:
  // Ranks of the steps from `from_step` on.
  struct Epoch {
    std::uint64_t from_step = 1;
    std::uint64_t batches = 0;  // of the steps before
    std::uint64_t items = 0;  // the first ones, which this rests on
    std::vector<std::uint32_t> ranks;

    [[nodiscard]] auto operator==(const Epoch&) const -> bool = default;
  };

  StreamLog() = default;
  DISTRIB_DECL void add_epoch(const StreamRanks& ranks);
  DISTRIB_DECL void count_batches(std::size_t from);
  [[nodiscard]] DISTRIB_DECL auto epoch_of(std::uint64_t step) const noexcept -> const Epoch*;
  [[nodiscard]] DISTRIB_DECL auto items_for(std::uint64_t step) const noexcept -> std::uint64_t;
  // Index of the kept item that has this record; the number of kept items if none has.
  [[nodiscard]] DISTRIB_DECL auto index_of_record(std::uint64_t record) const noexcept -> std::size_t;
  [[nodiscard]] DISTRIB_DECL auto is_sound() const -> bool;

  StreamLogId id_;
  std::uint64_t batch_size_ = 1;
  std::uint64_t horizon_ = 0;
  std::uint64_t kept_step_ = 0;
  std::uint64_t first_item_ = 0;
  std::uint64_t first_record_ = 0;  // of the first kept item
  StreamSum first_sum_;  // of the items before it
  std::vector<StreamItem> items_;
  std::vector<StreamSum> sums_;  // up to and with the item
  std::vector<std::uint64_t> records_behind_;  // up to and with the item
  std::map<std::string, SourceEnd, std::less<>> ends_;
  std::vector<Epoch> epochs_;  // in the order of their steps; of those up to `kept_step_` only the last one
  bool is_closed_ = false;
};

/// True if a log may take a proposal: it is valid and continues what the log has. A range continues the end of its
/// source, ranks are for steps beyond the horizon, an end is for exactly the records of the log.
[[nodiscard]] DISTRIB_DECL auto may_append(const StreamLog& log, const StreamProposal& proposal) -> bool;

/// Appends a proposal, for which `may_append` is true.
DISTRIB_DECL void append_proposal(StreamLog& log, StreamProposal proposal);

/// A log that several components read and that no longer changes.
using SharedStreamLog = std::shared_ptr<const StreamLog>;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/stream_log/impl/stream_log.ipp>
#endif
