// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/cluster/tf_config.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What TensorFlow's estimators read out of TF_CONFIG (RunConfig): stricter than the resolvers about who there is, and
/// with an evaluator outside of the cluster. A value; as it is made here, the one of a process that is the whole job.
struct RunConfig {
  ClusterSpec cluster;  ///< Of training; empty for an evaluator.
  std::string task_type = "worker";
  std::uint32_t task_id = 0;
  std::string master;             ///< "grpc://host:port" of this task; "" in a cluster of one, and without one.
  std::string evaluation_master;  ///< `TfConfig::eval_session_master`, of an evaluator and without a cluster.
  bool is_chief = true;
  std::size_t num_ps_replicas = 0;
  std::size_t num_worker_replicas = 1;                    ///< With the chief.
  std::optional<std::uint32_t> global_id_in_cluster = 0;  ///< Chief, then jobs by name, ps last; an evaluator has none.
  std::vector<std::string> device_filters;  ///< What sessions of this task see unless told; empty: everything.
  std::optional<std::string> service;  ///< As in `TfConfig`.
};

/// TF_CONFIG as an estimator sees it. With a cluster there must be exactly one chief (or "master", as it once was
/// called, and then neither a chief nor an evaluator), and the task must be in it, but for an evaluator, which sees no
/// cluster. Without one the process must be worker 0, which it is unless told. Fails with `cluster_errc::bad_role`,
/// `missing_job`, `missing_index`, `no_such_job`, `no_such_task`.
[[nodiscard]] DISTRIB_DECL auto run_config(const TfConfig& config, ErrorRef to) -> RunConfig;
[[nodiscard]] DISTRIB_DECL auto run_config(const TfConfig& config) -> RunConfig;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/cluster/impl/run_config.ipp>
#endif
