#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program of TensorFlow 2 for a cluster that TF_CONFIG describes: that of its guide to parameter servers.
docs/guide/coordinator.md shows it beside examples/33_coordinator_train.cpp, and tensorflow_coordinator.py runs both."""

import itertools

import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
if resolver.task_type in ("worker", "ps"):
    tf.distribute.Server(resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id).join()

strategy = tf.distribute.ParameterServerStrategy(resolver)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
vocabulary = ["avenger", "ironman", "batman", "hulk", "spiderman", "kingkong", "wonder_woman"]
examples = list(itertools.combinations(vocabulary, 3))
labels = [["avenger" in names] for names in examples]

with strategy.scope():
    lookup = tf.keras.layers.StringLookup(vocabulary=vocabulary, mask_token=None)
    rows = tf.keras.layers.Input(shape=(3,), dtype=tf.int64)
    mean = tf.keras.layers.GlobalAveragePooling1D()(tf.keras.layers.Embedding(8, 16)(rows))
    model = tf.keras.Model(rows, tf.keras.layers.Dense(1, activation="sigmoid")(mean))
    optimizer = tf.keras.optimizers.RMSprop(learning_rate=0.1)
    optimizer.build(model.trainable_variables)


def dataset_fn(_):
    data = tf.data.Dataset.from_tensor_slices((examples, labels))
    return data.map(lambda names, label: (lookup(names), label)).shuffle(35).repeat().batch(32)


@tf.function
def per_worker_dataset_fn():
    return strategy.distribute_datasets_from_function(dataset_fn)


@tf.function
def train_step(iterator):
    def replica_fn(names, label):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.keras.losses.binary_crossentropy(label, model(names, training=True)))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    losses = strategy.run(replica_fn, args=next(iterator))
    return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)


iterator = iter(coordinator.create_per_worker_dataset(per_worker_dataset_fn))
for epoch in range(1, 5):
    for _ in range(50):
        loss = coordinator.schedule(train_step, args=(iterator,))
    coordinator.join()
    accuracy = tf.reduce_mean(tf.cast((model(lookup(examples)) > 0.5) == labels, tf.float32))
    print(f"epoch {epoch}: accuracy {accuracy:.2f}, loss {coordinator.fetch(loss):.2f}")
