// SPDX-License-Identifier: Apache-2.0
// Who is who: ClusterSpec, flags, TF_CONFIG. Not here, as a job that is told by those needs none of it: what schedulers
// say, cluster/launched_task.hpp, cluster/slurm_resolver.hpp, cluster/mpi_rank.hpp, cluster/kubernetes_resolver.hpp; and
// what is for TensorFlow alone, cluster/device_change.hpp, device_name.hpp, device_filters.hpp, cluster_def.hpp,
// cluster_dict.hpp, server_def.hpp, run_config.hpp.
#pragma once

#include <distrib/cluster/cluster_flags.hpp>
#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/cluster/device_spec.hpp>
#include <distrib/cluster/error.hpp>
#include <distrib/cluster/flag_values.hpp>
#include <distrib/cluster/roles.hpp>
#include <distrib/cluster/task_id.hpp>
#include <distrib/cluster/tf_config.hpp>
