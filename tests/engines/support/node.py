# SPDX-License-Identifier: Apache-2.0
"""A Kubernetes cluster of one node, in private namespaces; for kubernetes.py and kubernetes_operators.py."""

import json
import pathlib
import shutil
import subprocess
import sys
import urllib.parse

import yaml

from control_plane import BIN, DNS, FIREWALL, start_server, started, until

ADDRESS, SUBNET, DOMAIN, NAME = "10.244.0.1", "10.244.0.0/24", "cluster.local", "node1"
SERVICES = "10.96.0.0/16"
SOCKET = "/run/containerd/containerd.sock"
# Kernel settings that a kubelet requires. Files with these values are mounted over /proc/sys, because otherwise the
# kubelet would change the settings of the whole machine.
KERNEL = {"vm/overcommit_memory": 1, "vm/panic_on_oom": 0, "kernel/panic": 10, "kernel/panic_on_oops": 1,
          "kernel/keys/root_maxkeys": 1000000, "kernel/keys/root_maxbytes": 25000000}
CONTAINERD = f"""
version = 2
[grpc]
  address = "{SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "docker.io/library/pause:latest"
  restrict_oom_score_adj = true  # on some machines not even root may lower it
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "/etc/cni/net.d"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
"""
NETWORK = {"cniVersion": "0.4.0", "name": "pods", "plugins": [{
    "type": "bridge", "bridge": "pods", "isDefaultGateway": True, "ipam": {"type": "host-local", "subnet": SUBNET}}]}
KUBELET = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "address": ADDRESS,
    "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
    "authorization": {"mode": "AlwaysAllow"}, "containerRuntimeEndpoint": f"unix://{SOCKET}",
    "cgroupDriver": "cgroupfs", "failCgroupV1": False, "failSwapOn": False, "oomScoreAdj": 0,
    "enforceNodeAllocatable": ["pods"], "makeIPTablesUtilChains": False, "clusterDNS": [ADDRESS],
    "clusterDomain": DOMAIN, "imageGCHighThresholdPercent": 100, "evictionHard": {"memory.available": "100Mi"}}

PROXY = {"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration", "mode": "iptables",
         "clusterCIDR": SUBNET, "conntrack": {"maxPerCore": 0, "min": 0}, "iptables": {"localhostNodePorts": False}}


def run(*command, **options):
    command = [str(part) for part in command]
    done = subprocess.run(command, check=False, text=True, capture_output=True, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr[-2000:]}")
    return done.stdout


