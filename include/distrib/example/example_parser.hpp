// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/example/batch.hpp>
#include <distrib/example/detail/row_parser.hpp>
#include <distrib/example/schema.hpp>

#include <cassert>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace distrib {
inline namespace v0 {

/// Parses serialized tf.train.Examples, one by one, into the rows of a batch:
///
///     ExampleParser parser{schema, batch, records.size(), keep_alive};
///     for (ByteView record : records) parser.add(record, error);   // stop at the first error: the batch stays empty
///     parser.finish();
///
/// Understands every encoding that protobuf allows: lists packed or not or in several pieces, keys in any order; if a
/// key occurs twice, the last one counts; parts of a split message are joined, unknown fields are skipped. Features
/// that the schema does not name are not examined.
///
/// Lifetime: schema and batch must outlive the parser. Views of bytes point into the records. The batch holds
/// `keep_alive`, an owner of the records, until it is filled again or destroyed; if it is null, the caller must keep
/// the records valid while the batch is used. The bytes of defaults (`otherwise`) must stay valid, too.
///
/// Threads: one at a time.
template <class E, FeatureMember... Ms> class ExampleParser {
 public:
  /// Empties `batch`, and makes room for `rows` records.
  ExampleParser(const Schema<E, Ms...>& schema, Batch<E>& batch, std::size_t rows,
                std::shared_ptr<const void> keep_alive = nullptr)
      : batch_{batch},
        parser_{schema.keys_, schema.cells_.data(), batch.start(schema, rows, std::move(keep_alive))},
        rows_{rows} {}

  /// Parses the next record; at most `rows` may be added. On failure sets `error`, naming the feature:
  /// `example_errc::malformed` (without a feature), `missing_feature`, `wrong_kind` or `wrong_count`. Such a record is
  /// not added, but later records may be. Trap: on success `error` stays as it was, so clear it before you continue
  /// after a failure.
  void add(ByteView record, Error& error) {
    assert(parser_.rows() < rows_);
    parser_.add(record, error);
  }

  /// Returns the number of records that were added without an error.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return parser_.rows(); }

  /// Makes the added records the content of the batch; until then it is empty.
  void finish() { batch_.template finish<Ms...>(parser_.rows()); }

 private:
  Batch<E>& batch_;
  detail::RowParser parser_;
  std::size_t rows_;
};

/// Parses `records`, one after another, into `batch`, whose views of bytes point into them: the caller must keep them
/// valid while the batch is used. On failure sets `to`, with record and feature, and leaves the batch empty:
/// `example_errc::malformed`, `missing_feature`, `wrong_kind`, `wrong_count`.
template <class E, FeatureMember... Ms>
void parse_examples(const Schema<E, Ms...>& schema, std::span<const ByteView> records, Batch<E>& batch, ErrorRef to) {
  detail::ErrorOut error{to};
  ExampleParser<E, Ms...> parser{schema, batch, records.size()};
  for (std::size_t i = 0; i < records.size(); ++i) {
    parser.add(records[i], error);
    if (!error) continue;
    error.where = "record " + std::to_string(i) + (error.where.empty() ? "" : ", ") + error.where;
    return;
  }
  parser.finish();
}

/// This overload throws the error as `std::system_error`.
template <class E, FeatureMember... Ms>
void parse_examples(const Schema<E, Ms...>& schema, std::span<const ByteView> records, Batch<E>& batch) {
  Error error;
  parse_examples(schema, records, batch, error);
  throw_if(error);
}

}  // namespace v0
}  // namespace distrib
