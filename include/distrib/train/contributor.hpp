// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/runtime_variables.hpp>
#include <distrib/data/batch_source.hpp>
#include <distrib/example/batch.hpp>
#include <distrib/optimizer/any_updater.hpp>
#include <distrib/ps/job/gradient_rounding.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/protocol/batch_keys.hpp>
#include <distrib/ps/protocol/worker_action.hpp>
#include <distrib/ps/store/gradient_block.hpp>
#include <distrib/ps/store/key_lists.hpp>
#include <distrib/ps/store/pull_rows.hpp>
#include <distrib/ps/store/table_digest.hpp>
#include <distrib/ps/store/wire_block.hpp>
#include <distrib/tensor/lookups.hpp>
#include <distrib/tensor/runtime_values.hpp>
#include <distrib/tensor/values.hpp>
#include <distrib/train/any_model.hpp>
#include <distrib/train/feed_fn.hpp>
#include <distrib/train/job/accumulate_gradients.hpp>
#include <distrib/train/job/clip_gradients.hpp>
#include <distrib/train/job/local_round.hpp>
#include <distrib/train/metrics.hpp>
#include <distrib/train/model.hpp>
#include <distrib/train/model_updaters.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Computes contributions with a model: reads the batches of (step, rank), asks the model which rows of its tables they
/// need, asks it for the gradients, and divides their mean into the blocks of the shards. In a job with local steps it
/// updates a copy of the values with these gradients, batch by batch, and divides what that has changed.
///
/// Threads: several at once, but only one for each rank: each rank has its own scratch memory, which is allocated when
/// the rank is first used. So a worker of a cluster has memory for its own rank only, however many ranks the job has.
/// Lifetime: `model`, `source`, `job` and `layouts` must outlive it. `feeds`: extra input of the model, see `FeedFn`.
template <Model M, class Source> class Contributor final : public AnyContributor {
  using Variables = typename M::Variables;

 public:
  /// Measures a batch before it is trained on: see `ProgressiveValidation`.
  using Evaluate = std::function<Metrics(const M&, const Batch<typename M::Example>&, const Values<Variables>&)>;

  /// `of_model`: the updaters that the model brings. `feeds`: extra input of the model, see `FeedFn`. `local_updater`:
  /// makes the local steps; needed if the job has any.
  Contributor(const M& model, const Source& source, const Job& job, std::span<const ShardLayout> layouts,
              const ModelUpdaters& of_model = {}, std::vector<FeedFn> feeds = {}, Evaluate evaluate = {},
              const std::optional<AnyUpdater>& local_updater = {})
      : model_{model},
        source_{source},
        job_{job},
        layouts_{layouts},
        not_clipped_{updated_by_model(job, of_model)},
        feeds_{std::move(feeds)},
        evaluate_{std::move(evaluate)},
        ranks_(job.rank_names()) {
    if (job.local_steps != 0) local_updaters_ = local_updaters(job, of_model, local_updater.value());
  }

  /// Reads the batches of (step, rank) before their contribution is computed, while the values are on their way. In a job
  /// with tables, the batch of `step + 1` may be prepared before the contribution of `step` is computed. Returns the
  /// rows that are needed, one request per shard; an empty list without tables. `others`: keys whose rows are wanted in
  /// addition, and do not get a gradient. Trap: if the step is prepared already, nothing is done, and the requests
  /// remain those of the first call, with the `others` of that call. In a job with local steps only the batch of the
  /// first of them is read.
  ///
  /// In a job whose ranks change the batches are those that follow from the last `set_number` of the rank, if its ranks
  /// stay; if they do not, `operator()` reads others.
  ///
  /// For the step after the last one of the rank no batch is read: the request is for the rows of `others` and the
  /// digests of the tables, made anew by each call. For later steps the result is an empty list. In an asynchronous job
  /// whose ranks change the last one is that with the last number below `Job::total_steps`.
  ///
  /// Errors: throws what the data and the model's `lookups()` throw, and `ps_errc::no_such_row` if a lookup, or a key
  /// in `others`, names a row that a table with `rows` does not have.
  auto prepare(Rank rank, Step step, const KeyLists& others = {}) -> std::vector<WantedRows> override {
    const bool is_beyond = !makes(step, rank);
    if (is_beyond && (!has_tables() || !makes(step - 1, rank))) return {};
    Ahead& ahead = of(rank).ahead(step);
    const std::uint64_t first = is_beyond ? 0 : first_batch(first_local(step), rank);
    if (is_beyond || ahead.step != step || ahead.first != first) {
      ahead.step = 0;  // until the rest has succeeded
      if (is_beyond) ahead.keys.find({}, others, true);
      else read(rank, first_local(step), others, ahead);
      ahead.step = step;
      ahead.first = first;
    }
    return has_tables() ? ahead.keys.wanted() : std::vector<WantedRows>{};
  }

  /// Returns the request to each shard, for a step that was prepared.
  [[nodiscard]] auto requests(Rank rank, Step step) const -> std::span<const PullRows> override {
    return of(rank).ahead(step).keys.requests();
  }

  /// Returns the digest of each table. `blocks`: the values that arrived for `step`, the step after the rank's last
  /// one; `prepare` of that step has asked for the digests.
  [[nodiscard]] auto digests(Rank rank, Step step, std::span<const SharedBuffer> blocks) const
      -> std::vector<TableDigest> override {
    std::vector<TableDigest> digests;
    for (std::size_t table = 0; table < job_.tables.size(); ++table)
      digests.push_back(of(rank).ahead(step).keys.digest(blocks, table));
    return digests;
  }

  /// Computes the contribution (step, rank): reads `values` and writes `gradients`, one block per shard each. Returns
  /// the loss. With n = `Job::gradient_accumulation`, its batches are the n batches of the source from number
  /// ((step - 1) * ranks + rank) * n on; see `set_number` for a job whose ranks change. Reads them unless `prepare` has
  /// done so. Throws what `prepare` throws; what the model's `gradients()` throws is nested in a `std::runtime_error`
  /// that names step, rank and batch.
  ///
  /// With H = `Job::local_steps`, the contribution of step s consists of the local steps (s - 1) * H + 1 to s * H. Each
  /// has the batches that the step of its number has in a job without local steps; the model, `FeedFn` and errors see
  /// that number. The result is the mean of the losses.
  auto operator()(Rank rank, Step step, std::span<const SharedBuffer> values,
                  std::span<const std::shared_ptr<AlignedBuffer>> gradients) -> float override {
    prepare(rank, step);
    OfRank& mine = of(rank);
    const Ahead& ahead = mine.ahead(step);
    if (has_tables())
      for (std::size_t shard = 0; shard < layouts_.size(); ++shard) ahead.keys.begin(shard, *gradients[shard]);
    // If a variable is neither divided nor rounded on its way, the model works directly on the received and sent
    // blocks.
    for_each_entry([&](std::size_t shard, const auto& layout, const auto& entry) {
      const std::size_t v = entry.variable;
      if (!entry.travels_whole) return spread_received(layout, entry, values[shard]->data(), mine.values.data(v));
      mine.values.lend(v, values[shard]->data() + wire_offset(layout, entry));
      mine.gradients.lend(v, gradients[shard]->data() + gradient_offset(layout, entry));
    });
    for (std::size_t table = 0; table < job_.tables.size(); ++table) {
      const std::size_t dim = job_.tables[table].dim;
      mine.values.rows(table).resize(ahead.keys.rows(table), dim);
      mine.gradients.rows(table).resize(ahead.keys.rows(table), dim);
      if (mine.more) mine.more->rows(table).resize(ahead.keys.rows(table), dim);
      ahead.keys.collect(values, table, mine.values.rows(table).data());
    }
    mine.metrics = {};
    const float loss = mine.round ? local_steps(mine, step, rank) : clipped_gradients(mine, ahead, step, rank);
    const GradientRounding rounding{job_.seed, step, rank};
    for_each_entry([&](std::size_t shard, const auto& layout, const auto& entry) {
      if (!entry.travels_whole)
        gather_gradient(layout, entry, rounding, std::as_const(mine.gradients).data(entry.variable),
                        gradients[shard]->data());
    });
    for (std::size_t table = 0; table < job_.tables.size(); ++table)
      ahead.keys.deal_gradients(gradients, table, std::as_const(mine.gradients).rows(table).data(), rounding);
    return loss;
  }

  /// In a job whose ranks change (`Job::most_ranks`): the ranks of `entry` make `step`, and the contribution (step, rank)
  /// has this number (`RankLog::number_of`), so its batches begin with number * n. With H local steps the contributions
  /// before the step have the first batches, H times as many as they are; and then each local step has one batch for
  /// each rank, in the order of the ranks. To be called before the contribution is computed, on the same thread.
  void set_number(Rank rank, Step step, const RankEntry& entry, std::uint64_t number) override {
    const Rank place = entry.place_of(rank);
    of(rank).numbers = {step, number - place, place, entry.ranks.size()};
  }

  /// Returns the norm of the rank's last gradient before it was clipped, in a job with local steps that of the last one;
  /// NaN if the job does not clip by norm. To be called by the thread that computed the contribution, or when it has
  /// finished.
  [[nodiscard]] auto gradient_norm(Rank rank) const -> float override { return of(rank).norm; }

  /// Returns how long reading and decoding batches has taken since this object was made, of all ranks together. May be
  /// called by any thread.
  [[nodiscard]] auto reading() const noexcept -> std::chrono::nanoseconds override {
    return std::chrono::nanoseconds{reading_};
  }

  /// Sets what is asked between two local steps, on the thread that makes them. If it returns false, the contribution is
  /// not made: `RoundLeft` is thrown. Empty: nothing is asked.
  void ask_between(std::function<bool()> go_on) override { go_on_ = std::move(go_on); }

  /// Copies the rows of `others`, which `prepare` of this step has asked for, from the values that arrived for this
  /// step into `to`. Returns false if the step is not prepared, or if no rows of `others` were asked for. Must be
  /// called before `prepare` replaces this step: in a job with tables `prepare` of step + 2 does so.
  auto take_others(Rank rank, Step step, std::span<const SharedBuffer> blocks, RuntimeValues& to) -> bool override {
    Ahead& ahead = of(rank).ahead(step);
    if (ahead.step != step) return false;
    bool any = false;
    std::vector<float> rows;
    for (std::size_t table = 0; table < job_.tables.size(); ++table) {
      const std::span<const std::int64_t> index = ahead.keys.index_of_others(table);
      const std::size_t dim = job_.tables[table].dim;
      any = any || !index.empty();
      rows.resize(ahead.keys.rows(table) * dim);
      ahead.keys.collect(blocks, table, rows.data());
      to.rows(table).resize(index.size(), dim);
      for (std::size_t i = 0; i < index.size(); ++i)
        std::copy_n(rows.data() + static_cast<std::size_t>(index[i]) * dim, dim, to.rows(table).data() + i * dim);
    }
    return any;
  }

  /// From now on measures batches with `evaluate` before they are trained on. Does nothing without `evaluate`.
  void validate() override { validates_ = static_cast<bool>(evaluate_); }

  /// Returns the metrics of the batches of the rank's last contribution, as they were before they were trained on; empty
  /// before `validate()`. To be called as `gradient_norm`.
  [[nodiscard]] auto validated(Rank rank) const -> Metrics override { return of(rank).metrics; }

  /// False if `prepare` of this step, and so the contribution, would have to wait for records: see
  /// `detail::WaitsForBatches`. Looks for new ones. Throws what the data throw.
  [[nodiscard]] auto is_ready([[maybe_unused]] Rank rank, [[maybe_unused]] Step step) -> bool override {
    if constexpr (detail::WaitsForBatches<Source>) {
      if (step > job_.steps_of(rank)) return true;
      const Step end = first_local(step + 1);
      for (Step local = first_local(step); local != end; ++local)
        for (std::uint64_t i = 0; i < job_.gradient_accumulation; ++i)
          if (!source_.is_there(first_batch(local, rank) + i)) return false;
    }
    return true;
  }

  /// The job continues after this step. Throws if the data cannot have given the batches before. Synchronous jobs only.
  void continue_after([[maybe_unused]] Step step) override {
    if constexpr (detail::WaitsForBatches<Source>)
      if (job_.consistency.is_synchronous()) source_.continue_after(first_batch(first_local(step + 1), 0));
  }

  /// No restart goes back to a step before this one. Synchronous jobs only.
  void let_go([[maybe_unused]] Step step) override {
    if constexpr (detail::WaitsForBatches<Source>)
      if (job_.consistency.is_synchronous()) source_.let_go(first_batch(first_local(step + 1), 0));
  }

 private:
  struct Ahead {
    Ahead(const RuntimeVariables& variables, const Job& job, std::span<const ShardLayout> layouts)
        : batches(job.gradient_accumulation),
          of_batch{variables},
          lookups(job.tables.size()),
          ends(job.tables.size()),
          keys{job, layouts} {}
    Step step = 0;  // 0: nothing is prepared
    std::uint64_t first = 0;  // number of the first batch
    std::vector<Batch<typename M::Example>> batches;
    Lookups<Variables> of_batch;
    KeyLists lookups;  // for each table the keys of all batches, one batch after another
    std::vector<std::vector<std::size_t>> ends;  // for each table: where the keys of each batch end
    BatchKeys keys;
  };
  // Where the batches of a rank are, from a step on; in a job whose ranks change.
  struct Numbers {
    Step step = 1;
    std::uint64_t before = 0;  // contributions to earlier steps
    Rank place = 0;  // of the rank among those of the step
    std::uint64_t ranks = 0;  // of the step
  };
  struct OfRank {
    OfRank(const RuntimeVariables& variables, const Job& job, std::span<const ShardLayout> layouts,
           const std::vector<AnyUpdater>& updaters)
        : values{variables}, gradients{variables} {
      for (int i = 0; i < (job.tables.empty() ? 1 : 2); ++i) aheads.emplace_back(variables, job, layouts);
      if (job.gradient_accumulation > 1) more.emplace(variables);
      if (job.local_steps == 0) return;
      own.emplace(variables);
      round.emplace(job, updaters);
    }
    auto ahead(Step step) -> Ahead& { return aheads[step % aheads.size()]; }

    std::vector<Ahead> aheads;
    Values<Variables> values;
    Gradients<Variables> gradients;
    Feed feed;  // of the contribution
    float norm = std::numeric_limits<float>::quiet_NaN();  // of the last gradient, see `clip_gradients`
    Metrics metrics;  // of the last contribution, if it validates
    bool told_source = false;  // which batches it reads
    Numbers numbers;
    std::optional<Gradients<Variables>> more;  // of one batch, while `gradients` is the sum of the batches before it
    std::optional<Values<Variables>> own;  // which the local steps change; empty without local steps
    std::optional<LocalRound> round;
  };

  // Returns the scratch memory of a rank; allocates it at the first call.
  auto of(Rank rank) const -> OfRank& {
    std::unique_ptr<OfRank>& mine = ranks_[rank];
    if (mine == nullptr) {
      mine = std::make_unique<OfRank>(RuntimeVariables{job_.variables, job_.tables}, job_, layouts_, local_updaters_);
      mine->numbers = {1, 0, rank, job_.ranks};
    }
    return *mine;
  }

  void read(Rank rank, Step step, const KeyLists& others, Ahead& ahead) const {
    if constexpr (requires { source_.expect(std::uint64_t{}, std::uint64_t{}, std::uint64_t{}); }) {
      const std::uint64_t in_step = std::uint64_t{job_.ranks} * job_.gradient_accumulation;
      if (job_.most_ranks == 0 && !std::exchange(of(rank).told_source, true))
        source_.expect(first_batch(1, rank), in_step, job_.gradient_accumulation);
    }
    const auto begun = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < ahead.batches.size(); ++i) source_.fill(first_batch(step, rank) + i, ahead.batches[i]);
    reading_ += std::chrono::nanoseconds{std::chrono::steady_clock::now() - begun}.count();
    if constexpr (detail::HasLookups<M>) {
      if (!has_tables()) return;
      for (std::vector<std::uint64_t>& keys : ahead.lookups) keys.clear();
      for (std::vector<std::size_t>& ends : ahead.ends) ends.clear();
      for (const auto& batch : ahead.batches) {
        ahead.of_batch.clear();
        model_.lookups(batch, ahead.of_batch);
        for (std::size_t table = 0; table < job_.tables.size(); ++table) {
          const std::vector<std::uint64_t>& keys = ahead.of_batch.lists()[table];
          ahead.lookups[table].insert(ahead.lookups[table].end(), keys.begin(), keys.end());
          ahead.ends[table].push_back(ahead.lookups[table].size());
        }
      }
      ahead.keys.find(ahead.lookups, others);
    }
  }

  [[nodiscard]] auto has_tables() const noexcept -> bool { return !job_.tables.empty(); }

  // False if the rank makes no contribution to the step, because the job ends before it.
  [[nodiscard]] auto makes(Step step, Rank rank) const -> bool {
    if (step > job_.steps_of(rank)) return false;
    if (job_.most_ranks == 0 || job_.consistency.is_synchronous()) return true;
    const Numbers& known = of(rank).numbers;
    return known.before + (step - known.step) * known.ranks + known.place < job_.total_steps;
  }

  // `step`: of a local step, if there are such.
  [[nodiscard]] auto first_batch(Step step, Rank rank) const -> std::uint64_t {
    if (job_.most_ranks == 0) return ((step - 1) * job_.ranks + rank) * job_.gradient_accumulation;
    const Numbers& known = of(rank).numbers;
    const std::uint64_t before = known.before * std::max(1U, job_.local_steps);
    return (before + (step - first_local(known.step)) * known.ranks + known.place) * job_.gradient_accumulation;
  }

  // Returns the number of the first local step of a contribution; without local steps, that of the contribution.
  [[nodiscard]] auto first_local(Step step) const noexcept -> Step {
    return job_.local_steps == 0 ? step : (step - 1) * job_.local_steps + 1;
  }

  void for_each_entry(auto&& visit) const {
    for (std::size_t shard = 0; shard < layouts_.size(); ++shard)
      for (const auto& entry : layouts_[shard].entries()) visit(shard, layouts_[shard], entry);
  }

  // Makes the local steps of one contribution and leaves what they have changed in `mine.gradients`, which has the
  // gradients of each step before. Returns the mean loss.
  auto local_steps(OfRank& mine, Step step, Rank rank) const -> float {
    Ahead& ahead = mine.ahead(step);
    ahead.step = 0;  // it has other batches at the end, also after an exception
    const Step first = first_local(step);
    float loss = 0;
    mine.round->begin(first - 1, std::as_const(mine.values), *mine.own);
    for (Step local = first; local < first + job_.local_steps; ++local) {
      if (local != first) {
        if (go_on_ && !go_on_()) throw RoundLeft{};
        read(rank, local, {}, ahead);
      }
      loss += clipped_gradients(mine, ahead, local, rank);
      mine.round->step(mine.gradients, *mine.own);
    }
    mine.round->end(std::as_const(mine.values), std::as_const(*mine.own), mine.gradients);
    return loss / static_cast<float>(job_.local_steps);
  }

  // Leaves the clipped mean of the gradients of all batches in `mine.gradients`. Returns the mean loss.
  auto clipped_gradients(OfRank& mine, const Ahead& ahead, Step step, Rank rank) const -> float {
    const float loss = mean_gradients(mine, ahead, step, rank);
    mine.norm = clip_gradients(job_, mine.gradients, not_clipped_);
    return loss;
  }

  // Leaves the mean of the gradients of all batches in `mine.gradients`. Returns the mean loss.
  auto mean_gradients(OfRank& mine, const Ahead& ahead, Step step, Rank rank) const -> float {
    mine.feed = detail::feed_of(feeds_, step, rank);
    mine.gradients.zero();
    float loss = gradients_of(mine, mine.gradients, ahead, 0, step, rank);
    if (!mine.more) return loss;
    const auto batches = static_cast<std::uint32_t>(ahead.batches.size());
    for (std::uint32_t i = 1; i < batches; ++i) {
      mine.more->zero();
      loss += gradients_of(mine, *mine.more, ahead, i, step, rank);
      add_gradients(job_, *mine.more, mine.gradients);
    }
    divide_gradients(job_, batches, mine.gradients);
    return loss / static_cast<float>(batches);
  }

  // Computes the gradients of one batch. Nests what a model throws in an error that says which batch it was.
  auto gradients_of(OfRank& mine, Gradients<Variables>& gradients, const Ahead& ahead, std::uint32_t number, Step step,
                    Rank rank) const -> float {
    for (std::size_t table = 0; table < job_.tables.size(); ++table) {
      const std::size_t begin = number == 0 ? 0 : ahead.ends[table][number - 1];
      mine.values.set_index(table, ahead.keys.index(table).subspan(begin, ahead.ends[table][number] - begin));
    }
    try {
      const Values<Variables>& values = mine.own ? *mine.own : mine.values;
      if (validates_) mine.metrics.merge(evaluate_(model_, ahead.batches[number], values));
      return model_.gradients(ahead.batches[number], values, gradients,
                              StepContext{step, rank, job_.rank_names(), job_.seed, number, &mine.feed});
    } catch (const std::exception& error) {
      std::throw_with_nested(std::runtime_error("step " + std::to_string(step) + " of worker " + std::to_string(rank) +
                                                " (batch " + std::to_string(first_batch(step, rank) + number) +
                                                "): " + error.what()));
    }
  }

  const M& model_;
  const Source& source_;
  const Job& job_;
  std::span<const ShardLayout> layouts_;
  std::vector<bool> not_clipped_;  // see `updated_by_model`
  std::function<bool()> go_on_;  // see `ask_between`
  std::vector<AnyUpdater> local_updaters_;  // of each variable; empty without local steps
  std::vector<FeedFn> feeds_;
  Evaluate evaluate_;  // may be empty
  bool validates_ = false;
  mutable std::atomic<std::int64_t> reading_ = 0;  // nanoseconds
  mutable std::vector<std::unique_ptr<OfRank>> ranks_;  // null: the rank was not used yet
};

}  // namespace v0
}  // namespace distrib
