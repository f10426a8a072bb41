#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The main job on a Kubernetes node of this machine, from the template and the image that people use.

usage: kubernetes.py BUILD

kube-apiserver, kube-controller-manager, kube-scheduler, kubelet, CoreDNS and kube-router's firewall of the Go module
proxy (built when the cache directory has none: half an hour, 3 GB), with etcd, containerd and a bridge, in namespaces
of their own. A parameter server is deleted by force and a worker killed in training; the job ends by itself, its
parameters are those of one undisturbed process. Another is deleted whole, which asks it to stop, and goes on when it is
applied again. In a third one parameter servers are a Job and end too, and a worker is evicted. The next is rendered for
older Kubernetes, and loses a parameter server without a word. The last one is wrong for good, and ends at once.
As root. Exit code 77: skipped.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
from control_plane import until  # noqa: E402
from main_job import PS, WORKERS, main  # noqa: E402


def first(job, node, expected):
    """Killed by what people and machines do to pods."""
    job.apply()
    until("all pods to be ready", job.all_running, node.processes, 120)
    job.say(f"{PS} ps and {WORKERS} workers are ready")
    job.budget(0)
    job.policies()
    for role, index in (("ps", 0), ("worker", 1)):
        node.is_confined(job.pods(role, index)[0])
    job.lose("ps", 0, job.steps // 4, "kubectl delete pod --force",
             lambda pod: node.kubectl("delete", "pod", "--force", pod["metadata"]["name"]))
    job.lose("worker", 1, job.steps // 2, "kill -9 of", node.kill)
    job.ended(f"job/{job.name}-worker", "complete", 1)

    def exit_codes():
        states = [pod["status"]["containerStatuses"][0] for pod in job.pods("ps")]
        last = [s["state"].get("terminated") or s["lastState"].get("terminated") for s in states]
        return [one["exitCode"] for one in last] if all(last) else []

    codes = until("the end of the parameter servers", exit_codes, node.processes, 60)
    job.say(f"exit codes of parameter servers: {codes}")
    assert codes == [0] * PS
    job.check(expected)
    job.delete()


def again(job, node, expected):
    """Deleted whole, and applied again."""
    job.apply()
    step = job.reach(job.steps // 10)
    job.say(f"kubectl delete -f at step {step}")
    job.delete()
    job.say("no pod is left")
    job.saved()
    job.apply()
    job.ended(f"job/{job.name}-worker", "complete", 0)
    job.check(expected)
    job.delete()


def ends(job, node, expected):
    """Parameter servers that are a Job end with it. A worker that a drain evicts counts as no failure."""
    job.apply()
    job.budget(0)
    job.lose("ps", 1, job.steps // 4, "kill -9 of", node.kill)
    status, answer = node.evict(job.pods("ps", 0)[0])
    job.say(f"an eviction of ps 0 is answered {status}")
    assert status == 429 and "disruption budget" in answer, answer
    job.lose("worker", 2, job.steps // 2, "eviction of", lambda pod: node.evict(pod))
    job.ended(f"job/{job.name}-worker", "complete", 0)
    job.ended(f"job/{job.name}-ps", "complete", 1)
    job.check(expected)
    job.delete()


def old(job, node, expected):
    """A StatefulSet or a Job for each task. A parameter server vanishes without a word, as with its node."""
    job.apply()

    def vanish(pod):
        node.cut_off(pod)
        node.kubectl("delete", "pod", "--force", pod["metadata"]["name"])

    job.lose("ps", 1, job.steps // 4, "connections cut, kubectl delete pod --force", vanish)
    job.lose("worker", 1, job.steps // 2, "kill -9 of", node.kill)
    for index in range(WORKERS):
        job.ended(f"job/{job.name}-worker-{index}", "complete", 1 if index == 1 else 0)
    job.check(expected)
    job.delete()


def wrong(job, node, expected):
    """No restart helps."""
    job.apply()
    reason = job.ended(f"job/{job.name}-worker", "failed", *range(1, WORKERS + 1))
    print(f"{job.name}: {reason['reason']}: {reason['message']}", flush=True)
    assert reason["reason"] == "PodFailurePolicy" and "exit code 64" in reason["message"]
    job.delete()


if __name__ == "__main__":
    sys.exit(main(__file__, [
        (first, "statefulset", {"probe": ["fashion_mnist_train", "--probe"], "token_secret_name": "token",
                                "tls_secret_name": "tls"}),
        (again, "statefulset", {"train_claim": "kept"}),
        (ends, "statefulset", {"ps_kind": "Job"}),
        (old, "statefulset", {"kubernetes_minor": 21}),
        (wrong, "statefulset", {"data_flag": "--date"})]))
