// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/data/order/batching.hpp>
#include <distrib/data/stream/stateless_step.hpp>
#include <distrib/data/stream/stream.hpp>
#include <distrib/example/batch.hpp>
#include <distrib/example/example_parser.hpp>
#include <distrib/example/schema.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/record/record.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// Passes the elements of one batch to `take`, one after the other. Returns true if they are a batch: a full one, or
/// with `Remainder::keep` one of at least one element. Otherwise the stream has ended, or has failed, which sets
/// `error`; the elements that were passed to `take` are then lost.
template <Stream S, class Take> auto gather(S& below, const Batching& batching, Take take, Error& error) -> bool {
  error.code = batching.check();
  std::uint64_t taken = 0;
  for (; !error && taken < batching.size; ++taken) {
    auto element = below.next(error);
    if (!element) break;
    take(*std::move(element));
  }
  return !error && (taken == batching.size || (batching.remainder == Remainder::keep && taken > 0));
}

}  // namespace detail

/// Groups elements into vectors of `batching.size`. Trap: elements that point to memory of the stream below are not
/// valid after the next element was read, so map them first to values that own their data.
///
/// Errors: `next` reports `data_errc::bad_batch_size`, or what the stream below reports. The elements of a batch that
/// failed are lost.
template <Stream Below> class BatchedStream : public StatelessStep<Below> {
 public:
  static_assert(!std::is_same_v<typename Below::Element, Record>,
                "distrib: a record's bytes are valid only until the next record: use batch(schema, n), or map(...) to "
                "values first");
  using Element = std::vector<typename Below::Element>;

  BatchedStream(Below below, const Batching& batching) : StatelessStep<Below>{std::move(below)}, batching_{batching} {}

  [[nodiscard]] auto next(Error& error) -> std::optional<Element> {
    Element batch;
    const auto take = [&batch](auto&& element) { batch.push_back(std::move(element)); };
    return detail::gather(below_, batching_, take, error) ? std::optional{std::move(batch)} : std::nullopt;
  }
  [[nodiscard]] auto describe() const -> std::string {
    return below_.describe() + " batch=" + std::to_string(batching_.size);
  }

 private:
  using StatelessStep<Below>::below_;
  Batching batching_;
};

/// Parses records into the columns of a batch, which is valid until the next batch is requested. Ragged features are
/// cut or padded as the schema says. The payloads are copied once into one buffer, so the batch needs no file.
///
/// Errors: `next` reports `data_errc::bad_batch_size`, what the stream below reports, or an `example_errc` with record
/// and feature. The elements of a batch that failed are lost.
template <Stream Below, class E, FeatureMember... Ms> class ExampleStream : public StatelessStep<Below> {
 public:
  using Element = const Batch<E>*;

  ExampleStream(Below below, const Schema<E, Ms...>& schema, const Batching& batching)
      : StatelessStep<Below>{std::move(below)},
        schema_{schema},
        batching_{batching},
        batch_{std::make_unique<Batch<E>>()} {}

  [[nodiscard]] auto next(Error& error) -> std::optional<Element> {
    bytes_.clear();
    ends_.clear();
    const auto take = [this](const Record& record) {
      bytes_.insert(bytes_.end(), record.bytes.begin(), record.bytes.end());
      ends_.push_back(bytes_.size());
    };
    if (!detail::gather(below_, batching_, take, error)) return std::nullopt;
    ExampleParser<E, Ms...> parser{schema_, *batch_, ends_.size()};
    std::size_t begin = 0;
    for (std::size_t i = 0; i < ends_.size(); begin = ends_[i++]) {
      parser.add(ByteView{bytes_}.subspan(begin, ends_[i] - begin), error);
      if (!error) continue;
      error.where = "record " + std::to_string(i) + " of the batch" + (error.where.empty() ? "" : ", ") + error.where;
      return std::nullopt;
    }
    parser.finish();
    return batch_.get();
  }
  [[nodiscard]] auto describe() const -> std::string {
    return below_.describe() + " batch=" + std::to_string(batching_.size);
  }

 private:
  using StatelessStep<Below>::below_;
  Schema<E, Ms...> schema_;
  Batching batching_;
  std::vector<std::byte> bytes_;
  std::vector<std::size_t> ends_;
  std::unique_ptr<Batch<E>> batch_;  // its address stays the same when the stream moves
};

}  // namespace v0
}  // namespace distrib
