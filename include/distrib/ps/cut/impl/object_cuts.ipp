// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/cut/object_cuts.hpp>

#include <distrib/checkpoint/bundle_writer.hpp>
#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/ranged_bytes.hpp>
#include <distrib/ps/cut/cut_object.hpp>
#include <distrib/ps/job/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

// Opens the directory of an owner, or throws.
DISTRIB_DECL auto directory_for_cuts(const CutOwner& owner, const ObjectAccess& access) -> ObjectDirectory {
  Error error;
  ObjectDirectory directory = open_directory(owner.settings.directory, access.open, error);
  throw_if(error);
  return directory;
}

DISTRIB_DECL auto tensors_of_cuts(const CutOwner& owner, CutShards shards) -> std::vector<CutTensors> {
  std::vector<CutTensors> tensors;
  const std::uint32_t own = owner.replica % owner.job.shards();
  for (std::uint32_t shard = 0; shard < owner.job.shards(); ++shard)
    if (shards == CutShards::all || shard == own) tensors.emplace_back(owner.job, shard, owner.updaters);
  return tensors;
}

}  // namespace detail

DISTRIB_DECL ObjectCuts::ObjectCuts(const CutOwner& owner, const ObjectAccess& access, CutShards shards)
    : access_{access},
      directory_{detail::directory_for_cuts(owner, access)},
      shard_{shards == CutShards::all ? 0 : owner.replica % owner.job.shards()},
      shards_{shards == CutShards::all ? 1 : owner.job.shards()},
      replica_{shards == CutShards::all ? 0 : owner.replica / owner.job.shards()},
      tensors_{detail::tensors_of_cuts(owner, shards)},
      names_{directory_.root},
      core_{options_of(owner),
            [this](const CutKey& key, ByteView object, Error& error) { return check(key, object, error); }},
      checkpoints_{directory_} {}

DISTRIB_DECL auto ObjectCuts::options_of(const CutOwner& owner) const -> ObjectCutsOptions {
  ObjectCutsOptions options;
  options.shard = shard_;
  options.shards = shards_;
  options.replica = replica_;
  options.replicas = owner.job.replicas;
  options.synchronous = owner.job.consistency.is_synchronous();
  options.replayable = owner.job.replayable;
  options.has_rank_log = owner.job.keeps_log();
  options.last_step = owner.job.total_steps;
  options.settings = owner.settings;
  options.settings.directory = directory_.root;
  options.owner = access_.owner;
  options.nonce = access_.nonce;
  return options;
}

// --- the work ---

DISTRIB_DECL void ObjectCuts::open(CutWork& work) {
  of_others_.clear();
  newest_.clear();
  links_.clear();
  ObjectCutsDone done = run([this](Out& out) { core_.open(out); });
  const std::vector<Cut> links = std::exchange(links_, {});
  throw_if(done.failure);
  if (!links.empty()) newest_ = {tensors_.front().with_links(newest_.front(), links)};
  work.refused = std::move(done.refused);
  work.cuts = std::move(done.cuts);
  work.ranks = std::move(done.ranks);
  for (const CheckpointKey& key : done.checkpoints)
    if (!add_checkpoint(key, work)) throw_error(checkpoint_errc::missing_data_file, names_.checkpoint(key));
  // The other replica may have removed it, and has newer cuts then.
  if (done.of_sibling) add_checkpoint(*done.of_sibling, work);
  std::ranges::sort(work.cuts, {}, &DurableCut::step);
}

DISTRIB_DECL auto ObjectCuts::add_checkpoint(const CheckpointKey& key, CutWork& work) -> bool {
  std::optional<BundleReader> reader;
  Lineage lineage;
  std::vector<Cut> cuts;
  Error error = patiently([&, this](Error& failed) {
    reader = checkpoints_.open(key, failed);
    if (!failed) tensors_.front().check_job(*reader, failed);
    if (!failed) lineage = tensors_.front().lineage(*reader, failed);
    if (!failed) cuts = read_cuts(*reader, failed);  // so that it is known to be good
  });
  if (error.code == failure::not_found) {
    std::vector<CheckpointKey> whole;
    throw_if(patiently([&, this](Error& failed) { whole = checkpoints_.list(failed); }));
    if (std::ranges::find(whole, key) == whole.end()) return false;
  }
  if (error && error.code != failure::corrupt) throw_if(error);
  if (error) {
    work.refused.push_back(std::move(error));
    return true;
  }
  work.cuts.push_back({key.step, std::move(lineage)});
  of_others_.emplace(key.step, *std::move(reader));
  if (newest_.empty() || newest_.front().step < key.step) newest_ = std::move(cuts);
  return true;
}

