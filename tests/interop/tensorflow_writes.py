#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that a job begins with the values of checkpoints that TensorFlow writes here: name-based and object-based,
whole and in partitions, in one data file and in several.

usage: tensorflow_writes.py PROGRAMS

PROGRAMS: the folder of the built interop programs; `initial_values` and `read_checkpoint` are run.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow.python.distribute import sharded_variable

SEED = 20160401
v1 = tf.compat.v1


def same(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: found {str(found)[:300]}, expected {str(expected)[:300]}")


class Ours:
    def __init__(self, programs):
        self.programs = programs
        self.checked = 0

    def begins_with(self, prefix, values):
        """Checks that each of these variables (name -> value) begins with its value."""
        for name, value in values.items():
            command = [self.programs / "initial_values", prefix, name, *map(str, value.shape)]
            output = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
            same(f"{name} of {prefix}", output, value.tobytes())
            self.checked += 1

    def refuses(self, prefix, name, value, words):
        command = [self.programs / "initial_values", prefix, name, *map(str, value.shape)]
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        same(f"{name} of {prefix} is refused", (run.returncode, words in run.stderr), (1, True))

    def reads(self, prefix):
        """Returns name -> what this library reads of each tensor of a checkpoint."""
        output = subprocess.run([self.programs / "read_checkpoint", prefix], check=True, stdout=subprocess.PIPE,
                                text=True).stdout
        return {tensor.pop("name"): tensor for tensor in map(json.loads, output.splitlines())}


def numbers(chance, *shape):
    return chance.normal(size=shape).astype(np.float32)


def initial(value):
    def part(shape, dtype=None, partition_info=None):
        offset = partition_info.var_offset if partition_info else [0] * value.ndim
        return tf.constant(value[tuple(slice(start, start + size) for start, size in zip(offset, shape))], dtype)
    return part


def name_based(ours, directory, chance):
    values = {"hidden/weights": numbers(chance, 7, 5), "hidden/bias": numbers(chance, 5), "scalar": numbers(chance),
              "rows": numbers(chance, 11, 3), "columns": numbers(chance, 4, 9)}
    values["scalar"] = np.array(values["scalar"], np.float32)
    with tf.Graph().as_default(), v1.Session() as session:
        for name, value in values.items():
            cut = {"rows": v1.fixed_size_partitioner(3), "columns": v1.fixed_size_partitioner(2, axis=1)}.get(name)
            v1.get_variable(name, shape=value.shape, partitioner=cut, use_resource=True,
                            initializer=initial(value))
        session.run(v1.global_variables_initializer())
        for sharded in (False, True):
            saver = v1.train.Saver(sharded=sharded)
            prefix = saver.save(session, f"{directory}/named-{sharded}", global_step=3)
            ours.begins_with(prefix, values)

    # Several parts written separately and then merged, as parameter servers do: one data file for each, one index.
    parts = []
    for part, names in enumerate((["hidden/weights", "scalar"], ["hidden/bias", "rows"], ["columns"])):
        parts.append(f"{directory}/parts/part-{part}")
        tf.raw_ops.SaveV2(prefix=parts[-1], tensor_names=names, shape_and_slices=[""] * len(names),
                          tensors=[tf.constant(values[name]) for name in names])
    merged = f"{directory}/merged-1"
    tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=parts, destination_prefix=merged)
    same("data files", len(list(pathlib.Path(directory).glob("merged-1.data-*-of-00003"))), 3)
    ours.begins_with(merged, values)
    ours.refuses(merged, "rows", numbers(chance, 11, 4), "float32[11,3]")


def every_type(ours, directory, chance):
    types = [tf.float32, tf.float64, tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64,
             tf.bool, tf.bfloat16, tf.float16]
    values = {dtype.name: tf.cast(tf.constant(chance.integers(0, 50, (3, 4))), dtype) for dtype in types}
    texts = tf.constant([[b"", b"one"], [b"\0\xff", b"x" * 300]])
    many = {f"many/{i:05}": tf.constant([float(i)]) for i in range(9000)}  # so that the index has several blocks
    tensors = {**values, "texts": texts, **many}
    prefix = f"{directory}/types-1"
    tf.raw_ops.SaveV2(prefix=prefix, tensor_names=list(tensors), shape_and_slices=[""] * len(tensors),
                      tensors=list(tensors.values()))
    found = ours.reads(prefix)
    expected = {name: {"dtype": value.dtype.name, "shape": value.shape.as_list(),
                       "bytes": value.numpy().tobytes().hex()} for name, value in {**values, **many}.items()}
    expected["texts"] = {"dtype": "string", "shape": [2, 2], "texts": [text.hex() for text in texts.numpy().ravel()]}
    same("names", sorted(found), sorted(tensors))
    for name, tensor in expected.items():
        same(name, found[name], tensor)
    return len(found)


