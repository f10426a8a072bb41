#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that TensorFlow and TensorBoard read what this library writes: checkpoints, records, Examples, events.

usage: tensorflow_reads.py PROGRAMS | RUN_DIRECTORY

PROGRAMS: the folder of the built interop programs; `write_files` first writes a new directory.
RUN_DIRECTORY: a directory that `write_files` has filled before, with expected.json.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import tensorflow as tf
from tensorboard.backend.event_processing import event_accumulator


def same(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: found {str(found)[:300]}, expected {str(expected)[:300]}")


def check_checkpoint(expected):
    directory = expected["directory"]
    prefix = f"{directory}/{expected['latest']}"
    same("latest_checkpoint", tf.train.latest_checkpoint(directory), prefix)
    state = tf.train.get_checkpoint_state(directory)
    same("newest path", state.model_checkpoint_path, prefix)
    for path in [*state.all_model_checkpoint_paths, expected["merged"]]:
        reader = tf.train.load_checkpoint(path)
        shapes = reader.get_variable_to_shape_map()
        dtypes = reader.get_variable_to_dtype_map()
        same("names", sorted(shapes), sorted(tensor["name"] for tensor in expected["tensors"]))
        for tensor in expected["tensors"]:
            name = tensor["name"]
            same(f"shape of {name}", list(shapes[name]), tensor["shape"])
            same(f"dtype of {name}", dtypes[name].name, tensor["dtype"])
            value = reader.get_tensor(name)
            if "texts" in tensor:
                found = [text.hex() for text in np.atleast_1d(np.asarray(value, dtype=object)).ravel()]
                same(f"texts of {name}", found, tensor["texts"])
            else:
                same(f"bytes of {name}", np.asarray(value).tobytes().hex(), tensor["bytes"])

    # A slice across the stored ones, as a restore into other partitions requests.
    whole = tf.train.load_checkpoint(prefix).get_tensor("tiles")
    part = tf.raw_ops.RestoreV2(prefix=prefix, tensor_names=["tiles"], shape_and_slices=["4 6 1,2:1,4"],
                                dtypes=[tf.bfloat16])[0].numpy()
    same("a slice across four", part.tobytes(), whole[1:3, 1:5].tobytes())
    return len(expected["tensors"])


def check_tables(expected):
    """Tables of a job on three shards: numbered keys are a partitioned variable; any keys are tensors of each shard."""
    reader = tf.train.load_checkpoint(expected["prefix"])
    same("numbered keys", reader.get_tensor("ids").tolist(), [[key, key + 1.0] for key in range(10)])
    same("their slot", reader.get_tensor("ids/Momentum").tolist(), [[-key, -key - 1.0] for key in range(10)])
    same("the middle of them", tf.raw_ops.RestoreV2(prefix=expected["prefix"], tensor_names=["ids"],
                                                    shape_and_slices=["10 2 3,4:0,2"], dtypes=[tf.float32])[0]
         .numpy().tolist(), [[key, key + 1.0] for key in range(3, 7)])
    found = []
    for shard in range(3):
        name = f"words/shard-{shard:05}-of-00003"
        keys = reader.get_tensor(f"{name}/keys").view(np.uint64)
        uses = reader.get_tensor(f"{name}/uses")
        same("frequencies and last uses", uses.tolist(), [[key % 100, 70] for key in keys.tolist()])
        with_row = [key for key in keys.tolist() if key % 4 != 0]
        same("keys with a row come first", keys.tolist()[:len(with_row)], with_row)
        rows = [[key % 1000 + i for i in range(3)] for key in with_row]
        same("rows of any keys", reader.get_tensor(f"{name}/values").tolist(), rows)
        same("their slot", (-reader.get_tensor(f"{name}/values/Momentum")).tolist(), rows)
        found += keys.tolist()
    same("all keys", sorted(found), expected["words"])
    return 10 + len(found)


def check_records(files):
    for expected in files:
        dataset = tf.data.TFRecordDataset(expected["file"], compression_type=expected["compression"])
        found = [payload.hex() for payload in dataset.as_numpy_iterator()]
        same(f"records of {expected['file']}", found, expected["payloads"])
    return len(files)


def check_examples(expected):
    features = {
        "image": tf.io.FixedLenFeature([], tf.string),
        "label": tf.io.FixedLenFeature([], tf.int64),
        "weights": tf.io.FixedLenFeature([2], tf.float32),
        "clicks": tf.io.RaggedFeature(tf.int64),
    }
    found = []
    for record in tf.data.TFRecordDataset(expected["file"]):
        row = tf.io.parse_single_example(record, features)
        found.append({"image": row["image"].numpy().hex(), "label": int(row["label"]),
                      "weights": row["weights"].numpy().tolist(), "clicks": row["clicks"].numpy().tolist()})
    same("Examples", found, expected["rows"])
    return len(found)


def check_sequences(expected):
    found = []
    for record in tf.data.TFRecordDataset(expected["file"]):
        context, lists, _ = tf.io.parse_sequence_example(
            [record], {"id": tf.io.FixedLenFeature([], tf.int64)}, {"steps": tf.io.RaggedFeature(tf.int64)})
        found.append({"id": int(context["id"][0]), "steps": lists["steps"][0].to_list()})
    same("SequenceExamples", found, expected["rows"])
    return len(found)


def scalars_of(directory):
    """Returns tag -> [(step, wall_time, value)], as TensorBoard's own reader reads them."""
    events = event_accumulator.EventAccumulator(directory, size_guidance={event_accumulator.TENSORS: 0})
    events.Reload()
    points = {tag: [(e.step, e.wall_time, e.value) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}
    for tag in events.Tags()["tensors"]:
        plugin = events.SummaryMetadata(tag).plugin_data.plugin_name
        same(f"plugin of {tag}", plugin, "scalars")
        points[tag] = [(e.step, e.wall_time, float(tf.make_ndarray(e.tensor_proto))) for e in events.Tensors(tag)]
    return points


def check_events(expected):
    wanted = {}
    for point in expected["points"]:
        wanted.setdefault(point["tag"], []).append((point["step"], point["wall_time"], point["value"]))
    found = scalars_of(expected["directory"])
    same("tags", sorted(found), sorted(wanted))
    for tag, points in wanted.items():
        same(f"steps and times of {tag}", [p[:2] for p in found[tag]], [p[:2] for p in points])
        same(f"values of {tag}", [np.float32(p[2]) for p in found[tag]], [np.float32(p[2]) for p in points])
    same("the old form", scalars_of(expected["directory"] + "/old"), {"loss": [(100, 1465000001.5, 0.25)]})
    return len(expected["points"])


def histogram_fields(histogram):
    return (histogram.min, histogram.max, histogram.num, histogram.sum, histogram.sum_squares,
            list(histogram.bucket_limit), list(histogram.bucket))


def check_kinds(expected):
    """Everything that is not a curve: histograms, texts, tensors, pictures, the graph, the session log."""
    summaries, graphs, logs = {}, [], []
    path, = pathlib.Path(expected["directory"]).iterdir()
    for event in tf.compat.v1.train.summary_iterator(str(path)):  # in the order in which they were written
        if event.HasField("graph_def"):
            graphs.append(tf.compat.v1.GraphDef.FromString(event.graph_def))
        if event.HasField("session_log"):
            logs.append((event.step, event.session_log.status, event.session_log.checkpoint_path))
        for value in event.summary.value:
            summaries[value.tag] = value
    same("session log", logs, [(9, tf.compat.v1.SessionLog.CHECKPOINT, "model.ckpt-9")])

    for tag, values in (("weights", np.frombuffer(bytes.fromhex(expected["values"]), np.float32)),
                        ("nothing", np.zeros(0, np.float32))):
        theirs = tf.compat.v1.Summary.FromString(tf.raw_ops.HistogramSummary(tag=tag, values=values).numpy())
        same(f"histogram {tag}", histogram_fields(summaries[tag].histo), histogram_fields(theirs.value[0].histo))

    events = event_accumulator.EventAccumulator(str(path), size_guidance={event_accumulator.TENSORS: 0})
    events.Reload()
    tags = events.Tags()
    same("tags", (sorted(tags["tensors"]), sorted(tags["histograms"]), sorted(tags["images"])),
         (["numbers", "remark"], ["nothing", "weights"], [f"image{channels}" for channels in range(1, 5)]))
    same("TensorBoard's histogram", (events.Histograms("weights")[0].step, events.Histograms("weights")[0]
                                     .histogram_value.num), (5, 408.0))
    same("plugin of the text", events.SummaryMetadata("remark").plugin_data.plugin_name, "text")
    remark, numbers = events.Tensors("remark")[0], tf.make_ndarray(events.Tensors("numbers")[0].tensor_proto)
    same("text", (remark.step, tf.make_ndarray(remark.tensor_proto).item()), (6, b"*more* of it"))
    same("tensor", (numbers.shape, numbers.tobytes().hex()), ((2, 3), expected["numbers"]))
    for channels, pixels in enumerate(expected["images"], 1):
        image = events.Images(f"image{channels}")[0]
        same("size of a picture", (image.step, image.width, image.height), (8, 11, 7))
        picture = tf.io.decode_png(image.encoded_image_string)
        same("pixels", (picture.shape.as_list(), picture.numpy().tobytes().hex()), ([7, 11, channels], pixels))

    same("graphs", len(graphs), 1)
    same("the graph in TensorBoard", [(node.name, node.op, node.device) for node in events.Graph().node],
         [(name, "VarHandleOp", device) for name, device, _, _ in expected["graph"]])
    graph = tf.Graph()
    with graph.as_default():
        tf.graph_util.import_graph_def(graphs[0], name="")
    found = []
    for operation in graph.get_operations():
        spec = tf.DeviceSpec.from_string(operation.device)
        shape = tf.TensorShape(operation.get_attr("shape")).as_list()
        found.append([operation.name, f"/job:{spec.job}/task:{spec.task}", operation.get_attr("dtype").name, shape])
    same("variables of the graph", found, expected["graph"])
    return len(summaries) + len(found)


def check(directory):
    expected = json.loads(pathlib.Path(directory, "expected.json").read_text())
    print(f"TensorFlow {tf.__version__} reads")
    print(f"  {check_checkpoint(expected['checkpoint'])} tensors of a checkpoint")
    print(f"  {check_tables(expected['tables'])} keys of tables")
    print(f"  {check_records(expected['records'])} files of records")
    print(f"  {check_examples(expected['examples'])} Examples")
    print(f"  {check_sequences(expected['sequences'])} SequenceExamples")
    print(f"TensorBoard reads\n  {check_events(expected['events'])} points of curves")
    print(f"  {check_kinds(expected['kinds'])} summaries of other kinds and variables of a graph")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    given = pathlib.Path(sys.argv[1])
    if (given / "expected.json").exists():
        check(given)
        return
    with tempfile.TemporaryDirectory(prefix="distrib-") as directory:
        subprocess.run([given / "write_files", directory], check=True)
        check(directory)


if __name__ == "__main__":
    main()