class Node:
    def __init__(self, stack, folder, groups, namespace, operators=()):
        self.folder, self.namespace = folder, namespace
        self.prepare(groups)
        self.server = start_server(
            stack, folder, ADDRESS, "--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
            "--kubelet-preferred-address-types=InternalIP",
            users=[("system:kube-controller-manager", ""), ("system:kube-scheduler", ""),
                   (f"system:node:{NAME}", "system:nodes")])
        self.processes = self.server.processes
        admin = self.server.kubeconfig(folder / "admin.json", "admin", namespace=namespace)
        self.to_server = ["--kubeconfig", admin]
        self.start(stack, "kube-controller-manager", *self.config("system:kube-controller-manager"),
                   "--leader-elect=false", "--use-service-account-credentials",
                   f"--service-account-private-key-file={folder}/key",
                   f"--root-ca-file={folder}/pki/apiserver.crt")
        self.start(stack, "kube-scheduler", *self.config("system:kube-scheduler"), "--leader-elect=false")
        (folder / "Corefile").write_text(
            f".:53 {{\n  errors\n  kubernetes {DOMAIN} {{\n    kubeconfig {admin}\n  }}\n}}\n")
        self.start(stack, DNS, "-conf", folder / "Corefile")
        self.containerd(stack)
        self.start(stack, "kubelet", f"--config={folder}/kubelet.json", *self.config(f"system:node:{NAME}"),
                   f"--hostname-override={NAME}", f"--node-ip={ADDRESS}")
        until("the node to be ready", self.is_ready, self.processes)
        self.server.make_namespace(namespace, "enforce")
        until("the service account", lambda: self.server.ask(
            "GET", f"/api/v1/namespaces/{namespace}/serviceaccounts/default")[0] == 200, self.processes, 60)
        self.make_secrets()
        info = json.loads(self.server.ask("GET", f"/api/v1/nodes/{NAME}")[1])["status"]["nodeInfo"]
        self.start(stack, FIREWALL, "--run-firewall", "--run-router=false", "--run-service-proxy=false",
                   "--enable-cni=false", f"--kubeconfig={admin}", f"--hostname-override={NAME}", "--health-port=0")
        self.stranger = self.make_stranger()
        self.install(stack, operators)
        parts = [info[f"{part}Version"] for part in ("kubelet", "containerRuntime", "kernel")]
        print(f"Kubernetes {', '.join([*parts, DNS, FIREWALL, *operators])}: one node is ready", flush=True)

    # --- the machine ---

    @staticmethod
    def hierarchies():
        """Returns the roots of the control groups: one for each controller, or one for all."""
        root = pathlib.Path("/sys/fs/cgroup")
        return [group for group in ([root] if (root / "cgroup.procs").exists() else root.iterdir())
                if (group / "cgroup.procs").exists()]

    def prepare(self, groups):
        folder = self.folder
        for path in ("/var/log", "/var/lib", "/etc/cni", "/run", "/opt"):
            own = folder / "own" / path[1:]
            own.mkdir(parents=True)
            pathlib.Path(path).mkdir(exist_ok=True)
            run("mount", "--bind", own, path)
        for name, value in KERNEL.items():
            own = folder / name.replace("/", "-")
            own.write_text(f"{value}\n")
            run("mount", "--bind", own, f"/proc/sys/{name}")
        run("hostname", NAME)
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "pods", "type", "bridge")
        run("ip", "address", "add", f"{ADDRESS}/24", "dev", "pods")
        run("ip", "link", "set", "pods", "up")
        pathlib.Path("/proc/sys/net/bridge/bridge-nf-call-iptables").write_text("1")  # of this network only
        (folder / "resolv.conf").write_text("")
        (folder / "kubelet.json").write_text(json.dumps(KUBELET | {
            "cgroupRoot": f"/{groups}", "resolvConf": str(folder / "resolv.conf")}))
        pathlib.Path("/etc/cni/net.d").mkdir()
        pathlib.Path("/etc/cni/net.d/pods.conflist").write_text(json.dumps(NETWORK))

    def config(self, user):
        path = self.server.kubeconfig(self.folder / f"{user.replace(':', '-')}.json", user)
        return [f"--kubeconfig={path}"]

    def start(self, stack, program, *options):
        path = shutil.which(program) if program == "containerd" else BIN / program
        self.processes.append(stack.enter_context(
            started([str(path), *map(str, options)], self.folder / f"{program}.log")))

    def install(self, stack, operators):
        """Installs the operators. They and the API server call each other at Service addresses: kube-proxy runs first."""
        if not operators:
            return
        (self.folder / "kube-proxy.json").write_text(json.dumps(PROXY | {
            "clientConnection": {"kubeconfig": str(self.server.kubeconfig(self.folder / "proxy.json", "admin"))}}))
        run("ip", "route", "add", SERVICES, "dev", "pods")
        self.start(stack, "kube-proxy", f"--config={self.folder}/kube-proxy.json", f"--hostname-override={NAME}")
        for name in operators:
            self.kubectl("apply", "--server-side", "-f", self.folder / f"{name}.yaml")
        self.kubectl("wait", "-A", "--all", "deployment", "--for=condition=available", "--timeout=180s")

    def containerd(self, stack):
        config = self.folder / "containerd.toml"
        config.write_text(CONTAINERD)
        self.start(stack, "containerd", "-c", config)

        def answers():
            return subprocess.run(["ctr", "version"], capture_output=True, check=False).returncode == 0

        until("containerd", answers, self.processes, 60)
        run("ctr", "-n", "k8s.io", "images", "import", self.folder / "images.tar")

    def is_ready(self):
        status, text, _ = self.server.ask("GET", f"/api/v1/nodes/{NAME}")
        conditions = json.loads(text)["status"].get("conditions", []) if status == 200 else []
        return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)

    # --- what users do ---

    def kubectl(self, *arguments):
        return run(BIN / "kubectl", *self.to_server, *arguments, cwd=self.folder, timeout=400)

    def apply(self, *documents):
        run(BIN / "kubectl", *self.to_server, "apply", "-f", "-", input=yaml.safe_dump_all(documents))

    def claim(self, name, folder, made):
        """Makes a volume in `folder` for the claim `name`, and with `made` the claim too (else the job makes it)."""
        folder.mkdir(exist_ok=True)
        shutil.chown(folder, 65532, 65532)
        size = {"storage": "10Gi"}
        volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": {
            "capacity": size, "accessModes": ["ReadWriteMany"], "hostPath": {"path": str(folder), "type": "Directory"},
            "claimRef": {"namespace": self.namespace, "name": name}}}
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": {
            "accessModes": ["ReadWriteMany"], "resources": {"requests": size}}}
        self.apply(*([volume, claim] if made else [volume]))

    # --- pods ---

    def pods(self, selector):
        status, text, _ = self.server.ask(
            "GET", f"/api/v1/namespaces/{self.namespace}/pods?labelSelector={urllib.parse.quote(selector)}")
        assert status == 200, text
        return json.loads(text)["items"]

    def log(self, pod):
        """Returns the last 20 lines of the pod's log; empty if it has no log yet."""
        status, text, _ = self.server.ask(
            "GET", f"/api/v1/namespaces/{self.namespace}/pods/{pod['metadata']['name']}/log?tailLines=20")
        return text if status == 200 else ""

    def container(self, pod):
        return pod["status"]["containerStatuses"][0]["containerID"].removeprefix("containerd://")

    def kill(self, pod):
        run("ctr", "-n", "k8s.io", "tasks", "kill", "--signal", "SIGKILL", self.container(pod))

    def evict(self, pod):
        """Evicts the pod, as `kubectl drain` does. Returns (HTTP status, body of the answer)."""
        name = {"name": pod["metadata"]["name"], "namespace": self.namespace}
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": name}
        return self.server.ask("POST", f"/api/v1/namespaces/{self.namespace}/pods/{name['name']}/eviction",
                               json.dumps(body))[:2]

    def make_secrets(self):
        key = self.folder / "key.json"
        key.write_text('{"password": "$secret"}\n')
        self.kubectl("create", "secret", "generic", "cloud", f"--from-file={key}")
        self.kubectl("create", "secret", "generic", "token", "--from-literal=token=sixteen bytes or more, of the test")
        names = ",".join(f"DNS:*.first-{role}.{self.namespace}.svc.{DOMAIN}" for role in ("ps", "worker"))
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
            "1", "-keyout", "tls.key", "-out", "tls.crt", "-subj", "/CN=job", "-addext", f"subjectAltName={names}",
            cwd=self.folder)
        certificate, private = [(self.folder / f"tls.{end}").read_text() for end in ("crt", "key")]
        self.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "tls"}, "type": "kubernetes.io/tls",
                    "stringData": {"tls.crt": certificate, "tls.key": private, "ca.crt": certificate}})

    def process(self, pod):
        tasks = run("ctr", "-n", "k8s.io", "tasks", "ls").splitlines()
        return next(line.split()[1] for line in tasks if line.startswith(self.container(pod)))

    def make_stranger(self):
        """Makes a pod that belongs to no job."""
        document = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "stranger", "labels": {"app": "stranger"}},
                    "spec": {"automountServiceAccountToken": False, "containers": [{
                        "name": "pause", "image": "pause", "imagePullPolicy": "Never", "securityContext": {
                            "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}],
                        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}}}
        self.apply(document)
        self.kubectl("wait", "--for=condition=ready", "--timeout=60s", "pod/stranger")
        return self.pods("app=stranger")[0]

    def cut_off(self, pod):
        """Drops all packets from and to the pod, as when its node has failed."""
        for way in ("-s", "-d"):
            run("iptables", "-I", "FORWARD", "1", way, pod["status"]["podIP"], "-j", "DROP")

    def reaches(self, pod, address, port):
        """True if a process in the pod's network can connect to the address within two seconds."""
        program = f"import socket; socket.create_connection(({address!r}, {port}), 2)"
        return subprocess.run(["nsenter", "-t", self.process(pod), "-n", sys.executable, "-c", program],
                              capture_output=True, check=False).returncode == 0

    def is_confined(self, pod):
        process = self.process(pod)
        status = dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines()
                      if ":\t" in line)
        got = [status["Uid"].split()[0], status["CapEff"], status["NoNewPrivs"], status["Seccomp"]]
        assert got == ["65532", "0000000000000000", "1", "2"], f"user, capabilities, no new privileges, seccomp: {got}"
        root = pathlib.Path("/proc", process, "root")
        for name in ("etc/credential/key.json", "etc/distrib/secret/token", "etc/distrib/tls/tls.key"):
            found = (root / name).stat()
            assert (found.st_gid, found.st_mode & 0o777) == (65532, 0o440), f"it cannot read {name}: {found}"
        assert (root / "etc/credential/key.json").read_text() == (self.folder / "key.json").read_text()

    def tell(self):
        """Prints the state of pods, jobs and claims, the last events and the logs, after a failure."""
        print(self.kubectl("get", "pods,jobs,pvc", "-o", "wide"), flush=True)
        print("\n".join(self.kubectl("get", "events", "--sort-by=.lastTimestamp").splitlines()[-30:]), flush=True)
        for pod in self.pods(""):
            print(f"--- {pod['metadata']['name']}", "\n".join(self.log(pod).splitlines()[-8:]), sep="\n", flush=True)
