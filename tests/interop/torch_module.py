#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The door to LibTorch with the LibTorch of PyTorch's wheel, which is found without CUDA: its tests, and a training whose
network Python then loads and measures.

usage: torch_module.py PROGRAMS

PROGRAMS: the folder of the built interop programs; what is built here is in build/torch_wheel beside it. If that has
torch_train of another LibTorch in build/torch, its files are loaded too.
"""

import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy
import safetensors.torch
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
BUILD = PROGRAMS.parents[2] / "torch_wheel"
RAW = pathlib.Path(os.environ.get("FASHION_MNIST_DIR", "/usr/share/datasets/fashion-mnist"))
STEPS = 60


class FashionNet(torch.nn.Module):
    """The network of examples/torch/fashion_net.hpp."""

    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = torch.nn.Conv2d(1, 16, 3, padding=1), torch.nn.BatchNorm2d(16)
        self.conv2, self.bn2 = torch.nn.Conv2d(16, 32, 3, padding=1), torch.nn.BatchNorm2d(32)
        self.fc1, self.drop, self.fc2 = torch.nn.Linear(32 * 7 * 7, 64), torch.nn.Dropout(0.3), torch.nn.Linear(64, 10)

    def forward(self, x):
        x = torch.max_pool2d(torch.relu(self.bn1(self.conv1(x))), 2)
        x = torch.max_pool2d(torch.relu(self.bn2(self.conv2(x))), 2)
        return self.fc2(self.drop(torch.relu(self.fc1(x.flatten(1)))))


def run(*command):
    done = subprocess.run([str(part) for part in command], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{done.stdout[-4000:]}\nerror: exit code {done.returncode}: {' '.join(map(str, command))}")
    return done.stdout


def test_data():
    def content(name, header):
        return numpy.frombuffer(gzip.decompress((RAW / name).read_bytes()), numpy.uint8, offset=header)

    images = torch.from_numpy(content("t10k-images-idx3-ubyte.gz", 16).copy()).view(-1, 1, 28, 28) / 255
    return images, torch.from_numpy(content("t10k-labels-idx1-ubyte.gz", 8).astype(numpy.int64))


def accuracy(values, images, labels):
    net = FashionNet()
    net.load_state_dict(values)  # strict: every key, and no other
    net.eval()
    with torch.no_grad():
        return (net(images).argmax(1) == labels).double().mean().item()


def train_and_load(programs, tools, data, work):
    """Trains with these programs; Python's accuracy with both files must be that of the training."""
    out = work / "out"
    run(programs / "torch_train", "--data", data, "--out", out, "--steps", STEPS, "--save_every", STEPS)
    summary = json.loads((out / "summary.json").read_text())
    expected = summary["test_accuracy"]
    images, labels = test_data()
    for name in ("net.pt", "net.safetensors"):
        run(tools / "distrib", "checkpoint", "export", out / "checkpoint", work / name)
        load = torch.load if name.endswith(".pt") else safetensors.torch.load_file
        values = load(work / name, **({"weights_only": True} if name.endswith(".pt") else {}))
        if values["bn1.num_batches_tracked"].item() != STEPS:
            sys.exit(f"{name}: num_batches_tracked is {values['bn1.num_batches_tracked']}, not {STEPS}")
        found = accuracy(values, images, labels)
        if abs(found - expected) > 1e-4:
            sys.exit(f"{name}: Python's accuracy is {found}, that of the training {expected}")
    print(f"{programs}: accuracy {expected:.4f}, the same in Python")


def main():
    prefix = pathlib.Path(torch.__file__).parent
    run("cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
        "-DDISTRIB_COMPONENTS=distrib;libtorch", f"-DCMAKE_PREFIX_PATH={prefix}", "-DDISTRIB_BUILD_BENCHMARKS=OFF")
    run("cmake", "--build", BUILD, "--target", "distrib_torch")
    said = run(BUILD / "tests/distrib_libtorch_tests")
    print(f"torch {torch.__version__}: {re.findall(r'All tests passed.*', said)[-1]}")
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        data = work / "data"
        run(BUILD / "examples/fashion_mnist_convert", RAW, data)
        for build in (BUILD, BUILD.with_name("torch")):
            if (build / "examples/torch_train").exists():
                (work / build.name).mkdir()
                train_and_load(build / "examples", build / "tools", data, work / build.name)


main()
