# SPDX-License-Identifier: Apache-2.0
"""Rules for groups of Marathon 1.5."""

import re

from render_hosts import hosts_without_task, told_hosts


def marathon_apps(group, parent=""):
    """(absolute id, app) for each app of a group and of the groups inside it."""
    base = group["id"] if group["id"].startswith("/") else f"{parent}/{group['id']}"
    for app in group.get("apps", []):
        yield (app["id"] if app["id"].startswith("/") else f"{base}/{app['id']}"), app
    for inner in group.get("groups", []):
        yield from marathon_apps(inner, base)


def mesos_dns_name(app_id, domain="marathon.mesos"):
    return "-".join(reversed(app_id.strip("/").split("/"))) + "." + domain


def check(group):
    apps = list(marathon_apps(group))
    found = list(marathon_rules(apps))
    told = told_hosts(group)
    hosts = [address.rpartition(":")[0] for _, value in told for address in value.split(",")]
    domains = {host.partition(".")[2] for host in hosts} or {"marathon.mesos"}
    created = {mesos_dns_name(app_id, domain) for app_id, _ in apps for domain in domains}
    return found or hosts_without_task(group, created)


def marathon_rules(apps):
    ids = [app_id for app_id, _ in apps]
    longest_excess = max((len(mesos_dns_name(app_id, "")) - 1 for app_id in ids), default=0) - 63
    ports = {}
    for app_id, app in apps:
        if ids.count(app_id) > 1:
            yield f"{app_id} occurs twice"
        if not re.fullmatch(r"(/[a-z0-9]([a-z0-9.-]*[a-z0-9])?)+", app_id):
            yield f"{app_id}: an id has lower-case letters and digits, and '-' and '.' between them"
        label = mesos_dns_name(app_id, "")[:-1]
        if len(label) > 63:
            group = app_id.split("/")[1]
            yield (f"{app_id}: its name in Mesos-DNS, {label!r}, has {len(label)} characters, at most 63 are allowed: "
                   f"the first part of the id, `name`, may have at most {len(group) - longest_excess}")
        if ("cmd" in app) + ("args" in app) > 1 or ("cmd" not in app and "args" not in app and "container" not in app):
            yield f"{app_id}: write either cmd or args, or a container whose image names the program"
        modes = [network["mode"] for network in app.get("networks", [])]
        if len(modes) > 1 and set(modes) != {"container"}:
            yield f"{app_id}: only networks of mode container may be more than one"
        if "host" in modes and "portMappings" in app.get("container", {}):
            yield f"{app_id}: portMappings are not allowed with host networking; use portDefinitions"
        if "portDefinitions" in app and modes and "host" not in modes:
            yield f"{app_id}: portDefinitions are only allowed with host networking; use container.portMappings"
        defined = app.get("portDefinitions", app.get("container", {}).get("portMappings", []))
        for definition in app.get("portDefinitions", []):
            if definition.get("port") and not app.get("requirePorts"):
                yield f"{app_id}: port {definition['port']} is fixed only if requirePorts is set"
            ports.setdefault(definition.get("port"), []).append((app_id, app))
        for check in app.get("healthChecks", []):
            if check.get("portIndex", 0) >= len(defined) and "port" not in check and check["protocol"] != "COMMAND":
                yield f"{app_id}: a health check has portIndex {check.get('portIndex', 0)}; the app's ports: {len(defined)}"
