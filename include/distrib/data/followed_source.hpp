// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/data/followed_stream.hpp>
#include <distrib/data/order/error.hpp>
#include <distrib/data/stream_place.hpp>
#include <distrib/example/batch.hpp>
#include <distrib/example/example_parser.hpp>
#include <distrib/example/schema.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace distrib {
inline namespace v0 {

/// Batches of a followed stream; a BatchSource that waits. Opened by a `FollowedDataset`. Copies share the stream.
///
/// Beside the members of a BatchSource it has those of `detail::WaitsForBatches`. It never ends, and it has no order
/// for an evaluation: `in_order_batches()` is 0.
///
/// Threads: const access from any thread, each with a batch of its own.
template <class E, FeatureMember... Ms> class FollowedSource {
 public:
  using ExampleType = E;

  FollowedSource(std::shared_ptr<FollowedStream> stream, const Schema<E, Ms...>& schema)
      : stream_{std::move(stream)}, schema_{schema} {}

  /// Fills `batch` with batch `number`, from 0; waits until the stream has it. Errors: as `FollowedStream::wait_for`
  /// and `TfRecordSource::fill`. The batch is then empty.
  void fill(std::uint64_t number, Batch<E>& batch, ErrorRef to) const {
    detail::ErrorOut error{to};
    batch = {};
    const std::shared_ptr<const StreamBatch> held = stream_->wait_for(number, error);
    if (error) return;
    ExampleParser<E, Ms...> parser{schema_, batch, held->size(), held};
    for (std::size_t i = 0; i < held->size(); ++i) {
      const ByteView bytes = held->at(i, error);
      if (error) return;
      parser.add(bytes, error);
      if (!error) continue;
      error.where = held->where(i) + (error.where.empty() ? "" : ", ") + error.where;
      return;
    }
    parser.finish();
  }

  /// This overload throws the error as `std::system_error`.
  void fill(std::uint64_t number, Batch<E>& batch) const {
    Error error;
    fill(number, batch, error);
    throw_if(error);
  }

  /// Always fails: a stream has no end, so it cannot be read in order from its beginning to its end.
  void fill_in_order(std::uint64_t number, Batch<E>& batch) const {
    batch = {};
    throw_error(data_errc::no_such_batch, "part " + std::to_string(number) + " of a stream");
  }

  [[nodiscard]] auto batch_size() const noexcept -> std::uint64_t { return stream_->options().batch_size; }
  /// So many that no job comes to the end.
  [[nodiscard]] auto batches() const noexcept -> std::optional<std::uint64_t> { return std::uint64_t{1} << 62; }
  [[nodiscard]] auto in_order_batches() const noexcept -> std::uint64_t { return 0; }
  [[nodiscard]] auto records() const noexcept -> std::uint64_t { return 0; }
  [[nodiscard]] auto describe() const -> std::string {
    return stream_->kind() + " batch=" + std::to_string(batch_size());
  }

  /// True if `fill` of this batch need not wait for records. Throws what `FollowedStream::is_there` reports.
  [[nodiscard]] auto is_there(std::uint64_t number) const -> bool {
    Error error;
    const bool found = stream_->is_there(number, error);
    throw_if(error);
    return found;
  }
  /// The job continues after so many batches. Throws what `FollowedStream::continue_after` reports.
  void continue_after(std::uint64_t count) const {
    Error error;
    stream_->continue_after(count, error);
    throw_if(error);
  }
  /// No restart asks for the first `count` batches. If the log cannot be written, the next call drops more.
  void let_go(std::uint64_t count) const {
    Error ignored;
    stream_->let_go(count, ignored);
  }

 private:
  std::shared_ptr<FollowedStream> stream_;
  Schema<E, Ms...> schema_;
};

/// A stream to follow, with a schema and a batch size; a Dataset. Made by `FollowFiles::schema`. A value.
template <class E, FeatureMember... Ms> class FollowedDataset {
 public:
  using ExampleType = E;
  using Source = FollowedSource<E, Ms...>;
  /// Opens the stream in batches of so many records. On failure sets the error.
  using Open = std::function<std::shared_ptr<FollowedStream>(std::uint64_t batch_size, Error& error)>;

  FollowedDataset(Open open, const Schema<E, Ms...>& schema) : open_{std::move(open)}, schema_{schema} {}

  /// Sets the number of records in a batch, 1 .. 2^31. Must be called.
  [[nodiscard]] auto batch(std::uint64_t records) const -> FollowedDataset {
    FollowedDataset copy = *this;
    copy.batch_size_ = records;
    return copy;
  }

  /// Opens the log; reads no data. Errors: as the constructor of `FollowedStream`.
  [[nodiscard]] auto open(ErrorRef to) const -> std::optional<Source> {
    detail::ErrorOut error{to};
    std::shared_ptr<FollowedStream> stream = open_(batch_size_, error);
    if (error) return std::nullopt;
    return Source{std::move(stream), schema_};
  }

  /// This overload throws the error as `std::system_error`.
  [[nodiscard]] auto open() const -> Source {
    Error error;
    return *detail::or_throw(open(error), error);
  }

 private:
  Open open_;
  Schema<E, Ms...> schema_;
  std::uint64_t batch_size_ = 0;
};

}  // namespace v0
}  // namespace distrib
