# SPDX-License-Identifier: Apache-2.0
"""Builds Kubernetes' own programs from the Go module proxy, and starts an API server; for the kubernetes*.py tests."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from processes import free_ports  # noqa: E402

VERSION, DNS_VERSION = "1.34.4", "1.13.1"
MODULE = f"k8s.io/kubernetes@v{VERSION}"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / f"distrib/kubernetes-{VERSION}"
BIN = CACHE / "bin"
DNS = f"coredns-{DNS_VERSION}"
FIREWALL = "kube-router-2.1.0"  # enforces NetworkPolicies
OTHERS = {FIREWALL: ("github.com/cloudnativelabs/kube-router/v2@v2.1.0", "/cmd/kube-router")}  # module, program in it
TRAINER = "github.com/kubeflow/trainer/v2@v2.3.0"
VOLCANO, VOLCANO_API = "volcano.sh/volcano@v1.14.1", "volcano.sh/apis@v1.14.0"
# Operators with resource definitions of their own: the module, the program in it, the folder of its manifests.
OPERATORS = {"jobset-0.12.0": ("sigs.k8s.io/jobset@v0.12.0", "", "config/default"),
             "training-operator-1.9.0": ("github.com/kubeflow/training-operator@v1.9.0", "/cmd/training-operator.v1",
                                         "manifests/overlays/standalone"),
             "trainer-2.3.0": (TRAINER, "/cmd/trainer-controller-manager", "manifests/overlays/manager"),
             "kueue-0.19.2": ("sigs.k8s.io/kueue@v0.19.2", "/cmd/kueue", "config/default")}
# Volcano's scheduler and controllers run beside the node's own, not in pods: the module and the program of each.
SCHEDULERS = {"volcano-controllers-1.14.1": (VOLCANO, "/cmd/controller-manager"),
              "volcano-scheduler-1.14.1": (VOLCANO, "/cmd/scheduler")}
# Lines of an operator's manifests that are changed: (file, old, new). JobSet is installed already; the Trainer's feature
# that a job may report its progress is off by default.
CHANGES = {"trainer-2.3.0": [
    ("manifests/overlays/manager/kustomization.yaml", "  - ../../third-party/jobset", "  #"),
    ("manifests/base/manager/controller_manager_config.yaml", "kind: Configuration",
     "kind: Configuration\nfeatureGates: {TrainJobStatus: true}")]}
# CoreDNS with the plugin for the names of Services only: half the size of the complete program.
DNS_PROGRAM = """package main

import (
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
)

func main() { coremain.Run() }
"""


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def need(**packages):
    """Skips the test if a program is missing. `packages` maps each program to the Debian package that contains it."""
    for program, package in packages.items():
        if shutil.which(program) is None:
            skip(f"there is no {program}: apt-get install {package}")


# --- from the Go module proxy ---

def go(*arguments, folder):
    environment = os.environ | {"GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}
    done = subprocess.run(["go", *arguments], cwd=folder, env=environment, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"error: go {' '.join(arguments)}: {done.stderr[-3000:]}")
    return done.stdout


def module(name, folder=None):
    return json.loads(go("mod", "download", "-json", name, folder=folder))


def build(*programs):
    """Builds the `programs` that the cache directory does not have."""
    if shutil.which("go") is None:
        skip("Go is missing; Kubernetes needs Go 1.24 or newer")
    missing = [program for program in programs if not (BIN / program).exists()]
    if not missing:
        return
    print(f"building {', '.join(missing)}: up to half an hour, 3 GB", flush=True)
    BIN.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as name:
        folder = pathlib.Path(name)
        for program in missing:
            source, built = folder / f"source-{program}", folder / program
            source.mkdir()
            go("mod", "init", "program", folder=source)
            package = source_of(program, source)
            go("build", "-ldflags", f"-s -w -X k8s.io/component-base/version.gitVersion=v{VERSION}", "-o", str(built),
               package, folder=source)
            built.replace(BIN / program)


def source_of(program, folder):
    """Returns the Go package of `program`. The module in `folder` then requires it and its versions."""
    if program == DNS:
        (folder / "main.go").write_text(DNS_PROGRAM)
        go("get", f"github.com/coredns/coredns@v{DNS_VERSION}", folder=folder)
        return "."
    if other := (OTHERS | OPERATORS | SCHEDULERS).get(program):
        (name, version), path = other[0].split("@"), other[1]
        if program in SCHEDULERS:
            replace_as_volcano(folder)
    else:
        replace_parts(folder)
        name, version, path = "k8s.io/kubernetes", f"v{VERSION}", f"/cmd/{program}"
    go("get", "-tool", f"{name}{path}@{version}", folder=folder)
    return f"{name}{path}"


def replace_parts(folder):
    """Replaces the version of Kubernetes' own parts: its go.mod requires v0.0.0, but they are published as v0.X.Y."""
    required = json.loads(go("mod", "edit", "-json", module(MODULE)["GoMod"], folder=folder))["Require"]
    for part in (r["Path"] for r in required if r["Version"] == "v0.0.0"):
        go("mod", "edit", f"-replace={part}={part}@v0{VERSION[1:]}", folder=folder)
    go("mod", "edit", f"-require={MODULE}", folder=folder)


def replace_as_volcano(folder):
    """Replaces versions as Volcano's go.mod does, which counts in its own tree only; its API is a module of its own."""
    for one in json.loads(go("mod", "edit", "-json", module(VOLCANO)["GoMod"], folder=folder))["Replace"]:
        new = one["New"]
        by = VOLCANO_API if new["Path"].startswith("./") else f"{new['Path']}@{new['Version']}"
        go("mod", "edit", f"-replace={one['Old']['Path']}={by}", folder=folder)


