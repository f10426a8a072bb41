#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the main job as a JobSet, a TrainJob and a TFJob, and in a queue of Kueue, on a Kubernetes node on this machine with
the operators of all of them.

usage: kubernetes_operators.py BUILD

The node is the one of kubernetes.py, with kube-proxy, and with JobSet's controller, Kubeflow's Trainer and training
operator, and Kueue from the Go module proxy, installed with their own manifests. A parameter server (of the JobSet and the
TrainJob: its pod, deleted by force) and a worker are killed during the training. The job must end by itself, its parameter
servers with it, with the same parameters as one undisturbed process; the status of a TrainJob has its progress. A TFJob
whose parameter server is evicted fails, and must continue when it is applied again. Jobs with a wrong flag must fail at
once. Of a job that has room for some of its pods only, Kueue starts none; when there is room for all, it completes. Needs
root. Exit code 77: skipped.
"""

import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
from control_plane import OPERATORS, until  # noqa: E402
from main_job import PS, WORKERS, main  # noqa: E402

KUEUE = "kueue.x-k8s.io/v1beta2"
# The port at which the Trainer takes the progress of jobs: a NetworkPolicy of the job must allow it.
STATUS_SERVER = {"to": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kubeflow-system"}}}],
                 "ports": [{"port": 10443, "protocol": "TCP"}]}


def killed(job, node, expected, what, condition, how, action, told=None):
    """Runs the job with kills. `told`, if there is one, returns what the object's status says of a job that is done."""
    job.apply()
    until("all pods to be ready", job.all_running, node.processes, 180)
    job.say(f"{PS} ps and {WORKERS} workers are ready")
    job.policies()
    job.lose("ps", 0, job.steps // 4, how, action)
    job.lose("worker", 1, job.steps // 2, "kill -9 of", node.kill)
    job.ended(f"{what}/{job.name}", condition)

    def are_gone():
        return all(pod["status"]["phase"] in ("Succeeded", "Failed") for pod in job.pods("ps"))

    until("the end of the parameter servers", are_gone, node.processes, 120)
    job.say("no parameter server is left")
    if told:
        job.say(f"its status says {until('the progress in the status', told, node.processes, 60)}")
    job.check(expected)
    job.delete()


def fails(job, what, reason):
    job.apply()
    said = job.ended(f"{what}/{job.name}", "Failed")
    print(f"{job.name}: {said['reason']}: {said['message']}", flush=True)
    assert said["reason"] == reason, f"not {reason}"
    job.delete()


def jobset(job, node, expected):
    def delete(pod):
        job.budget(0)
        node.kubectl("delete", "pod", "--force", pod["metadata"]["name"])

    killed(job, node, expected, "jobset", "Completed", "kubectl delete pod --force", delete)


def jobset_wrong(job, node, expected):
    fails(job, "jobset", "FailJobSetFailurePolicyAction")


def trainjob(job, node, expected):
    def delete(pod):
        job.budget(0)
        node.kubectl("delete", "pod", "--force", pod["metadata"]["name"])

    def ends():
        status = json.loads(node.kubectl("get", f"trainjob/{job.name}", "-o", "json"))["status"]
        told = status.get("trainerStatus", {})
        return told if told.get("progressPercentage") == 100 else None

    killed(job, node, expected, "trainjob", "Complete", "kubectl delete pod --force", delete, ends)


def trainjob_wrong(job, node, expected):
    fails(job, "trainjob", "FailJobSetFailurePolicyAction")


def kueue(job, node, expected):
    """The queue has room for one CPU, and the job asks for more: no pod starts before there is room for all."""
    def has_quota(cpus):
        node.apply(
            {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "any"}},
            {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": "all"}, "spec": {
                "namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu", "memory"], "flavors": [{
                    "name": "any", "resources": [{"name": "cpu", "nominalQuota": cpus},
                                                 {"name": "memory", "nominalQuota": "16Gi"}]}]}]}},
            {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": {"name": "team", "namespace": node.namespace},
             "spec": {"clusterQueue": "all"}})

    def pending():
        found = json.loads(node.kubectl("get", "workloads.kueue.x-k8s.io", "-o", "json"))["items"]
        return any(one["type"] == "QuotaReserved" and one["status"] == "False" and "insufficient" in one["message"]
                   for work in found for one in work.get("status", {}).get("conditions", []))

    has_quota(1)
    job.apply()
    until("the queue to hold the job back", pending, node.processes, 60)
    end = time.monotonic() + 10
    while time.monotonic() < end:
        bound = [pod["metadata"]["name"] for pod in job.pods("ps") + job.pods("worker") if pod["spec"].get("nodeName")]
        assert not bound, f"Kueue started {bound}, and there is no room for all"
        time.sleep(0.5)
    job.say("Kueue starts none of its pods for 10 s, as there is no room for all")
    has_quota(4)
    until("all pods to be ready", job.all_running, node.processes, 180)
    job.say("all pods are ready")
    job.ended(f"jobset/{job.name}", "Completed")
    job.check(expected)
    job.delete()


def tfjob(job, node, expected):
    killed(job, node, expected, "tfjob", "Succeeded", "kill -9 of", node.kill)


def tfjob_evicted(job, node, expected):
    """The operator fails the whole job when a pod is evicted. The job continues when it is applied again."""
    job.apply()
    step = job.reach(job.steps // 10)
    job.budget(1)
    job.say(f"eviction of ps 0 at step {step}")
    status, answer = node.evict(job.pods("ps", 0)[0])
    assert status == 201, answer
    job.ended(f"tfjob/{job.name}", "Failed")
    job.delete()
    job.saved()
    job.apply()
    job.ended(f"tfjob/{job.name}", "Succeeded")
    job.check(expected)
    job.delete()


def tfjob_wrong(job, node, expected):
    fails(job, "tfjob", "TFJobFailed")


if __name__ == "__main__":
    sys.exit(main(__file__, [
        (jobset, "jobset", {"probe": ["fashion_mnist_train", "--probe"]}),
        (jobset_wrong, "jobset", {"data_flag": "--date"}),
        (trainjob, "trainjob", {"probe": ["fashion_mnist_train", "--probe"], "egress": [STATUS_SERVER]}),
        (trainjob_wrong, "trainjob", {"data_flag": "--date"}),
        (kueue, "jobset", {"queue": "team"}),
        (tfjob, "tfjob", {}),
        (tfjob_evicted, "tfjob", {"ps_max_unavailable": 1, "train_claim": "kept"}),
        (tfjob_wrong, "tfjob", {"data_flag": "--date"})], OPERATORS))
