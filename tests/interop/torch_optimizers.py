#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that updaters and schedules compute what PyTorch's optimizers and schedulers compute: 100 steps, dense and of
some rows.

usage: torch_optimizers.py PROGRAMS
       torch_optimizers.py --record FILE

PROGRAMS: the folder of the built interop programs; `apply_updates` applies our updaters, `print_rates` prints rates.
--record: writes PyTorch's results to FILE instead. tests/optimizer/fixtures/torch.txt was made so; the tests of the
updaters compare with it without PyTorch.
"""

import pathlib
import subprocess
import sys

import numpy as np
import torch

STEPS = 100
RECORDED = (1, 10, STEPS)
ROWS, DIM = 5, 3
optim, schedulers = torch.optim, torch.optim.lr_scheduler
torch.sparse.check_sparse_tensor_invariants.enable()  # otherwise PyTorch warns that it does not


def numbers(size, seed):
    """The numbers of tests/optimizer/reference.hpp: both signs, many sizes, each exact as a float."""
    made = []
    for _ in range(size):
        seed = (seed * 1664525 + 1013904223) % 2**32
        made.append(((seed >> 8) * 2.0**-23 - 1.0) * 2.0 ** ((seed & 7) - 4))
    return np.array(made, np.float32)


def initial():
    return numbers(ROWS * DIM, 2).reshape(ROWS, DIM)


def gradient(step):
    return numbers(ROWS * DIM, 10 + step).reshape(ROWS, DIM)


def rows_of(step):
    return [row for row in range(ROWS) if (row + step) % 3 != 0]


class Dense:
    """One parameter, and a dense gradient at each step."""

    def __init__(self, make, slots):
        self.parameter = torch.nn.Parameter(torch.from_numpy(initial()))
        self.optimizer, self.slots = make([self.parameter]), slots

    def step(self, step):
        self.parameter.grad = torch.from_numpy(gradient(step))
        self.optimizer.step()

    def blocks(self):
        state = self.optimizer.state[self.parameter]
        return [self.parameter.detach().numpy(), *(state[slot].numpy() for slot in self.slots)]


class Sparse(Dense):
    """One parameter, and a sparse gradient of some rows."""

    def step(self, step):
        rows = rows_of(step)
        self.parameter.grad = torch.sparse_coo_tensor([rows], torch.from_numpy(gradient(step)[rows]), (ROWS, DIM))
        self.optimizer.step()


class Rows:
    """A parameter for each row. A parameter without a gradient stays as it is: so PyTorch's other optimizers, which take
    no sparse gradients, compute what a table of ours does."""

    def __init__(self, make, slots):
        self.parameters = [torch.nn.Parameter(torch.from_numpy(row)) for row in initial()]
        self.optimizer, self.slots = make(self.parameters), slots

    def step(self, step):
        rows = rows_of(step)
        for row, parameter in enumerate(self.parameters):
            parameter.grad = torch.from_numpy(gradient(step)[row]) if row in rows else None
        self.optimizer.step()

    def blocks(self):
        values = np.stack([parameter.detach().numpy() for parameter in self.parameters])
        states = [self.optimizer.state[parameter] for parameter in self.parameters]
        zeros = torch.zeros(DIM)  # the state of a row without a gradient so far
        return [values, *(np.stack([state.get(slot, zeros).numpy() for state in states]) for slot in self.slots)]


MOMENTUM, ADAM, SUM, SQUARE = ["momentum_buffer"], ["exp_avg", "exp_avg_sq"], ["sum"], ["square_avg"]
ADAM_TEXT = "learning_rate=0.01 beta1=0.9 beta2=0.99 epsilon=1e-06"
RATE_TEXT = "warm_up(10,0.1,cosine_decay(0.1,0,80))"


class Scheduled(optim.SGD):
    """SGD whose rate follows RATE_TEXT."""

    def __init__(self, parameters):
        super().__init__(parameters, lr=0.1)
        self.scheduler = warm_up(self, 10, 0.1, schedulers.CosineAnnealingLR(self, 80))

    def step(self):  # not the steps after the end: there PyTorch's rate rises again
        super().step()
        if self.scheduler.last_epoch < 90:
            self.scheduler.step()


def warm_up(optimizer, steps, start, then):
    ramp = schedulers.LinearLR(optimizer, start_factor=start, end_factor=1, total_iters=steps)
    return schedulers.SequentialLR(optimizer, [ramp, then], milestones=[steps])


# (text of our updater, kind of gradients, PyTorch's optimizer, its state in the order of our slots)
UPDATERS = [
    ("sgd learning_rate=0.1", Dense, lambda p: optim.SGD(p, 0.1), []),
    ("sgd learning_rate=0.1", Sparse, lambda p: optim.SGD(p, 0.1), []),
    ("sgd learning_rate=0.1 weight_decay=0.01", Dense, lambda p: optim.SGD(p, 0.1, weight_decay=0.01), []),
    ("sgd learning_rate=0.1 weight_decay=0.01", Rows, lambda p: optim.SGD(p, 0.1, weight_decay=0.01), []),
    (f"sgd learning_rate={RATE_TEXT}", Dense, Scheduled, []),
    ("momentum learning_rate=0.05 momentum=0.9 use_nesterov=false", Dense,
     lambda p: optim.SGD(p, 0.05, momentum=0.9), MOMENTUM),
    ("momentum learning_rate=0.05 momentum=0.9 use_nesterov=false weight_decay=0.01", Dense,
     lambda p: optim.SGD(p, 0.05, momentum=0.9, weight_decay=0.01), MOMENTUM),
    ("momentum learning_rate=0.05 momentum=0.9 use_nesterov=false weight_decay=0.01", Rows,
     lambda p: optim.SGD(p, 0.05, momentum=0.9, weight_decay=0.01), MOMENTUM),
    ("momentum learning_rate=0.05 momentum=0.9 use_nesterov=true weight_decay=0.01", Dense,
     lambda p: optim.SGD(p, 0.05, momentum=0.9, weight_decay=0.01, nesterov=True), MOMENTUM),
    ("momentum learning_rate=0.05 momentum=0.9 use_nesterov=false weight_decay=0.01 dampening=0.25", Dense,
     lambda p: optim.SGD(p, 0.05, momentum=0.9, weight_decay=0.01, dampening=0.25), MOMENTUM),
    ("torch_adam learning_rate=0.001 beta1=0.9 beta2=0.999 epsilon=1e-08 weight_decay=0 decoupled_weight_decay=false",
     Dense, optim.Adam, ADAM),
    (f"torch_adam {ADAM_TEXT} weight_decay=0.01 decoupled_weight_decay=false", Dense,
     lambda p: optim.Adam(p, 0.01, (0.9, 0.99), 1e-6, weight_decay=0.01), ADAM),
    (f"torch_adam {ADAM_TEXT} weight_decay=0.1 decoupled_weight_decay=true", Dense,
     lambda p: optim.AdamW(p, 0.01, (0.9, 0.99), 1e-6, weight_decay=0.1), ADAM),
    (f"lazy_adam {ADAM_TEXT}", Sparse, lambda p: optim.SparseAdam(p, 0.01, (0.9, 0.99), 1e-6), []),
    ("torch_adagrad learning_rate=0.01 rate_decay=0 weight_decay=0 initial_accumulator_value=0 epsilon=1e-10", Dense,
     optim.Adagrad, SUM),
    ("torch_adagrad learning_rate=0.1 rate_decay=0.01 weight_decay=0 initial_accumulator_value=0 epsilon=1e-10", Sparse,
     lambda p: optim.Adagrad(p, 0.1, lr_decay=0.01), SUM),
    ("torch_adagrad learning_rate=0.1 rate_decay=0.01 weight_decay=0.01 initial_accumulator_value=0.25 epsilon=1e-04",
     Dense, lambda p: optim.Adagrad(p, 0.1, 0.01, 0.01, 0.25, 1e-4), SUM),
    ("torch_rmsprop learning_rate=0.01 decay=0.99 epsilon=1e-08 weight_decay=0 momentum=0", Dense, optim.RMSprop,
     SQUARE),
    ("torch_rmsprop learning_rate=0.01 decay=0.9 epsilon=1e-06 weight_decay=0.01 momentum=0.5", Dense,
     lambda p: optim.RMSprop(p, 0.01, 0.9, 1e-6, 0.01, 0.5), SQUARE + MOMENTUM),
    ("torch_rmsprop learning_rate=0.01 decay=0.9 epsilon=1e-06 weight_decay=0.01 momentum=0.5", Rows,
     lambda p: optim.RMSprop(p, 0.01, 0.9, 1e-6, 0.01, 0.5), SQUARE + MOMENTUM),
]

# (text of our schedule, PyTorch's scheduler for an optimizer whose lr is 0.1, number of updates)
SCHEDULES = [
    ("step_decay(0.1,0.3,7)", lambda o: schedulers.StepLR(o, 7, 0.3), 40),
    ("multi_step_decay(0.1,0.5,5,6,20)", lambda o: schedulers.MultiStepLR(o, [5, 6, 20], 0.5), 40),
    ("exponential_decay(0.1,0.95)", lambda o: schedulers.ExponentialLR(o, 0.95), 100),
    ("cosine_decay(0.1,0.001,50)", lambda o: schedulers.CosineAnnealingLR(o, 50, 0.001), 51),
    ("one_cycle(0.1,100,0.3,25,10000)", lambda o: schedulers.OneCycleLR(o, 0.1, 100, cycle_momentum=False), 100),
    ("one_cycle(0.1,11,0.25,10,20)", lambda o: schedulers.OneCycleLR(
        o, 0.1, 11, pct_start=0.25, div_factor=10, final_div_factor=20, cycle_momentum=False), 11),
    ("warm_up(8,0.25,0.1)", lambda o: schedulers.LinearLR(o, 0.25, 1, 8), 20),
    (f"{RATE_TEXT}", lambda o: warm_up(o, 10, 0.1, schedulers.CosineAnnealingLR(o, 80)), 91),
    ("warm_up(4,0.5,step_decay(0.1,0.5,6))", lambda o: warm_up(o, 4, 0.5, schedulers.StepLR(o, 6, 0.5)), 40),
]


def kind_of(gradients):
    return "dense" if gradients is Dense else "rows"


def theirs_after(gradients, make, slots):
    """Yields (step, PyTorch's blocks) at each recorded step."""
    theirs = gradients(make, slots)
    for step in range(1, STEPS + 1):
        theirs.step(step)
        if step in RECORDED:
            yield step, [block.copy() for block in theirs.blocks()]


def ours_after(program, text, gradients, steps):
    """Returns our blocks after `steps` steps."""
    question = initial().tobytes()
    for step in range(1, steps + 1):
        if gradients is Dense:
            question += np.int32(-1).tobytes() + gradient(step).tobytes()
        else:
            rows = rows_of(step)
            question += np.int32(len(rows)).tobytes() + np.array(rows, np.int32).tobytes()
            question += gradient(step)[rows].tobytes()
    output = subprocess.run([program, str(ROWS), str(DIM), *text.split()], input=question, check=True,
                            stdout=subprocess.PIPE).stdout
    return np.frombuffer(output, np.float32).reshape(-1, ROWS, DIM)


def rates_of(make, updates):
    optimizer = optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
    scheduler = make(optimizer)
    rates = []
    for _ in range(updates):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        if len(rates) < updates:  # OneCycleLR allows no more
            scheduler.step()
    return rates


def record(path):
    lines = [f"# PyTorch {torch.__version__.split('+')[0]}, by tests/interop/torch_optimizers.py --record"]
    for text, gradients, make, slots in UPDATERS:
        for step, blocks in theirs_after(gradients, make, slots):
            lines.append(f"updater {text} {kind_of(gradients)} {step}")
            lines += [" ".join(f"{value:.9g}" for value in block.flatten()) for block in blocks]
    for text, make, updates in SCHEDULES:
        lines += [f"schedule {text}", " ".join(f"{rate:.9g}" for rate in rates_of(make, updates))]
    pathlib.Path(path).write_text("\n".join(lines) + "\n")


def compare(what, found, wanted, atol):
    if not np.allclose(found, wanted, rtol=1e-5, atol=atol):
        at = np.unravel_index(np.argmax(np.abs(found - wanted)), found.shape)
        sys.exit(f"{what}, at {at}: {found[at]}, not {wanted[at]}")


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--record":
        return record(sys.argv[2])
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    programs = pathlib.Path(sys.argv[1])
    for text, gradients, make, slots in UPDATERS:
        for step, wanted in theirs_after(gradients, make, slots):
            found = ours_after(programs / "apply_updates", text, gradients, step)
            for index, (ours, block) in enumerate(zip(found, wanted)):
                compare(f"{text}: {gradients.__name__}, block {index} after {step} steps", ours, block, 1e-7)
            if np.allclose(found[0], initial()):
                sys.exit(f"{text}: nothing was trained")
    for text, make, updates in SCHEDULES:
        output = subprocess.run([programs / "print_rates", text, str(updates)], check=True, stdout=subprocess.PIPE).stdout
        compare(text, np.array(output.split(), np.float64), np.array(rates_of(make, updates)), 1e-12)
    print(f"PyTorch {torch.__version__}: {len(UPDATERS)} updaters agree after {STEPS} steps, and {len(SCHEDULES)} schedules")
    return None


if __name__ == "__main__":
    main()
