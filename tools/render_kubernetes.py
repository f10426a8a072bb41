# SPDX-License-Identifier: Apache-2.0
"""Rules for Kubernetes that concern several keys or documents; rules for one key are in render_shapes.py."""

import functools
import importlib.util
import re

import render_shapes
from render_hosts import hosts_without_task, told_hosts
from render_names import label_problems, name_problems


def check(documents):
    found = [problem for document in documents for problem in render_shapes.problems(document)]
    said = f"{len(documents)} Kubernetes documents, by own check of keys"
    if found:
        return found, said
    seen = functools.partial(seen_within, documents)
    found = list(kubernetes_rules(documents)) + hosts_without_task(documents, created_hosts(documents), seen)
    if importlib.util.find_spec("kubernetes_validate") is not None:
        found += by_kubernetes_validate(documents)
        said += " and kubernetes-validate"
    return found, said


def by_kubernetes_validate(documents):
    import kubernetes_validate

    found = []
    for document in documents:
        try:
            kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)
        except kubernetes_validate.SchemaNotFoundError:
            pass  # a custom resource
        except kubernetes_validate.ValidationError as error:
            found.append(f"{title(document)}: {str(error).splitlines()[0]}")
    return found


def title(document):
    return f"{document['kind']} {document['metadata']['name']}"


def pods(document):
    """For each pod template: (labels, PodSpec, name of the object that makes the pods, list of the pods' host names
    without their subdomain)."""
    kind, name, spec = document["kind"], document["metadata"]["name"], document.get("spec", {})
    if kind in ("StatefulSet", "Deployment"):
        first = spec.get("ordinals", {}).get("start", 0)
        hosts = [f"{name}-{first + i}" for i in range(spec.get("replicas", 1))] if kind == "StatefulSet" else []
        yield (*template_of(spec["template"]), name, hosts)
    elif kind == "Job":
        yield (*template_of(spec["template"]), name, hosts_of_job(name, spec))
    elif kind in ("JobSet", "TrainingRuntime"):
        for jobs in set_of(document)["replicatedJobs"]:
            inner, full = jobs["template"]["spec"], f"{name}-{jobs['name']}"
            hosts = [host for i in range(jobs.get("replicas", 1)) for host in hosts_of_job(f"{full}-{i}", inner)]
            yield (*template_of(inner["template"]), full, hosts)
    elif kind == "TFJob":
        for role, replicas in spec["tfReplicaSpecs"].items():
            yield (*template_of(replicas["template"]), f"{name}-{role.lower()}", [])
    elif kind == "Pod":
        yield document["metadata"].get("labels", {}), spec, name, [spec.get("hostname", name)]


def set_of(document):
    """The spec of the JobSet that this object is, or that a TrainJob with the name of this TrainingRuntime becomes."""
    return document["spec"]["template"]["spec"] if document["kind"] == "TrainingRuntime" else document["spec"]


def template_of(template):
    return template.get("metadata", {}).get("labels", {}), template["spec"]


def hosts_of_job(name, spec):
    if spec.get("completionMode") == "Indexed":
        return [f"{name}-{i}" for i in range(spec.get("completions", 1))]
    hostname = spec["template"]["spec"].get("hostname")
    return [hostname] if hostname else []


