#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks every rendering of examples/kubernetes with a real Kubernetes API server, in strict dry runs.

usage: kubernetes_server.py BUILD

Builds kube-apiserver from the Go module proxy if the cache directory does not have it (15 minutes, 3 GB). Starts it
with etcd on this machine, installs the resource definitions of JobSet, Kubeflow Trainer, TFJob, Volcano and
cert-manager, and applies each document as a dry run with strict validation. The namespace warns of everything that Pod Security's level "restricted" forbids, and a
warning is a failure. Before that, the server must refuse each planted fault. Exit code 77: skipped.
"""

import contextlib
import json
import pathlib
import sys
import tempfile

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests/tools"), str(ROOT / "tests/engines/support")]
import control_plane  # noqa: E402
import render_templates  # noqa: E402

# The files that define kinds of their own, and the Go module of each.
TRAINER = control_plane.TRAINER
DEFINITIONS = [(control_plane.OPERATORS["jobset-0.12.0"][0], "config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml"),
               (control_plane.OPERATORS["training-operator-1.9.0"][0], "manifests/base/crds/kubeflow.org_tfjobs.yaml"),
               (TRAINER, "manifests/base/crds/trainer.kubeflow.org_trainingruntimes.yaml"),
               (TRAINER, "manifests/base/crds/trainer.kubeflow.org_trainjobs.yaml"),
               ("volcano.sh/volcano@v1.15.1", "config/crd/volcano/bases/scheduling.volcano.sh_podgroups.yaml"),
               ("github.com/cert-manager/cert-manager@v1.19.1", "deploy/crds/cert-manager.io_certificates.yaml")]
NAMESPACES = {"default", render_templates.SETS["much"]["namespace_name"]}
PLURALS = {"NetworkPolicy": "networkpolicies"}
# The planted faults: (template, text to replace in its rendering, replacement, part of the server's answer).
PLANTED = [
    ("statefulset", "podManagementPolicy:", "podManagementPolice:", ".spec.podManagementPolice: field not declared"),
    ("statefulset", "completionMode: Indexed", "completionMode: NonIndexed", "requires indexed completion mode"),
    ("statefulset", "restartPolicy: Never", "restartPolicy: OnFailure", "restartPolicy"),
    ("statefulset", "runAsNonRoot: true, ", "", "restricted"),
    ("jobset", "operator: All", "operator: Every", "Unsupported value"),
    ("trainjob", "numNodes: 3", "numNode: 3", ".spec.mlPolicy.numNode: field not declared"),
    ("trainjob", "kind: TrainingRuntime, name", "kinds: TrainingRuntime, name", ".spec.runtimeRef.kinds: field not"),
    ("tfjob", "cleanPodPolicy", "cleanPodsPolicy", ".spec.runPolicy.cleanPodsPolicy: field not declared"),
]


def dry_run(server, document):
    """Returns the server's warnings and errors for the document. Empty: it is accepted."""
    version, kind = document["apiVersion"], document["kind"]
    path = f"/{'api' if version == 'v1' else 'apis'}/{version}/namespaces/{document['metadata']['namespace']}"
    name = f"{PLURALS.get(kind, kind.lower() + 's')}/{document['metadata']['name']}"
    status, answer, warnings = server.ask(
        "PATCH", f"{path}/{name}?fieldManager=test&dryRun=All&fieldValidation=Strict", json.dumps(document),
        "application/apply-patch+yaml")
    return warnings if status in (200, 201) else [f"{status}: {answer}", *warnings]


def define(server):
    for name, path in DEFINITIONS:
        definition = yaml.safe_load(pathlib.Path(control_plane.module(name)["Dir"], path).read_text())
        where = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        status, answer, _ = server.ask("POST", where, json.dumps(definition))
        assert status == 201, answer

        def is_established():
            text = server.ask("GET", f"{where}/{definition['metadata']['name']}")[1]
            conditions = json.loads(text).get("status", {}).get("conditions") or []
            return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)

        control_plane.until(f"the definitions of {name}", is_established, server.processes)


def check(server, distrib):
    failures = documents = 0
    for stem, old, new, words in PLANTED:
        template = ROOT / f"examples/kubernetes/{stem}.yaml.jinja"
        text = render_templates.plain(template, render_templates.LEAST)
        assert old in text, f"{stem} has no {old}"
        said = [p for d in yaml.safe_load_all(text.replace(old, new)) if d for p in dry_run(server, d)]
        if not any(words in problem for problem in said):
            failures += 1
            print(f"FAILED: {stem}: {old} -> {new}: the server says {said}")
    for template in sorted((ROOT / "examples/kubernetes").glob("[a-z]*.yaml.jinja")):
        more = render_templates.MORE.get(f"kubernetes/{template.name}", [])
        # A server of 1.34 does not know the budget of policy/v1beta1, which is rendered if kubernetes_minor is below
        # 21.
        more = [values | ({"kubernetes_minor": 21} if "kubernetes_minor" in values else {}) for values in more]
        sets = [*render_templates.SETS.values(), *(render_templates.SETS["much"] | values for values in more)]
        for values in sets:
            done = render_templates.run(distrib, template, values, "--check")
            assert done.returncode == 0, done.stderr
            for document in filter(None, yaml.safe_load_all(done.stdout)):
                documents += 1
                for problem in dry_run(server, document):
                    failures += 1
                    print(f"FAILED: {template.name}: {document['kind']} {document['metadata']['name']}: {problem}")
        print(f"{template.name}: {len(sets)} renderings", flush=True)
    print(f"kube-apiserver {control_plane.VERSION}: {documents} documents, {len(PLANTED)} planted faults, "
          f"{failures} failures")
    return min(failures, 1)


def main():
    distrib = str(pathlib.Path(sys.argv[1]).resolve() / "tools/distrib")
    control_plane.need(etcd="etcd-server", openssl="openssl")
    control_plane.build("kube-apiserver")
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        server = control_plane.start_server(stack, pathlib.Path(name), "127.0.0.1", "--authorization-mode=RBAC",
                                            "--disable-admission-plugins=ServiceAccount",
                                            "--endpoint-reconciler-type=none")
        for namespace in NAMESPACES:
            server.make_namespace(namespace, "warn")
        define(server)
        return check(server, distrib)


if __name__ == "__main__":
    sys.exit(main())
