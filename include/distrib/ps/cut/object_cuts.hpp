// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/ps/cut/cut_tensors.hpp>
#include <distrib/ps/cut/object_access.hpp>
#include <distrib/ps/cut/object_action.hpp>
#include <distrib/ps/cut/object_checkpoints.hpp>
#include <distrib/ps/cut/object_cuts_core.hpp>
#include <distrib/ps/cut/shard_files.hpp>
#include <distrib/ps/job/rank_file.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/ps/store/cut.hpp>
#include <distrib/record/any_object_store.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Which shards have their cuts in one object.
enum class CutShards : std::uint8_t {
  own,  ///< Each shard has an object of its own.
  all,  ///< All shards of a job have one object. For a job in one process: then a checkpoint is there whole or not at all.
};

/// The durable cuts of one replica of a shard in an object store, or those of all shards of a job in one process: the
/// shell of an `ObjectCutsCore`. Performs its requests one after the other, and turns cuts into objects and back.
///
/// A store that does not answer is asked again until it does, with pauses that double up to five seconds, and the
/// observer is told once: the shard trains on meanwhile, until workers have no room for more contributions. When
/// `ObjectAccess::pause` returns false the work fails instead, with the error of the store.
///
/// Errors: members throw `std::system_error` that names the object: `ps_errc::shard_taken_over` if another process has
/// claimed the shard since, `ps_errc::directory_in_use` if the process answers that has the shard, errors of the store,
/// and those of `CutTensors`.
///
/// Threads: one at a time: the thread of files. Blocks.
class ObjectCuts {
 public:
  /// Opens the store; sends no request. Throws `record_errc::no_object_store` if `access` cannot open URLs, or what it
  /// reports. With `CutShards::all` the object is that of shard 0 of 1, whatever `owner` says of a replica.
  DISTRIB_DECL ObjectCuts(const CutOwner& owner, const ObjectAccess& access, CutShards shards = CutShards::own);
  ObjectCuts(const ObjectCuts&) = delete;
  auto operator=(const ObjectCuts&) -> ObjectCuts& = delete;

  /// Claims the shard and finds its cuts: sets `cuts` and `refused`, and `ranks` in a job whose ranks may change. Cuts
  /// of the job that other shards have saved count if their checkpoint is whole.
  DISTRIB_DECL void open(CutWork& work);
  /// Returns the cuts of `step`, which must be in the list: of the shard, or of all shards in their order.
  [[nodiscard]] DISTRIB_DECL auto read(Step step) -> std::vector<Cut>;
  /// Makes cuts of one step durable: of the shard, or of all shards in their order. What fails after that (a checkpoint,
  /// the removal of older cuts) is told to the observer only, except for the last step.
  ///
  /// A link (`Cut::base`) must stand on a cut of the list, or that was saved since. It is saved whole unless
  /// `ObjectCutsCore::may_link`. Only with `CutShards::own`.
  DISTRIB_DECL void save(std::span<const Cut> cuts);
  /// Makes the log of the ranks durable. What fails after that is told to the observer only.
  DISTRIB_DECL void save_ranks(const RankFile& file);
  /// The protocol needs neither this cut nor any older one: see `ObjectCutsCore::drop`.
  DISTRIB_DECL void drop(Step step, bool unneeded);
  /// Drops all cuts but the newest. For a job that needs older ones only as checkpoints.
  DISTRIB_DECL void drop_older();
  /// The job is done: removes what no checkpoint needs.
  DISTRIB_DECL void finish();
  /// Throws `ps_errc::shard_taken_over` if another process has claimed the shard.
  DISTRIB_DECL void look();

 private:
  // The actions of the core.
  struct Out {
    ObjectCuts* own;
    void operator()(ObjectAction action) const { own->asked_ = std::move(action); }
    void operator()(CutDurable) const { own->is_durable_ = true; }
    void operator()(ObjectCutsDone done) const { own->done_ = std::move(done); }
  };

  DISTRIB_DECL auto run(const std::function<void(Out&)>& begin) -> ObjectCutsDone;
  DISTRIB_DECL auto perform(const ObjectAction& action) -> ObjectAnswer;
  DISTRIB_DECL auto ask(const ObjectAction& action) -> ObjectAnswer;
  DISTRIB_DECL void make_sure(const ObjectAction& action, ObjectAnswer& answer);
  DISTRIB_DECL auto answers(const ObjectAction& action) const -> bool;
  DISTRIB_DECL auto check(const CutKey& key, ByteView object, Error& error) -> std::optional<Lineage>;
  DISTRIB_DECL auto check_link(const CutKey& key, const BundleReader& reader, Error& error) -> std::optional<Lineage>;
  /// Returns the cut of a link, from the objects of its chain, or says why they are none.
  DISTRIB_DECL auto read_chain(const ObjectCutsDone& done, Error& error) const -> std::vector<Cut>;
  /// True if a link may stand on a cut of this step and lineage.
  static auto stands_on(const Cut& link, Step step, const Lineage& lineage) -> bool {
    return link.base == step && lineage == link.lineage.until(step);
  }
  DISTRIB_DECL auto reader_of(ByteView object, Error& error) const -> std::optional<BundleReader>;
  DISTRIB_DECL auto options_of(const CutOwner& owner) const -> ObjectCutsOptions;
  DISTRIB_DECL auto patiently(const std::function<void(Error&)>& work) -> Error;
  DISTRIB_DECL auto read_patiently(const BundleReader& reader) -> std::vector<Cut>;
  DISTRIB_DECL auto read_cuts(const BundleReader& reader, Error& error) const -> std::vector<Cut>;
  /// Adds a checkpoint to the cuts, or says why it cannot be used. Returns false if it is there no longer.
  DISTRIB_DECL auto add_checkpoint(const CheckpointKey& key, CutWork& work) -> bool;

  ObjectAccess access_;
  ObjectDirectory directory_;
  std::uint32_t shard_;
  std::uint32_t shards_;  // as the keys count them
  std::uint32_t replica_;  // of the shard
  std::vector<CutTensors> tensors_;  // of the shard, or of all
  CutObjectNames names_;
  ObjectCutsCore core_;
  ObjectCheckpoints checkpoints_;
  std::map<Step, BundleReader> of_others_;  // checkpoints that other shards have saved
  std::vector<Cut> newest_;  // read by `open`, until they are asked for
  std::vector<Cut> links_;  // read by `open`: those on `newest_`
  Step checked_ = 0;  // the cut that was checked last, on which the next one may stand,
  Lineage checked_lineage_;  // and its lineage
  std::optional<ObjectAction> asked_;
  std::optional<ObjectCutsDone> done_;
  bool is_durable_ = false;
  std::chrono::milliseconds pause_{0};  // the last one; 0: the store answers
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/cut/impl/object_cuts.ipp>
#endif