def kubernetes_rules(documents):
    """Rules that concern several keys or documents, which are in no schema."""
    seen, every = set(), [(d, *pod) for d in documents for pod in pods(d)]
    labels = [pod[1] for pod in every]
    services = {d["metadata"]["name"]: d["spec"] for d in documents if d["kind"] == "Service"}
    own = {kind: {d["metadata"]["name"] for d in documents if d["kind"] == kind}
           for kind in ("ConfigMap", "PersistentVolumeClaim")}
    for document in documents:
        kind, name, spec = document["kind"], document["metadata"]["name"], document.get("spec", {})
        if (kind, name) in seen:
            yield f"{title(document)} occurs twice"
        seen.add((kind, name))
        yield from (f"{title(document)}: {problem}" for problem in name_problems(document, documents))
        if kind in ("StatefulSet", "Deployment"):
            wanted = spec["selector"].get("matchLabels", {})
            if not wanted or not wanted.items() <= template_of(spec["template"])[0].items():
                yield f"{title(document)}: the selector does not match the labels of the pod template"
        if kind == "StatefulSet" and services.get(spec["serviceName"], {}).get("clusterIP") != "None":
            yield f"{title(document)}: serviceName {spec['serviceName']!r} is not a headless Service of this file"
        if kind == "Service" and not matches(spec["selector"], labels) and not made_elsewhere(spec["selector"]):
            yield f"{title(document)}: no pod of this file has the labels {spec['selector']}"
        if kind in ("PodDisruptionBudget", "NetworkPolicy"):
            key = "selector" if kind == "PodDisruptionBudget" else "podSelector"
            wanted = spec[key].get("matchLabels", {})
            if wanted and not matches(wanted, labels) and not made_elsewhere(wanted):
                yield f"{title(document)}: no pod of this file has the labels {wanted}"
        if kind == "PodDisruptionBudget" and "maxUnavailable" in spec:
            wanted = spec["selector"].get("matchLabels", {})
            if any(d["kind"] in ("Job", "JobSet", "TFJob", "TrainingRuntime") and wanted.items() <= have.items() for d, have, *_ in every):
                yield f"{title(document)}: for pods of a Job, Kubernetes supports only minAvailable"
        of_set = set_of(document)["replicatedJobs"] if kind in ("JobSet", "TrainingRuntime") else []
        for job in [spec] if kind == "Job" else [jobs["template"]["spec"] for jobs in of_set]:
            yield from (f"{title(document)}: {problem}" for problem in job_rules(job))
        yield from (f"{title(document)}: {problem}" for problem in runtime_rules(document, documents))
        yield from (f"{title(document)}: {problem}" for problem in gang_rules(document, documents))
    yield from label_problems(documents)
    for document, _, pod, name, _ in every:
        yield from (f"{title(document)}: {problem}" for problem in pod_rules(pod, own))
        subdomain = pod.get("subdomain")
        if document["kind"] in ("Job", "Pod") and subdomain and services.get(subdomain, {}).get("clusterIP") != "None":
            yield f"{title(document)}: subdomain {subdomain!r} is not a headless Service of this file"


def matches(wanted, labels):
    return any(wanted.items() <= have.items() for have in labels)


def made_elsewhere(wanted):
    """True if a controller adds these labels to pods."""
    controllers = ("jobset.sigs.k8s.io/", "training.kubeflow.org/", "batch.kubernetes.io/")
    return any(key.startswith(controllers) for key in wanted)


def job_rules(spec):
    pod = spec["template"]["spec"]
    if pod.get("restartPolicy") not in ("Never", "OnFailure"):
        yield "the restartPolicy of a Job's pods must be Never or OnFailure"
    if "podFailurePolicy" in spec and pod.get("restartPolicy") != "Never":
        yield "with podFailurePolicy, restartPolicy must be Never"
    if spec.get("completionMode") != "Indexed":
        for key in ("backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"):
            if key in spec:
                yield f"{key} needs completionMode Indexed"
    if "maxFailedIndexes" in spec and "backoffLimitPerIndex" not in spec:
        yield "maxFailedIndexes needs backoffLimitPerIndex"
    if "backoffLimitPerIndex" in spec and pod.get("restartPolicy") != "Never":
        yield "with backoffLimitPerIndex, restartPolicy must be Never"
    if spec.get("podReplacementPolicy") == "TerminatingOrFailed" and "podFailurePolicy" in spec:
        yield "with podFailurePolicy, podReplacementPolicy must be Failed"
    containers = {c["name"] for c in pod["containers"]}
    for rule in spec.get("podFailurePolicy", {}).get("rules", []):
        codes = rule.get("onExitCodes")
        if bool(codes) == bool(rule.get("onPodConditions")):
            yield "a rule of podFailurePolicy must have either onExitCodes or onPodConditions, and not both"
        values = codes["values"] if codes else []
        if values != sorted(set(values)) or values and codes["operator"] == "In" and 0 in values:
            yield "the exit codes of podFailurePolicy must be in ascending order, each only once, and without 0"
        if codes and codes.get("containerName", next(iter(containers))) not in containers:
            yield f"podFailurePolicy: there is no container {codes['containerName']!r}"


