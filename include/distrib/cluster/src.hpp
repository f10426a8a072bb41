// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of cluster/, for one unit of a program that defines DISTRIB_SEPARATE_COMPILATION.
#ifndef DISTRIB_SEPARATE_COMPILATION
#error "distrib: <distrib/cluster/src.hpp> is for programs that define DISTRIB_SEPARATE_COMPILATION in every unit"
#endif

#include <distrib/cluster/impl/cluster_def.ipp>
#include <distrib/cluster/impl/cluster_dict.ipp>
#include <distrib/cluster/impl/cluster_flags.ipp>
#include <distrib/cluster/impl/cluster_spec.ipp>
#include <distrib/cluster/impl/device_change.ipp>
#include <distrib/cluster/impl/device_filters.ipp>
#include <distrib/cluster/impl/device_name.ipp>
#include <distrib/cluster/impl/device_spec.ipp>
#include <distrib/cluster/impl/environment.ipp>
#include <distrib/cluster/impl/flag_file.ipp>
#include <distrib/cluster/impl/flag_values.ipp>
#include <distrib/cluster/impl/kubernetes_resolver.ipp>
#include <distrib/cluster/impl/launched_task.ipp>
#include <distrib/cluster/impl/master_url.ipp>
#include <distrib/cluster/impl/mpi_rank.ipp>
#include <distrib/cluster/impl/roles.ipp>
#include <distrib/cluster/impl/run_config.ipp>
#include <distrib/cluster/impl/server_def.ipp>
#include <distrib/cluster/impl/slurm_host_list.ipp>
#include <distrib/cluster/impl/slurm_resolver.ipp>
#include <distrib/cluster/impl/tf_config.ipp>
