// SPDX-License-Identifier: Apache-2.0
// The role of this process, and the placement of variables: the first lines of a TensorFlow program of 2016. Try
// 04_cluster --job_name=worker --task_index=1 --ps_hosts=a:2222,b:2222 --worker_hosts=c:2222,d:2222
#include <distrib/cluster/cluster_flags.hpp>
#include <distrib/placement/greedy_load_balancing.hpp>
#include <distrib/placement/replica_device_setter.hpp>
#include <distrib/sharding/min_size.hpp>
#include <distrib/sharding/part_slices.hpp>

#include <array>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace {

void print(const std::string& line) { std::printf("%s\n", line.c_str()); }

// The role of this process if it gets no flags; its output is then known, and checked.
auto known_flags() -> distrib::ClusterFlags {
  const std::array arguments{"04_cluster", "--job_name=worker", "--task_index=1", "--ps_hosts=a:2222,b:2222",
                             "--worker_hosts=c:2222,d:2222"};
  return distrib::ClusterFlags::parse(static_cast<int>(arguments.size()), arguments.data());
}

auto train(const distrib::ClusterFlags& flags) -> std::vector<std::string> {
  distrib::ClusterSpec cluster{{"ps", flags.ps_hosts}, {"worker", flags.worker_hosts}};
  auto device = distrib::replica_device_setter({.worker_device = flags.worker_device(), .cluster = cluster},
                                               distrib::GreedyLoadBalancingStrategy{distrib::byte_size_load});
  print(to_string(cluster));

  std::vector<std::string> devices;
  const auto place = [&](const distrib::OpRequest& request) {
    devices.push_back(device(request));
    print(std::string{request.name} + ": " + devices.back());
  };
  place({.name = "embedding", .shape = {50000, 64}});
  place({.name = "weights", .shape = {64, 10}});
  place({.name = "bias", .shape = {10}});
  place({.op = "MatMul", .name = "product"});
  return devices;
}

// A variable that is too large for one task is first divided along its rows.
auto cut(const distrib::Shape& shape) -> std::size_t {
  const distrib::MinSizePartitioner partitioner{.min_shard_bytes = 4 << 20, .max_shards = 8};
  const auto slices = distrib::part_slices(shape, distrib::DType::float32, partitioner);
  for (const distrib::Slice& slice : slices) print("embedding " + to_string(slice));
  return slices.size();
}

}  // namespace

auto main(int argc, char** argv) -> int try {
  const auto given = distrib::ClusterFlags::parse(argc, argv);  // without flags, from TF_CONFIG
  const auto flags = given.local() ? known_flags() : given;     // a trainer would now train in one process
  print(to_string(flags.task()) + (flags.is_chief() ? " is the chief" : " is not the chief"));

  const std::vector<std::string> known{"/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:1", "/job:worker/task:1"};
  const bool right = train(flags) == known && cut({50000, 64}) == 4;
  return right || !given.local() ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 64;
}
