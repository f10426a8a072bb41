// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/ps/cut/cut_object.hpp>
#include <distrib/ps/cut/cut_object_names.hpp>
#include <distrib/ps/cut/detail/object_steps.hpp>
#include <distrib/ps/cut/object_action.hpp>
#include <distrib/ps/job/cut_settings.hpp>
#include <distrib/ps/job/lineage.hpp>
#include <distrib/ps/job/rank_file.hpp>
#include <distrib/ps/job/step.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What an `ObjectCutsCore` needs to know. A value.
struct ObjectCutsOptions {
  std::uint32_t shard = 0;
  std::uint32_t shards = 1;
  std::uint32_t replica = 0;  ///< Of the shard. Each replica has claims and cuts of its own.
  std::uint32_t replicas = 1;  ///< Of each shard; more than one in a synchronous and replayable job only.
  bool synchronous = true;
  bool replayable = true;  ///< See `Job::replayable`.
  bool has_rank_log = false;  ///< The ranks of the job may change: each shard keeps a log of them.
  Step last_step = 0;
  CutSettings settings;  ///< `directory`: the beginning of all keys, without a bucket.
  ClaimOwner owner;
  std::uint64_t nonce = 0;  ///< Random; another one for each process.
};

/// A cut is durable: whatever happens, a later start finds it or a newer one. So workers may be told.
struct CutDurable {
  Step step = 0;  ///< 0: not a cut, but the log of the ranks.
};

/// A piece of work of an `ObjectCutsCore` is over: as `CutWork` has it. A value.
struct ObjectCutsDone {
  Error failure = {};  ///< Why it could not be done; no error: it is done.
  std::vector<DurableCut> cuts = {};  ///< For open: the good cuts, steps ascending.
  std::vector<Error> refused = {};  ///< For open: why others cannot be used.
  /// For open: whole checkpoints that another number of shards, or shards with other parts of the variables, wrote, of
  /// steps without a good cut of this shard. Steps ascending. They may be read, by their indexes.
  std::vector<CheckpointKey> checkpoints = {};
  /// For open: the newest whole checkpoint, if it names a cut of another replica of this shard and is newer than all
  /// else. It may be read, but may be gone: that replica goes on.
  std::optional<CheckpointKey> of_sibling = {};
  /// For open: the log of the ranks that the shard begins with; empty: there is none.
  std::optional<RankFile> ranks = {};
  std::vector<std::byte> object = {};  ///< For read.
  std::vector<std::vector<std::byte>> under =
      {};  ///< For read of a link: the whole cut under it, then the links between.
};

namespace detail {

/// The cuts that a store has, by shard, replica, process and number, so that what a link stands on is found.
class CutChains {
 public:
  DISTRIB_DECL explicit CutChains(const std::vector<CutKey>& there);

  /// Returns the chain of a cut: the whole cut, then the links, the cut itself last. Empty: not all of it is there.
  [[nodiscard]] DISTRIB_DECL auto of(const CutKey& key) const -> std::vector<CutKey>;

 private:
  // A key without its step.
  using Place = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, ObjectClaim, std::uint32_t>;
  static auto place_of(const CutKey& key, std::uint32_t number) -> Place {
    return {key.shard, key.shards, key.replica, key.claim, number};
  }

