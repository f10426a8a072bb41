// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/optimizer/averaged_updater.hpp>

#include <distrib/core/shortest_text.hpp>
#include <distrib/optimizer/updater.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// An updater with a moving average in its last slot.
class AveragedUpdater final : public UpdaterModelBase {
 public:
  AveragedUpdater(AnyUpdater updater, MovingAverage average)
      : UpdaterModelBase{with_average(updater.slots())}, updater_{std::move(updater)}, average_{average} {}

  static auto make(AnyUpdater updater, MovingAverage average) -> AnyUpdater {
    return AnyUpdater{std::make_shared<const AveragedUpdater>(std::move(updater), average)};
  }

  [[nodiscard]] auto text() const -> std::string override {
    return "moving_average " + average_.describe() + ' ' + updater_.text();
  }
  [[nodiscard]] auto parse(std::string_view text) const -> std::shared_ptr<const UpdaterModelBase> override {
    auto found = find_averaged(text, [this](std::string_view inner) { return updater_.parse(inner); });
    return found ? found->model_ : nullptr;
  }
  [[nodiscard]] auto updates_every_row() const noexcept -> bool override { return updater_.updates_every_row(); }
  [[nodiscard]] auto scales_rate() const noexcept -> bool override { return updater_.scales_rate(); }
  void check(std::error_code& ec) const override {
    updater_.check(ec);
    if (!ec) average_.check(ec);
  }

  void apply(UpdateStep step, std::span<const float> gradient, std::span<const float> from, std::span<float> to,
             std::span<const std::span<float>> slot_blocks) const override {
    updater_.apply(step, gradient, from, to, slot_blocks.first(slot_blocks.size() - 1));
    average_.update(slot_blocks.back(), to, number_of(step));
  }
  void apply_rows(UpdateStep step, const RowBatch& batch) const override {
    updater_.apply_rows(step, batch);
    const std::size_t at = batch.dim * slots().size();  // the weights, then the slots of the updater
    for (float* const row : batch.rows) average_.update({row + at, batch.dim}, {row, batch.dim}, number_of(step));
  }

 private:
  static auto with_average(std::span<const Slot> slots) -> std::vector<Slot> {
    std::vector<Slot> all{slots.begin(), slots.end()};
    all.push_back({.name = "ExponentialMovingAverage", .begins_as_value = true});
    return all;
  }
  [[nodiscard]] auto number_of(UpdateStep step) const noexcept -> std::optional<std::uint64_t> {
    return average_.warm_up ? std::optional{step.count} : std::nullopt;
  }

  AnyUpdater updater_;
  MovingAverage average_;
};

}  // namespace detail

DISTRIB_DECL auto averaged(AnyUpdater updater, MovingAverage average) -> AnyUpdater {
  return detail::AveragedUpdater::make(std::move(updater), average);
}

DISTRIB_DECL auto find_averaged(std::string_view text,
                                const std::function<std::optional<AnyUpdater>(std::string_view text)>& find)
    -> std::optional<AnyUpdater> {
  std::string_view rest = text;
  if (detail::cut_before(rest, ' ') != "moving_average") return find(text);
  MovingAverage average;
  std::string_view decay = detail::cut_before(rest, ' ');
  detail::cut_before(decay, '=');
  const auto number = detail::parse_shortest<float>(decay);
  if (!number) return std::nullopt;
  average.decay = *number;
  average.warm_up = rest.starts_with("warm_up=");
  if (average.warm_up) detail::cut_before(rest, ' ');
  std::error_code ec;
  average.check(ec);
  if (ec || rest.starts_with("moving_average ")) return std::nullopt;
  auto updater = find(rest);
  if (!updater) return std::nullopt;
  AnyUpdater found = averaged(*std::move(updater), average);
  return found.text() == text ? std::optional{std::move(found)} : std::nullopt;
}

}  // namespace v0
}  // namespace distrib
