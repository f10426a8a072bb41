// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/export_log/error.hpp>
#include <distrib/export_log/follow_core.hpp>
#include <distrib/export_log/head_store.hpp>
#include <distrib/serve/replica_store.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Performs what a follower asks for, until it is idle: one attempt to get a newer position. `replica` must have
/// settled. Returns the error of the store that ended the attempt, if there was one.
template <HeadStore Store>
auto follow_once(Store& store, FollowCore& core, ReplicaStore& replica) -> Error {
  Error failed;
  FollowActions todo;
  core.poll(todo);
  for (std::size_t at = 0; at < todo.size(); ++at) {
    FollowAction action = std::move(todo[at]);  // `todo` grows
    Error error;
    if (std::holds_alternative<follow_action::ReadHead>(action)) {
      const std::optional<StampedHead> head = store.read_head(error);
      core.head_read(head ? std::optional{head->head} : std::nullopt, todo);
    } else if (const auto* const read = std::get_if<follow_action::Read>(&action)) {
      const std::vector<std::byte> bytes = store.get(read->name, read->most_bytes, error);
      if (error) {
        core.object_failed(todo);
      } else {
        const std::size_t before = todo.size();
        core.object_read(bytes, todo);
        // A part refers to these bytes.
        for (std::size_t i = before; i < todo.size(); ++i)
          if (const auto* const apply = std::get_if<follow_action::Apply>(&todo[i])) replica.apply(apply->part);
      }
    } else if (const auto* const begin = std::get_if<follow_action::Begin>(&action)) {
      replica.begin(begin->from_base, begin->manifest);
    } else if (const auto* const finish = std::get_if<follow_action::Finish>(&action)) {
      core.applied(replica.finish(finish->manifest));
    } else if (std::holds_alternative<follow_action::Abandon>(action)) {
      replica.abandon();
    }
    if (error) failed = std::move(error);
  }
  return failed;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
