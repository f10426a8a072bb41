#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests every template of examples/ with three sets of values.

usage: render_templates.py DISTRIB

Each template is rendered as by plain Jinja2, passes --check, and its lists of hosts name the tasks of the file. If a
required value is missing, the error names it. Strings in the result are equal to the values that were passed. First,
each check must find a mistake that is planted for it.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import jinja2

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import render_check  # noqa: E402
import render_compose  # noqa: E402
import render_hosts  # noqa: E402
import render_kubernetes  # noqa: E402
import render_marathon  # noqa: E402

NASTY = ["--a='single' \"double\"", "key: value # no comment", "two\nlines\n", "${HOME} $$ $(id) `id` %d \\ \\n",
         "- {a: [b]}",
         "", " spaces ", "yes", "0x10", "<&>", "ünï"]
LEAST = {"image": "example.org/train:1", "command": ["/train", "--steps", "100"], "data_dir": "/data",
         "train_dir": "/out"}
SETS = {
    "least": LEAST,
    "much": LEAST | {
        "name": "mnist", "worker_replicas": 5, "ps_replicas": 3, "port": 5000, "tensorboard": True,
                     "data_claim": "records",
        "credential_secret_name": "cloud", "credential_secret_key": "key.json", "token_secret_name": "token",
        "tls_secret_name": "tls", "queue": "team", "namespace_name": "research", "deadline": 3600,
        "probe": ["/train", "--probe"], "worker_gpus": 1, "metrics_port": 9100,
        "environment": {"OPENBLAS_NUM_THREADS": 1}, "storage_class": "nfs", "host_volume": "/mnt/train",
        "egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}],
        "tolerations": [{"key": "gpu", "operator": "Exists"}]},
    "issued": LEAST | {"name": "mnist", "namespace_name": "research", "tls_issuer": "cluster-ca"},
    "store": LEAST | {"train_dir": "s3://bucket/run", "host_volume": "/mnt/train", "tensorboard": True,
                      "service_account": "trainer", "environment_secret_name": "keys",
                      "environment": {"AWS_REGION": "us-east-1"}},
    "nasty": LEAST | {"ps_replicas": 1, "worker_replicas": 1, "tensorboard": True, "command": ["/train", *NASTY],
                      "environment": {f"N{i}": text for i, text in enumerate(NASTY)}},
}
# More sets of values for some templates.
MORE = {"kubernetes/statefulset.yaml.jinja": [{"kubernetes_minor": 20}, {"ps_kind": "Job"}, {"train_claim": "old"},
                                              {"network_policy": False},
                                              {"cluster_domain": "k8s.example"}],
        **{f"kubernetes/{template}.yaml.jinja": [{"gang": True}, {"gang": True, "volcano_queue": "team"},
                                                 {"scheduler_name": "other"}]
           for template in ("jobset", "trainjob", "tfjob")}}
SPOT = {"worker_node_selector": {"cloud.google.com/gke-spot": "true"}, "worker_tolerations": [{"key": "spot"}]}
MORE["kubernetes/statefulset.yaml.jinja"] += [
    {"gang": True}, {"gang": True, "kubernetes_minor": 20}, {"ranks": 16}, {"ranks": 16, "most_workers": 8, **SPOT},
    {"ranks": 16, "most_workers": 2}, {"ranks": 16, "most_ranks": 24}, {"ranks": 16, "worker_kind": "StatefulSet"},
    {"ranks": 16, "ps_kind": "Job", "gang": True}, {"ranks": 16, "kubernetes_minor": 20}]
for _template in ("jobset", "trainjob"):
    MORE[f"kubernetes/{_template}.yaml.jinja"] += [{"ranks": 16, **SPOT}, {"ranks": 16, "gang": True}]


def templates():
    found = [path for path in sorted(ROOT.glob("examples/*/*.jinja")) if not path.name.startswith("_")]
    assert found, "there is no template"
    return found


def run(distrib, template, values, *options):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(values, file)
        file.flush()
        return subprocess.run([distrib, "render", str(template), "--values", file.name, *options], capture_output=True,
                              text=True, check=False)


