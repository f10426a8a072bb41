#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every rendering of examples/kubernetes before a real Kubernetes API server: strict, and nothing is made.

usage: kubernetes_server.py BUILD

Builds kube-apiserver from the Go module proxy when the cache directory has none (15 minutes, 3 GB), starts it with etcd
on this machine, gives it the resource definitions of JobSet and TFJob, and applies each document as a dry run with
strict validation in a namespace that warns of what Pod Security's level "restricted" forbids. A warning is a failure.
Before that the server must refuse what is planted. Exit code 77: skipped.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests/tools")]
import render_templates  # noqa: E402

VERSION = "1.34.4"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / f"distrib/kubernetes-{VERSION}"
SERVER = CACHE / "bin/kube-apiserver"
# The modules that have definitions, and where.
DEFINITIONS = {"sigs.k8s.io/jobset@v0.8.0": "config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml",
               "github.com/kubeflow/training-operator@v1.9.0": "manifests/base/crds/kubeflow.org_tfjobs.yaml"}
NAMESPACES = {"default", render_templates.SETS["much"]["namespace_name"]}
PLURALS = {"NetworkPolicy": "networkpolicies"}
TOKEN = "of-the-test"
# What is planted: in place of this that, in a rendering of the template, and what the server says.
PLANTED = [
    ("statefulset", "podManagementPolicy:", "podManagementPolice:", ".spec.podManagementPolice: field not declared"),
    ("statefulset", "completionMode: Indexed", "completionMode: NonIndexed", "requires indexed completion mode"),
    ("statefulset", "restartPolicy: Never", "restartPolicy: OnFailure", "restartPolicy"),
    ("statefulset", "runAsNonRoot: true, ", "", "restricted"),
    ("jobset", "operator: All", "operator: Every", "Unsupported value"),
    ("tfjob", "cleanPodPolicy", "cleanPodsPolicy", ".spec.runPolicy.cleanPodsPolicy: field not declared"),
]


