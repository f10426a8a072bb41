# SPDX-License-Identifier: Apache-2.0
"""What `render.py --check` knows of the forms of its results.

`check(template, text)` returns what is wrong, a line each, and in words what was looked at. The rules are those that
make a cluster manager refuse a file, or accept it and then never start the job. `hosts_without_task` finds what no
manager tells: an address in DISTRIB_PS_HOSTS or DISTRIB_WORKER_HOSTS that nothing in the file is reached by.
"""

import importlib.util
import json
import re
import subprocess

import render_shapes


def check(template, text):
    name = template.name.removesuffix(".jinja")
    if re.search(r"\.ya?ml$", name):
        documents, found = load_yaml(text)
        if found:
            return found, "YAML"
        if any(isinstance(d, dict) and ("kind" in d or "apiVersion" in d) for d in documents):
            return check_kubernetes(documents)
        if len(documents) == 1 and isinstance(documents[0], dict) and "services" in documents[0]:
            return check_compose(documents[0])
        return [] if documents else ["it is empty"], "YAML alone: neither Kubernetes nor Compose"
    if name.endswith(".json"):
        return check_json(template, name, text)
    if re.search(r"\.(sh|bash|sbatch)$", name) or text.startswith("#!/bin/"):
        done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
        return done.stderr.splitlines() if done.returncode else [], "syntax of a shell script"
    return [] if text.strip() else ["it is empty"], "not empty; of this form nothing else is known"


# --- YAML and JSON --------------------------------------------------------------------------------------------------

def load_yaml(text):
    """The documents, without empty ones, and what is wrong: a key twice is, which PyYAML takes."""
    import yaml

    class Loader(yaml.SafeLoader):
        pass

    def mapping(loader, node):
        seen = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"the key {key.value!r} stands twice", problem_mark=key.start_mark)
            seen.add(key.value)
        return yaml.SafeLoader.construct_mapping(loader, node, deep=True)

    Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)
    try:
        documents = [d for d in yaml.load_all(text, Loader) if d is not None]
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        return [], [f"{line}{error.problem}"]
    except yaml.YAMLError as error:
        return [], [" ".join(str(error).split())]
    return documents, [f"{text!r} has half a character: YAML knows none beyond U+FFFF in this form"
                       for text in strings(documents) if re.search("[\ud800-\udfff]", text)]


def strings(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from strings(key)
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)
    elif isinstance(value, str):
        yield value


def check_json(template, name, text):
    def pairs(items):
        keys = [key for key, _ in items]
        if len(set(keys)) != len(keys):
            raise ValueError(f"a key stands twice among {', '.join(keys)}")
        return dict(items)

    try:
        document = json.loads(text, object_pairs_hook=pairs)
    except ValueError as error:
        return [str(error)], "JSON"
    found, looked = [], ["JSON"]
    schema = template.with_name(name.removesuffix(".json") + ".schema.json")
    if schema.exists():
        import jsonschema

        validator = jsonschema.Draft7Validator(json.loads(schema.read_text(encoding="utf-8")))
        for error in sorted(validator.iter_errors(document), key=lambda e: list(map(str, e.absolute_path))):
            found.append(f"{'.'.join(map(str, error.absolute_path)) or 'the whole'}: {error.message}")
        looked.append(schema.name)
    if isinstance(document, dict) and "id" in document and ("apps" in document or "groups" in document):
        if not found:
            found += check_marathon(document)
        looked.append("rules of Marathon 1.5")
    return found, ", ".join(looked)


# --- Kubernetes -----------------------------------------------------------------------------------------------------

def check_kubernetes(documents):
    found = [problem for document in documents for problem in render_shapes.problems(document)]
    said = f"{len(documents)} Kubernetes documents, by own check of keys"
    if found:
        return found, said
    found = list(kubernetes_rules(documents)) + hosts_without_task(documents)
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
            pass  # of a custom resource
        except kubernetes_validate.ValidationError as error:
            found.append(f"{title(document)}: {str(error).splitlines()[0]}")
    return found


def title(document):
    return f"{document['kind']} {document['metadata']['name']}"


