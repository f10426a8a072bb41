#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the main job on a Kubernetes node on this machine, from the template statefulset.yaml.jinja of the examples.

usage: kubernetes.py BUILD

The node consists of kube-apiserver, kube-controller-manager, kube-scheduler, kubelet, CoreDNS and kube-router's
firewall, built from the Go module proxy if the cache directory does not have them (half an hour, 3 GB), and of etcd,
containerd and a bridge. Everything runs in private namespaces. There are six jobs:
- first: a parameter server is deleted by force and a worker is killed during the training. The job ends by itself, with
  the same parameters as one undisturbed process.
- again: the whole job is deleted, which asks it to stop. It continues when it is applied again.
- ends: the parameter servers are a Job and end too. One of them is killed, and a worker is evicted.
- stored: data, cuts and results are in an object store, a pod of versitygw, and the job has no volume. A parameter
  server is deleted by force, a worker and the store are killed. The same parameters as on a disk.
- old: rendered for an older Kubernetes. The connections of a parameter server are cut before it is deleted.
- wrong: a wrong flag, so no restart helps. The job fails at once.
Needs root, and the program versitygw, which DISTRIB_VERSITYGW names: tests/run.sh engines builds it. Exit code 77:
skipped.
"""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
from control_plane import skip, until  # noqa: E402
from main_job import PS, WORKERS, main  # noqa: E402
from object_store import ENDPOINT, LABELS, PORT, SECRET, Store  # noqa: E402


def first(job, node, expected):
    """A pod is deleted by force, and the process of another pod is killed."""
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
    """The whole job is deleted, and applied again."""
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
    """Parameter servers that are a Job end with the training. The eviction of a worker does not count as a failure."""
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


def stored(job, node, expected):
    """Nothing of the job is on a volume: only the object store keeps what it needs."""
    store = Store(node, job.distrib)
    store.has_records()
    job.result = store.bucket / "stored"
    job.apply()
    until("all pods to be ready", job.all_running, node.processes, 120)
    volumes = {volume["name"]: [*volume.keys() - {"name"}] for pod in job.pods("ps") + job.pods("worker")
               for volume in pod["spec"]["volumes"]}
    job.say(f"volumes of its pods: {volumes}")
    assert volumes == {"tmp": ["emptyDir"]}
    job.lose("ps", 0, job.steps // 4, "kubectl delete pod --force",
             lambda pod: node.kubectl("delete", "pod", "--force", pod["metadata"]["name"]))
    job.lose("worker", 1, job.steps // 2, "kill -9 of", node.kill)
    job.say(f"kill -9 of the object store at step {job.reach(job.steps * 3 // 4)}")
    store.restarts()
    job.say("the object store is back")
    job.ended(f"job/{job.name}-worker", "complete", 1)
    job.check(expected)
    objects = store.objects("stored")
    counts = {kind: sum(name.startswith(kind) for name in objects)
              for kind in ("checkpoint/claims/", "checkpoint/cuts/", "checkpoint/model.ckpt-", "events/")}
    job.say(f"objects in the store: {counts}")
    assert counts["checkpoint/claims/"] == PS and counts["events/"], objects
    job.delete()


def old(job, node, expected):
    """Each task is a StatefulSet or a Job of its own. A parameter server stops answering, as when its node fails."""
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
    """A wrong flag: no restart helps, so the job must fail at once."""
    job.apply()
    reason = job.ended(f"job/{job.name}-worker", "failed", *range(1, WORKERS + 1))
    print(f"{job.name}: {reason['reason']}: {reason['message']}", flush=True)
    assert reason["reason"] == "PodFailurePolicy" and "exit code 64" in reason["message"]
    job.delete()


if __name__ == "__main__":
    versitygw = pathlib.Path(os.environ.get("DISTRIB_VERSITYGW", ""))
    if not versitygw.is_file():
        skip("there is no versitygw: tests/run.sh engines kubernetes builds it")
    sys.exit(main(__file__, [
        (first, "statefulset", {"probe": ["fashion_mnist_train", "--probe"], "token_secret_name": "token",
                                "tls_secret_name": "tls"}),
        (again, "statefulset", {"train_claim": "kept"}),
        (ends, "statefulset", {"ps_kind": "Job"}),
        (stored, "statefulset", {
            "data_claim": "", "data_dir": "s3://bucket/data", "train_dir": "s3://bucket/stored",
            "credential_secret_name": "", "environment_secret_name": SECRET,
            "environment": {"AWS_ENDPOINT_URL": ENDPOINT, "AWS_REGION": "us-east-1"},
            "egress": [{"to": [{"podSelector": {"matchLabels": LABELS}}],
                        "ports": [{"port": PORT, "protocol": "TCP"}]}]}),
        (old, "statefulset", {"kubernetes_minor": 21}),
        (wrong, "statefulset", {"data_flag": "--date"})], programs=[versitygw.resolve()]))