TRAINER_STEP = "trainer.kubeflow.org/trainjob-ancestor-step"


def runtime_rules(document, documents):
    """What Kubeflow Trainer expects of a runtime, and of the TrainJob beside it."""
    kind, name = document["kind"], document["metadata"]["name"]
    if kind == "TrainingRuntime":
        steps = [j for j in set_of(document)["replicatedJobs"] if TRAINER_STEP in template_of(j["template"])[0]]
        if len(steps) != 1:
            yield f"exactly one replicated job must have the label {TRAINER_STEP}"
        for job in steps:
            pod = job["template"]["spec"]["template"]["spec"]
            if job.get("replicas", 1) != 1 or "node" not in [container["name"] for container in pod["containers"]]:
                yield f"the job {job['name']!r} with the label {TRAINER_STEP} must have one replica and a container 'node'"
            told, made = document["spec"].get("mlPolicy", {}).get("numNodes", 1), job["template"]["spec"].get("completions", 1)
            if told != made:
                yield f"numNodes is {told}, but the job {job['name']!r} has {made} pods"
    if kind == "TrainJob" and document["spec"]["runtimeRef"].get("kind") == "TrainingRuntime":
        told = document["spec"]["runtimeRef"]["name"]
        if not any(d["kind"] == "TrainingRuntime" and d["metadata"]["name"] == told == name for d in documents):
            yield f"there is no TrainingRuntime {told!r} with its own name, from which the names of its pods follow"


def gang_rules(document, documents):
    """Pods of a PodGroup start when all of them have room, so none of them may wait for another."""
    if document["kind"] == "PodGroup":
        wanted, made = document["spec"].get("minMember", 0), members(document["metadata"]["name"], documents)
        if made is not None and wanted > made:
            yield f"minMember is {wanted}, but only {made} pods of this file belong to it"
        return
    groups = {d["metadata"]["name"] for d in documents if d["kind"] == "PodGroup"}
    for template, _ in templates_of(document):
        group = template.get("metadata", {}).get("annotations", {}).get(GROUP)
        if group is not None and group not in groups:
            yield f"its pods belong to the PodGroup {group!r}, which is not in this file"
        if group is not None and not template["spec"].get("schedulerName"):
            yield "its pods belong to a PodGroup, but have no schedulerName: the default scheduler ignores it"
    if document["kind"] in ("JobSet", "TrainingRuntime"):
        for jobs in set_of(document)["replicatedJobs"]:
            template = jobs["template"]["spec"]["template"]
            if jobs.get("dependsOn") and GROUP in template.get("metadata", {}).get("annotations", {}):
                yield f"job {jobs['name']!r} depends on another, but the pods of its PodGroup start only together"


GROUP = "scheduling.k8s.io/group-name"


def members(group, documents):
    """How many pods of the documents belong to a PodGroup; None if that cannot be counted."""
    counts = [count for document in documents for template, count in templates_of(document)
              if template.get("metadata", {}).get("annotations", {}).get(GROUP) == group]
    return None if None in counts else sum(counts)


def templates_of(document):
    """(template of a pod, number of such pods) for each that the object makes; the number is None if it is not known."""
    kind, spec = document["kind"], document.get("spec", {})
    if kind in ("StatefulSet", "Deployment"):
        yield spec["template"], spec.get("replicas", 1)
    elif kind == "Job":
        yield spec["template"], spec.get("completions", 1)
    elif kind in ("JobSet", "TrainingRuntime"):
        for jobs in set_of(document)["replicatedJobs"]:
            inner = jobs["template"]["spec"]
            yield inner["template"], jobs.get("replicas", 1) * inner.get("completions", 1)
    elif kind == "TFJob":
        for replicas in spec["tfReplicaSpecs"].values():
            yield replicas["template"], replicas.get("replicas", 1)


