# SPDX-License-Identifier: Apache-2.0
"""Rules for files of Compose, and for stacks of Swarm."""

import re

from render_hosts import hosts_without_task

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
# `docker stack deploy` refuses or ignores these.
NOT_IN_STACKS = {"container_name", "depends_on", "build", "links", "restart", "network_mode", "external_links",
                 "cgroup_parent", "devices", "security_opt", "userns_mode", "profiles"}


def check(document):
    stack = any(isinstance(service, dict) and "endpoint_mode" in (service.get("deploy") or {})
                for service in document["services"].values())
    found = list(compose_rules(document, stack))
    if not found:
        found = hosts_without_task(document, compose_hosts(document))
    return found, f"{len(document['services'])} services for {'a Swarm stack' if stack else 'Compose'}, by own rules"


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
                yield f"{where}: {key!r} is not allowed in a stack"
        if "image" not in service and "build" not in service:
            yield f"{where}: image or build is missing"
        if not re.fullmatch(r"[a-zA-Z0-9._-]+", str(name)):
            yield f"{where}: the name may only have letters, digits, '.', '_' and '-'"
        if stack and (len(str(name)) > 61 or not re.fullmatch(r"[a-zA-Z0-9]([-_]*[a-zA-Z0-9])*", str(name))):
            yield (f"{where}: Swarm calls it STACK_{name}, at most 63 characters, and this name has {len(str(name))}; "
                   "it may have letters and digits, and '-' and '_' between them")
        for hostname in hostnames(service):
            if len(hostname) > 63:
                yield f"{where}: the hostname {hostname!r} has {len(hostname)} characters, at most 63 are allowed"
        for key in service.get("deploy") or {}:
            if key not in DEPLOY:
                yield f"{where}.deploy: unknown key {key!r}"
        if stack and (service.get("deploy") or {}).get("endpoint_mode") != "dnsrr" and service.get("ports") is None:
            yield f"{where}: set endpoint_mode dnsrr; otherwise the service's name leads to a virtual address"
        yield from compose_environment(where, service.get("environment"))
        for other in service.get("depends_on") or []:
            if other not in document["services"]:
                yield f"{where}: depends_on {other!r}, which is not a service of this file"
        for kind in ("networks", "configs", "secrets"):
            for entry in service.get(kind) or []:
                used = entry.get("source") if isinstance(entry, dict) else entry
                if used not in (document.get(kind) or {}) and (kind, used) != ("networks", "default"):
                    yield f"{where}: {used!r} is missing in {kind} at the top of the file"
        for entry in service.get("volumes") or []:
            used = entry.get("source", "/") if isinstance(entry, dict) else entry.partition(":")[0]
            bind = isinstance(entry, dict) and entry.get("type") != "volume" or used.startswith(("/", ".", "~", "$"))
            if not bind and used not in (document.get("volumes") or {}):
                yield f"{where}: {used!r} is missing in volumes at the top of the file"
        if (container := service.get("container_name")) in containers:
            yield f"{where}: container_name {container!r} occurs twice"
        containers |= {service.get("container_name")} - {None}


def compose_environment(where, environment):
    if isinstance(environment, list):
        for entry in environment:
            if not isinstance(entry, str):
                yield f"{where}.environment: {entry!r} is not a string"
    for key, value in environment.items() if isinstance(environment, dict) else ():
        if isinstance(value, (bool, list, dict)):
            yield f"{where}.environment.{key}: {value!r} must be a string"


def compose_hosts(document):
    names = set()
    for name, service in document["services"].items():
        names |= {name, f"tasks.{name}", service.get("container_name")}
        networks = service.get("networks")
        for network in networks.values() if isinstance(networks, dict) else ():
            names |= set((network or {}).get("aliases", []))
        names |= hostnames(service)
    return names - {None}


def hostnames(service):
    hostname, replicas = service.get("hostname", ""), (service.get("deploy") or {}).get("replicas", 1)
    return {re.sub(r"\{\{ *\.Task\.Slot *\}\}", str(i + 1), hostname) for i in range(replicas)} - {""}
