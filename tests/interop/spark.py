#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Spark, with TensorFlow's formats for Hadoop, and this library read each other's directories: every type of column,
nulls, gzip and zlib, partitions with any character in their names, SequenceExamples. Also, a barrier job of two
parameter servers and two workers, started by examples/spark, must train the main job to the same bits as one process.

usage: spark.py PROGRAMS

PROGRAMS: the folder of the built interop programs; the examples are found from there. DISTRIB_SPARK_PYTHON: a Python
with pyspark and protobuf. DISTRIB_SPARK_JARS: the jars (tools/spark.sh).
"""

import base64
import json
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import time

PYTHON = os.environ["DISTRIB_SPARK_PYTHON"]
if pathlib.Path(sys.prefix) != pathlib.Path(PYTHON).parent.parent:
    os.execv(PYTHON, [PYTHON, "-B", *sys.argv])

os.environ |= {"PYSPARK_PYTHON": PYTHON, "PYSPARK_DRIVER_PYTHON": PYTHON, "SPARK_LOCAL_IP": "127.0.0.1"}
import pyspark  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
EXAMPLES = PROGRAMS.parents[1] / "examples"
INPUT = "org.tensorflow.hadoop.io.TFRecordFileInputFormat"
OUTPUT = "org.tensorflow.hadoop.io.TFRecordFileOutputFormat"
BYTES, NOTHING = "org.apache.hadoop.io.BytesWritable", "org.apache.hadoop.io.NullWritable"
checked, began = 0, time.monotonic()


def say(what):
    print(f"{what}: {checked} checks so far, {time.monotonic() - began:.0f} s", flush=True)


def same(what, found, expected):
    global checked
    checked += 1
    if found != expected:
        for a, b in zip(found, expected):
            if a != b:
                sys.exit(f"{what}: found {str(a)[:600]}, expected {str(b)[:600]}")
        sys.exit(f"{what}: found {len(found)}, expected {len(expected)}: {str(found)[:300]} {str(expected)[:300]}")


def ours(*words):
    command = [str(PROGRAMS / "spark_rows"), *map(str, words)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()


def our_rows(table, path):
    return sorted(line(json.loads(row)) for row in ours("read", table, path))


# ---- rows as the canonical lines of tests/spark/canonical_rows.hpp ----

def float32(value):
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def canonical(value):
    if isinstance(value, (bytes, bytearray)):
        return "b64:" + base64.b64encode(value).decode()
    if isinstance(value, float):
        return f"{float32(value):.9g}"
    return [canonical(v) for v in value] if isinstance(value, list) else value


def line(row):
    return json.dumps({k: canonical(v) for k, v in row.items()}, sort_keys=True, ensure_ascii=False,
                      separators=(",", ":"))


# ---- rows for Spark: their columns, and the kind of each in a record ----

KINDS = {"id": int, "i": int, "f": float, "d": float, "dec": float, "s": str, "b": bytes, "ai": int, "al": int,
         "af": float, "ad": float, "asx": str, "ab": bytes, "shard": int, "kind": str, "xs": int, "fs": float, "ts": str}
LISTS = {"ai", "al", "af", "ad", "asx", "ab"}
FEATURE_LISTS = {"xs", "fs", "ts"}


def everything(n):
    if n % 7 == 3:
        return {"id": n, **dict.fromkeys("i f d dec s b ai al af ad asx ab".split())}
    extremes = n % 7 == 5
    return {"id": n - 2**63 if extremes else n, "i": -2**31 if extremes else n * n, "f": math.nan if extremes else n / 7,
            "d": -math.inf if extremes else 1.0 + n / 3, "dec": float(n * 25), "s": "数据 😀 \"q\"\n" if extremes else f"row {n}",
            "b": bytes(range(n)), "ai": list(range(n % 4)), "al": [n << 40], "af": [n / 8, -0.0, 3.4028234663852886e38],
            "ad": [n / 9] * (n % 3), "asx": ["Zürich", ""][:n % 3], "ab": [bytes([n]), b""]}


STRANGE = ["plain", None, "a b/é=1", "100%", "x" * 40, "007", "%41", "..", "q\"'#*:?\\{}[]^|<>&;~`@!$(),+", "\t\n\x01\x1f\x7f"]


def partitioned(n):
    return {"id": n, "s": None if n % 5 == 0 else f"row {n}", "shard": n % len(STRANGE) % 3 - 1, "kind": STRANGE[n % len(STRANGE)]}


def sequence(n):
    if n == 3:
        return {"id": n, **dict.fromkeys("s af xs fs ts".split())}
    return {"id": n, "s": f"row {n}", "af": [n / 2] * (n % 3), "xs": [list(range(k)) for k in range(n % 4)],
            "fs": [[n / 3], []], "ts": [["a", "é"], [str(n)]]}


def messages(folder):
    """Returns the classes of our .proto files, made by Debian's protoc."""
    proto = ROOT / "include/distrib/message/proto"
    files = sorted(str(p.relative_to(proto)) for p in proto.rglob("*.proto") if p.stem == "example")
    subprocess.run(["protoc", f"-I{proto}", f"--python_out={folder}", *files], check=True)
    return folder


