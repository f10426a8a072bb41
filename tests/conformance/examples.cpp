// SPDX-License-Identifier: Apache-2.0
// Bytes of Examples, and what parse_example makes of them.
#include "answers.hpp"

#include <distrib/core/bytes.hpp>
#include <distrib/example.hpp>
#include <distrib/example/parse_example.hpp>
#include <distrib/example/parse_sequence_example.hpp>
#include <distrib/record/frame.hpp>

#include <cstdint>
#include <limits>
#include <span>
#include <utility>

namespace conformance {

namespace {

using distrib::ByteView;
using distrib::FeatureKind;

auto text_bytes(const Json& value) -> Bytes { return copy(distrib::as_bytes(value.get_ref<const std::string&>())); }

auto float_of(const Json& value) -> float {
  if (!value.is_string()) return value.get<float>();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const auto name = value.get<std::string>();
  if (name == "nan" || name == "NaN") return std::numeric_limits<float>::quiet_NaN();
  return name.starts_with("-") ? -infinity : infinity;
}

/// The values of a feature as they are written in a question: {"int64_list": [1, 2]}.
class Values {
 public:
  explicit Values(const Json& feature) {
    if (feature.is_null() || feature.empty()) return;
    const std::string key = feature.begin().key();
    const Json& list = feature.begin().value();
    if (list.is_null()) return;
    if (key == "int64_list") {
      kind_ = FeatureKind::int64s;
      int64s_ = list.get<std::vector<std::int64_t>>();
    } else if (key == "float_list") {
      kind_ = FeatureKind::floats;
      for (const Json& value : list) floats_.push_back(float_of(value));
    } else if (key.starts_with("bytes_list")) {
      kind_ = FeatureKind::bytes;
      for (const Json& value : list) bytes_.push_back(key.ends_with("_hex") ? from_hex(value) : text_bytes(value));
      views_.assign(bytes_.begin(), bytes_.end());
    } else {
      throw Unsupported{};
    }
  }

  /// Calls `to` with the values, or without arguments if there is no kind.
  void give(auto&& to) const {
    switch (kind_) {
      case FeatureKind::int64s: return to(std::span{int64s_});
      case FeatureKind::floats: return to(std::span{floats_});
      case FeatureKind::bytes: return to(std::span{views_});
      case FeatureKind::none: return to();
    }
  }

