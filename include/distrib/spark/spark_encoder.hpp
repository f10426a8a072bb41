// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/example/example_builder.hpp>
#include <distrib/spark/spark_error.hpp>
#include <distrib/spark/spark_schema.hpp>
#include <distrib/spark/spark_type.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

template <class T> inline constexpr bool is_optional = false;
template <class T> inline constexpr bool is_optional<std::optional<T>> = true;

/// The values of a feature, collected from a column. Only the list of the column's kind is used, the others stay empty.
struct SparkFeature {
  std::vector<std::int64_t> int64s;
  std::vector<float> floats;
  std::vector<ByteView> views;
  SparkRules rules = SparkRules::checked;
  bool fits = true;

  void clear() {
    int64s.clear();
    floats.clear();
    views.clear();
    fits = true;
  }

  void add(bool value) { int64s.push_back(value ? 1 : 0); }
  void add(std::int32_t value) { int64s.push_back(value); }
  void add(std::int64_t value) { int64s.push_back(value); }
  void add(float value) { floats.push_back(value); }
  void add(double value) {
    if (!round_to_float(value, floats.emplace_back()) && rules == SparkRules::checked) fits = false;
  }
  void add(SparkDecimal value) { add(value.value); }
  void add(const std::string& value) { views.push_back(as_bytes(value)); }
  void add(const std::vector<std::byte>& value) { views.emplace_back(value); }
  void add(const SparkVector& vector) {
    for (const double value : vector.values) add(value);
  }
  void add(const SparkSparseVector& vector) {
    if (vector.size > std::numeric_limits<std::int32_t>::max() || vector.indices.size() != vector.values.size()) {
      fits = false;
      return;
    }
    floats.resize(vector.size);
    for (std::size_t i = 0; i < vector.indices.size(); ++i) {
      if (vector.indices[i] >= vector.size) {
        fits = false;
        return;
      }
      SparkFeature one{.int64s = {}, .floats = {}, .views = {}, .rules = rules};
      one.add(vector.values[i]);
      fits = fits && one.fits;
      floats[vector.indices[i]] = one.floats.front();
    }
  }
  template <class T> void add(const std::vector<T>& values) {
    if constexpr (std::is_same_v<T, bool>)
      for (const bool value : values) add(value);
    else
      for (const T& value : values) add(value);
  }

  /// Calls `put` with the values of a column of this kind.
  template <class Put> void hand_to(SparkType::Kind kind, Put&& put) const {
    switch (kind) {
      case SparkType::Kind::boolean:
      case SparkType::Kind::integer:
      case SparkType::Kind::long_: return put(std::span<const std::int64_t>{int64s});
      case SparkType::Kind::string:
      case SparkType::Kind::binary: return put(std::span<const ByteView>{views});
      default: return put(std::span<const float>{floats});
    }
  }
};

}  // namespace detail

/// Encodes rows of struct E as serialized Examples or SequenceExamples, as spark-tensorflow-connector does: null
/// columns are left out, arrays of arrays become feature lists of a SequenceExample, and doubles and decimals are
/// rounded to float32. Equal rows have equal bytes. `checked` refuses finite doubles that would become infinite;
/// `like_connector` writes infinity. `like_connector` refuses arrays of arrays of Booleans. Memory is reused.
///
/// Threads: one at a time. Movable.
template <class E, SparkMember... Ms> class SparkEncoder {
 public:
  /// Encodes rows of `schema` as records of `record_type`, under `rules`. Copies `schema`.
  explicit SparkEncoder(const SparkSchema<E, Ms...>& schema, SparkRecordType record_type = SparkRecordType::example,
                        SparkRules rules = SparkRules::checked)
      : schema_{schema}, record_type_{record_type} {
    feature_.rules = rules;
  }

  /// Leaves a column out of the records, because the names of directories have its values. Returns false if there is no
  /// such column.
  auto leave_out(std::string_view name) -> bool {
    const auto names = schema_.names();
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i] == name) return left_out_[i] = true;
    return false;
  }

  /// Returns the bytes of `row`, valid until the next call.
  ///
  /// Errors: sets `to` to `spark_errc::null_value`; `out_of_range` (also for a wrong SparkSparseVector);
  /// or `unsupported_type` for an array of arrays in an Example, or of Booleans with `like_connector`; each with the
  /// column. The result is then empty.
  [[nodiscard]] auto encode(const E& row, ErrorRef to) -> ByteView {
    detail::ErrorOut error{to};
    builder_.clear();
    std::size_t i = 0;
    schema_.for_each(row, [&](const auto& column, const auto& value) {
      if (!left_out_[i++] && !error) put(column, value, error);
    });
    if (error) return {};
    return record_type_ == SparkRecordType::example ? builder_.context().build() : builder_.build();
  }

  /// This overload throws the error as `std::system_error`.
  [[nodiscard]] auto encode(const E& row) -> ByteView {
    Error error;
    return detail::or_throw(encode(row, error), error);
  }

 private:
  template <class C, class T> void put(const C& column, const T& value, Error& error) {
    if constexpr (detail::is_optional<T>) {
      if (value) return put(column, *value, error);
      if (!column.nullable()) error = {spark_errc::null_value, where(column)};
    } else if constexpr (detail::SparkTraits<T>::type.arrays == 2) {
      if (record_type_ == SparkRecordType::example) {
        error = {spark_errc::unsupported_type, where(column) + ": " + to_text(column.type()) + " in an Example"};
        return;
      }
      if (column.type().kind == SparkType::Kind::boolean && feature_.rules == SparkRules::like_connector) {
        error = {spark_errc::unsupported_type, where(column) + ": " + to_text(column.type())};
        return;
      }
      builder_.list(column.name());
      for (const auto& step : value) {
        gather(column, step, error);
        feature_.hand_to(column.type().kind, [&](auto values) { builder_.add(column.name(), values); });
      }
    } else {
      gather(column, value, error);
      feature_.hand_to(column.type().kind, [&](auto values) { builder_.context().set(column.name(), values); });
    }
  }

  template <class C, class T> void gather(const C& column, const T& value, Error& error) {
    feature_.clear();
    feature_.add(value);
    if (!feature_.fits && !error) error = {spark_errc::out_of_range, where(column)};
  }

  template <class C> static auto where(const C& column) -> std::string {
    return "column \"" + std::string{column.name()} + '"';
  }

  SparkSchema<E, Ms...> schema_;
  SparkRecordType record_type_;
  std::array<bool, sizeof...(Ms)> left_out_{};
  detail::SparkFeature feature_;
  SequenceExampleBuilder builder_;
};

}  // namespace v0
}  // namespace distrib
