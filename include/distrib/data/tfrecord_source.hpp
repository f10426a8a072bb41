// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/data/batches_ahead.hpp>
#include <distrib/data/order/batching.hpp>
#include <distrib/data/order/error.hpp>
#include <distrib/data/order/order.hpp>
#include <distrib/data/record_files.hpp>
#include <distrib/example/batch.hpp>
#include <distrib/example/error.hpp>
#include <distrib/example/example_parser.hpp>
#include <distrib/example/schema.hpp>
#include <distrib/record/error.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Records of TFRecord files as batches of struct E; a BatchSource. Opened by `tfrecords(...).open()`.
///
/// Batch b holds the records at the positions from b * batch_size on of the order O, also across the end of an epoch.
/// So every batch is full, except the last one with `Remainder::keep`. All is a pure function of (files, steps, b).
///
/// Lifetime: a value that shares the files with its copies and with the batches, which keep the bytes of the files
/// alive.
///
/// Threads: const access from any thread, each with a batch of its own.
template <Order O, class E, FeatureMember... Ms> class TfRecordSource {
 public:
  using ExampleType = E;

  /// Binds `order` to `files`; steps such as filter read records for that.
  ///
  /// Errors: sets `error` to `data_errc::no_records`, `bad_batch_size` or `too_few_records`, or to what the steps of
  /// the order report.
  TfRecordSource(RecordFiles files, const Schema<E, Ms...>& schema, O order, const Batching& batching, Error& error)
      : files_{std::make_shared<const RecordFiles>(std::move(files))},
        schema_{schema},
        order_{std::move(order)},
        batching_{batching} {
    if (files_->size() == 0) {
      error.code = data_errc::no_records;
      return;
    }
    Records records{*this, {}, ignored_};
    order_.bind(records, error);
    if (error) return;
    error.code = batching_.check();
    if (!error && batching_.batches(order_.size()) == 0) error.code = data_errc::too_few_records;
    if (error || !files_->has_remote()) return;
    ahead_ = read_ahead(order_, batching_);
    ahead_in_order_ = read_ahead(order_.plain(), in_order());
  }

  /// Returns the number of records in one pass without shuffle and repeat: all records of the files, unless a step
  /// leaves some out.
  [[nodiscard]] auto records() const -> std::uint64_t { return order_.plain().size(); }

  /// Returns the number of records in a batch that `fill` fills.
  [[nodiscard]] auto batch_size() const noexcept -> std::uint64_t { return batching_.size; }

  /// Returns the number of batches that `fill` can fill; empty if they never end. With `Remainder::drop`, records
  /// behind the last full batch are not used.
  [[nodiscard]] auto batches() const noexcept -> std::optional<std::uint64_t> {
    if (order_.size() == endless) return std::nullopt;
    return batching_.batches(order_.size());
  }

  /// Fills `batch` with batch `number`, from 0.
  ///
  /// Errors: sets `to` to `record_errc::corrupt_payload` or `corrupt_length`, or to an `example_errc` with the feature,
  /// all with file, record and offset; or to `data_errc::no_such_batch`. The batch is then empty.
  void fill(std::uint64_t number, Batch<E>& batch, ErrorRef to) const {
    detail::ErrorOut error{to};
    if (ahead_) parse_held(*ahead_, batching_.batches(order_.size()), number, batch, error);
    else parse(order_, batching_, number, batch, error);
  }

  /// This overload throws the error as `std::system_error`.
  void fill(std::uint64_t number, Batch<E>& batch) const {
    Error error;
    fill(number, batch, error);
    throw_if(error);
  }

  /// Says which batches `fill` will be asked for: `run` batches from `first` on, then `run` from `first + step` on, and so
  /// on. Only a hint, and only for remote files: their records are then fetched in time. `BatchReader` and the trainer
  /// give it. Calls with the same `step` add up.
  void expect(std::uint64_t first, std::uint64_t step, std::uint64_t run = 1) const {
    if (ahead_) ahead_->expect(first, step, run);
  }

  /// Returns the number of batches that `fill_in_order` can fill.
  [[nodiscard]] auto in_order_batches() const -> std::uint64_t { return in_order().batches(records()); }

  /// Fills `batch` with part `number`, from 0, of one pass over `records()` without shuffle and repeat; the last part
  /// may be short. For evaluation.
  ///
  /// Errors: sets `to` to `record_errc::corrupt_payload` or `corrupt_length`, or to an `example_errc` with the feature,
  /// all with file, record and offset; or to `data_errc::no_such_batch`. The batch is then empty.
  void fill_in_order(std::uint64_t number, Batch<E>& batch, ErrorRef to) const {
    detail::ErrorOut error{to};
    if (ahead_) parse_held(*ahead_in_order_, in_order_batches(), number, batch, error);
    else parse(order_.plain(), in_order(), number, batch, error);
  }

  /// This overload throws the error as `std::system_error`.
  void fill_in_order(std::uint64_t number, Batch<E>& batch) const {
    Error error;
    fill_in_order(number, batch, error);
    throw_if(error);
  }

  /// Returns what `ignore_errors` skipped, each with its place; empty without that step.
  [[nodiscard]] auto ignored() const noexcept -> std::span<const Error> { return ignored_; }

  /// Returns "tfrecords records=60000 batch=64 shuffle=7 repeat=forever fingerprint=0123456789abcdef" ("shuffle=none"
  /// without a seed), with each step in its place. Equal lines mean the same records in every batch, as far as the
  /// sizes and record counts of the files show. The schema is not part of the line.
  [[nodiscard]] auto describe() const -> std::string {
    return "tfrecords records=" + std::to_string(files_->size()) + " batch=" + std::to_string(batching_.size) +
           (batching_.remainder == Remainder::keep ? " remainder=kept" : "") + (O::shuffles ? "" : " shuffle=none") +
           order_.describe() + " fingerprint=" + files_->fingerprint();
  }

 private:
  using Held = detail::HeldBatch<RecordFiles>;
  using Ahead = detail::BatchesAhead<RecordFiles>;

  // The data that the order is bound to; through it the steps read records.
  struct Records {
    const TfRecordSource& source;
    Batch<E> one;
    std::vector<Error>& ignored;
    std::shared_ptr<Held> held = {};  // some remote records, one behind the other

    auto lengths() const -> std::vector<std::uint64_t> { return source.files_->lengths(); }
    template <class Predicate> auto matches(Predicate& predicate, std::uint64_t number, Error& error) -> bool {
      check(number, error);
      return !error && predicate(std::as_const(one)[0]);
    }
    void check(std::uint64_t number, Error& error) {
      if (!source.files_->has_remote())
        return source.parse_records(1, [number](std::uint64_t) { return number; }, one, error);
      if (!held || number < held->records().front() || number > held->records().back()) hold_from(number);
      source.parse_held(held, static_cast<std::size_t>(number - held->records().front()), 1, one, error);
    }
    /// False if nothing is known about the record, because a server did not answer: the next run may get it.
    auto is_damage(const Error& error) const noexcept -> bool {
      return error.code.category() == detail::record_category() || error.code.category() == detail::example_category();
    }
    void hold_from(std::uint64_t number) {
      const RecordFiles& files = *source.files_;
      std::vector<std::uint64_t> numbers;
      std::uint64_t bytes = 0;
      const std::uint64_t most = files.remote()->most_bytes() / 2;
      for (; number < files.size() && (numbers.empty() || bytes < most); ++number) {
        numbers.push_back(number);
        const auto extent = files.extent(number);
        if (extent) bytes += extent->bytes;
        if (numbers.size() >= (extent ? Ahead::most_records : 1024)) break;
      }
      one = {};  // first: both hold the bytes of the records before these
      held.reset();
      held = std::make_shared<Held>(source.files_, std::move(numbers));
      held->fetch();
    }
    void ignore(const Error& error) { ignored.push_back(error); }
    auto lost() const noexcept -> std::span<const Error> { return source.files_->lost(); }
  };

  auto in_order() const noexcept -> Batching { return {batching_.size, Remainder::keep}; }

  // Takes the order by value, because an order may change while it is used.
  template <Order Any>
  void parse(Any order, const Batching& batching, std::uint64_t number, Batch<E>& batch, Error& error) const {
    error = {};
    if (number >= batching.batches(order.size())) {
      batch = {};
      error = {data_errc::no_such_batch, "batch " + std::to_string(number)};
      return;
    }
    const std::uint64_t first = batching.first(number);
    parse_records(
        batching.count(number, order.size()), [&](std::uint64_t i) { return order.at(0, first + i); }, batch, error);
  }

  template <class Any> auto read_ahead(Any order, const Batching& batching) const -> std::shared_ptr<Ahead> {
    auto mixed_until = [order, batching](std::uint64_t number) {
      const std::uint64_t end = distrib::mixed_until(order, batching.first(number));
      return end == endless ? endless : (end - 1) / batching.size + 1;
    };
    auto records_of = [order = std::move(order), batching](std::uint64_t number) mutable {
      std::vector<std::uint64_t> records;
      if (number >= batching.batches(order.size())) return records;
      records.resize(static_cast<std::size_t>(batching.count(number, order.size())));
      for (std::uint64_t i = 0; i < records.size(); ++i) records[i] = order.at(0, batching.first(number) + i);
      return records;
    };
    return std::make_shared<Ahead>(files_, std::move(records_of), std::move(mixed_until));
  }

  void parse_held(Ahead& ahead, std::uint64_t batches, std::uint64_t number, Batch<E>& batch, Error& error) const {
    error = {};
    batch = {};  // first: it may hold memory that the next batches need
    if (number >= batches) error = {data_errc::no_such_batch, "batch " + std::to_string(number)};
    if (error) return;
    const std::shared_ptr<Held> held = ahead.take(number);
    parse_held(held, 0, held->records().size(), batch, error);
  }

  void parse_held(const std::shared_ptr<Held>& held, std::size_t first, std::size_t count, Batch<E>& batch,
                  Error& error) const {
    ExampleParser<E, Ms...> parser{schema_, batch, count, held};
    for (std::size_t i = first; i < first + count; ++i) {
      held->prefetch(i + 8);
      const ByteView bytes = held->at(i, error);
      if (error) return;
      parser.add(bytes, error);
      if (!error) continue;
      error.where = files_->where(held->records()[i]) + (error.where.empty() ? "" : ", ") + error.where;
      return;
    }
    parser.finish();
  }

  template <class RecordAt>
  void parse_records(std::uint64_t count, RecordAt&& record_at, Batch<E>& batch, Error& error) const {
    ExampleParser<E, Ms...> parser{schema_, batch, static_cast<std::size_t>(count), files_};
    std::array<std::uint64_t, 16> ahead;  // record i is at i % 16, from the prefetch of its offset until it is parsed
    const auto ask_for = [&](std::uint64_t i) {
      if (i < count) files_->prefetch_offset(ahead[i % ahead.size()] = record_at(i));
      const std::uint64_t nearer = i - ahead.size() / 2;
      if (i >= ahead.size() / 2 && nearer < count) files_->prefetch(ahead[nearer % ahead.size()]);
    };
    for (std::uint64_t i = 0; i < ahead.size(); ++i) ask_for(i);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t record = ahead[i % ahead.size()];
      ask_for(i + ahead.size());
      const ByteView bytes = files_->at(record, error);
      if (error) return;
      parser.add(bytes, error);
      if (!error) continue;
      error.where = files_->where(record) + (error.where.empty() ? "" : ", ") + error.where;
      return;
    }
    parser.finish();
  }

  std::shared_ptr<const RecordFiles> files_;
  Schema<E, Ms...> schema_;
  O order_;
  Batching batching_;
  std::vector<Error> ignored_;
  std::shared_ptr<Ahead> ahead_;  // null: all files are on this machine
  std::shared_ptr<Ahead> ahead_in_order_;
};

}  // namespace v0
}  // namespace distrib