DISTRIB_DECL auto ObjectCuts::read(Step step) -> std::vector<Cut> {
  if (!newest_.empty() && newest_.front().step == step) return std::exchange(newest_, {});
  if (const auto other = of_others_.find(step); other != of_others_.end() && !core_.cuts().contains(step))
    return read_patiently(other->second);
  const ObjectCutsDone done = run([this, step](Out& out) { core_.read(step, out); });
  throw_if(done.failure);
  Error error;
  if (!done.under.empty()) {
    std::vector<Cut> cut = read_chain(done, error);
    throw_if(error);
    return cut;
  }
  const std::optional<BundleReader> reader = reader_of(done.object, error);
  throw_if(error);
  std::vector<Cut> cuts = read_cuts(*reader, error);
  throw_if(error);
  return cuts;
}

DISTRIB_DECL auto ObjectCuts::read_chain(const ObjectCutsDone& done, Error& error) const -> std::vector<Cut> {
  const CutTensors& tensors = tensors_.front();
  auto reader = reader_of(done.under.front(), error);
  if (error) return {};
  const Cut whole = tensors.read(*reader, error);
  std::vector<Cut> links;
  for (std::size_t i = 1; i <= done.under.size() && !error; ++i) {
    reader = reader_of(i < done.under.size() ? done.under[i] : done.object, error);
    if (error) break;
    links.push_back(tensors.read_link(*reader, error));
    const Cut& under = i == 1 ? whole : links[i - 2];
    if (!error && !stands_on(links.back(), under.step, under.lineage))
      error = {checkpoint_errc::corrupt_data, "it stands on another cut than its name says"};
  }
  if (error) return {};
  return {tensors.with_links(whole, links)};
}

DISTRIB_DECL auto ObjectCuts::read_cuts(const BundleReader& reader, Error& error) const -> std::vector<Cut> {
  std::vector<Cut> cuts;
  for (const CutTensors& tensors : tensors_) {
    cuts.push_back(tensors.read(reader, error));
    if (error) return {};
  }
  return cuts;
}

DISTRIB_DECL auto ObjectCuts::read_patiently(const BundleReader& reader) -> std::vector<Cut> {
  std::vector<Cut> cuts;
  throw_if(patiently([&, this](Error& error) { cuts = read_cuts(reader, error); }));
  return cuts;
}

// Works with the store until it answers.
DISTRIB_DECL auto ObjectCuts::patiently(const std::function<void(Error&)>& work) -> Error {
  Error error;
  do {
    error = {};
    work(error);
  } while (may_pass(error.code) && !perform(ObjectAction::list(names_.checkpoints())).error);
  return error;
}

DISTRIB_DECL void ObjectCuts::save(std::span<const Cut> cuts) {
  newest_.clear();
  const Step saved = cuts.front().step;
  const std::optional<Step> base = cuts.front().base;
  if (base && !core_.may_link(saved, *base)) {  // the cut before was given up
    const Cut under = std::move(read(*base).front());
    const Cut whole = tensors_.front().with_links(under, cuts);
    return save({&whole, 1});
  }
  ObjectBytes object;
  {
    std::vector<BundlePart> parts;
    for (std::size_t i = 0; i < tensors_.size(); ++i) parts.push_back(tensors_[i].part(cuts[i]));
    tensors_.front().describe(cuts.front(), parts.front());
    Error error;
    std::vector<std::byte> bytes =
        parts.size() == 1 ? encode_cut_object(parts.front(), shard_, shards_, error) : encode_cut_object(parts, error);
    throw_if(error);
    object = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  }
  const ObjectCutsDone done = run([&, this](Out& out) {
    if (base) core_.save_link(saved, *base, std::move(object), out);
    else core_.save(saved, std::move(object), out);
  });
  if (done.failure && (!is_durable_ || done.failure.code == ps_errc::shard_taken_over)) throw_if(done.failure);
  if (done.failure && access_.tell)
    access_.tell("the cut of step " + std::to_string(saved) + " is saved, but not all that follows is done: " +
                 done.failure.where + ": " + done.failure.code.message());
}

