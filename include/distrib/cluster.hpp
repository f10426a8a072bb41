// SPDX-License-Identifier: Apache-2.0
// Who is who: ClusterSpec, flags, TF_CONFIG, and what Slurm, MPI and Kubernetes tell a process. Not here: TensorFlow's own
// definitions of clusters and devices, which <distrib/tf.hpp> has.
#pragma once

#include <distrib/cluster/cluster_flags.hpp>
#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/cluster/device_spec.hpp>
#include <distrib/cluster/environment.hpp>
#include <distrib/cluster/error.hpp>
#include <distrib/cluster/kubernetes_resolver.hpp>
#include <distrib/cluster/launched_task.hpp>
#include <distrib/cluster/roles.hpp>
#include <distrib/cluster/scheduler_error.hpp>
#include <distrib/cluster/slurm_host_list.hpp>
#include <distrib/cluster/slurm_resolver.hpp>
#include <distrib/cluster/task_id.hpp>
#include <distrib/cluster/tf_config.hpp>
