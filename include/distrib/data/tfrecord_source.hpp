// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/data/error.hpp>
#include <distrib/data/permutation.hpp>
#include <distrib/data/record_files.hpp>
#include <distrib/example/batch.hpp>
#include <distrib/example/example_parser.hpp>
#include <distrib/example/schema.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace distrib::inline v0 {

/// In which order a source gives its records, and how many at a time.
struct ReadingPlan {
  std::uint64_t batch_size = 0;           ///< Records of a batch, 1 .. 2^31.
  std::optional<std::uint64_t> seed{};    ///< Shuffle, anew in every epoch; unset: the order of the files.
  std::optional<std::uint64_t> epochs{};  ///< How often every record comes; unset: for ever.
};

/// Records of TFRecord files as batches of struct E; a BatchSource. Opened by `tfrecords(...).open()`.
///
/// The stream of records has positions from 0: with n records, position p is epoch p / n, and there record p % n, or
/// with a seed record `Permutation{n, seed, epoch}(p % n)`. Batch b holds positions b * batch_size and following, also
/// across the end of an epoch, so no batch is short. All is a pure function of (files, seed, b).
///
/// Movable; const access from any thread, each with a batch of its own. Batches keep the files' bytes alive.
template <class E, FeatureMember... Ms>
class TfRecordSource {
 public:
  using ExampleType = E;

  /// Checks `plan` against `files`. `error`: `data_errc::no_records`, `bad_batch_size`, `too_few_records`.
  TfRecordSource(RecordFiles files, const Schema<E, Ms...>& schema, const ReadingPlan& plan, Error& error)
      : files_{std::make_shared<const RecordFiles>(std::move(files))}, schema_{schema}, plan_{plan} {
    if (records() == 0)
      error.code = data_errc::no_records;
    else if (plan.batch_size == 0 || plan.batch_size > most_in_batch)
      error.code = data_errc::bad_batch_size;
    else if (batches() == 0)
      error.code = data_errc::too_few_records;
  }

  /// Records in the files.
  [[nodiscard]] auto records() const noexcept -> std::uint64_t { return files_->size(); }

  /// Records in a batch that `fill` fills.
  [[nodiscard]] auto batch_size() const noexcept -> std::uint64_t { return plan_.batch_size; }

  /// Batches that `fill` can fill; empty: any number. Records that are left over after the last one are not used.
  [[nodiscard]] auto batches() const noexcept -> std::optional<std::uint64_t> {
    if (!plan_.epochs) return std::nullopt;
    std::uint64_t positions = 0;
    if (__builtin_mul_overflow(records(), *plan_.epochs, &positions))
      positions = std::numeric_limits<std::uint64_t>::max();
    return positions / plan_.batch_size;
  }

  /// Fills `batch` with batch `number`, from 0. A failure goes to `error` with file, record and offset, and leaves the
  /// batch empty: `record_errc::corrupt_payload`, an `example_errc` with the feature, or `data_errc::no_such_batch`.
  void fill(std::uint64_t number, Batch<E>& batch, Error& error) const {
    error = {};
    const std::uint64_t most = batches().value_or(std::numeric_limits<std::uint64_t>::max() / plan_.batch_size);
    if (number >= most) {
      batch = {};
      error = {data_errc::no_such_batch, "batch " + std::to_string(number)};
      return;
    }
    const std::uint64_t first = number * plan_.batch_size;
    std::uint64_t epoch = first / records();
    std::optional<Permutation> order = order_of(epoch);
    const auto record_at = [&](std::uint64_t i) {
      const std::uint64_t position = first + i;
      if (position / records() != epoch) order = order_of(epoch = position / records());
      return order ? (*order)(position % records()) : position % records();
    };
    parse(plan_.batch_size, record_at, batch, error);
  }

  /// The same; a failure is thrown as `std::system_error`.
  void fill(std::uint64_t number, Batch<E>& batch) const {
    Error error;
    fill(number, batch, error);
    throw_if(error);
  }

  /// The same; a failure goes to `ec`.
  void fill(std::uint64_t number, Batch<E>& batch, std::error_code& ec) const {
    Error error;
    fill(number, batch, error);
    ec = error.code;
  }

  /// Batches that `fill_in_order` can fill.
  [[nodiscard]] auto in_order_batches() const noexcept -> std::uint64_t {
    return records() / plan_.batch_size + (records() % plan_.batch_size == 0 ? 0 : 1);
  }

  /// Fills `batch` with part `number`, from 0, of all records in the order of the files, each once; the last part may
  /// be short. For evaluation: neither shuffle nor repeat matters. Errors as in `fill`.
  void fill_in_order(std::uint64_t number, Batch<E>& batch, Error& error) const {
    error = {};
    if (number >= in_order_batches()) {
      batch = {};
      error = {data_errc::no_such_batch, "batch " + std::to_string(number)};
      return;
    }
    const std::uint64_t first = number * plan_.batch_size;
    parse(std::min(plan_.batch_size, records() - first), [first](std::uint64_t i) { return first + i; }, batch, error);
  }

  /// The same; a failure is thrown as `std::system_error`.
  void fill_in_order(std::uint64_t number, Batch<E>& batch) const {
    Error error;
    fill_in_order(number, batch, error);
    throw_if(error);
  }

  /// The same; a failure goes to `ec`.
  void fill_in_order(std::uint64_t number, Batch<E>& batch, std::error_code& ec) const {
    Error error;
    fill_in_order(number, batch, error);
    ec = error.code;
  }

  /// "tfrecords records=60000 batch=64 shuffle=7 repeat=forever fingerprint=0123456789abcdef" (without a seed
  /// "shuffle=none"): equal lines, equal batches, as far as sizes and record counts of the files can tell.
  [[nodiscard]] auto describe() const -> std::string {
    return "tfrecords records=" + std::to_string(records()) + " batch=" + std::to_string(plan_.batch_size) +
           " shuffle=" + (plan_.seed ? std::to_string(*plan_.seed) : "none") +
           " repeat=" + (plan_.epochs ? std::to_string(*plan_.epochs) : "forever") +
           " fingerprint=" + files_->fingerprint();
  }

 private:
  static constexpr std::uint64_t most_in_batch = std::uint64_t{1} << 31;

  auto order_of(std::uint64_t epoch) const noexcept -> std::optional<Permutation> {
    if (!plan_.seed) return std::nullopt;
    return Permutation{records(), *plan_.seed, epoch};
  }

  template <class RecordAt>
  void parse(std::uint64_t count, RecordAt&& record_at, Batch<E>& batch, Error& error) const {
    ExampleParser<E, Ms...> parser{schema_, batch, static_cast<std::size_t>(count), files_};
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t record = record_at(i);
      const ByteView bytes = files_->at(record, error);
      if (error) return;
      parser.add(bytes, error);
      if (!error) continue;
      error.where = files_->place(record) + (error.where.empty() ? "" : ", ") + error.where;
      return;
    }
    parser.finish();
  }

  std::shared_ptr<const RecordFiles> files_;
  Schema<E, Ms...> schema_;
  ReadingPlan plan_;
};

}  // namespace distrib::inline v0