DISTRIB_DECL void ObjectCuts::save_ranks(const RankFile& file) {
  const ObjectCutsDone done = run([&, this](Out& out) { core_.save_ranks(file, out); });
  if (done.failure && !is_durable_) throw_if(done.failure);
  if (done.failure && access_.tell)
    access_.tell("the log of the ranks is saved, but the one before is not removed: " + done.failure.where + ": " +
                 done.failure.code.message());
}

DISTRIB_DECL void ObjectCuts::drop(Step step, bool unneeded) {
  throw_if(run([step, unneeded, this](Out& out) { core_.drop(step, unneeded, out); }).failure);
}
DISTRIB_DECL void ObjectCuts::drop_older() {
  std::vector<Step> older;
  for (const auto& [step, key] : core_.cuts()) older.push_back(step);
  if (!older.empty()) older.pop_back();
  for (const Step step : older) drop(step, false);
}
DISTRIB_DECL void ObjectCuts::finish() {
  throw_if(run([this](Out& out) { core_.finish(out); }).failure);
}
DISTRIB_DECL void ObjectCuts::look() {
  throw_if(run([this](Out& out) { core_.look(out); }).failure);
}

// --- the core's requests ---

DISTRIB_DECL auto ObjectCuts::run(const std::function<void(Out&)>& begin) -> ObjectCutsDone {
  Out out{this};
  asked_.reset();
  done_.reset();
  is_durable_ = false;
  begin(out);
  while (!done_) {
    const ObjectAction action = *std::exchange(asked_, std::nullopt);
    core_.answered(perform(action), out);
  }
  ObjectCutsDone done = *std::exchange(done_, std::nullopt);
  if (done.failure && done.failure.where.find("://") == std::string::npos)
    done.failure.where = directory_.url + ": " + done.failure.where;
  return done;
}