def free_ports(count):
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def go(*arguments, folder):
    environment = os.environ | {"GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}
    return subprocess.run(["go", *arguments], cwd=folder, env=environment, check=True, stdout=subprocess.PIPE,
                          text=True).stdout


def module(name, folder):
    return json.loads(go("mod", "download", "-json", name, folder=folder))


def build():
    """Kubernetes requires its own parts as v0.0.0, which are published under another version."""
    if SERVER.exists():
        return
    print(f"building kube-apiserver {VERSION}: 15 minutes", flush=True)
    source, kubernetes = CACHE / "src", f"k8s.io/kubernetes@v{VERSION}"
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    go("mod", "init", "server", folder=source)
    required = json.loads(go("mod", "edit", "-json", module(kubernetes, source)["GoMod"], folder=source))["Require"]
    for part in (r["Path"] for r in required if r["Version"] == "v0.0.0"):
        go("mod", "edit", f"-replace={part}={part}@v0{VERSION[1:]}", folder=source)
    go("mod", "edit", f"-require={kubernetes}", folder=source)
    go("get", "-tool", f"k8s.io/kubernetes/cmd/kube-apiserver@v{VERSION}", folder=source)
    go("build", "-p", "1", "-ldflags", f"-s -w -X k8s.io/component-base/version.gitVersion=v{VERSION}", "-o",
       str(CACHE / "bin") + "/", "k8s.io/kubernetes/cmd/kube-apiserver", folder=source)


class Server:
    def __init__(self, address):
        self.address, self.context = address, ssl._create_unverified_context()  # it has signed its certificate itself

    def ask(self, method, path, body=None, kind="application/json"):
        """(status, answer, warnings)"""
        request = urllib.request.Request(self.address + path, method=method, data=body and body.encode(),
                                         headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": kind})
        try:
            with urllib.request.urlopen(request, context=self.context, timeout=30) as answer:
                return answer.status, answer.read().decode(), answer.headers.get_all("Warning") or []
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(), error.headers.get_all("Warning") or []

    def dry_run(self, document):
        """What is wrong with it; empty: nothing."""
        version, kind = document["apiVersion"], document["kind"]
        path = f"/{'api' if version == 'v1' else 'apis'}/{version}/namespaces/{document['metadata']['namespace']}"
        name = f"{PLURALS.get(kind, kind.lower() + 's')}/{document['metadata']['name']}"
        status, answer, warnings = self.ask(
            "PATCH", f"{path}/{name}?fieldManager=test&dryRun=All&fieldValidation=Strict", json.dumps(document),
            "application/apply-patch+yaml")
        return warnings if status in (200, 201) else [f"{status}: {answer}", *warnings]


@contextlib.contextmanager
def started(name, command, log):
    with open(log, "wb") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
    try:
        yield process
    except BaseException:
        print(f"--- the end of what {name} said", log.read_text(errors="replace")[-3000:], sep="\n", file=sys.stderr)
        raise
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def until(what, condition, process, seconds=180):
    end = time.monotonic() + seconds
    while True:
        with contextlib.suppress(OSError):
            if condition():
                return
        if process.poll() is not None or time.monotonic() > end:
            raise SystemExit(f"error: waited in vain for {what}")
        time.sleep(0.3)


def define(server, process):
    for name, path in DEFINITIONS.items():
        definition = yaml.safe_load((pathlib.Path(module(name, CACHE)["Dir"]) / path).read_text())
        where = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        status, answer, _ = server.ask("POST", where, json.dumps(definition))
        assert status == 201, answer

        def is_established():
            text = server.ask("GET", f"{where}/{definition['metadata']['name']}")[1]
            conditions = json.loads(text).get("status", {}).get("conditions") or []
            return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)

        until(f"the definitions of {name}", is_established, process)


def check(server, distrib):
    failures = documents = 0
    for stem, old, new, words in PLANTED:
        template = ROOT / f"examples/kubernetes/{stem}.yaml.jinja"
        text = render_templates.plain(template, render_templates.LEAST)
        assert old in text, f"{stem} has no {old}"
        said = [p for d in yaml.safe_load_all(text.replace(old, new)) if d for p in server.dry_run(d)]
        if not any(words in problem for problem in said):
            failures += 1
            print(f"FAILED: {stem}: {old} -> {new}: the server says {said}")
    for template in sorted((ROOT / "examples/kubernetes").glob("[a-z]*.yaml.jinja")):
        more = render_templates.MORE.get(f"kubernetes/{template.name}", [])
        # A server of 1.34 has not what kubernetes_minor under 21 asks for: the budget of policy/v1beta1.
        more = [values | ({"kubernetes_minor": 21} if "kubernetes_minor" in values else {}) for values in more]
        sets = [*render_templates.SETS.values(), *(render_templates.SETS["much"] | values for values in more)]
        for values in sets:
            done = render_templates.run(distrib, template, values, "--check")
            assert done.returncode == 0, done.stderr
            for document in filter(None, yaml.safe_load_all(done.stdout)):
                documents += 1
                for problem in server.dry_run(document):
                    failures += 1
                    print(f"FAILED: {template.name}: {document['kind']} {document['metadata']['name']}: {problem}")
        print(f"{template.name}: {len(sets)} renderings", flush=True)
    print(f"kube-apiserver {VERSION}: {documents} documents, {len(PLANTED)} planted faults, {failures} failures")
    return min(failures, 1)


def main():
    distrib = str(pathlib.Path(sys.argv[1]).resolve() / "tools/distrib")
    for program, package in (("etcd", "etcd-server"), ("openssl", "openssl")):
        if shutil.which(program) is None:
            skip(f"{program} is missing: apt-get install {package}")
    if shutil.which("go") is None:
        skip("Go is missing; Kubernetes wants 1.24 or newer")
    build()
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder, (client, peer, port) = pathlib.Path(name), free_ports(3)
        subprocess.run(["openssl", "genrsa", "-out", folder / "key", "2048"], check=True, stderr=subprocess.DEVNULL)
        (folder / "tokens").write_text(f'{TOKEN},admin,1,"system:masters"\n')
        etcd = f"http://127.0.0.1:{client}"
        stack.enter_context(started("etcd", [
            "etcd", f"--data-dir={folder}/etcd", f"--listen-client-urls={etcd}", f"--advertise-client-urls={etcd}",
            f"--listen-peer-urls=http://127.0.0.1:{peer}"], folder / "etcd.log"))
        process = stack.enter_context(started("kube-apiserver", [
            SERVER, f"--etcd-servers={etcd}", "--bind-address=127.0.0.1", f"--secure-port={port}",
            f"--cert-dir={folder}/pki", f"--token-auth-file={folder}/tokens", "--authorization-mode=RBAC",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--service-account-issuer=https://kubernetes.default.svc", f"--service-account-key-file={folder}/key",
            f"--service-account-signing-key-file={folder}/key", "--disable-admission-plugins=ServiceAccount",
            "--endpoint-reconciler-type=none"], folder / "server.log"))
        server = Server(f"https://127.0.0.1:{port}")
        until("kube-apiserver", lambda: server.ask("GET", "/readyz")[0] == 200, process)
        for namespace in NAMESPACES:
            labels = {"pod-security.kubernetes.io/warn": "restricted"}
            document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": labels}}
            until(f"the namespace {namespace}", lambda: server.ask(
                "PATCH", f"/api/v1/namespaces/{namespace}?fieldManager=test&force=true", json.dumps(document),
                "application/apply-patch+yaml")[0] in (200, 201), process)
        define(server, process)
        return check(server, distrib)


if __name__ == "__main__":
    sys.exit(main())
