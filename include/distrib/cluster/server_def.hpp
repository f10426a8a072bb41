// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/cluster/device_filters.hpp>
#include <distrib/cluster/task_id.hpp>
#include <distrib/cluster/tf_config.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {

/// One server of a cluster, as TensorFlow's ServerDef (tensorflow_server.proto). A value. This library's server is made
/// from the first three fields: `Server{io, def.cluster, def.job_name, def.task_index}`.
struct ServerDef {
  ClusterSpec cluster = {};  ///< The jobs and the addresses of their tasks.
  std::string job_name = {};  ///< Job of the server.
  std::uint32_t task_index = 0;  ///< Index of the server in its job.
  std::string protocol = "grpc";  ///< "grpc", ...
  /// A serialized ConfigProto. Only TensorFlow uses it; it is passed on unchanged.
  std::vector<std::byte> session_config = {};
  ClusterDeviceFilters device_filters = {};  ///< Only TensorFlow uses them.
  std::uint16_t port = 0;  ///< Unless 0, used instead of the port in the task's address.

  /// Returns the task that this server is.
  [[nodiscard]] auto task() const -> TaskId { return {job_name, task_index}; }
  [[nodiscard]] auto operator==(const ServerDef&) const -> bool = default;
};

/// What the caller knows besides the cluster. Empty: the default is used.
struct ServerDefOptions {
  std::optional<std::string> job_name = {};  ///< Job of the server.
  std::optional<std::uint32_t> task_index = {};  ///< Index of the server in its job.
  std::optional<std::string> protocol = {};  ///< "grpc", ...
  std::optional<std::vector<std::byte>> session_config = {};  ///< A serialized ConfigProto.
};

/// Returns the definition of a server of `cluster`. Default of the job: the cluster's only job. Default of the index:
/// the index of the job's only task, which need not be 0. Default of the protocol: "grpc". Nothing else is checked; see
/// `check_server_def`.
///
/// Errors (without `ec` thrown as `std::system_error`): `cluster_errc::missing_job` if there is no default because the
/// cluster has not exactly one job; `missing_index` if there is none because the job has not exactly one task;
/// `no_such_job` if the index is missing and the job does not exist.
[[nodiscard]] DISTRIB_DECL auto make_server_def(const ClusterSpec& cluster, const ServerDefOptions& options,
                                                std::error_code& ec) -> ServerDef;
[[nodiscard]] DISTRIB_DECL auto make_server_def(const ClusterSpec& cluster, const ServerDefOptions& options = {})
    -> ServerDef;

/// Returns `def` with the fields that `options` sets replaced. Nothing is inferred. Session configurations are merged
/// by the rules of Protocol Buffers: for a field in both, the one in `options` wins; lists are concatenated.
[[nodiscard]] DISTRIB_DECL auto make_server_def(ServerDef def, const ServerDefOptions& options) -> ServerDef;

/// Returns TensorFlow's create_local_server: a cluster of this server alone, {"localhost": ["localhost:0"]}. The system
/// chooses the port.
[[nodiscard]] inline auto local_server_def() -> ServerDef {
  return {.cluster = {{"localhost", {"localhost:0"}}}, .job_name = "localhost"};
}

namespace detail {

/// Returns the server that TensorFlow's tf_std_server starts for TF_CONFIG: the task that it names, with its rpc_layer
/// as the protocol.
///
/// Errors: `cluster_errc::empty_job` if there is neither a chief nor a worker job; otherwise as for `make_server_def`.
[[nodiscard]] DISTRIB_DECL auto standard_server_def(const TfConfig& config, std::error_code& ec) -> ServerDef;
[[nodiscard]] DISTRIB_DECL auto standard_server_def(const TfConfig& config) -> ServerDef;

}  // namespace detail

/// Makes the checks that TensorFlow makes when it creates the server, in the same order.
///
/// Errors (without `to` thrown as `std::system_error`): `cluster_errc::unknown_protocol`, `no_such_job`,
/// `no_such_task`, `bad_address` (first of the task itself, then of any task).
DISTRIB_DECL void check_server_def(const ServerDef& def, ErrorRef to);
inline void check_server_def(const ServerDef& def) {
  Error error;
  check_server_def(def, error);
  throw_if(error);
}

/// Returns the address at which TensorFlow's sessions find the server, "grpc://host:port", when it listens on `port`.
/// The host is localhost if the task has no address, or one without a host.
[[nodiscard]] DISTRIB_DECL auto server_target(const ServerDef& def, std::uint16_t port) -> std::string;

namespace detail {

/// Returns `def` as a serialized ServerDef.
[[nodiscard]] DISTRIB_DECL auto write_server_def(const ServerDef& def) -> std::vector<std::byte>;

/// Reads a serialized ServerDef.
///
/// Errors: `cluster_errc::bad_cluster_def` (damaged bytes, a negative index, or a port above 65535), `duplicate_job`,
/// `bad_device`.
[[nodiscard]] DISTRIB_DECL auto parse_server_def(ByteView bytes, std::error_code& ec) -> ServerDef;
[[nodiscard]] DISTRIB_DECL auto parse_server_def(ByteView bytes) -> ServerDef;

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/cluster/impl/server_def.ipp>
#endif
