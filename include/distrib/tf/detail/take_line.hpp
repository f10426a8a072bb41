// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/step.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <system_error>

namespace distrib {
inline namespace v0 {
namespace detail {

/// What all accumulators share: their step, the number of counted gradients, and the line of takes that wait.
class TakeLine {
 public:
  /// Returns true if a gradient of this step counts. Otherwise counts it as dropped.
  [[nodiscard]] auto accepts(Step local_step) noexcept -> bool {
    if (local_step >= step_) return true;
    ++dropped_;
    return false;
  }
  /// Counts a gradient.
  void counted() noexcept { ++count_; }

  /// Puts a take of at least `required` gradients at the end of the line. Fails with `ps_errc::not_positive`.
  void wait(std::uint64_t id, std::int64_t required, std::error_code& ec) {
    ec.clear();
    if (required > 0) takes_.push_back({id, static_cast<std::uint64_t>(required)});
    else ec = ps_errc::not_positive;
  }
  /// Returns the id of the first take if there are enough gradients for it; the caller must then call `done`.
  [[nodiscard]] auto ready() const -> std::optional<std::uint64_t> {
    if (takes_.empty() || count_ < takes_.front().required) return std::nullopt;
    return takes_.front().id;
  }
  /// Removes the first take, which was served; the count begins again at 0, and the step goes up by 1.
  void done() {
    takes_.pop_front();
    count_ = 0;
    ++step_;
  }
  /// Removes the first take with this id. Returns false if there is none.
  [[nodiscard]] DISTRIB_DECL auto cancel(std::uint64_t id) -> bool;

  /// Sets the step, to a smaller one too. Returns false if it becomes smaller.
  [[nodiscard]] auto set_step(Step step) noexcept -> bool {
    const bool forward = step >= step_;
    step_ = step;
    return forward;
  }

  [[nodiscard]] auto step() const noexcept -> Step { return step_; }
  [[nodiscard]] auto count() const noexcept -> std::uint64_t { return count_; }
  [[nodiscard]] auto dropped() const noexcept -> std::uint64_t { return dropped_; }
  [[nodiscard]] auto waiting() const noexcept -> std::size_t { return takes_.size(); }

 private:
  struct Take {
    std::uint64_t id;
    std::uint64_t required;
  };

  Step step_ = 0;
  std::uint64_t count_ = 0;
  std::uint64_t dropped_ = 0;
  std::deque<Take> takes_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/tf/detail/impl/take_line.ipp>
#endif