  std::map<Place, CutKey> there_;
};

/// What `ObjectCutsCore::Check` has said of a cut.
struct CheckedCut {
  enum class Kind : std::uint8_t { good, other_parts, unusable };
  Kind kind = Kind::unusable;
  Lineage lineage = {};
};

/// What the processes of a shard began with: a cut, or the initial values.
using CutBases = std::map<ObjectClaim, std::optional<CutKey>>;

/// Returns the cuts from which a shard may continue, the best first; the initial values are no key. A synchronous shard
/// continues from the newest step, because the values of a step are always the same. An asynchronous shard continues
/// from the newest cut of the largest claim that has a cut or a base, or else from what that process began with: only
/// there is all that workers were told.
[[nodiscard]] DISTRIB_DECL auto order_of_starts(std::vector<CutKey> found, const CutBases& bases, bool synchronous)
    -> std::vector<std::optional<CutKey>>;

/// A checkpoint that is whole, and when its index was written.
struct WholeCheckpoint {
  Step step = 0;
  std::int64_t modified_seconds = 0;
  bool preserved = false;
};

/// What happens to checkpoints beyond `max_to_keep`.
struct CheckpointsToGo {
  std::set<Step> removed;
  std::set<Step> preserved;  ///< From now on.
};
/// Decides about checkpoints beyond `max_to_keep`. `whole`: one a step, steps ascending. The two newest always stay.
[[nodiscard]] DISTRIB_DECL auto checkpoints_to_go(const std::vector<WholeCheckpoint>& whole, const Retention& retention)
    -> CheckpointsToGo;

/// Returns the logs of the ranks with which a shard begins: its own newest one; or, if the processes of this shard have
/// written none since the job had another number of shards, the newest one of each shard of that number. `there`: all
/// that are in the store.
[[nodiscard]] DISTRIB_DECL auto rank_logs_to_begin_with(const std::vector<RankLogKey>& there, std::uint32_t shard,
                                                        std::uint32_t shards) -> std::vector<RankLogKey>;

/// The newest cuts of one step, by shard and replica.
using NewestCuts = std::map<std::uint32_t, std::map<std::uint32_t, CutKey>>;
/// Returns of each replica of `shards` shards the whole cut of its largest claim. `there`: the cuts of one step.
[[nodiscard]] DISTRIB_DECL auto newest_cuts(const std::vector<CutKey>& there, std::uint32_t shards) -> NewestCuts;
/// Returns the choices of cuts, one of each shard, that may become the checkpoint of a step, the best first: those of
/// first replicas as far as they are there; then, because some may have been saved before the settings of the job were
/// changed, those of the second ones as far as they are there. Empty: a shard has no cut.
[[nodiscard]] DISTRIB_DECL auto choices_to_merge(const NewestCuts& newest, std::uint32_t shards)
    -> std::vector<std::vector<CutKey>>;

}  // namespace detail

/// Decides what one shard writes to and removes from an object store, so that cuts survive whatever happens, also if
/// two processes take themselves for the shard, requests are performed late, and their answers are lost. Needs no
/// rename, no lock, no clock and no condition: only a store whose reads and lists see what was written before. The page
/// docs/design/object_cuts.md has the rules and why they suffice.
///
/// - Each object is written once, under a name of its own. A cut is one object.
/// - A process begins with a claim, larger than all claims it finds. It reads cuts after that only.
/// - A cut is durable (`CutDurable`) when a list of the claims, made after the cut was written, shows no larger claim.
///   Otherwise the process has been followed, and must end: `ps_errc::shard_taken_over`.
/// - The index that names a cut of each shard is the checkpoint. A process that finds all cuts of a wanted step writes
///   it. The last step is durable after its index only.
/// - What is removed is justified by newer cuts that are durable.
/// - A cut costs three requests at most: it is written, claims (at a step that the user wants: and cuts) are listed, and
///   one more request removes older cuts, or lists the indexes of checkpoints if only these tell what may go. The
///   process that makes the checkpoint adds N + 5 for N shards.
/// - Each replica of a shard has claims and cuts of its own, and all this holds for each by itself. A checkpoint may
///   consist of cuts of any replicas, because values of a step are always the same.
/// - The log of the ranks is an object of its own for each time it is written, and durable in the same way as a cut. A
///   start reads that of the largest claim, and nothing else: what another process wrote late was told to nobody. Then
///   it writes it under its own claim, before anything is told.
/// - A link stands on the cut that the same process saved before it. No cut is removed while one that stays stands on
///   it. A start counts a link only if its chain is there and good. Checkpoints consist of whole cuts.
///
/// Its events are pieces of work, one at a time, and the answers of the store. Its actions are calls `out(action)`:
/// `ObjectAction`, at most one at a time, whose answer the shell passes to `answered`;
/// `CutDurable`; and `ObjectCutsDone`, the last action of each piece of work. No clock, no I/O, no thread.
///
/// An answer that is lost makes it ask again for the same; when to give up is up to the shell, which then answers with
/// an error. After a failed `open` only `open` may be called.
///
/// What another number of shards has saved is used by its checkpoints: `ObjectCutsDone::checkpoints`. If the newest step
/// that all of them have saved lacks its index, `open` makes it. It fails with `ps_errc::job_mismatch` if there are only
/// cuts of another number of shards, and no whole checkpoint.
///
/// Threads: one at a time.
class ObjectCutsCore {
 public:
  /// Reads the object of a cut: returns its lineage; nothing without an error: it is of other parts of the variables.
  /// `failure::corrupt` passes over the cut; another error ends `open`. A link is checked after the cut that it stands
  /// on, without another cut between, if that is good.
  using Check = std::function<std::optional<Lineage>(const CutKey& key, ByteView object, Error& error)>;

