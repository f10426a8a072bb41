#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program of this library as mapper and reducer of Hadoop Streaming, in Hadoop's local runner: TFRecords with
`-io rawbytes`, text with `-io typedbytes`. The results must equal those of a simple loop; TensorFlow reads them.

usage: hadoop_streaming.py PROGRAMS

PROGRAMS: the folder of the built interop programs.
"""

import collections
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import tensorflow as tf

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "hadoop"))
import mini_cluster  # noqa: E402


def same(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: found {str(found)[:600]}, expected {str(expected)[:600]}")


def stream(folder, source, target, program, *options):
    command = [*mini_cluster.JAVA, "-cp", mini_cluster.with_our_classes(),
               "org.apache.hadoop.streaming.HadoopStreaming", "-D", "mapreduce.framework.name=local",
               "-D", "fs.defaultFS=file:///", "-D", f"hadoop.tmp.dir={folder}/tmp", *options, "-numReduceTasks", "2",
               "-input", f"{folder}/{source}", "-output", f"{folder}/{target}", "-mapper", program, "-reducer", program]
    run = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    if run.returncode != 0:
        sys.exit(f"{target}: the job failed\n{run.stdout[-5000:]}")
    return run.stdout


def main():
    program = f"{pathlib.Path(sys.argv[1]).resolve()}/hadoop_streaming"
    chance = random.Random(7)
    words = [f"{chance.choice(['alpha', 'naïve', 'Zürich', '数据'])}{chance.randrange(50)}" for _ in range(150)]
    lines = [" ".join(chance.choices(words, k=chance.randrange(12))) for _ in range(3000)]
    counts = collections.Counter(word for line in lines for word in line.split())
    with tempfile.TemporaryDirectory() as folder:
        for name in ("records", "text"):
            pathlib.Path(folder, name).mkdir()
        with tf.io.TFRecordWriter(f"{folder}/records/lines.tfrecord") as writer:
            for line in lines:
                writer.write(line.encode())
        pathlib.Path(folder, "text", "lines.txt").write_text("".join(line + "\n" for line in lines))

        log = stream(folder, "records", "raw", f"{program} raw", "-io", "rawbytes", "-inputformat", "RecordInputV1",
                     "-outputformat", "org.tensorflow.hadoop.io.TFRecordFileOutputFormatV1")
        parts = sorted(str(path) for path in pathlib.Path(folder, "raw").glob("part-*"))
        same("parts", len(parts), 2)
        found = [record.numpy().decode() for record in tf.data.TFRecordDataset(parts)]
        same("counts over rawbytes", sorted(found), sorted(f"{word}\t{count}" for word, count in counts.items()))
        same("the counter", re.findall(r"^\s*words=(\d+)$", log, re.MULTILINE)[-1:], [str(sum(counts.values()))])
        print("rawbytes: records in, records out", flush=True)

        stream(folder, "text", "typed", f"{program} typed", "-io", "typedbytes")
        text = "".join(path.read_text() for path in sorted(pathlib.Path(folder, "typed").glob("part-*")))
        expected = sorted(f"{word}\t{count}" for word, count in counts.items())
        same("counts over typedbytes", sorted(text.splitlines()), expected)
        print("typedbytes: text in, text out", flush=True)


if __name__ == "__main__":
    main()
