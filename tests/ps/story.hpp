// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/lineage.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/protocol/worker_action.hpp>
#include <distrib/ps/store/key_lists.hpp>
#include <distrib/ps/store/pull_rows.hpp>
#include <distrib/ps/store/table_gradients.hpp>

#include "support/actions.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

/// Stories of cores: a table of events, and for each event the actions that must follow, as texts.
namespace story {

/// A job on `shards` shards, with one vector of two zeros per shard.
inline auto job(std::uint32_t shards, distrib::Rank ranks, std::uint64_t total_steps, std::uint64_t cut_interval)
    -> distrib::Job {
  distrib::Job job;
  job.shards_per_task = shards;
  job.ranks = ranks;
  job.total_steps = total_steps;
  job.cut_interval = cut_interval;
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    job.variables.push_back({"v" + std::to_string(shard), distrib::DType::float32, {2}, distrib::ZerosInitializer{}});
    job.parts.push_back({shard, distrib::Slice::whole({2}), shard});
  }
  return job;
}

/// The same job with another consistency.
inline auto with_consistency(distrib::Job job, distrib::Consistency consistency) -> distrib::Job {
  job.consistency = consistency;
  return job;
}
inline auto asynchronous(distrib::Job job) -> distrib::Job {
  return with_consistency(std::move(job), distrib::AsynchronousParallel{});
}

/// A shard's block of such a job, in which both elements have this number.
inline auto block(float number) -> distrib::SharedBuffer {
  auto made = std::make_shared<distrib::AlignedBuffer>(64);
  made->as<float>()[0] = made->as<float>()[1] = number;
  return made;
}

/// The same job with custom initial values: `block(number)` is contribution 0 of each shard.
inline auto with_initial_values(distrib::Job job, float number) -> distrib::Job {
  for (distrib::VariableInfo& variable : job.variables) variable.initializer = distrib::CustomInitializer{};
  job.initial_blocks.assign(job.shards(), distrib::sha256(block(number)->bytes()));
  return job;
}

/// The same job with two tables: "words" of any keys, and "items" 0, 1, 2. A row is 16 equal floats, at first 8.
inline auto with_tables(distrib::Job job) -> distrib::Job {
  const distrib::ConstantInitializer eight{8.0F};
  job.tables = {{"words", 16, 0, eight}, {"items", 16, 3, eight}};
  return job;
}

/// A contribution to the only shard of such a job, with gradients of rows by their keys.
inline auto block(float number, const std::map<std::uint64_t, float>& words,
                  const std::map<std::uint64_t, float>& items = {}) -> distrib::SharedBuffer {
  const distrib::ShardLayout layout{with_tables(job(1, 1, 1, 0)), 0};
  distrib::KeyLists keys(2);
  for (const auto& entry : words) keys[0].push_back(entry.first);
  for (const auto& entry : items) keys[1].push_back(entry.first);
  const distrib::ContributionLayout places{layout, keys};
  auto made = std::make_shared<distrib::AlignedBuffer>(places.size_bytes());
  std::ranges::copy(block(number)->bytes(), made->data());
  places.write_keys(made->bytes());
  for (std::size_t table = 0; table < 2; ++table) {
    float* to = reinterpret_cast<float*>(made->data() + places.rows_at(table));
    for (const auto& entry : table == 0 ? words : items) to = std::fill_n(to, 16, entry.second);
  }
  return made;
}

/// Returns the rows that a worker wants from one shard of such a job.
inline auto wanted(const distrib::KeyLists& keys) -> distrib::WantedRows {
  std::vector<std::byte> bytes;
  distrib::append_pull_rows({keys}, bytes);
  auto body = std::make_shared<distrib::AlignedBuffer>(bytes.size());
  std::ranges::copy(bytes, body->data());
  std::size_t rows = 0;
  for (const auto& list : keys) rows += list.size();
  return {std::move(body), 64 + 64 * rows};
}

/// Returns the answer of the shard to such a request.
inline auto values_block(float number, const std::vector<float>& rows) -> distrib::SharedBuffer {
  auto made = std::make_shared<distrib::AlignedBuffer>(64 + 64 * rows.size());
  std::ranges::copy(block(number)->bytes(), made->data());
  for (std::size_t row = 0; row < rows.size(); ++row) made->as<float>()[16 + 16 * row] = rows[row];
  return made;
}

