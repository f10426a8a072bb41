# SPDX-License-Identifier: Apache-2.0
"""Names of Kubernetes objects, and the names that controllers derive from them: for pods, host names, labels and
Services. The server accepts a name that is too long, also in a dry run; but then no pod is ever created. Sources:
docs/design/engines.md."""

import re

LABEL = 63  # most characters of a label's value, a host name, or the name of a Service
HASH, SUFFIX = "x" * 10, "x" * 5  # what controllers append, by length


def name_problems(document, documents):
    name, kind = document["metadata"]["name"], document["kind"]
    of_jobs = ("JobSet", "TFJob", "TrainJob")
    starts = "[a-z]" if kind in ("Service", *of_jobs) else "[a-z0-9]"
    inner = "[a-z0-9-]" if kind in ("Service", "StatefulSet", "Job", "Pod", *of_jobs) else "[a-z0-9.-]"
    if not re.fullmatch(f"{starts}({inner}*[a-z0-9])?", name):
        first = ", starting with a letter" if starts == "[a-z]" else ""
        yield f"the name must be a DNS label: lower-case letters, digits and '-'{first}"
    if longest_excess(document) > 0:
        what, derived = max(derived_names(document), key=lambda pair: len(pair[1]))
        yield (f"{what}, {derived!r}, has {len(derived)} characters, at most {LABEL} are allowed: "
               f"{longest_name(document, documents)}")


def label_problems(documents):
    """What is wrong with labels, once for each label."""
    for key, value in dict.fromkeys(pair for document in documents for pair in labels_of(document)):
        if len(value) > LABEL or not re.fullmatch(r"([A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?)?", value):
            yield (f"the label {key} cannot be {value!r}, which has {len(value)} characters: at most {LABEL} are "
                   "allowed, letters and digits, and '-', '_' and '.' between them")


def longest_excess(document):
    return max(len(derived) for _, derived in derived_names(document)) - LABEL


def longest_name(document, documents):
    """How long a name may be: that of the value `name`, with which the templates of this library start all names and
    which they repeat in a label; otherwise the object's own name."""
    told, name = value_of_name(document), document["metadata"]["name"]
    if not told:
        return f"its name may have at most {len(name) - longest_excess(document)}"
    excess = max(longest_excess(other) for other in documents if value_of_name(other) == told)
    return f"`name` may have at most {len(told) - excess}, and has {len(told)}"


def value_of_name(document):
    told = document["metadata"].get("labels", {}).get("app.kubernetes.io/instance", "")
    return told if document["metadata"]["name"].startswith(told) else ""


def derived_names(document):
    """(what it is, the longest such name) for each name in the object, and each name that is derived from its name."""
    name, kind, spec = document["metadata"]["name"], document["kind"], document.get("spec", {})
    yield "its name", name
    if kind == "StatefulSet":
        last = spec.get("ordinals", {}).get("start", 0) + spec.get("replicas", 1) - 1
        yield "the label controller-revision-hash of its pods", f"{name}-{HASH}"
        yield "the name of its last pod", f"{name}-{max(last, 0)}"
    elif kind == "Job":
        yield from pod_hosts(f"{name}", spec)
    elif kind in ("JobSet", "TrainingRuntime"):  # a JobSet has the name of its TrainJob, and that the name of the runtime
        for jobs in (spec["template"]["spec"] if kind == "TrainingRuntime" else spec)["replicatedJobs"]:
            inner, job = jobs["template"]["spec"], f"{name}-{jobs['name']}-{max(jobs.get('replicas', 1) - 1, 0)}"
            yield "the name of a Job", job
            yield from pod_hosts(job, inner)
            if inner.get("completionMode") == "Indexed":
                yield "the name of a pod", f"{job}-{last_index(inner)}-{SUFFIX}"
    elif kind == "TFJob":
        for role, replicas in spec["tfReplicaSpecs"].items():
            yield "the name of a Service and a pod", f"{name}-{role.lower()}-{max(replicas.get('replicas', 1) - 1, 0)}"
    elif kind == "Pod":
        yield from pod_names(spec)


def pod_hosts(job, spec):
    if spec.get("completionMode") == "Indexed":
        yield "the host name of a pod", f"{job}-{last_index(spec)}"
    yield from pod_names(spec["template"]["spec"])


def pod_names(pod):
    for key in ("hostname", "subdomain"):
        if key in pod:
            yield f"the {key} of a pod", pod[key]


def last_index(spec):
    return max(spec.get("completions", 1) - 1, 0)


def labels_of(value):
    """(key, value) for all labels and selectors in a value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in ("labels", "matchLabels", "nodeSelector") and isinstance(inner, dict):
                yield from inner.items()
            else:
                yield from labels_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from labels_of(inner)
