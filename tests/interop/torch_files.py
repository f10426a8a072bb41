#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch and Python's safetensors read the files that this library writes, and this library reads theirs: every type,
shared and transposed memory, parameters, dicts in dicts, several files; and `distrib checkpoint export` of a table.

usage: torch_files.py PROGRAMS

PROGRAMS: the folder of the built interop programs.
"""

import collections
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import safetensors
import safetensors.numpy
import safetensors.torch
import torch

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
DISTRIB = PROGRAMS.parents[1] / "tools" / "distrib"
ROOT = pathlib.Path(__file__).resolve().parents[2]
checked = 0


def same(what, found, expected):
    global checked
    checked += 1
    if found != expected:
        sys.exit(f"{what}: found {str(found)[:400]}, expected {str(expected)[:400]}")


def ours(path):
    """Returns {name: (dtype, shape, hex)} as this library reads a file."""
    done = subprocess.run([PROGRAMS / "torch_files", "read", path], check=True, stdout=subprocess.PIPE, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {line["name"]: (line["dtype"], line["shape"], line["bytes"]) for line in lines}


def refusal(path):
    done = subprocess.run([PROGRAMS / "torch_files", "read", path], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                          text=True, check=False)
    same(f"exit code for {path.name}", done.returncode, 1)
    return done.stderr


def described(tensor):
    """Returns (dtype, shape, hex) of a tensor of PyTorch."""
    plain = tensor.detach().contiguous()
    raw = plain.reshape(-1).view(torch.uint8) if plain.numel() else torch.zeros(0, dtype=torch.uint8)
    return str(tensor.dtype).removeprefix("torch."), list(tensor.shape), raw.numpy().tobytes().hex()


def we_write(directory):
    subprocess.run([PROGRAMS / "torch_files", "write", directory], check=True)
    expected = ours(directory / "model.safetensors")
    same("names", len(expected), 18)
    for name in "sharded.safetensors.index.json", "model.pt":
        same(name, ours(directory / name), expected)

    loaded = safetensors.torch.load_file(directory / "model.safetensors")
    same("safetensors for PyTorch", {name: described(tensor) for name, tensor in loaded.items()}, expected)
    with safetensors.safe_open(directory / "model.safetensors", "pt") as file:
        same("metadata", file.metadata(), {"format": "pt"})
        same("a slice", described(file.get_slice("large")[10:12, 3:5])[2], described(loaded["large"][10:12, 3:5])[2])
    index = json.loads((directory / "sharded.safetensors.index.json").read_text())
    sharded = {}
    for file in sorted(set(index["weight_map"].values())):
        part = safetensors.torch.load_file(directory / file)
        same(f"what the index says of {file}", {index["weight_map"][name] for name in part}, {file})
        sharded |= part
    same("several files", {name: described(tensor) for name, tensor in sharded.items()}, expected)
    same("their size", index["metadata"]["total_size"], sum(len(found[2]) // 2 for found in expected.values()))

    for mmap in False, True:
        loaded = torch.load(directory / "model.pt", weights_only=True, mmap=mmap)
        same("torch.load", {name: described(tensor) for name, tensor in loaded.items()}, expected)

    # numpy's writer makes the same bytes, but for the types that numpy does not have
    plain = {name: tensor.numpy() for name, tensor in loaded.items() if tensor.dtype != torch.bfloat16}
    theirs = directory / "theirs.safetensors"
    safetensors.numpy.save_file(plain, theirs)
    same("their bytes", ours(theirs), {name: expected[name] for name in plain})


def table(directory):
    output = directory / "table.safetensors"
    subprocess.run([DISTRIB, "checkpoint", "export", directory / "table", output, "--slots"], check=True,
                   stdout=subprocess.DEVNULL)
    found = safetensors.numpy.load_file(output)
    keys = numpy.arange(1000, dtype=numpy.uint64) ** 3
    same("keys", found["users/keys"].tolist(), keys.tolist())
    rows = [[key % 1000, key % 1000 + 0.25] for key in keys.tolist()]
    same("rows", found["users/values"].tolist(), rows)
    same("slots", found["users/values/Momentum"].tolist(), [[a + 0.5, b + 0.5] for a, b in rows])
    subprocess.run([DISTRIB, "checkpoint", "export", directory / "table", directory / "table.pt"], check=True,
                   stdout=subprocess.DEVNULL)
    loaded = torch.load(directory / "table.pt", weights_only=True)
    same("keys of PyTorch", loaded["users/keys"].tolist(), keys.tolist())
    same("rows of PyTorch", loaded["users/values"].tolist(), rows)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3)
        self.bn = torch.nn.BatchNorm2d(4)
        self.fc = torch.nn.Linear(7, 4, dtype=torch.bfloat16)
        self.tied = self.fc


def they_write(directory):
    torch.manual_seed(1)
    net = Net()
    state = net.state_dict()
    expected = {name: described(tensor) for name, tensor in state.items()}
    path = directory / "state.pt"
    torch.save(state, path)
    same("a state dict", ours(path), expected)
    torch.save(collections.OrderedDict(net.named_parameters()), path)
    same("parameters", ours(path), {name: described(tensor) for name, tensor in net.named_parameters()})
    net.conv.to(memory_format=torch.channels_last)
    torch.save(net.state_dict(), path)
    same("channels last", ours(path), expected)

    every = {str(dtype).removeprefix("torch."): torch.arange(6).to(dtype).reshape(2, 3)
             for dtype in (torch.float64, torch.float16, torch.int16, torch.int8, torch.uint8, torch.uint16,
                           torch.uint32, torch.uint64)}
    every["bool"] = torch.tensor([True, False])
    torch.save(every, path)
    same("every type", ours(path), {name: described(tensor) for name, tensor in every.items()})
    torch.save({"z": torch.zeros(2, dtype=torch.complex64), "f": torch.zeros(2, dtype=torch.float8_e4m3fn)}, path)
    same("types that are not read", {name: found[2] for name, found in ours(path).items()}, {"z": None, "f": None})

    base = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    views = {"whole": base, "transposed": base.T, "column": base[:, 2], "rows": base[1:3], "step": base[::2, ::3],
             "last": base[3, 5], "none": base[:0], "permuted": base.reshape(2, 2, 6).permute(2, 0, 1)}
    torch.save(views, path)
    same("views", ours(path), {name: described(tensor) for name, tensor in views.items()})

    optimizer = torch.optim.Adam(net.parameters())
    net.fc(torch.ones(2, 7, dtype=torch.bfloat16)).sum().backward()
    optimizer.step()
    torch.save({"epoch": 3, "loss": 0.5, "model": net.state_dict(), "optimizer": optimizer.state_dict(),
                "list": [base, {"a": base}], "text": "x", "size": base.shape}, path)
    found = ours(path)
    same("dicts in dicts", {f"model/{name}" for name in expected} <= set(found), True)
    same("the state of Adam", described(optimizer.state_dict()["state"][4]["exp_avg"]), found["optimizer/state/4/exp_avg"])
    same("lists", (found["list/0"], found["list/1/a"]), (described(base), described(base)))

    for content, words in ((net, "it needs __main__.Net of Python"), (base, "a tensor without a name"),
                           ({"a": base.expand(3, 4, 6)}, "more than once (expand)"),
                           ({"a": base.to_sparse()}, "_rebuild_sparse_tensor"),
                           ({"a": torch.device("cuda")}, "torch.device")):
        torch.save(content, path)
        same(words, words in refusal(path), True)
    torch.save(state, path, _use_new_zipfile_serialization=False)
    same("before 1.6", "as PyTorch wrote it before 1.6" in refusal(path), True)
    torch.save(state, path, pickle_protocol=4)
    same("protocol 4", "protocol 4" in refusal(path), True)
    torch.jit.script(torch.nn.Linear(2, 2)).save(path)
    same("TorchScript", "a TorchScript module" in refusal(path), True)
    torch.serialization.set_crc32_options(False)
    torch.save(state, path)
    same("without checksums", ours(path), {name: described(tensor) for name, tensor in state.items()})
    torch.serialization.set_crc32_options(True)

    path = directory / "theirs.safetensors"
    safetensors.torch.save_file({name: tensor.contiguous() for name, tensor in every.items()}, path, {"by": "torch"})
    same("safetensors", ours(path), {name: described(tensor) for name, tensor in every.items()})

    before = directory / "before"
    subprocess.run([DISTRIB, "checkpoint", "import", path, before, "--step", "5"], check=True, stdout=subprocess.DEVNULL)
    again = directory / "again.pt"
    subprocess.run([DISTRIB, "checkpoint", "export", before, again], check=True, stdout=subprocess.DEVNULL)
    same("imported and exported", {name: described(tensor) for name, tensor in torch.load(again).items()},
         {name: described(tensor) for name, tensor in every.items()})


def attacks(directory):
    """The verdicts on which both agree, by the safetensors that is installed."""
    ours_alone = {"name twice, same", "space before {", "shape 2^63 x 0", "BOOL 2", "name with NUL"}
    path = directory / "attack.safetensors"
    for line in (ROOT / "tests/checkpoint/formats/fixtures/safetensors_cases.tsv").read_text().splitlines():
        name, verdict, _, content = line.split("\t")
        path.write_bytes(bytes.fromhex(content))
        try:
            safetensors.deserialize(path.read_bytes())
            theirs = "taken"
        except safetensors.SafetensorError:
            theirs = "refused"
        if name not in ours_alone:
            same(f"verdict on {name}", verdict, theirs)


def main():
    with tempfile.TemporaryDirectory(prefix="distrib-") as name:
        directory = pathlib.Path(name)
        print(f"PyTorch {torch.__version__}, safetensors {safetensors.__version__}")
        we_write(directory)
        table(directory)
        they_write(directory)
        attacks(directory)
        print(f"{checked} checks")


main()
