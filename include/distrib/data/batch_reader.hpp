// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/data/batch_source.hpp>
#include <distrib/data/order/data_state.hpp>
#include <distrib/data/order/error.hpp>
#include <distrib/data/order/order.hpp>
#include <distrib/example/batch.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/net/pool_ahead.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// The share of one of several workers: worker `index` reads the batches whose number divided by `count` leaves the
/// remainder `index`.
struct BatchShare {
  std::uint64_t index = 0;  ///< This worker, 0 .. count - 1.
  std::uint64_t count = 1;  ///< Number of workers, at least 1.
};

/// Reads the batches of a source in the order of their numbers: on the caller's thread, or ahead of it on the threads
/// of a pool. Batches and their order are the same either way.
///
///     BatchReader reader{source, pool, 2};
///     while (const Batch<Digit>* batch = reader.next()) train(*batch);
///
/// If no thread has begun to fill the requested batch, the caller fills it, so a busy or stopped pool only costs time.
///
/// Errors: `next` throws what filling the requested batch threw. The call after that continues with the next batch.
///
/// Memory: `ahead` + 1 batches.
///
/// Threads: one at a time. The source, and the pool if there is one, must outlive the reader. The destructor waits for
/// the batches that are being filled and drops the others. Movable.
template <BatchSource Source> class BatchReader {
 public:
  using BatchType = Batch<typename Source::ExampleType>;

  /// Reads without a pool: each batch is filled when it is requested.
  explicit BatchReader(const Source& source, BatchShare share = {}) : BatchReader{source, nullptr, 0, share} {}

  /// Reads ahead: keeps `ahead` batches ready or in work on the threads of `pool`.
  BatchReader(const Source& source, IoPool& pool, std::size_t ahead, BatchShare share = {})
      : BatchReader{source, &pool, ahead, share} {}

  // Refuses a temporary source, which would be destroyed before the reader.
  template <class... Rest> BatchReader(const Source&&, Rest&&...) = delete;

  BatchReader(BatchReader&&) = default;
  auto operator=(BatchReader&&) -> BatchReader& = delete;

  /// Returns the next batch, valid until the next call of `next` or `resume`; null after the last batch. Throws what
  /// the source threw for this batch.
  [[nodiscard]] auto next() -> const BatchType* {
    ask_ahead();
    if (given_ == asked_) return nullptr;
    return &batches_.finish(given_++ % batches_.size()).batch;
  }

  /// Returns the common position of the readers of all workers, assuming that each of them has returned as many batches
  /// as this reader.
  [[nodiscard]] auto state() const -> DataState {
    return {detail::data_hash(source_->describe()), 0, first_ + given_ * share_.count};
  }

  /// Continues behind the batches that all workers together had read when `state` was made. The number of workers may
  /// have changed since then: no batch is left out, and none is read twice. If the state is behind the last batch,
  /// `next` returns null.
  ///
  /// Errors: sets `ec` and changes nothing. `data_errc::other_data`: the state belongs to another source or to a
  /// `Pipeline` with epochs. `no_such_batch`: its position is 2^63 or more.
  void resume(const DataState& state, std::error_code& ec) {
    ec.clear();
    if (state.data != detail::data_hash(source_->describe()) || state.epoch != 0) ec = data_errc::other_data;
    else if (state.position > endless / 2) ec = data_errc::no_such_batch;
    if (ec) return;
    batches_.drop();
    first_ = state.position;
    given_ = asked_ = 0;
    is_told_ = false;
  }

  /// This overload throws the error as `std::system_error`.
  void resume(const DataState& state) {
    std::error_code ec;
    resume(state, ec);
    if (ec) throw_error(ec, "resume of " + to_string(state));
  }

 private:
  struct Fill {
    struct Piece {
      std::uint64_t number = 0;
      BatchType batch;
    };
    static constexpr bool is_waited_for = true;  // the caller owns the source

    void operator()(Piece& piece, const std::atomic<bool>&) const { source->fill(piece.number, piece.batch); }

    const Source* source;
  };

  BatchReader(const Source& source, IoPool* pool, std::size_t ahead, BatchShare share)
      : source_{&source}, share_{share}, batches_{pool, ahead + 1, Fill{&source}} {}

  // Says which batches will be asked for, if the source wants to know.
  void tell_source() {
    is_told_ = true;
    if constexpr (requires { source_->expect(first_, share_.count); })
      source_->expect(first_ + share_.index, share_.count);
  }

  // Requests batches until every slot has one.
  void ask_ahead() {
    if (!is_told_) tell_source();
    const auto batches = source_->batches();
    for (; asked_ < given_ + batches_.size(); ++asked_) {
      const std::uint64_t number = first_ + asked_ * share_.count + share_.index;
      if (batches && number >= *batches) return;
      const std::size_t at = asked_ % batches_.size();
      batches_[at].number = number;
      if (asked_ == given_) batches_.want(at);  // the caller waits for this batch, and so fills it
      else batches_.want_ahead(at);
    }
  }

  const Source* source_;
  BatchShare share_;
  PoolAhead<Fill> batches_;
  std::uint64_t first_ = 0;  // number of the first batch that any worker reads
  std::uint64_t asked_ = 0;  // batches of this worker's share that were requested
  std::uint64_t given_ = 0;  // number of these that were returned
  bool is_told_ = false;  // the source knows which batches come
};

}  // namespace v0
}  // namespace distrib
