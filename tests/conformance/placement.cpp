// SPDX-License-Identifier: Apache-2.0
// Where variables are placed, and how they are cut.
#include "answers.hpp"
#include "cluster_question.hpp"

#include <distrib/cluster.hpp>
#include <distrib/core.hpp>
#include <distrib/placement.hpp>
#include <distrib/sharding.hpp>
#include <distrib/sharding/group_by_shard.hpp>
#include <distrib/tf/parameter_server_strategy.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>

namespace conformance {

namespace {

using distrib::DType;
using distrib::Shape;

/// Returns a shape; refuses null, an unknown extent.
auto shape_of(const Json& extents) -> Shape {
  if (extents.is_null()) throw Refused{"ValueError"};
  std::vector<std::int64_t> list;
  for (const Json& extent : extents) list.push_back(extent.is_null() ? -1 : extent.get<std::int64_t>());
  if (!Shape::valid(list)) throw Refused{"ValueError"};
  return Shape{list};
}

auto dtype_of(const std::string& name) -> DType {
  for (const DType dtype :
       {DType::float32, DType::float64, DType::int8, DType::int16, DType::int32, DType::int64, DType::uint8,
        DType::uint16, DType::uint32, DType::uint64, DType::boolean, DType::bfloat16, DType::float16, DType::string})
    if (name == distrib::name(dtype)) return dtype;
  throw Unsupported{};
}

auto given(const Json& input, const char* name) -> bool { return input.contains(name) && !input[name].is_null(); }

/// Returns a text; Python's None means "".
auto text_of(const Json& input, const char* name, const std::string& otherwise) -> std::string {
  if (!input.contains(name)) return otherwise;
  return input[name].is_null() ? std::string{} : input[name].get<std::string>();
}

auto setter_options(const Json& input) -> distrib::ReplicaDeviceSetterOptions {
  distrib::ReplicaDeviceSetterOptions options;
  options.tasks_by_position = true;  // as in TensorFlow
  options.ps_tasks = input.value("ps_tasks", options.ps_tasks);
  options.ps_device = text_of(input, "ps_device", options.ps_device);
  options.worker_device = text_of(input, "worker_device", options.worker_device);
  options.merge_devices = input.value("merge_devices", options.merge_devices);
  if (given(input, "cluster")) options.cluster = cluster_of(input["cluster"]);
  if (given(input, "ps_ops")) options.ps_ops = input["ps_ops"].get<std::vector<std::string>>();
  return options;
}

/// Returns the devices that a setter returns for each of `ops`.
template <class Setter>
auto devices_of(Setter& setter, const Json& ops) -> Json {
  Json devices = Json::array();
  for (const Json& op : ops) {
    const auto type = op.at("op").get<std::string>();
    const auto device = text_of(op, "device", {});
    const auto name = text_of(op, "name", {});
    if (op.value("outputs", 1) != 1) throw Refused{"ValueError"};
    distrib::OpRequest request{.op = type, .name = name, .device = device};
    if (op.contains("shape")) request.shape = shape_of(op["shape"]);
    if (op.contains("dtype")) request.dtype = dtype_of(op["dtype"].get<std::string>());
    devices.push_back(setter(request));
  }
  return devices;
}

auto replica_device_setter(const Json& input) -> Json {
  auto setter = distrib::replica_device_setter(setter_options(input));
  if (!setter) return {{"device_function", "none (no-op)"}};
  return {{"devices", devices_of(setter, input.at("ops"))}};
}

template <class Load>
auto greedy(const Json& input, Load load) -> Json {
  auto setter = distrib::replica_device_setter({.ps_tasks = input.at("num_ps").get<std::uint32_t>()},
                                               distrib::GreedyLoadBalancingStrategy{std::move(load)});
  Json answer{{"devices", devices_of(setter, input.at("ops"))}, {"final_loads", Json::array()}};
  for (const double load_of_task : setter.strategy().loads()) answer["final_loads"].push_back(load_of_task);
  return answer;
}

auto greedy_placement(const Json& input) -> Json {
  // an operation that no placement request can describe: a request has one output of a known shape
  if (input.contains("op")) {
    const Json& op = input["op"];
    if (op.value("outputs", 1) != 1) throw Refused{"ValueError"};
    return {{"load", distrib::byte_size_load(
                         {.dtype = dtype_of(op.value("dtype", "float32")), .shape = shape_of(op.at("shape"))})}};
  }
  const auto load = input.at("load_fn").get<std::string>();
  if (load == "byte_size") return greedy(input, distrib::byte_size_load);
  if (load == "unit") return greedy(input, distrib::unit_load);
  throw Unsupported{};
}

auto random_placement(const Json& input) -> Json {
  const distrib::RandomStrategy strategy{.seed = input.value("seed", std::int64_t{0})};
  const auto num_tasks = input.at("num_tasks").get<std::uint32_t>();
  Json answer{{"tasks", Json::array()}, {"md5_hex", Json::array()}};
  for (const Json& text : input.at("names")) {
    const auto name = text.get<std::string>();
    answer["tasks"].push_back(strategy.place({.name = name}, num_tasks));
    answer["md5_hex"].push_back(distrib::to_hex(strategy.digest(name)));
  }
  return answer;
}

/// Returns the first of these arguments that is present and not None.
auto number(const Json& args, std::initializer_list<const char*> names, std::int64_t otherwise) -> std::int64_t {
  for (const char* name : names)
    if (args.contains(name) && !args[name].is_null()) return args[name].get<std::int64_t>();
  return otherwise;
}

/// Cuts with TensorFlow's partitioners, under their names of both generations. Arguments have names, or their positions
/// "0", "1" .. as names.
auto partition_by(const std::string& name, const Json& args, const Shape& shape, DType dtype) -> distrib::Partition {
  std::int64_t from_end = number(args, {"axis"}, 0);  // may be negative, as in Python
  if (from_end < 0) from_end += static_cast<std::int64_t>(shape.rank());
  const auto axis = static_cast<std::size_t>(from_end);
  if (name == "fixed_size_partitioner" || name == "FixedShardsPartitioner")
    return distrib::FixedShardsPartitioner{.num_shards = number(args, {"num_shards", "0"}, 1), .axis = axis}.partition(
        shape, dtype);
  const distrib::MinSizePartitioner least;
  if (name == "min_max_variable_partitioner")  // a maximum below 1 means 1 here
    return distrib::MinSizePartitioner{
        .min_shard_bytes = number(args, {"min_slice_size"}, least.min_shard_bytes),
        .max_shards = std::max<std::int64_t>(1, number(args, {"max_partitions", "0"}, least.max_shards)),
        .axis = axis,
        .bytes_per_string = number(args, {"bytes_per_string_element"}, least.bytes_per_string)}
        .partition(shape, dtype);
  if (name == "MinSizePartitioner")
    return distrib::MinSizePartitioner{
        .min_shard_bytes = number(args, {"min_shard_bytes", "0"}, least.min_shard_bytes),
        .max_shards = number(args, {"max_shards", "1"}, least.max_shards),
        .axis = axis,
        .bytes_per_string = number(args, {"bytes_per_string", "2"}, least.bytes_per_string)}
        .partition(shape, dtype);
  if (name == "variable_axis_size_partitioner" || name == "MaxSizePartitioner") {
    const distrib::MaxSizePartitioner most;
    return distrib::MaxSizePartitioner{
        .max_shard_bytes = number(args, {"max_shard_bytes", "0"}, most.max_shard_bytes),
        .max_shards = number(args, {"max_shards", "1"}, most.max_shards),
        .axis = axis,
        .bytes_per_string = number(args, {"bytes_per_string_element", "bytes_per_string", "2"}, most.bytes_per_string)}
        .partition(shape, dtype);
  }
  throw Unsupported{};
}

auto partitioner(const Json& input) -> Json try {
  Json extents = input.value("shape", Json::array({1}));
  const Json axis = input.at("args").value("axis", Json(0));
  const auto& called = input.at("partitioner").get_ref<const std::string&>();
  if (called.starts_with("fixed_size") || called.starts_with("FixedShards"))  // examines only this axis
    for (std::size_t i = 0; i < extents.size(); ++i)
      if (extents[i].is_null() && axis != Json(i)) extents[i] = 1;
  const Shape shape = shape_of(extents);
  const auto partition = partition_by(input.at("partitioner").get<std::string>(), input.at("args"), shape,
                                      dtype_of(input.value("dtype", "float32")));
  std::vector<std::int64_t> counts(shape.rank(), 1);
  counts.at(partition.axis) = partition.parts;
  return {{"partitions", counts}};
} catch (const std::system_error& failure) {  // only this partitioner of TensorFlow checks the axis before it uses it
  const Json& name = input["partitioner"];
  const bool looks = name == "min_max_variable_partitioner" || name == "MinSizePartitioner";
  if (failure.code() == distrib::sharding_errc::no_such_axis && !looks) throw Refused{"IndexError"};
  throw;
}

auto partition_slices(const Json& input) -> Json {
  if (input.contains("num_parts")) {
    Json names = Json::array();
    for (std::size_t part = 0; part < input["num_parts"].get<std::size_t>(); ++part)
      names.push_back(distrib::part_name(input.at("name").get<std::string>(), part));
    return {{"part_names", names}};
  }
  const Shape shape = shape_of(input.at("full_shape"));
  const auto counts = input.at("slicing").get<std::vector<std::int64_t>>();
  Json texts = Json::array();
  for (const distrib::Slice& slice : distrib::part_slices(shape, distrib::detail::partition_from_counts(counts, shape)))
    texts.push_back(distrib::part_text(shape, slice));
  return {{"slice_specs", texts}};
}

template <distrib::RowSharding S>
auto partition_and_row(const S& sharding, const Json& ids) -> Json {
  const auto rows = ids.get<std::vector<std::int64_t>>();
  std::vector<distrib::ShardRow> places(rows.size());
  distrib::locate_rows(sharding, rows, places);
  Json list = Json::array();
  for (const distrib::ShardRow& place : places) list.push_back({place.shard, place.row});
  return list;
}

template <distrib::RowSharding S>
auto lookup(const S& sharding, const Json& ids) -> Json {
  const auto keys = ids.get<std::vector<std::uint64_t>>();
  const distrib::ShardGroups groups = group_by_shard(sharding, keys);
  Json by_partition = Json::array();
  for (std::uint32_t shard = 0; shard < sharding.num_shards(); ++shard) {
    by_partition.push_back(Json::array());
    for (const std::size_t position : groups.of(shard)) by_partition.back().push_back(keys[position]);
  }
  return {{"partition_and_row", partition_and_row(sharding, ids)}, {"ids_by_partition", by_partition}};
}

/// Returns the original's word for a failure: the arithmetic is in Python, the rows are found by the run time.
auto embedding_kind(const std::error_code& code) -> std::string {
  return code == distrib::sharding_errc::no_such_row ? status_of(code) : exception_of(code);
}

auto embedding_partition(const Json& input) -> Json {
  const Json& ids = input.at("ids");
  if (!input.contains("shard_rows")) {  // what the two calls do if no strategy is named
    const auto rows = input.at("rows").get<std::int64_t>();
    const auto shards = input.at("shards").get<std::uint32_t>();
    return {{"v1_default_partition_and_row", partition_and_row(distrib::ModSharding{rows, shards}, ids).at(0)},
            {"v2_default_partition_and_row", partition_and_row(distrib::RangeSharding{rows, shards}, ids).at(0)}};
  }
  std::int64_t rows = 0;
  for (const Json& count : input["shard_rows"]) rows += count.get<std::int64_t>();
  const auto shards = static_cast<std::uint32_t>(input["shard_rows"].size());
  const auto strategy = input.value("strategy", "mod");
  // here TensorFlow divides by 0
  if (strategy == "div" && shards > 1 && rows < shards) throw Refused{"INVALID_ARGUMENT"};
  if (strategy == "div") return lookup(distrib::RangeSharding{rows, shards}, ids);
  if (strategy == "mod" || shards < 2) return lookup(distrib::ModSharding{rows, shards}, ids);
  throw Refused{"ValueError"};  // strategies are types here: there is no strategy of another name
}

auto sharded_variable_of(const Json& input) -> distrib::ShardedVariable {
  std::vector<distrib::VariableInfo> shards;
  for (const Json& rows : input.value("shard_rows", Json::array()))
    shards.push_back({.name = {}, .shape = shape_of(Json::array({rows}))});
  for (const Json& shape : input.value("shard_shapes", Json::array()))
    shards.push_back({.name = {}, .shape = shape_of(shape)});
  for (const Json& dtype : input.value("shard_dtypes", Json::array()))
    shards.push_back({.name = {}, .dtype = dtype_of(dtype.get<std::string>()), .shape = {1}});
  return distrib::ShardedVariable{shards};
}

auto slice_of(const distrib::ShardedVariable& variable, const Json& slice) -> Json {
  const auto at = [&](std::size_t i) {
    return slice.at(i).is_null() ? std::optional<std::int64_t>{} : slice.at(i).get<std::int64_t>();
  };
  Json per_shard(variable.num_shards(), Json{});
  Json values = Json::array();
  for (const distrib::ShardedVariable::ShardRange& range : variable.slice({at(0), at(1), at(2).value_or(1)})) {
    per_shard.at(range.shard) = {range.start, range.stop < 0 ? Json{} : Json(range.stop), range.step};
    for (std::int64_t i = 0; i < range.count(); ++i)
      values.push_back(variable.offsets()[range.shard] + range.start + i * range.step);
  }
  return {{"per_shard_slice", per_shard}, {"values_if_row_i_holds_i", values}};
}

auto sharded_variable(const Json& input) -> Json {
  const distrib::ShardedVariable variable = sharded_variable_of(input);
  if (input.contains("index")) {
    const distrib::ShardRow place = variable.locate(input["index"].get<std::int64_t>());
    return {{"shard", place.shard}, {"row", place.row}};
  }
  if (input.contains("slice")) return slice_of(variable, input["slice"]);
  for (const Json& index : input.value("indices", Json::array()))
    if (index.is_array()) throw Refused{"ValueError"};  // the argument, a span, has only one axis
  if (input.contains("op") || input.contains("indices")) try {
      return {{"partition_and_row", partition_and_row(variable.sharding(), input.value("indices", Json::array()))}};
    } catch (const std::system_error& failure) {  // in TensorFlow the run time finds these rows
      if (failure.code() == distrib::sharding_errc::no_such_row) throw Refused{status_of(failure.code())};
      throw;
    }
  Json answer{{"shape", variable.shape().extents()}, {"offsets", variable.offsets()}};
  answer["offsets"].erase(variable.num_shards());
  return answer;
}

auto sharded_variable_kind(const std::error_code& code) -> std::string {
  if (code == distrib::sharding_errc::no_such_row) return "IndexError";
  if (code == distrib::failure::unsupported) return "NotImplementedError";
  return exception_of(code);
}

/// Returns a number like "262144", or "256 << 10" as Python sources often write sizes.
auto python_number(std::string_view text) -> std::int64_t {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  std::string_view rest{read.ptr, static_cast<std::size_t>(end - read.ptr)};
  if (read.ec != std::errc{}) throw Unsupported{};
  if (rest.empty()) return value;
  while (rest.starts_with(' ') || rest.starts_with('<')) rest.remove_prefix(1);
  int shift = 0;
  const auto shifted = std::from_chars(rest.data(), end, shift);
  if (shifted.ec != std::errc{} || shifted.ptr != end || shift < 0 || shift > 40) throw Unsupported{};
  return value * (std::int64_t{1} << shift);
}

/// Takes a call like "MinSizePartitioner(1024, max_shards=4)" apart: into the name and the arguments.
auto python_call(std::string_view text) -> std::pair<std::string, Json> {
  const std::size_t open = std::min(text.find('('), text.size());
  std::pair<std::string, Json> call{text.substr(0, open), Json::object()};
  std::string_view list = text.substr(open);
  while (!list.empty() && (list.back() == ')' || list.back() == ' ')) list.remove_suffix(1);
  for (int position = 0; !list.empty(); ++position) {
    list.remove_prefix(1);  // the parenthesis or the comma
    std::string_view argument = list.substr(0, list.find(','));
    list.remove_prefix(argument.size());
    const std::size_t equals = argument.find('=');
    std::string key = equals < argument.size() ? std::string{argument.substr(0, equals)} : std::to_string(position);
    if (equals < argument.size()) argument.remove_prefix(equals + 1);
    std::erase(key, ' ');
    argument.remove_prefix(std::min(argument.find_first_not_of(' '), argument.size()));
    while (argument.ends_with(' ')) argument.remove_suffix(1);
    call.second[key] = argument == "None" ? Json{} : Json(python_number(argument));
  }
  return call;
}

/// A user's partitioner that calls one of TensorFlow's by its name.
struct NamedPartitioner {
  std::string name;
  Json args;
  auto partition(const Shape& shape, DType dtype) const -> distrib::Partition {
    return name.empty() ? distrib::Partition{} : partition_by(name, args, shape, dtype);
  }
};

/// A user's partitioner that always returns the same partition.
struct Answer {
  distrib::Partition answer;
  auto partition(const Shape&, DType) const -> distrib::Partition { return answer; }
};

auto some_cluster(std::uint32_t num_ps) -> distrib::ClusterSpec {
  distrib::ClusterSpec::Tasks tasks;
  for (std::uint32_t task = 0; task < num_ps; ++task) tasks.emplace(task, "ps:1");
  return distrib::ClusterSpec::from_sparse({{"ps", tasks}, {"worker", {{0, "worker:1"}}}});
}

/// Places variables with TensorFlow 2's strategy: variables take turns, and so do the shards of a variable that is cut.
auto placements(const Json& input) -> Json {
  NamedPartitioner partitioner;
  if (const Json named = input.value("partitioner", Json{}); !named.is_null())
    std::tie(partitioner.name, partitioner.args) = python_call(named.get<std::string>());
  distrib::ParameterServerStrategy strategy{some_cluster(input.at("num_ps").get<std::uint32_t>()), partitioner};
  Json list = Json::array();
  for (const Json& variable : input.at("variables"))
    for (const distrib::PlacedVariable& placed : strategy.create({.name = variable.at("name").get<std::string>(),
                                                                  .dtype = dtype_of(variable.value("dtype", "float32")),
                                                                  .shape = shape_of(variable.at("shape"))}))
      list.push_back({{"name", placed.name}, {"shape", placed.slice.extents.extents()}, {"device", placed.device}});
  return {{"placements", list}};
}

auto ps_strategy_placement(const Json& input) -> Json {
  if (input.contains("variables")) return placements(input);
  if (input.contains("cluster")) {
    const distrib::ClusterSpec cluster = cluster_of(input["cluster"]);
    const Json task = input.value("task", Json{{"type", "evaluator"}});  // an evaluator need not be in the cluster
    const distrib::TaskId self{task.value("type", "chief"), task.value("index", 0U)};
    distrib::detail::check_parameter_server_cluster(cluster);
    check_role(cluster, self);
    return Json::object();
  }
  if (input.at("partitions").is_array()) {  // for a variable that is large enough
    const auto counts = input["partitions"].get<std::vector<std::int64_t>>();
    std::vector<std::int64_t> extents;
    for (const std::int64_t count : counts) extents.push_back(std::max<std::int64_t>(count, 1));
    const Shape shape{input.contains("shape") ? shape_of(input["shape"]) : Shape{extents}};
    const distrib::Partition partition = distrib::detail::partition_from_counts(counts, shape);
    return {{"partitions", distrib::ShardedVariable{shape, DType::float32, partition}.num_shards()}};
  }
  const Shape shape{input.at("rows").get<std::int64_t>()};
  distrib::ParameterServerStrategy strategy{some_cluster(1), Answer{{0, input["partitions"].get<std::int64_t>()}}};
  Json answer;
  for (const distrib::PlacedVariable& shard : strategy.create({.name = {}, .shape = shape})) {
    answer["rows_per_shard"].push_back(shard.slice.extents[0]);
    answer["offsets"].push_back(shard.slice.start[0]);
  }
  answer["offsets"].push_back(shape[0]);
  return answer;
}

}  // namespace

auto placement_groups() -> std::vector<Group> {
  return {{"replica_device_setter", replica_device_setter, exception_of},
          {"greedy_placement", greedy_placement, exception_of},
          {"random_placement", random_placement, exception_of},
          {"ps_strategy_placement", ps_strategy_placement, exception_of},
          {"partitioner", partitioner, exception_of},
          {"partition_slices", partition_slices, exception_of},
          {"embedding_partition", embedding_partition, embedding_kind},
          {"sharded_variable", sharded_variable, sharded_variable_kind}};
}

}  // namespace conformance
