# SPDX-License-Identifier: Apache-2.0
"""Where the tasks of a cluster of TensorFlow listen, on this machine."""

import socket


def free_hosts(count):
    """Returns `count` hosts, "127.0.0.1:PORT", whose ports nobody listened on a moment ago."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    hosts = [f"127.0.0.1:{s.getsockname()[1]}" for s in sockets]
    for s in sockets:
        s.close()
    return hosts