def plain(template, values):
    loader = jinja2.FileSystemLoader(str(template.parent))
    environment = jinja2.Environment(loader=loader, undefined=jinja2.StrictUndefined)
    return environment.get_template(template.name).render(values)


def documents_of(name, text):
    if re.search(r"\.ya?ml\.jinja$", name):
        documents, found = render_check.load_yaml(text)
        assert not found, found
        return documents
    return [json.loads(text)] if name.endswith(".json.jinja") else None


def hosts_agree(documents, values):
    """The names of tasks in the variables are the names that the file makes: the two are computed independently."""
    told = dict(render_hosts.told_hosts(documents))
    workers = values.get("worker_replicas", 3)
    if "ranks" in values and any(d.get("kind") == "Job" for d in documents) and "kubernetes_minor" not in values:
        workers = max(workers, values.get("most_workers", values.get("most_ranks", values["ranks"])))  # they can be scaled
    count = {"DISTRIB_PS_HOSTS": values.get("ps_replicas", 2), "DISTRIB_WORKER_HOSTS": workers}
    if not told:
        assert documents[-1].get("kind") == "TFJob", "the file has no list of the tasks' hosts"
        return  # its operator sets them
    if "kind" in documents[0]:
        made = render_kubernetes.created_hosts(documents)
        exact = True
    elif "services" in documents[0]:
        made, exact = render_compose.compose_hosts(documents[0]), False
    else:
        apps = [app_id for app_id, app in render_marathon.marathon_apps(documents[0])
                if app["labels"]["distrib"] != "tensorboard"]
        made, exact = {render_marathon.mesos_dns_name(app_id) for app_id in apps}, True
    names = [address.rpartition(":")[0] for text in told.values() for address in text.split(",")]
    if "kind" in documents[0]:
        tail = f".{values.get('namespace_name', 'default')}.svc.{values.get('cluster_domain', 'cluster.local')}"
        assert all(name.endswith(tail) for name in names), f"not whole: {names}"
        names = [name.removesuffix(tail) for name in names]
    assert len(set(names)) == len(names), f"a name occurs twice: {names}"
    for variable, number in count.items():
        assert len(told[variable].split(",")) == number, f"{variable} has not {number} hosts: {told[variable]}"
    assert set(names) <= made, f"told {sorted(names)}, made {sorted(made)}"
    assert not exact or set(names) == made, f"told {sorted(names)}, made {sorted(made)}"


def restricted(documents):
    """Pods obey Pod Security's level "restricted", have read-only images, and get no token of Kubernetes."""
    for document in documents:
        for _, pod, name, _ in render_kubernetes.pods(document):
            security = pod["securityContext"]
            assert security["runAsNonRoot"] and security["runAsUser"] > 0, name
            assert security["seccompProfile"] == {"type": "RuntimeDefault"}, name
            assert pod["automountServiceAccountToken"] is False and pod["enableServiceLinks"] is False, name
            for volume in pod["volumes"]:
                kinds = volume.keys() - {"name"}
                assert kinds <= {"persistentVolumeClaim", "emptyDir", "secret"}, f"{name}: {kinds}"
            for container in pod["containers"]:
                own = container["securityContext"]
                assert own["allowPrivilegeEscalation"] is False and own["capabilities"] == {"drop": ["ALL"]}, name
                assert own["readOnlyRootFilesystem"] is True and container["resources"]["limits"]["memory"], name


CERTIFICATES = {"tls.crt", "tls.key", "ca.crt"}