// Performs a request, again and again until the store answers or the task is to end.
DISTRIB_DECL auto ObjectCuts::perform(const ObjectAction& action) -> ObjectAnswer {
  constexpr std::chrono::milliseconds first{100};
  constexpr std::chrono::milliseconds longest{5'000};
  while (true) {
    ObjectAnswer answer = ask(action);
    if (!may_pass(answer.error.code)) {
      pause_ = {};
      if (answer.lost && access_.pause) access_.pause(first);
      return answer;
    }
    if (pause_.count() == 0 && access_.tell)
      access_.tell("the object store of the cuts does not answer, waiting: " + answer.error.where + ": " +
                   answer.error.code.message());
    pause_ = std::clamp(2 * pause_, first, longest);
    if (!access_.pause || !access_.pause(pause_)) return answer;
  }
}

DISTRIB_DECL auto ObjectCuts::ask(const ObjectAction& action) -> ObjectAnswer {
  using Kind = ObjectAction::Kind;
  AnyObjectStore& store = directory_.store;
  ObjectAnswer answer;
  switch (action.kind) {
    case Kind::list: answer.objects = store.list(action.key, answer.error); break;
    case Kind::get: answer.bytes = store.get(action.key, action.most_bytes, answer.error); break;
    case Kind::get_end:
      answer.bytes = store.get_end(action.key, action.most_bytes, answer.objects.emplace_back(), answer.error);
      break;
    case Kind::put: store.put(action.key, *action.bytes, answer.error); break;
    case Kind::remove: store.remove(action.key, answer.error); break;
    case Kind::remove_all: store.remove_all(action.keys, answer.error); break;
    case Kind::uploads: answer.uploads = store.uploads(action.key, answer.error); break;
    case Kind::abort: store.abort(action.upload, answer.error); break;
    case Kind::ask: answer.alive = answers(action); break;
  }
  const bool reads = action.kind == Kind::get || action.kind == Kind::get_end;
  if (reads && answer.error.code == failure::not_found) make_sure(action, answer);
  // There are stores without uploads, or where they may not be listed: a rule of the bucket removes them.
  const bool of_uploads = action.kind == Kind::uploads || action.kind == Kind::abort;
  if (of_uploads && !may_pass(answer.error.code)) answer.error = {};
  return answer;
}

// "Not found" may also mean that the bucket or the credentials were not found. Then no cut may count as gone.
DISTRIB_DECL void ObjectCuts::make_sure(const ObjectAction& action, ObjectAnswer& answer) {
  Error error;
  const std::vector<ObjectInfo> listed = directory_.store.list(action.key, error);
  const auto is_it = [&action](const ObjectInfo& info) { return info.key == action.key; };
  if (error) {
    if (error.code == failure::not_found)
      error = {checkpoint_errc::cannot_read, error.where + " (" + error.code.message() + ')'};
    answer.error = std::move(error);
  } else if (std::ranges::any_of(listed, is_it)) {
    answer = {};
    answer.lost = true;  // it was written meanwhile
  }
}

// True if the process answers that has made a claim. One at this task's own address is gone: this task listens there.
DISTRIB_DECL auto ObjectCuts::answers(const ObjectAction& action) const -> bool {
  const auto claim = names_.claim_of(action.key, shard_, replica_);
  const auto owner = parse_claim(*action.bytes);
  if (!claim || !owner || owner->address.empty() || !access_.answers) return false;
  if (claim->nonce == access_.nonce || owner->address == access_.owner.address) return false;
  return access_.answers(*owner, claim->nonce);
}

// --- objects ---

DISTRIB_DECL auto ObjectCuts::reader_of(ByteView object, Error& error) const -> std::optional<BundleReader> {
  const CutTail tail = parse_cut_footer(object, object.size(), error);
  BundleIndex index;
  if (!error) index = parse_cut_table(object, tail, shard_, shards_, error);
  if (error) return std::nullopt;
  // The object of a job in one process has the data of all its shards.
  const bool all = index.shards != shards_;
  const RangedBytes whole{object.size(), [object](std::uint64_t first, std::span<std::byte> to, Error&) {
                            std::memcpy(to.data(), object.data() + static_cast<std::size_t>(first), to.size());
                          }};
  std::vector<RangedBytes> files(static_cast<std::size_t>(index.shards));
  for (std::size_t shard = 0; shard < files.size(); ++shard)
    if (all || shard == shard_) files[shard] = whole;
  std::vector<std::string> names(files.size(), "cut");
  return BundleReader::of_ranges("cut", std::move(index), std::move(names), std::move(files),
                                 all ? std::nullopt : std::optional<std::size_t>{shard_}, error);
}

DISTRIB_DECL auto ObjectCuts::check(const CutKey& key, ByteView object, Error& error) -> std::optional<Lineage> {
  const std::optional<BundleReader> reader = reader_of(object, error);
  if (!error) tensors_.front().check_job(*reader, error);
  if (error) return std::nullopt;
  if (!key.is_whole()) return check_link(key, *reader, error);
  for (const CutTensors& tensors : tensors_)
    if (!tensors.fits(*reader)) return std::nullopt;
  Lineage lineage = tensors_.front().lineage(*reader, error);
  if (error) return std::nullopt;
  std::vector<Cut> cuts = read_cuts(*reader, error);
  if (!error && cuts.front().step != key.step)
    error = {checkpoint_errc::corrupt_data, "it is of step " + std::to_string(cuts.front().step)};
  checked_ = key.step;
  checked_lineage_ = lineage;
  const bool is_newer = newest_.empty() || (links_.empty() ? newest_ : links_).back().step < key.step;
  if (!error && is_newer) {
    newest_ = std::move(cuts);
    links_.clear();
  }
  return lineage;
}

DISTRIB_DECL auto ObjectCuts::check_link(const CutKey& key, const BundleReader& reader, Error& error)
    -> std::optional<Lineage> {
  const CutTensors& tensors = tensors_.front();
  if (!tensors.fits_link(reader)) return std::nullopt;
  Cut link = tensors.read_link(reader, error);
  if (error) return std::nullopt;
  if (link.step != key.step) error = {checkpoint_errc::corrupt_data, "it is of step " + std::to_string(link.step)};
  else if (!stands_on(link, checked_, checked_lineage_))
    error = {checkpoint_errc::corrupt_data, "it stands on another cut than its name says"};
  if (error) return std::nullopt;
  checked_ = key.step;
  checked_lineage_ = link.lineage;
  // Chains are checked one after another, the newest first.
  const Step newest = (links_.empty() ? newest_ : links_).back().step;
  if (newest == link.base) links_.push_back(std::move(link));
  return checked_lineage_;
}

}  // namespace v0
}  // namespace distrib
