# SPDX-License-Identifier: Apache-2.0
"""A rule that no cluster manager checks: each address in DISTRIB_PS_HOSTS and DISTRIB_WORKER_HOSTS is the address of a
task in the file."""

import re


def told_hosts(documents):
    """The values of DISTRIB_PS_HOSTS and DISTRIB_WORKER_HOSTS, and of the flags, anywhere in the documents."""
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


def hosts_without_task(documents, created, seen=lambda host: host):
    """What is wrong with the lists of hosts: names that no task of the file has, and addresses without a port.
    `created`: the names of the tasks. `seen`: how a name looks from the file's own namespace."""
    found = []
    for variable, value in dict.fromkeys(told_hosts(documents)):
        for address in value.split(","):
            host, _, port = address.rpartition(":")
            if seen(host) not in created:
                found.append(f"{variable} names {host or address!r}, but no task of this file has that name; the tasks "
                             f"are: {', '.join(sorted(created)) or 'none'}")
            elif not port.isdigit():
                found.append(f"{variable}: {address!r} has no port")
    return list(dict.fromkeys(found + too_long(documents)))


def too_long(documents):
    """The longest name in each variable, if it is too long for DNS."""
    found = []
    for variable, value in dict.fromkeys(told_hosts(documents)):
        hosts = [address.rpartition(":")[0] for address in value.split(",")]
        host, label = max(hosts, key=len), max((part for host in hosts for part in host.split(".")), key=len)
        if len(host) > 253 or len(label) > 63:
            found.append(f"{variable} names {host}: a DNS name may have at most 253 characters, and this name has "
                         f"{len(host)}; between dots at most 63, and this name has {len(label)}")
    return found
