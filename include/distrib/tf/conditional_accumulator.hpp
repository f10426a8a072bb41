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

/// What an accumulator computes from all gradients that are counted when a take is served.
enum class Reduction : std::uint8_t {
  mean,  ///< Their sum divided by their number. The default, as in TensorFlow.
  sum,
};

/// Action: a take is complete.
struct GradientTaken {
  std::uint64_t take = 0;  ///< The id of the take.
  Step step = 0;  ///< The accumulator's step after this take.
  std::uint64_t count = 0;  ///< Number of gradients in the mean or sum: as many as were required, or more.
  std::span<const float> values;  ///< The mean or sum. Valid until the accumulator's next event.
};

namespace detail {

/// What adds up the gradients of an accumulator. Semantics: `check(gradient, first)` returns why a gradient cannot be
/// counted; `first`: it is the first one after a take. `add(gradient, first)` adds a gradient that can be counted.
/// `reduce(count)` returns the result for a take of `count` gradients, valid until the next `add`. `describe(gradient)`
/// describes a gradient in an error text.
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

/// Adds up gradients that are not stale, and returns their mean or sum when there are enough.
///
/// | event | effect |
/// |---|---|
/// | `apply(local_step, g)`, local_step >= the accumulator's step | g is added and counted |
/// | the same, local_step below it | g is dropped; `dropped()` counts it |
/// | `take(id, k)` | when k gradients are counted: `Sum::Taken` with all; the count becomes 0, the step goes up by 1 |
/// | `set_global_step(s)` | the step is s |
///
/// Takes are served in the order of the calls, even if a later take needs fewer gradients. A complete take is reported
/// by a call of `out(Sum::Taken)` inside the event that completed it; `out` must not call the accumulator. Gradients
/// are added in the order in which they arrive, each addition rounded to float, so bits depend on that order; a job
/// that must repeat its bits uses `BulkSynchronousParallel`.
///
/// Threads: one at a time.
template <detail::GradientSum Sum> class BasicConditionalAccumulator {
 public:
  using Gradient = typename Sum::Gradient;

  /// Starts without gradients, at step 0. `sum`: adds the gradients up.
  explicit BasicConditionalAccumulator(Sum sum) : sum_{std::move(sum)} {}

  /// Returns true if the gradient counts, false if it is stale. A stale gradient is dropped without a check. If
  /// `Sum::check` fails, sets `ec` to its error and returns false; the gradient does not count then.
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
  /// This overload throws the error as `std::system_error`.
  auto apply(Step local_step, Gradient gradient, auto& out) -> bool {
    std::error_code ec;
    const bool counts = apply(local_step, gradient, out, ec);
    if (ec) throw_error(ec, Sum::describe(gradient));
    return counts;
  }

  /// Asks for the mean or sum of at least `required` gradients. If no other take waits and so many gradients are
  /// counted, calls `out(Sum::Taken)` before it returns. Otherwise the take waits until an `apply` or a `cancel`
  /// completes it, which then calls the `out` that was passed to that function: no `out` is kept. The caller chooses
  /// the ids; they need not be different, but `cancel` withdraws the first take with an id.
  ///
  /// Errors: sets `ec` to `ps_errc::not_positive` if `required` is below 1; then nothing has changed. Success clears
  /// `ec`.
  void take(std::uint64_t id, std::int64_t required, auto& out, std::error_code& ec) {
    line_.wait(id, required, ec);
    if (!ec) serve(out);
  }
  /// This overload throws the error as `std::system_error`.
  void take(std::uint64_t id, std::int64_t required, auto& out) {
    std::error_code ec;
    take(id, required, out, ec);
    if (ec) throw_error(ec, "num_required, " + std::to_string(required));
  }

  /// Withdraws a take that waits; this may complete the next take. Returns false if no take with this id waits.
  auto cancel(std::uint64_t id, auto& out) -> bool {
    const bool waited = line_.cancel(id);
    serve(out);
    return waited;
  }

  /// Sets the step, to a smaller one too. Returns false if it becomes smaller, for which TensorFlow prints a warning.
  /// Counted gradients stay counted.
  auto set_global_step(Step step) noexcept -> bool { return line_.set_step(step); }

  /// Returns the step: a gradient with a smaller local step is stale.
  [[nodiscard]] auto global_step() const noexcept -> Step { return line_.step(); }
  /// Number of gradients counted since the last take.
  [[nodiscard]] auto count() const noexcept -> std::uint64_t { return line_.count(); }
  /// Number of stale gradients so far.
  [[nodiscard]] auto dropped() const noexcept -> std::uint64_t { return line_.dropped(); }
  /// Number of takes that wait.
  [[nodiscard]] auto waiting() const noexcept -> std::size_t { return line_.waiting(); }

 private:
  void serve(auto& out) {
    // one take at most: after it the count is 0, so the next take needs another gradient
    const auto take = line_.ready();
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

/// TensorFlow's ConditionalAccumulator of dense gradients. `apply` fails with `ps_errc::shape_mismatch` if the gradient
/// does not have `elements` elements or, if that is empty, the size of the first gradient counted after a take. Memory:
/// one gradient.
class ConditionalAccumulator : public BasicConditionalAccumulator<detail::DenseSum> {
 public:
  /// `elements`: size of each gradient. Empty: the first gradient counted after a take decides.
  explicit ConditionalAccumulator(std::optional<std::size_t> elements = {}, Reduction reduction = Reduction::mean)
      : BasicConditionalAccumulator{detail::DenseSum{elements, reduction}} {}
};

}  // namespace v0
}  // namespace distrib
