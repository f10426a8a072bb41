// SPDX-License-Identifier: Apache-2.0
#pragma once

// In the place of ps/protocol/replay_buffer.hpp: a worker keeps nothing but its last contribution, to show what keeping
// costs.

#define ReplayBuffer KeptReplayBuffer
#include "../../../../../../include/distrib/ps/protocol/replay_buffer.hpp"
#undef ReplayBuffer

namespace distrib {
inline namespace v0 {

class ReplayBuffer : public KeptReplayBuffer {
 public:
  explicit ReplayBuffer(std::size_t, std::vector<SharedBuffer> initial = {})
      : KeptReplayBuffer{0, std::move(initial)} {}
};

}  // namespace v0
}  // namespace distrib
