// SPDX-License-Identifier: Apache-2.0
// Who is who: ClusterSpec, flags, TF_CONFIG. Not here, as no job of ours uses them: what TensorFlow's devices can do
// besides, cluster/device_change.hpp and cluster/device_name.hpp.
#pragma once

#include <distrib/cluster/cluster_flags.hpp>
#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/cluster/device_spec.hpp>
#include <distrib/cluster/error.hpp>
#include <distrib/cluster/flag_values.hpp>
#include <distrib/cluster/roles.hpp>
#include <distrib/cluster/task_id.hpp>
#include <distrib/cluster/tf_config.hpp>
