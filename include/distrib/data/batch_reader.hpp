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

/// Which of several workers reads: worker `index` takes the batches whose number divided by `count` leaves `index`.
struct BatchShare {
  std::uint64_t index = 0;
  std::uint64_t count = 1;  ///< Above `index`.
};

/// Goes through the batches of a source in the order of their numbers, on the caller's thread or ahead of it on those
/// of a pool: what comes, and in which order, is the same.
///
///     BatchReader reader{source, pool, 2};
///     while (const Batch<Digit>* batch = reader.next()) train(*batch);
///
/// A batch that nobody has begun when it is wanted is filled by the caller, so a busy or stopped pool costs time only.
/// A failure comes with its batch: `next` throws it, and the call after that goes on with the batch behind.
///
/// Memory: `ahead` + 1 batches. The source, and the pool if any, outlive the reader, which waits when it goes for the
/// batches that are being filled, and drops those that are not. One thread at a time. Movable.
template <BatchSource Source> class BatchReader {
 public:
  using BatchType = Batch<typename Source::ExampleType>;

  /// Without a pool: each batch is filled when it is wanted.
  explicit BatchReader(const Source& source, BatchShare share = {}) : BatchReader{source, nullptr, 0, share} {}

  /// Prefetches: keeps `ahead` batches ready or in work on the threads of `pool`.
  BatchReader(const Source& source, IoPool& pool, std::size_t ahead, BatchShare share = {})
      : BatchReader{source, &pool, ahead, share} {}

  // A source that would be gone before the reader.
  template <class... Rest> BatchReader(const Source&&, Rest&&...) = delete;

  BatchReader(BatchReader&&) = default;
  auto operator=(BatchReader&&) -> BatchReader& = delete;

  /// The next batch, valid until the next call; null when there is none. Throws what the source threw for this batch.
  [[nodiscard]] auto next() -> const BatchType* {
    ask_ahead();
    if (given_ == asked_) return nullptr;
    return &batches_.finish(given_++ % batches_.size()).batch;
  }

  /// Where the readers of all workers stand when each has made as many calls as this one.
  [[nodiscard]] auto state() const -> DataState {
    return {detail::data_hash(source_->describe()), 0, first_ + given_ * share_.count};
  }

  /// Goes on behind the batches that were taken when `state` was made, whatever the number of workers then: none is
  /// left out, none comes twice. A failure goes to `ec` and changes nothing: `data_errc::other_data`, `no_such_batch`.
  void resume(const DataState& state, std::error_code& ec) {
    ec.clear();
    if (state.data != detail::data_hash(source_->describe()) || state.epoch != 0) ec = data_errc::other_data;
    else if (state.position > endless / 2) ec = data_errc::no_such_batch;
    if (ec) return;
    batches_.drop();
    first_ = state.position;
    given_ = asked_ = 0;
  }

  /// The same; a failure is thrown as `std::system_error`.
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
    static constexpr bool is_waited_for = true;  // the source is the caller's

    void operator()(Piece& piece, const std::atomic<bool>&) const { source->fill(piece.number, piece.batch); }

    const Source* source;
  };

  BatchReader(const Source& source, IoPool* pool, std::size_t ahead, BatchShare share)
      : source_{&source}, share_{share}, batches_{pool, ahead + 1, Fill{&source}} {}

  // Asks for batches until every slot has one.
  void ask_ahead() {
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
  std::uint64_t first_ = 0;  // number of the first batch that any worker takes
  std::uint64_t asked_ = 0;  // batches of this worker's share that were asked for
  std::uint64_t given_ = 0;  // of these, those that were given out
};

}  // namespace v0
}  // namespace distrib