def pod_rules(pod, own):
    volumes = {}
    for volume in pod.get("volumes", []):
        if len(volume) != 2:
            yield f"volume {volume['name']!r} must have exactly one source"
        if volume["name"] in volumes:
            yield f"volume {volume['name']!r} occurs twice"
        volumes[volume["name"]] = volume
    names, ports, used = set(), set(), set()
    for container in [*pod.get("initContainers", []), *pod["containers"]]:
        if container["name"] in names:
            yield f"container {container['name']!r} occurs twice"
        names.add(container["name"])
        mounts, variables = [m["mountPath"] for m in container.get("volumeMounts", [])], \
            [v["name"] for v in container.get("env", [])]
        for path in mounts:
            if not path.startswith("/") or mounts.count(path) > 1 or ":" in path:
                yield f"mountPath {path!r} must be absolute, have no ':', and occur only once"
        for variable in variables:
            if not re.fullmatch(r"[-._a-zA-Z][-._a-zA-Z0-9]*", variable) or variables.count(variable) > 1:
                yield f"variable {variable!r} must be a valid name and occur only once"
        for mount in container.get("volumeMounts", []):
            used.add(mount["name"])
            if mount["name"] not in volumes:
                yield f"container {container['name']!r} mounts {mount['name']!r}, but there is no such volume"
        for port in container.get("ports", []):
            if "name" in port and not re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,13}[a-z0-9])?", port["name"]):
                yield f"port {port['name']!r}: a name has at most 15 characters: lower-case letters, digits and '-'"
            if not 1 <= port["containerPort"] <= 65535:
                yield f"port {port['containerPort']} must be from 1 to 65535"
            ports |= {port.get("name"), port["containerPort"]}
        for key in ("startupProbe", "readinessProbe", "livenessProbe"):
            target = container.get(key, {}).get("tcpSocket", container.get(key, {}).get("httpGet", {})).get("port")
            if isinstance(target, str) and target not in ports:
                yield f"{key} uses port {target!r}, but there is no such port"
    for name in volumes.keys() - used:
        yield f"volume {name!r} is not mounted by any container"


def created_hosts(documents):
    """The names under which the pods of these documents can be reached from their own namespace: without the ending
    that `seen_within` removes."""
    names, most = set(), most_workers(documents)
    services = {d["metadata"]["name"]: d["spec"] for d in documents if d["kind"] == "Service"}
    for document in documents:
        for labels, pod, name, hosts in pods(document):
            if most and is_told(pod, "DISTRIB_JOB_NAME", "worker") and f"{name}-0" in hosts:
                hosts = [f"{name}-{i}" for i in range(most)]
            if document["kind"] in ("JobSet", "TrainingRuntime"):
                network = set_of(document).get("network", {})
                subdomain = network.get("subdomain", document["metadata"]["name"])
                serves = network.get("enableDNSHostnames", True)
            else:
                subdomain = document["spec"].get("serviceName") or pod.get("subdomain")
                selector = services.get(subdomain, {}).get("selector", {"": ""})
                serves = matches(selector, [labels])
            if subdomain and serves:
                names |= {f"{host}.{subdomain}" for host in hosts}
    return names


def most_workers(documents):
    """How many workers there may be if the user scales the job: with DISTRIB_RANKS the list of hosts has a name for
    each. 0: their number is fixed."""
    dealt = any(is_told(pod, "DISTRIB_RANKS") for document in documents for _, pod, _, _ in pods(document))
    return max((len(hosts.split(",")) for name, hosts in told_hosts(documents) if dealt and "WORKER" in name), default=0)


def is_told(pod, name, value=None):
    return any(one["name"] == name and value in (None, one.get("value")) for container in pod["containers"]
               for one in container.get("env", []))


def seen_within(documents, host):
    """A name as seen from the namespace of these documents: without that namespace and what follows it."""
    for namespace in {d["metadata"].get("namespace", "default") for d in documents}:
        host = re.sub(rf"\.{re.escape(namespace)}(\.svc(\.[a-z0-9.-]+)?)?$", "", host)
    return host
