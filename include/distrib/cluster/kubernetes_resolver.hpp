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

// Clusters out of what the API server of Kubernetes answers. Nothing here asks it: who does, over HTTPS and with the
// credentials of a pod or of a user, hands the text in.

namespace distrib {
inline namespace v0 {

/// What a resolver needs of a pod.
struct KubernetesPod {
  std::string name;
  std::string phase;    ///< "Running", "Pending", ...
  std::string pod_ip;   ///< Its own address; "" until it has one.
  std::string host_ip;  ///< That of its node.

  [[nodiscard]] auto operator==(const KubernetesPod&) const -> bool = default;
};

/// What is needed of a service.
struct KubernetesService {
  std::string name;
  std::string address;  ///< The first of its load balancer, IP or host name; "" until there is one.

  [[nodiscard]] auto operator==(const KubernetesService&) const -> bool = default;
};

namespace detail {

/// Most items of a list; a longer one is refused.
inline constexpr std::size_t max_kubernetes_items = 65'536;

DISTRIB_DECL void read_kubernetes_field(std::string_view path, std::string_view value, KubernetesPod& pod);
inline void read_kubernetes_field(std::string_view path, std::string_view value, KubernetesService& service) {
  if (path == "/metadata/name") service.name = value;
  const bool address = path == "/status/loadBalancer/ingress/ip" || path == "/status/loadBalancer/ingress/hostname";
  if (address && service.address.empty()) service.address = value;
}

/// Reads the items of a PodList or ServiceList: of each the texts whose paths somebody knows, of an array in it the
/// first element only. The first failure ends it.
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
      } else if (key == "message" && value == JsonToken::string) {  // of a Status, which says why there is no list
        why_ = json_.text().substr(0, 200);
      } else if (key == "metadata" && value == JsonToken::begin_object) {
        read_list_metadata();
      } else {
        json_.skip();
      }
    }
  }

  /// A list that goes on elsewhere is not whole.
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

  /// The reader bounds how deep this goes, and the length of `path` with it.
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

/// Reads a PodList, the answer to `GET /api/v1/pods`. Fails with a `json_errc`, or `scheduler_errc::bad_answer`
/// (another object, a pod without a name, a list that goes on elsewhere), `too_many_tasks`; the place is a byte offset,
/// or what the server says.
[[nodiscard]] inline auto parse_pod_list(std::string_view json, ErrorRef to) -> std::vector<KubernetesPod> {
  detail::ErrorOut error{to};
  return detail::KubernetesList<KubernetesPod>{json}.read(error);
}
[[nodiscard]] inline auto parse_pod_list(std::string_view json) -> std::vector<KubernetesPod> {
  Error error;
  return detail::or_throw(parse_pod_list(json, error), error);
}

/// Reads a ServiceList, the answer to `GET /api/v1/services`, as `parse_pod_list` reads pods.
[[nodiscard]] inline auto parse_service_list(std::string_view json, ErrorRef to) -> std::vector<KubernetesService> {
  detail::ErrorOut error{to};
  return detail::KubernetesList<KubernetesService>{json}.read(error);
}
[[nodiscard]] inline auto parse_service_list(std::string_view json) -> std::vector<KubernetesService> {
  Error error;
  return detail::or_throw(parse_service_list(json, error), error);
}

/// What to ask the API server for: pods with these labels, of one namespace, or of all when `space` is "".
[[nodiscard]] DISTRIB_DECL auto pod_list_path(std::string_view selector, std::string_view space = {}) -> std::string;

/// Makes a cluster of running pods, chosen by their labels; which of them this process is, it cannot know. A value.
///
///     const KubernetesResolver resolver{.jobs = {{"ps", {"role=ps"}}, {"worker", {"role=worker"}}}};
///     for (const std::string& selector : resolver.selectors())
///       pods[selector] = parse_pod_list(get(pod_list_path(selector)));   // `get` is yours
///     const ClusterSpec cluster = resolver.cluster(pods);
struct KubernetesResolver {
  /// Jobs, and by which label selectors their pods are found; those of the first selector come first.
  std::vector<std::pair<std::string, std::vector<std::string>>> jobs = {{"worker", {"job-name=tensorflow"}}};
  std::uint16_t port = 8470;  ///< Where every task listens.
  std::string rpc_layer = "grpc";  ///< For `master_url`.

  /// Take the address of the node, as TensorFlow does, which reaches a pod only where it has its node's network or
  /// port.
  bool node_address = false;

  using Pods = std::map<std::string, std::vector<KubernetesPod>, std::less<>>;

  /// Each label selector once.
  [[nodiscard]] auto selectors() const -> std::vector<std::string> {
    std::vector<std::string> all;
    for (const auto& [job, list] : jobs)
      for (const std::string& selector : list)
        if (std::find(all.begin(), all.end(), selector) == all.end()) all.push_back(selector);
    return all;
  }

  /// The pods of each selector in the order of their names. A selector that `pods` lacks has none. Fails with
  /// `scheduler_errc::pod_not_running`, naming pod and phase; `cluster_errc::duplicate_job`.
  [[nodiscard]] DISTRIB_DECL auto cluster(const Pods& pods, ErrorRef to) const -> ClusterSpec;
  [[nodiscard]] auto cluster(const Pods& pods) const -> ClusterSpec {
    Error error;
    return detail::or_throw(cluster(pods, error), error);
  }

 private:
  DISTRIB_DECL void append(std::vector<KubernetesPod> pods, ClusterSpec::Tasks& tasks, Error& error) const;
};

namespace detail {

/// The task that a service is named after: job and index are the last two of at least four parts between dashes,
/// "NAME-OF-IT-worker-0". Empty for a job that is none of chief, worker, ps, evaluator. Fails with
/// `scheduler_errc::bad_service_name`.
[[nodiscard]] DISTRIB_DECL auto task_of_service(std::string_view name, std::error_code& ec) -> std::optional<TaskId>;
[[nodiscard]] DISTRIB_DECL auto task_of_service(std::string_view name) -> std::optional<TaskId>;

}  // namespace detail

/// A cluster of the services that have an address, each a task by its name, all at the same port; the last one of a
/// task counts. Fails with `scheduler_errc::bad_service_name`, `no_service`, `missing_service`.
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