def pause_source():
    return pathlib.Path(module(MODULE)["Dir"]) / "build/pause/linux/pause.c"


def manifest(operator):
    """Returns the documents that install the operator, changed to use the local image with the operator's name.

    They ask for no CPU: all operators and the job share one node.
    """
    name, _, path = OPERATORS[operator]
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "module"
        top = path.split("/")[0]
        shutil.copytree(pathlib.Path(module(name)["Dir"]) / top, copy / top, copy_function=shutil.copyfile)
        for file, old, new in CHANGES.get(operator, []):
            text = (copy / file).read_text()
            assert old in text, f"{file} of {operator} has no {old}"
            (copy / file).write_text(text.replace(old, new))
        text = subprocess.run([BIN / "kubectl", "kustomize", copy / path], check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True).stdout
    documents = list(yaml.safe_load_all(text))
    for document in documents:
        if document["kind"] == "Deployment":
            for container in document["spec"]["template"]["spec"]["containers"]:
                container |= {"image": operator, "imagePullPolicy": "Never", "resources": {}}
    return yaml.safe_dump_all(documents)


def write_volcano(folder):
    """Writes volcano.yaml, the kinds that Volcano's programs read, and the scheduler's configuration of its Helm chart.

    Those of its part JobFlow belong to it: its controllers begin only when they have seen objects of all kinds, and
    nothing is scheduled before one of them has opened the queue.
    """
    source = pathlib.Path(module(VOLCANO)["Dir"])
    kinds = sorted(source.glob("config/crd/*/bases/*.yaml"))
    (folder / "volcano.yaml").write_text("---\n".join(path.read_text() for path in kinds))
    config = "volcano-scheduler.conf"
    (folder / config).write_text((source / "installer/helm/chart/volcano/config" / config).read_text())


# --- run ---

@contextlib.contextmanager
def started(command, log):
    with open(log, "wb") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
    try:
        yield process
    except BaseException:
        said = log.read_text(errors="replace")[-1500:]
        print(f"--- the end of the log of {log.stem}", said, sep="\n", file=sys.stderr)
        raise
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def until(what, condition, processes=(), seconds=180):
    """Calls `condition` until its result is true, and returns that. Fails after `seconds`, or when a process ends."""
    end = time.monotonic() + seconds
    while True:
        with contextlib.suppress(OSError):
            if found := condition():
                return found
        for process in processes:
            if process.poll() is not None:
                raise SystemExit(f"error: {process.args[0]} has ended, while waiting for {what}")
        if time.monotonic() > end:
            raise SystemExit(f"error: waited {seconds} s for {what}, without success")
        time.sleep(0.2)


class Server:
    """A running API server, with the rights of its administrator."""

    def __init__(self, address, certificate, processes):
        self.address, self.certificate, self.processes = address, certificate, processes
        self.context = ssl._create_unverified_context()  # the server's certificate is self-signed

    def ask(self, method, path, body=None, kind="application/json"):
        """Sends a request. Returns (HTTP status, body of the answer, list of warnings)."""
        request = urllib.request.Request(self.address + path, method=method, data=body and body.encode(),
                                         headers={"Authorization": "Bearer token-of-admin", "Content-Type": kind})
        try:
            with urllib.request.urlopen(request, context=self.context, timeout=30) as answer:
                return answer.status, answer.read().decode(), answer.headers.get_all("Warning") or []
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(), error.headers.get_all("Warning") or []

    def make_namespace(self, name, mode):
        """Makes a namespace with Pod Security's level "restricted". `mode`: "enforce", or "warn" to warn only."""
        document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": name, "labels": {f"pod-security.kubernetes.io/{mode}": "restricted"}}}
        until(f"the namespace {name}", lambda: self.ask(
            "PATCH", f"/api/v1/namespaces/{name}?fieldManager=test&force=true", json.dumps(document),
            "application/apply-patch+yaml")[0] in (200, 201), self.processes)

    def kubeconfig(self, path, user, **context):
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": self.address,
                                                      "certificate-authority": str(self.certificate)}}],
            "users": [{"name": user, "user": {"token": f"token-of-{user}"}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": user} | context}]}))
        return path


def start_server(stack, folder, address, *options, users=()):
    """Starts etcd and kube-apiserver, which run until `stack` ends. Returns the Server.

    `users` are pairs (NAME, GROUPS); "admin" is always there. The token of each user is token-of-NAME.
    """
    client, peer, port = free_ports(3)
    subprocess.run(["openssl", "genrsa", "-out", folder / "key", "2048"], check=True, stderr=subprocess.DEVNULL)
    (folder / "tokens").write_text("".join(
        f'token-of-{user},{user},{user},"{groups}"\n' for user, groups in [("admin", "system:masters"), *users]))
    etcd = f"http://127.0.0.1:{client}"
    store = stack.enter_context(started([
        "etcd", f"--data-dir={folder}/etcd", f"--listen-client-urls={etcd}", f"--advertise-client-urls={etcd}",
        f"--listen-peer-urls=http://127.0.0.1:{peer}"], folder / "etcd.log"))
    process = stack.enter_context(started([
        str(BIN / "kube-apiserver"), f"--etcd-servers={etcd}", f"--bind-address={address}", f"--secure-port={port}",
        f"--cert-dir={folder}/pki", f"--token-auth-file={folder}/tokens", "--service-cluster-ip-range=10.96.0.0/16",
        "--service-account-issuer=https://kubernetes.default.svc", f"--service-account-key-file={folder}/key",
        f"--service-account-signing-key-file={folder}/key", *options],
        folder / "kube-apiserver.log"))
    server = Server(f"https://{address}:{port}", folder / "pki/apiserver.crt", [store, process])
    until("kube-apiserver", lambda: server.ask("GET", "/readyz")[0] == 200, server.processes)
    return server