  ObjectCutsCore(ObjectCutsOptions options, Check check)
      : options_{std::move(options)}, check_{std::move(check)}, names_{options_.settings.directory} {}
  ObjectCutsCore(const ObjectCutsCore&) = delete;
  auto operator=(const ObjectCutsCore&) -> ObjectCutsCore& = delete;

  // --- work ---

  /// Claims the shard and finds its cuts: see `CutStore::list`. Finishes what a killed process left half done.
  void open(auto& out) { begin(open_steps(), out); }
  /// Reads the object of the cut of `step`, which is one that `open` or `save` told.
  void read(Step step, auto& out) { begin(read_steps(step), out); }
  /// Makes a cut durable. `object`: as `encode_cut_object` returns it.
  void save(Step step, ObjectBytes object, auto& out) { begin(save_steps(step, std::move(object), {}), out); }
  /// Makes a link durable: `object` has only what has changed since the cut of step `base`. Fails with
  /// `checkpoint_errc::not_found` unless `may_link`.
  void save_link(Step step, Step base, ObjectBytes object, auto& out) {
    begin(save_steps(step, std::move(object), base), out);
  }
  /// Makes the log of the ranks durable, in place of the one before.
  void save_ranks(const RankFile& file, auto& out) { begin(save_ranks_steps(to_bytes(file)), out); }
  /// True if the cut of `step` may be a link on the cut of `base`: this process saved that last, and it is durable, and
  /// the user does not want the cut of `step`.
  [[nodiscard]] auto may_link(Step step, Step base) const -> bool {
    return newest_ && newest_->step == base && !is_wanted(step);
  }
  /// The protocol needs neither the cut of `step` nor any older one: one of the next saves removes them, several by one
  /// request. `unneeded`: see `DropCut`; a job that is replayable keeps such a cut until newer ones justify that it
  /// goes, because another process may have begun with it; another job removes it at once.
  void drop(Step step, bool unneeded, auto& out) { begin(drop_steps(step, unneeded), out); }
  /// The job is done: removes the cuts that no checkpoint has, if the checkpoint of the last step is there.
  void finish(auto& out) { begin(finish_steps(), out); }
  /// Looks whether there is a larger claim; then it fails as `save` does. For a shard that has saved nothing for a
  /// while. Removes what `save` has left, by one request more.
  void look(auto& out) { begin(look_steps(), out); }

  /// Takes the answer of the last `ObjectAction`.
  void answered(ObjectAnswer answer, auto& out) {
    dialogue_.answer = std::move(answer);
    go_on(out);
  }

  /// True until `ObjectCutsDone`.
  [[nodiscard]] auto busy() const noexcept -> bool { return !dialogue_.calls.empty(); }
  [[nodiscard]] auto claim() const noexcept -> const ObjectClaim& { return claim_; }
  /// The cuts that may be read, by step.
  [[nodiscard]] auto cuts() const noexcept -> const std::map<Step, CutKey>& { return cuts_; }

 private:
  template <class T> using Steps = detail::ObjectSteps<T>;
  using Bytes = std::vector<std::byte>;
  struct Index {
    ObjectInfo info;
    std::vector<CheckpointCut> cuts;  // empty: damaged
  };
  struct CutsToGo {
    std::vector<CutKey> now;  // nothing needs them
    bool has_own = false;  // own cuts wait for what a list of the indexes says,
    bool has_others = false;  // and those of other shards for what an index says
  };

  void begin(Steps<bool> work, auto& out) {
    work_ = std::move(work);
    done_ = {};
    work_.start(dialogue_);
    go_on(out);
  }
  void go_on(auto& out) {
    dialogue_.run();
    if (durable_) out(CutDurable{*std::exchange(durable_, std::nullopt)});
    if (dialogue_.asked) return out(*std::exchange(dialogue_.asked, std::nullopt));
    take_result();
    out(std::exchange(done_, {}));
  }
  DISTRIB_DECL void take_result();

  DISTRIB_DECL auto open_steps() -> Steps<bool>;
  DISTRIB_DECL auto read_steps(Step step) -> Steps<bool>;
  DISTRIB_DECL auto save_steps(Step step, ObjectBytes object, std::optional<Step> base) -> Steps<bool>;
  DISTRIB_DECL auto save_ranks_steps(Bytes file) -> Steps<bool>;
  DISTRIB_DECL auto drop_steps(Step step, bool unneeded) -> Steps<bool>;
  DISTRIB_DECL auto finish_steps() -> Steps<bool>;
  DISTRIB_DECL auto look_steps() -> Steps<bool>;