def object_based(ours, directory, chance):
    weights, bias, counter = numbers(chance, 6, 4), numbers(chance, 4), np.array(7, np.int64)
    module = tf.Module()
    module.layer = tf.Module()
    module.layer.w = tf.Variable(weights, name="hidden/weights")
    module.layer.b = tf.Variable(bias, name="hidden/bias")
    module.twins = [tf.Variable(bias, name="twin"), tf.Variable(2 * bias, name="twin")]
    module.table = sharded_variable.ShardedVariable(
        [tf.Variable(weights[:2], name="table/part_0"), tf.Variable(weights[2:], name="table/part_1")], name="table")
    prefix = tf.train.Checkpoint(model=module, step=tf.Variable(counter, name="global_step")).save(f"{directory}/ckpt")
    ours.begins_with(prefix, {"hidden/weights": weights, "hidden/bias": bias,  # full names
                              "model/layer/w": weights, "model/twins/1": 2 * bias,  # paths of objects
                              "model/table": weights})
    ours.refuses(prefix, "twin", bias, "model/twins/0/.ATTRIBUTES/VARIABLE_VALUE")
    several_paths(ours, directory, chance)

    # TensorFlow's own name-based Saver reads the same.
    with tf.Graph().as_default(), v1.Session() as session:
        v1.get_variable("hidden/weights", shape=weights.shape, use_resource=True)
        v1.train.Saver().restore(session, prefix)
        same("TensorFlow by full name", session.run(v1.global_variables()[0]).tobytes(), weights.tobytes())

    keras = tf.keras.Sequential([tf.keras.layers.Dense(3, name="first"), tf.keras.layers.Dense(2, name="second")])
    keras.build((None, 5))
    prefix = tf.train.Checkpoint(model=keras).save(f"{directory}/keras")
    paths = {name.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE"): tf.train.load_variable(prefix, name)
             for name, shape in tf.train.list_variables(prefix) if name.startswith("model/") and shape}
    same("variables of Keras", sorted(value.shape for value in paths.values() if value.dtype == np.float32),
         [(2,), (3,), (3, 2), (5, 3)])
    ours.begins_with(prefix, {name: value for name, value in paths.items() if value.dtype == np.float32})


def several_paths(ours, directory, chance):
    """Objects with several paths, in a circle, or with unusual names; and an iterator, which is not read."""
    first, second, third = numbers(chance, 3, 2), numbers(chance, 2), numbers(chance, 5)
    module = tf.Module()
    module.layer = tf.Module()
    module.alias = module.layer
    module.layer.w = tf.Variable(first)
    module.layer.up = module
    module.odd = {"a/b": tf.Variable(second), "v1.0": tf.Variable(third)}
    iterator = iter(tf.data.Dataset.range(20).shuffle(7))
    next(iterator)
    prefix = tf.train.Checkpoint(model=module, first=module.layer, iterator=iterator).save(f"{directory}/paths")
    keys = [name for name, shape in tf.train.list_variables(prefix) if shape == [3, 2]]
    same("an object is saved once", len(keys), 1)
    ours.begins_with(prefix, {"model/layer/w": first, "model/alias/w": first, "first/w": first,
                              "model/layer/up/alias/w": first, "first/up/layer/w": first,
                              "model/odd/a/b": second, "model/odd/a.Sb": second,
                              "model/odd/v1.0": third, "model/odd/v1..0": third})
    missing = numbers(chance, 3, 2)
    ours.refuses(prefix, "model/laier/w", missing, "it lacks model/laier/w (nearest: ")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    ours = Ours(pathlib.Path(sys.argv[1]))
    chance = np.random.default_rng(SEED)
    with tempfile.TemporaryDirectory(prefix="distrib-") as directory:
        name_based(ours, directory, chance)
        object_based(ours, directory, chance)
        listed = every_type(ours, directory, chance)
    print(f"a job begins with {ours.checked} variables that TensorFlow {tf.__version__} saved; "
          f"{listed} tensors of every type are read")


if __name__ == "__main__":
    main()