def names_issued(documents, values):
    """The certificate that cert-manager is asked for is for every task, for both uses, and for no other name."""
    spec, = (d["spec"] for d in documents if d["kind"] == "Certificate")
    assert {"server auth", "client auth"} <= set(spec["usages"]), spec
    assert spec["secretName"] == values["tls_secret_name"] and spec["issuerRef"]["name"] == values["tls_issuer"], spec
    told = [host.rpartition(":")[0] for _, text in render_hosts.told_hosts(documents) for host in text.split(",")]
    if not told:  # of a TFJob
        told = [f"mnist-{role}-{i}.research.svc" for role, count in (("ps", 2), ("worker", 3)) for i in range(count)]
    fits = {host: [name for name in spec["dnsNames"] if name == host or name.startswith("*.") and
                   name[2:] == host.partition(".")[2]] for host in told}
    assert all(fits.values()), f"not for {[host for host, names in fits.items() if not names]}"
    assert set(spec["dnsNames"]) == {name for names in fits.values() for name in names}, spec["dnsNames"]
    assert all(values["name"] in name for name in spec["dnsNames"]), "a wildcard for other jobs too"


def certificates_given(name, text, documents, values):
    """Every task, and no other program, is told the directory of certificates, and that directory is there. `text`: of
    the file, or what a script has started."""
    if documents is not None and "kind" in documents[0] and "tls_issuer" in values:
        values = {"tls_secret_name": f"{values['name']}-tls", "ps_replicas": 2, "worker_replicas": 3} | values
        names_issued(documents, values)
    if "tls_secret_name" not in values:
        assert "TLS" not in text and "/etc/distrib/tls" not in text, "certificates that nobody asked for"
        return
    tasks = values["ps_replicas"] + values["worker_replicas"]
    told, files = [], []  # of each task
    if documents is None:
        assert f"\0DISTRIB_TLS_DIRECTORY={values['tls_secret_name']}\0" in f"\0{text}", "the tasks get no directory"
        assert "mpi" not in name or "\0-x\0DISTRIB_TLS_DIRECTORY\0" in text, "mpirun does not pass it on"
        return
    if "kind" in documents[0]:
        for document in documents:
            for labels, pod, _, _ in render_kubernetes.pods(document):
                container, = pod["containers"]
                if labels.get("app.kubernetes.io/component") not in ("ps", "worker"):
                    assert not [mount for mount in container["volumeMounts"] if mount["name"] == "tls"], "not a task"
                    continue
                told += [v["value"] for v in container["env"] if v["name"] == "DISTRIB_TLS_DIRECTORY"]
                volume, = (v for v in pod["volumes"] if v["name"] == "tls")
                # A whole directory, because single files are never replaced.
                assert volume["secret"] == {"secretName": values["tls_secret_name"], "defaultMode": 0o440}, volume
                files += [m["mountPath"] for m in container["volumeMounts"]
                          if m == {"name": "tls", "mountPath": "/etc/distrib/tls", "readOnly": True}]
        assert told and set(told) == set(files) and len(told) == len(files), f"told {told}, mounted {files}"
        return
    if "services" in documents[0]:
        document, tasks = documents[0], len(documents[0]["services"]) - 1  # and TensorBoard
        for role, service in document["services"].items():
            environment = service.get("environment", {})
            told += [environment[key] for key in environment if key == "DISTRIB_TLS_DIRECTORY"]
            secrets = {s["target"]: s["source"] for s in service.get("secrets", [])}
            mounted = [v["target"] for v in service["volumes"] if v["source"] == values["tls_secret_name"]]
            assert role != "tensorboard" or not (mounted or secrets), "TensorBoard has the key"
            found = {path.rpartition("/")[2]: source for path, source in secrets.items() if "/tls/" in path}
            assert mounted or role == "tensorboard" or found == {
                file: f"{values['tls_secret_name']}-{file}" for file in CERTIFICATES}, f"{role}: {found}"
            files += mounted or [path.rpartition("/")[0] for path in secrets if path.endswith("/tls.key")]
    else:
        for app_id, app in render_marathon.marathon_apps(documents[0]):
            given = {v["containerPath"]: app["secrets"][v["secret"]]["source"]
                     for v in app["container"]["volumes"] if "secret" in v}
            if "tensorboard" in app_id:
                assert not given, "TensorBoard has secrets"
                continue
            told.append(app["env"]["DISTRIB_TLS_DIRECTORY"])
            assert {path: source for path, source in given.items() if path.startswith(told[-1])} == {
                f"{told[-1]}/{file}": f"{values['tls_secret_name']}/{file}" for file in CERTIFICATES}, given
            files.append(told[-1])
    assert told == files and len(told) == tasks, f"told {told}, given {files}"


