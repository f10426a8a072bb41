// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/bundle_index.hpp>
#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/checkpoint/bundle_writer.hpp>
#include <distrib/checkpoint/stored_tensor.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/optimizer/updater.hpp>
#include <distrib/ps/cut/table_tensors.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/job_updaters.hpp>
#include <distrib/ps/job/lineage.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/store/cut.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

/// How the cut of one shard is stored as tensors of a checkpoint.
///
/// - Each part of a variable is a slice of the variable and of its slots (VARIABLE/SLOT; a counter has none).
/// - The rows of tables: see `TableTensors`.
/// - In an asynchronous job the shard's row of `distrib/applied`, int64 [shards, ranks]: the contributions counted of
///   each rank. If its ranks change it is [shards, most_ranks + 1]: the last step counted of each rank, and the number of
///   ranks that the job began with.
/// - `global_step` (int64) and `distrib/job` (the canonical description) say what the cut belongs to.
/// - `distrib/lineage` (see `Lineage`) says by which settings it was made, unless the settings of this description were
///   the only ones.
///
/// - `distrib/base` (int64) is in a link: the step of the cut that it stands on, see `Cut::base`. All but the tables is
///   in a link as in a whole cut.
///
/// Errors: name the prefix and the tensor, or the file.
///
/// Threads: const members from any thread.
class CutTensors {
 public:
  DISTRIB_DECL CutTensors(const Job& job, std::uint32_t shard, JobUpdaters updaters);

  [[nodiscard]] auto layout() const noexcept -> const ShardLayout& { return layout_; }

  /// Returns the content of the shard's data file: views of `cut`, which must outlive it, and what `TableTensors`
  /// copies.
  [[nodiscard]] DISTRIB_DECL auto part(const Cut& cut) const -> BundlePart;

  /// Adds what all shards of a job have in common: step, job and lineage. Call it for each part that is saved by
  /// itself; for parts that are saved together as one checkpoint, only for the first.
  DISTRIB_DECL void describe(const Cut& cut, BundlePart& part) const;

  /// Checks that a checkpoint is of this job. Fails with `ps_errc::job_mismatch` if it has no description of a job, or
  /// with the first difference in what a second run must have in common with the first; or as
  /// `BundleReader::read_strings`.
  DISTRIB_DECL void check_job(const BundleReader& reader, ErrorRef to) const;
  /// This overload throws the error as `std::system_error`.
  void check_job(const BundleReader& reader) const {
    Error error;
    check_job(reader, error);
    throw_if(error);
  }

  /// Returns the lineage of a cut: the settings that made it. A cut without a stored lineage was made by the settings
  /// of its description, from step 0 on. Fails as `BundleReader::read_strings`, or with `checkpoint_errc::corrupt_data`
  /// if the text is not a lineage; the result is then empty.
  [[nodiscard]] DISTRIB_DECL auto lineage(const BundleReader& reader, Error& error) const -> Lineage;

  /// True if the parts of a checkpoint may be of one lineage: all of them have a lineage, or none has. Trap: the
  /// lineages themselves are compared only when the parts are merged.
  [[nodiscard]] DISTRIB_DECL static auto are_of_one_history(std::span<const BundleIndex> parts) -> bool;

  /// True if the data file of this shard holds exactly the parts of this shard, as `part` lays them out.
  [[nodiscard]] DISTRIB_DECL auto fits(const BundleReader& reader) const -> bool;

  /// Returns the shard's cut from a checkpoint, whatever parts and shards saved it.
  ///
  /// If an asynchronous job has another number of ranks than the job that saved the cut, `Cut::applied` has the saved
  /// number of entries; `AsyncShardCore` divides them.
  ///
  /// Errors: as `BundleReader::read`, `lineage` and `TableTensors::read`. `ps_errc::job_mismatch` if an asynchronous
  /// job has other numbers of ranks, shards or parts, and the shards had not all counted the same contributions, or,
  /// for another number of ranks, had not counted equally many of each rank (a difference of one is allowed). Also if
  /// an asynchronous job whose ranks change saved it, and this job is no such job with the same `most_ranks`, or the
  /// other way round. The result is unspecified then.
  [[nodiscard]] DISTRIB_DECL auto read(const BundleReader& reader, ErrorRef to) const -> Cut;
  /// This overload throws the error as `std::system_error`.
  [[nodiscard]] DISTRIB_DECL auto read(const BundleReader& reader) const -> Cut;

