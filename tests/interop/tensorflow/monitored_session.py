#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program of TensorFlow 1 for a cluster that flags describe. docs/guide/sessions.md shows it beside
examples/34_session.cpp, and tensorflow_session.py runs both."""

import argparse

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)
parser = argparse.ArgumentParser()
for flag in ("job_name", "ps_hosts", "worker_hosts", "out"):
    parser.add_argument(f"--{flag}", required=True)
parser.add_argument("--task_index", type=int, required=True)
parser.add_argument("--steps", type=int, required=True)
flags = parser.parse_args()
ps_hosts, worker_hosts = flags.ps_hosts.split(","), flags.worker_hosts.split(",")
job_name, task_index, out = flags.job_name, flags.task_index, flags.out


def batches():
    at = np.arange(-1, 1, 1 / 64, dtype=np.float32)
    data = tf.data.Dataset.from_tensor_slices((at, 2 * at + 1)).shuffle(128, seed=task_index).repeat().batch(16)
    return tf.data.make_one_shot_iterator(data).get_next()


cluster = tf.train.ClusterSpec({"ps": ps_hosts, "worker": worker_hosts})
server = tf.train.Server(cluster, job_name=job_name, task_index=task_index)
if job_name == "ps":
    server.join()
with tf.device(tf.train.replica_device_setter(cluster=cluster, worker_device=f"/job:worker/task:{task_index}")):
    slope = tf.get_variable("slope", [], initializer=tf.zeros_initializer())
    offset = tf.get_variable("offset", [], initializer=tf.zeros_initializer())
    at, wanted = batches()
    loss = tf.reduce_mean((slope * at + offset - wanted) ** 2)
    step = tf.train.get_or_create_global_step()
    train_op = tf.train.GradientDescentOptimizer(0.2).minimize(loss, global_step=step)
hooks = [tf.train.StopAtStepHook(last_step=flags.steps)]
with tf.train.MonitoredTrainingSession(master=server.target, is_chief=task_index == 0, hooks=hooks,
                                       checkpoint_dir=out, save_checkpoint_steps=50) as session:
    while not session.should_stop():
        session.run(train_op)
