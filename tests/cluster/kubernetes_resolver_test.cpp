// SPDX-License-Identifier: Apache-2.0
#include <distrib/cluster/kubernetes_resolver.hpp>

#include "support/catch.hpp"

using distrib::cluster_errc;
using distrib::cluster_of_services;
using distrib::ClusterSpec;
using distrib::Error;
using distrib::json_errc;
using distrib::KubernetesPod;
using distrib::KubernetesResolver;
using distrib::KubernetesService;
using distrib::parse_pod_list;
using distrib::parse_service_list;
using distrib::pod_list_path;
using distrib::scheduler_errc;
using distrib::TaskId;
using distrib::detail::task_of_service;
using Pods = std::vector<KubernetesPod>;
using Services = std::vector<KubernetesService>;

namespace {

const std::string pod_list = R"({"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "7"}, "items": [
  {"metadata": {"name": "w-1", "labels": {"name": "x", "phase": "y"}, "ownerReferences": [{"name": "w"}]},
   "spec": {"containers": [{"name": "train", "args": [], "env": [[{"name": "a"}], []]}], "nodeName": "n"},
   "status": {"phase": "Running", "hostIP": "192.168.0.2", "hostIPs": [{"ip": "192.168.0.2"}], "podIP": "10.1.2.4",
              "podIPs": [{"ip": "10.1.2.4"}, {"ip": "fd00::4"}], "conditions": []}},
  {"status": {"phase": "Running", "podIP": "10.1.2.3", "hostIP": "192.168.0.1"}, "metadata": {"name": "w-0"}}]})";

auto two_pods() -> Pods {
  return {{"w-1", "Running", "10.1.2.4", "192.168.0.2"}, {"w-0", "Running", "10.1.2.3", "192.168.0.1"}};
}

}  // namespace

TEST_CASE("parse_pod_list: reads four texts of each pod", "[cluster][kubernetes]") {
  CHECK(parse_pod_list(pod_list) == two_pods());
  CHECK(parse_pod_list(R"({"items": [{"metadata": {"name": "p"}, "status": {"phase": "Pending"}}]})") ==
        Pods{{"p", "Pending", "", ""}});
  CHECK(parse_pod_list(R"({"items": []})").empty());
  CHECK(parse_pod_list(R"({"items": null, "metadata": {"continue": ""}})").empty());
}

TEST_CASE("parse_pod_list: refuses anything but a complete list of pods", "[cluster][kubernetes]") {
  struct Refusal {
    std::string text;
    std::error_code code;
    std::string where;
  };
  const Refusal refusals[] = {
      {"", json_errc::unexpected_end, "offset 0"},
      {R"({"items": [)", json_errc::unexpected_end, "offset 11"},
      {R"({"items": []} x)", json_errc::trailing_text, "offset 14"},
      {"[]", scheduler_errc::bad_answer, "offset 0"},
      {"{}", scheduler_errc::bad_answer, "offset 1"},
      {R"({"items": {}})", scheduler_errc::bad_answer, "offset 12"},
      {R"({"items": [1]})", scheduler_errc::bad_answer, "offset 11"},
      {R"({"items": [{}]})", scheduler_errc::bad_answer, "offset 12"},
      {R"({"items": [], "metadata": {"continue": "abc"}})", scheduler_errc::bad_answer, "offset 44"},
      {R"({"kind": "Status", "message": "pods is forbidden", "code": 403})", scheduler_errc::bad_answer,
       "pods is forbidden"},
      {R"({"items": [{"metadata": )" + std::string(70, '[') + "]}", json_errc::too_deep, "offset 85"},
  };
  for (const Refusal& refusal : refusals) {
    CAPTURE(refusal.text);
    Error error;
    CHECK(parse_pod_list(refusal.text, error).empty());
    CHECK(error.code == refusal.code);
    CHECK(error.where == refusal.where);
    std::error_code ec;
    CHECK(parse_pod_list(refusal.text, ec).empty());
    CHECK(ec == refusal.code);
    CHECK_THROWS_WITH(parse_pod_list(refusal.text), ContainsSubstring(refusal.where));
  }
  std::string many = R"({"items": [)";
  for (std::size_t i = 0; i <= distrib::detail::max_kubernetes_items; ++i)
    many.append(i == 0 ? "" : ",").append(R"({"metadata":{"name":"p"}})");
  std::error_code ec;
  CHECK(parse_pod_list(many + "]}", ec).empty());
  CHECK(ec == scheduler_errc::too_many_tasks);
}

