#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The main job on a Kubernetes node of this machine, from the template and the image that people use.

usage: kubernetes.py BUILD

kube-apiserver, kube-controller-manager, kube-scheduler, kubelet and CoreDNS of the Go module proxy (built when the cache
directory has none: half an hour, 3 GB), with etcd, containerd and a bridge, in namespaces of their own. A parameter
server is deleted by force and a worker killed in training; the job ends by itself, its parameters are those of one
undisturbed process. Another is deleted whole, which asks it to stop, and goes on when it is applied again. In a third
one parameter servers are a Job and end too, and a worker is evicted. The last one is wrong for good, and ends at once.
As root. Exit code 77: skipped.
"""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests/tools"), str(ROOT / "tests/engines/support")]
import render_templates  # noqa: E402
from control_plane import BIN, DNS, MODULE, build, module, need, skip, until  # noqa: E402
from node import Node  # noqa: E402

PROGRAMS = ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubectl", DNS]
NAMESPACE, PS, WORKERS = "training", 2, 3


# --- outside: images, and namespaces in which everything ends ---

def outside(build_folder):
    if os.geteuid() != 0:
        skip("not root: nobody else may start a container runtime")
    need(etcd="etcd-server", openssl="openssl", containerd="containerd", ctr="containerd", runc="runc", ip="iproute2",
         unshare="util-linux", gcc="gcc", dockerd="docker.io")
    if not pathlib.Path("/usr/lib/cni/bridge").exists():
        skip("there is no /usr/lib/cni/bridge: apt-get install containernetworking-plugins")
    alone = ["unshare", "--mount", "--net", "--pid", "--uts", "--fork", "--kill-child", "--mount-proc", "--"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode != 0:
        skip("this machine gives nobody a network and process ids of its own (unshare)")
    build(*PROGRAMS)
    pause = pathlib.Path(module(MODULE)["Dir"]) / "build/pause/linux/pause.c"
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: sys.exit(128 + received))
    groups = f"distrib-engines-{os.getpid()}"
    with tempfile.TemporaryDirectory() as folder, control_groups(groups):
        made = watched([ROOT / "tests/engines/support/images.sh", folder, pause], signal.SIGTERM)
        # With its first process all that is in there ends.
        return made or watched([*alone, sys.executable, "-B", __file__, build_folder, folder, groups], signal.SIGKILL)


def watched(command, end):
    process = subprocess.Popen(command)
    try:
        return process.wait()
    finally:
        if process.poll() is None:
            process.send_signal(end)
            process.wait()


@contextlib.contextmanager
def control_groups(name):
    try:
        for group in Node.hierarchies():
            (group / name).mkdir()
    except OSError as error:
        skip(f"no control groups can be made here: {error}")
    try:
        yield
    finally:
        remove_groups(name)


def remove_groups(name):
    """A group is empty a moment after its last process was killed."""
    end = time.monotonic() + 20
    while left := [group for group in Node.hierarchies() if (group / name).is_dir()]:
        for group in left:
            for path, _, _ in os.walk(group / name, topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(path)
        if time.monotonic() > end:
            print(f"control groups are left: {[str(group / name) for group in left]}", file=sys.stderr)
            return
        time.sleep(0.1)


# --- inside: the job ---

class Job:
    def __init__(self, node, distrib, folder, name, **values):
        self.node, self.name, self.began = node, name, time.monotonic()
        self.result = folder / f"{name}-train"
        self.steps = int(values["command"][values["command"].index("--steps") + 1])
        done = render_templates.run(distrib, ROOT / "examples/kubernetes/statefulset.yaml.jinja", values | {
            "name": name, "namespace_name": NAMESPACE, "image": "trainer", "data_dir": "/data", "train_dir": "/out",
            "data_claim": "records", "credential_secret_name": "cloud", "credential_secret_key": "key.json",
            "ps_replicas": PS, "worker_replicas": WORKERS, "ps_cpu": "250m", "worker_cpu": "250m",
            "ps_memory": "512Mi", "worker_memory": "512Mi"}, "--check")
        assert done.returncode == 0, done.stderr
        self.manifest = folder / f"{name}.yaml"
        self.manifest.write_text(done.stdout)

    def say(self, text):
        print(f"{self.name}: {text}, after {time.monotonic() - self.began:.1f} s", flush=True)

    def apply(self):
        self.began = time.monotonic()
        self.say(f"kubectl apply: {len(self.node.kubectl('apply', '-f', self.manifest).splitlines())} objects")

    def delete(self):
        self.node.kubectl("delete", "-f", self.manifest, "--timeout=120s")
        until("the end of all pods", lambda: not self.node.pods(f"app.kubernetes.io/instance={self.name}"), seconds=120)

    def pods(self, role, index=None):
        pods = self.node.pods(f"app.kubernetes.io/instance={self.name},app.kubernetes.io/component={role}")
        return [pod for pod in pods if index is None or f"{self.name}-{role}-{index}" in
                (pod["metadata"]["name"], pod["spec"].get("hostname"))]

    def step(self):
        """The last one that worker 0 told of."""
        said = "".join(self.node.log(pod) for pod in self.pods("worker", 0))
        return max(map(int, re.findall(r"step (\d+)/", said)), default=0)

    def reach(self, step):
        def reached():
            now = self.step()
            return now if now >= step else 0

        return until(f"step {step}", reached, self.node.processes, 300)

    def is_ready(self, pod):
        return any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", []))

    def all_running(self):
        pods = self.pods("ps") + self.pods("worker")
        return len(pods) == PS + WORKERS and all(self.is_ready(pod) for pod in pods)

    def lose(self, role, index, after, how, action):
        """After that step, and waits for what stands for it."""
        step, pod = self.reach(after), self.pods(role, index)[0]
        self.say(f"{how} {pod['metadata']['name']} at step {step}")
        began = time.monotonic()
        action(pod)

        def other():
            others = [p for p in self.pods(role, index) if p["metadata"]["uid"] != pod["metadata"]["uid"]]
            return [p for p in others if self.is_ready(p)]

        found = until(f"another {role} {index}", other, self.node.processes, 120)[0]
        self.say(f"{found['metadata']['name']} stands for it, ready within {time.monotonic() - began:.1f} s")

    def ended(self, role, condition, *failed):
        self.node.kubectl("wait", f"--for=condition={condition}", "--timeout=300s", f"job/{self.name}-{role}")
        status = json.loads(self.node.kubectl("get", "job", f"{self.name}-{role}", "-o", "json"))["status"]
        got = f"{status.get('succeeded', 0)} succeeded, {status.get('failed', 0)} failed"
        self.say(f"job/{self.name}-{role} is {condition}: {got}")
        assert status.get("failed", 0) in failed, got
        return {one["type"]: one for one in status["conditions"]}

    def check(self, expected):
        summary = json.loads((self.result / "summary.json").read_text())
        print(f"{self.name}: parameters_sha256 {summary['parameters_sha256']}, step {summary['steps']}, accuracy "
              f"{summary['test_accuracy']}", flush=True)
        assert summary["parameters_sha256"] == expected, f"another hash than the undisturbed job's {expected}"
        assert (self.result / f"checkpoint/model.ckpt-{self.steps}.index").exists(), "no checkpoint of the last step"

    def saved(self):
        names = [path.name for path in self.result.glob("checkpoint/model.ckpt-*")]
        cuts = {int(re.match(r"model\.ckpt-(\d+)", name)[1]) for name in names}
        print(f"{self.name}: saved: step {max(cuts, default='none')}", flush=True)
        assert cuts and self.steps / 10 <= max(cuts) < self.steps, "asked to stop, but not saved"


def first(job, node, expected):
    """Killed by what people and machines do to pods."""
    job.apply()
    until("all pods to be ready", job.all_running, node.processes, 120)
    job.say(f"{PS} ps and {WORKERS} workers are ready")
    for role, index in (("ps", 0), ("worker", 1)):
        node.is_confined(job.pods(role, index)[0])
    job.lose("ps", 0, job.steps // 4, "kubectl delete pod --force",
             lambda pod: node.kubectl("delete", "pod", "--force", pod["metadata"]["name"]))
    job.lose("worker", 1, job.steps // 2, "kill -9 of", node.kill)
    job.ended("worker", "complete", 1)

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
    job.ended("worker", "complete", 0)
    job.check(expected)
    job.delete()


def ends(job, node, expected):
    """Parameter servers that are a Job end with it. A worker that a drain evicts counts as no failure."""
    job.apply()
    job.lose("ps", 1, job.steps // 4, "kill -9 of", node.kill)
    status, answer = node.evict(job.pods("ps", 0)[0])
    job.say(f"an eviction of ps 0 is answered {status}")
    assert status == 429 and "disruption budget" in answer, answer
    job.lose("worker", 2, job.steps // 2, "eviction of", lambda pod: node.evict(pod))
    job.ended("worker", "complete", 0)
    job.ended("ps", "complete", 1)
    job.check(expected)
    job.delete()


def wrong(job, node, expected):
    """No restart helps."""
    job.apply()
    reason = job.ended("worker", "failed", *range(1, WORKERS + 1))["Failed"]
    print(f"{job.name}: {reason['reason']}: {reason['message']}", flush=True)
    assert reason["reason"] == "PodFailurePolicy" and "exit code 64" in reason["message"]
    job.delete()


def inside(build_folder, folder, groups):
    distrib = str(pathlib.Path(build_folder).resolve() / "tools/distrib")
    command, expected = json.loads((folder / "command.json").read_text()), (folder / "expected").read_text().strip()
    with contextlib.ExitStack() as stack:
        node = Node(stack, folder, groups, NAMESPACE)
        node.claim("records", folder / "records", bound=True)
        for name, more in {"first": {"probe": ["fashion_mnist_train", "--probe"]}, "again": {"train_claim": "kept"},
                           "ends": {"ps_kind": "Job"},
                           "wrong": {"data_flag": "--date"}}.items():
            job = Job(node, distrib, folder, name, command=command, **more)
            node.claim(more.get("train_claim", f"{name}-train"), job.result, bound="train_claim" in more)
            try:
                globals()[name](job, node, expected)
            except BaseException:
                with contextlib.suppress(Exception):
                    node.tell()
                raise
    print("all is as it should be")
    return 0


if __name__ == "__main__":
    if len(sys.argv) == 2:
        sys.exit(outside(sys.argv[1]))
    sys.exit(inside(sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]))
