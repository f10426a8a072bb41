// SPDX-License-Identifier: Apache-2.0
// Rows of Spark: how the connector infers columns, writes rows as records, and reads them.
#include "answers.hpp"

#include <distrib/example/example_builder.hpp>
#include <distrib/example/example_view.hpp>
#include <distrib/example/sequence_example_view.hpp>
#include <distrib/spark/spark_decoder.hpp>
#include <distrib/spark/spark_encoder.hpp>
#include <distrib/spark/spark_infer_schema.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

namespace conformance {

namespace {

using distrib::ByteView;
using distrib::FeatureKind;
using distrib::spark_errc;
using Kind = distrib::SparkType::Kind;
using distrib::SparkRecordType;
using distrib::SparkType;

constexpr auto like_connector = distrib::SparkRules::like_connector;

/// Returns the class of the exception that the connector throws.
auto connector_exception(const std::error_code& code) -> std::string {
  if (code == spark_errc::null_value) return "NullPointerException";
  if (code == spark_errc::no_steps) return "UnsupportedOperationException";
  if (code == spark_errc::wrong_kind || code == spark_errc::unknown_record_type) return "IllegalArgumentException";
  return "RuntimeException";
}

auto record_type(const Json& input) -> SparkRecordType {
  return distrib::detail::parse_record_type(input.value("recordType", "Example"));
}

// ---- values ----

auto from_json(const Json& json, bool& to) -> void { to = json.is_boolean() ? json.get<bool>() : json.get<int>() != 0; }
template <class T>
  requires std::is_arithmetic_v<T>
auto from_json(const Json& json, T& to) -> void {
  const bool text = json.is_string();
  if (text && json == "inf") to = static_cast<T>(INFINITY);
  if (text && json == "-inf") to = static_cast<T>(-INFINITY);
  if (text && json == "nan") to = static_cast<T>(NAN);
  if (!text) to = json.get<T>();
}
auto from_json(const Json& json, distrib::SparkDecimal& to) -> void {
  to.value = json.is_string() ? std::stod(json.get<std::string>()) : json.get<double>();
}
auto from_json(const Json& json, std::string& to) -> void { to = json.get<std::string>(); }
auto from_json(const Json& json, Bytes& to) -> void { to = from_hex(json); }
template <class T> auto from_json(const Json& json, std::vector<T>& to) -> void {
  for (const Json& one : json) {
    T value{};
    from_json(one, value);
    to.push_back(std::move(value));
  }
}
auto from_json(const Json& json, distrib::SparkVector& to) -> void { from_json(json, to.values); }
auto from_json(const Json& json, distrib::SparkSparseVector& to) -> void {
  to.size = json.at("size");
  to.indices = json.at("indices").get<std::vector<std::size_t>>();
  from_json(json.at("values"), to.values);
}

auto to_json(const Bytes& value) -> Json { return to_hex(value); }
auto to_json(const distrib::SparkDecimal& value) -> Json { return value.value; }
template <class T>
  requires(std::is_arithmetic_v<T> || std::is_same_v<T, std::string>)
auto to_json(const T& value) -> Json {
  return value;
}
template <class T> auto to_json(const std::vector<T>& values) -> Json {
  Json list = Json::array();
  for (const T& value : values) list.push_back(to_json(value));
  return list;
}
auto to_json(const distrib::SparkVector& value) -> Json { return to_json(value.values); }

template <class T> struct NamedType {
  using Type = T;
};

/// Calls `visit` with the C++ type of a column's type.
template <class T, class Visit> auto with_levels(unsigned arrays, Visit&& visit) -> decltype(auto) {
  if (arrays == 0) return visit(NamedType<T>{});
  if (arrays == 1) return visit(NamedType<std::vector<T>>{});
  return visit(NamedType<std::vector<std::vector<T>>>{});
}
template <class Visit> auto with_type(SparkType type, Visit&& visit) -> decltype(auto) {
  switch (type.kind) {
    case Kind::boolean: return with_levels<bool>(type.arrays, visit);
    case Kind::integer: return with_levels<std::int32_t>(type.arrays, visit);
    case Kind::long_: return with_levels<std::int64_t>(type.arrays, visit);
    case Kind::float_: return with_levels<float>(type.arrays, visit);
    case Kind::double_: return with_levels<double>(type.arrays, visit);
    case Kind::decimal: return with_levels<distrib::SparkDecimal>(type.arrays, visit);
    case Kind::string: return with_levels<std::string>(type.arrays, visit);
    case Kind::binary: return with_levels<Bytes>(type.arrays, visit);
    default: return visit(NamedType<distrib::SparkVector>{});
  }
}

/// A table of one column.
template <class T> struct OneColumn {
  std::optional<T> x;
};
template <class T> auto schema_of(bool nullable) {
  auto column = distrib::spark_column("x", &OneColumn<T>::x);
  if (!nullable) column = column.not_null();
  return distrib::spark_schema<OneColumn<T>>(column);
}

// ---- features ----

auto set_feature(distrib::ExampleBuilder& builder, std::string_view name, const Json& feature) -> void {
  if (feature.contains("int64_list")) builder.set(name, feature["int64_list"].get<std::vector<std::int64_t>>());
  else if (feature.contains("float_list")) builder.set(name, feature["float_list"].get<std::vector<float>>());
  else if (feature.contains("bytes_list_hex")) {
    std::vector<Bytes> values;
    from_json(feature["bytes_list_hex"], values);
    builder.set(name, std::vector<ByteView>{values.begin(), values.end()});
  } else {
    builder.set_none(name);
  }
}

/// Returns a feature, made from its kind and its number of values.
auto feature_of(const Json& told) -> Json {
  const Json kind = told.value("kind", Json());
  const auto length = told.value("length", std::size_t{0});
  if (kind == "int64") return {{"int64_list", std::vector<std::int64_t>(length)}};
  if (kind == "float") return {{"float_list", std::vector<float>(length)}};
  if (kind == "bytes") return {{"bytes_list_hex", std::vector<std::string>(length)}};
  return Json::object();
}

auto add_list(distrib::SequenceExampleBuilder& builder, std::string_view name, const Json& steps) -> void {
  builder.list(name);
  for (const Json& step : steps) {
    if (step.contains("int64_list")) builder.add(name, step["int64_list"].get<std::vector<std::int64_t>>());
    if (step.contains("float_list")) builder.add(name, step["float_list"].get<std::vector<float>>());
    if (step.empty()) builder.add_none(name);
    if (!step.contains("bytes_list_hex")) continue;
    std::vector<Bytes> values;
    from_json(step["bytes_list_hex"], values);
    builder.add(name, std::vector<ByteView>{values.begin(), values.end()});
  }
}

auto json_of(const distrib::FeatureView& feature) -> Json {
  Json values = Json::array();
  feature.for_each<std::int64_t>([&](std::int64_t value) { values.push_back(value); });
  feature.for_each<float>([&](float value) { values.push_back(value); });
  feature.for_each<ByteView>([&](ByteView value) { values.push_back(to_hex(value)); });
  if (feature.kind() == FeatureKind::int64s) return {{"int64_list", values}};
  if (feature.kind() == FeatureKind::floats) return {{"float_list", values}};
  return {{"bytes_list_hex", values}};
}

// ---- groups ----

auto type_text(SparkType type) -> std::string { return distrib::to_text(type); }

auto infer(const Json& input) -> Json {
  if (input.empty()) {
    std::vector<SparkType> types;
    for (const unsigned arrays : {2U, 0U, 1U})
      for (const Kind kind : {Kind::string, Kind::long_, Kind::float_}) types.push_back({kind, arrays});
    std::ranges::sort(types, {}, distrib::detail::precedence);
    Json order = Json::array();
    for (const SparkType type : types) order.push_back(type_text(type));
    return {{"order", order}};
  }
  const SparkRecordType type = record_type(input);
  distrib::SparkSchemaInference inference{type, like_connector};
  distrib::Error error;
  const auto add = [&](ByteView record) {
    inference.add(record, error);
    throw_if(error);
  };
  if (input.contains("feature_list")) {
    distrib::SequenceExampleBuilder builder;
    Json steps = Json::array();
    for (const Json& told : input["feature_list"]) steps.push_back(feature_of(told));
    add_list(builder, "x", steps);
    add(builder.build());
    return {{"type", type_text(inference.columns().front().type)}};
  }
  for (const Json& row : input.at("rows")) {
    distrib::SequenceExampleBuilder builder;
    for (const auto& [name, told] : row.items()) {
      if (told.is_object()) set_feature(builder.context(), name, feature_of(told));
      if (!told.is_array()) continue;
      Json steps = Json::array();
      for (const Json& step : told) steps.push_back(feature_of(step));
      add_list(builder, name, steps);
    }
    add(type == SparkRecordType::example ? builder.context().build() : builder.build());
  }
  Json schema = Json::object();
  for (const distrib::SparkColumn& column : inference.columns()) schema[column.name] = type_text(column.type);
  return {{"schema", schema}};
}

/// Returns a row of one column as a record.
auto encoded(const std::string& type, const Json& value, bool nullable, SparkRecordType record) -> Bytes {
  const auto encode = [&]<class T>(NamedType<T>) {
    OneColumn<T> row;
    if (!value.is_null()) from_json(value, row.x.emplace());
    const auto schema = schema_of<T>(nullable);
    distrib::SparkEncoder encoder{schema, record, like_connector};
    return copy(encoder.encode(row));
  };
  const bool sparse = type == "SparseVector" || (type == "Vector" && value.is_object());
  if (sparse) return encode(NamedType<distrib::SparkSparseVector>{});
  return with_type(distrib::detail::parse_spark_type(type == "DenseVector" ? "Vector" : type), encode);
}

auto encode(const Json& input) -> Json {
  const SparkRecordType record = record_type(input);
  const bool sequence = record == SparkRecordType::sequence_example;
  if (!input.contains("row")) {
    const std::string type = input.at("type");
    const Json value = input.contains("value") ? input["value"] : Json::array();
    const Bytes bytes = encoded(type, value, input.value("nullable", true), record);
    if (sequence && type.starts_with("Array<Array<") && !value.is_null()) {
      Json list;
      distrib::SequenceExampleView{bytes}.for_each_list([&](const distrib::FeatureListView& found) {
        list = Json::array();
        found.for_each([&](const distrib::FeatureView& step) { list.push_back(json_of(step)); });
      });
      return {{"feature_list", list}};
    }
    const distrib::ExampleView example{bytes};
    return {{"feature", example.contains("x") ? json_of(example.find("x")) : Json()}};
  }
  Json context = Json::object();
  Json lists = Json::object();
  // one column after another, because the library's rows are structs
  for (const auto& [name, cell] : input["row"].items()) {
    const Bytes bytes = encoded(cell.at(0), cell.at(1), true, record);
    const distrib::ExampleView example{bytes};
    if (example.contains("x")) context[name] = json_of(example.find("x"));
    if (!sequence) continue;
    distrib::SequenceExampleView{bytes}.for_each_list([&, &key = name](const distrib::FeatureListView& list) {
      lists[key] = Json::array();
      list.for_each([&](const distrib::FeatureView& step) { lists[key].push_back(json_of(step)); });
    });
  }
  if (!sequence) return {{"features", context}};
  return {{"context", context}, {"feature_lists", lists}};
}

auto decode(const Json& input) -> Json {
  if (input.contains("name_in_both")) {
    distrib::SequenceExampleBuilder builder;
    builder.context().set("x", 1);
    builder.add("x", std::vector<std::int64_t>{2});
    const auto schema = schema_of<std::int64_t>(true);
    distrib::SparkDecoder decoder{schema, SparkRecordType::sequence_example, like_connector};
    return {{"taken_from", decoder.decode(builder.build()).x == 1 ? "context" : "feature_lists"}};
  }
  const SparkType type = distrib::detail::parse_spark_type(input.at("type").get<std::string>());
  const bool list = input.contains("feature_list") || type.arrays == 2;
  distrib::SequenceExampleBuilder builder;
  if (input.contains("feature_list") && !input["feature_list"].is_null()) add_list(builder, "x", input["feature_list"]);
  if (input.contains("feature") && !input["feature"].is_null()) set_feature(builder.context(), "x", input["feature"]);
  const Bytes record = copy(list ? builder.build() : builder.context().build());
  return with_type(type, [&]<class T>(NamedType<T>) -> Json {
    const auto schema = schema_of<T>(input.value("nullable", true));
    distrib::SparkDecoder decoder{schema, list ? SparkRecordType::sequence_example : record_type(input),
                                  like_connector};
    const auto row = decoder.decode(record);
    return {{"value", row.x ? to_json(*row.x) : Json()}};
  });
}

}  // namespace

auto spark_groups() -> std::vector<Group> {
  return {{"spark_infer_schema", infer, connector_exception},
          {"spark_encode", encode, connector_exception},
          {"spark_decode", decode, connector_exception}};
}

}  // namespace conformance