def pods(document):
    """(labels, PodSpec, name of what makes them, how it is named in DNS) of each pod template: the last is a list of
    host names without their subdomain."""
    kind, name, spec = document["kind"], document["metadata"]["name"], document.get("spec", {})
    if kind in ("StatefulSet", "Deployment"):
        hosts = [f"{name}-{i}" for i in range(spec.get("replicas", 1))] if kind == "StatefulSet" else []
        yield (*template_of(spec["template"]), name, hosts)
    elif kind == "Job":
        yield (*template_of(spec["template"]), name, hosts_of_job(name, spec))
    elif kind == "JobSet":
        for jobs in spec["replicatedJobs"]:
            inner, full = jobs["template"]["spec"], f"{name}-{jobs['name']}"
            hosts = [host for i in range(jobs.get("replicas", 1)) for host in hosts_of_job(f"{full}-{i}", inner)]
            yield (*template_of(inner["template"]), full, hosts)
    elif kind == "TFJob":
        for role, replicas in spec["tfReplicaSpecs"].items():
            yield (*template_of(replicas["template"]), f"{name}-{role.lower()}", [])
    elif kind == "Pod":
        yield document["metadata"].get("labels", {}), spec, name, [spec.get("hostname", name)]


def template_of(template):
    return template.get("metadata", {}).get("labels", {}), template["spec"]


def hosts_of_job(name, spec):
    if spec.get("completionMode") == "Indexed":
        return [f"{name}-{i}" for i in range(spec.get("completions", 1))]
    hostname = spec["template"]["spec"].get("hostname")
    return [hostname] if hostname else []


def kubernetes_rules(documents):
    """Rules between keys, and between documents, which are not in any schema."""
    seen, every = set(), [(d, *pod) for d in documents for pod in pods(d)]
    labels = [pod[1] for pod in every]
    services = {d["metadata"]["name"]: d["spec"] for d in documents if d["kind"] == "Service"}
    own = {kind: {d["metadata"]["name"] for d in documents if d["kind"] == kind}
           for kind in ("ConfigMap", "PersistentVolumeClaim")}
    for document in documents:
        kind, name, spec = document["kind"], document["metadata"]["name"], document.get("spec", {})
        if (kind, name) in seen:
            yield f"{title(document)} stands twice"
        seen.add((kind, name))
        if len(name) > 63 or not re.fullmatch(r"[a-z]([a-z0-9-]*[a-z0-9])?" if kind == "Service" else
                                              r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?", name):
            yield f"{title(document)}: the name must be a DNS label: small letters, digits and '-', 63 at most"
        if kind in ("StatefulSet", "Deployment"):
            wanted = spec["selector"].get("matchLabels", {})
            if not wanted or not wanted.items() <= template_of(spec["template"])[0].items():
                yield f"{title(document)}: its selector does not match the labels of its own pods"
        if kind == "StatefulSet" and services.get(spec["serviceName"], {}).get("clusterIP") != "None":
            yield f"{title(document)}: serviceName {spec['serviceName']!r} is no headless Service of this file"
        if kind == "Service" and not matches(spec["selector"], labels) and not made_elsewhere(spec["selector"]):
            yield f"{title(document)}: no pod of this file has the labels {spec['selector']}"
        if kind in ("PodDisruptionBudget", "NetworkPolicy"):
            key = "selector" if kind == "PodDisruptionBudget" else "podSelector"
            wanted = spec[key].get("matchLabels", {})
            if wanted and not matches(wanted, labels) and not made_elsewhere(wanted):
                yield f"{title(document)}: no pod of this file has the labels {wanted}"
        if kind == "PodDisruptionBudget" and "maxUnavailable" in spec:
            wanted = spec["selector"].get("matchLabels", {})
            if any(d["kind"] in ("Job", "JobSet", "TFJob") and wanted.items() <= have.items() for d, have, *_ in every):
                yield f"{title(document)}: of a Job's pods Kubernetes knows minAvailable only"
        jobs = {"Job": [spec], "JobSet": [j["template"]["spec"] for j in spec.get("replicatedJobs", [])]}
        for job in jobs.get(kind, []):
            yield from (f"{title(document)}: {problem}" for problem in job_rules(job))
    for document, _, pod, name, _ in every:
        yield from (f"{title(document)}: {problem}" for problem in pod_rules(pod, own))
        subdomain = pod.get("subdomain")
        if document["kind"] in ("Job", "Pod") and subdomain and services.get(subdomain, {}).get("clusterIP") != "None":
            yield f"{title(document)}: subdomain {subdomain!r} is no headless Service of this file"


def matches(wanted, labels):
    return any(wanted.items() <= have.items() for have in labels)


def made_elsewhere(wanted):
    """Labels that a controller gives to pods."""
    controllers = ("jobset.sigs.k8s.io/", "training.kubeflow.org/", "batch.kubernetes.io/")
    return any(key.startswith(controllers) for key in wanted)


def job_rules(spec):
    pod = spec["template"]["spec"]
    if pod.get("restartPolicy") not in ("Never", "OnFailure"):
        yield "restartPolicy of a Job's pods must be Never or OnFailure"
    if "podFailurePolicy" in spec and pod.get("restartPolicy") != "Never":
        yield "with podFailurePolicy, restartPolicy must be Never"
    if spec.get("completionMode") != "Indexed":
        for key in ("backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"):
            if key in spec:
                yield f"{key} is for completionMode Indexed only"
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
            yield "a rule of podFailurePolicy has either onExitCodes or onPodConditions"
        values = codes["values"] if codes else []
        if values != sorted(set(values)) or values and codes["operator"] == "In" and 0 in values:
            yield "exit codes of podFailurePolicy must be in order, each once, and without 0"
        if codes and codes.get("containerName", next(iter(containers))) not in containers:
            yield f"podFailurePolicy names no container: {codes['containerName']}"


def pod_rules(pod, own):
    volumes = {}
    for volume in pod.get("volumes", []):
        if len(volume) != 2:
            yield f"volume {volume['name']!r} must have one source"
        if volume["name"] in volumes:
            yield f"volume {volume['name']!r} stands twice"
        volumes[volume["name"]] = volume
    names, ports, used = set(), set(), set()
    for container in [*pod.get("initContainers", []), *pod["containers"]]:
        if container["name"] in names:
            yield f"container {container['name']!r} stands twice"
        names.add(container["name"])
        mounts, variables = [m["mountPath"] for m in container.get("volumeMounts", [])], \
            [v["name"] for v in container.get("env", [])]
        for path in mounts:
            if not path.startswith("/") or mounts.count(path) > 1 or ":" in path:
                yield f"mountPath {path!r} must be absolute, without ':', and stand once"
        for variable in variables:
            if not re.fullmatch(r"[-._a-zA-Z][-._a-zA-Z0-9]*", variable) or variables.count(variable) > 1:
                yield f"variable {variable!r} must be a name and stand once"
        for mount in container.get("volumeMounts", []):
            used.add(mount["name"])
            if mount["name"] not in volumes:
                yield f"container {container['name']!r} mounts {mount['name']!r}, which is no volume"
        for port in container.get("ports", []):
            if "name" in port and not re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,13}[a-z0-9])?", port["name"]):
                yield f"port {port['name']!r} must have a name of 15 small letters, digits and '-' at most"
            if not 1 <= port["containerPort"] <= 65535:
                yield f"port {port['containerPort']} must be from 1 to 65535"
            ports |= {port.get("name"), port["containerPort"]}
        for key in ("startupProbe", "readinessProbe", "livenessProbe"):
            target = container.get(key, {}).get("tcpSocket", container.get(key, {}).get("httpGet", {})).get("port")
            if isinstance(target, str) and target not in ports:
                yield f"{key} asks at port {target!r}, which no container has"
    for name in volumes.keys() - used:
        yield f"volume {name!r} is mounted nowhere"


