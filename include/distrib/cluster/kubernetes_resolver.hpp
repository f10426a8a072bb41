// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/cluster/scheduler_error.hpp>
#include <distrib/cluster/task_id.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/json.hpp>
#include <distrib/core/shortest_text.hpp>

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

/// Most items of a list; a longer one is refused.
inline constexpr std::size_t max_kubernetes_items = 65'536;

namespace detail {

inline void read_kubernetes_field(std::string_view path, std::string_view value, KubernetesPod& pod) {
  if (path == "/metadata/name") pod.name = value;
  if (path == "/status/phase") pod.phase = value;
  if (path == "/status/podIP") pod.pod_ip = value;
  if (path == "/status/hostIP") pod.host_ip = value;
}
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
[[nodiscard]] inline auto parse_pod_list(std::string_view json, Error& error) -> std::vector<KubernetesPod> {
  return detail::KubernetesList<KubernetesPod>{json}.read(error);
}
[[nodiscard]] inline auto parse_pod_list(std::string_view json, std::error_code& ec) -> std::vector<KubernetesPod> {
  return parse_pod_list(json, detail::CodeOf{ec});
}
[[nodiscard]] inline auto parse_pod_list(std::string_view json) -> std::vector<KubernetesPod> {
  Error error;
  return detail::or_throw(parse_pod_list(json, error), error);
}

/// Reads a ServiceList, the answer to `GET /api/v1/services`, as `parse_pod_list` reads pods.
[[nodiscard]] inline auto parse_service_list(std::string_view json, Error& error) -> std::vector<KubernetesService> {
  return detail::KubernetesList<KubernetesService>{json}.read(error);
}
[[nodiscard]] inline auto parse_service_list(std::string_view json, std::error_code& ec)
    -> std::vector<KubernetesService> {
  return parse_service_list(json, detail::CodeOf{ec});
}
[[nodiscard]] inline auto parse_service_list(std::string_view json) -> std::vector<KubernetesService> {
  Error error;
  return detail::or_throw(parse_service_list(json, error), error);
}

/// What to ask the API server for: pods with these labels, of one namespace, or of all when `space` is "".
[[nodiscard]] inline auto pod_list_path(std::string_view selector, std::string_view space = {}) -> std::string {
  constexpr std::string_view hex = "0123456789ABCDEF";
  constexpr std::string_view plain = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const auto append = [&](std::string& path, std::string_view text) {
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (plain.find(c) != std::string_view::npos) path += c;
      else path.append(1, '%').append(1, hex[byte >> 4]).append(1, hex[byte & 15]);
    }
  };
  std::string path = "/api/v1/";
  if (!space.empty()) append(path += "namespaces/", space);
  append(path += space.empty() ? "pods?labelSelector=" : "/pods?labelSelector=", selector);
  return path;
}

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
  [[nodiscard]] auto cluster(const Pods& pods, Error& error) const -> ClusterSpec {
    error = {};
    ClusterSpec cluster;
    for (const auto& [job, list] : jobs) {
      ClusterSpec::Tasks tasks;
      for (const std::string& selector : list) {
        const auto found = pods.find(selector);
        if (found != pods.end()) append(found->second, tasks, error);
        if (error) return {};
      }
      cluster.add(job, std::move(tasks), error.code);
      if (error) error.where = job;
      if (error) return {};
    }
    return cluster;
  }
  [[nodiscard]] auto cluster(const Pods& pods, std::error_code& ec) const -> ClusterSpec {
    return cluster(pods, detail::CodeOf{ec});
  }
  [[nodiscard]] auto cluster(const Pods& pods) const -> ClusterSpec {
    Error error;
    return detail::or_throw(cluster(pods, error), error);
  }

 private:
  void append(std::vector<KubernetesPod> pods, ClusterSpec::Tasks& tasks, Error& error) const {
    std::sort(pods.begin(), pods.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    for (const KubernetesPod& pod : pods) {
      const std::string& host = node_address ? pod.host_ip : pod.pod_ip;
      if (pod.phase != "Running" || host.empty()) {
        error = {scheduler_errc::pod_not_running,
                 "'" + pod.name + "', phase '" + pod.phase + "', address '" + host + "'"};
        return;
      }
      const bool v6 = host.find(':') != std::string::npos;
      const std::string address = (v6 ? '[' + host + ']' : host) + ':' + std::to_string(port);
      tasks.emplace(static_cast<std::uint32_t>(tasks.size()), address);
    }
  }
};