  /// True if the parts of variables in the data file of a link are those of this shard.
  [[nodiscard]] DISTRIB_DECL auto fits_link(const BundleReader& reader) const -> bool;

  /// Returns the step that a link stands on. Errors: as `BundleReader::read`, and `checkpoint_errc::mismatch`.
  [[nodiscard]] DISTRIB_DECL auto base(const BundleReader& reader, Error& error) const -> Step;

  /// Returns a link that this shard has saved. Errors: as `read`, and `TableTensors::read_changes`.
  [[nodiscard]] DISTRIB_DECL auto read_link(const BundleReader& reader, ErrorRef to) const -> Cut;

  /// Returns the whole cut of the last of `links`. The first link must stand on `whole`, each other link on the link
  /// before it.
  [[nodiscard]] DISTRIB_DECL auto with_links(const Cut& whole, std::span<const Cut> links) const -> Cut;

 private:
  static constexpr const char* applied_name = "distrib/applied";
  static constexpr const char* job_name = "distrib/job";
  static constexpr const char* lineage_name = "distrib/lineage";
  static constexpr const char* base_name = "distrib/base";

  // Reads all but the tables.
  DISTRIB_DECL auto read_dense(const BundleReader& reader, Error& error) const -> Cut;

  static auto is_common(std::string_view name) -> bool { return name == "global_step" || name.starts_with("distrib/"); }

  // Calls f(entry, name of the tensor, number of its block, offset in the block) for each tensor of each part. Block 0
  // holds the values, the others the slots, in the order of `Cut::slots`. Counters come last.
  template <class F>
  void for_each_piece(F f) const {
    std::size_t first_slot = 1;
    auto entry = layout_.trained().begin();
    for (const ShardLayout::Group& group : layout_.groups()) {
      const std::span<const Slot> slots = updaters_[group.updater].slots();
      for (; entry != layout_.trained().end() && entry->updater == group.updater; ++entry) {
        f(*entry, entry->name, 0, entry->offset_bytes);
        for (std::size_t i = 0; i < slots.size(); ++i)
          f(*entry, entry->name + "/" + std::string{slots[i].name}, first_slot + i,
            entry->offset_bytes - group.offset_bytes);
      }
      first_slot += slots.size();
    }
    for (const ShardLayout::Entry& counter : layout_.counters()) f(counter, counter.name, 0, counter.offset_bytes);
  }

  DISTRIB_DECL auto has_piece(const BundleReader& reader, std::string_view name, const ShardLayout::Entry& entry) const
      -> bool;

  DISTRIB_DECL auto read_applied(const BundleReader& reader, Error& error) const -> std::vector<Step>;

  // Fails if one of the jobs that saved and read the cut is asynchronous and has ranks that change, and the other not, or
  // if both have, but with other numbers of ranks.
  DISTRIB_DECL void check_ranks(const BundleReader& reader, const Shape& applied, Error& error) const;

  // Reads an int64 tensor, or a slice of it; a scalar is one number.
  static auto read_numbers(const BundleReader& reader, std::string_view name, Error& error) -> std::vector<Step> {
    const StoredTensor* tensor = reader.find(name);
    return read_numbers(reader, name, tensor == nullptr ? Slice{} : Slice::whole(tensor->shape), error);
  }
  DISTRIB_DECL static auto read_numbers(const BundleReader& reader, std::string_view name, const Slice& slice,
                                        Error& error) -> std::vector<Step>;

  ShardLayout layout_;
  JobUpdaters updaters_;
  std::vector<TableTensors> tables_;
  std::string job_text_;
  Lineage only_settings_;  // the lineage of a cut of this job that is stored without a lineage
  std::uint32_t shards_;
  bool counts_by_log_;  // asynchronous, and its ranks change
  std::int64_t columns_;  // of `distrib/applied`
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/cut/impl/cut_tensors.ipp>
#endif
