# SPDX-License-Identifier: Apache-2.0
"""tensorflow_peer.py ROLE --server_port PORT --worker_port PORT [--OPTION VALUE]...: TensorFlow's parameter server and
its worker, with the roles, options and output of ../rpc/load.hpp that ../tables_tensorflow.py needs.

The server is a task of job "ps"; the worker puts a variable of TABLE_ROWS rows on it. A pull is tf.nn.embedding_lookup
on the server, whose rows are sent to the worker; a push is a scatter_sub of IndexedSlices. Each is the fastest variant
that was found: keys of 32 bits; keys and gradients as constants of the worker, so that nothing passes through Python;
--in_flight threads that each call a callable, which feeds and fetches nothing."""
import argparse
import ctypes
import itertools
import json
import os
import signal
import threading
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
PR_SET_PDEATHSIG = 1
TABLE_ROWS, ROW_FLOATS, REQUESTS = 1 << 20, 16, 64  # the same as in values.hpp
LEARNING_RATE = 1 / 1024
SERVER, WORKER = "/job:ps/task:0", "/job:worker/task:0"


def request_keys(keys):
    """Returns the keys of the requests, ascending in each. No row is in two requests."""
    order = np.random.default_rng(1).permutation(TABLE_ROWS)[:TABLE_ROWS // keys * keys]
    return np.sort(order.reshape(-1, keys))[:REQUESTS].astype(np.int32)


def task(options, job):
    cluster = tf.train.ClusterSpec({"ps": [f"127.0.0.1:{options.server_port}"],
                                    "worker": [f"127.0.0.1:{options.worker_port}"]})
    return tf1.train.Server(cluster, job_name=job, task_index=0)


def serve(options):
    server = task(options, "ps")
    print(json.dumps({"port": options.server_port, "pid": os.getpid()}), flush=True)
    server.join()


def calls(options):
    """Returns a callable for each request that pushes or pulls it once. Checks first that a push changes the rows."""
    requests = request_keys(options.keys)
    with tf1.device(SERVER):
        table = tf1.get_variable("rows", [TABLE_ROWS, ROW_FLOATS], use_resource=True,
                                 initializer=tf1.zeros_initializer())  # this writes all rows
    with tf1.device(WORKER):
        gradient = np.resize(0.5 + np.arange(512, dtype=np.float32) / 1024, (options.keys, ROW_FLOATS))
        updates = tf.constant(LEARNING_RATE * gradient)
        keys = [tf.constant(request) for request in requests]
        pulls = [tf.identity(tf.nn.embedding_lookup(table, request)) for request in keys]
        pushes = [table.scatter_sub(tf.IndexedSlices(updates, request)) for request in keys]
    session = tf1.Session(task(options, "worker").target)
    session.run(table.initializer)
    session.run(pushes[0].op)
    if np.abs(session.run(pulls[0]) + LEARNING_RATE * gradient).max() > 1e-6:
        raise SystemExit("error: rows have wrong values after a push")
    return [session.make_callable(one.op) for one in (pushes if options.method == "push" else pulls)]


def load(options):
    tf1.disable_eager_execution()
    turns = calls(options)
    for call in turns:  # the first call builds its graph
        call()
    counts = [0] * options.in_flight

    def loop(slot):
        for call in itertools.islice(itertools.cycle(turns), slot, None):
            call()
            counts[slot] += 1

    for slot in range(options.in_flight):
        threading.Thread(target=loop, args=(slot,), daemon=True).start()

    def now():
        return [time.monotonic(), sum(counts), time.process_time(), time.clock_gettime(~options.server << 3 | 2)]

    time.sleep(options.warm)
    begin = now()
    time.sleep(options.seconds)
    seconds, count, client_cpu, server_cpu = (end - at for end, at in zip(now(), begin))
    print(json.dumps({"calls": count, "seconds": seconds, "rate": count / seconds, "client_cpu": client_cpu,
                      "server_cpu": server_cpu}), flush=True)
    os._exit(0)


def main():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # the process ends with the script that started it
    parser = argparse.ArgumentParser()
    parser.add_argument("role", choices=["serve", "load"])
    parser.add_argument("--method", choices=["push", "pull"])
    for name in "server_port", "worker_port", "port", "server", "keys", "in_flight":
        parser.add_argument("--" + name, type=int)
    for name in "warm", "seconds":
        parser.add_argument("--" + name, type=float)
    options = parser.parse_args()
    {"serve": serve, "load": load}[options.role](options)


main()
