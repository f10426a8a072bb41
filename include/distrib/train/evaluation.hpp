// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/runtime_variables.hpp>
#include <distrib/example/batch.hpp>
#include <distrib/ps/store/key_lists.hpp>
#include <distrib/tensor/lookups.hpp>
#include <distrib/tensor/runtime_values.hpp>
#include <distrib/tensor/values.hpp>
#include <distrib/train/any_model.hpp>
#include <distrib/train/metrics.hpp>
#include <distrib/train/model.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Measures a model on each example of a source once, in order. If the model has tables, the measurement needs the rows
/// of all keys that these examples look up: `keys()`. The constructor finds them by reading the source once.
///
/// Threads: const members from any thread, each call with values of its own. Lifetime: the model must outlive it.
template <detail::EvaluatedModel M, class Source> class Evaluation final : public AnyEvaluation {
  using Variables = typename M::Variables;

 public:
  /// `variables`: what the model returns.
  Evaluation(const M& model, RuntimeVariables variables, Source source)
      : model_{model}, variables_{std::move(variables)}, source_{std::move(source)} {
    if constexpr (detail::HasLookups<M>)
      if (num_tables() != 0) find_keys();
  }

  /// Returns for each table the keys whose rows are needed, in ascending order. Empty if the model has no tables.
  [[nodiscard]] auto keys() const noexcept -> const KeyLists& override { return keys_; }

  /// Measures the model. `values`: the values of the model's variables, and for each table the rows of `keys()` in that
  /// order. Throws what the model or the data throw; `values` is then left moved-from.
  [[nodiscard]] auto operator()(RuntimeValues& values) const -> Metrics override {
    Values<Variables> named{std::move(values)};
    Metrics metrics;
    LookedUp rows{Lookups<Variables>{variables_}, std::vector<std::vector<std::int64_t>>(num_tables())};
    Batch<typename M::Example> batch;
    for (std::uint64_t i = 0; i < source_.in_order_batches(); ++i) {
      source_.fill_in_order(i, batch);
      if constexpr (detail::HasLookups<M>) look_up(batch, rows, named);
      metrics.merge(model_.evaluate(std::as_const(batch), std::as_const(named)));
    }
    // The index lists point into `rows`, which is destroyed here.
    for (std::size_t table = 0; table < num_tables(); ++table) named.set_index(table, {});
    values = std::move(named);
    return metrics;
  }

 private:
  // The keys that the model looks up in one batch, and for each table the numbers of their rows.
  struct LookedUp {
    Lookups<Variables> lookups;
    std::vector<std::vector<std::int64_t>> index;
  };

  void find_keys() {
    keys_.resize(num_tables());
    Batch<typename M::Example> batch;
    Lookups<Variables> lookups{variables_};
    for (std::uint64_t i = 0; i < source_.in_order_batches(); ++i) {
      source_.fill_in_order(i, batch);
      lookups.clear();
      model_.lookups(std::as_const(batch), lookups);
      for (std::size_t table = 0; table < num_tables(); ++table) {
        std::vector<std::uint64_t>& all = keys_[table];
        const std::span<const std::uint64_t> more = lookups.lists()[table];
        // Remove repeated keys before the list has to allocate more memory.
        if (all.size() + more.size() > all.capacity()) remove_repeats(all);
        all.insert(all.end(), more.begin(), more.end());
      }
    }
    for (std::vector<std::uint64_t>& all : keys_) remove_repeats(all);
  }

  static void remove_repeats(std::vector<std::uint64_t>& keys) {
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  }

  void look_up(const Batch<typename M::Example>& batch, LookedUp& rows, Values<Variables>& values) const {
    if (num_tables() == 0) return;
    rows.lookups.clear();
    model_.lookups(batch, rows.lookups);
    for (std::size_t table = 0; table < num_tables(); ++table) {
      const std::vector<std::uint64_t>& keys = keys_[table];
      std::vector<std::int64_t>& index = rows.index[table];
      index.clear();
      for (const std::uint64_t key : rows.lookups.lists()[table])
        index.push_back(std::lower_bound(keys.begin(), keys.end(), key) - keys.begin());
      values.set_index(table, index);
    }
  }

  [[nodiscard]] auto num_tables() const noexcept -> std::size_t { return variables_.table_infos().size(); }

  const M& model_;
  RuntimeVariables variables_;
  Source source_;
  KeyLists keys_;
};

}  // namespace v0
}  // namespace distrib