def encode(row, classes):
    sys.path.insert(0, classes)
    from distrib import example_pb2  # noqa: PLC0415
    lists = FEATURE_LISTS & row.keys()
    message = example_pb2.SequenceExample() if lists else example_pb2.Example()
    features = message.context.feature if lists else message.features.feature

    def fill(feature, kind, values):
        if kind is int:
            feature.int64_list.value[:] = values
            feature.int64_list.SetInParent()
        elif kind is float:
            feature.float_list.value[:] = [float32(v) for v in values]
            feature.float_list.SetInParent()
        else:
            feature.bytes_list.value[:] = [v.encode() if kind is str else v for v in values]
            feature.bytes_list.SetInParent()

    for name, value in row.items():
        if value is None:
            continue
        if name in FEATURE_LISTS:
            message.feature_lists.feature_list[name].SetInParent()
            for step in value:
                fill(message.feature_lists.feature_list[name].feature.add(), KINDS[name], step)
        else:
            fill(features[name], KINDS[name], value if name in LISTS else [value])
    return message.SerializeToString()


def decode(record, names, classes):
    sys.path.insert(0, classes)
    from distrib import example_pb2  # noqa: PLC0415
    lists = FEATURE_LISTS & set(names)
    message = (example_pb2.SequenceExample if lists else example_pb2.Example).FromString(bytes(record))
    features = message.context.feature if lists else message.features.feature

    def values(feature, kind):
        held = {int: feature.int64_list, float: feature.float_list}.get(kind, feature.bytes_list).value
        return [v.decode() if kind is str else v for v in held]

    def column(name):
        if name in FEATURE_LISTS:
            known = message.feature_lists.feature_list
            return [values(step, KINDS[name]) for step in known[name].feature] if name in known else None
        if name not in features:
            return None
        found = values(features[name], KINDS[name])
        return found if name in LISTS else found[0]

    return line({name: column(name) for name in names})


class Spark:
    def __init__(self, work):
        jars = ":".join(map(str, pathlib.Path(os.environ["DISTRIB_SPARK_JARS"]).glob("*.jar")))
        self.session = (SparkSession.builder.master("local[2]").config("spark.driver.extraClassPath", jars)
                        .config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false").config("spark.driver.bindAddress", "127.0.0.1")
                        .config("spark.driver.host", "127.0.0.1").config("spark.sql.shuffle.partitions", "2").getOrCreate())
        self.context = self.session.sparkContext
        self.context.setLogLevel("ERROR")
        self.classes = messages(tempfile.mkdtemp(dir=work))

    def write(self, rows, path, codec=None, parts=2):
        classes = self.classes
        conf = {}
        if codec:
            conf = {"mapreduce.output.fileoutputformat.compress": "true",
                    "mapreduce.output.fileoutputformat.compress.codec": f"org.apache.hadoop.io.compress.{codec}"}
        pairs = self.context.parallelize(rows, parts).map(lambda row: (bytearray(encode(row, classes)), None))
        pairs.saveAsNewAPIHadoopFile(str(path), OUTPUT, BYTES, NOTHING, conf=conf)

    def read(self, path, names):
        classes = self.classes
        where = {"mapreduce.input.fileinputformat.inputdir": str(path).replace(",", "\\,")}  # a list, with commas
        pairs = self.context.newAPIHadoopRDD(INPUT, BYTES, NOTHING, conf=where)
        return sorted(pairs.map(lambda pair: decode(pair[0], names, classes)).collect())


def both_ways(spark, work, table, rows):
    names = list(rows[0])
    expected = sorted(line(row) for row in rows)
    for codec, option in ((None, []), ("GzipCodec", ["gzip"]), ("DefaultCodec", ["zlib"])):
        theirs, mine = work / f"{table}-{codec}", work / f"{table}-{codec}-ours"
        spark.write(rows, theirs, codec)
        same(f"{table} {codec}: our rows", our_rows(table, theirs), expected)
        ours("write", table, theirs, mine, *option, "rows_per_file=5")
        same(f"{table} {codec}: Spark's rows", spark.read(mine, names), expected)
        same(f"{table} {codec}: our rows again", our_rows(table, mine), expected)
    ours("write", table, theirs, theirs, "overwrite")  # overwrites its own input, which is read to the end before
    same(f"{table}: Spark's rows of what was overwritten", spark.read(theirs, names), expected)
    ours("write", table, mine, theirs, "append", "gzip")
    same(f"{table}: Spark's rows of both", spark.read(theirs, names), sorted(expected * 2))
    ours("write", table, mine, theirs, "ignore")
    same(f"{table}: Spark's rows of both", spark.read(theirs, names), sorted(expected * 2))
    refused = subprocess.run([PROGRAMS / "spark_rows", "write", table, mine, theirs], stderr=subprocess.PIPE, check=False)
    same("a path that exists", (refused.returncode, b"already exists" in refused.stderr), (1, True))