  // --- single requests, again and again until they are answered ---

  DISTRIB_DECL auto ask(ObjectAction action) -> Steps<ObjectAnswer>;
  DISTRIB_DECL auto get(std::string key, std::uint64_t most_bytes) -> Steps<std::optional<Bytes>>;
  DISTRIB_DECL auto put(std::string key, Bytes bytes) -> Steps<bool>;
  DISTRIB_DECL auto remove(std::string key) -> Steps<bool>;
  DISTRIB_DECL auto remove_all(std::vector<std::string> keys) -> Steps<bool>;
  DISTRIB_DECL auto list(std::string prefix) -> Steps<std::vector<ObjectInfo>>;
  DISTRIB_DECL auto list_claims() -> Steps<std::vector<ObjectClaim>>;
  /// Lists the cuts of all steps and shards.
  DISTRIB_DECL auto list_cuts() -> Steps<std::vector<CutKey>>;

  // --- parts of the work ---

  /// Writes a claim that is larger than all others. Returns the others.
  DISTRIB_DECL auto make_claim() -> Steps<std::vector<ObjectClaim>>;
  /// Throws if there is a larger claim.
  DISTRIB_DECL auto check_claim() -> Steps<bool>;
  /// The same; lists all cuts by the same request.
  DISTRIB_DECL auto check_claim_and_list_cuts() -> Steps<std::vector<CutKey>>;
  DISTRIB_DECL auto read_bases() -> Steps<detail::CutBases>;
  /// Chooses and reads what the shard begins with. Returns false if there are only cuts that cannot be used.
  DISTRIB_DECL auto choose_start(std::vector<CutKey> all) -> Steps<bool>;
  /// Reads those cuts of a chain that are not in `checked` yet, the whole one first, until one cannot be used.
  DISTRIB_DECL auto check_chain(std::vector<CutKey> chain, std::map<CutKey, detail::CheckedCut>& checked)
      -> Steps<bool>;
  /// Finds the checkpoints of steps that `cuts_` does not have. `others`: only those of another number of shards.
  DISTRIB_DECL auto find_checkpoints(std::vector<CutKey> all, bool others) -> Steps<bool>;
  /// Finds the newest checkpoint of this number of shards. Another replica of the shard has newer cuts.
  DISTRIB_DECL auto find_siblings_checkpoint() -> Steps<bool>;
  /// Writes what the process begins with. Asynchronous jobs only.
  DISTRIB_DECL auto write_base(std::string key) -> Steps<bool>;
  /// Finds the log of the ranks, and writes it as that of this process.
  DISTRIB_DECL auto find_ranks() -> Steps<bool>;
  DISTRIB_DECL auto read_ranks(RankLogKey key, RankFile& all) -> Steps<bool>;
  DISTRIB_DECL auto remove_ranks(std::vector<RankLogKey> old) -> Steps<bool>;
  /// Writes the log, and looks at the claims.
  DISTRIB_DECL auto put_ranks(Bytes file) -> Steps<bool>;
  /// Removes what processes with smaller claims have left.
  DISTRIB_DECL auto clear_claims(std::vector<ObjectClaim> claims) -> Steps<bool>;
  DISTRIB_DECL auto abort_uploads() -> Steps<bool>;

  /// Makes the checkpoint of `step` if the cuts of all `shards` shards are in `listed`; then lets older ones go.
  /// Returns why it cannot.
  DISTRIB_DECL auto merge(Step step, std::uint32_t shards, std::vector<CutKey> listed) -> Steps<Error>;
  /// Makes the checkpoint of one cut of each shard. Returns false if it cannot.
  DISTRIB_DECL auto merge_these(std::vector<CutKey> keys, Error& error) -> Steps<bool>;
  DISTRIB_DECL auto read_table(CutKey key, CheckpointCut& cut, Error& error) -> Steps<std::optional<BundleIndex>>;
  /// Removes checkpoints beyond `max_to_keep`, and indexes that name what is gone.
  DISTRIB_DECL auto settle() -> Steps<bool>;
  /// Lists the indexes that are there. Returns what the store says of them.
  DISTRIB_DECL auto list_indexes() -> Steps<std::vector<ObjectInfo>>;
  /// The same; reads those that were not read before.
  DISTRIB_DECL auto read_indexes() -> Steps<bool>;
  DISTRIB_DECL auto read_index(ObjectInfo info) -> Steps<bool>;
  /// Removes cuts of this shard that nothing needs, as far as that is known; or finds out more. One request at most.
  DISTRIB_DECL auto tidy() -> Steps<bool>;
  DISTRIB_DECL auto remove_cuts(std::vector<CutKey> cuts) -> Steps<bool>;
  /// The job is done: removes all cuts of this shard that no checkpoint needs.
  DISTRIB_DECL auto sweep() -> Steps<bool>;