/// The lineage of a job whose settings never changed.
inline auto only_lineage(const distrib::Job& job) -> distrib::Lineage {
  return distrib::Lineage{}.continued(0, distrib::settings_hash(job));
}
inline auto cuts_at(const std::vector<distrib::Step>& steps, const distrib::Job& job)
    -> std::vector<distrib::DurableCut> {
  std::vector<distrib::DurableCut> cuts;
  for (const distrib::Step step : steps) cuts.push_back({step, only_lineage(job).until(step)});
  return cuts;
}
inline auto steps_of(const std::vector<distrib::DurableCut>& cuts) -> std::vector<distrib::Step> {
  std::vector<distrib::Step> steps;
  for (const distrib::DurableCut& cut : cuts) steps.push_back(cut.step);
  return steps;
}

inline auto text(const std::vector<distrib::Step>& steps) -> std::string {
  std::string joined;
  for (const distrib::Step step : steps) joined += (joined.empty() ? "" : ",") + std::to_string(step);
  return joined;
}

inline auto text(const distrib::Progress& progress) -> std::string {
  return " k=" + std::to_string(progress.done) + " cuts=" + text(progress.cuts) + (progress.no_room ? " no room" : "") +
         (progress.doubled ? " doubled" : "") + (progress.no_values ? " no values" : "");
}

inline auto text(float number) -> std::string {
  const auto whole = static_cast<int>(number);
  return std::to_string(whole) + (number == static_cast<float>(whole) ? "" : "...");
}

/// Returns the values as a text; in a job with tables also the rows.
inline auto text(const distrib::SharedBuffer& values) -> std::string {
  std::string rows;
  for (std::size_t at = 16; at < values->as<float>().size(); at += 16)
    rows += (rows.empty() ? " rows=" : ",") + text(values->as<float>()[at]);
  return " w=" + text(values->as<float>()[0]) + rows;
}

/// Returns the rows that a pull of a job with these tables asks for: " rows=5,7;0".
inline auto text(const distrib::WantedRows& wanted) -> std::string {
  if (wanted.keys == nullptr) return {};
  distrib::KeyLists keys(2);
  const distrib::ByteView bytes = wanted.keys->bytes();
  REQUIRE(distrib::read_key_lists(bytes.first(bytes.size() - 1), keys));
  return " rows=" + text(keys[0]) + ";" + text(keys[1]) + (bytes.back() == std::byte{1} ? " digests" : "");
}

inline auto text(const std::vector<distrib::TableCut>& tables) -> std::string {
  std::string joined;
  for (const distrib::TableCut& table : tables) {
    const auto keys = table.keys->as<std::uint64_t>();
    joined += (joined.empty() ? " keys=" : ";") + text(std::vector<distrib::Step>{keys.begin(), keys.end()});
  }
  return joined;
}

/// Returns a text such as "values 10 step=1 w=-3 k=1 cuts=0": 10 is the peer.
inline auto text(const support::ShardAction& action) -> std::string {
  using namespace distrib;
  if (const auto* m = std::get_if<JoinedReply>(&action)) return "joined " + std::to_string(m->peer) + text(m->progress);
  if (const auto* m = std::get_if<NoticeReply>(&action)) return "notice " + std::to_string(m->peer) + text(m->progress);
  if (const auto* m = std::get_if<ValuesReply>(&action))
    return "values " + std::to_string(m->peer) + " step=" + std::to_string(m->step) + text(m->block) +
           text(m->progress);
  if (const auto* m = std::get_if<GoneReply>(&action))
    return "gone " + std::to_string(m->peer) + " step=" + std::to_string(m->step) + text(m->progress);
  if (const auto* m = std::get_if<PushedReply>(&action))
    return "pushed " + std::to_string(m->peer) + " step=" + std::to_string(m->step) + text(m->progress);
  if (const auto* m = std::get_if<RefusedReply>(&action))
    return "refused " + std::to_string(m->peer) + " step=" + std::to_string(m->step) +
           " rank=" + std::to_string(m->rank) + ": " + m->code.message() +
           (m->what.empty() ? "" : " (" + m->what + ")");
  if (std::holds_alternative<distrib::CopyCut>(action)) return "copy";
  if (const auto* m = std::get_if<SaveCut>(&action))
    return "save " + std::to_string(m->cut.step) + text(m->cut.values) + text(m->cut.tables) +
           (m->cut.applied.empty() ? "" : " applied=" + text(m->cut.applied));
  if (const auto* m = std::get_if<LoadCut>(&action)) return "load " + std::to_string(m->step);
  if (const auto* m = std::get_if<DropCut>(&action))
    return "drop " + std::to_string(m->step) + (m->unneeded ? " unneeded" : "");
  if (const auto* m = std::get_if<distrib::SendState>(&action))
    return "state " + std::to_string(m->peer) + " " + (m->step == 0 ? "none" : std::to_string(m->step));
  return "done";
}

