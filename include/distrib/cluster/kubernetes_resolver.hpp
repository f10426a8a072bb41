// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/cluster/scheduler_error.hpp>
#include <distrib/cluster/task_id.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

// Makes clusters from the answers of the Kubernetes API server. Nothing here sends requests: the caller does that, over
// HTTPS and with the credentials of a pod or a user, and passes the text of the answer.

namespace distrib {
inline namespace v0 {

/// The facts about a pod that a resolver needs.
struct KubernetesPod {
  std::string name;  ///< Name of the pod (`metadata.name`).
  std::string phase;  ///< "Running", "Pending", ...
  std::string pod_ip;  ///< The pod's own address; "" until it has one.
  std::string host_ip;  ///< The address of the pod's node.

  [[nodiscard]] auto operator==(const KubernetesPod&) const -> bool = default;
};

/// The facts about a service that a resolver needs.
struct KubernetesService {
  std::string name;  ///< Name of the service (`metadata.name`).
  std::string address;  ///< IP or host name of its load balancer, the first one; "" until there is one.

  [[nodiscard]] auto operator==(const KubernetesService&) const -> bool = default;
};

namespace detail {

/// Most items in a list; a longer list is refused.
inline constexpr std::size_t max_kubernetes_items = 65'536;

/// Stores `value` in the field of `pod` that belongs to `path`. Other paths are ignored.
DISTRIB_DECL void read_kubernetes_field(std::string_view path, std::string_view value, KubernetesPod& pod);
inline void read_kubernetes_field(std::string_view path, std::string_view value, KubernetesService& service) {
  if (path == "/metadata/name") service.name = value;
  const bool address = path == "/status/loadBalancer/ingress/ip" || path == "/status/loadBalancer/ingress/hostname";
  if (address && service.address.empty()) service.address = value;
}

/// Reads the items of a PodList or ServiceList. Passes each text in an item, with its path, to `read_kubernetes_field`.
/// Of an array inside an item it reads only the first element. Stops at the first error.
template <class Item> class KubernetesList {
 public:
  explicit KubernetesList(std::string_view text) noexcept : json_{text} {}

  [[nodiscard]] auto read(Error& error) -> std::vector<Item> {
    if (json_.next() == JsonToken::begin_object) read_list();
    if (!code_ && json_.token() != JsonToken::error && (!found_ || json_.next() != JsonToken::end))
      code_ = scheduler_errc::bad_answer;
    error = json_.error();
    if (!error && code_) error = {code_, why_.empty() ? "offset " + std::to_string(json_.offset()) : why_};
    return error ? std::vector<Item>{} : std::move(items_);
  }

 private:
  void read_list() {
    while (!code_ && json_.next() == JsonToken::name) {
      const std::string key{json_.text()};
      const JsonToken value = json_.next();
      if (key == "items" && (value == JsonToken::begin_array || value == JsonToken::null)) {
        found_ = true;
        if (value == JsonToken::begin_array) read_items();
        // a Status has a message that says why there is no list
      } else if (key == "message" && value == JsonToken::string) {
        why_ = json_.text().substr(0, 200);
      } else if (key == "metadata" && value == JsonToken::begin_object) {
        read_list_metadata();
      } else {
        json_.skip();
      }
    }
  }

  /// Refuses a list with a "continue" token: it is only the first part of a longer list.
  void read_list_metadata() {
    while (json_.next() == JsonToken::name) {
      const bool goes_on = json_.text() == "continue";
      if (json_.next() == JsonToken::string && goes_on && !json_.text().empty()) code_ = scheduler_errc::bad_answer;
      json_.skip();
    }
  }

  void read_items() {
    while (!code_ && json_.next() == JsonToken::begin_object) {
      if (items_.size() == max_kubernetes_items) code_ = scheduler_errc::too_many_tasks;
      else read_object({}, items_.emplace_back());
      if (!code_ && items_.back().name.empty()) code_ = scheduler_errc::bad_answer;
    }
    if (json_.token() != JsonToken::end_array && !code_) code_ = scheduler_errc::bad_answer;
  }

  /// The depth is limited by the JSON reader, and the length of `path` with it.
  void read_object(const std::string& path, Item& item) {
    while (json_.next() == JsonToken::name) {
      const std::string inner = path + '/' + std::string{json_.text().substr(0, max_name_bytes)};
      read_value(json_.next(), inner, item);
    }
  }

  void read_value(JsonToken value, const std::string& path, Item& item) {
    if (value == JsonToken::string) {
      if (json_.text().size() <= max_name_bytes) read_kubernetes_field(path, json_.text(), item);
    } else if (value == JsonToken::begin_object) {
      read_object(path, item);
    } else if (value == JsonToken::begin_array) {
      const JsonToken first = json_.next();
      if (first == JsonToken::end_array) return;
      read_value(first, path, item);
      while (json_.token() != JsonToken::error && json_.next() != JsonToken::end_array) json_.skip();
    }
  }

  static constexpr std::size_t max_name_bytes = 255;

  JsonReader json_;
  std::vector<Item> items_;
  std::error_code code_;
  std::string why_;
  bool found_ = false;
};

}  // namespace detail

/// Reads a PodList, the answer to `GET /api/v1/pods`.
///
/// Errors (without `to` thrown as `std::system_error`): a `json_errc`; `scheduler_errc::bad_answer` (another kind of
/// object, a pod without a name, only the first part of a longer list); `too_many_tasks` for more than 65,536 pods. The
/// place is a byte offset, or the server's own message.
[[nodiscard]] inline auto parse_pod_list(std::string_view json, ErrorRef to) -> std::vector<KubernetesPod> {
  detail::ErrorOut error{to};
  return detail::KubernetesList<KubernetesPod>{json}.read(error);
}
[[nodiscard]] inline auto parse_pod_list(std::string_view json) -> std::vector<KubernetesPod> {
  Error error;
  return detail::or_throw(parse_pod_list(json, error), error);
}

/// Reads a ServiceList, the answer to `GET /api/v1/services`.
///
/// Errors (without `to` thrown as `std::system_error`): a `json_errc`; `scheduler_errc::bad_answer` (another kind of
/// object, a service without a name, only the first part of a longer list); `too_many_tasks` for more than 65,536
/// services. The place is a byte offset, or the server's own message.
[[nodiscard]] inline auto parse_service_list(std::string_view json, ErrorRef to) -> std::vector<KubernetesService> {
  detail::ErrorOut error{to};
  return detail::KubernetesList<KubernetesService>{json}.read(error);
}
[[nodiscard]] inline auto parse_service_list(std::string_view json) -> std::vector<KubernetesService> {
  Error error;
  return detail::or_throw(parse_service_list(json, error), error);
}

/// Returns the path to request from the API server: the pods with these labels, in the namespace `space`, or in all
/// namespaces if `space` is "".
[[nodiscard]] DISTRIB_DECL auto pod_list_path(std::string_view selector, std::string_view space = {}) -> std::string;

/// Makes a cluster of running pods that are chosen by their labels. It cannot know which of them this process is. A
/// value.
///
///     const KubernetesResolver resolver{.jobs = {{"ps", {"role=ps"}}, {"worker", {"role=worker"}}}};
///     for (const std::string& selector : resolver.selectors())
///       pods[selector] = parse_pod_list(get(pod_list_path(selector)));   // you write `get`
///     const ClusterSpec cluster = resolver.cluster(pods);
struct KubernetesResolver {
  /// The jobs, and the label selectors of each job's pods. The pods of the first selector get the lowest indices.
  std::vector<std::pair<std::string, std::vector<std::string>>> jobs = {{"worker", {"job-name=tensorflow"}}};
  std::uint16_t port = 8470;  ///< Port at which every task listens.
  std::string rpc_layer = "grpc";  ///< For `master_url`.

  /// True: uses the address of the pod's node, as TensorFlow does. That reaches the pod only if it uses the network or
  /// a port of its node.
  bool node_address = false;

  using Pods = std::map<std::string, std::vector<KubernetesPod>, std::less<>>;

  /// Returns all label selectors, job after job in the order of `jobs`, each once, where it comes first. Compares them
  /// as texts ("role=ps" and "role = ps" are two), and does not check them.
  [[nodiscard]] auto selectors() const -> std::vector<std::string> {
    std::vector<std::string> all;
    for (const auto& [job, list] : jobs)
      for (const std::string& selector : list)
        if (std::find(all.begin(), all.end(), selector) == all.end()) all.push_back(selector);
    return all;
  }

  /// Returns the cluster. The pods of each selector are sorted by name. A selector that is not in `pods` has no pods.
  ///
  /// Errors (without `to` thrown as `std::system_error`): `scheduler_errc::pod_not_running` (a pod is not running or
  /// has no address; names pod and phase), `cluster_errc::duplicate_job`.
  [[nodiscard]] DISTRIB_DECL auto cluster(const Pods& pods, ErrorRef to) const -> ClusterSpec;
  [[nodiscard]] auto cluster(const Pods& pods) const -> ClusterSpec {
    Error error;
    return detail::or_throw(cluster(pods, error), error);
  }

 private:
  DISTRIB_DECL void append(std::vector<KubernetesPod> pods, ClusterSpec::Tasks& tasks, Error& error) const;
};

namespace detail {

/// Returns the task that a service's name describes. The name must have at least four parts between dashes; the last
/// two are job and index: "ANY-NAME-worker-0". Empty if the job is not chief, worker, ps or evaluator.
///
/// Errors: `scheduler_errc::bad_service_name` if the name has fewer than four parts, or its index is not a number below
/// 2^32. The result is empty then too.
[[nodiscard]] DISTRIB_DECL auto task_of_service(std::string_view name, std::error_code& ec) -> std::optional<TaskId>;
[[nodiscard]] DISTRIB_DECL auto task_of_service(std::string_view name) -> std::optional<TaskId>;

}  // namespace detail

/// Returns a cluster of the services that have an address. Each service is the task that its name describes: the name
/// has at least four parts between dashes, the last two are job and index, "ANY-NAME-worker-0", and the job is chief,
/// worker, ps or evaluator. All tasks have the same port. If two services describe one task, the last one counts. Skips
/// services without an address and services with other names.
///
/// Errors (without `to` thrown as `std::system_error`): `scheduler_errc::no_service` if no service of a task has an
/// address; `bad_service_name` instead if services have addresses, but no service at all describes a task (names one of
/// them); `missing_service` if a job has gaps.
[[nodiscard]] DISTRIB_DECL auto cluster_of_services(const std::vector<KubernetesService>& services, std::uint16_t port,
                                                    ErrorRef to) -> ClusterSpec;
[[nodiscard]] inline auto cluster_of_services(const std::vector<KubernetesService>& services, std::uint16_t port = 5000)
    -> ClusterSpec {
  Error error;
  return detail::or_throw(cluster_of_services(services, port, error), error);
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/cluster/impl/kubernetes_resolver.ipp>
#endif