def partitions(spark, work):
    """Spark chooses the names of partition directories, and infers the columns of ours."""
    rows = [partitioned(n) for n in range(40)]
    expected = sorted(line(row) for row in rows)
    frame = spark.session.createDataFrame([(r["shard"], r["kind"], str(r["id"])) for r in rows], "shard int, kind string, id string")
    frame.write.partitionBy("shard", "kind").text(str(work / "named"))
    named = sorted(str(p.relative_to(work / "named")) for p in (work / "named").glob("*/*"))
    for directory in named:  # the records, in directories with the names that Spark chose
        ids = {int(i) for part in (work / "named" / directory).glob("part-*") for i in part.read_text().split()}
        spark.write([{"id": r["id"], "s": r["s"]} for r in rows if r["id"] in ids], work / "theirs" / directory, parts=1)
    same("partitions: our rows of Spark's", our_rows("partitioned", work / "theirs"), expected)
    same("partitions: columns", ours("columns", "partitioned", work / "theirs"), ["id Long", "s String?", "shard Integer", "kind String?"])

    ours("write", "partitioned", work / "theirs", work / "mine", "by=shard", "by=kind", "gzip")
    same("partitions: directories", sorted(str(p.relative_to(work / "mine")) for p in (work / "mine").glob("*/*")), named)
    files = spark.session.read.format("binaryFile").load(str(work / "mine"))
    same("partitions: Spark's types of ours", [files.schema["shard"].dataType.simpleString(), files.schema["kind"].dataType.simpleString()],
         ["int", "string"])
    # One file for each of these values, and its path for Spark, which is percent-encoded once more as a URI.
    found = []
    for file in files.select("path", "shard", "kind").collect():
        path = pathlib.Path(*pathlib.PosixPath(file.path.removeprefix("file:")).parts)
        for text in spark.read(path, ["id", "s"]):
            found.append(line({**json.loads(text), "shard": file.shard, "kind": file.kind}))
    same("partitions: Spark's rows of ours", sorted(found), expected)


def barrier(spark, work):
    """Trains the main job in one process, and as a barrier job on four executors."""
    spark.session.stop()
    records = work / "records"
    raw = os.environ.get("FASHION_MNIST_DIR", "/usr/share/datasets/fashion-mnist")
    subprocess.run([EXAMPLES / "fashion_mnist_convert", raw, records], check=True, stdout=subprocess.DEVNULL)
    program = [str(EXAMPLES / "fashion_mnist_train"), f"--data={records}", "--steps=300", "--save_every=100"]

    def hash_of(name):
        return json.loads((work / name / "summary.json").read_text())["parameters_sha256"]

    subprocess.run([*program, f"--out={work}/alone", "--workers=2"], check=True, stdout=subprocess.DEVNULL)
    submit = pathlib.Path(pyspark.__file__).parent / "bin/spark-submit"
    conf = [f"--conf=spark.{c}" for c in ("ui.enabled=false", "driver.host=127.0.0.1", "executor.memory=512m")]

    def launch(*words):
        command = [submit, "--master=local-cluster[4,1,1024]", *conf, ROOT / "examples/spark/launch.py", *words]
        return subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=400)

    done = launch("--ps=2", "--workers=2", *program, f"--out={work}/spark")
    if done.returncode != 0:
        sys.exit(f"barrier job: exit code {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}")
    same("barrier job", done.stdout.split(), "ps0: exit code 0 ps1: exit code 0 worker0: exit code 0 worker1: exit code 0".split())
    same("parameters of the barrier job", hash_of("spark"), hash_of("alone"))

    failed = launch("--ps=1", "--workers=1", "sh", "-c",
                    """case $TF_CONFIG in *'"type": "ps"'*) exec sleep 600 ;; *) exit 3 ;; esac""")
    same("a worker that fails", (failed.returncode, failed.stdout.split("\n")[:2]), (3, ["ps0: ended", "worker0: exit code 3"]))


def main():
    with tempfile.TemporaryDirectory(prefix="distrib-spark-") as name:
        work = pathlib.Path(name)
        spark = Spark(work)
        both_ways(spark, work, "everything", [everything(n) for n in range(24)])
        both_ways(spark, work, "sequence", [sequence(n) for n in range(12)])
        say("rows")
        partitions(spark, work)
        say("partitions")
        barrier(spark, work)
        say("barrier jobs")


if __name__ == "__main__":
    main()