def created_hosts(documents):
    """Names that pods of these documents are reached by, as they are seen from their own namespace: without what
    `seen_within` takes away."""
    names = set()
    services = {d["metadata"]["name"]: d["spec"] for d in documents if d["kind"] == "Service"}
    for document in documents:
        for labels, pod, _, hosts in pods(document):
            if document["kind"] == "JobSet":
                network = document["spec"].get("network", {})
                subdomain = network.get("subdomain", document["metadata"]["name"])
                serves = network.get("enableDNSHostnames", True)
            else:
                subdomain = document["spec"].get("serviceName") or pod.get("subdomain")
                selector = services.get(subdomain, {}).get("selector", {"": ""})
                serves = matches(selector, [labels])
            if subdomain and serves:
                names |= {f"{host}.{subdomain}" for host in hosts}
    return names


def seen_within(documents, host):
    """A name as it is seen from the namespace of these documents: without that, and what stands behind it."""
    for namespace in {d["metadata"].get("namespace", "default") for d in documents}:
        host = re.sub(rf"\.{re.escape(namespace)}(\.svc(\.[a-z0-9.-]+)?)?$", "", host)
    return host


def told_hosts(documents):
    """Values of DISTRIB_PS_HOSTS and DISTRIB_WORKER_HOSTS, and of the flags, wherever in the documents they stand."""
    found = []

    def look(value):
        if isinstance(value, dict):
            for key, inner in value.items():
                if key in ("DISTRIB_PS_HOSTS", "DISTRIB_WORKER_HOSTS") and isinstance(inner, str):
                    found.append((key, inner))
                look(inner)
            if value.get("name") in ("DISTRIB_PS_HOSTS", "DISTRIB_WORKER_HOSTS") and "value" in value:
                found.append((value["name"], value["value"]))
        elif isinstance(value, list):
            for inner in value:
                look(inner)
        elif isinstance(value, str):
            if flag := re.match(r"(?:--(ps|worker)_hosts|DISTRIB_(PS|WORKER)_HOSTS)=(.*)", value):
                found.append((f"DISTRIB_{(flag[1] or flag[2]).upper()}_HOSTS", flag[3]))

    look(documents)
    return found