# Programs of this text are first in the PATH of a script; each notes its arguments, the variables N0, N1, ..., and the
# directory of certificates.
STUB = """#!/usr/bin/env python3
import os, sys
with open(os.environ["NOTED"], "a") as noted:
    for text in [*sys.argv[1:], *(v for k, v in os.environ.items() if k.startswith("N") and k[1:].isdigit()),
                 *(f"{k}={v}" for k, v in os.environ.items() if k == "DISTRIB_TLS_DIRECTORY")]:
        noted.write(text + "\\0")
"""


def started_by(script_text):
    """What a script has started, as the programs of STUB note it."""
    with tempfile.TemporaryDirectory() as folder:
        for program in ("srun", "mpirun", "mpiexec", "prterun"):
            path = pathlib.Path(folder, program)
            path.write_text(STUB)
            path.chmod(0o755)
        script, noted = pathlib.Path(folder, "script"), pathlib.Path(folder, "noted")
        script.write_text(script_text)
        done = subprocess.run(["bash", str(script)], capture_output=True, text=True, check=False, cwd=folder,
                              env=os.environ | {"PATH": f"{folder}:{os.environ['PATH']}", "NOTED": str(noted)})
        assert noted.exists(), f"the script started nothing: {done.stderr}"
        return noted.read_text()


def strings_of(text, documents):
    if documents is None:
        return set(started_by(text).split("\0"))
    found = set(render_check.strings(documents))
    if "services" in documents[0] or "kind" in documents[0]:
        # Here a $ starts the name of a variable, unless it is doubled.
        assert all("$" not in text.replace("$$", "") for text in found), "a lonely $"
        found |= {text.replace("$$", "$") for text in found}
        for service in documents[0].get("services", {}).values():
            if isinstance(service.get("environment"), list):
                found |= {text.partition("=")[2].replace("$$", "$") for text in service["environment"]}
    return found


def check_template(distrib, template, scratch):
    name = f"{template.parent.name}/{template.name}"
    is_script = not re.search(r"\.(ya?ml|json)\.jinja$", name)
    for which, values in [*SETS.items(), *((str(more), SETS["much"] | more) for more in MORE.get(name, []))]:
        if is_script:  # it is run, and may write there
            values = values | ({"logs_dir": f"{scratch}/logs"} if which == "store" else {"train_dir": f"{scratch}/out"})
        done = run(distrib, template, values, "--check")
        assert done.returncode == 0, f"with {which} values: {done.stderr}"
        assert ": valid (" in done.stderr, done.stderr
        assert done.stdout == plain(template, values) + "\n", f"with {which} values plain Jinja2 gives something else"
        documents = documents_of(name, done.stdout)
        if documents is not None:
            hosts_agree(documents, values)
            if "kind" in documents[0]:
                restricted(documents)
        certificates_given(name, started_by(done.stdout) if is_script else done.stdout, documents, values)
        if which == "store":
            told = strings_of(done.stdout, documents)
            assert any(text.endswith("=s3://bucket/run") for text in told), "the program is not told the URL"
            mounted = re.findall(r'(?:target|mountPath|containerPath)"?: "?s3:.*|/mnt/train.*|claimName: "train-train".*',
                                 done.stdout)
            assert not mounted, f"the URL is mounted: {mounted}"
        if which == "nasty":
            lost = set(NASTY) - strings_of(done.stdout, documents)
            assert not lost, f"strings are lost: {lost}"
    required = 0
    for missing in LEAST:
        done = run(distrib, template, {key: value for key, value in LEAST.items() if key != missing})
        if done.returncode != 0:
            required += 1
            assert done.returncode == 65 and f"'{missing}' is undefined" in done.stderr, done.stderr
            assert done.stdout == "", "it says something although a value is missing"
    assert required > 0, "it requires nothing"


# --- planted mistakes -----------------------------------------------------------------------------------------------

