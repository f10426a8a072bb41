# SPDX-License-Identifier: Apache-2.0
"""main_job_tensorflow_peer.py FORM RECORDS COUNTER [FLAGS]: one process of TensorFlow's side of main_job_tensorflow.py.
Trains until it is ended, and writes the number of steps done to the file COUNTER, an array of 64-bit numbers. FORM is
one of

  between-graph   a parameter server or a worker, as `distrib launch` starts them: tf.compat.v1 with
                  replica_device_setter; a worker writes its own steps to number task_index
  coordinator     the same for a ClusterCoordinator; --job_name=chief is the coordinator, and writes the steps of all
                  workers to number 0
  one-process     no cluster; writes its steps to number 0

Each form is the fastest variant that was found: resource variables; the images as batches of floats in memory, not
shuffled; with sessions one step in each run, as in all such programs, but with a plain session and a callable, which
feeds and fetches nothing; STEPS_A_CALL steps in each call of a tf.function."""
import glob
import mmap
import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf

tf1 = tf.compat.v1
PIXELS, HIDDEN, CLASSES, BATCH, RATE = 784, 128, 10, 64, 0.1
STEPS_A_CALL = 20  # unrolled: a tf.while_loop is much slower when its variables are elsewhere
IMAGE = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}
SHAPES = [("hidden/weights", [PIXELS, HIDDEN]), ("hidden/bias", [HIDDEN]),
          ("output/weights", [HIDDEN, CLASSES]), ("output/bias", [CLASSES])]


def batches(files):
    def convert(records):
        parsed = tf.io.parse_example(records, IMAGE)
        return tf.cast(tf.io.decode_raw(parsed["image"], tf.uint8), tf.float32) / 255.0, parsed["label"]

    return tf.data.TFRecordDataset(files).batch(BATCH, drop_remainder=True).map(convert)


def loss(images, labels, variables):
    hidden_weights, hidden_bias, output_weights, output_bias = variables
    logits = tf.nn.relu(images @ hidden_weights + hidden_bias) @ output_weights + output_bias
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def new_variables():
    return [tf.Variable(tf.random.normal(shape, stddev=0.05) if len(shape) == 2 else tf.zeros(shape), name=name)
            for name, shape in SHAPES]


def descend(images, labels, variables):
    """Does one step of gradient descent."""
    with tf.GradientTape() as tape:
        value = loss(images, labels, variables)
    for variable, gradient in zip(variables, tape.gradient(value, variables)):
        variable.assign_sub(RATE * gradient)


def between_graph(files, counter, flags):
    tf1.disable_eager_execution()
    job, task = flags["job_name"], int(flags["task_index"])
    cluster = tf.train.ClusterSpec({name: flags[name + "_hosts"].split(",") for name in ("ps", "worker")})
    config = tf1.ConfigProto()
    if job == "worker":
        config.device_filters.extend(["/job:ps", f"/job:worker/task:{task}"])
    server = tf1.train.Server(cluster, job_name=job, task_index=task, config=config)
    if job == "ps":
        server.join()
    here = f"/job:worker/task:{task}"
    with tf1.device(tf1.train.replica_device_setter(worker_device=here, cluster=cluster)):
        own = files[task::cluster.num_tasks("worker")]
        iterator = tf1.data.make_initializable_iterator(batches(own).cache().repeat())
        variables = [tf1.get_variable(name, shape, use_resource=True,
                                      initializer=tf1.random_normal_initializer(stddev=0.05)
                                      if len(shape) == 2 else tf1.zeros_initializer()) for name, shape in SHAPES]
        step = tf1.train.GradientDescentOptimizer(RATE).minimize(loss(*iterator.get_next(), variables))
        initialize, ready = tf1.global_variables_initializer(), tf1.report_uninitialized_variables()
    # As in MonitoredTrainingSession, but with a short wait: there a worker that starts before the chief waits 30 s.
    manager = tf1.train.SessionManager(ready_op=ready, recovery_wait_secs=0.2)
    if task == 0:
        session = manager.prepare_session(server.target, init_op=initialize, config=config)
    else:
        session = manager.wait_for_session(server.target, config=config)
    session.run(iterator.initializer)
    call = session.make_callable(step)
    while True:
        call()
        counter[task] += 1


def coordinator(files, counter, flags):
    cluster = tf.train.ClusterSpec({name: flags[name + "_hosts"].split(",") for name in ("ps", "worker")})
    if flags["job_name"] != "chief":
        tf.distribute.Server(cluster, job_name=flags["job_name"], task_index=int(flags["task_index"])).join()
    strategy = tf.distribute.ParameterServerStrategy(
        tf.distribute.cluster_resolver.SimpleClusterResolver(cluster, rpc_layer="grpc"))
    with strategy.scope():
        variables = new_variables()
        done = tf.Variable(0, dtype=tf.int64)
    schedule = tf.distribute.coordinator.ClusterCoordinator(strategy)

    @tf.function
    def steps(iterator):
        for _ in range(STEPS_A_CALL):
            descend(*next(iterator), variables)
        done.assign_add(STEPS_A_CALL)

    iterator = iter(schedule.create_per_worker_dataset(lambda: batches(files).cache().repeat()))
    for _ in range(10_000):  # more than can be done before this process is ended
        schedule.schedule(steps, args=(iterator,))
    while True:
        counter[0] = int(done.read_value())
        time.sleep(0.2)  # reads rarely, because each read is a call to a parameter server


def one_process(files, counter, _):
    images, labels = (tf.stack(column) for column in zip(*batches(files)))
    variables, at = new_variables(), tf.Variable(0)

    @tf.function
    def steps():
        for _ in range(STEPS_A_CALL):
            number = at.assign_add(1) % images.shape[0]
            descend(images[number], labels[number], variables)

    while True:
        steps()
        counter[0] += STEPS_A_CALL


def main():
    form, records, file = sys.argv[1:4]
    flags = dict(argument[2:].split("=", 1) for argument in sys.argv[4:])
    counter = memoryview(mmap.mmap(os.open(file, os.O_RDWR), os.path.getsize(file))).cast("Q")
    {"between-graph": between_graph, "coordinator": coordinator, "one-process": one_process}[form](
        sorted(glob.glob(f"{records}/train-*")), counter, flags)


main()