TEST_CASE("pod_list_path: escapes the selector", "[cluster][kubernetes]") {
  CHECK(pod_list_path("job-name=tensorflow") == "/api/v1/pods?labelSelector=job-name%3Dtensorflow");
  CHECK(pod_list_path("a in (b,c)", "team/1") == "/api/v1/namespaces/team%2F1/pods?labelSelector=a%20in%20%28b%2Cc%29");
}

TEST_CASE("KubernetesResolver: sorts pods by name, keeps the order of selectors, uses one port",
          "[cluster][kubernetes]") {
  const KubernetesResolver standard;
  CHECK(standard.selectors() == std::vector<std::string>{"job-name=tensorflow"});
  CHECK(standard.cluster({{"job-name=tensorflow", two_pods()}}) ==
        ClusterSpec{{"worker", {"10.1.2.3:8470", "10.1.2.4:8470"}}});
  CHECK(KubernetesResolver{.node_address = true}.cluster({{"job-name=tensorflow", two_pods()}}) ==
        ClusterSpec{{"worker", {"192.168.0.1:8470", "192.168.0.2:8470"}}});

  const KubernetesResolver two{.jobs = {{"worker", {"b", "a"}}, {"ps", {"p", "b"}}}, .port = 2222};
  CHECK(two.selectors() == std::vector<std::string>{"b", "a", "p"});
  const ClusterSpec cluster = two.cluster({{"a", two_pods()}, {"b", {{"x", "Running", "fd00::1", ""}}}});
  CHECK(cluster ==
        ClusterSpec{{"worker", {"[fd00::1]:2222", "10.1.2.3:2222", "10.1.2.4:2222"}}, {"ps", {"[fd00::1]:2222"}}});
  CHECK(cluster.jobs() == std::vector<std::string>{"worker", "ps"});
}

TEST_CASE("KubernetesResolver: the error names a pod that is not running", "[cluster][kubernetes]") {
  const KubernetesResolver resolver;
  Error error;
  const KubernetesResolver::Pods failed{{"job-name=tensorflow", {{"tensorflow-abc123", "Failed", "10.1.2.3", "h"}}}};
  CHECK_FALSE(resolver.cluster(failed, error));
  CHECK(error.code == scheduler_errc::pod_not_running);
  CHECK(error.where == "'tensorflow-abc123', phase 'Failed', address '10.1.2.3'");
  CHECK_THROWS_WITH(resolver.cluster(failed), ContainsSubstring("'tensorflow-abc123', phase 'Failed'"));
  std::error_code ec;
  CHECK_FALSE(resolver.cluster({{"job-name=tensorflow", {{"p", "Running", "", "h"}}}}, ec));
  CHECK(ec == scheduler_errc::pod_not_running);
  CHECK_FALSE(KubernetesResolver{.jobs = {{"ps", {"a"}}, {"ps", {"b"}}}}.cluster({}, error));
  CHECK(error.code == cluster_errc::duplicate_job);
  CHECK(error.where == "ps");
}

TEST_CASE("parse_service_list: reads the first address of the load balancer", "[cluster][kubernetes]") {
  CHECK(parse_service_list(R"({"kind": "ServiceList", "items": [
          {"metadata": {"name": "a-b-ps-0"},
           "status": {"loadBalancer": {"ingress": [{"ip": "1.1.1.1", "hostname": "lb"}, {"ip": "1.1.1.2"}]}}},
          {"metadata": {"name": "a-b-ps-1"}, "status": {"loadBalancer": {"ingress": [{"hostname": "lb.example"}]}}},
          {"metadata": {"name": "kubernetes"}, "spec": {"clusterIP": "1.0.0.1"}, "status": {"loadBalancer": {}}}]})") ==
        Services{{"a-b-ps-0", "1.1.1.1"}, {"a-b-ps-1", "lb.example"}, {"kubernetes", ""}});
  std::error_code ec;
  CHECK(parse_service_list("{}", ec).empty());
  CHECK(ec == scheduler_errc::bad_answer);
}

