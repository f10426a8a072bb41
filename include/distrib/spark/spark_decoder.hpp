// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/example/error.hpp>
#include <distrib/example/example_view.hpp>
#include <distrib/example/feature.hpp>
#include <distrib/example/sequence_example_view.hpp>
#include <distrib/spark/detail/utf8_names.hpp>
#include <distrib/spark/spark_encoder.hpp>
#include <distrib/spark/spark_error.hpp>
#include <distrib/spark/spark_schema.hpp>
#include <distrib/spark/spark_type.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// Returns the string that Java makes of bytes that it decodes as UTF-8.
[[nodiscard]] DISTRIB_DECL auto java_text(std::string_view bytes) -> std::string;

/// Returns the kind of list that holds values of a column.
[[nodiscard]] constexpr auto feature_kind(SparkType::Kind kind) noexcept -> FeatureKind {
  switch (kind) {
    case SparkType::Kind::boolean:
    case SparkType::Kind::integer:
    case SparkType::Kind::long_: return FeatureKind::int64s;
    case SparkType::Kind::string:
    case SparkType::Kind::binary: return FeatureKind::bytes;
    default: return FeatureKind::floats;
  }
}

/// Converts one value of a list to one of a column. Returns false if it does not fit.
inline auto convert(std::int64_t from, bool& to, SparkRules) -> bool {
  to = from != 0;
  return true;
}
inline auto convert(std::int64_t from, std::int32_t& to, SparkRules rules) -> bool {
  to = static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::uint64_t>(from)));
  return to == from || rules == SparkRules::like_connector;
}
inline auto convert(std::int64_t from, std::int64_t& to, SparkRules) -> bool {
  to = from;
  return true;
}
inline auto convert(float from, float& to, SparkRules) -> bool {
  to = from;
  return true;
}
inline auto convert(float from, double& to, SparkRules) -> bool {
  to = static_cast<double>(from);
  return true;
}
inline auto convert(float from, SparkDecimal& to, SparkRules) -> bool {
  to.value = static_cast<double>(from);
  return true;
}
inline auto convert(ByteView from, std::string& to, SparkRules rules) -> bool {
  to = as_text(from);
  if (rules == SparkRules::like_connector) to = java_text(to);
  return true;
}
inline auto convert(ByteView from, std::vector<std::byte>& to, SparkRules) -> bool {
  to.assign(from.begin(), from.end());
  return true;
}

template <FeatureKind Kind>
using ListElement = std::conditional_t<Kind == FeatureKind::int64s, std::int64_t,
                                       std::conditional_t<Kind == FeatureKind::floats, float, ByteView>>;

/// Replaces `to` by all values of `feature`. Returns false if one does not fit.
template <class T> [[nodiscard]] auto convert_all(const FeatureView& feature, std::vector<T>& to, SparkRules rules)
    -> bool {
  using Element = ListElement<feature_kind(SparkTraits<T>::type.kind)>;
  bool fits = true;
  to.clear();
  to.reserve(feature.size());
  feature.for_each<Element>([&](Element element) {
    T value{};
    fits = convert(element, value, rules) && fits;
    to.push_back(std::move(value));
  });
  return fits;
}

}  // namespace detail

