// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/protocol/worker_action.hpp>
#include <distrib/ps/store/shard_action.hpp>

#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

/// Shells that only record the actions of a core.
namespace support {

using ShardAction = std::variant<distrib::JoinedReply, distrib::NoticeReply, distrib::ValuesReply, distrib::GoneReply,
                                 distrib::PushedReply, distrib::RefusedReply, distrib::CopyCut, distrib::SaveCut,
                                 distrib::LoadCut, distrib::DropCut, distrib::SendState, distrib::ShardDone>;
using WorkerAction =
    std::variant<distrib::SendJoin, distrib::SendPull, distrib::SendPush, distrib::SendRestore, distrib::SendCatchUp,
                 distrib::SendSave, distrib::SendGoodbye, distrib::SendLeave, distrib::Prepare, distrib::Compute,
                 distrib::ReplicasDiffer, distrib::TellsNoHistory, distrib::WorkerDone>;

template <class Action>
struct ActionList : std::vector<Action> {
  void operator()(auto action) { this->emplace_back(std::move(action)); }
  void operator()(distrib::SaveCut action) { this->emplace_back(distrib::SaveCut{std::move(action).finish()}); }
};
using ShardActions = ActionList<ShardAction>;
using WorkerActions = ActionList<WorkerAction>;

// Written by hand: the function tables that `std::visit` makes took a third of the compile time of a unit of random
// runs.

/// Returns the peer that an action is for; 0 if it is for none.
inline auto peer_of(const ShardAction& action) -> distrib::Peer {
  if (const auto* m = std::get_if<distrib::JoinedReply>(&action)) return m->peer;
  if (const auto* m = std::get_if<distrib::NoticeReply>(&action)) return m->peer;
  if (const auto* m = std::get_if<distrib::ValuesReply>(&action)) return m->peer;
  if (const auto* m = std::get_if<distrib::GoneReply>(&action)) return m->peer;
  if (const auto* m = std::get_if<distrib::PushedReply>(&action)) return m->peer;
  if (const auto* m = std::get_if<distrib::RefusedReply>(&action)) return m->peer;
  if (const auto* m = std::get_if<distrib::SendState>(&action)) return m->peer;
  return 0;
}

/// Returns the shard that an action is for; also 0 if it is for none.
inline auto shard_of(const WorkerAction& action) -> std::uint32_t {
  if (const auto* m = std::get_if<distrib::SendJoin>(&action)) return m->shard;
  if (const auto* m = std::get_if<distrib::SendPull>(&action)) return m->shard;
  if (const auto* m = std::get_if<distrib::SendPush>(&action)) return m->shard;
  if (const auto* m = std::get_if<distrib::SendRestore>(&action)) return m->shard;
  if (const auto* m = std::get_if<distrib::SendCatchUp>(&action)) return m->shard;
  if (const auto* m = std::get_if<distrib::SendSave>(&action)) return m->shard;
  if (const auto* m = std::get_if<distrib::SendGoodbye>(&action)) return m->shard;
  if (const auto* m = std::get_if<distrib::SendLeave>(&action)) return m->shard;
  if (const auto* m = std::get_if<distrib::ReplicasDiffer>(&action)) return m->shard;
  if (const auto* m = std::get_if<distrib::TellsNoHistory>(&action)) return m->shard;
  return 0;
}

}  // namespace support
