// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/cut/object_cuts_core.hpp>

#include <distrib/checkpoint/error.hpp>
#include <distrib/ps/cut/cut_tensors.hpp>
#include <distrib/ps/job/error.hpp>

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <system_error>

namespace distrib {
inline namespace v0 {
namespace detail {

inline constexpr std::uint64_t most_rank_log_bytes = std::uint64_t{64} << 20;  // more than a log can have
inline constexpr std::uint64_t cut_end_bytes = 64 << 10;  // the table of most cuts fits

DISTRIB_DECL CutChains::CutChains(const std::vector<CutKey>& there) {
  for (const CutKey& key : there) there_[place_of(key, key.number)] = key;
}

DISTRIB_DECL auto CutChains::of(const CutKey& key) const -> std::vector<CutKey> {
  std::vector<CutKey> chain;
  for (std::uint32_t number = key.root(); number < key.number; ++number) {
    const auto under = there_.find(place_of(key, number));
    if (under == there_.end() || under->second.root() != key.root()) return {};
    chain.push_back(under->second);
  }
  chain.push_back(key);
  return chain;
}

DISTRIB_DECL auto order_of_starts(std::vector<CutKey> found, const CutBases& bases, bool synchronous)
    -> std::vector<std::optional<CutKey>> {
  std::vector<std::optional<CutKey>> order;
  if (synchronous) {
    std::sort(found.rbegin(), found.rend());
    order.assign(found.begin(), found.end());
    return order;
  }
  std::set<ObjectClaim> claims;
  for (const CutKey& key : found) claims.insert(key.claim);
  for (const auto& [claim, base] : bases) claims.insert(claim);
  const auto is_older = [](const CutKey& a, const CutKey& b) {
    return std::pair{a.step, a.number} < std::pair{b.step, b.number};
  };
  for (auto claim = claims.rbegin(); claim != claims.rend(); ++claim) {
    std::vector<CutKey> own;
    std::copy_if(found.begin(), found.end(), std::back_inserter(own),
                 [&](const CutKey& key) { return key.claim == *claim; });
    std::sort(own.begin(), own.end(), is_older);
    order.insert(order.end(), own.rbegin(), own.rend());
    const auto base = bases.find(*claim);
    if (base == bases.end()) continue;
    order.push_back(base->second);
    break;
  }
  return order;
}

DISTRIB_DECL auto checkpoints_to_go(const std::vector<WholeCheckpoint>& whole, const Retention& retention)
    -> CheckpointsToGo {
  CheckpointsToGo go;
  const std::size_t most = retention.with_at_least(2).max_to_keep;
  const auto counts = [](const WholeCheckpoint& of) { return !of.preserved; };
  auto count = static_cast<std::size_t>(std::count_if(whole.begin(), whole.end(), counts));
  if (most == 0 || count <= most) return go;
  const double interval = retention.keep_checkpoint_every_n_hours * 3600;
  std::optional<double> last;  // when the last preserved one was written; without one, the oldest is the next
  for (const WholeCheckpoint& of : whole)
    if (of.preserved) last = static_cast<double>(of.modified_seconds);
  for (const WholeCheckpoint& of : whole) {
    if (of.preserved || count <= most) continue;
    --count;
    const auto time = static_cast<double>(of.modified_seconds);
    if (interval > 0 && (!last || time - interval >= *last)) {
      go.preserved.insert(of.step);
      last = time;
    } else {
      go.removed.insert(of.step);
    }
  }
  return go;
}

DISTRIB_DECL auto rank_logs_to_begin_with(const std::vector<RankLogKey>& there, std::uint32_t shard,
                                          std::uint32_t shards) -> std::vector<RankLogKey> {
  const auto is_older = [](const RankLogKey& a, const RankLogKey& b) {
    return std::pair{a.claim, a.number} < std::pair{b.claim, b.number};
  };
  // Returns the newest one of a shard for which counts(key).
  const auto newest = [&](std::uint32_t of, auto counts) {
    std::optional<RankLogKey> best;
    for (const RankLogKey& key : there)
      if (key.shard == of && counts(key) && (!best || is_older(*best, key))) best = key;
    return best;
  };
  const auto is_any = [](const RankLogKey&) { return true; };
  if (const auto own = newest(shard, is_any); own && own->shards == shards) return {*own};
  const auto other = newest(0, [&](const RankLogKey& key) { return key.shards != shards; });
  std::vector<RankLogKey> found;
  for (std::uint32_t of = 0; other && of < other->shards; ++of)
    if (const auto key = newest(of, [&](const RankLogKey& one) { return one.shards == other->shards; }))
      found.push_back(*key);
  return found;
}

DISTRIB_DECL auto newest_cuts(const std::vector<CutKey>& there, std::uint32_t shards) -> NewestCuts {
  NewestCuts newest;
  for (const CutKey& key : there) {
    if (key.shards != shards || !key.is_whole()) continue;
    CutKey& known = newest[key.shard][key.replica];
    known = std::max(known, key);
  }
  return newest;
}

DISTRIB_DECL auto choices_to_merge(const NewestCuts& newest, std::uint32_t shards) -> std::vector<std::vector<CutKey>> {
  std::vector<std::vector<CutKey>> choices;
  if (newest.size() != shards) return choices;
  std::set<std::uint32_t> replicas;
  for (const auto& [shard, cuts] : newest)
    for (const auto& [replica, key] : cuts) replicas.insert(replica);
  for (const std::uint32_t replica : replicas) {
    std::vector<CutKey> choice;
    for (const auto& [shard, cuts] : newest) {
      const auto its = cuts.find(replica);
      choice.push_back(its != cuts.end() ? its->second : cuts.begin()->second);
    }
    if (std::find(choices.begin(), choices.end(), choice) == choices.end()) choices.push_back(std::move(choice));
  }
  return choices;
}

}  // namespace detail

DISTRIB_DECL void ObjectCutsCore::take_result() {
  Steps<bool> work = std::move(work_);
  try {
    work.result();
  } catch (const std::system_error& error) {
    done_.failure = error_of(error);
  }
}

// --- work ---

DISTRIB_DECL auto ObjectCutsCore::open_steps() -> Steps<bool> {
  cuts_.clear();
  behind_.clear();
  dropped_ = 0;
  newest_.reset();
  listed_.reset();
  may_be_new_ = true;
  std::vector<ObjectClaim> claims = co_await make_claim();
  if (options_.has_rank_log) co_await find_ranks();
  std::vector<CutKey> all = co_await list_cuts();
  std::set<Step> wanted;
  for (const CutKey& key : all)
    if (key.shards == options_.shards && key.is_whole() && is_wanted(key.step)) wanted.insert(key.step);
  const std::vector<CutKey> found = all;
  if (!co_await choose_start(std::move(all))) co_return false;

  // The process that wrote the last cut of a step may have died before it made the index.
  for (auto step = std::next(wanted.begin(),
                             static_cast<std::ptrdiff_t>(wanted.size() - std::min<std::size_t>(2, wanted.size())));
       step != wanted.end(); ++step) {
    std::vector<CutKey> listed = found;
    Error error = co_await merge(*step, options_.shards, std::move(listed));
    if (error) done_.refused.push_back(std::move(error));
  }
  co_await abort_uploads();
  co_await clear_claims(std::move(claims));
  if (done_.of_sibling) co_await find_siblings_checkpoint();  // all this takes time
  co_return true;
}

DISTRIB_DECL auto ObjectCutsCore::read_steps(Step step) -> Steps<bool> {
  const auto cut = cuts_.find(step);
  if (cut == cuts_.end())
    throw_error(checkpoint_errc::no_such_checkpoint, names_.cuts_of(step) + ": the shard has no such cut");
  std::vector<CutKey> chain{cut->second};
  if (!cut->second.is_whole()) {
    const std::vector<CutKey> all = co_await list_cuts();
    chain = detail::CutChains{all}.of(cut->second);
    if (chain.empty())
      throw_error(checkpoint_errc::missing_data_file, names_.cut(cut->second) + ": a cut that it stands on");
  }
  for (const CutKey& one : chain) {
    const std::string key = names_.cut(one);
    std::optional<Bytes> object = co_await get(key, std::numeric_limits<std::uint64_t>::max());
    if (!object) throw_error(checkpoint_errc::missing_data_file, key);
    done_.under.push_back(std::move(*object));
  }
  done_.object = std::move(done_.under.back());
  done_.under.pop_back();
  co_return true;
}

DISTRIB_DECL auto ObjectCutsCore::save_steps(Step step, ObjectBytes object, std::optional<Step> base) -> Steps<bool> {
  if (base && !may_link(step, *base))
    throw_error(checkpoint_errc::not_found, names_.cuts_of(*base) + ": the shard did not save it last");
  const std::uint32_t links = base ? newest_->links + 1 : 0;
  newest_.reset();  // if this cut is given up, the next one is whole: its number would be missing in a chain
  const CutKey key{step, options_.shard, options_.shards, claim_, ++number_, options_.replica, links};
  there_.insert(key);  // it may land whatever the answer is
  ObjectAction write = ObjectAction::put(names_.cut(key), std::move(object));
  const ObjectAnswer answer = co_await ask(std::move(write));
  throw_if(answer.error);  // the bucket is gone
  const bool wanted = is_wanted(step);
  std::vector<CutKey> all;
  if (wanted) all = co_await check_claim_and_list_cuts();
  else co_await check_claim();
  cuts_[step] = key;
  newest_ = key;
  const bool last = step == options_.last_step;
  if (!last) durable_ = step;
  if (wanted) {
    const Error error = co_await merge(step, options_.shards, std::move(all));
    if (last) throw_if(error);
  }
  if (last) durable_ = step;
  co_await tidy();
  // The shard that saves a wanted step last makes the checkpoint.
  may_be_new_ = may_be_new_ || (wanted && !has_index(step));
  co_return true;
}

DISTRIB_DECL auto ObjectCutsCore::save_ranks_steps(Bytes file) -> Steps<bool> {
  std::vector<RankLogKey> old = rank_logs_;
  co_await put_ranks(std::move(file));
  durable_ = Step{0};
  co_await remove_ranks(std::move(old));
  co_return true;
}

DISTRIB_DECL auto ObjectCutsCore::drop_steps(Step step, bool unneeded) -> Steps<bool> {
  const auto cut = cuts_.find(step);
  if (!unneeded) dropped_ = std::max(dropped_, step);
  if (cut == cuts_.end()) co_return true;
  const CutKey key = cut->second;
  cuts_.erase(cut);
  if (unneeded && options_.replayable) {
    behind_[step] = key;
    co_return true;
  }
  if (!unneeded || is_wanted(step)) co_return true;  // see `tidy`
  co_await check_claim();
  co_await remove(names_.cut(key));
  there_.erase(key);
  co_return true;
}

DISTRIB_DECL auto ObjectCutsCore::finish_steps() -> Steps<bool> {
  co_await read_indexes();
  if (!has_last_checkpoint()) co_return true;
  co_await check_claim();
  co_await sweep();
  std::vector<ObjectClaim> claims = co_await list_claims();
  co_await clear_claims(std::move(claims));
  co_return true;
}

DISTRIB_DECL auto ObjectCutsCore::look_steps() -> Steps<bool> {
  co_await check_claim();
  co_await tidy();
  co_return true;
}

// --- single requests ---

DISTRIB_DECL auto ObjectCutsCore::ask(ObjectAction action) -> Steps<ObjectAnswer> {
  while (true) {
    detail::ObjectRequest request{action};
    ObjectAnswer answer = co_await request;
    if (answer.lost) continue;
    if (answer.error && answer.error.code != failure::not_found) throw_if(answer.error);
    co_return answer;
  }
}

DISTRIB_DECL auto ObjectCutsCore::get(std::string key, std::uint64_t most_bytes) -> Steps<std::optional<Bytes>> {
  ObjectAction action = ObjectAction::get(std::move(key), most_bytes);
  ObjectAnswer answer = co_await ask(std::move(action));
  if (answer.error) co_return std::nullopt;
  co_return std::move(answer.bytes);
}

DISTRIB_DECL auto ObjectCutsCore::put(std::string key, Bytes bytes) -> Steps<bool> {
  ObjectAction action = ObjectAction::put(std::move(key), std::make_shared<const Bytes>(std::move(bytes)));
  const ObjectAnswer answer = co_await ask(std::move(action));
  throw_if(answer.error);  // the bucket is gone
  co_return true;
}

DISTRIB_DECL auto ObjectCutsCore::remove(std::string key) -> Steps<bool> {
  ObjectAction action = ObjectAction::remove(std::move(key));
  co_await ask(std::move(action));
  co_return true;
}

DISTRIB_DECL auto ObjectCutsCore::remove_all(std::vector<std::string> keys) -> Steps<bool> {
  if (keys.empty()) co_return true;
  ObjectAction action = ObjectAction::remove_all(std::move(keys));
  co_await ask(std::move(action));
  co_return true;
}

DISTRIB_DECL auto ObjectCutsCore::list(std::string prefix) -> Steps<std::vector<ObjectInfo>> {
  ObjectAction action = ObjectAction::list(std::move(prefix));
  ObjectAnswer answer = co_await ask(std::move(action));
  throw_if(answer.error);
  co_return std::move(answer.objects);
}

DISTRIB_DECL auto ObjectCutsCore::list_claims() -> Steps<std::vector<ObjectClaim>> {
  const std::vector<ObjectInfo> objects = co_await list(names_.claims(options_.shard, options_.replica));
  co_return claims_in(objects);
}

DISTRIB_DECL auto ObjectCutsCore::list_cuts() -> Steps<std::vector<CutKey>> {
  const std::vector<ObjectInfo> objects = co_await list(names_.cuts());
  std::vector<CutKey> all = cuts_in(objects);
  remember(all);
  co_return all;
}

DISTRIB_DECL auto ObjectCutsCore::claims_in(const std::vector<ObjectInfo>& objects) const -> std::vector<ObjectClaim> {
  std::vector<ObjectClaim> claims;
  for (const ObjectInfo& info : objects)
    if (const auto claim = names_.claim_of(info.key, options_.shard, options_.replica)) claims.push_back(*claim);
  return claims;
}

DISTRIB_DECL auto ObjectCutsCore::cuts_in(const std::vector<ObjectInfo>& objects) const -> std::vector<CutKey> {
  std::vector<CutKey> keys;
  for (const ObjectInfo& info : objects)
    if (const auto key = names_.cut_of(info.key)) keys.push_back(*key);
  return keys;
}

DISTRIB_DECL void ObjectCutsCore::remember(const std::vector<CutKey>& all) {
  there_.clear();
  for (const CutKey& key : all)
    if (is_own(key) || sweeps_for_others(key)) there_.insert(key);
}

// --- claims and the start ---

DISTRIB_DECL auto ObjectCutsCore::make_claim() -> Steps<std::vector<ObjectClaim>> {
  std::vector<ObjectClaim> claims = co_await list_claims();
  ObjectClaim largest;
  for (const ObjectClaim& claim : claims) largest = std::max(largest, claim);
  if (largest.epoch == std::numeric_limits<std::uint32_t>::max())
    throw_error(checkpoint_errc::mismatch,
                names_.claim(options_.shard, largest, options_.replica) + ": no larger claim is possible");
  if (largest.epoch != 0) {
    const std::string key = names_.claim(options_.shard, largest, options_.replica);
    std::optional<Bytes> owner = co_await get(key, most_claim_bytes);
    if (owner) {
      const std::optional<ClaimOwner> told = parse_claim(*owner);
      ObjectAction question = ObjectAction::ask(key, std::make_shared<const Bytes>(std::move(*owner)));
      const ObjectAnswer answer = co_await ask(std::move(question));
      if (answer.alive)
        throw_error(ps_errc::directory_in_use,
                    key + (told ? ": " + told->task + " on " + told->host + ", process " + told->process : ""));
    }
  }
  claim_ = {largest.epoch + 1, options_.nonce};
  number_ = 0;
  rank_number_ = 0;
  co_await put(names_.claim(options_.shard, claim_, options_.replica), encode_claim(options_.owner));
  co_await check_claim();
  co_return claims;
}

DISTRIB_DECL auto ObjectCutsCore::check_claim() -> Steps<bool> {
  const std::vector<ObjectClaim> claims = co_await list_claims();
  throw_if_followed(claims);
  co_return true;
}

DISTRIB_DECL auto ObjectCutsCore::check_claim_and_list_cuts() -> Steps<std::vector<CutKey>> {
  const std::vector<ObjectInfo> objects = co_await list(names_.claims_and_cuts());
  throw_if_followed(claims_in(objects));
  std::vector<CutKey> all = cuts_in(objects);
  remember(all);
  co_return all;
}

DISTRIB_DECL void ObjectCutsCore::throw_if_followed(const std::vector<ObjectClaim>& claims) const {
  for (const ObjectClaim& claim : claims)
    if (claim > claim_) throw_error(ps_errc::shard_taken_over, names_.claim(options_.shard, claim, options_.replica));
}

DISTRIB_DECL auto ObjectCutsCore::read_bases() -> Steps<detail::CutBases> {
  const std::vector<ObjectInfo> objects = co_await list(names_.bases(options_.shard));
  detail::CutBases bases;
  checkpoint_bases_.clear();
  for (const ObjectInfo& info : objects) {
    const auto claim = names_.base_of(info.key, options_.shard);
    if (!claim) continue;
    const std::optional<Bytes> base = co_await get(info.key, most_claim_bytes);
    if (!base) continue;
    if (base->empty()) {
      bases[*claim] = std::nullopt;
    } else if (const auto key = names_.cut_of(as_text(*base))) {
      bases[*claim] = *key;
    } else if (const auto checkpoint = names_.checkpoint_of(as_text(*base))) {
      bases[*claim] = std::nullopt;
      checkpoint_bases_[*claim] = *checkpoint;
    } else {
      throw_error(checkpoint_errc::corrupt_index, info.key + ": it names no cut");
    }
  }
  co_return bases;
}

DISTRIB_DECL auto ObjectCutsCore::choose_start(std::vector<CutKey> all) -> Steps<bool> {
  std::vector<CutKey> found;
  ObjectClaim others_newest;  // of processes of this shard in a job of another number of shards
  bool others = false;
  Step siblings_newest = 0;  // of other replicas of this shard
  for (const CutKey& key : all) {
    others = others || key.shards != options_.shards;
    if (key.shard != options_.shard) continue;
    if (is_own(key)) found.push_back(key);
    else if (is_of_shard(key)) siblings_newest = std::max(siblings_newest, key.step);
    else others_newest = std::max(others_newest, key.claim);
  }
  detail::CutBases bases;
  if (!options_.synchronous) {
    bases = co_await read_bases();
    ObjectClaim own_newest;
    for (const CutKey& key : found) own_newest = std::max(own_newest, key.claim);
    for (const auto& [claim, base] : bases) {
      const bool is_others = base && base->shards != options_.shards;
      if (is_others) others_newest = std::max(others_newest, claim);
      else own_newest = std::max(own_newest, claim);
    }
    // What was told is in the history of the largest claim. If that was of another number of shards, its checkpoint is.
    if (others && others_newest >= own_newest) {
      found.clear();
      bases.clear();
    }
  }
  const bool none_found = found.empty() && bases.empty();
  const std::vector<std::optional<CutKey>> order =
      detail::order_of_starts(std::move(found), bases, options_.synchronous);
  bool initial = false;  // a process of the job began with the initial values, and has told nothing since
  bool other_parts = false;
  const detail::CutChains chains{all};
  std::map<CutKey, detail::CheckedCut> checked;
  for (const std::optional<CutKey>& key : order) {
    if (!key) {
      initial = !other_parts;  // what has other parts was made after it, and its checkpoint is newer
      break;
    }
    if (cuts_.contains(key->step)) continue;  // of one step the cut of the largest claim
    const std::vector<CutKey> chain = chains.of(*key);
    if (chain.empty()) {
      // A link that landed late, when its chain was removed. There are newer cuts then, or something was damaged.
      if (cuts_.empty())
        done_.refused.push_back({checkpoint_errc::missing_data_file, names_.cut(*key) + ": a cut that it stands on"});
      continue;
    }
    co_await check_chain(chain, checked);
    const detail::CheckedCut& is = checked[*key];
    other_parts = other_parts || is.kind == detail::CheckedCut::Kind::other_parts;
    if (is.kind != detail::CheckedCut::Kind::good) continue;
    cuts_[key->step] = *key;
    done_.cuts.push_back({key->step, is.lineage});
    if (!options_.synchronous) break;
  }
  std::reverse(done_.cuts.begin(), done_.cuts.end());

  const bool sibling_is_newer =
      options_.synchronous && siblings_newest > (cuts_.empty() ? Step{0} : cuts_.rbegin()->first);
  if (initial && !checkpoint_bases_.empty() && checkpoint_bases_.rbegin()->first == bases.rbegin()->first) {
    done_.checkpoints.push_back(checkpoint_bases_.rbegin()->second);
  } else if (options_.synchronous ? others || other_parts : cuts_.empty() && !initial && (none_found || other_parts)) {
    if (others || other_parts) co_await find_checkpoints(std::move(all), !other_parts);
    if (!options_.synchronous && done_.checkpoints.size() > 1)
      done_.checkpoints.erase(done_.checkpoints.begin(), std::prev(done_.checkpoints.end()));
  }
  if (sibling_is_newer) co_await find_siblings_checkpoint();
  const bool nothing = cuts_.empty() && !initial && done_.checkpoints.empty() && !done_.of_sibling;
  if (nothing && !done_.refused.empty()) co_return false;
  if (nothing && (other_parts || (others && none_found)))
    throw_error(ps_errc::job_mismatch,
                names_.cuts() + ": cuts of another number of shards or of other parts, and no whole checkpoint");
  if (nothing && !order.empty())
    throw_error(checkpoint_errc::missing_data_file, names_.cut(*order.front()) + ": it was listed, and is gone");
  if (!options_.synchronous) {
    std::string base;
    if (!cuts_.empty()) base = names_.cut(cuts_.begin()->second);
    else if (!done_.checkpoints.empty()) base = names_.checkpoint(done_.checkpoints.back());
    co_await write_base(std::move(base));
  }
  co_return true;
}

DISTRIB_DECL auto ObjectCutsCore::check_chain(std::vector<CutKey> chain, std::map<CutKey, detail::CheckedCut>& checked)
    -> Steps<bool> {
  using Kind = detail::CheckedCut::Kind;
  const bool is_known = checked.contains(chain.back());
  Kind under = Kind::good;
  for (std::size_t i = 0; i < chain.size() && !is_known; ++i) {
    detail::CheckedCut& is = checked[chain[i]];
    is = {under, {}};
    if (under != Kind::good) continue;
    const std::string name = names_.cut(chain[i]);
    const std::optional<Bytes> object = co_await get(name, std::numeric_limits<std::uint64_t>::max());
    Error error;
    std::optional<Lineage> lineage;
    if (object) lineage = check_(chain[i], *object, error);
    is.kind = error || !object ? Kind::unusable : lineage ? Kind::good : Kind::other_parts;
    if (is.kind == Kind::good) is.lineage = std::move(*lineage);
    if (error) {
      error.where = error.where.empty() ? name : name + ": " + error.where;
      if (error.code != failure::corrupt) throw_if(error);
      done_.refused.push_back(std::move(error));
    }
    under = is.kind;
  }
  co_return true;
}

DISTRIB_DECL auto ObjectCutsCore::write_base(std::string key) -> Steps<bool> {
  const ByteView bytes = as_bytes(key);
  co_await put(names_.base(options_.shard, claim_), Bytes(bytes.begin(), bytes.end()));
  co_return true;
}

DISTRIB_DECL auto ObjectCutsCore::find_checkpoints(std::vector<CutKey> all, bool others) -> Steps<bool> {
  co_await read_indexes();
  const std::set<CutKey> there{all.begin(), all.end()};
  Step newest = cuts_.empty() ? 0 : cuts_.rbegin()->first;
  for (const auto& [key, index] : indexes_)
    if (is_whole(index, there)) newest = std::max(newest, key.step);
  // Cuts of another number of shards that are newer, and complete.
  std::map<std::pair<Step, std::uint32_t>, std::set<std::uint32_t>> shards_of;
  for (const CutKey& key : all)
    if (key.step > newest && key.shards != options_.shards && key.is_whole())
      shards_of[{key.step, key.shards}].insert(key.shard);
  for (auto at = shards_of.rbegin(); at != shards_of.rend() && options_.synchronous; ++at) {
    if (at->second.size() != at->first.second) continue;
    std::vector<CutKey> listed = all;
    Error error = co_await merge(at->first.first, at->first.second, std::move(listed));
    if (!error) break;
    done_.refused.push_back(std::move(error));
  }
  for (const auto& [key, index] : indexes_) {
    if (!is_whole(index, there) || cuts_.contains(key.step)) continue;
    if (others && index.cuts.front().key.shards == options_.shards) continue;
    if (!done_.checkpoints.empty() && done_.checkpoints.back().step == key.step) continue;
    done_.checkpoints.push_back(key);
  }
  co_return true;
}

DISTRIB_DECL auto ObjectCutsCore::find_siblings_checkpoint() -> Steps<bool> {
  constexpr int most_looks = 5;
  Step newest = cuts_.empty() ? 0 : cuts_.rbegin()->first;
  if (!done_.checkpoints.empty()) newest = std::max(newest, done_.checkpoints.back().step);
  done_.of_sibling.reset();
  bool was_whole = true;
  for (int look = 0; look < most_looks && !done_.of_sibling && (look == 0 || !was_whole); ++look) {
    // The other replica goes on meanwhile, and removes older checkpoints. The indexes are listed first: an index whose
    // cuts are there afterwards was whole.
    co_await read_indexes();
    const std::vector<CutKey> all = co_await list_cuts();
    const std::set<CutKey> there{all.begin(), all.end()};
    for (const auto& [key, index] : indexes_) {
      if (key.step <= newest || index.cuts.empty()) continue;
      was_whole = is_whole(index, there);
      if (!was_whole) continue;
      const CutKey& cut = index.cuts[std::min<std::size_t>(options_.shard, index.cuts.size() - 1)].key;
      if (is_of_shard(cut) && !is_own(cut)) done_.of_sibling = key;
    }
  }
  co_return true;
}

// --- the log of the ranks ---

DISTRIB_DECL auto ObjectCutsCore::find_ranks() -> Steps<bool> {
  rank_logs_.clear();
  ObjectAction action = ObjectAction::list(names_.rank_logs());
  const ObjectAnswer answer = co_await ask(std::move(action));
  throw_if(answer.error);
  std::vector<RankLogKey> all;
  for (const ObjectInfo& info : answer.objects)
    if (const auto key = names_.rank_log_of(info.key)) all.push_back(*key);
  for (const RankLogKey& key : all)
    if (key.shard == options_.shard && key.shards == options_.shards) rank_logs_.push_back(key);
  const std::vector<RankLogKey> found = detail::rank_logs_to_begin_with(all, options_.shard, options_.shards);
  if (found.empty()) co_return true;
  RankFile file;
  for (const RankLogKey& key : found) co_await read_ranks(key, file);
  // As its own, before anything is told. Otherwise a log that a process between wrote late would have a larger claim than
  // this one, and the next process would begin with it.
  Bytes bytes = to_bytes(file);
  std::vector<RankLogKey> old = rank_logs_;
  co_await put_ranks(std::move(bytes));
  co_await remove_ranks(std::move(old));
  done_.ranks = std::move(file);
  co_return true;
}

DISTRIB_DECL auto ObjectCutsCore::read_ranks(RankLogKey key, RankFile& all) -> Steps<bool> {
  const std::string name = names_.rank_log(key);
  const std::optional<Bytes> object = co_await get(name, detail::most_rank_log_bytes);
  if (!object) throw_error(checkpoint_errc::missing_data_file, name + ": it was listed, and is gone");
  std::optional<RankFile> file = parse_rank_file(*object);
  // It cannot be passed over: it is not known what was told.
  if (!file) throw_error(checkpoint_errc::corrupt_data, name);
  all.horizon = std::max(all.horizon, file->horizon);
  RankLog log{1};
  for (const SharedRankEntry& entry : all.entries) log.add(entry);
  for (const SharedRankEntry& entry : file->entries) log.add(entry);
  all.entries.clear();
  for (const SharedRankEntry& entry : log.entries())
    if (entry->number != 0) all.entries.push_back(entry);
  all.erased.insert(all.erased.end(), file->erased.begin(), file->erased.end());
  co_return true;
}

DISTRIB_DECL auto ObjectCutsCore::put_ranks(Bytes file) -> Steps<bool> {
  const RankLogKey key{options_.shard, options_.shards, claim_, ++rank_number_};
  const std::string name = names_.rank_log(key);
  rank_logs_.push_back(key);
  co_await put(name, std::move(file));
  co_await check_claim();
  co_return true;
}

DISTRIB_DECL auto ObjectCutsCore::remove_ranks(std::vector<RankLogKey> old) -> Steps<bool> {
  rank_logs_.erase(rank_logs_.begin(), rank_logs_.begin() + static_cast<std::ptrdiff_t>(old.size()));
  for (const RankLogKey& key : old) {
    std::string name = names_.rank_log(key);
    co_await remove(std::move(name));
  }
  co_return true;
}

DISTRIB_DECL auto ObjectCutsCore::clear_claims(std::vector<ObjectClaim> claims) -> Steps<bool> {
  for (const ObjectClaim& claim : claims) {
    if (claim >= claim_) continue;
    co_await remove(names_.claim(options_.shard, claim, options_.replica));
    if (!options_.synchronous) co_await remove(names_.base(options_.shard, claim));
  }
  co_return true;
}

DISTRIB_DECL auto ObjectCutsCore::abort_uploads() -> Steps<bool> {
  ObjectAction action = ObjectAction::uploads(names_.cuts());
  const ObjectAnswer answer = co_await ask(std::move(action));
  for (const ObjectUpload& upload : answer.uploads) {
    const auto key = names_.cut_of(upload.key);
    if (!key || key->shard != options_.shard || key->replica != options_.replica || key->claim >= claim_) continue;
    ObjectAction end = ObjectAction::abort(upload);
    co_await ask(std::move(end));
  }
  co_return true;
}

// --- checkpoints ---

DISTRIB_DECL auto ObjectCutsCore::merge(Step step, std::uint32_t shards, std::vector<CutKey> listed) -> Steps<Error> {
  std::erase_if(listed, [step](const CutKey& key) { return key.step != step; });
  const detail::NewestCuts newest = detail::newest_cuts(listed, shards);
  const std::vector<std::vector<CutKey>> choices = detail::choices_to_merge(newest, shards);
  if (choices.empty()) co_return Error{};
  const bool replicated = std::any_of(newest.begin(), newest.end(),
                                      [](const auto& of_shard) { return of_shard.second.rbegin()->first != 0; });
  if (replicated) {  // the cuts of other replicas may have completed it before
    co_await read_indexes();
    if (is_merged(step, newest) || is_behind(step, shards)) {
      co_await settle();
      co_return Error{};
    }
  }
  Error error;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    error = {};
    if (co_await merge_these(choices[i], error)) co_return Error{};
  }
  co_return error;
}

DISTRIB_DECL auto ObjectCutsCore::is_merged(Step step, const detail::NewestCuts& newest) const -> bool {
  const auto is_newest = [&newest](const CheckpointCut& cut) {
    const auto shard = newest.find(cut.key.shard);
    if (shard == newest.end()) return false;
    const auto replica = shard->second.find(cut.key.replica);
    return replica != shard->second.end() && replica->second == cut.key;
  };
  return std::any_of(indexes_.begin(), indexes_.end(), [&](const auto& index) {
    const std::vector<CheckpointCut>& cuts = index.second.cuts;
    return index.first.step == step && !cuts.empty() && std::all_of(cuts.begin(), cuts.end(), is_newest);
  });
}

DISTRIB_DECL auto ObjectCutsCore::is_behind(Step step, std::uint32_t shards) const -> bool {
  return shards == options_.shards && std::any_of(indexes_.begin(), indexes_.end(), [step](const auto& index) {
           return index.first.step > step && !index.second.cuts.empty();
         });
}

DISTRIB_DECL auto ObjectCutsCore::merge_these(std::vector<CutKey> keys, Error& error) -> Steps<bool> {
  std::vector<CheckpointCut> cuts;
  std::vector<BundleIndex> parts;
  for (const CutKey& key : keys) {
    CheckpointCut cut;
    std::optional<BundleIndex> part = co_await read_table(key, cut, error);
    if (error || !part) co_return false;
    cuts.push_back(cut);
    parts.push_back(std::move(*part));
  }
  // Some were saved before the settings of the job were changed, some after it: more will follow.
  if (!CutTensors::are_of_one_history(parts)) co_return false;
  const Step step = keys.front().step;
  Bytes index = encode_checkpoint_index(cuts, parts, error);
  if (error) {
    error.where = names_.cuts_of(step) + ": " + error.where;
    co_return false;
  }
  const CheckpointKey key{step, checkpoint_hash(index)};
  co_await put(names_.checkpoint(key), std::move(index));
  indexes_[key] = {{names_.checkpoint(key)}, std::move(cuts)};
  co_await settle();
  co_return true;
}

DISTRIB_DECL auto ObjectCutsCore::read_table(CutKey key, CheckpointCut& cut, Error& error)
    -> Steps<std::optional<BundleIndex>> {
  const std::string name = names_.cut(key);
  std::uint64_t wanted = detail::cut_end_bytes;
  while (true) {
    ObjectAction action = ObjectAction::get_end(name, wanted);
    const ObjectAnswer answer = co_await ask(std::move(action));
    if (answer.error || answer.objects.size() != 1) co_return std::nullopt;
    const std::uint64_t bytes = answer.objects.front().bytes;
    const CutTail tail = parse_cut_footer(answer.bytes, bytes, error);
    const std::uint64_t needed = tail.table_bytes + CutTail::footer_bytes;
    if (!error && needed > answer.bytes.size() && wanted < needed) {
      wanted = needed;
      continue;
    }
    cut = {key, bytes, tail.table_crc};
    BundleIndex index;
    if (!error) index = parse_cut_table(answer.bytes, tail, key.shard, key.shards, error);
    if (error) error.where = name + ": " + error.where;
    co_return index;
  }
}

DISTRIB_DECL auto ObjectCutsCore::read_indexes() -> Steps<bool> {
  const std::vector<ObjectInfo> objects = co_await list_indexes();
  for (const ObjectInfo& info : objects) co_await read_index(info);
  co_return true;
}

DISTRIB_DECL auto ObjectCutsCore::list_indexes() -> Steps<std::vector<ObjectInfo>> {
  const std::vector<ObjectInfo> objects = co_await list(names_.checkpoints());
  listed_.emplace();
  for (const ObjectInfo& info : objects)
    if (const auto key = names_.checkpoint_of(info.key)) listed_->insert(*key);
  std::erase_if(indexes_, [this](const auto& index) { return !listed_->contains(index.first); });
  may_be_new_ = false;
  co_return objects;
}

DISTRIB_DECL auto ObjectCutsCore::read_index(ObjectInfo info) -> Steps<bool> {
  const auto key = names_.checkpoint_of(info.key);
  if (!key) co_return true;
  if (const auto known = indexes_.find(*key); known != indexes_.end()) {
    known->second.info = std::move(info);
    co_return true;
  }
  const std::optional<Bytes> object = co_await get(info.key, most_index_bytes);
  if (object) {
    Error ignored;  // a damaged index names nothing
    Index index{std::move(info), parse_checkpoint_index(*object, ignored)};
    if (!index.cuts.empty() && index.cuts.front().key.step != key->step) index.cuts.clear();
    indexes_[*key] = std::move(index);
  } else {
    listed_->erase(*key);  // it was removed since
  }
  co_return true;
}

DISTRIB_DECL auto ObjectCutsCore::has_last_checkpoint() const -> bool {
  return std::any_of(indexes_.begin(), indexes_.end(), [this](const auto& index) {
    return index.first.step == options_.last_step && !index.second.cuts.empty();
  });
}

DISTRIB_DECL auto ObjectCutsCore::is_whole(const Index& index, const std::set<CutKey>& there) -> bool {
  return !index.cuts.empty() && std::all_of(index.cuts.begin(), index.cuts.end(),
                                            [&there](const CheckpointCut& cut) { return there.contains(cut.key); });
}

DISTRIB_DECL auto ObjectCutsCore::settle() -> Steps<bool> {
  co_await read_indexes();
  const std::vector<CutKey> all = co_await list_cuts();
  const std::set<CutKey> there{all.begin(), all.end()};
  std::set<Step> preserved;
  if (options_.settings.retention.keep_checkpoint_every_n_hours > 0) {
    const std::vector<ObjectInfo> objects = co_await list(names_.all_preserved());
    for (const ObjectInfo& info : objects)
      if (const auto step = names_.preserved_of(info.key)) preserved.insert(*step);
  }
  std::vector<detail::WholeCheckpoint> whole;  // the map is sorted by step
  for (const auto& [key, index] : indexes_)
    if (is_whole(index, there) && (whole.empty() || whole.back().step != key.step))
      whole.push_back({key.step, index.info.modified_seconds, preserved.contains(key.step)});
  if (whole.empty()) co_return true;
  const detail::CheckpointsToGo go = detail::checkpoints_to_go(whole, options_.settings.retention);
  for (const Step step : go.preserved) co_await put(names_.preserved(step), {});
  std::vector<CheckpointKey> gone;
  std::vector<std::string> names;
  for (const auto& [key, index] : indexes_) {
    if (!go.removed.contains(key.step) && (key.step >= whole.back().step || is_whole(index, there))) continue;
    gone.push_back(key);
    names.push_back(names_.checkpoint(key));
  }
  co_await remove_all(std::move(names));
  for (const CheckpointKey& key : gone) {
    indexes_.erase(key);
    listed_->erase(key);
  }
  co_return true;
}

// --- removing ---

DISTRIB_DECL auto ObjectCutsCore::may_go(const CutKey& key, bool last) const -> bool {
  if (key.claim > claim_) return false;
  const auto is_listed = [&key](const std::map<Step, CutKey>& cuts) {
    const auto at = cuts.find(key.step);
    return at != cuts.end() && at->second == key;
  };
  // Of the last step one replica of each shard is in the checkpoint.
  if (is_listed(cuts_)) return last && (key.step != options_.last_step || options_.replicas > 1);
  if (last) return true;
  if (is_listed(behind_)) return key.step <= dropped_;
  if (key.claim == claim_) return true;
  const auto is_of_claim = [this](const auto& cut) { return cut.second.claim == claim_; };
  if (!options_.synchronous) return std::any_of(cuts_.begin(), cuts_.end(), is_of_claim);
  return key.step <= dropped_;
}

DISTRIB_DECL auto ObjectCutsCore::has_index(Step step) const -> bool {
  if (!listed_) return false;
  const auto at = listed_->lower_bound({step, 0});
  return at != listed_->end() && at->step == step;
}

DISTRIB_DECL auto ObjectCutsCore::may_be_named(const CutKey& key) const -> bool {
  for (auto at = listed_->lower_bound({key.step, 0}); at != listed_->end() && at->step == key.step; ++at) {
    const auto index = indexes_.find(*at);
    if (index == indexes_.end()) return true;
    const auto is_it = [&key](const CheckpointCut& cut) { return cut.key == key; };
    if (std::any_of(index->second.cuts.begin(), index->second.cuts.end(), is_it)) return true;
  }
  return false;
}

DISTRIB_DECL auto ObjectCutsCore::cuts_to_go(bool last, bool is_over) const -> CutsToGo {
  CutsToGo go;
  const std::vector<CutKey> there{there_.begin(), there_.end()};
  const detail::CutChains chains{there};
  std::vector<CutKey> old;
  std::set<CutKey> needed;  // cuts that stay stand on these, whichever process saved them
  for (const CutKey& key : there) {
    if (!is_own(key) || may_go(key, last)) {
      old.push_back(key);
    } else {
      const std::vector<CutKey> chain = chains.of(key);
      needed.insert(chain.begin(), chain.end());
    }
  }
  Step newest = 0;
  Step newest_own = 0;  // of this number of shards
  const std::set<CheckpointKey> none;
  for (const CheckpointKey& key : listed_ ? *listed_ : none) {
    const auto index = indexes_.find(key);
    const bool is_read = index != indexes_.end();
    if (is_read && index->second.cuts.empty()) continue;  // it is damaged
    newest = key.step;
    if (is_read && index->second.cuts.front().key.shards == options_.shards) newest_own = key.step;
  }
  for (const CutKey& key : old) {
    if (needed.contains(key)) continue;
    if (!is_own(key)) {
      if (key.step >= newest_own || may_be_named(key)) go.has_others = true;
      else go.now.push_back(key);
      continue;
    }
    // No index names a link, nor what this process has saved of a step that the user does not want.
    const bool is_unnamed = !key.is_whole() || (key.claim == claim_ && !is_wanted(key.step));
    // A cut of a wanted step waits for those of the other shards, until a newer checkpoint is there.
    const bool waits = last ? key.step == options_.last_step && !is_over : is_wanted(key.step) && key.step >= newest;
    if (!is_unnamed && (!listed_ || waits || may_be_named(key))) go.has_own = true;
    else go.now.push_back(key);
  }
  return go;
}

DISTRIB_DECL auto ObjectCutsCore::tidy() -> Steps<bool> {
  // An asynchronous shard drops no cuts: the two newest stay.
  while (!options_.synchronous && cuts_.size() > 2) cuts_.erase(cuts_.begin());
  CutsToGo go = cuts_to_go(false, false);
  if (!go.now.empty()) {
    co_await remove_cuts(std::move(go.now));
  } else if (go.has_others && listed_ && !listed_->empty() && !indexes_.contains(*listed_->rbegin())) {
    ObjectInfo newest{names_.checkpoint(*listed_->rbegin())};  // is it of this number of shards?
    co_await read_index(std::move(newest));
  } else if ((go.has_own || go.has_others) && (!listed_ || may_be_new_)) {
    co_await list_indexes();
  }
  co_return true;
}

DISTRIB_DECL auto ObjectCutsCore::sweep() -> Steps<bool> {
  while (!options_.synchronous && cuts_.size() > 2) cuts_.erase(cuts_.begin());
  const std::vector<CutKey> all = co_await list_cuts();
  co_await read_indexes();
  const std::set<CutKey> there{all.begin(), all.end()};
  const bool is_over = std::any_of(indexes_.begin(), indexes_.end(), [&](const auto& index) {
    return index.first.step == options_.last_step && is_whole(index.second, there);
  });
  CutsToGo go = cuts_to_go(true, is_over);
  co_await remove_cuts(std::move(go.now));
  co_return true;
}

DISTRIB_DECL auto ObjectCutsCore::remove_cuts(std::vector<CutKey> cuts) -> Steps<bool> {
  std::vector<std::string> names;
  for (const CutKey& key : cuts) names.push_back(names_.cut(key));
  co_await remove_all(std::move(names));
  for (const CutKey& key : cuts) {
    there_.erase(key);
    behind_.erase(key.step);
  }
  co_return true;
}

}  // namespace v0
}  // namespace distrib
