// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/checkpoint_values.hpp>

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/slice.hpp>
#include <distrib/core/variable_info.hpp>
#include <distrib/optimizer/any_updater.hpp>
#include <distrib/optimizer/averaged_updater.hpp>
#include <distrib/optimizer/sgd.hpp>
#include <distrib/ps/cut/object_checkpoints.hpp>
#include <distrib/ps/cut/table_tensors.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/job_updaters.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/protocol/batch_keys.hpp>
#include <distrib/ps/store/cut.hpp>
#include <distrib/ps/store/pull_rows.hpp>
#include <distrib/ps/store/shard_store.hpp>
#include <distrib/train/job/assemble.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto checkpoint_values(const TrainingPlan& plan, const KeyLists& keys, const std::string& prefix)
    -> RuntimeValues {
  const RuntimeVariables& all = plan.model().variables();
  const std::vector<VariableInfo>& variables = all.infos();
  RuntimeValues values{all};
  Error error;
  const std::optional<BundleReader> opened = open_checkpoint(prefix, plan.options().object_stores, error);
  throw_if(error);
  const BundleReader& reader = *opened;
  AnyUpdater updater{Sgd{}};
  if (plan.measures_averages()) updater = averaged(std::move(updater), *plan.options().moving_average);
  for (std::size_t v = 0; v < variables.size(); ++v) {
    std::string name = variables[v].name;
    if (plan.measures_averages() && !detail::is_counter(variables[v].dtype))
      name.append("/").append(updater.slots().back().name);
    reader.read(name, Slice::whole(variables[v].shape), {values.data(v), values.size_bytes(v)});
  }
  if (all.table_infos().empty()) return values;

  // A job of one shard that has only the tables: it finds the rows in whatever parts they were saved.
  Job job;
  job.tables = all.table_infos();
  job.updater = updater.text();
  job.total_steps = 1;
  job.seed = plan.options().seed;  // of rows that the checkpoint does not have
  const JobUpdaters updaters{std::move(updater)};
  const std::vector<ShardLayout> layouts = shard_layouts(job);
  Cut cut;
  cut.values = std::make_shared<AlignedBuffer>(layouts.front().block_bytes());
  for (const TableShare& table : layouts.front().tables()) {
    cut.tables.push_back(TableTensors{table, updaters.front(), 0, 1}.read(reader, error));
    throw_if(error);
  }
  ShardStore store{job, 0, updaters, std::numeric_limits<std::uint64_t>::max()};
  store.load(cut);
  BatchKeys rows{job, layouts};
  rows.find({}, keys);
  const PullRows& asked = rows.requests().front();
  const std::vector<SharedBuffer> blocks{plan.measures_averages() ? store.averages(asked) : store.values(asked)};
  assemble_rows(job, rows, blocks, values);
  return values;
}

}  // namespace v0
}  // namespace distrib
