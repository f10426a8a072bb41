#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs programs of this library as tasks of Hadoop Pipes on a mini cluster: with Java's readers and writers and with
ours, TFRecords as input and output, divided files, killed tasks. The results must equal those of a simple loop, and
tensorflow-hadoop and TensorFlow must be able to read them.

usage: hadoop_pipes.py PROGRAMS

PROGRAMS: the folder of the built interop programs; the examples are found from there.
"""

import collections
import hashlib
import pathlib
import random
import subprocess
import sys
import tempfile

import tensorflow as tf

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "hadoop"))
import mini_cluster  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
OWN = ROOT / "examples/hadoop/own_records.xml"
BYTES = "org.apache.hadoop.io.BytesWritable"
ALL_BYTES = {f"mapreduce.{where}.{what}.class": BYTES
             for where in ("job.output", "map.output") for what in ("key", "value")}


def same(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: found {str(found)[:600]}, expected {str(expected)[:600]}")


def make_lines():
    chance = random.Random(20160401)
    words = [f"{chance.choice(['alpha', 'naïve', 'Zürich', '数据', 'w'])}{chance.randrange(200)}" for _ in range(700)]
    return [" ".join(chance.choices(words, k=chance.randrange(12))) for _ in range(20000)]


def records_of(directory):
    """Returns {file: its records} of the parts that the committer published, as TensorFlow reads them."""
    directory = pathlib.Path(directory)
    same(f"_SUCCESS in {directory.name}", (directory / "_SUCCESS").exists(), True)
    names = sorted(path.name for path in directory.iterdir() if not path.name.startswith((".", "_SUCCESS")))
    same(f"parts of {directory.name}", [name for name in names if not name.startswith("part-")], [])
    return {name: [record.numpy() for record in tf.data.TFRecordDataset(
        str(directory / name), compression_type="GZIP" if name.endswith(".gz") else "")] for name in names}


def check_upstream(cluster, directory, found):
    """Checks that tensorflow-hadoop reads the same."""
    code, output = cluster.java("ReadRecords", f"file:{directory}")
    same("ReadRecords", code, 0)
    lines = [line.split() for line in output.splitlines() if f"{directory}/part-" in line]
    read = {pathlib.Path(path).name: (int(count), digest) for path, count, digest in lines}
    expected = {name: (len(records), hashlib.sha256(b"".join(records)).hexdigest()) for name, records in found.items()}
    same("what tensorflow-hadoop reads", read, expected)


def run(cluster, what, *arguments, **options):
    job = cluster.pipes(*arguments, **options)
    if not job.succeeded:
        sys.exit(f"{what}: the job failed\n{job.log[-6000:]}\n{cluster.task_logs()}")
    print(f"{what}: {job.counter('Launched map tasks')} maps, {job.counter('Launched reduce tasks')} reduces, "
          f"{job.counter('Failed map tasks')} + {job.counter('Failed reduce tasks')} failed", flush=True)
    return job


def replay(program, folder):
    """Replays the conversations that a job has recorded, without Hadoop."""
    kept = sorted(pathlib.Path(folder, "data").glob("**/container_*/downlink.data"))
    same("conversations: 2 maps, 2 reduces", len(kept), 4)
    for path in kept:
        where = tempfile.mkdtemp(dir=folder)
        (pathlib.Path(where, "downlink.data")).write_bytes(path.read_bytes())
        environment = {"mapreduce.pipes.commandfile": "downlink.data",
                       "hadoop.pipes.shared.secret.location": str(path.parent / "jobTokenPassword")}
        subprocess.run([program], cwd=where, env=environment, check=True)
        answers = pathlib.Path(where, "downlink.data.out").read_bytes()
        same("authentication first, done last", (answers[0], answers[-1]), (57, 54))
    print(f"replay: {len(kept)} conversations", flush=True)


def main():
    programs = pathlib.Path(sys.argv[1]).resolve()
    examples = pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else programs.parents[1] / "examples"
    lines = make_lines()
    counts = collections.Counter(word for line in lines for word in line.split())
    as_records = {f"{word}\t{count}".encode() for word, count in counts.items()}

    with tempfile.TemporaryDirectory() as folder, mini_cluster.MiniCluster(folder) as cluster:
        for program in ["hadoop_text_to_records", "hadoop_records_to_text", "hadoop_word_count"]:
            cluster.put(f"/bin/{program}", (examples / program).read_bytes(), "755")
        cluster.put("/bin/hadoop_task", (programs / "hadoop_task").read_bytes(), "755")
        cluster.put("/text/lines.txt", "".join(line + "\n" for line in lines).encode())
        binary = lambda name: f"{cluster.hdfs}/bin/{name}"  # noqa: E731

        # Text to Examples: Java reads, this library writes. No reduces.
        run(cluster, "text to records", binary("hadoop_text_to_records"), "/text", f"file:{folder}/records",
            {"mapreduce.pipes.isjavarecordreader": "true", "mapreduce.job.reduces": 0}, conf=[OWN])
        found = records_of(f"{folder}/records")
        examples_read = [tf.train.Example.FromString(record) for records in found.values() for record in records]
        texts = {e.features.feature["offset"].int64_list.value[0]: e.features.feature["text"].bytes_list.value[0]
                 for e in examples_read}
        same("lines, by offset", [texts[at].decode() for at in sorted(texts)], lines)
        check_upstream(cluster, f"{folder}/records", found)

        # And back: this library reads, with more maps than files; Java writes.
        job = run(cluster, "records to text", binary("hadoop_records_to_text"), f"file:{folder}/records", "/again",
                  {"mapreduce.pipes.isjavarecordwriter": "true", "mapreduce.job.reduces": 0, "mapreduce.job.maps": 7,
                   "mapreduce.job.output.key.class": "org.apache.hadoop.io.NullWritable",
                   "mapreduce.job.output.value.class": "org.apache.hadoop.io.Text"}, conf=[OWN])
        same("more maps than files", job.counter("Launched map tasks") > len(found), True)
        again = b"".join(cluster.read(f"/again/{name}") for name in cluster.names("/again") if name.startswith("part-"))
        same("the text", sorted(again.decode().split("\n")[:-1]), sorted(lines))

        # Word count of the Examples: this library reads, combines, reduces and writes; two reduces, gzip.
        run(cluster, "word count", binary("hadoop_word_count"), f"file:{folder}/records", f"file:{folder}/counts",
            {"mapreduce.job.reduces": 2, "mapreduce.job.maps": 5, "mapreduce.output.fileoutputformat.compress": "true",
             "mapreduce.output.fileoutputformat.compress.codec": "org.apache.hadoop.io.compress.GzipCodec"}, conf=[OWN])
        found = records_of(f"{folder}/counts")
        same("two parts", sorted(found), ["part-r-00000.gz", "part-r-00001.gz"])
        of_examples = {}
        for records in found.values():
            for record in records:
                feature = tf.train.Example.FromString(record).features.feature
                of_examples[feature["word"].bytes_list.value[0].decode()] = feature["count"].int64_list.value[0]
        same("counts", of_examples, dict(counts))
        check_upstream(cluster, f"{folder}/counts", found)

        # Lines as records in HDFS, with our reader and writer over WebHDFS. One map and one reduce are killed half-way.
        plain = pathlib.Path(folder, "lines.tfrecord")
        with tf.io.TFRecordWriter(str(plain)) as writer:
            for line in lines:
                writer.write(line.encode())
        cluster.put("/plain/lines.tfrecord", plain.read_bytes())
        job = run(cluster, "killed and tried again", binary("hadoop_task"), "/plain", "/killed",
                  {"mapreduce.job.reduces": 2, "mapreduce.job.maps": 3, "test.die.map": 1, "test.die.reduce": 1},
                  conf=[OWN])
        found = records_of(cluster.copy("/killed", f"{folder}/killed"))
        same("attempts that failed", (job.counter("Failed map tasks"), job.counter("Failed reduce tasks")), (1, 1))
        same("records, counted by the tasks", job.counter("records"), len(lines))
        same("words, counted by the tasks", job.counter("words"), sum(counts.values()))
        everything = [record for records in found.values() for record in records]
        same("each once", len(everything), len(set(everything)))
        same("counts", set(everything), as_records)
        for part, records in enumerate(found.values()):
            same("our partition", {len(record.split(b"\t")[0]) % 2 for record in records}, {part})
        check_upstream(cluster, f"{folder}/killed", found)

        # Java reads and writes TFRecords, with upstream's classes.
        run(cluster, "Java's reader and writer", binary("hadoop_task"), "/plain", "/java",
            {"mapreduce.pipes.isjavarecordreader": "true", "mapreduce.pipes.isjavarecordwriter": "true",
             "mapred.input.format.class": "RecordInputV1", "mapreduce.job.reduces": 2,
             "mapred.output.format.class": "org.tensorflow.hadoop.io.TFRecordFileOutputFormatV1", **ALL_BYTES})
        found = records_of(cluster.copy("/java", f"{folder}/java"))
        same("counts", sorted(record for records in found.values() for record in records), sorted(as_records))

        # Java reads text and writes text.
        run(cluster, "Java's text", binary("hadoop_task"), "/text", "/words",
            {"mapreduce.pipes.isjavarecordreader": "true", "mapreduce.pipes.isjavarecordwriter": "true",
             "mapreduce.job.reduces": 2, "test.words.in": "value", "mapreduce.pipes.commandfile.preserve": "true"})
        text = b"".join(cluster.read(f"/words/{name}") for name in cluster.names("/words") if name.startswith("part-"))
        same("counts", sorted(text.split(b"\t\n")[:-1]), sorted(as_records))  # an empty value follows a tab
        replay(programs / "hadoop_task", folder)
    print("done")


if __name__ == "__main__":
    main()
