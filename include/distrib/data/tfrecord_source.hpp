// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/data/order/batching.hpp>
#include <distrib/data/order/error.hpp>
#include <distrib/data/order/order.hpp>
#include <distrib/data/record_files.hpp>
#include <distrib/example/batch.hpp>
#include <distrib/example/example_parser.hpp>
#include <distrib/example/schema.hpp>

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
/// Position p of the order O is a record; batch b holds positions b * batch_size and following, also across the end of
/// an epoch, so no batch is short unless the last one was asked for. All is a pure function of (files, steps, b).
///
/// A value that shares the files; const access from any thread, each with a batch of its own. Batches keep the files'
/// bytes alive.
template <Order O, class E, FeatureMember... Ms> class TfRecordSource {
 public:
  using ExampleType = E;

  /// Lays `order` over `files`, which may read them. `error`: `data_errc::no_records`, `bad_batch_size`,
  /// `too_few_records`, and what the steps of the order report.
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
  }

  /// Records that come in one pass without shuffle and repeat: those of the files, unless a step leaves some out.
  [[nodiscard]] auto records() const -> std::uint64_t { return order_.plain().size(); }

  /// Records in a batch that `fill` fills.
  [[nodiscard]] auto batch_size() const noexcept -> std::uint64_t { return batching_.size; }

  /// Batches that `fill` can fill; empty: any number. Records that are left over after the last one are not used.
  [[nodiscard]] auto batches() const noexcept -> std::optional<std::uint64_t> {
    if (order_.size() == endless) return std::nullopt;
    return batching_.batches(order_.size());
  }

  /// Fills `batch` with batch `number`, from 0. A failure is written to `to` with file, record and offset, and leaves the
  /// batch empty: `record_errc::corrupt_payload`, an `example_errc` with the feature, or `data_errc::no_such_batch`.
  void fill(std::uint64_t number, Batch<E>& batch, ErrorRef to) const {
    detail::ErrorOut error{to};
    parse(order_, batching_, number, batch, error);
  }

  /// The same; a failure is thrown as `std::system_error`.
  void fill(std::uint64_t number, Batch<E>& batch) const {
    Error error;
    fill(number, batch, error);
    throw_if(error);
  }

  /// Batches that `fill_in_order` can fill.
  [[nodiscard]] auto in_order_batches() const -> std::uint64_t { return in_order().batches(records()); }

  /// Fills `batch` with part `number`, from 0, of one pass over `records()`, as if shuffle and repeat had not been
  /// said; the last part may be short. For evaluation. Errors as in `fill`.
  void fill_in_order(std::uint64_t number, Batch<E>& batch, ErrorRef to) const {
    detail::ErrorOut error{to};
    parse(order_.plain(), in_order(), number, batch, error);
  }

  /// The same; a failure is thrown as `std::system_error`.
  void fill_in_order(std::uint64_t number, Batch<E>& batch) const {
    Error error;
    fill_in_order(number, batch, error);
    throw_if(error);
  }

  /// What `ignore_errors` passed over: each with its place. Empty without that step.
  [[nodiscard]] auto ignored() const noexcept -> std::span<const Error> { return ignored_; }

  /// "tfrecords records=60000 batch=64 shuffle=7 repeat=forever fingerprint=0123456789abcdef" (without a seed
  /// "shuffle=none"), with each step that was said in its place: equal lines, equal batches, as far as sizes and record
  /// counts of the files can tell.
  [[nodiscard]] auto describe() const -> std::string {
    return "tfrecords records=" + std::to_string(files_->size()) + " batch=" + std::to_string(batching_.size) +
           (batching_.remainder == Remainder::keep ? " remainder=kept" : "") + (O::shuffles ? "" : " shuffle=none") +
           order_.describe() + " fingerprint=" + files_->fingerprint();
  }

 private:
  // What the order is bound to: steps that look at records do so through it.
  struct Records {
    const TfRecordSource& source;
    Batch<E> one;
    std::vector<Error>& ignored;

    auto lengths() const -> std::vector<std::uint64_t> { return source.files_->lengths(); }
    template <class Predicate> auto matches(Predicate& predicate, std::uint64_t number, Error& error) -> bool {
      check(number, error);
      return !error && predicate(std::as_const(one)[0]);
    }
    void check(std::uint64_t number, Error& error) {
      source.parse_records(1, [number](std::uint64_t) { return number; }, one, error);
    }
    void ignore(const Error& error) { ignored.push_back(error); }
    auto lost() const noexcept -> std::span<const Error> { return source.files_->lost(); }
  };

  auto in_order() const noexcept -> Batching { return {batching_.size, Remainder::keep}; }

  // The order by value: it notes things while it is asked.
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

  template <class RecordAt>
  void parse_records(std::uint64_t count, RecordAt&& record_at, Batch<E>& batch, Error& error) const {
    ExampleParser<E, Ms...> parser{schema_, batch, static_cast<std::size_t>(count), files_};
    std::array<std::uint64_t, 16> ahead;  // record i at i % 16, from when its offset was asked for until it is parsed
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
};

}  // namespace v0
}  // namespace distrib
