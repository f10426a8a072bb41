#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that this library reads the records, Examples and SequenceExamples that TensorFlow writes, and that its
parse_example makes the same tensors of random Examples as TensorFlow's, or fails where TensorFlow fails.

usage: tensorflow_records.py PROGRAMS

PROGRAMS: the folder of the built interop programs; the command `distrib` and the conformance program are found from
there.
"""

import base64
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np
import tensorflow as tf

CASES = 400
SEED = 20160401


def same(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: found {str(found)[:600]}, expected {str(expected)[:600]}")


def lines_of(*command):
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in output.splitlines()]


# ---- files ----

def int64s(values):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def floats(values):
    return tf.train.Feature(float_list=tf.train.FloatList(value=values))


def texts(values):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


def random_feature(chance, kind=None):
    count = chance.choice([0, 1, 1, 1, 2, 3, 7])
    kind = kind or chance.choice(["int64", "float32", "string"])
    if kind == "int64":
        return int64s([chance.choice([0, 1, -1, 127, 128, 2**63 - 1, -2**63, chance.getrandbits(40)])
                       for _ in range(count)])
    if kind == "float32":
        return floats([float(np.float32(chance.choice([0.0, -1.5, 3.25e-38, chance.random()]))) for _ in range(count)])
    return texts([chance.randbytes(chance.choice([0, 1, 5, 300])) for _ in range(count)])


def feature_json(feature):
    """Returns a feature as `distrib records cat` prints it."""
    kind = feature.WhichOneof("kind")
    if kind is None:
        return {}
    values = getattr(feature, kind).value
    if kind == "bytes_list":
        return {kind: [base64.b64encode(value).decode() for value in values]}
    return {kind: list(values)}


def example_json(features):
    return {name: feature_json(feature) for name, feature in sorted(features.items())}


def near(value):
    """Rounds floats to float32, so that their decimal texts do not matter."""
    if isinstance(value, dict):
        return {key: near(item) for key, item in value.items()}
    if isinstance(value, list):
        return [near(item) for item in value]
    return float(np.float32(value)) if isinstance(value, float) else value


def check_files(distrib, directory, chance):
    examples = []
    for _ in range(50):
        example = tf.train.Example()
        for name in chance.sample("abcdefgh", chance.randrange(8)):
            example.features.feature[name].CopyFrom(random_feature(chance))
        if chance.random() < 0.2:
            example.features.feature["kindless"].CopyFrom(tf.train.Feature())
        examples.append(example)
    payloads = [example.SerializeToString() for example in examples]
    expected = [{"feature": example_json(example.features.feature)} for example in examples]
    for compression in ("", "GZIP", "ZLIB"):
        path = str(directory / f"examples{compression}")
        with tf.io.TFRecordWriter(path, tf.io.TFRecordOptions(compression_type=compression)) as writer:
            for payload in payloads:
                writer.write(payload)
        counted = lines_of(distrib, "records", "check", "--json", path)[0]
        same(f"records of {path}", (counted["records"], counted["payload_bytes"], counted["damage"]),
             (len(payloads), sum(map(len, payloads)), []))
        same(f"Examples of {path}", near(lines_of(distrib, "records", "cat", path)), near(expected))

    # Two gzip files, one behind the other, are a valid gzip file.
    joined = directory / "joined"
    joined.write_bytes((directory / "examplesGZIP").read_bytes() * 2)
    same("joined gzip members", near(lines_of(distrib, "records", "cat", joined)), near(expected * 2))

    sequences = []
    for _ in range(30):
        sequence = tf.train.SequenceExample()
        sequence.context.feature["id"].CopyFrom(int64s([chance.randrange(100)]))
        for name in chance.sample("xyz", chance.randrange(1, 4)):
            steps = sequence.feature_lists.feature_list[name]
            steps.feature.extend(random_feature(chance, "int64") for _ in range(chance.randrange(4)))
        sequences.append(sequence)
    path = str(directory / "sequences")
    with tf.io.TFRecordWriter(path) as writer:
        for sequence in sequences:
            writer.write(sequence.SerializeToString())
    same("SequenceExamples", lines_of(distrib, "records", "cat", path), [
        {"context": {"feature": example_json(sequence.context.feature)},
         "feature_lists": {"feature_list": {name: [feature_json(step) for step in steps.feature] for name, steps
                                            in sorted(sequence.feature_lists.feature_list.items())}}}
        for sequence in sequences])
    return 3 * len(payloads), len(sequences)


# ---- parse_example ----

def random_specs(chance):
    """Returns the specs as TensorFlow writes them and as the conformance program does."""
    theirs, ours = {}, {}
    for name in chance.sample("abcd", chance.randrange(1, 5)):
        dtype = chance.choice(["int64", "float32", "string"])
        tensor = tf.as_dtype(dtype)
        default = {"int64": -7, "float32": 0.5, "string": "none"}[dtype]
        form = chance.choice(["scalar", "default", "vector", "var", "sequence", "ragged", "uniform"])
        if form == "scalar":
            theirs[name], ours[name] = tf.io.FixedLenFeature([], tensor), ["FixedLen", [], dtype]
        elif form == "default":
            theirs[name], ours[name] = tf.io.FixedLenFeature([], tensor, default), ["FixedLen", [], dtype, default]
        elif form == "vector":
            theirs[name], ours[name] = tf.io.FixedLenFeature([2], tensor), ["FixedLen", [2], dtype]
        elif form == "var":
            theirs[name], ours[name] = tf.io.VarLenFeature(tensor), ["VarLen", dtype]
        elif form == "sequence":
            theirs[name] = tf.io.FixedLenSequenceFeature([], tensor, allow_missing=True, default_value=default)
            ours[name] = ["FixedLenSequence", [], dtype, True, default]
        elif form == "ragged":
            theirs[name], ours[name] = tf.io.RaggedFeature(tensor), ["Ragged", name, dtype, []]
        else:
            partition = tf.io.RaggedFeature.UniformRowLength(1)
            theirs[name] = tf.io.RaggedFeature(tensor, partitions=[partition])
            ours[name] = ["Ragged", name, dtype, [["UniformRowLength", 1]]]
    return theirs, ours, {name: spec[1] if spec[0] == "VarLen" else spec[2] for name, spec in ours.items()}


def plain(value):
    """Returns a tensor as lists, with strings as text."""
    if isinstance(value, bytes):
        return value.decode()
    return [plain(item) for item in value] if isinstance(value, list) else value


def tensor_json(tensor):
    if isinstance(tensor, tf.sparse.SparseTensor):
        return {"indices": tensor.indices.numpy().tolist(), "values": plain(tensor.values.numpy().tolist()),
                "dense_shape": tensor.dense_shape.numpy().tolist()}
    return plain(tensor.to_list() if isinstance(tensor, tf.RaggedTensor) else tensor.numpy().tolist())


def random_case(chance):
    theirs, ours, kinds = random_specs(chance)
    records = []
    for _ in range(chance.randrange(1, 5)):
        example = tf.train.Example()
        for name, kind in kinds.items():
            if chance.random() < 0.15:
                continue
            feature = random_feature(chance, kind if chance.random() < 0.97 else None)
            if feature.WhichOneof("kind") == "bytes_list":  # as text, because the answer is JSON
                feature = texts([chance.choice([b"", b"one", b"word"]) for _ in feature.bytes_list.value])
            spec = ours[name]
            if spec[0] == "FixedLen" and chance.random() < 0.9:  # mostly the required number of values
                count = 2 if spec[1] else 1
                feature = {"int64": int64s([5, -6]), "float32": floats([0.25, 8.0]),
                           "string": texts([b"x", b"y"])}[kind]
                values = getattr(feature, feature.WhichOneof("kind")).value
                del values[count:]
            example.features.feature[name].CopyFrom(feature)
        if chance.random() < 0.3:
            example.features.feature["other"].CopyFrom(random_feature(chance))
        records.append(example.SerializeToString())
    return theirs, ours, records


def check_parse_example(program, chance):
    questions, expected = [], []
    for number in range(CASES):
        theirs, ours, records = random_case(chance)
        try:
            parsed = tf.io.parse_example(records, theirs)
            expected.append({name: tensor_json(tensor) for name, tensor in parsed.items()})
        except tf.errors.InvalidArgumentError:
            expected.append({"error": "INVALID_ARGUMENT"})
        questions.append({"id": str(number), "group": "parse_example",
                          "input": {"examples": [record.hex() for record in records], "features": ours}})
    output = subprocess.run([program], input="".join(json.dumps(question) + "\n" for question in questions),
                            check=True, stdout=subprocess.PIPE, text=True).stdout
    for question, line, answer in zip(questions, output.splitlines(), expected, strict=True):
        same(f"case {question['id']} of seed {SEED}: {json.dumps(question['input'])}",
             near(json.loads(line)["output"]), near(answer))
    failures = sum("error" in answer for answer in expected)
    same("enough of the cases parse", failures < CASES * 2 // 3, True)
    return CASES - failures, failures


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    programs = pathlib.Path(sys.argv[1])
    chance = random.Random(SEED)
    with tempfile.TemporaryDirectory(prefix="distrib-") as directory:
        examples, sequences = check_files(programs / "../../tools/distrib", pathlib.Path(directory), chance)
    print(f"read what TensorFlow {tf.__version__} wrote: {examples} Examples, {sequences} SequenceExamples")
    good, refused = check_parse_example(programs / "../conformance/answer_lines", chance)
    print(f"parse_example: {good} times the same tensors, {refused} times refused by both")


if __name__ == "__main__":
    main()