/// The task that a service is named after: job and index are the last two of at least four parts between dashes,
/// "NAME-OF-IT-worker-0". Empty for a job that is none of chief, worker, ps, evaluator. Fails with
/// `scheduler_errc::bad_service_name`.
[[nodiscard]] inline auto task_of_service(std::string_view name, std::error_code& ec) -> std::optional<TaskId> {
  ec.clear();
  const std::size_t last = name.rfind('-');
  const std::size_t before = last == std::string_view::npos || last == 0 ? last : name.rfind('-', last - 1);
  if (std::count(name.begin(), name.end(), '-') < 3) {
    ec = scheduler_errc::bad_service_name;
    return std::nullopt;
  }
  const std::string_view job = name.substr(before + 1, last - before - 1);
  if (job != "chief" && job != "worker" && job != "ps" && job != "evaluator") return std::nullopt;
  const auto index = detail::parse_whole<std::uint32_t>(name.substr(last + 1));
  if (index) return TaskId{std::string{job}, *index};
  ec = scheduler_errc::bad_service_name;
  return std::nullopt;
}
[[nodiscard]] inline auto task_of_service(std::string_view name) -> std::optional<TaskId> {
  std::error_code ec;
  auto task = task_of_service(name, ec);
  if (ec) throw_error(ec, "'" + std::string{name.substr(0, 255)} + "'");
  return task;
}

/// A cluster of the services that have an address, each a task by its name, all at the same port; the last one of a
/// task counts. Fails with `scheduler_errc::bad_service_name`, `no_service`, `missing_service`.
[[nodiscard]] inline auto cluster_of_services(const std::vector<KubernetesService>& services, std::uint16_t port,
                                              Error& error) -> ClusterSpec {
  error = {};
  std::vector<std::pair<std::string, ClusterSpec::Tasks>> jobs;
  for (const auto& [name, address] : services) {
    if (address.empty()) continue;
    const auto task = task_of_service(name, error.code);
    error.where = error.code ? "'" + name + "'" : "";
    if (error) return {};
    if (!task) continue;
    auto job = std::find_if(jobs.begin(), jobs.end(), [&](const auto& known) { return known.first == task->job; });
    if (job == jobs.end()) job = jobs.insert(job, {task->job, {}});
    job->second[task->index] = address + ':' + std::to_string(port);
  }
  ClusterSpec cluster;
  if (jobs.empty()) error = {scheduler_errc::no_service, std::to_string(services.size()) + " services"};
  for (auto& [job, tasks] : jobs) {
    if (tasks.rbegin()->first >= tasks.size()) error = {scheduler_errc::missing_service, job};
    cluster.add(job, std::move(tasks));
  }
  return error ? ClusterSpec{} : cluster;
}
[[nodiscard]] inline auto cluster_of_services(const std::vector<KubernetesService>& services, std::uint16_t port,
                                              std::error_code& ec) -> ClusterSpec {
  return cluster_of_services(services, port, detail::CodeOf{ec});
}
[[nodiscard]] inline auto cluster_of_services(const std::vector<KubernetesService>& services, std::uint16_t port = 5000)
    -> ClusterSpec {
  Error error;
  return detail::or_throw(cluster_of_services(services, port, error), error);
}

}  // namespace v0
}  // namespace distrib
