// SPDX-License-Identifier: Apache-2.0
// Where variables go and how they are cut.
#include "answers.hpp"

#include <distrib/placement.hpp>
#include <distrib/sharding.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

namespace conformance {

namespace {

using distrib::DType;
using distrib::Shape;

auto shape_of(const Json& extents) -> Shape {
  const auto list = extents.get<std::vector<std::int64_t>>();
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

auto setter_options(const Json& input) -> distrib::ReplicaDeviceSetterOptions {
  distrib::ReplicaDeviceSetterOptions options;
  options.ps_tasks = input.value("ps_tasks", options.ps_tasks);
  options.ps_device = input.value("ps_device", options.ps_device);
  options.worker_device = input.value("worker_device", options.worker_device);
  options.merge_devices = input.value("merge_devices", options.merge_devices);
  if (input.contains("cluster")) {
    std::map<std::string, distrib::ClusterSpec::Tasks> jobs;
    for (const auto& [job, hosts] : input["cluster"].items()) {
      auto& tasks = jobs[job];
      for (const Json& host : hosts) tasks.emplace(static_cast<std::uint32_t>(tasks.size()), host.get<std::string>());
    }
    options.cluster = distrib::ClusterSpec::from_sparse(jobs);
  }
  if (input.contains("ps_ops")) options.ps_ops = input["ps_ops"].get<std::vector<std::string>>();
  return options;
}

/// The devices that a setter gives to each of `ops`.
template <class Setter>
auto devices_of(Setter& setter, const Json& ops) -> Json {
  Json devices = Json::array();
  for (const Json& op : ops) {
    const auto type = op.at("op").get<std::string>();
    const auto device = op.value("device", std::string{});
    distrib::OpRequest request{.op = type, .device = device};
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
  Json answer{{"devices", devices_of(setter, input.at("ops"))}};
  for (const double load_of_task : setter.strategy().loads()) answer["final_loads"].push_back(load_of_task);
  return answer;
}

auto greedy_placement(const Json& input) -> Json {
  const auto load = input.at("load_fn").get<std::string>();
  if (load == "byte_size") {
    if (input.contains("op")) {  // an operation that is no variable of one fixed shape: ours cannot be written
      shape_of(input["op"].at("shape"));
      throw Unsupported{};
    }
    return greedy(input, distrib::byte_size_load);
  }
  if (load == "unit") return greedy(input, [](const distrib::PlacementRequest&) { return 1.0; });
  throw Unsupported{};
}

auto partition_by(const std::string& name, const Json& args, const Shape& shape, DType dtype) -> distrib::Partition {
  const std::size_t axis = args.value("axis", std::size_t{0});
  if (name == "fixed_size_partitioner") {
    const std::int64_t shards = args.at("num_shards");
    return distrib::FixedShardsPartitioner{.num_shards = shards, .axis = axis}.partition(shape, dtype);
  }
  if (name == "min_max_variable_partitioner") {
    const distrib::MinSizePartitioner defaults;
    return distrib::MinSizePartitioner{.min_shard_bytes = args.value("min_slice_size", defaults.min_shard_bytes),
                                       .max_shards = args.value("max_partitions", defaults.max_shards),
                                       .axis = axis,
                                       .bytes_per_string =
                                           args.value("bytes_per_string_element", defaults.bytes_per_string)}
        .partition(shape, dtype);
  }
  throw Unsupported{};
}

auto partitioner(const Json& input) -> Json {
  const Json shape = input.value("shape", Json::array({1}));
  const Shape extents = shape_of(shape);
  const auto partition = partition_by(input.at("partitioner").get<std::string>(), input.at("args"), extents,
                                      dtype_of(input.value("dtype", "float32")));
  std::vector<std::int64_t> counts(extents.rank(), 1);
  counts.at(partition.axis) = partition.parts;
  return {{"partitions", counts}};
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
  for (const distrib::Slice& slice : distrib::part_slices(shape, distrib::partition_from_counts(counts, shape)))
    texts.push_back(distrib::part_text(shape, slice));
  return {{"slice_specs", texts}};
}

}  // namespace

auto placement_groups() -> std::vector<Group> {
  return {{"replica_device_setter", replica_device_setter, exception_of},
          {"greedy_placement", greedy_placement, exception_of},
          {"partitioner", partitioner, exception_of},
          {"partition_slices", partition_slices, exception_of}};
}

}  // namespace conformance
