// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/example/batch.hpp>
#include <distrib/example/error.hpp>
#include <distrib/example/schema.hpp>

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

namespace distrib::inline v0 {

namespace detail {

inline constexpr std::uint32_t first_message = wire_tag(1, WireType::bytes);  // every message here has its content in 1
inline constexpr std::uint32_t second_message = wire_tag(2, WireType::bytes);

/// Adds the values of a BytesList, FloatList or Int64List to a column. False: malformed.
template <class Column>
auto read_list(ByteView list, Column& column) -> bool {
  constexpr FeatureKind kind = Column::Traits::kind;
  WireReader reader{list};
  while (reader.next()) {
    if (reader.tag() == first_message) {
      if constexpr (kind == FeatureKind::bytes) {
        column.add(reader.bytes());
      } else if constexpr (kind == FeatureKind::floats) {
        if (reader.bytes().size() % sizeof(float) != 0) return false;
        column.add_packed(reader.bytes());
      } else {
        ByteView rest = reader.bytes();
        while (!rest.empty()) {
          std::uint64_t value = 0;
          if (!read_varint(rest, value)) return false;
          column.add(static_cast<std::int64_t>(value));
        }
      }
    }
    if constexpr (kind == FeatureKind::floats)
      if (reader.tag() == wire_tag(1, WireType::fixed32)) column.add(reader.float32());
    if constexpr (kind == FeatureKind::int64s)
      if (reader.tag() == wire_tag(1, WireType::varint)) column.add(reader.int64());
  }
  return reader.ok();
}

}  // namespace detail

/// Parses serialized tf.train.Examples, one by one, into the rows of a batch:
///
///     ExampleParser parser{schema, batch, records.size(), keep_alive};
///     for (ByteView record : records) parser.add(record, error);   // stop at the first error: the batch stays empty
///     parser.finish();
///
/// Every encoding that protobuf allows is understood: lists packed or not or in several pieces, keys in any order, of
/// equal keys the last one counts, parts of a split message add up, unknown fields are passed over. Features that the
/// schema does not name are not looked into.
///
/// Lifetime: schema and batch outlive the parser; the records' bytes stay as long as `keep_alive` is held (null: the
/// caller sees to it), because views of bytes point into them. One thread at a time.
template <class E, FeatureMember... Ms>
class ExampleParser {
 public:
  /// Empties `batch` and makes room for `rows` records.
  ExampleParser(const Schema<E, Ms...>& schema, Batch<E>& batch, std::size_t rows,
                std::shared_ptr<const void> keep_alive = nullptr)
      : schema_{schema}, batch_{batch}, columns_{batch.start(schema, rows, std::move(keep_alive))}, rows_{rows} {}

  /// Parses the next record; at most `rows` times. `error`: `example_errc::malformed`, or `missing_feature`,
  /// `wrong_kind`, `wrong_count` and the name of the feature.
  void add(ByteView record, Error& error) {
    assert(row_ < rows_);
    kinds_.fill(FeatureKind::none);
    std::apply([this](auto*... column) { (column->start_row(row_), ...); }, columns_);
    WireReader example{record};
    while (example.next()) {
      if (example.tag() != detail::first_message || read_features(example.bytes())) continue;
      error = {example_errc::malformed, {}};
      return;
    }
    if (!example.ok()) {
      error = {example_errc::malformed, {}};
      return;
    }
    if (for_each_feature([&]<std::size_t I>() { return end_row<I>(error); })) ++row_;
  }

  /// Hands the records to the batch.
  void finish() noexcept {
    std::apply([](auto*... column) { (column->finish(), ...); }, columns_);
    batch_.size_ = row_;
  }

 private:
  template <std::size_t I>
  using Traits = detail::MemberTraits<std::tuple_element_t<I, std::tuple<Ms...>>>;

  /// Calls `f.template operator()<I>()` for each feature until it is false; returns whether it was always true.
  template <class F>
  static auto for_each_feature(F&& f) -> bool {
    return [&]<std::size_t... Is>(std::index_sequence<Is...>) {
      return (f.template operator()<Is>() && ...);
    }(std::index_sequence_for<Ms...>{});
  }

  auto read_features(ByteView features) -> bool {
    WireReader reader{features};
    while (reader.next())
      if (reader.tag() == detail::first_message && !read_entry(reader.bytes())) return false;
    return reader.ok();
  }

