// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/shortest_text.hpp>
#include <distrib/optimizer/updater.hpp>

#include <concepts>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// The functions that `AnyUpdater` calls on an updater of any type.
class UpdaterModelBase {
 public:
  explicit UpdaterModelBase(std::vector<Slot> slots) : slots_{std::move(slots)} {}
  virtual ~UpdaterModelBase() = default;
  [[nodiscard]] auto slots() const noexcept -> const std::vector<Slot>& { return slots_; }
  [[nodiscard]] virtual auto text() const -> std::string = 0;
  [[nodiscard]] virtual auto parse(std::string_view text) const -> std::shared_ptr<const UpdaterModelBase> = 0;
  [[nodiscard]] virtual auto updates_every_row() const noexcept -> bool = 0;
  [[nodiscard]] virtual auto scales_rate() const noexcept -> bool = 0;
  virtual void check(std::error_code& ec) const = 0;
  virtual void apply(UpdateStep step, std::span<const float> gradient, std::span<const float> from, std::span<float> to,
                     std::span<const std::span<float>> slot_blocks) const = 0;
  virtual void apply_rows(UpdateStep step, const RowBatch& batch) const = 0;

 private:
  std::vector<Slot> slots_;
};

/// Returns the updater of type U that `text` ("NAME HYPER-PARAMETERS") describes. Empty if the text has another name or
/// cannot be read, or if the updater cannot be trained with (`check_updater`).
template <Updater U> [[nodiscard]] auto parse_updater(std::string_view text) -> std::optional<U> {
  if (cut_before(text, ' ') != std::string_view{U::name}) return std::nullopt;
  std::optional<U> updater = U::parse(text);
  // If `parse` ignored a field, training would use other numbers than the job says.
  if (!updater || updater->describe() != text) return std::nullopt;
  std::error_code ec;
  check_updater(*updater, ec);
  return ec ? std::nullopt : updater;
}

template <Updater U> class UpdaterModel final : public UpdaterModelBase {
 public:
  explicit UpdaterModel(U updater) : UpdaterModelBase{slots_of(updater)}, updater_{std::move(updater)} {}
  [[nodiscard]] auto text() const -> std::string override { return std::string{U::name} + ' ' + updater_.describe(); }
  [[nodiscard]] auto parse(std::string_view text) const -> std::shared_ptr<const UpdaterModelBase> override {
    const auto parsed = parse_updater<U>(text);
    return parsed ? std::make_shared<const UpdaterModel>(*parsed) : nullptr;
  }
  [[nodiscard]] auto updates_every_row() const noexcept -> bool override { return detail::updates_every_row<U>; }
  [[nodiscard]] auto scales_rate() const noexcept -> bool override { return detail::scales_rate<U>; }
  void check(std::error_code& ec) const override { check_updater(updater_, ec); }
  void apply(UpdateStep step, std::span<const float> gradient, std::span<const float> from, std::span<float> to,
             std::span<const std::span<float>> slot_blocks) const override {
    updater_.apply(step, gradient, from, to, slot_blocks);
  }
  void apply_rows(UpdateStep step, const RowBatch& batch) const override { detail::apply_rows(updater_, step, batch); }

 private:
  static auto slots_of(const U& updater) -> std::vector<Slot> {
    const auto slots = updater.slots();
    return {slots.begin(), slots.end()};
  }
  U updater_;
};

class AveragedUpdater;

}  // namespace detail

/// An updater whose type is known only when the program runs, because a job names it by text. A value that never
/// changes; copies share the updater.
///
/// Threads: any.
class AnyUpdater {
 public:
  /// Implicit on purpose: every updater can be an `AnyUpdater`.
  template <class U>
    requires(!std::same_as<U, AnyUpdater> && Updater<U>)
  AnyUpdater(U updater)  // NOLINT
      : model_{std::make_shared<const detail::UpdaterModel<U>>(std::move(updater))} {}

  /// Returns "NAME HYPER-PARAMETERS", as in a job's description.
  [[nodiscard]] auto text() const -> std::string { return model_->text(); }

  /// Returns the updater of the same type that `text` describes. Empty: the text describes no such updater, or one that
  /// cannot be trained with.
  [[nodiscard]] auto parse(std::string_view text) const -> std::optional<AnyUpdater> {
    auto model = model_->parse(text);
    return model == nullptr ? std::nullopt : std::optional{AnyUpdater{std::move(model)}};
  }

  /// Returns the values that the updater keeps beside each variable. Valid as long as this object or a copy of it.
  [[nodiscard]] auto slots() const noexcept -> std::span<const Slot> { return model_->slots(); }

  /// True if a step changes all rows of a table, see `Updater`.
  [[nodiscard]] auto updates_every_row() const noexcept -> bool { return model_->updates_every_row(); }

  /// True if it multiplies its learning rate by `UpdateStep::rate_factor`, see `Updater`.
  [[nodiscard]] auto scales_rate() const noexcept -> bool { return model_->scales_rate(); }

  /// Checks that the updater can be trained with, see `Updater`: sets `ec` to an `optimizer_errc` if it cannot.
  void check(std::error_code& ec) const { model_->check(ec); }

  /// Updates a block, see `Updater`.
  void apply(UpdateStep step, std::span<const float> gradient, std::span<const float> from, std::span<float> to,
             std::span<const std::span<float>> slot_blocks) const {
    model_->apply(step, gradient, from, to, slot_blocks);
  }
  void apply_rows(UpdateStep step, const RowBatch& batch) const { model_->apply_rows(step, batch); }

 private:
  friend class detail::AveragedUpdater;

  explicit AnyUpdater(std::shared_ptr<const detail::UpdaterModelBase> model) : model_{std::move(model)} {}

  std::shared_ptr<const detail::UpdaterModelBase> model_;
};

}  // namespace v0
}  // namespace distrib
