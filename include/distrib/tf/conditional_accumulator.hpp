// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/ps/rows/row_math.hpp>
#include <distrib/tf/detail/take_line.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What an accumulator gives for all gradients that are counted when it is taken from.
enum class Reduction : std::uint8_t {
  mean,  ///< Their sum divided by their number. The default, as in TensorFlow.
  sum,
};

/// A take is complete.
struct GradientTaken {
  std::uint64_t take = 0;         ///< Which: the id it was asked for with.
  Step step = 0;                  ///< The accumulator's step from now on.
  std::uint64_t count = 0;  ///< Of how many gradients this is the mean or sum: as many as were required, or more.
  std::span<const float> values;  ///< Valid until the accumulator's next event.
};

namespace detail {

/// What adds up the gradients of an accumulator. Semantics: `check(gradient, first)` tells why a gradient cannot be
/// counted, the `first` after a take or another one; `add` adds one that can; `reduce(count)` gives what a take gets of
/// `count` gradients, valid until the next `add`; `describe(gradient)` names one in an error.
template <class S>
concept GradientSum =
    requires(S& sum, const S& before, typename S::Gradient gradient, bool first, std::uint64_t count) {
      { before.check(gradient, first) } -> std::same_as<std::error_code>;
      sum.add(gradient, first);
      typename S::Taken;
      sum.reduce(count);
      { S::describe(gradient) } -> std::same_as<std::string>;
    };

}  // namespace detail

/// Adds gradients that are not stale, and gives what they make once there are enough.
///
/// | event | what follows |
/// |---|---|
/// | `apply(local_step, g)`, local_step >= the accumulator's step | g is added and counted |
/// | the same, local_step below it | g is dropped; `dropped()` says how many were |
/// | `take(id, k)` | waits until k are counted: `Sum::Taken` of all; count 0 again, the step goes up by 1 |
/// | `set_global_step(s)` | the step is s |
///
/// Takes are served in the order in which they came, also when a later one needs less. Events in, actions out: a
/// complete take is told by a call of `out(Sum::Taken)` within the event that completed it; `out` must not call the
/// accumulator. Gradients are added in the order in which they come, each addition rounded to float, so bits depend on
/// that order; a job that must repeat its bits uses `BulkSynchronousParallel`. Threads: one at a time.
template <detail::GradientSum Sum> class BasicConditionalAccumulator {
 public:
  using Gradient = typename Sum::Gradient;

  explicit BasicConditionalAccumulator(Sum sum) : sum_{std::move(sum)} {}

  /// True: it counts. False: it is stale. Fails with what `Sum::check` says, and is then not counted; a stale one is not
  /// looked at.
  auto apply(Step local_step, Gradient gradient, auto& out, std::error_code& ec) -> bool {
    ec.clear();
    if (!line_.accepts(local_step)) return false;
    const bool first = line_.count() == 0;
    ec = sum_.check(gradient, first);
    if (ec) return false;
    sum_.add(gradient, first);
    line_.counted();
    serve(out);
    return true;
  }
  auto apply(Step local_step, Gradient gradient, auto& out) -> bool {
    std::error_code ec;
    const bool counts = apply(local_step, gradient, out, ec);
    if (ec) throw_error(ec, Sum::describe(gradient));
    return counts;
  }

  /// Asks for what at least `required` gradients make. Fails with `ps_errc::not_positive`. The ids of takes that wait
  /// are the caller's matter; `cancel` takes the first of one id.
  void take(std::uint64_t id, std::int64_t required, auto& out, std::error_code& ec) {
    line_.wait(id, required, ec);
    if (!ec) serve(out);
  }
  void take(std::uint64_t id, std::int64_t required, auto& out) {
    std::error_code ec;
    take(id, required, out, ec);
    if (ec) throw_error(ec, "num_required, " + std::to_string(required));
  }

  /// Takes back a take that waits; the next in line may be complete then. False: it does not wait (any more).
  auto cancel(std::uint64_t id, auto& out) -> bool {
    const bool waited = line_.cancel(id);
    serve(out);
    return waited;
  }

  /// False: the step went backwards, of which TensorFlow warns. What is counted stays counted.
  auto set_global_step(Step step) noexcept -> bool { return line_.set_step(step); }

  [[nodiscard]] auto global_step() const noexcept -> Step { return line_.step(); }
  /// Gradients counted since the last take.
  [[nodiscard]] auto count() const noexcept -> std::uint64_t { return line_.count(); }
  /// Stale gradients since the beginning.
  [[nodiscard]] auto dropped() const noexcept -> std::uint64_t { return line_.dropped(); }
  /// Takes that wait.
  [[nodiscard]] auto waiting() const noexcept -> std::size_t { return line_.waiting(); }

 private:
  void serve(auto& out) {
    const auto take = line_.ready();  // the next in line needs one more at least: the count is 0 after this
    if (!take) return;
    const std::uint64_t count = line_.count();
    const auto reduced = sum_.reduce(count);
    line_.done();
    out(typename Sum::Taken{*take, line_.step(), count, reduced});
  }

  Sum sum_;
  detail::TakeLine line_;
};

namespace detail {

/// The sum of dense gradients.
class DenseSum {
 public:
  using Gradient = std::span<const float>;
  using Taken = GradientTaken;

  DenseSum(std::optional<std::size_t> elements, Reduction reduction) : elements_{elements}, reduction_{reduction} {}

  [[nodiscard]] auto check(Gradient gradient, bool first) const -> std::error_code {
    const std::size_t size = first ? elements_.value_or(gradient.size()) : sum_.size();
    return gradient.size() == size ? std::error_code{} : ps_errc::shape_mismatch;
  }

  void add(Gradient gradient, bool first) {
    if (first) sum_.assign(gradient.begin(), gradient.end());
    else add_row(sum_.data(), gradient.data(), sum_.size());
  }

  [[nodiscard]] auto reduce(std::uint64_t count) noexcept -> std::span<const float> {
    if (reduction_ == Reduction::mean) divide_row(sum_.data(), static_cast<float>(count), sum_.size());
    return sum_;
  }

  [[nodiscard]] static auto describe(Gradient gradient) -> std::string {
    return "a gradient of " + std::to_string(gradient.size()) + " elements";
  }

 private:
  std::optional<std::size_t> elements_;
  Reduction reduction_;
  std::vector<float> sum_;
};

}  // namespace detail

/// TensorFlow's ConditionalAccumulator, of dense gradients. Fails with `ps_errc::shape_mismatch`. Memory: one gradient.
class ConditionalAccumulator : public BasicConditionalAccumulator<detail::DenseSum> {
 public:
  /// Of gradients of `elements`; without them the first gradient counted after a take says how many.
  explicit ConditionalAccumulator(std::optional<std::size_t> elements = {}, Reduction reduction = Reduction::mean)
      : BasicConditionalAccumulator{detail::DenseSum{elements, reduction}} {}
};

}  // namespace v0
}  // namespace distrib