 private:
  FeatureKind kind_ = FeatureKind::none;
  std::vector<std::int64_t> int64s_;
  std::vector<float> floats_;
  std::vector<Bytes> bytes_;
  std::vector<ByteView> views_;
};

void set_features(distrib::ExampleBuilder& builder, const Json& features) {
  for (const auto& [name, feature] : features.items())
    Values{feature}.give([&builder, &key = name](auto... values) {
      if constexpr (sizeof...(values) == 0) builder.set_none(key);
      else builder.set(key, values...);
    });
}

auto serialized(const Json& example) -> Bytes {
  if (example.is_string()) return from_hex(example);
  if (example.contains("serialized_hex")) return from_hex(example["serialized_hex"]);
  distrib::ExampleBuilder builder;
  set_features(builder, example);
  return copy(builder.build());
}

auto serialized_sequence(const Json& input) -> Bytes {
  distrib::SequenceExampleBuilder builder;
  set_features(builder.context(), input.value("context", Json::object()));
  for (const auto& [name, steps] : input.at("feature_lists").items()) {
    builder.list(name);
    for (const Json& step : steps)
      Values{step}.give([&builder, &key = name](auto... values) {
        if constexpr (sizeof...(values) == 0) throw Unsupported{};
        else builder.add(key, values...);
      });
  }
  return copy(builder.build());
}

auto feature_json(const distrib::FeatureView& feature) -> Json {
  Json list = Json::array();
  switch (feature.kind()) {
    case FeatureKind::int64s:
      feature.for_each<std::int64_t>([&](std::int64_t value) { list.push_back(value); });
      return {{"int64_list", list}};
    case FeatureKind::floats:
      feature.for_each<float>([&](float value) { list.push_back(value); });
      return {{"float_list", list}};
    case FeatureKind::bytes:
      feature.for_each<ByteView>([&](ByteView value) { list.push_back(std::string{distrib::as_text(value)}); });
      return {{"bytes_list_utf8", list}};
    case FeatureKind::none: break;
  }
  return Json::object();
}

auto example_proto(const Json& input) -> Json {
  if (input.contains("serialized_hex")) {
    const Bytes bytes = from_hex(input["serialized_hex"]);
    Json features = Json::object();
    distrib::ExampleView{bytes}.for_each(
        [&](const distrib::FeatureView& feature) { features[std::string{feature.name()}] = feature_json(feature); });
    return {{"features", features}};
  }
  const Bytes bytes = input.contains("features") ? serialized(input["features"]) : serialized_sequence(input);
  const std::string framed = to_hex(distrib::encode_record_header(bytes.size())) + to_hex(bytes) +
                             to_hex(distrib::encode_record_footer(bytes));
  return {{"serialized_hex", to_hex(bytes)}, {"tfrecord_hex", framed}};
}

auto feature_kind_of(const Json& dtype) -> FeatureKind {
  if (dtype == "int64") return FeatureKind::int64s;
  if (dtype == "float32") return FeatureKind::floats;
  if (dtype == "string") return FeatureKind::bytes;
  if (dtype.is_null()) return FeatureKind::none;
  throw Refused{"ValueError"};
}

/// Returns element `i` of a list that may be shorter.
auto item(const Json& list, std::size_t i) -> Json { return i < list.size() ? list[i] : Json(); }

auto feature_shape_of(const Json& extents) -> distrib::FeatureShape {
  if (extents.is_null()) return distrib::FeatureShape::missing();
  std::vector<std::int64_t> numbers;
  for (const Json& extent : extents) numbers.push_back(extent.is_null() ? -1 : extent.get<std::int64_t>());
  return distrib::FeatureShape{numbers};
}

void append_default(const Json& value, FeatureKind kind, distrib::FeatureDefault& to) {
  if (value.is_null()) return;
  if (value.is_array())
    for (const Json& part : value) append_default(part, kind, to);
  else if (kind == FeatureKind::int64s) to.int64s.push_back(value.get<std::int64_t>());
  else if (kind == FeatureKind::floats) to.floats.push_back(float_of(value));
  else to.bytes.push_back(value.get<std::string>());
}

auto partition_of(const Json& partition) -> distrib::RaggedPartition {
  const auto name = partition.at(0).get<std::string>();
  if (name == "UniformRowLength") return distrib::UniformRowLength{partition.at(1).get<std::int64_t>()};
  const auto key = partition.at(1).get<std::string>();
  if (name == "RowSplits") return distrib::RowSplits{key};
  if (name == "RowLengths") return distrib::RowLengths{key};
  if (name == "RowStarts") return distrib::RowStarts{key};
  if (name == "RowLimits") return distrib::RowLimits{key};
  if (name == "ValueRowIds") return distrib::ValueRowIds{key};
  throw Refused{"ValueError"};
}

auto as_list(const Json& one_or_more) -> Json {
  return one_or_more.is_array() ? one_or_more : one_or_more.is_null() ? Json::array() : Json::array({one_or_more});
}

auto spec_of(const Json& spec) -> distrib::FeatureSpec {
  const auto form = spec.at(0).get<std::string>();
  if (form == "FixedLen") {
    distrib::FixedLen fixed{.shape = feature_shape_of(item(spec, 1)), .kind = feature_kind_of(item(spec, 2))};
    append_default(item(spec, 3), fixed.kind, fixed.otherwise);
    return fixed;
  }
  if (form == "VarLen") return distrib::VarLen{.kind = feature_kind_of(item(spec, 1))};
  if (form == "FixedLenSequence") {
    distrib::FixedLenSequence sequence{.shape = feature_shape_of(item(spec, 1)),
                                       .kind = feature_kind_of(item(spec, 2))};
    for (std::size_t i = 3; i < spec.size(); ++i)
      if (spec[i].is_boolean()) sequence.allow_missing = spec[i].get<bool>();
      else append_default(spec[i], sequence.kind, sequence.otherwise);
    return sequence;
  }
  if (form == "Sparse") {
    distrib::Sparse sparse{.value_key = item(spec, 2).is_null() ? "" : item(spec, 2).get<std::string>(),
                           .kind = feature_kind_of(item(spec, 3))};
    for (const Json& key : as_list(item(spec, 1))) sparse.index_keys.push_back(key.get<std::string>());
    for (const Json& size : as_list(item(spec, 4))) sparse.sizes.push_back(size.get<std::int64_t>());
    sparse.already_sorted = item(spec, 5).is_boolean() && item(spec, 5).get<bool>();
    return sparse;
  }
  if (form == "Ragged") {
    distrib::Ragged ragged{.kind = feature_kind_of(item(spec, 2)),
                           .value_key = item(spec, 1).is_null() ? "" : item(spec, 1).get<std::string>()};
    for (const Json& partition : as_list(item(spec, 3))) ragged.partitions.push_back(partition_of(partition));
    return ragged;
  }
  throw Refused{"ValueError"};
}

auto values_json(const distrib::ParsedFeature& feature) -> Json {
  Json list = Json::array();
  if (feature.kind == FeatureKind::int64s)
    for (const std::int64_t value : feature.values<std::int64_t>()) list.push_back(value);
  if (feature.kind == FeatureKind::floats)
    for (const float value : feature.values<float>()) list.push_back(value);
  if (feature.kind == FeatureKind::bytes)
    for (const ByteView value : feature.values<ByteView>()) list.push_back(std::string{distrib::as_text(value)});
  return list;
}

/// Returns `values` as nested lists of this shape.
auto nested(const Json& values, std::span<const std::int64_t> shape, std::size_t& next) -> Json {
  if (shape.empty()) return values.at(next++);
  Json list = Json::array();
  for (std::int64_t i = 0; i < shape.front(); ++i) list.push_back(nested(values, shape.subspan(1), next));
  return list;
}

auto ragged(const Json& values, std::span<const std::vector<std::int64_t>> splits, std::int64_t from, std::int64_t to)
    -> Json {
  Json list = Json::array();
  for (auto i = static_cast<std::size_t>(from); i < static_cast<std::size_t>(to); ++i)
    list.push_back(splits.empty() ? values.at(i)
                                  : ragged(values, splits.subspan(1), splits.front().at(i), splits.front().at(i + 1)));
  return list;
}

auto tensor_json(const distrib::ParsedFeature& feature) -> Json {
  const Json values = values_json(feature);
  if (feature.form == distrib::ParsedFeature::Form::dense) {
    std::size_t next = 0;
    return nested(values, feature.shape, next);
  }
  if (feature.form == distrib::ParsedFeature::Form::ragged)
    return ragged(values, feature.row_splits, 0, static_cast<std::int64_t>(feature.row_splits.front().size()) - 1);
  Json indices = Json::array();
  const std::size_t rank = feature.shape.size();
  for (std::size_t i = 0; i < feature.count; ++i)
    indices.push_back(std::vector<std::int64_t>(feature.indices.begin() + static_cast<std::ptrdiff_t>(i * rank),
                                                feature.indices.begin() + static_cast<std::ptrdiff_t>((i + 1) * rank)));
  return {{"indices", indices}, {"values", values}, {"dense_shape", feature.shape}};
}

auto parse_example(const Json& input) -> Json {
  std::vector<distrib::NamedSpec> specs;
  for (const auto& [name, spec] : input.at("features").items()) specs.push_back({name, spec_of(spec)});
  std::vector<Bytes> records;
  for (const Json& example : input.at("examples")) records.push_back(serialized(example));
  Json answer = Json::object();
  for (const distrib::ParsedFeature& feature : distrib::parse_example(specs, records))
    answer[feature.name] = tensor_json(feature);
  return answer;
}

/// Wrong specs fail in Python, when the parser is built.
auto parse_failure(const std::error_code& code) -> std::string {
  using distrib::example_errc;
  return code == example_errc::bad_spec || code == example_errc::duplicate_feature ? "ValueError" : "INVALID_ARGUMENT";
}

}  // namespace

auto example_groups() -> std::vector<Group> {
  return {{"example_proto", example_proto}, {"parse_example", parse_example, parse_failure}};
}

}  // namespace conformance
