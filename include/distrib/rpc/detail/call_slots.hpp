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

/// The state of one call at the client.
struct CallSlot {
  std::uint32_t generation = 0;
  bool active = false;     // neither answered nor refused
  bool in_chunks = false;  // its reply is wanted in chunks
  StreamCredit credit;
  std::uint64_t batch = 0;   // the batch of the queue with which the request leaves
  std::uint64_t number = 0;  // the number of the request on this connection, from 1
};

/// The calls of a client, by slot. An id consists of a slot and its generation, so a late frame for an earlier call in
/// the slot is recognized by its generation. No call has the id 0.
///
/// Memory: a slot for each of the largest number of calls that existed at once.
class CallSlots {
 public:
  /// `most`: the largest number of calls. As long as no more calls than this exist, each has a slot below `most`: a
  /// server with this limit accepts only those.
  explicit CallSlots(std::uint32_t most) noexcept : most_{most} {}

  [[nodiscard]] auto most() const noexcept -> std::uint32_t { return most_; }
  /// Lowers the limit to `most`; never raises it.
  DISTRIB_DECL void limit(std::uint32_t most);

  /// Starts a call and returns its id.
  DISTRIB_DECL auto take() -> std::uint64_t;

  /// Frees the slot of a call for another call.
  DISTRIB_DECL void give_back(std::uint64_t id);

  /// Returns the slot of a call that was taken and not given back.
  [[nodiscard]] auto of(std::uint64_t id) noexcept -> CallSlot& { return slots_[static_cast<std::uint32_t>(id)]; }

  /// True if `id` is an active call. Any number is allowed as `id`: it may come from the peer.
  [[nodiscard]] auto active(std::uint64_t id) const noexcept -> bool {
    const auto slot = static_cast<std::uint32_t>(id);
    return slot < slots_.size() && slots_[slot].active && slots_[slot].generation == id >> 32;
  }

  /// Returns the id of the present or last call of a slot.
  [[nodiscard]] auto id_of(std::uint32_t slot) const noexcept -> std::uint64_t {
    return (std::uint64_t{slots_[slot].generation} << 32) | slot;
  }

  /// Returns the number of slots.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return slots_.size(); }
  /// Returns the number of slots whose calls were not given back.
  [[nodiscard]] auto used() const noexcept -> std::size_t { return used_; }

 private:
  std::uint32_t most_;
  std::vector<CallSlot> slots_;
  std::vector<std::uint32_t> free_;   // free slots below `most_`: the server accepts calls in these
  std::vector<std::uint32_t> spare_;  // free slots from `most_` on: for calls beyond the limit, which are refused
  std::size_t used_ = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/rpc/detail/impl/call_slots.ipp>
#endif
