#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The main job as a JobSet and as a TFJob, on a Kubernetes node of this machine with the operators of both.

usage: kubernetes_operators.py BUILD

As kubernetes.py does it, and with kube-proxy, JobSet's controller and Kubeflow's training operator of the Go module
proxy, installed as they say. A parameter server is deleted by force and a worker killed in training; the job ends by
itself and with it its parameter servers, its parameters are those of one undisturbed process. Jobs that are wrong for
good end at once. As root. Exit code 77: skipped.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
from control_plane import OPERATORS, until  # noqa: E402
from main_job import PS, WORKERS, main  # noqa: E402


def killed(job, node, expected, what, condition):
    job.apply()
    until("all pods to be ready", job.all_running, node.processes, 180)
    job.say(f"{PS} ps and {WORKERS} workers are ready")
    job.lose("ps", 0, job.steps // 4, "kubectl delete pod --force",
             lambda pod: node.kubectl("delete", "pod", "--force", pod["metadata"]["name"]))
    job.lose("worker", 1, job.steps // 2, "kill -9 of", node.kill)
    job.ended(f"{what}/{job.name}", condition)

    def are_gone():
        return all(pod["status"]["phase"] in ("Succeeded", "Failed") for pod in job.pods("ps"))

    until("the end of the parameter servers", are_gone, node.processes, 120)
    job.say("no parameter server is left")
    job.check(expected)
    job.delete()


def fails(job, what, words):
    job.apply()
    reason = job.ended(f"{what}/{job.name}", "Failed")
    print(f"{job.name}: {reason['reason']}: {reason['message']}", flush=True)
    assert words in reason["message"], f"not {words}"
    job.delete()


def jobset(job, node, expected):
    killed(job, node, expected, "jobset", "Completed")


def jobset_wrong(job, node, expected):
    fails(job, "jobset", "exit code 64")


def tfjob(job, node, expected):
    killed(job, node, expected, "tfjob", "Succeeded")


def tfjob_wrong(job, node, expected):
    fails(job, "tfjob", "failed")


if __name__ == "__main__":
    sys.exit(main(__file__, [
        (jobset, "jobset", {"probe": ["fashion_mnist_train", "--probe"]}),
        (jobset_wrong, "jobset", {"data_flag": "--date"}),
        (tfjob, "tfjob", {}),
        (tfjob_wrong, "tfjob", {"data_flag": "--date"})], OPERATORS))
