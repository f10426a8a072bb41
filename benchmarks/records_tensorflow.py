# SPDX-License-Identifier: Apache-2.0
"""records_tensorflow.py BUILD FASHION_MNIST: compares reading, parsing and writing records with TensorFlow, each on one
core. Prints lines of results.jsonl. Needs a Python that has TensorFlow. Passes of ours and of theirs over the same file
alternate; seconds are CPU time of the whole process, and the best pass of each counts. Start-up and the first pass do
not count."""
import os

CPU = min(os.sched_getaffinity(0))
os.sched_setaffinity(0, {CPU})  # before TensorFlow decides how many threads it uses
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["TF_NUM_INTRAOP_THREADS"] = os.environ["TF_NUM_INTEROP_THREADS"] = "1"

import pathlib
import subprocess
import sys
import tempfile
import time

import tensorflow as tf

from result import result

ROUNDS = 7
KIB = 1 << 10


def one_thread(dataset):
    options = tf.data.Options()
    options.threading.private_threadpool_size = 1
    options.threading.max_intra_op_parallelism = 1
    return dataset.with_options(options)


def consume(dataset):
    for _ in one_thread(dataset):
        pass


def read(path):
    consume(tf.data.TFRecordDataset(path).batch(1024))


NAMES = [f"I{i}" for i in range(1, 14)] + [f"C{i}" for i in range(1, 27)] + ["label"]
CLICK = {name: tf.io.FixedLenFeature([], tf.float32 if name[0] == "I" else tf.int64) for name in NAMES}


def clicks(path):
    consume(tf.data.TFRecordDataset(path).batch(1024).map(lambda records: tf.io.parse_example(records, CLICK)))


PICTURE = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}


def pictures(path):
    def convert(records):
        parsed = tf.io.parse_example(records, PICTURE)
        return tf.cast(tf.io.decode_raw(parsed["image"], tf.uint8), tf.float32) / 255.0, parsed["label"]

    consume(tf.data.TFRecordDataset(path).batch(64).map(convert))


def write(path, size, records):
    payload = bytes([7]) * size
    with tf.io.TFRecordWriter(path) as writer:
        for _ in range(records):
            writer.write(payload)


class Peer:
    """A process that makes passes of ours, one for each request."""

    def __init__(self, program, what, path, size, records):
        self.process = subprocess.Popen([program, what, path, str(size), str(records), "-"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def seconds(self):
        self.process.stdin.write("x")
        self.process.stdin.flush()
        return float(self.process.stdout.readline().split()[0])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def compare(program, what, theirs, path, size, records):
    """Returns (our seconds, their seconds) of one pass."""
    peer = Peer(program, what, path, size, records)
    theirs()
    ours_best, theirs_best = [], []
    for _ in range(ROUNDS):
        began = time.process_time()
        theirs()
        theirs_best.append(time.process_time() - began)
        ours_best += [peer.seconds() for _ in range(3)]
    peer.close()
    return min(ours_best), min(theirs_best)


def main():
    program = sys.argv[1] + "/benchmarks/benchmark_records_tensorflow_peer"
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    name = f"TensorFlow {tf.__version__}"
    with tempfile.TemporaryDirectory(prefix="distrib-", dir=sys.argv[1]) as directory:
        def make(kind, size, records):
            path = str(pathlib.Path(directory, f"{kind}-{size}"))
            subprocess.run([program, "make", path, str(size), str(records), kind], check=True)
            return path

        def report(title, seconds, records, target):
            ours, theirs = seconds
            print(result(title, records / ours / 1e6, records / theirs / 1e6, name, "M/s", target), flush=True)

        for size, title, records, target in ((100, "100 B", 600_000, 10), (KIB, "1 KiB", 100_000, 5),
                                             (16 * KIB, "16 KiB", 8_000, 2)):
            path = make("raw", size, records)
            report(f"tensorflow read {title}", compare(program, "read", lambda: read(path), path, size, records),
                   records, target)
            # Theirs is a loop in Python, as in all such programs; so there is no target.
            report(f"tensorflow write {title}",
                   compare(program, "write", lambda: write(path + ".theirs", size, records), path + ".ours", size,
                           records), records, None)
        records = 100_000
        path = make("clicks", 0, records)
        report("tensorflow parse_example, 40", compare(program, "clicks", lambda: clicks(path), path, 0, records),
               records, 3)
        records = 60_000
        path = str(pathlib.Path(directory, "pictures"))
        with open(path, "wb") as one:  # record files may be concatenated
            for part in sorted(pathlib.Path(sys.argv[2]).glob("train-*")):
                one.write(part.read_bytes())
        report("tensorflow Fashion-MNIST to floats", compare(program, "pictures", lambda: pictures(path), path, 0, records),
               records, 5)


main()
