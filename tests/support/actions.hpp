// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/protocol/worker_action.hpp>
#include <distrib/ps/store/shard_action.hpp>

#include <utility>
#include <variant>
#include <vector>

/// Shells that only write down what a core tells them.
namespace support {

using ShardAction = std::variant<distrib::JoinedReply, distrib::NoticeReply, distrib::ValuesReply, distrib::GoneReply,
                                 distrib::PushedReply, distrib::RefusedReply, distrib::CopyCut, distrib::SaveCut,
                                 distrib::LoadCut, distrib::DropCut, distrib::SendState, distrib::ShardDone>;
using WorkerAction = std::variant<distrib::SendJoin, distrib::SendPull, distrib::SendPush, distrib::SendRestore,
                                  distrib::SendCatchUp, distrib::SendSave, distrib::SendGoodbye, distrib::SendLeave,
                                  distrib::Prepare, distrib::Compute, distrib::ReplicasDiffer, distrib::WorkerDone>;

template <class Action>
struct ActionList : std::vector<Action> {
  void operator()(auto action) { this->emplace_back(std::move(action)); }
  void operator()(distrib::SaveCut action) { this->emplace_back(distrib::SaveCut{std::move(action).finish()}); }
};
using ShardActions = ActionList<ShardAction>;
using WorkerActions = ActionList<WorkerAction>;

}  // namespace support
