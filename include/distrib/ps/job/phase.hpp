// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// What a task of a job did for some time, as its shell has measured it. A value.
///
/// The phases compute, push, wait and pull of one rank follow each other without a gap: from the moment when the values
/// for a contribution are there to the moment when the values for the next one are.
struct Phase {
  enum class Kind : std::uint8_t {
    compute,  ///< Rank: the contribution of `step` is computed, from when its values were there; hooks are in it.
    push,  ///< Rank: the contribution is written to the sockets. In one process: never.
    wait,  ///< Rank: no values for the next contribution have begun to arrive. In one process: until it is computed.
    pull,  ///< Rank: the values for the next contribution arrive. In one process: never.
    save,  ///< Shard: a cut of `step` is written. In one process: of all shards.
    /// A moment: `step` is reached. Shard: it has counted that many steps. Rank: its values have arrived. Asynchronous:
    /// contributions of all ranks.
    reached,
  };

  Kind kind{};
  std::uint32_t of = 0;  ///< The rank, or the number of the shard on its task.
  std::uint64_t step = 0;
  std::chrono::steady_clock::time_point begin{};
  std::chrono::steady_clock::time_point end{};

  /// True if `of` is a rank.
  bool is_rank = false;
};

/// Returns the word for a kind: "compute".
[[nodiscard]] constexpr auto to_string(Phase::Kind kind) noexcept -> std::string_view {
  switch (kind) {
    case Phase::Kind::compute: return "compute";
    case Phase::Kind::push: return "push";
    case Phase::Kind::wait: return "wait";
    case Phase::Kind::pull: return "pull";
    case Phase::Kind::save: return "save";
    case Phase::Kind::reached: return "reached";
  }
  return "?";
}

/// Receives phases. The component that has the observer says on which thread it is called. Empty: nothing is measured.
using PhaseObserver = std::function<void(const Phase&)>;

}  // namespace v0
}  // namespace distrib
