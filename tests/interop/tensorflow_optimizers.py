#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that each updater computes what TensorFlow's kernel computes from the same random gradients: 100 steps, dense
and of some rows.

usage: tensorflow_optimizers.py PROGRAMS

PROGRAMS: the folder of the built interop programs; `apply_updates` applies our updaters.
"""

import pathlib
import subprocess
import sys

import numpy as np
import tensorflow as tf

STEPS = 100
ROWS, DIM = 13, 5
SEED = 20160401
raw = tf.raw_ops


def scalar(value):
    return np.float32(value)


class Theirs:
    """A variable and its slots in TensorFlow, with the kernels of one optimizer."""

    def __init__(self, initial, slots, dense, sparse=None):
        self.variables = [tf.Variable(initial)] + [tf.Variable(np.full_like(initial, value)) for value in slots]
        self.dense, self.sparse = dense, sparse

    def apply(self, step, gradient, rows):
        handles = [variable.handle for variable in self.variables]
        if rows is None:
            self.dense(step, handles, gradient)
        elif self.sparse is None:  # every row changes; rows without a gradient as by a gradient of zeros
            whole = np.zeros((ROWS, DIM), np.float32)
            whole[rows] = gradient
            self.dense(step, handles, whole)
        else:
            self.sparse(step, handles, gradient, rows)

    def values(self):
        return [variable.numpy() for variable in self.variables]


class LazyAdam:
    """The formula of TensorFlow's contrib.opt.LazyAdamOptimizer, computed in double, because it has no kernel."""

    def __init__(self, initial, rate, beta1, beta2, epsilon):
        self.w = initial.astype(np.float64)
        self.m, self.v = np.zeros_like(self.w), np.zeros_like(self.w)
        self.rate, self.beta1, self.beta2, self.epsilon = rate, beta1, beta2, epsilon

    def apply(self, step, gradient, rows):
        at = slice(None) if rows is None else rows
        alpha = self.rate * np.sqrt(1 - self.beta2**step) / (1 - self.beta1**step)
        self.m[at] = self.beta1 * self.m[at] + (1 - self.beta1) * gradient
        self.v[at] = self.beta2 * self.v[at] + (1 - self.beta2) * np.square(gradient.astype(np.float64))
        self.w[at] -= alpha * self.m[at] / (np.sqrt(self.v[at]) + self.epsilon)

    def values(self):
        return [self.w, self.m, self.v]


class KerasAdamW:
    def __init__(self, initial, **settings):
        self.variable = tf.Variable(initial)
        self.optimizer = tf.keras.optimizers.AdamW(**settings)

    def apply(self, step, gradient, rows):
        whole = gradient
        if rows is not None:
            whole = np.zeros((ROWS, DIM), np.float32)
            whole[rows] = gradient
        self.optimizer.apply([tf.constant(whole)], [self.variable])

    def values(self):
        return [self.variable.numpy()]  # Keras does not expose its moments


def sgd(initial):
    def dense(_, handles, g):
        raw.ResourceApplyGradientDescent(var=handles[0], alpha=scalar(0.1), delta=g)

    def sparse(_, handles, g, rows):  # as the optimizer does
        raw.ResourceScatterSub(resource=handles[0], indices=rows, updates=scalar(0.1) * g)
    return Theirs(initial, [], dense, sparse)


def momentum(initial, nesterov):
    settings = {"lr": scalar(0.05), "momentum": scalar(0.9), "use_nesterov": nesterov}
    return Theirs(
        initial, [0],
        lambda _, h, g: raw.ResourceApplyMomentum(var=h[0], accum=h[1], grad=g, **settings),
        lambda _, h, g, rows: raw.ResourceSparseApplyMomentum(var=h[0], accum=h[1], grad=g, indices=rows, **settings))


def adagrad(initial):
    return Theirs(
        initial, [0.25],
        lambda _, h, g: raw.ResourceApplyAdagrad(var=h[0], accum=h[1], lr=scalar(0.1), grad=g),
        lambda _, h, g, rows: raw.ResourceSparseApplyAdagrad(var=h[0], accum=h[1], lr=scalar(0.1), grad=g,
                                                             indices=rows))


def rmsprop(initial):
    settings = {"lr": scalar(0.01), "rho": scalar(0.9), "momentum": scalar(0.5), "epsilon": scalar(1e-6)}
    return Theirs(
        initial, [1, 0],
        lambda _, h, g: raw.ResourceApplyRMSProp(var=h[0], ms=h[1], mom=h[2], grad=g, **settings),
        lambda _, h, g, rows: raw.ResourceSparseApplyRMSProp(var=h[0], ms=h[1], mom=h[2], grad=g, indices=rows,
                                                             **settings))


def centered(initial):
    settings = {"lr": scalar(0.01), "rho": scalar(0.9), "momentum": scalar(0.5), "epsilon": scalar(1e-3)}
    return Theirs(
        initial, [1, 0, 0],
        lambda _, h, g: raw.ResourceApplyCenteredRMSProp(var=h[0], ms=h[1], mg=h[2], mom=h[3], grad=g, **settings),
        lambda _, h, g, rows: raw.ResourceSparseApplyCenteredRMSProp(var=h[0], ms=h[1], mg=h[2], mom=h[3], grad=g,
                                                                     indices=rows, **settings))


