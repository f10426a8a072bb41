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

/// What accumulators have in common: their step, how many gradients are counted, and takes that wait in line.
class TakeLine {
 public:
  /// Whether a gradient of this step counts; one that does not is counted as dropped.
  [[nodiscard]] auto accepts(Step local_step) noexcept -> bool {
    if (local_step >= step_) return true;
    ++dropped_;
    return false;
  }
  void counted() noexcept { ++count_; }

  /// A take of at least `required` gradients comes last in line. Fails with `ps_errc::not_positive`.
  void wait(std::uint64_t id, std::int64_t required, std::error_code& ec) {
    ec.clear();
    if (required > 0) takes_.push_back({id, static_cast<std::uint64_t>(required)});
    else ec = ps_errc::not_positive;
  }
  /// The first take in line, when it has enough; `done` is then to be called.
  [[nodiscard]] auto ready() const -> std::optional<std::uint64_t> {
    if (takes_.empty() || count_ < takes_.front().required) return std::nullopt;
    return takes_.front().id;
  }
  /// The first take was served.
  void done() {
    takes_.pop_front();
    count_ = 0;
    ++step_;
  }
  [[nodiscard]] DISTRIB_DECL auto cancel(std::uint64_t id) -> bool;

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
