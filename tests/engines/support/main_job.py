# SPDX-License-Identifier: Apache-2.0
"""Runs the main job on a Kubernetes node on this machine, for kubernetes.py and kubernetes_operators.py.

main(...) makes the images, the data and the node, then calls each scenario with a Job, the Node, and the hash of the
parameters of an undisturbed process.
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

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests/tools")]
import control_plane  # noqa: E402
import render_templates  # noqa: E402
from control_plane import build, need, skip, until  # noqa: E402
from node import Node  # noqa: E402

PROGRAMS = ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubectl", control_plane.DNS,
            control_plane.FIREWALL]
NAMESPACE, PS, WORKERS = "training", 2, 3


def main(script, scenarios, operators=(), programs=()):
    """Runs the scenarios (FUNCTION, TEMPLATE, VALUES). A job has its function's name. Returns the exit code.

    `programs`: paths of static programs. The node has an image of each, with its name.
    """
    if len(sys.argv) == 2:
        return outside(script, sys.argv[1], operators, programs)
    return inside(sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], scenarios, operators)


# --- outside: makes images, and private namespaces that end together with all their processes ---

def outside(script, build_folder, operators, programs):
    if os.geteuid() != 0:
        skip("not root: only root may start a container runtime")
    need(etcd="etcd-server", openssl="openssl", containerd="containerd", ctr="containerd", runc="runc", ip="iproute2",
         unshare="util-linux", nsenter="util-linux", gcc="gcc", dockerd="docker.io", iptables="iptables",
         ipset="ipset")
    if not pathlib.Path("/usr/lib/cni/bridge").exists():
        skip("there is no /usr/lib/cni/bridge: apt-get install containernetworking-plugins")
    alone = ["unshare", "--mount", "--net", "--pid", "--uts", "--fork", "--kill-child", "--mount-proc", "--"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode != 0:
        skip("this machine does not allow private network and process namespaces (unshare)")
    build(*PROGRAMS, *(["kube-proxy", *operators] if operators else []))
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: sys.exit(128 + received))
    groups = f"distrib-engines-{os.getpid()}"
    with tempfile.TemporaryDirectory() as folder, control_groups(groups):
        images = [ROOT / "tests/engines/support/images.sh", folder, control_plane.pause_source()]
        made = watched([*images, *(control_plane.BIN / name for name in operators), *programs], signal.SIGTERM)
        for name in operators:
            (pathlib.Path(folder) / f"{name}.yaml").write_text(control_plane.manifest(name))
        # When the first process of the namespaces ends, all other processes in there are killed.
        return made or watched([*alone, sys.executable, "-B", script, build_folder, folder, groups], signal.SIGKILL)


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
        skip(f"cannot make control groups: {error}")
    try:
        yield
    finally:
        remove_groups(name)


def remove_groups(name):
    """Removes the control groups. Repeats, because a group becomes empty a moment after its last process was killed."""
    end = time.monotonic() + 20
    while left := [group for group in Node.hierarchies() if (group / name).is_dir()]:
        for group in left:
            for path, _, _ in os.walk(group / name, topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(path)
        if time.monotonic() > end:
            print(f"control groups were not removed: {[str(group / name) for group in left]}", file=sys.stderr)
            return
        time.sleep(0.1)


# --- inside: the job ---

class Job:
    def __init__(self, node, distrib, folder, name, template, **values):
        self.node, self.name, self.distrib, self.began = node, name, distrib, time.monotonic()
        self.result = folder / f"{name}-train"
        self.steps = int(values["command"][values["command"].index("--steps") + 1])
        done = render_templates.run(distrib, ROOT / f"examples/kubernetes/{template}.yaml.jinja", {
            "name": name, "namespace_name": NAMESPACE, "image": "trainer", "data_dir": "/data", "train_dir": "/out",
            "data_claim": "records", "credential_secret_name": "cloud", "credential_secret_key": "key.json",
            "ps_replicas": PS, "worker_replicas": WORKERS, "ps_cpu": "250m", "worker_cpu": "250m",
            "ps_memory": "512Mi", "worker_memory": "512Mi"} | values, "--check")
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
        # The name of a JobSet's pod has another number before the index; that of a StatefulSet of one pod has one after
        # it; the Trainer calls workers nodes.
        names = {f"{self.name}-{role}-{index}", f"{self.name}-{role}-0-{index}", f"{self.name}-{role}-{index}-0",
                 f"{self.name}-{role.replace('worker', 'node')}-0-{index}"}
        return [pod for pod in pods if index is None or {pod["metadata"]["name"], pod["spec"].get("hostname")} & names]

    def step(self):
        """Returns the last step in the log of worker 0; 0 if there is none."""
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

    def budget(self, allowed):
        """Waits until the disruption budget allows the eviction of exactly `allowed` of the parameter servers."""
        def counted():
            status, text, _ = self.node.server.ask(
                "GET", f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets/{self.name}-ps")
            status = json.loads(text)["status"]
            return status["expectedPods"] == PS and status["disruptionsAllowed"] == allowed

        until(f"a budget that allows to evict {allowed} of {PS}", counted, self.node.processes, 60)

    def policies(self):
        """Checks which pods can connect to which, once the NetworkPolicies are in force."""
        stranger = self.node.stranger
        worker, ps = self.pods("worker", 0)[0], self.pods("ps", 0)[0]
        at_ps, at_server = (ps["status"]["podIP"], 2222), self.node.server.address[len("https://"):].split(":")
        until("the NetworkPolicies", lambda: not self.node.reaches(stranger, *at_ps), self.node.processes, 60)
        assert self.node.reaches(stranger, *at_server), "a pod of no job cannot reach the API server"
        assert not self.node.reaches(worker, *at_server), "a worker can reach the API server"
        assert self.node.reaches(worker, *at_ps), "a worker cannot reach a parameter server"
        self.say("NetworkPolicies: a worker can reach a ps, but not the API server; a pod of no job cannot reach a ps")

    def lose(self, role, index, after, how, action):
        """When the step `after` is reached, calls action(pod), and waits until another pod replaces this one."""
        step, pod = self.reach(after), self.pods(role, index)[0]
        self.say(f"{how} {pod['metadata']['name']} at step {step}")
        began = time.monotonic()
        action(pod)

        def other():
            others = [p for p in self.pods(role, index) if p["metadata"]["uid"] != pod["metadata"]["uid"]]
            return [p for p in others if self.is_ready(p)]

        found = until(f"another {role} {index}", other, self.node.processes, 120)[0]
        self.say(f"{found['metadata']['name']} replaces it, ready within {time.monotonic() - began:.1f} s")

    def ended(self, what, condition, *failed):
        """Waits for `condition` of the object `what`, and returns the condition.

        `failed`: the allowed numbers of failed pods, if `what` is a Job; none given: not checked.
        """
        self.node.kubectl("wait", f"--for=condition={condition}", "--timeout=300s", what)
        status = json.loads(self.node.kubectl("get", what, "-o", "json"))["status"]
        counts = f": {status.get('succeeded', 0)} succeeded, {status.get('failed', 0)} failed" if failed else ""
        self.say(f"{what} is {condition}{counts}")
        assert not failed or status.get("failed", 0) in failed, counts
        return next(one for one in status["conditions"] if one["type"].lower() == condition.lower())

    def check(self, expected):
        summary = json.loads((self.result / "summary.json").read_text())
        print(f"{self.name}: parameters_sha256 {summary['parameters_sha256']}, step {summary['steps']}, accuracy "
              f"{summary['test_accuracy']}", flush=True)
        assert summary["parameters_sha256"] == expected, f"not the hash of the undisturbed job, {expected}"
        checkpoints = [path.name for path in self.result.glob("checkpoint/*.index")]
        last = rf"model\.ckpt-0*{self.steps}(\.\w+)?\.index"  # in an object store the name has a hash
        assert any(re.fullmatch(last, name) for name in checkpoints), f"no checkpoint of the last step: {checkpoints}"

    def saved(self):
        names = [path.name for path in self.result.glob("checkpoint/model.ckpt-*")]
        cuts = {int(re.match(r"model\.ckpt-(\d+)", name)[1]) for name in names}
        print(f"{self.name}: saved: step {max(cuts, default='none')}", flush=True)
        assert cuts and self.steps / 10 <= max(cuts) < self.steps, "asked to stop, but not saved"


def inside(build_folder, folder, groups, scenarios, operators):
    distrib = str(pathlib.Path(build_folder).resolve() / "tools/distrib")
    command, expected = json.loads((folder / "command.json").read_text()), (folder / "expected").read_text().strip()
    with contextlib.ExitStack() as stack:
        node = Node(stack, folder, groups, NAMESPACE, operators)
        node.claim("records", folder / "records", made=True)
        for scenario, template, values in scenarios:
            job = Job(node, distrib, folder, scenario.__name__.replace("_", "-"), template, command=command, **values)
            if "train_dir" not in values:
                node.claim(values.get("train_claim", f"{job.name}-train"), job.result, made="train_claim" in values)
            try:
                scenario(job, node, expected)
            except BaseException:
                with contextlib.suppress(Exception):
                    node.tell()
                raise
    print("all scenarios passed")
    return 0