ADAM = {"beta1": scalar(0.9), "beta2": scalar(0.99), "epsilon": scalar(1e-6)}


def adam(initial):
    def dense(step, h, g):
        raw.ResourceApplyAdam(var=h[0], m=h[1], v=h[2], beta1_power=scalar(0.9**step), beta2_power=scalar(0.99**step),
                              lr=scalar(0.01), grad=g, **ADAM)
    return Theirs(initial, [0, 0], dense)


def amsgrad(initial):
    def dense(step, h, g):
        raw.ResourceApplyAdamWithAmsgrad(var=h[0], m=h[1], v=h[2], vhat=h[3], beta1_power=scalar(0.9**step),
                                         beta2_power=scalar(0.99**step), lr=scalar(0.01), grad=g, **ADAM)
    return Theirs(initial, [0, 0, 0], dense)


def ftrl(initial, power):
    settings = {"lr": scalar(0.1), "l1": scalar(0.02), "l2": scalar(0.05), "l2_shrinkage": scalar(0.01),
                "lr_power": scalar(power)}
    return Theirs(
        initial, [0.25, 0],
        lambda _, h, g: raw.ResourceApplyFtrlV2(var=h[0], accum=h[1], linear=h[2], grad=g, **settings),
        lambda _, h, g, rows: raw.ResourceSparseApplyFtrlV2(var=h[0], accum=h[1], linear=h[2], grad=g, indices=rows,
                                                            **settings))


ADAM_TEXT = "learning_rate=0.01 beta1=0.9 beta2=0.99 epsilon=1e-06"
FTRL_TEXT = "initial_accumulator_value=0.25 l1=0.02 l2=0.05 l2_shrinkage=0.01"
UPDATERS = {
    "sgd learning_rate=0.1": sgd,
    "momentum learning_rate=0.05 momentum=0.9 use_nesterov=false": lambda w: momentum(w, False),
    "momentum learning_rate=0.05 momentum=0.9 use_nesterov=true": lambda w: momentum(w, True),
    "adagrad learning_rate=0.1 initial_accumulator_value=0.25": adagrad,
    "rmsprop learning_rate=0.01 decay=0.9 momentum=0.5 epsilon=1e-06": rmsprop,
    "centered_rmsprop learning_rate=0.01 decay=0.9 momentum=0.5 epsilon=0.001": centered,
    f"adam {ADAM_TEXT}": adam,
    f"lazy_adam {ADAM_TEXT}": lambda w: LazyAdam(w, 0.01, 0.9, 0.99, 1e-6),
    f"amsgrad {ADAM_TEXT}": amsgrad,
    f"adamw {ADAM_TEXT} weight_decay=0.1": lambda w: KerasAdamW(
        w, learning_rate=0.01, beta_1=0.9, beta_2=0.99, epsilon=1e-6, weight_decay=0.1),
    f"ftrl learning_rate=0.1 learning_rate_power=-0.5 {FTRL_TEXT}": lambda w: ftrl(w, -0.5),
    f"ftrl learning_rate=0.1 learning_rate_power=-0.25 {FTRL_TEXT}": lambda w: ftrl(w, -0.25),
}


def compare(program, text, make, is_sparse, chance):
    initial = chance.normal(size=(ROWS, DIM)).astype(np.float32)
    theirs = make(initial)
    question = initial.tobytes()
    for step in range(1, STEPS + 1):
        rows = None
        if is_sparse:
            rows = np.sort(chance.choice(ROWS, chance.integers(1, ROWS), replace=False)).astype(np.int32)
        gradient = chance.normal(size=(ROWS if rows is None else len(rows), DIM)).astype(np.float32)
        theirs.apply(step, gradient, rows)
        question += np.int32(-1 if rows is None else len(rows)).tobytes()
        question += b"" if rows is None else rows.tobytes()
        question += gradient.tobytes()
    output = subprocess.run([program, str(ROWS), str(DIM), *text.split()], input=question, check=True,
                            stdout=subprocess.PIPE).stdout
    ours = np.frombuffer(output, np.float32).reshape(-1, ROWS, DIM)
    expected = theirs.values()
    if len(ours) < len(expected):
        sys.exit(f"{text}: {len(ours)} blocks, not {len(expected)}")
    for index, (found, wanted) in enumerate(zip(ours, expected)):
        # An absolute error besides the relative one, because sums of numbers near 1 can be close to 0.
        if not np.allclose(found, wanted, rtol=1e-5, atol=2e-6):
            at = np.unravel_index(np.argmax(np.abs(found - wanted)), found.shape)
            kind = "rows" if is_sparse else "dense"
            sys.exit(f"{text}: {kind}, block {index} at {at}: {found[at]}, not {wanted[at]}")
        if np.allclose(found, initial):
            sys.exit(f"{text}: nothing was trained")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = pathlib.Path(sys.argv[1]) / "apply_updates"
    chance = np.random.default_rng(SEED)
    for text, make in UPDATERS.items():
        for is_sparse in (False, True):
            compare(program, text, make, is_sparse, chance)
    print(f"TensorFlow {tf.__version__}: {len(UPDATERS)} updaters agree, dense and of rows, after {STEPS} steps")


if __name__ == "__main__":
    main()
