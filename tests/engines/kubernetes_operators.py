#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the main job as a JobSet and as a TFJob, on a Kubernetes node on this machine with the operators of both.

usage: kubernetes_operators.py BUILD

The node is the one of kubernetes.py, with kube-proxy, JobSet's controller and Kubeflow's training operator from the Go
module proxy, installed with their own manifests. A parameter server (of the JobSet: its pod, deleted by force) and a
worker are killed during the training. The job must end by itself, its parameter servers with it, with the same
parameters as one undisturbed process. A TFJob whose parameter server is evicted fails, and must continue when it is
applied again. Jobs with a wrong flag must fail at once. Needs root. Exit code 77: skipped.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
from control_plane import OPERATORS, until  # noqa: E402
from main_job import PS, WORKERS, main  # noqa: E402


def killed(job, node, expected, what, condition, how, action):
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
        (tfjob, "tfjob", {}),
        (tfjob_evicted, "tfjob", {"ps_max_unavailable": 1, "train_claim": "kept"}),
        (tfjob_wrong, "tfjob", {"data_flag": "--date"})], OPERATORS))
