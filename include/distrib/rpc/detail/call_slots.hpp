// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/rpc/stream_credit.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// What a client knows of a call.
struct CallSlot {
  std::uint32_t generation = 0;
  bool active = false;     // neither answered nor refused
  bool in_chunks = false;  // its reply
  StreamCredit credit;
  std::uint64_t batch = 0;   // of the queue, that the request leaves with
  std::uint64_t number = 0;  // of the request, on this connection
};

/// The calls of a client. An id is a slot and its generation, so what is late finds another generation there. No call
/// has the id 0. Memory: a slot for each call that was ever in use at once.
class CallSlots {
 public:
  /// Calls below `most` get a slot that a server of such a limit takes, while there are no more than that.
  explicit CallSlots(std::uint32_t most) noexcept : most_{most} {}

  [[nodiscard]] auto most() const noexcept -> std::uint32_t { return most_; }
  template <class = void> void limit(std::uint32_t most) {
    most_ = std::min(most_, most);
    std::erase_if(free_, [this](std::uint32_t slot) {
      if (slot >= most_) spare_.push_back(slot);
      return slot >= most_;
    });
  }

  /// A new call's id.
  template <class = void> auto take() -> std::uint64_t {
    ++used_;
    std::uint32_t slot = 0;
    std::vector<std::uint32_t>& from = free_.empty() ? spare_ : free_;
    if (from.empty()) {
      slot = static_cast<std::uint32_t>(slots_.size());
      slots_.push_back({});
    } else {
      slot = from.back();
      from.pop_back();
    }
    CallSlot& call = slots_[slot];
    if (++call.generation == 0) call.generation = 1;
    call.active = true;
    call.in_chunks = false;
    call.credit = {};
    return id_of(slot);
  }

  /// Its slot may be used again.
  template <class = void> void give_back(std::uint64_t id) {
    const auto slot = static_cast<std::uint32_t>(id);
    slots_[slot].active = false;
    (slot < most_ ? free_ : spare_).push_back(slot);
    --used_;
  }

  /// Of a call that was taken and not given back.
  [[nodiscard]] auto of(std::uint64_t id) noexcept -> CallSlot& { return slots_[static_cast<std::uint32_t>(id)]; }

  /// Whatever the id, which may be a stranger's.
  [[nodiscard]] auto active(std::uint64_t id) const noexcept -> bool {
    const auto slot = static_cast<std::uint32_t>(id);
    return slot < slots_.size() && slots_[slot].active && slots_[slot].generation == id >> 32;
  }

  [[nodiscard]] auto id_of(std::uint32_t slot) const noexcept -> std::uint64_t {
    return (std::uint64_t{slots_[slot].generation} << 32) | slot;
  }

  /// Slots that there are.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return slots_.size(); }
  /// Those of calls that were not given back.
  [[nodiscard]] auto used() const noexcept -> std::size_t { return used_; }

 private:
  std::uint32_t most_;
  std::vector<CallSlot> slots_;
  std::vector<std::uint32_t> free_;   // slots below most_, which the server takes: a call that is allowed has one
  std::vector<std::uint32_t> spare_;  // the others, of calls that were too many
  std::size_t used_ = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
