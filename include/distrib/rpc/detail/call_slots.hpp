// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/rpc/detail/stream_credit.hpp>

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
  DISTRIB_DECL void limit(std::uint32_t most);

  /// A new call's id.
  DISTRIB_DECL auto take() -> std::uint64_t;

  /// Its slot may be used again.
  DISTRIB_DECL void give_back(std::uint64_t id);

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

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/rpc/detail/impl/call_slots.ipp>
#endif