def hosts_without_task(documents, created=None):
    kubernetes = created is None
    created = created_hosts(documents) if kubernetes else created
    found = []
    for variable, value in dict.fromkeys(told_hosts(documents)):
        for address in value.split(","):
            host, _, port = address.rpartition(":")
            if (seen_within(documents, host) if kubernetes else host) not in created:
                found.append(f"{variable} names {host or address!r}, but nothing here is reached by that name: "
                             f"{', '.join(sorted(created)) or 'there is none'}")
            elif not port.isdigit():
                found.append(f"{variable}: {address!r} has no port")
    return list(dict.fromkeys(found))


# --- Compose and Swarm ----------------------------------------------------------------------------------------------

SERVICE = set("""annotations attach blkio_config build cap_add cap_drop cgroup cgroup_parent command configs
    container_name cpu_count cpu_percent cpu_period cpu_quota cpu_rt_period cpu_rt_runtime cpu_shares cpus cpuset
    credential_spec depends_on deploy develop device_cgroup_rules devices dns dns_opt dns_search domainname entrypoint
    env_file environment expose extends external_links extra_hosts gpus group_add healthcheck hostname image init ipc
    isolation labels links logging mac_address mem_limit mem_reservation mem_swappiness memswap_limit network_mode
    networks oom_kill_disable oom_score_adj pid pids_limit platform ports post_start pre_stop privileged profiles
    pull_policy read_only restart runtime scale secrets security_opt shm_size stdin_open stop_grace_period stop_signal
    storage_opt sysctls tmpfs tty ulimits user userns_mode uts volumes volumes_from working_dir""".split())
TOP = {"version", "name", "services", "networks", "volumes", "configs", "secrets", "include"}
DEPLOY = {"mode", "replicas", "endpoint_mode", "placement", "resources", "restart_policy", "update_config",
          "rollback_config", "labels", "max_replicas_per_node"}
# `docker stack deploy` refuses these or passes over them.
NOT_IN_STACKS = {"container_name", "depends_on", "build", "links", "restart", "network_mode", "external_links",
                 "cgroup_parent", "devices", "security_opt", "userns_mode", "profiles"}


def check_compose(document):
    stack = any(isinstance(service, dict) and "endpoint_mode" in (service.get("deploy") or {})
                for service in document["services"].values())
    found = list(compose_rules(document, stack))
    if not found:
        found = hosts_without_task(document, compose_hosts(document))
    return found, f"{len(document['services'])} services of {'a stack for Swarm' if stack else 'Compose'}, by own rules"


def compose_rules(document, stack):
    for key in document:
        if key not in TOP and not key.startswith("x-"):
            yield f"unknown key {key!r}"
    containers = set()
    for name, service in document["services"].items():
        where = f"services.{name}"
        if not isinstance(service, dict):
            yield f"{where}: not a mapping"
            continue
        for key in service:
            if key not in SERVICE and not key.startswith("x-"):
                yield f"{where}: unknown key {key!r}"
            if stack and key in NOT_IN_STACKS:
                yield f"{where}: {key!r} has no place in a stack"
        if "image" not in service and "build" not in service:
            yield f"{where}: neither image nor build"
        if not re.fullmatch(r"[a-zA-Z0-9._-]+", str(name)):
            yield f"{where}: the name has other characters than letters, digits, '.', '_' and '-'"
        for key in service.get("deploy") or {}:
            if key not in DEPLOY:
                yield f"{where}.deploy: unknown key {key!r}"
        if stack and (service.get("deploy") or {}).get("endpoint_mode") != "dnsrr" and service.get("ports") is None:
            yield f"{where}: without endpoint_mode dnsrr its name leads to a virtual address"
        yield from compose_environment(where, service.get("environment"))
        for other in service.get("depends_on") or []:
            if other not in document["services"]:
                yield f"{where}: depends_on {other!r}, which is no service"
        for kind in ("networks", "configs", "secrets"):
            for entry in service.get(kind) or []:
                used = entry.get("source") if isinstance(entry, dict) else entry
                if used not in (document.get(kind) or {}) and (kind, used) != ("networks", "default"):
                    yield f"{where}: {kind} has no {used!r} at the top"
        for entry in service.get("volumes") or []:
            used = entry.get("source", "/") if isinstance(entry, dict) else entry.partition(":")[0]
            bind = isinstance(entry, dict) and entry.get("type") != "volume" or used.startswith(("/", ".", "~", "$"))
            if not bind and used not in (document.get("volumes") or {}):
                yield f"{where}: volumes has no {used!r} at the top"
        if (container := service.get("container_name")) in containers:
            yield f"{where}: container_name {container!r} stands twice"
        containers |= {service.get("container_name")} - {None}


