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

/// How the cut of one shard is stored as tensors of a checkpoint: each of its parts as a slice of its variable and of
/// the variable's slots (VARIABLE/SLOT; a counter has none), its rows of the tables as `TableTensors` says, and in an
/// asynchronous job its row of `distrib/applied`, int64 [shards, ranks], the contributions counted. `global_step`
/// (int64) and `distrib/job` (the canonical description) tell what it is of; `distrib/lineage` (see `Lineage`) by which
/// settings it was made, where those of this description were not the only ones.
///
/// Threads: const members from any. Errors tell the prefix and the tensor, or the file.
class CutTensors {
 public:
  DISTRIB_DECL CutTensors(const Job& job, std::uint32_t shard, JobUpdaters updaters);

  [[nodiscard]] auto layout() const noexcept -> const ShardLayout& { return layout_; }

  /// What the data file of the shard gets. Views of `cut`, which must outlive it, and what `TableTensors` copies.
  [[nodiscard]] DISTRIB_DECL auto part(const Cut& cut) const -> BundlePart;

  /// Adds what all shards of a job have in common, step and job: to every part that stands alone, else to the first.
  DISTRIB_DECL void describe(const Cut& cut, BundlePart& part) const;

  /// Whether a checkpoint is of this job: `ps_errc::job_mismatch` tells the first difference in what a second run must
  /// have in common with the first. Other errors as `BundleReader::read_strings`.
  DISTRIB_DECL void check_job(const BundleReader& reader, ErrorRef to) const;
  /// The same; throws `std::system_error`.
  void check_job(const BundleReader& reader) const {
    Error error;
    check_job(reader, error);
    throw_if(error);
  }

  /// By which settings a cut was made. One that does not say so was made by those of its description, from step 0 on.
  /// Errors as `BundleReader::read_strings`; `checkpoint_errc::corrupt_data` for what is no lineage.
  [[nodiscard]] DISTRIB_DECL auto lineage(const BundleReader& reader, Error& error) const -> Lineage;

  /// Whether all parts of a checkpoint say the same of their lineage, as far as can be told without their bytes: all say
  /// something, or none. What they say is compared when they are merged.
  [[nodiscard]] DISTRIB_DECL static auto are_of_one_history(std::span<const BundleIndex> parts) -> bool;

  /// Whether the data file of this shard holds exactly this shard's parts, as `part` lays them out.
  [[nodiscard]] DISTRIB_DECL auto fits(const BundleReader& reader) const -> bool;

  /// The shard's cut out of a checkpoint, whatever the parts and shards that saved it. Errors as `BundleReader::read`
  /// and `TableTensors::read`; `ps_errc::job_mismatch` when an asynchronous job goes on with other ranks or shards,
  /// which had not all counted the same. The result is unspecified then.
  [[nodiscard]] DISTRIB_DECL auto read(const BundleReader& reader, ErrorRef to) const -> Cut;
  /// The same; throws `std::system_error`.
  [[nodiscard]] DISTRIB_DECL auto read(const BundleReader& reader) const -> Cut;

 private:
  static constexpr const char* applied_name = "distrib/applied";
  static constexpr const char* job_name = "distrib/job";
  static constexpr const char* lineage_name = "distrib/lineage";

  static auto is_common(std::string_view name) -> bool { return name == "global_step" || name.starts_with("distrib/"); }

  // Calls f(entry, tensor's name, number of its block, offset in that) for each tensor of each part: block 0 holds the
  // values, the others the slots, in the order of `Cut::slots`. Counters come last.
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

  // An int64 tensor, or a slice of it; a scalar is one number.
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
  Lineage only_settings_;  // what a cut has whose lineage is not stored with it
  std::uint32_t shards_;
  Rank ranks_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/cut/impl/cut_tensors.ipp>
#endif
