// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/example/batch.hpp>
#include <distrib/ps/job.hpp>
#include <distrib/ps/shard_layout.hpp>
#include <distrib/tensor/values.hpp>
#include <distrib/train/metrics.hpp>
#include <distrib/train/model.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace distrib::inline v0 {

/// Puts the blocks of all shards together to whole variables.
template <class Variables>
void assemble(std::span<const ShardLayout> layouts, std::span<const SharedBuffer> blocks, Values<Variables>& values) {
  for (std::size_t shard = 0; shard < layouts.size(); ++shard)
    spread(layouts[shard], blocks[shard]->data(), [&values](std::size_t v) { return values.data(v); });
}

/// Makes contributions with a model: reads the batch of (step, rank), asks the model for gradients, cuts them into the
/// shards' blocks. Each rank has its own scratch memory, so different ranks may be made at once, one rank not.
/// Lifetime: model, source, job and layouts must outlive it.
template <Model M, class Source>
class Contributor {
 public:
  Contributor(const M& model, const Source& source, const Job& job, std::span<const ShardLayout> layouts)
      : model_{model}, source_{source}, layouts_{layouts}, seed_{job.seed}, ranks_{job.ranks} {
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) scratch_.push_back(std::make_unique<Scratch>(model));
  }

  /// Reads the batch of (step, rank) ahead of its contribution, while somebody waits for values. What the data
  /// throw comes out here or there.
  void prepare(Rank rank, Step step) {
    Scratch& mine = *scratch_[rank];
    const std::uint64_t number = (step - 1) * ranks_ + rank;
    if (mine.number == number) return;
    mine.number.reset();
    source_.fill(number, mine.batch);
    mine.number = number;
  }

  /// Returns the loss. The batch of (step, rank) is batch number (step - 1) * ranks + rank of the source.
  auto operator()(Rank rank, Step step, std::span<const SharedBuffer> values,
                  std::span<const std::shared_ptr<AlignedBuffer>> gradients) -> float {
    Scratch& mine = *scratch_[rank];
    prepare(rank, step);
    assemble<Variables>(layouts_, values, mine.values);
    mine.gradients.zero();
    const float loss = gradients_of(mine, step, rank);
    for (std::size_t shard = 0; shard < layouts_.size(); ++shard)
      gather(layouts_[shard], [&mine](std::size_t v) { return std::as_const(mine.gradients).data(v); },
             gradients[shard]->data());
    return loss;
  }

 private:
  using Variables = typename M::Variables;
  struct Scratch {
    explicit Scratch(const M& model) : values{model.variables()}, gradients{model.variables()} {}
    std::optional<std::uint64_t> number;  // of the batch
    Batch<typename M::Example> batch;
    Values<Variables> values;
    Gradients<Variables> gradients;
  };

  // What a model throws comes out nested in an error that tells which contribution it was.
  auto gradients_of(Scratch& mine, Step step, Rank rank) const -> float {
    try {
      return model_.gradients(mine.batch, std::as_const(mine.values), mine.gradients,
                              StepContext{step, rank, ranks_, seed_});
    } catch (const std::exception& error) {
      std::throw_with_nested(std::runtime_error("step " + std::to_string(step) + " of worker " + std::to_string(rank) +
                                                " (batch " + std::to_string((step - 1) * ranks_ + rank) +
                                                "): " + error.what()));
    }
  }

  const M& model_;
  const Source& source_;
  std::span<const ShardLayout> layouts_;
  std::uint64_t seed_;
  Rank ranks_;
  std::vector<std::unique_ptr<Scratch>> scratch_;
};

/// Measures a model on each example of `source` once, in order.
template <EvaluatedModel M, class Source>
[[nodiscard]] auto evaluate(const M& model, const Source& source, const Values<typename M::Variables>& values)
    -> Metrics {
  Metrics metrics;
  Batch<typename M::Example> batch;
  for (std::uint64_t i = 0; i < source.in_order_batches(); ++i) {
    source.fill_in_order(i, batch);
    metrics.merge(model.evaluate(std::as_const(batch), values));
  }
  return metrics;
}

}  // namespace distrib::inline v0