  [[nodiscard]] auto is_wanted(Step step) const -> bool { return options_.settings.is_users(step, options_.last_step); }
  /// True if a checkpoint of `step` consists of the newest cuts of replicas.
  [[nodiscard]] DISTRIB_DECL auto is_merged(Step step, const detail::NewestCuts& newest) const -> bool;
  /// True if there is a checkpoint of a newer step. A replica that is behind does not bring back what was removed.
  [[nodiscard]] DISTRIB_DECL auto is_behind(Step step, std::uint32_t shards) const -> bool;
  [[nodiscard]] DISTRIB_DECL auto may_go(const CutKey& key, bool last) const -> bool;
  /// Sorts the cuts that nothing but a checkpoint may need. `last`: the job is done. `is_over`: the checkpoint of the
  /// last step is whole.
  [[nodiscard]] DISTRIB_DECL auto cuts_to_go(bool last, bool is_over) const -> CutsToGo;
  /// True if there was an index of `step` when they were listed last.
  [[nodiscard]] DISTRIB_DECL auto has_index(Step step) const -> bool;
  /// True if an index names the cut, or may name it because it was not read.
  [[nodiscard]] DISTRIB_DECL auto may_be_named(const CutKey& key) const -> bool;
  DISTRIB_DECL void remember(const std::vector<CutKey>& all);
  [[nodiscard]] DISTRIB_DECL auto claims_in(const std::vector<ObjectInfo>& objects) const -> std::vector<ObjectClaim>;
  [[nodiscard]] DISTRIB_DECL auto cuts_in(const std::vector<ObjectInfo>& objects) const -> std::vector<CutKey>;
  DISTRIB_DECL void throw_if_followed(const std::vector<ObjectClaim>& claims) const;
  [[nodiscard]] auto is_of_shard(const CutKey& key) const -> bool {
    return key.shard == options_.shard && key.shards == options_.shards;
  }
  [[nodiscard]] auto is_own(const CutKey& key) const -> bool {
    return is_of_shard(key) && key.replica == options_.replica;
  }
  /// True if a cut of another number of shards, or of replicas that the job has no longer, is one that this shard
  /// removes.
  [[nodiscard]] auto sweeps_for_others(const CutKey& key) const -> bool {
    if (key.shards != options_.shards) return key.shard % options_.shards == options_.shard;
    return key.shard == options_.shard && key.replica >= options_.replicas;
  }
  [[nodiscard]] DISTRIB_DECL auto has_last_checkpoint() const -> bool;
  [[nodiscard]] DISTRIB_DECL static auto is_whole(const Index& index, const std::set<CutKey>& there) -> bool;

  ObjectCutsOptions options_;
  Check check_;
  CutObjectNames names_;
  ObjectClaim claim_;
  std::uint32_t number_ = 0;  // of own cuts
  std::uint32_t rank_number_ = 0;  // of own logs of the ranks
  std::vector<RankLogKey> rank_logs_;  // of this shard: they go when the next one is durable
  std::map<Step, CutKey> cuts_;
  std::map<Step, CutKey> behind_;  // behind which a Restore went back; still there
  Step dropped_ = 0;  // up to here the protocol needs no cut
  std::optional<CutKey> newest_;  // what this process saved last, if that is durable: a link may stand on it
  std::map<ObjectClaim, CheckpointKey> checkpoint_bases_;  // of processes that began with a checkpoint of other shards

  // The cuts that this shard removes some day, own ones and those of shards that are no more: as they were listed last,
  // and what was written since. What lands later is found by the next list.
  std::set<CutKey> there_;
  std::map<CheckpointKey, Index> indexes_;  // those that were listed last and read; what one says never changes
  std::optional<std::set<CheckpointKey>> listed_;  // all indexes that were listed last; none: not since the start
  bool may_be_new_ = true;  // a checkpoint may have been made since

  std::optional<Step> durable_;
  ObjectCutsDone done_;
  detail::ObjectDialogue dialogue_;
  Steps<bool> work_;  // destroyed before what it uses
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/cut/impl/object_cuts_core.ipp>
#endif
