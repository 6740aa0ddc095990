"""Peer of bench/host-memory.ts: the same checkpoint by PyTorch and safetensors.

usage: host_memory_torch.py safetensors|module FILE; says `ready`, loads after a line on stdin, says `loaded {...}`.
"""
import json
import sys
import time

import torch
from safetensors import safe_open
from safetensors.torch import load_file

how, path = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
started = time.perf_counter()
if how == "safetensors":
    weights = load_file(path)
else:
    # As model code does: a module of the checkpoint's dtype is made, then filled.
    with safe_open(path, "pt") as file:
        shapes = {name: file.get_slice(name).get_shape() for name in file.keys()}
    count = 1 + max(int(name.split(".")[1]) for name in shapes)
    layers = torch.nn.ModuleList()
    for index in range(count):
        layer = torch.nn.Module()
        for part in ("up", "down"):
            rows, columns = shapes[f"layers.{index}.{part}.weight"]
            setattr(layer, part, torch.nn.Linear(columns, rows, bias=False, dtype=torch.bfloat16))
        layers.append(layer)
    model = torch.nn.Module()
    model.layers = layers
    model.load_state_dict(load_file(path))
    weights = model.state_dict()
total = sum(float(value[0, 0]) for value in weights.values())
print("loaded " + json.dumps({"seconds": time.perf_counter() - started, "sum": total}), flush=True)
sys.stdin.read()