STACK = """services:
  ps0: {image: a, deploy: {endpoint_mode: dnsrr},
        environment: {DISTRIB_PS_HOSTS: "ps0:1", DISTRIB_WORKER_HOSTS: "worker1:1"}}
  worker: {image: a, hostname: "worker{{.Task.Slot}}", deploy: {endpoint_mode: dnsrr, replicas: 1}}
"""
GANG, DEALT = "kubernetes/jobset.yaml.jinja with a gang", "kubernetes/statefulset.yaml.jinja with ranks"
PLANTED = {
    "kubernetes/statefulset.yaml.jinja": [
        ('podManagementPolicy:', 'podManagementPolice:', "unknown key 'podManagementPolice'"),
        ('serviceName: "train-ps"', 'serviceName: "train"', "is not a headless Service"),
        ('train-ps-1.train-ps.', 'train-ps-2.train-ps.', "no task of this file has that name"),
        ('train-ps-1.train-ps.default.', 'train-ps-1.train-ps.research.', "no task of this file has that name"),
        ('local:2222', 'local:rpc', "has no port"),
        ('replicas: 2', 'replicas: "2"', "must be a whole number"),
        ('kind: StatefulSet', 'kind: ReplicaSet', "unknown to this check"),
        ('kind: StatefulSet', 'knd: StatefulSet', "unknown to this check"),
        ('kind: StatefulSet', '- StatefulSet', "expected"),
        ('apiVersion: batch/v1', 'apiVersion: extensions/v1beta1', "unknown to this check"),
        ('podManagementPolicy: Parallel', 'podManagementPolicy: Parallel\n  podManagementPolicy: Parallel',
         "occurs twice"),
        ('whenUnsatisfiable: ScheduleAnyway', 'whenUnsatisfiable: Perhaps',
         "must be one of DoNotSchedule, ScheduleAnyway"),
        ('status: "True"', 'state: "True"', "status is missing"),
        ('restartPolicy: Never', 'restartPolicy: OnFailure', "restartPolicy must be Never"),
        ('completionMode: Indexed', 'completionMode: NonIndexed', "needs completionMode Indexed"),
        ('tcpSocket: {port: rpc}', 'tcpSocket: {port: prc}', "uses port 'prc'"),
        ('- {name: tmp, mountPath: /tmp}', '- {name: temp, mountPath: /tmp}', "there is no such volume"),
        ('name: "train-worker"', 'name: "Train"', "must be a DNS label"),
        ('"app.kubernetes.io/component": "cluster"', '"app.kubernetes.io/component": "' + "c" * 64 + '"',
         "has 64 characters: at most 63 are allowed"),
        ('"app.kubernetes.io/component": "cluster"', '"app.kubernetes.io/component": "a b"',
         "app.kubernetes.io/component cannot be 'a b'"),
        ('cluster.local:', 'cluster.' + "d" * 64 + ':', "between dots at most 63, and this name has 64"),
        ('name: "train-cluster"\n', 'name: "' + "c" * 64 + '"\n', "its name may have at most 63"),
        ('values: [64, 65', 'values: [65, 64', "must be in ascending order"),
        ('selector: {"app.kubernetes.io/name": "distrib"', 'selector: {"app.kubernetes.io/name": "train"',
         "no pod of this file has"),
    ],
    "kubernetes/jobset.yaml.jinja": [
        ('train-ps-0-1.train.', 'train-ps-1.train.', "no task of this file has that name"),
        ('maxRestarts', 'maxRestart', "unknown key 'maxRestart'"),
        ('minAvailable: 2', 'maxUnavailable: 0', "supports only minAvailable"),
        ('operator: All', 'operator: Every', "must be one of All, Any"),
        ('{name: permanent, action', '{action', "name is missing"),
        ('kind: JobSet\nmetadata:\n  name: "train"', 'kind: JobSet\nmetadata:\n  name: "7train"', "with a letter"),
        ('kind: JobSet\nmetadata:\n  name: "train"', 'kind: JobSet\nmetadata:\n  name: "a.b"', "must be a DNS label"),
    ],
    "kubernetes/trainjob.yaml.jinja": [
        ('train-node-0-1.train.', 'train-worker-0-1.train.', "no task of this file has that name"),
        ('kind: TrainingRuntime, name: "train"', 'kind: TrainingRuntime, name: "other"', "no TrainingRuntime 'other'"),
        ('numNodes: 3', 'numNodes: 4', "numNodes is 4, but the job 'node' has 3 pods"),
        ('numNodes: 3', 'nodes: 3', "unknown key 'nodes'"),
        ('trainjob-ancestor-step: trainer', 'trainjob-ancestor-stp: trainer', "exactly one replicated job"),
        ('- name: node\n                  image', '- name: worker\n                  image',
         "a container 'node'"),
        ('operator: All', 'operator: Every', "must be one of All, Any"),
        ('minAvailable: 2', 'maxUnavailable: 0', "supports only minAvailable"),
        ('kind: TrainJob\nmetadata:\n  name: "train"', 'kind: TrainJob\nmetadata:\n  name: "7train"', "with a letter"),
    ],
    "kubernetes/tfjob.yaml.jinja": [
        ('restartPolicy: ExitCode', 'restartPolicy: Sometimes', "must be one of Always, ExitCode"),
        ('cleanPodPolicy', 'cleanPodsPolicy', "unknown key 'cleanPodsPolicy'"),
    ],
    DEALT: [
        ('train-worker-15.train-worker.', 'train-worker-16.train-worker.', "no task of this file has that name"),
        ('train-ps-1.train-ps.', 'train-ps-2.train-ps.', "no task of this file has that name"),
        ('DISTRIB_RANKS', 'DISTRIB_RANK', "no task of this file has that name"),
        ('completionMode: Indexed', 'completionMode: NonIndexed', "successPolicy needs completionMode Indexed"),
    ],
    GANG: [
        ('minMember: 5', 'minMember: 6', "minMember is 6, but only 5 pods"),
        ('minMember: 5', 'minMembers: 5', "unknown key 'minMembers'"),
        ('scheduling.k8s.io/group-name: "train"', 'scheduling.k8s.io/group-name: "other"', "which is not in this file"),
        ('schedulerName: "volcano"', 'hostNetwork: false', "have no schedulerName"),
        ('  - name: worker\n    replicas: 1\n', '  - name: worker\n    replicas: 1\n'
         '    dependsOn: [{name: ps, status: Ready}]\n', "start only together"),
    ],
    "marathon/group.json.jinja": [
        ('"networks": [{"mode": "host"}]', '"networks": [{"mode": "HOST"}]', "'HOST' is not one of"),
        ('"type": "MESOS"', '"type": "MESOS", "network": "HOST"', "'network' was unexpected"),
        ('"requirePorts": true,', '', "only if requirePorts is set"),
        ('"portIndex": 0', '"portIndex": 1', "a health check has portIndex 1"),
        ('ps-1-train.marathon.mesos', 'ps-1.train.marathon.mesos', "no task of this file has that name"),
        ('"instances": 1', '"instances": "1"', "is not of type 'integer'"),
        ('"id": "ps-1"', '"id": "ps-0"', "occurs twice"),
        ('"cpus": 1,', '"cpus": 1, "cpus": 1,', "occurs twice"),
        ('"image": "example.org/train:1"', '"image": ""', "''"),
    ],
    STACK: [
        ("image: a", "img: a", "unknown key 'img'"), ("image: a, ", "", "image or build is missing"),
        ("image: a", "image: a, container_name: b", "is not allowed in a stack"),
        ("{image: a, d", "{image: a, networks: [back], d", "'back' is missing in networks"),
        ("{image: a, d", "{image: a, volumes: ['data:/data'], d", "'data' is missing in volumes"),
        ('"ps0:1"', '"ps1:1"', "no task of this file has that name"),
        ("replicas: 1", "replicas: 0", "no task of this file has that name"),
        ("endpoint_mode: dnsrr, r", "r", "leads to a virtual address"),
        ("  worker: ", "  w.orker: ", "Swarm calls it STACK_w.orker"),
        ("  worker: ", "  " + "w" * 62 + ": ", "at most 63 characters, and this name has 62"),
        ("worker{{.Task.Slot}}", "w" * 63 + "{{.Task.Slot}}", "has 64 characters, at most 63 are allowed"),
    ],
}


