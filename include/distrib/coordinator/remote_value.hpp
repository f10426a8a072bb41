// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// What a closure left. Written once, by the coordinator, before `ready` is set.
struct ValueState {
  std::atomic<bool> ready = false;
  Error error;
  SharedBuffer bytes;  // the encoded result
};

}  // namespace detail

/// The value that a scheduled function will have: `ClusterCoordinator::schedule` returns it, `fetch` waits for it. A
/// value, cheap to copy; copies refer to the same result, which lives as long as one of them. Threads: any.
template <class T> class RemoteValue {
 public:
  using Value = T;

  /// Refers to no function; may only be assigned to or destroyed.
  RemoteValue() = default;
  /// Used by `schedule`.
  explicit RemoteValue(std::shared_ptr<const detail::ValueState> state) : state_{std::move(state)} {}

  /// True if `fetch` returns at once: the function has a value, has failed, or was cancelled.
  [[nodiscard]] auto is_ready() const noexcept -> bool { return state_->ready; }
  /// Used by `fetch`.
  [[nodiscard]] auto state() const noexcept -> const std::shared_ptr<const detail::ValueState>& { return state_; }

 private:
  std::shared_ptr<const detail::ValueState> state_;
};

/// A value on each worker, which a function has made there and which stays there: a data set, a model. Passed to
/// `schedule` for a parameter `T&`. Made by `ClusterCoordinator::create_per_worker`, whose coordinator must outlive its
/// use. A value, cheap to copy.
template <class T> class PerWorker {
 public:
  /// Used by `create_per_worker`.
  explicit PerWorker(std::uint64_t number) : number_{number} {}
  /// Used by `schedule`.
  [[nodiscard]] auto number() const noexcept -> std::uint64_t { return number_; }

 private:
  std::uint64_t number_;
};

/// An argument with a value for each worker: the function gets the value of the worker that runs it. A value.
template <class T> struct PerWorkerValues {
  std::vector<T> values;  ///< By index of the worker; one for each.
};

}  // namespace v0
}  // namespace distrib