/// Decodes serialized Examples or SequenceExamples to rows of struct E. Features without a column are skipped.
///
/// | | `checked` | `like_connector` |
/// |---|---|---|
/// | a scalar column, none or several values | `spark_errc::wrong_count` | the same |
/// | a feature of another kind | `spark_errc::wrong_kind` | the same |
/// | a missing column | null if it is nullable, otherwise `spark_errc::null_value` | the same |
/// | an int64 beyond 32 bits in an Integer | `spark_errc::out_of_range` | its low 32 bits |
/// | Boolean | true if not 0 | `spark_errc::unsupported_type` |
/// | a SparkSparseVector | `spark_errc::unsupported_type` | the same |
/// | bytes that are not UTF-8 in a String | unchanged | replaced by U+FFFD |
/// | a feature without a kind | missing; as a step of a list: an empty array | `spark_errc::wrong_kind` |
/// | a name that is not UTF-8 | as any other | `example_errc::malformed` |
/// | a name in both context and feature lists | arrays of arrays: lists; others: context | the context |
///
/// Threads: one at a time. Movable.
template <class E, SparkMember... Ms> class SparkDecoder {
 public:
  /// Decodes records of `record_type` into rows of `schema`, under `rules`. Copies `schema`.
  explicit SparkDecoder(const SparkSchema<E, Ms...>& schema, SparkRecordType record_type = SparkRecordType::example,
                        SparkRules rules = SparkRules::checked)
      : schema_{schema}, names_{schema.names()}, record_type_{record_type}, rules_{rules} {}

  /// Excludes a column, whose value is set elsewhere: `decode` does not change it. Returns false if there is no such
  /// column.
  auto leave_out(std::string_view name) -> bool {
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (names_[i] == name) return left_out_[i] = true;
    return false;
  }

  /// Fills the columns of `row`.
  ///
  /// Errors: sets `to` to `example_errc::malformed`, or to an error of the table of the class with the column. The
  /// content of `row` is then unspecified.
  void decode(ByteView record, E& row, ErrorRef to) {
    detail::ErrorOut error{to};
    features_ = {};
    lists_ = {};
    if (record_type_ == SparkRecordType::example) {
      const ExampleView example{record, error.code};
      if (!error) find_features(example);
    } else {
      const SequenceExampleView sequence{record, error.code};
      if (!error) {
        find_features(sequence.context());
        sequence.for_each_list([&](const FeatureListView& list) {
          const std::size_t i = column_of(list.name());
          if (i != names_.size()) lists_[i] = {true, list};
        });
      }
    }
    if (!error && rules_ == SparkRules::like_connector && !detail::has_utf8_names(record, record_type_))
      error.code = example_errc::malformed;
    std::size_t i = 0;
    std::apply([&](const auto&... column) { (take(i++, column, row, error), ...); }, schema_.bound());
  }

  /// Returns the row of a record.
  ///
  /// Errors: sets `to` as the overload that fills `row` does; the row is then unspecified.
  [[nodiscard]] auto decode(ByteView record, ErrorRef to) -> E {
    E row{};
    decode(record, row, to);
    return row;
  }

  /// This overload throws the error as `std::system_error`.
  [[nodiscard]] auto decode(ByteView record) -> E {
    E row{};
    Error error;
    decode(record, row, error);
    return detail::or_throw(std::move(row), error);
  }

 private:
  template <class V> struct Found {
    bool found = false;
    V value;
  };

  void find_features(const ExampleView& example) {
    example.for_each([&](const FeatureView& feature) {  // if a name occurs several times, the last one counts
      const std::size_t i = column_of(feature.name());
      if (i != names_.size()) features_[i] = {true, feature};
    });
  }

  auto column_of(std::string_view name) const -> std::size_t {
    std::size_t i = 0;
    while (i < names_.size() && names_[i] != name) ++i;
    return i;
  }

  template <class C> void take(std::size_t i, const C& column, E& row, Error& error) {
    if (error || left_out_[i]) return;
    auto& member = row.*column.member();
    bool feature = features_[i].found;
    if (rules_ == SparkRules::checked && feature)
      feature = features_[i].value.kind() != FeatureKind::none && column.type().arrays < 2;
    const bool list =
        lists_[i].found && !feature && (rules_ == SparkRules::like_connector || column.type().arrays == 2);
    if (!feature && !list) return be_null(member, column.nullable(), error, i);
    error.code = read(i, value_of(member), list);
    if (error) error.where = where(i);
  }

  template <class M> void be_null(M& member, bool nullable, Error& error, std::size_t i) {
    if constexpr (detail::is_optional<M>) member.reset();
    if (!nullable) error = {spark_errc::null_value, where(i)};
  }

  template <class M> static auto value_of(M& member) -> auto& {
    if constexpr (detail::is_optional<M>) return member.emplace();
    else return member;
  }

  template <class T> auto read(std::size_t i, T& to, bool list) -> std::error_code {
    constexpr SparkType type = detail::SparkTraits<T>::type;
    constexpr FeatureKind kind = detail::feature_kind(type.kind);
    if constexpr (std::is_same_v<T, SparkSparseVector>) return spark_errc::unsupported_type;
    if (type.kind == SparkType::Kind::boolean && rules_ == SparkRules::like_connector)
      return spark_errc::unsupported_type;
    if (list != (type.arrays == 2)) return spark_errc::unsupported_type;
    if constexpr (type.arrays == 2) {
      to.clear();
      std::error_code code;
      lists_[i].value.for_each([&](const FeatureView& step) {
        to.emplace_back();
        if (!code) code = read_feature(step, kind, to.back());
      });
      return code;
    } else {
      return read_feature(features_[i].value, kind, to);
    }
  }

  template <class T> auto read_feature(const FeatureView& feature, FeatureKind kind, T& to) const -> std::error_code {
    // Only a step of a list may have no kind; other features without a kind are null.
    const bool empty = feature.kind() == FeatureKind::none && rules_ == SparkRules::checked;
    if (feature.kind() != kind && !empty) return spark_errc::wrong_kind;
    bool fits = true;
    if constexpr (detail::SparkTraits<T>::type.arrays == 1) {
      fits = detail::convert_all(feature, to, rules_);
    } else if constexpr (std::is_same_v<T, SparkVector>) {
      fits = detail::convert_all(feature, to.values, rules_);
    } else if constexpr (!std::is_same_v<T, SparkSparseVector>) {
      if (feature.size() != 1) return spark_errc::wrong_count;
      using Element = detail::ListElement<detail::feature_kind(detail::SparkTraits<T>::type.kind)>;
      feature.template for_each<Element>([&](Element element) { fits = detail::convert(element, to, rules_); });
    }
    return fits ? std::error_code{} : make_error_code(spark_errc::out_of_range);
  }

  auto where(std::size_t i) const -> std::string { return "column \"" + std::string{names_[i]} + '"'; }

  SparkSchema<E, Ms...> schema_;
  std::array<std::string_view, sizeof...(Ms)> names_;
  SparkRecordType record_type_;
  SparkRules rules_;
  std::array<bool, sizeof...(Ms)> left_out_{};
  std::array<Found<FeatureView>, sizeof...(Ms)> features_{};
  std::array<Found<FeatureListView>, sizeof...(Ms)> lists_{};
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/spark/impl/spark_decoder.ipp>
#endif
