// SPDX-License-Identifier: Apache-2.0
// usage: initial_values CHECKPOINT NAME EXTENT... >OUTPUT
// Writes the initial values of the float32 variable NAME in a job that begins with this checkpoint. If axis 0 has an
// extent of two or more, the variable is divided into two parts on two shards.
#include <distrib/optimizer/sgd.hpp>
#include <distrib/ps/cut/initial_cut.hpp>
#include <distrib/ps/job/shard_layout.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

auto main(int argc, char** argv) -> int try {
  using distrib::Slice;
  if (argc < 3) throw std::invalid_argument{"usage: initial_values CHECKPOINT NAME EXTENT..."};
  std::vector<std::int64_t> extents;
  for (int i = 3; i < argc; ++i) extents.push_back(std::strtoll(argv[i], nullptr, 10));
  const distrib::Shape shape{extents};
  distrib::Job job;
  job.initial_checkpoint = argv[1];
  job.variables.push_back({argv[2], distrib::DType::float32, shape, {}});
  job.shards_per_task = 2;
  if (shape.rank() > 0 && shape[0] > 1) {
    const std::int64_t first = shape[0] / 2;
    job.parts = {{0, Slice::along(shape, 0, 0, first), 0}, {0, Slice::along(shape, 0, first, shape[0] - first), 1}};
  } else {
    job.parts = {{0, Slice::whole(shape), 0}};
  }
  const distrib::JobUpdaters updaters{distrib::Sgd{}};
  for (std::uint32_t shard = 0; shard < 2; ++shard) {
    const distrib::ShardLayout layout{job, shard};
    const distrib::Cut cut = initial_cut(job, layout, updaters);
    for (const auto& entry : layout.trained()) {
      const auto bytes = cut.values->bytes().subspan(entry.offset_bytes, entry.size_bytes);
      std::fwrite(bytes.data(), 1, bytes.size(), stdout);
    }
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
