// SPDX-License-Identifier: Apache-2.0
// The tasks of a cluster: ClusterSpec, flags, TF_CONFIG, and what Slurm, MPI and Kubernetes set for a process.
// TensorFlow's own definitions of clusters and devices are in <distrib/tf.hpp>.
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
