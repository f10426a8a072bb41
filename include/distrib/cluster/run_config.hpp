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

/// What TensorFlow's estimators read from TF_CONFIG (RunConfig). It has stricter rules for jobs than the resolvers, and
/// the evaluator is outside of the cluster. A value. The default describes a process that is the whole job.
struct RunConfig {
  ClusterSpec cluster;  ///< The cluster that trains; empty for an evaluator.
  std::string task_type = "worker";  ///< Job of this process: "chief", "worker", "ps", "evaluator".
  std::uint32_t task_id = 0;  ///< Index of this process in its job.
  /// For an evaluator "". Otherwise `TfConfig::session_master` if it is set; otherwise "grpc://host:port" of this task,
  /// but "" without a cluster and in a cluster that has only the chief's job.
  std::string master;
  std::string evaluation_master;  ///< `TfConfig::eval_session_master`, only for an evaluator and without a cluster.
  bool is_chief = true;
  std::size_t num_ps_replicas = 0;
  std::size_t num_worker_replicas = 1;  ///< Includes the chief. 0 for an evaluator.
  /// The chief first, then jobs by name, ps last. Empty for an evaluator.
  std::optional<std::uint32_t> global_id_in_cluster = 0;
  std::vector<std::string> device_filters;  ///< Devices that sessions of this task see by default. Empty: all.
  std::optional<std::string> service;  ///< As in `TfConfig`.
};

/// Returns TF_CONFIG as an estimator sees it. In a cluster there must be exactly one chief, and the task must be in the
/// cluster or be an evaluator, which sees no cluster. (The chief may be called "master", its former name; then there
/// may be neither a "chief" nor an evaluator.) Without a cluster the process must be worker 0, which is the default.
///
/// Errors (without `to` thrown as `std::system_error`): `cluster_errc::bad_role`, `missing_job`, `missing_index`,
/// `no_such_job`, `no_such_task`.
[[nodiscard]] DISTRIB_DECL auto run_config(const TfConfig& config, ErrorRef to) -> RunConfig;
[[nodiscard]] DISTRIB_DECL auto run_config(const TfConfig& config) -> RunConfig;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/cluster/impl/run_config.ipp>
#endif