TEST_CASE("task_of_service: the last two of at least four parts are job and index", "[cluster][kubernetes]") {
  CHECK(distrib::detail::task_of_service("dist-strat-example-worker-0") == TaskId{"worker", 0});
  CHECK(distrib::detail::task_of_service("a-b-ps-12") == TaskId{"ps", 12});
  CHECK(distrib::detail::task_of_service("a--chief-0") == TaskId{"chief", 0});
  CHECK(distrib::detail::task_of_service("a-b-evaluator-0") == TaskId{"evaluator", 0});
  CHECK_FALSE(distrib::detail::task_of_service("a-b-tensorboard-0"));
  CHECK_FALSE(distrib::detail::task_of_service("a-b-c-d"));
  for (const char* name :
       {"", "-", "kubernetes", "worker-0", "job-worker-0", "a-b-worker-x", "a-b-worker-", "a-b-worker-4294967296"}) {
    CAPTURE(name);
    std::error_code ec;
    CHECK_FALSE(distrib::detail::task_of_service(name, ec));
    CHECK(ec == scheduler_errc::bad_service_name);
    CHECK_THROWS_WITH(distrib::detail::task_of_service(name),
                      ContainsSubstring("'" + std::string{name} + "': the service is not"));
  }
}

TEST_CASE("cluster_of_services: tasks by name, without other services and services that have no address",
          "[cluster][kubernetes]") {
  const ClusterSpec cluster = cluster_of_services({{"x-y-worker-1", "1.1.1.2"},
                                                   {"kubernetes", ""},
                                                   {"x-y-worker-0", "1.1.1.1"},
                                                   {"x-y-tensorboard-0", "1.1.1.7"},
                                                   {"x-y-ps-0", "1.1.1.9"}});
  CHECK(cluster == ClusterSpec{{"worker", {"1.1.1.1:5000", "1.1.1.2:5000"}}, {"ps", {"1.1.1.9:5000"}}});
  CHECK(cluster.jobs() == std::vector<std::string>{"worker", "ps"});

  const Services with_others = {{"web", "a"}, {"my-new-worker-api", "b"}, {"x-y-ps-0", "1.1.1.9"}, {"job-ps-1", "c"}};
  CHECK(cluster_of_services(with_others) == ClusterSpec{{"ps", {"1.1.1.9:5000"}}});

  const Services two_families = parse_service_list(R"({"kind": "ServiceList", "metadata": {}, "items": [
      {"metadata": {"name": "a-b-ps-0"}, "status": {"loadBalancer": {"ingress": [{"ip": "2001:db8::5"}]}}},
      {"metadata": {"name": "a-b-worker-0"}, "status": {"loadBalancer": {"ingress": [{"hostname": "x.elb.example"}]}}},
      {"metadata": {"name": "a-b-worker-1"}, "status": {"loadBalancer": {"ingress": [{"ip": "::1"}]}}}]})");
  CHECK(cluster_of_services(two_families) ==
        ClusterSpec{{"ps", {"[2001:db8::5]:5000"}}, {"worker", {"x.elb.example:5000", "[::1]:5000"}}});

  struct Refusal {
    Services services;
    scheduler_errc code;
    std::string where;
  };
  for (const Refusal& refusal :
       {Refusal{{}, scheduler_errc::no_service, "0 services"},
        Refusal{{{"x-y-worker-0", ""}}, scheduler_errc::no_service, "1 services"},
        Refusal{{{"x-y-worker-0", "a"}, {"x-y-worker-2", "b"}}, scheduler_errc::missing_service, "worker"},
        Refusal{{{"x-y-ps-4294967295", "a"}}, scheduler_errc::missing_service, "ps"},
        Refusal{{{"web", "a"}, {"x-y-ps-0", ""}}, scheduler_errc::no_service, "2 services"},
        Refusal{{{"x-y-tensorboard-0", "a"}}, scheduler_errc::no_service, "1 services"},
        Refusal{{{"db", ""}, {"job-ps-0", "a"}, {"web", "b"}}, scheduler_errc::bad_service_name, "'job-ps-0'"}}) {
    Error error;
    CHECK_FALSE(cluster_of_services(refusal.services, 1, error));
    CHECK(error.code == refusal.code);
    CHECK(error.where == refusal.where);
    std::error_code ec;
    CHECK_FALSE(cluster_of_services(refusal.services, 1, ec));
    CHECK(ec == refusal.code);
    CHECK_THROWS_WITH(cluster_of_services(refusal.services), ContainsSubstring(refusal.where));
  }
}