def compose_environment(where, environment):
    if isinstance(environment, list):
        for entry in environment:
            if not isinstance(entry, str):
                yield f"{where}.environment: {entry!r} is no text"
    for key, value in environment.items() if isinstance(environment, dict) else ():
        if isinstance(value, (bool, list, dict)):
            yield f"{where}.environment.{key}: {value!r} must be text"


def compose_hosts(document):
    names = set()
    for name, service in document["services"].items():
        names |= {name, f"tasks.{name}", service.get("container_name")}
        networks = service.get("networks")
        for network in networks.values() if isinstance(networks, dict) else ():
            names |= set((network or {}).get("aliases", []))
        hostname = service.get("hostname")
        if hostname:
            replicas = (service.get("deploy") or {}).get("replicas", 1)
            names |= {re.sub(r"\{\{ *\.Task\.Slot *\}\}", str(i + 1), hostname) for i in range(replicas)}
    return names - {None}


# --- Marathon -------------------------------------------------------------------------------------------------------

def marathon_apps(group, parent=""):
    """(absolute id, app) of a group and of those in it."""
    base = group["id"] if group["id"].startswith("/") else f"{parent}/{group['id']}"
    for app in group.get("apps", []):
        yield (app["id"] if app["id"].startswith("/") else f"{base}/{app['id']}"), app
    for inner in group.get("groups", []):
        yield from marathon_apps(inner, base)


def mesos_dns_name(app_id, domain="marathon.mesos"):
    return "-".join(reversed(app_id.strip("/").split("/"))) + "." + domain


def check_marathon(group):
    apps = list(marathon_apps(group))
    found = list(marathon_rules(apps))
    told = told_hosts(group)
    hosts = [address.rpartition(":")[0] for _, value in told for address in value.split(",")]
    domains = {host.partition(".")[2] for host in hosts} or {"marathon.mesos"}
    created = {mesos_dns_name(app_id, domain) for app_id, _ in apps for domain in domains}
    return found or hosts_without_task(group, created)


def marathon_rules(apps):
    ids = [app_id for app_id, _ in apps]
    ports = {}
    for app_id, app in apps:
        if ids.count(app_id) > 1:
            yield f"{app_id} stands twice"
        if not re.fullmatch(r"(/[a-z0-9]([a-z0-9.-]*[a-z0-9])?)+", app_id):
            yield f"{app_id}: an id has small letters, digits, '-' and '.' only, and neither begins nor ends with these"
        if ("cmd" in app) + ("args" in app) > 1 or ("cmd" not in app and "args" not in app and "container" not in app):
            yield f"{app_id}: either cmd or args, or a container that says what it runs"
        modes = [network["mode"] for network in app.get("networks", [])]
        if len(modes) > 1 and set(modes) != {"container"}:
            yield f"{app_id}: one network, unless all are of mode container"
        if "host" in modes and "portMappings" in app.get("container", {}):
            yield f"{app_id}: portMappings have no place with host networking; use portDefinitions"
        if "portDefinitions" in app and modes and "host" not in modes:
            yield f"{app_id}: portDefinitions are for host networking; use container.portMappings"
        defined = app.get("portDefinitions", app.get("container", {}).get("portMappings", []))
        for definition in app.get("portDefinitions", []):
            if definition.get("port") and not app.get("requirePorts"):
                yield f"{app_id}: port {definition['port']} is fixed only with requirePorts"
            ports.setdefault(definition.get("port"), []).append((app_id, app))
        for check in app.get("healthChecks", []):
            if check.get("portIndex", 0) >= len(defined) and "port" not in check and check["protocol"] != "COMMAND":
                yield f"{app_id}: a health check asks at port {check.get('portIndex', 0)}, of {len(defined)}"