def self_test():
    for name, faults in PLANTED.items():
        template = pathlib.Path("stack.yaml.jinja") if name == STACK else ROOT / "examples" / name.split(" ")[0]
        text = STACK if name == STACK else plain(template, LEAST | {GANG: {"gang": True}, DEALT: {"ranks": 16}}.get(name, {}))
        found, _ = render_check.check(template, text)
        assert not found, f"{name}: {found}"
        missed = []
        for old, new, words in faults:
            assert old in text, f"{name} has no {old}"
            found, _ = render_check.check(template, text.replace(old, new))
            if not any(words in problem for problem in found):
                missed.append(f"{name}: {old} -> {new}: it says {found}")
        assert not missed, "\n".join(missed)


# The longest `name` that each template accepts, counted by hand, and what is too long if it has one character more.
HASH, SUFFIX = "-xxxxxxxxxx", "-xxxxx"
LONGEST = [
    ("kubernetes/statefulset.yaml.jinja", {}, 49, "-ps" + HASH),
    ("kubernetes/statefulset.yaml.jinja", {"kubernetes_minor": 20}, 47, "-ps-0" + HASH),
    ("kubernetes/statefulset.yaml.jinja", {"kubernetes_minor": 20, "ps_replicas": 11}, 46, "-ps-10" + HASH),
    ("kubernetes/statefulset.yaml.jinja", {"ps_kind": "Job"}, 54, "-worker-2"),
    ("kubernetes/statefulset.yaml.jinja", {"ps_kind": "Job", "worker_replicas": 1001}, 51, "-worker-1000"),
    ("kubernetes/statefulset.yaml.jinja", {"ps_kind": "Job", "tensorboard": True}, 51, "-tensorboard"),
    ("kubernetes/jobset.yaml.jinja", {}, 46, "-worker-0-2" + SUFFIX),
    ("kubernetes/jobset.yaml.jinja", {"worker_replicas": 1, "ps_replicas": 12}, 46, "-worker-0-0" + SUFFIX),
    ("kubernetes/jobset.yaml.jinja", {"worker_replicas": 101}, 44, "-worker-0-100" + SUFFIX),
    ("kubernetes/trainjob.yaml.jinja", {}, 48, "-node-0-2" + SUFFIX),
    ("kubernetes/tfjob.yaml.jinja", {}, 54, "-worker-2"),
    ("kubernetes/tfjob.yaml.jinja", {"worker_replicas": 11}, 53, "-worker-10"),
    ("marathon/group.json.jinja", {}, 54, "worker-0-"),
    ("marathon/group.json.jinja", {"tensorboard": True}, 51, "tensorboard-"),
]


def longest_names():
    for name, more, longest, added in LONGEST:
        template = ROOT / "examples" / name
        for length, valid in ((longest, True), (longest + 1, False), (62, False)):
            found, _ = render_check.check(template, plain(template, LEAST | more | {"name": "n" * length}))
            assert bool(found) != valid, f"{name}, {more}, a name of {length}: it says {found}"
            if not valid:
                derived = added + "n" * length if added.endswith("-") else "n" * length + added
                text = f"{derived!r}, has {len(derived)} characters, at most 63 are allowed: "
                assert any(text in problem for problem in found), f"{name}, {more}: no {text!r} in {found}"
                said = any("`name`" in problem and f"may have at most {longest}" in problem for problem in found)
                assert said, f"{name}, {more}: no {longest} in {found}"


def main():
    distrib, failures = sys.argv[1], 0
    self_test()
    longest_names()
    for template in templates():
        name = template.relative_to(ROOT)
        try:
            with tempfile.TemporaryDirectory() as scratch:
                check_template(distrib, template, scratch)
            print(f"{name}: as plain Jinja2, valid, {len(SETS)} sets of values")
        except AssertionError as error:
            failures += 1
            print(f"FAILED: {name}: {error}", file=sys.stderr)
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