/// Returns a text such as "push 1 step=2 rank=0 common=0": 1 is the shard.
inline auto text(const support::WorkerAction& action) -> std::string {
  using namespace distrib;
  if (const auto* m = std::get_if<SendJoin>(&action)) return "join " + std::to_string(m->shard);
  if (const auto* m = std::get_if<SendPull>(&action))
    return "pull " + std::to_string(m->shard) + " step=" + std::to_string(m->step) + text(m->rows);
  if (const auto* m = std::get_if<SendPush>(&action))
    return "push " + std::to_string(m->shard) + " step=" + std::to_string(m->contribution.step) +
           " rank=" + std::to_string(m->contribution.rank) +
           (m->contribution.level == 0 ? "" : " level=" + std::to_string(m->contribution.level)) +
           " common=" + std::to_string(m->contribution.common_cut);
  if (const auto* m = std::get_if<SendRestore>(&action))
    return "restore " + std::to_string(m->shard) + " cut=" + std::to_string(m->cut) +
           (m->lineage == 0 ? "" : " lineage=" + std::to_string(m->lineage));
  if (const auto* m = std::get_if<SendCatchUp>(&action))
    return "catch up " + std::to_string(m->shard) + " k=" + std::to_string(m->done);
  if (const auto* m = std::get_if<TellsNoHistory>(&action)) return "tells no history " + std::to_string(m->shard);
  if (const auto* m = std::get_if<ReplicasDiffer>(&action))
    return "replicas differ " + std::to_string(m->shard) + " step=" + std::to_string(m->step);
  if (const auto* m = std::get_if<SendSave>(&action)) return "save " + std::to_string(m->shard);
  if (const auto* m = std::get_if<SendGoodbye>(&action)) return "goodbye " + std::to_string(m->shard);
  if (const auto* m = std::get_if<SendLeave>(&action)) return "leave " + std::to_string(m->shard);
  if (const auto* m = std::get_if<Prepare>(&action)) return "prepare step=" + std::to_string(m->step);
  if (const auto* m = std::get_if<Compute>(&action))
    return "compute step=" + std::to_string(m->step) + " ticket=" + std::to_string(m->ticket) + " of " +
           std::to_string(m->values.size());
  std::string end = std::get<WorkerDone>(action).left ? "left" : "done";
  for (const SharedBuffer& block : std::get<WorkerDone>(action).result) end += text(block);
  return end;
}

template <class Action>
struct Event {
  const char* what;  ///< Describes the event, with the number of the protocol's rule; shown if the check fails.
  std::function<void(support::ActionList<Action>&)> happens;
  std::vector<std::string> expected;  ///< The actions that must follow, in order.
};

using ShardStory = std::vector<Event<support::ShardAction>>;
using WorkerStory = std::vector<Event<support::WorkerAction>>;

template <class Action>
void tell(const std::vector<Event<Action>>& events) {
  for (const Event<Action>& event : events) {
    support::ActionList<Action> actions;
    event.happens(actions);
    std::vector<std::string> texts;
    for (const Action& action : actions) texts.push_back(text(action));
    CAPTURE(event.what);
    CHECK(texts == event.expected);
  }
}

}  // namespace story