  /// An entry of the map: key 1, value 2, in any order. Of several keys the last one counts, several values are parts.
  auto read_entry(ByteView bytes) -> bool {
    std::string_view key;
    ByteView value;
    std::size_t values = 0;
    WireReader entry{bytes};
    while (entry.next()) {
      if (entry.tag() == detail::first_message) key = entry.text();
      if (entry.tag() == detail::second_message) {
        value = entry.bytes();
        ++values;
      }
    }
    if (!entry.ok()) return false;

    bool well_formed = true;
    for_each_feature([&]<std::size_t I>() {
      if (std::get<I>(schema_.features()).name() != key) return true;
      kinds_[I] = FeatureKind::none;
      std::get<I>(columns_)->start_row(row_);
      if (values == 1) {
        well_formed = read_feature<I>(value);
      } else {
        WireReader parts{bytes};
        while (well_formed && parts.next())
          if (parts.tag() == detail::second_message) well_formed = read_feature<I>(parts.bytes());
      }
      return false;
    });
    return well_formed;
  }

  /// (Part of) the value of feature I. Another kind than before drops what was there, as in every oneof of protobuf.
  template <std::size_t I>
  auto read_feature(ByteView feature) -> bool {
    auto& column = *std::get<I>(columns_);
    WireReader reader{feature};
    while (reader.next()) {
      if (reader.type() != WireType::bytes || reader.field() > 3) continue;  // none of the three kinds
      const auto kind = static_cast<FeatureKind>(reader.field());
      if (kind != kinds_[I]) {
        kinds_[I] = kind;
        column.start_row(row_);
      }
      if (kind == Traits<I>::kind && !detail::read_list(reader.bytes(), column)) return false;
    }
    return reader.ok();
  }

  template <std::size_t I>
  auto end_row(Error& error) -> bool {
    auto& column = *std::get<I>(columns_);
    const auto& feature = std::get<I>(schema_.features());
    const auto place = [&feature] { return "feature \"" + std::string{feature.name()} + '"'; };
    constexpr bool ragged = Traits<I>::form == detail::Form::ragged;
    if (kinds_[I] == FeatureKind::none) {
      if (feature.fallback())
        column.set(*feature.fallback());
      else if (!ragged)
        return fail(error, example_errc::missing_feature, place());
    } else if (kinds_[I] != Traits<I>::kind) {
      return fail(error, example_errc::wrong_kind,
                  place() + " holds " + std::string{name(kinds_[I])} + ", not " + std::string{name(Traits<I>::kind)});
    } else if (!ragged && column.count() != Traits<I>::count) {
      return fail(error, example_errc::wrong_count,
                  place() + " has " + std::to_string(column.count()) + ", not " + std::to_string(Traits<I>::count));
    }
    column.end_row();
    return true;
  }

  static auto fail(Error& error, example_errc code, std::string where) -> bool {
    error = {code, std::move(where)};
    return false;
  }

  const Schema<E, Ms...>& schema_;
  Batch<E>& batch_;
  std::tuple<detail::Column<E, Ms>*...> columns_;
  std::array<FeatureKind, sizeof...(Ms)> kinds_{};
  std::size_t rows_;
  std::size_t row_ = 0;
};

/// Parses `records`, one after the other, into `batch`, whose views of bytes point into them. A failure goes
/// to `error` with record and feature, and leaves the batch empty: `example_errc::malformed`, `missing_feature`,
/// `wrong_kind`, `wrong_count`.
template <class E, FeatureMember... Ms>
void parse_examples(const Schema<E, Ms...>& schema, std::span<const ByteView> records, Batch<E>& batch, Error& error) {
  error = {};
  ExampleParser<E, Ms...> parser{schema, batch, records.size()};
  for (std::size_t i = 0; i < records.size(); ++i) {
    parser.add(records[i], error);
    if (!error) continue;
    error.where = "record " + std::to_string(i) + (error.where.empty() ? "" : ", ") + error.where;
    return;
  }
  parser.finish();
}

/// The same; a failure is thrown as `std::system_error`.
template <class E, FeatureMember... Ms>
void parse_examples(const Schema<E, Ms...>& schema, std::span<const ByteView> records, Batch<E>& batch) {
  Error error;
  parse_examples(schema, records, batch, error);
  throw_if(error);
}

/// The same; a failure goes to `ec`.
template <class E, FeatureMember... Ms>
void parse_examples(const Schema<E, Ms...>& schema, std::span<const ByteView> records, Batch<E>& batch,
                    std::error_code& ec) {
  Error error;
  parse_examples(schema, records, batch, error);
  ec = error.code;
}

}  // namespace distrib::inline v0
